"""The entity grid with a pairwise ranker: Barzilay and Lapata's model.

Reference: R. Barzilay and M. Lapata, "Modeling local coherence: an entity-based approach", Computational Linguistics 34
(2008): https://aclanthology.org/J08-1001.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from weft.corpora.negatives.permute import permutations
from weft.document import Document
from weft.models.common.pairwise_ranker import learn_ranking
from weft.models.common.setting_checks import at_least, check_seed
from weft.models.entity.grid import Columns
from weft.models.entity.grid_model import COMPARABLE, GridModel
from weft.models.entity.mentions import MentionSettings, check_switch
from weft.models.entity.transition_weights import TransitionWeights
from weft.models.entity.transitions import BASE, Reals, WindowOptions, transition_shares
from weft.progress import Progress, silent
from weft.protocols import ModelCard

SHARED = ("parser", "syntax", "nouns", "plurals", "salience", "first_mentions", "shortest")


class EntityGrid(GridModel):
    """Ranks orders of a text by the shares of the transitions in its entity grid.

    A cell says whether a sentence mentions an entity, as subject, object or otherwise. The features are the shares of
    all transitions of length 2 to ``longest``, apart for salient and other entities; a linear SVM on the differences
    between a text and its permutations weighs them, its C found by cross-validation on the training texts.

    Args:
        parser: A spaCy pipeline by name; see `weft.corpora.syntax.parser.find_parser`.
        syntax: Whether subjects, objects and others are told apart.
        nouns: ``all``, as in Barzilay and Lapata's grids, or only the ``heads`` of noun phrases.
        plurals: An extension: whether a plural and its singular are one entity.
        salience: Entities in at least so many sentences are salient; below 2 there is one class.
        longest: Transitions are this long at most.
        boundaries: Whether transitions reach over the beginning and the end of the text.
        first_mentions: An extension: whether an entity's first mention differs from later ones.
        permutations: How many permutations of each text to learn from.
        shortest: Paragraphs with fewer sentences are not learned from.

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

    name = "entity-grid"
    settings = (*SHARED, "longest", "boundaries", "permutations")
    by_class = True
    card = ModelCard(
        summary="which entities go on from sentence to sentence, and in which roles; a trained ranker",
        reference="Barzilay & Lapata 2008",
        score_range="any number",
        meaning="the transitions of entities are like those of texts as written, unlike those of their permutations",
        comparable=COMPARABLE,
        needs="the extra `parse`; zoo/entity-grid, or training (weft train configs/entity-grid.toml)",
    )

    def __init__(
        self,
        parser: str = "",
        syntax: bool = True,
        nouns: str = "all",
        plurals: bool = False,
        salience: int = 2,
        longest: int = 3,
        boundaries: bool = True,
        first_mentions: bool = False,
        permutations: int = 20,
        shortest: int = 3,
    ) -> None:
        super().__init__(MentionSettings(parser, syntax, nouns, plurals))
        at_least(self.name, "salience", salience, 0)
        at_least(self.name, "longest", longest, 2, 3)
        at_least(self.name, "permutations", permutations, 1)
        at_least(self.name, "shortest", shortest, 2)
        check_switch(self.name, "boundaries", boundaries)
        check_switch(self.name, "first_mentions", first_mentions)
        self.salience, self.longest, self.boundaries = salience, longest, boundaries
        self.first_mentions, self.permutations, self.shortest = first_mentions, permutations, shortest

    @property
    def options(self) -> WindowOptions:
        """Windows over both edges of the text, or over none."""
        return WindowOptions(self.salience, self.boundaries, self.boundaries, self.first_mentions)

    @property
    def lengths(self) -> tuple[int, ...]:
        """2 to ``longest``."""
        return tuple(range(2, self.longest + 1))

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Learn to prefer texts to their permutations."""
        check_seed(self.name, seed)
        texts = self.read_grids(documents, self.shortest, progress)
        differences, group = self.differences(texts, seed)
        learned = learn_ranking(differences, group, progress=progress)
        self.weights = TransitionWeights(self._tables(learned.weights), self.options, self.by_class)
        self.notes = {
            "paragraphs": len(texts),
            "pairs": len(differences),
            "cost": learned.cost,
            "cross_validated_accuracy": learned.accuracy,
        }
        return self

    def features(self, grid: Columns, orders: Sequence[Sequence[int]]) -> Reals:
        """The shares of all transitions, one row an order: [orders, features]."""
        shares = [transition_shares(grid, orders, length, self.options) for length in self.lengths]
        return np.concatenate([share.reshape(len(orders), -1) for share in shares], axis=1)

    def differences(
        self, texts: Sequence[tuple[Document, Columns]], seed: int
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
        """Features of each text less those of its permutations, and which text each row is of: [pairs, features]."""
        rows, group = [], []
        for number, (text, grid) in enumerate(texts):
            orders = [range(len(text)), *permutations(text, count=self.permutations, seed=seed)]
            features = self.features(grid, orders)
            rows.append((features[0] - features[1:]).astype(np.float32))
            group += [number] * (len(orders) - 1)
        return np.concatenate(rows), np.array(group, dtype=np.int64)

    def _tables(self, learned: Reals) -> dict[int, Reals]:
        """One weight a feature, as a table for each length; as they are saved, so that a saved model scores alike."""
        classes = self.options.classes
        ends = np.cumsum([classes * BASE**length for length in self.lengths])
        parts = np.split(learned.astype(np.float32).astype(np.float64), ends[:-1])
        return {length: part.reshape(classes, -1) for length, part in zip(self.lengths, parts, strict=True)}
