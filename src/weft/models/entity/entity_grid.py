"""The entity grid with a pairwise ranker (Barzilay and Lapata 2008).

Reference: R. Barzilay and M. Lapata, "Modeling local coherence: an entity-based approach", Computational Linguistics 34
(2008): https://aclanthology.org/J08-1001.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from weft.corpora.negatives.permute import permutations
from weft.document import Document
from weft.models.common.pairwise_ranker import learn_ranking
from weft.models.common.setting_checks import check_seed
from weft.models.common.trained_model import TrainedModel
from weft.models.entity.grid import SparseGrid
from weft.models.entity.grid_model import COMPARABLE, GridFields, GridModel
from weft.models.entity.mentions import MentionFields
from weft.models.entity.transition_weights import TransitionWeights
from weft.models.entity.transitions import BASE, Reals, WindowOptions, transition_shares
from weft.progress import Progress, silent
from weft.protocols import ModelCard
from weft.settings import Settings, setting


@dataclass(frozen=True, kw_only=True)
class EntityGridSettings(GridFields, MentionFields, Settings):
    """Settings of `entity-grid`."""

    model_name: ClassVar[str] = "entity-grid"
    longest: int = setting(3, "Length of the longest transitions.", minimum=2, maximum=3)
    boundaries: bool = setting(True, "Include transitions that cross the beginning or the end of the text.")
    permutations: int = setting(20, "Number of permutations of each training text.", minimum=1)


class EntityGrid(GridModel, TrainedModel):
    """Ranks orders of a text by the shares of the transitions in its entity grid.

    A cell of the grid holds the role of an entity in a sentence: subject, object, other or absent. The features of a
    text are the shares of all transitions of length 2 to `longest`, counted separately for salient and other
    entities. The score is w · features. A linear SVM learns w from the differences between training texts and their
    permutations; its C is chosen by cross-validation on the training texts.

    Example:
        >>> from weft.corpora.syntax.parsed_sentence import ParsedSentence
        >>> class Tagged:  # "dog/nsubj" in place of a parser's word
        ...     name = "tagged"
        ...     def parse(self, sentences, *, progress=None):
        ...         for words in (sentence.split() for sentence in sentences):
        ...             pairs = [word.partition("/") for word in words]
        ...             size = len(pairs)
        ...             yield ParsedSentence(
        ...                 tuple(p[0] for p in pairs), ("NN",) * size, tuple(range(size)), tuple(p[2] for p in pairs)
        ...             )
        >>> chain = ("dog/nsubj", "dog/nsubj cat/dobj", "cat/nsubj", "rain/nsubj")
        >>> model = EntityGrid().with_parser(Tagged()).fit([Document(str(n), chain) for n in range(4)])
        >>> whole, shuffled = model.order_scores(Document("d", chain), [(0, 1, 2, 3), (0, 3, 1, 2)])
        >>> whole > shuffled
        True
    """

    by_class = True
    card = ModelCard(
        summary="which entities continue from sentence to sentence, and in which roles; a trained ranker",
        reference="Barzilay & Lapata 2008",
        score_range="any number",
        meaning="the transitions of entities resemble those of original texts rather than those of permutations",
        comparable=COMPARABLE,
        needs="the extra `parse`; trained weights (pip install ./zoo) or training",
        extra="parse",
    )
    Settings = EntityGridSettings
    settings: EntityGridSettings

    @property
    def options(self) -> WindowOptions:
        """Windows that cross both ends of the text if `boundaries` is set."""
        chosen = self.settings
        return WindowOptions(chosen.salience, chosen.boundaries, chosen.boundaries, chosen.first_mentions)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths from 2 to `longest`."""
        return tuple(range(2, self.settings.longest + 1))

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Learn weights that rank texts above their permutations."""
        check_seed(self.settings.model_name, seed)
        texts = self.read_grids(documents, self.settings.shortest, progress)
        differences, group = self.differences(texts, seed)
        learned = learn_ranking(differences, group, progress=progress)
        self.weights = TransitionWeights(self._tables(learned.weights), self.options, self.by_class)
        self.notes = {"paragraphs": len(texts), "pairs": len(differences)}
        self.notes |= {"cost": learned.cost, "cross_validated_accuracy": learned.accuracy}
        return self

    def features(self, grid: SparseGrid, orders: Sequence[Sequence[int]]) -> Reals:
        """Return the shares of all transitions, one row per order: [orders, features]."""
        shares = [transition_shares(grid, orders, length, self.options) for length in self.lengths]
        return np.concatenate([share.reshape(len(orders), -1) for share in shares], axis=1)

    def differences(
        self, texts: Sequence[tuple[Document, SparseGrid]], seed: int
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
        """Return features of texts minus those of permutations, [pairs, features], and the text number of each row."""
        rows, group = [], []
        for number, (text, grid) in enumerate(texts):
            orders = [range(len(text)), *permutations(text, count=self.settings.permutations, seed=seed)]
            features = self.features(grid, orders)
            rows.append((features[0] - features[1:]).astype(np.float32))
            group += [number] * (len(orders) - 1)
        return np.concatenate(rows), np.array(group, dtype=np.int64)

    def _tables(self, learned: Reals) -> dict[int, Reals]:
        """Return the weights as a table for each length, rounded to float32 as they are saved."""
        classes = self.options.classes
        ends = np.cumsum([classes * BASE**length for length in self.lengths])
        parts = np.split(learned.astype(np.float32).astype(np.float64), ends[:-1])
        return {length: part.reshape(classes, -1) for length, part in zip(self.lengths, parts, strict=True)}
