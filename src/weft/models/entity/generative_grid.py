"""The generative entity grid: how probable each cell is, given the cells before it in its column.

Reference: M. Lapata and R. Barzilay, "Automatic evaluation of text coherence: models and representations", IJCAI 2005.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np

from weft.document import Document
from weft.models.common.setting_checks import at_least, check_seed, check_weight
from weft.models.entity.entity_grid import SHARED
from weft.models.entity.grid import Columns
from weft.models.entity.grid_model import COMPARABLE, GridModel
from weft.models.entity.mentions import MentionSettings, check_switch
from weft.models.entity.transition_weights import TransitionWeights
from weft.models.entity.transitions import BASE, FIRST_TIME, Reals, WindowOptions, count_transitions
from weft.progress import Progress, silent
from weft.protocols import ModelCard


class EntityGridGenerative(GridModel):
    """Scores a text by the mean log-probability of the cells of its entity grid, each given those before it.

    log p(r_i | r_{i−h} … r_{i−1}), over the columns of all entities and all sentences, a mark before the first;
    apart for salient and other entities. Probabilities of long histories are smoothed with those of shorter ones.

    Args:
        parser: A spaCy pipeline by name; see `weft.corpora.syntax.parser.find_parser`.
        syntax: Whether subjects, objects and others are told apart.
        nouns: ``all``, as in Barzilay and Lapata's grids, or only the ``heads`` of noun phrases.
        plurals: An extension: whether a plural and its singular are one entity.
        salience: Entities in at least so many sentences are salient; below 2 there is one class.
        history: How many cells before a cell it depends on.
        smoothing: How many cells the probability under a shorter history counts for.
        first_mentions: An extension: whether an entity's first mention differs from later ones.
        shortest: Paragraphs with fewer sentences are not learned from.

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

    name = "entity-grid-generative"
    settings = (*SHARED, "history", "smoothing")
    by_class = False
    card = ModelCard(
        summary="how probable each entity's role in a sentence is, given its roles in the sentences before",
        reference="Lapata & Barzilay 2005; Barzilay & Lapata 2008",
        score_range="below 0",
        meaning="log-probability of a cell of the entity grid, given the cells before it in its column",
        comparable=COMPARABLE,
        needs="the extra `parse`; zoo/entity-grid-generative, or training",
    )

    def __init__(
        self,
        parser: str = "",
        syntax: bool = True,
        nouns: str = "all",
        plurals: bool = False,
        salience: int = 2,
        history: int = 2,
        smoothing: float = 1.0,
        first_mentions: bool = False,
        shortest: int = 3,
    ) -> None:
        super().__init__(MentionSettings(parser, syntax, nouns, plurals))
        at_least(self.name, "salience", salience, 0)
        at_least(self.name, "history", history, 1, 3)
        at_least(self.name, "shortest", shortest, 2)
        check_weight(f"{self.name}'s `smoothing`", smoothing, least=1e-6, most=1e6)
        check_switch(self.name, "first_mentions", first_mentions)
        self.salience, self.history, self.smoothing = salience, history, float(smoothing)
        self.first_mentions, self.shortest = first_mentions, shortest

    @property
    def options(self) -> WindowOptions:
        """Windows over the beginning of the text, not over its end."""
        return WindowOptions(self.salience, start=True, end=False, first_mentions=self.first_mentions)

    @property
    def lengths(self) -> tuple[int, ...]:
        """One: a cell and its history."""
        return (self.history + 1,)

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Count the transitions of texts as written."""
        check_seed(self.name, seed)
        return self.fit_grids([grid for _, grid in self.read_grids(documents, self.shortest, progress)])

    def fit_grids(self, grids: Sequence[Columns]) -> Self:
        """Learn from grids that are known already."""
        (length,) = self.lengths
        counts = np.zeros((self.options.classes, BASE**length))
        for grid in grids:
            counts += count_transitions(grid, [range(grid.size)], length, self.options)[0][0]
        table = np.log(smoothed(counts, length, self.smoothing, self._possible()))
        rounded = table.astype(np.float32).astype(np.float64)  # as saved
        self.notes = {"paragraphs": len(grids)}
        self.weights = TransitionWeights({length: rounded}, self.options, self.by_class)
        return self

    def _possible(self) -> list[int]:
        """What a cell of a sentence can hold."""
        roles = (1, 2, 3) if self.syntax else (1,)
        return [0, *roles, *(role + FIRST_TIME for role in roles if self.first_mentions)]


def smoothed(counts: Reals, length: int, weight: float, possible: Sequence[int]) -> Reals:
    """The probability of the last cell of each transition given the others, shorter histories mixed in.

    p_h(r) = (count(h, r) + weight · p_{h'}(r)) / (count(h) + weight), h' the history less its oldest cell; without
    any history all that is possible is equally probable.

    Args:
        counts: Of transitions: [classes, 9^length].
        length: Of the transitions.
        weight: How many cells the shorter history counts for.
        possible: What a cell can hold; anything else never stands there, and has the probability 1 / 9.

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
        seen = counts.reshape(len(counts), -1, BASE**cells).sum(axis=1)  # [classes, 9^cells], older cells summed over
        seen = seen.reshape(len(counts), BASE, -1, BASE) if cells > 1 else seen[:, None, None]
        # [classes, oldest cell, other cells of the history, last cell]
        mixed = seen + weight * probability[:, None]
        probability = (mixed / (seen.sum(axis=3, keepdims=True) + weight)).reshape(len(counts), -1, BASE)
    found: Reals = probability.reshape(len(counts), -1)
    return found
