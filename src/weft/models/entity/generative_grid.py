"""The generative entity grid: the probability of each cell given the cells before it in its column.

Reference: M. Lapata and R. Barzilay, "Automatic evaluation of text coherence: models and representations", IJCAI 2005.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from weft.document import Document
from weft.models.common.setting_checks import check_seed
from weft.models.common.trained_model import TrainedModel
from weft.models.entity.grid import SparseGrid
from weft.models.entity.grid_model import COMPARABLE, GridFields, GridModel
from weft.models.entity.mentions import MentionFields
from weft.models.entity.transition_weights import TransitionWeights
from weft.models.entity.transitions import BASE, FIRST_TIME, Reals, WindowOptions, count_transitions
from weft.progress import Progress, silent
from weft.protocols import ModelCard
from weft.settings import Settings, setting


@dataclass(frozen=True, kw_only=True)
class EntityGridGenerativeSettings(GridFields, MentionFields, Settings):
    """Settings of `entity-grid-generative`."""

    model_name: ClassVar[str] = "entity-grid-generative"
    history: int = setting(2, "Number of cells that a cell depends on.", minimum=1, maximum=3)
    smoothing: float = setting(1.0, "Weight of the shorter history, in cells.", minimum=1e-6, maximum=1e6)


class EntityGridGenerative(GridModel, TrainedModel):
    """Scores a text by the mean log-probability of the cells of its entity grid.

    score = mean over cells of log p(r_i | r_{i−h} … r_{i−1}), with h = `history`. The mean covers the columns of all
    entities and all sentences; start marks stand before the first sentence. Salient and other entities have separate
    probabilities. Probabilities of long histories are smoothed with those of shorter ones.

    Example:
        >>> from weft.corpora.syntax.parsed_sentence import ParsedSentence
        >>> class Nouns:
        ...     name = "nouns"
        ...     def parse(self, sentences, *, progress=None):
        ...         for words in map(str.split, sentences):
        ...             size = len(words)
        ...             yield ParsedSentence(tuple(words), ("NN",) * size, tuple(range(size)), ("nsubj",) * size)
        >>> text = Document("d", ("dog", "dog cat", "cat", "cat rain"))
        >>> model = EntityGridGenerative().with_parser(Nouns()).fit([text])
        >>> whole, shuffled = model.order_scores(text, [(0, 1, 2, 3), (1, 3, 0, 2)])
        >>> whole > shuffled
        True
    """

    by_class = False
    card = ModelCard(
        summary="the probability of each entity's role in a sentence, given its roles in the sentences before",
        reference="Lapata & Barzilay 2005; Barzilay & Lapata 2008",
        score_range="below 0",
        bar_range=(-8.0, 0.0),
        meaning="log-probability of a cell of the entity grid, given the cells before it in its column",
        comparable=COMPARABLE,
        needs="the extra `parse`; trained weights (pip install ./zoo) or training",
        extra="parse",
    )
    Settings = EntityGridGenerativeSettings
    settings: EntityGridGenerativeSettings

    @property
    def options(self) -> WindowOptions:
        """Windows that cross the beginning of the text but not its end."""
        chosen = self.settings
        return WindowOptions(chosen.salience, start=True, end=False, first_mentions=chosen.first_mentions)

    @property
    def lengths(self) -> tuple[int, ...]:
        """One length: a cell and its history."""
        return (self.settings.history + 1,)

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Learn from the transitions of the paragraphs."""
        check_seed(self.settings.model_name, seed)
        return self.fit_grids([grid for _, grid in self.read_grids(documents, self.settings.shortest, progress)])

    def fit_grids(self, grids: Sequence[SparseGrid]) -> Self:
        """Learn from entity grids."""
        (length,) = self.lengths
        counts = np.zeros((self.options.classes, BASE**length))
        for grid in grids:
            counts += count_transitions(grid, [range(grid.size)], length, self.options)[0][0]
        table = np.log(smoothed(counts, length, self.settings.smoothing, self._possible()))
        rounded = table.astype(np.float32).astype(np.float64)  # as it is saved
        self.notes = {"paragraphs": len(grids)}
        self.weights = TransitionWeights({length: rounded}, self.options, self.by_class)
        return self

    def _possible(self) -> list[int]:
        """Return the symbols that a cell can hold."""
        roles = (1, 2, 3) if self.settings.syntax else (1,)
        return [0, *roles, *(role + FIRST_TIME for role in roles if self.settings.first_mentions)]


def smoothed(counts: Reals, length: int, weight: float, possible: Sequence[int]) -> Reals:
    """Return the probability of the last cell of each transition given the others, smoothed with shorter histories.

    p_h(r) = (count(h, r) + weight · p_{h'}(r)) / (count(h) + weight), where h' is h without its oldest cell. The empty
    history gives all possible symbols the same probability.

    Args:
        counts: Counts of transitions: [classes, 9^length].
        length: Length of the transitions.
        weight: Weight of the shorter history, in cells.
        possible: The symbols that a cell can hold; the others never occur and get probability 1 / 9.

    Example:
        >>> counts = np.zeros((1, 81))
        >>> counts[0, 3 * 9 + 3], counts[0, 3 * 9] = 6, 2  # SS six times, S- twice
        >>> table = smoothed(counts, 2, 4.0, [0, 1, 2, 3])
        >>> [round(float(table[0, 3 * 9 + cell]), 3) for cell in (0, 1, 2, 3)]
        [0.25, 0.028, 0.028, 0.694]
    """
    probability = np.full((len(counts), 1, BASE), 1.0 / BASE)
    probability[:, :, list(possible)] = 1.0 / len(possible)
    for cells in range(1, length + 1):
        seen = counts.reshape(len(counts), -1, BASE**cells).sum(axis=1)  # [classes, 9^cells], summed over older cells
        seen = seen.reshape(len(counts), BASE, -1, BASE) if cells > 1 else seen[:, None, None]
        # [classes, oldest cell, other cells of the history, last cell]
        mixed = seen + weight * probability[:, None]
        probability = (mixed / (seen.sum(axis=3, keepdims=True) + weight)).reshape(len(counts), -1, BASE)
    found: Reals = probability.reshape(len(counts), -1)
    return found
