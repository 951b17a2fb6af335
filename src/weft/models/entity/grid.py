"""The entity grid: a sparse table of entities by sentences with a role in each cell.

Only cells with a mention are stored. A text of 10,000 sentences has tens of thousands of entities, most of them in one
sentence: the full table would have hundreds of millions of cells, but there are some 100,000 mentions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from weft.models.entity.mentions import ROLE_NAMES, Mentions, Roles

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SparseGrid:
    """An entity grid with one column per entity."""

    names: tuple[str, ...]  # of the entities, in order of their first mention
    entity: Numbers  # [mentions] the entity of each mention, ascending
    sentence: Numbers  # [mentions] the sentence of each mention, ascending within an entity
    role: Numbers  # [mentions] the role of each mention, 1 to 3
    size: int  # number of sentences of the text

    @property
    def frequency(self) -> Numbers:
        """The number of sentences that mention each entity: [entities]."""
        return np.bincount(self.entity, minlength=len(self.names)).astype(np.int64)

    def shared(self) -> list[Roles]:
        """Return the roles of each entity that at least two sentences mention.

        Example:
            >>> build_grid([{"dog": 3, "cat": 2}, {}, {"dog": 1}]).shared()
            [[(0, 3), (2, 1)]]
        """
        kept = self.frequency[self.entity] > 1
        found: dict[int, Roles] = {}
        cells = (self.entity[kept].tolist(), self.sentence[kept].tolist(), self.role[kept].tolist())
        for entity, sentence, role in zip(*cells, strict=True):
            found.setdefault(entity, []).append((sentence, role))
        return list(found.values())

    def restricted(self, sentences: Sequence[int]) -> SparseGrid:
        """Return the grid of some of the sentences, in the order given; entities of others are dropped."""
        place = np.full(self.size, -1)
        place[np.asarray(sentences, dtype=np.int64)] = np.arange(len(sentences))
        kept = place[self.sentence] >= 0
        present, entity = np.unique(self.entity[kept], return_inverse=True)
        sentence, role = place[self.sentence[kept]], self.role[kept]
        order = np.lexsort((sentence, entity))
        names = tuple(self.names[number] for number in present)
        return SparseGrid(names, entity[order], sentence[order], role[order], len(sentences))

    def rows(self) -> list[str]:
        """Return the grid in the format of Barzilay and Lapata: one line per entity, with its role in each sentence.

        Example:
            >>> build_grid([{"dog": 3, "cat": 2}, {"dog": 1}]).rows()
            ['dog S X', 'cat O -']
        """
        cells = [["-"] * self.size for _ in self.names]
        for entity, sentence, role in zip(self.entity, self.sentence, self.role, strict=True):
            cells[entity][sentence] = ROLE_NAMES[role]
        return [" ".join((name, *row)) for name, row in zip(self.names, cells, strict=True)]


def build_grid(mentions: Sequence[Mentions]) -> SparseGrid:
    """Return the entity grid of a text from the mentions of its sentences.

    Example:
        >>> columns = build_grid([{"dog": 3}, {}, {"dog": 2, "cat": 3}])
        >>> columns.names, columns.sentence.tolist(), columns.frequency.tolist()
        (('dog', 'cat'), [0, 2, 2], [2, 1])
    """
    numbers: dict[str, int] = {}
    entities, roles = [], []
    for found in mentions:
        for name, role in found.items():
            entities.append(numbers.setdefault(name, len(numbers)))
            roles.append(role)
    entity = np.array(entities, dtype=np.int64)
    sentence = np.repeat(np.arange(len(mentions)), np.array([len(found) for found in mentions], dtype=np.int64))
    ranked = np.argsort(entity, kind="stable")  # within an entity, sentences stay in order
    return SparseGrid(
        tuple(numbers), entity[ranked], sentence[ranked], np.array(roles, dtype=np.int64)[ranked], len(mentions)
    )
