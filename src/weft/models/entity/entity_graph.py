"""The entity graph: sentences that share entities are connected, and coherent texts are densely connected.

Reference: C. Guinaudeau and M. Strube, "Graph-based local coherence modeling", ACL 2013:
https://aclanthology.org/P13-1010.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import truediv
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from weft.corpora.syntax.sentence_parser import SentenceParser
from weft.document import Document, Score
from weft.models.common.fixed_model import FixedModel
from weft.models.entity.grid import Numbers, SparseGrid, build_grid
from weft.models.entity.grid_model import in_batches
from weft.models.entity.mentions import NOUNS, MentionFields, MentionFinder, Roles
from weft.models.entity.transition_weights import has_score
from weft.models.entity.transitions import Reals, places
from weft.protocols import ModelCard
from weft.settings import Settings, setting

PROJECTIONS = ("p_u", "p_w", "p_acc")
CELLS_AT_ONCE = 2**20  # size of a block of the table of all pairs of sentences


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges between sentences that share an entity: [edges] each."""

    left: Numbers  # the earlier sentence
    right: Numbers  # the later sentence
    weight: Reals


def project(columns: SparseGrid, projection: str) -> Iterator[Edges]:
    """Yield the edges between the sentences of a grid, block by block.

    Args:
        columns: The grid.
        projection: The weight of an edge. ``p_u``: 1; ``p_w``: the number of shared entities; ``p_acc``: the sum of the
            products of their roles, where a subject counts 3, an object 2, any other 1.

    Example:
        >>> grid = build_grid([{"dog": 3, "cat": 2}, {"dog": 2, "cat": 1}, {"cat": 3}])
        >>> [(e.left.tolist(), e.right.tolist(), e.weight.tolist()) for e in project(grid, "p_acc")]
        [([0, 0, 1], [1, 2, 2], [8.0, 6.0, 3.0])]
    """
    values = columns.role.astype(np.float64) if projection == "p_acc" else np.ones(len(columns.role))
    matrix = _matrix(columns, values)
    step = max(1, CELLS_AT_ONCE // max(columns.size, 1))
    for start in range(0, columns.size, step):
        product = matrix[start : start + step] @ matrix.T  # [some sentences, sentences]
        block: Reals = product if isinstance(product, np.ndarray) else product.toarray()
        left, right = np.nonzero(np.triu(block, k=start + 1))
        weight = block[left, right]
        yield Edges(left + start, right, np.ones_like(weight) if projection == "p_u" else weight)


def graph_scores(shared: Sequence[Roles], size: int) -> dict[str, float]:
    """Return the six scores of Guinaudeau and Strube: three projections, each without and with distance.

    Args:
        shared: The roles of the entities that at least two sentences mention (`SparseGrid.shared`, `find_shared`).
        size: Number of sentences of the text.

    Example:
        >>> graph_scores(build_grid([{"dog": 3, "cat": 2}, {"dog": 2}, {"cat": 3}]).shared(), 3)
        {'p_u': 0.6666666666666666, 'p_u_dist': 0.5, 'p_w': 0.6666666666666666, 'p_w_dist': 0.5,
         'p_acc': 4.0, 'p_acc_dist': 3.0}
    """
    # Python integers are faster than arrays here: the sentences of a text share some tens of entities.
    linked, entities, products = [0] * size, [0] * size, [0] * size  # by the distance of two sentences
    for roles in shared:
        for (other, its_role), (sentence, role) in combinations(roles, 2):
            apart = sentence - other
            linked[apart] |= 1 << other  # one bit for each pair of sentences: it is connected once
            entities[apart] += 1
            products[apart] += role * its_role
    sums = {"p_u": [bits.bit_count() for bits in linked], "p_w": entities, "p_acc": products}
    scores = {}
    for projection, by_distance in sums.items():
        scores[projection] = sum(by_distance) / max(size, 1)
        scores[f"{projection}_dist"] = sum(map(truediv, by_distance[1:], range(1, size))) / max(size, 1)
    return scores


def _matrix(columns: SparseGrid, values: Reals) -> Any:
    """Return the values of cells as a matrix, [sentences, entities], sparse if it is large."""
    shape = (columns.size, len(columns.names))
    if shape[0] * shape[1] > CELLS_AT_ONCE:
        from scipy.sparse import csr_matrix

        return csr_matrix((values, (columns.sentence, columns.entity)), shape=shape)
    matrix = np.zeros(shape)
    matrix[columns.sentence, columns.entity] = values
    return matrix


@dataclass(frozen=True, kw_only=True)
class EntityGraphSettings(MentionFields, Settings):
    """Settings of `entity-graph`; all can change after loading, because nothing is learned."""

    model_name: ClassVar[str] = "entity-graph"
    syntax: bool = setting(True, "Distinguish subjects, objects and others.", adjustable=True)
    nouns: str = setting("all", "all nouns, or only the heads of noun phrases.", choices=NOUNS, adjustable=True)
    plurals: bool = setting(False, "Treat a plural and its singular as one entity (an extension).", adjustable=True)
    projection: str = setting(
        "p_w",
        "Weight of an edge: p_u (1), p_w (number of shared entities) or p_acc (sum of the products of their roles).",
        choices=PROJECTIONS,
        adjustable=True,
    )
    distance: bool = setting(True, "Divide the weight of an edge by the distance of its sentences.", adjustable=True)


class EntityGraph(FixedModel):
    """Scores a text by the mean out-degree of its sentences in a graph of shared entities; nothing is trained.

    Each sentence has edges to the later sentences that share an entity with it. score = 1 / N · Σ_{i<j} W_ij / (j − i),
    or without the division if `distance` is off. Without `distance`, all orders of a text get the same score.

    Example:
        >>> from weft.corpora.syntax.parsed_sentence import ParsedSentence
        >>> class Nouns:
        ...     name = "nouns"
        ...     def parse(self, sentences, *, progress=None):
        ...         for words in map(str.split, sentences):
        ...             size = len(words)
        ...             yield ParsedSentence(tuple(words), ("NN",) * size, tuple(range(size)), ("dep",) * size)
        >>> model = EntityGraph(EntityGraphSettings(projection="p_w")).with_parser(Nouns())
        >>> model.order_scores(Document("d", ("dog", "dog cat", "cat")), [(0, 1, 2), (1, 0, 2)])
        [0.6666666666666666, 0.5]
    """

    card = ModelCard(
        summary="number of entities that each sentence shares with later ones, near ones counting more; no training",
        reference="Guinaudeau & Strube 2013",
        score_range="0 or more",
        meaning="nearby sentences mention the same entities (p_acc: in prominent roles)",
        comparable="roughly, between texts of the same kind and length",
        needs="the extra `parse`",
        extra="parse",
        needs_training=False,
    )

    Settings = EntityGraphSettings
    settings: EntityGraphSettings

    def __init__(self, settings: EntityGraphSettings | None = None) -> None:
        super().__init__(settings)
        self.finder = MentionFinder(self.settings)

    def with_parser(self, parser: SentenceParser) -> Self:
        """Use this parser instead of searching for one, and return the model."""
        self.finder.parser = parser
        return self

    def grid(self, document: Document) -> SparseGrid:
        """Return the entity grid of a document."""
        return build_grid(self.finder.find(document.sentences))

    def six_scores(self, document: Document) -> dict[str, float]:
        """Return the six scores of Guinaudeau and Strube, independent of `projection` and `distance`."""
        return graph_scores(self.finder.find_shared(document.sentences), len(document))

    def remarks(self, document: Document) -> tuple[str, ...]:
        """Return the reasons why no entities or roles are found in a document, if there are any."""
        return self.finder.remarks(document)

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """Return one score per document; None for fewer than two sentences or no noun."""
        return [
            self.score_grid(build_grid(mentions))
            for some in in_batches(documents)
            for mentions in self.finder.find_documents(some)
        ]

    def score_grid(self, columns: SparseGrid) -> Score:
        """Return the score of a grid; each transition gets an equal part of every edge that spans it."""
        if not has_score(columns):
            return Score(None)
        size = columns.size
        by_distance, changes = np.zeros(size), np.zeros(size)
        for edges in project(columns, self.settings.projection):
            apart = edges.right - edges.left
            by_distance += np.bincount(apart, weights=edges.weight, minlength=size)
            shared = self._discounted(edges.weight, apart) / apart
            changes += np.bincount(edges.left, weights=shared, minlength=size)
            changes -= np.bincount(edges.right, weights=shared, minlength=size)
        parts = np.cumsum(changes)[:-1] * ((size - 1) / size)  # the value is their mean
        return Score(self._mean_degree(by_distance), tuple(parts.tolist()))

    def _discounted(self, weight: Reals, apart: Numbers) -> Reals:
        return weight / apart if self.settings.distance else weight

    def _mean_degree(self, by_distance: Reals) -> float:
        """Return the mean out-degree, from the sum of the edges of each length (whole numbers, so equal orders tie)."""
        counts = by_distance[1:]
        lengths = np.arange(1, len(by_distance))
        return math.fsum(self._discounted(counts, lengths).tolist()) / len(by_distance)

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """Return the score of each order; an order that omits sentences is scored as a text of its own."""
        grid = self.grid(document)
        whole = [number for number, order in enumerate(orders) if len(order) == len(document)]
        found = dict(zip(whole, self._order_values(grid, [orders[number] for number in whole]), strict=True))
        return [
            found[number] if number in found else self.score_grid(grid.restricted(order)).value
            for number, order in enumerate(orders)
        ]

    def _order_values(self, columns: SparseGrid, orders: Sequence[Sequence[int]]) -> list[float | None]:
        if not has_score(columns):
            return [None for _ in orders]
        position = places(orders, columns.size)  # [orders, sentences]
        sums = np.zeros((len(orders), columns.size))
        for edges in project(columns, self.settings.projection):
            for row, place in zip(sums, position, strict=True):
                apart = np.abs(place[edges.right] - place[edges.left])
                row += np.bincount(apart, weights=edges.weight, minlength=columns.size)
        return [self._mean_degree(row) for row in sums]

    def order_search(self, document: Document) -> GraphOrderSearch:
        """Return the state of a beam search over the document's sentences."""
        return GraphOrderSearch(self.grid(document), self.settings.projection, self.settings.distance)

    def adjusted(self, changes: Mapping[str, Any]) -> Self:
        """Return the model with other settings."""
        return type(self)(self.settings.adjusted(changes))


class GraphOrderSearch:
    """The state of a beam search with the entity graph; a `weft.protocols.OrderSearch`."""

    def __init__(self, columns: SparseGrid, projection: str, distance: bool) -> None:
        from scipy.sparse import coo_matrix

        found = list(project(columns, projection))
        left = np.concatenate([edges.left for edges in found])
        right = np.concatenate([edges.right for edges in found])
        weight = np.concatenate([edges.weight for edges in found]) / columns.size
        upper = coo_matrix((weight, (left, right)), shape=(columns.size, columns.size)).tocsr()
        self.edges, self.distance = (upper + upper.T).tocsr(), distance

    def begin(self, firsts: Sequence[int]) -> Reals:
        """Start one path with each of these sentences; a single sentence gains 0: [paths]."""
        paths = len(firsts)
        self.position: npt.NDArray[np.int64] = np.full((paths, self.edges.shape[0]), -1, dtype=np.int64)
        self.position[np.arange(paths), list(firsts)] = 0
        self.placed = 1
        return np.zeros(paths)

    def gains(self) -> Reals:
        """Return the weight of each sentence's edges to those placed: [paths, sentences]."""
        shares = (self.position >= 0).astype(np.float64)
        if self.distance:
            shares /= self.placed - self.position  # a sentence that is not placed has share 0
        gained: Reals = (self.edges @ shares.T).T
        return gained

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Keep some paths and add one sentence to each."""
        self.position = self.position[np.asarray(rows, dtype=np.int64)]
        self.position[np.arange(len(rows)), list(columns)] = self.placed
        self.placed += 1
