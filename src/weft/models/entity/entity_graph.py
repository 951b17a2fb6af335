"""The entity graph: sentences that mention the same entities are connected, and a coherent text is well connected.

Reference: C. Guinaudeau and M. Strube, "Graph-based local coherence modeling", ACL 2013:
https://aclanthology.org/P13-1010.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import truediv
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from weft.corpora.syntax.sentence_parser import SentenceParser
from weft.document import Document, Score
from weft.io.model_folder import Artifact, load_artifact, save_artifact
from weft.models.common.setting_checks import check_choice, rebuild
from weft.models.entity.grid import Columns, Numbers, columns_of
from weft.models.entity.grid_model import in_batches
from weft.models.entity.mentions import MentionFinder, MentionSettings, Roles, check_switch
from weft.models.entity.transition_weights import judged
from weft.models.entity.transitions import Reals, places
from weft.progress import Progress, silent
from weft.protocols import ModelCard

PROJECTIONS = ("p_u", "p_w", "p_acc")
SETTINGS = ("parser", "syntax", "nouns", "plurals", "projection", "distance")
WALKED = 1000  # sentences; a bit for every pair of them is little
CELLS_AT_ONCE = 2**20  # of the table of all pairs of sentences, which is never there as a whole


@dataclass(frozen=True, slots=True)
class Edges:
    """Some edges of a projection: sentences that share an entity.

    Attributes:
        left: The sentence with the lower number: [edges].
        right: The other: [edges].
        weight: What they share: [edges].
    """

    left: Numbers
    right: Numbers
    weight: Reals


def project(columns: Columns, projection: str) -> Iterator[Edges]:
    """The edges between the sentences of a grid, some sentences at a time.

    Args:
        columns: The grid.
        projection: ``p_u``: 1 where two sentences share an entity; ``p_w``: how many they share; ``p_acc``: the sum of
            the products of their roles, a subject counting 3, an object 2, anything else 1.

    Example:
        >>> grid = columns_of([{"dog": 3, "cat": 2}, {"dog": 2, "cat": 1}, {"cat": 3}])
        >>> [(e.left.tolist(), e.right.tolist(), e.weight.tolist()) for e in project(grid, "p_acc")]
        [([0, 0, 1], [1, 2, 2], [8.0, 6.0, 3.0])]
    """
    values = columns.role.astype(np.float64) if projection == "p_acc" else np.ones(len(columns.role))
    matrix = _matrix(columns, values)
    step = max(1, CELLS_AT_ONCE // max(columns.size, 1))
    for start in range(0, columns.size, step):
        block = _product(matrix, start, step)
        left, right = np.nonzero(np.triu(block, k=start + 1))
        weight = block[left, right]
        yield Edges(left + start, right, np.ones_like(weight) if projection == "p_u" else weight)


def graph_scores(shared: Sequence[Roles], size: int) -> dict[str, float]:
    """All six scores of Guinaudeau and Strube at once: three projections, each without and with distance.

    Args:
        shared: The entities that two sentences or more mention, as `Columns.shared` or `find_shared` give them.
        size: How many sentences the text has.

    Example:
        >>> graph_scores(columns_of([{"dog": 3, "cat": 2}, {"dog": 2}, {"cat": 3}]).shared(), 3)
        {'p_u': 0.6666666666666666, 'p_u_dist': 0.5, 'p_w': 0.6666666666666666, 'p_w_dist': 0.5,
         'p_acc': 4.0, 'p_acc_dist': 3.0}
    """
    return _six_scores(*(_walk if size <= WALKED else _walk_in_order)(shared, size))


def _walk(shared: Sequence[Roles], size: int) -> tuple[list[int], list[int], list[int]]:
    """Sums over the edges of each length, by projection, entity by entity.

    Plain numbers: a text shares some tens of entities between its sentences, and arrays cost more than they save. A bit
    for every pair of sentences keeps those apart that are linked already.
    """
    linked, entities, products = [0] * size, [0] * size, [0] * size
    for roles in shared:
        for (other, its_role), (sentence, role) in combinations(roles, 2):
            apart = sentence - other
            linked[apart] |= 1 << other
            entities[apart] += 1
            products[apart] += role * its_role
    return [bits.bit_count() for bits in linked], entities, products


def _walk_in_order(shared: Sequence[Roles], size: int) -> tuple[list[int], list[int], list[int]]:
    """The same, sentence by sentence: memory grows with the mentions, not with the pairs of sentences."""
    rows: list[list[tuple[int, int]]] = [[] for _ in range(size)]  # the entities of each sentence and their roles
    for number, roles in enumerate(shared):
        for sentence, role in roles:
            rows[sentence].append((number, role))
    linked, entities, products = [0] * size, [0] * size, [0] * size
    earlier: list[list[tuple[int, int]]] = [[] for _ in shared]  # the sentences so far, and the role in each
    for sentence, row in enumerate(rows):
        lengths = set()
        for number, role in row:
            for other, its_role in earlier[number]:
                apart = sentence - other
                lengths.add(apart)
                entities[apart] += 1
                products[apart] += role * its_role
            earlier[number].append((sentence, role))
        for apart in lengths:
            linked[apart] += 1
    return linked, entities, products


def _six_scores(linked: Sequence[int], entities: Sequence[int], products: Sequence[int]) -> dict[str, float]:
    """Mean out-degrees without and with distance, from the sums over the edges of each length; none has length 0."""
    size = max(len(linked), 1)
    lengths = range(1, size)
    return {
        "p_u": sum(linked) / size,
        "p_u_dist": sum(map(truediv, linked[1:], lengths)) / size,
        "p_w": sum(entities) / size,
        "p_w_dist": sum(map(truediv, entities[1:], lengths)) / size,
        "p_acc": sum(products) / size,
        "p_acc_dist": sum(map(truediv, products[1:], lengths)) / size,
    }


def _product(matrix: Any, start: int, step: int) -> Reals:
    """Some rows times all rows: [some sentences, sentences]."""
    product = matrix[start : start + step] @ matrix.T
    block: Reals = product if isinstance(product, np.ndarray) else product.toarray()
    return block


def _matrix(columns: Columns, values: Reals) -> Any:
    """Values of the cells: [sentences, entities], sparse where that would be large."""
    shape = (columns.size, len(columns.names))
    if shape[0] * shape[1] > CELLS_AT_ONCE:
        from scipy.sparse import csr_matrix

        return csr_matrix((values, (columns.sentence, columns.entity)), shape=shape)
    matrix = np.zeros(shape)
    matrix[columns.sentence, columns.entity] = values
    return matrix


class EntityGraph:
    """Scores a text by the mean out-degree of its sentences in a graph of shared entities; nothing is trained.

    Every sentence has edges to the later sentences that mention one of its entities. Without ``distance`` the score is
    the same for every order of a text: it can compare texts, not orders.

    Args:
        parser: A spaCy pipeline by name; see `weft.corpora.syntax.parser.find_parser`.
        syntax: Whether subjects, objects and others are told apart.
        nouns: ``all``, as in Barzilay and Lapata's grids, or only the ``heads`` of noun phrases.
        plurals: An extension: whether a plural and its singular are one entity.
        projection: ``p_u`` (an edge counts 1), ``p_w`` (the shared entities) or ``p_acc`` (products of their roles).
        distance: Whether an edge is divided by how many sentences lie between its ends, plus one.

    Example:
        >>> from weft.corpora.syntax.parsed_sentence import ParsedSentence
        >>> class Nouns:
        ...     name = "nouns"
        ...     def parse(self, sentences, *, progress=None):
        ...         for words in map(str.split, sentences):
        ...             size = len(words)
        ...             yield ParsedSentence(tuple(words), ("NN",) * size, tuple(range(size)), ("dep",) * size)
        >>> model = EntityGraph(projection="p_w").with_parser(Nouns())
        >>> model.order_scores(Document("d", ("dog", "dog cat", "cat")), [(0, 1, 2), (1, 0, 2)])
        [0.6666666666666666, 0.5]
    """

    adjustable = SETTINGS  # nothing is learned
    card = ModelCard(
        summary="how many entities each sentence shares with later ones, near ones above all; needs no training",
        reference="Guinaudeau & Strube 2013",
        score_range="0 or more",
        meaning="sentences close to each other mention the same entities (p_acc: in prominent roles)",
        comparable="roughly, between texts of the same kind and length",
        needs="the extra `parse`",
    )

    def __init__(
        self,
        parser: str = "",
        syntax: bool = True,
        nouns: str = "all",
        plurals: bool = False,
        projection: str = "p_w",
        distance: bool = True,
    ) -> None:
        settings = MentionSettings(parser, syntax, nouns, plurals)
        settings.check("entity-graph")
        check_choice("entity-graph", "projection", projection, PROJECTIONS)
        check_switch("entity-graph", "distance", distance)
        self.parser, self.syntax, self.nouns, self.plurals = parser, syntax, nouns, plurals
        self.projection, self.distance = projection, distance
        self.finder = MentionFinder(settings)

    def with_parser(self, parser: SentenceParser) -> Self:
        """The same model, given its parser instead of finding one: another tool's parses, or a test's."""
        self.finder.loaded = parser
        return self

    def grid(self, document: Document) -> Columns:
        """The entity grid of a text."""
        return columns_of(self.finder.find(document.sentences))

    def six_scores(self, document: Document) -> dict[str, float]:
        """All six scores of a text, whatever `projection` and `distance` are."""
        return graph_scores(self.finder.find_shared(document.sentences), len(document))

    def remarks(self, document: Document) -> tuple[str, ...]:
        """What keeps a text's entities from being found."""
        return self.finder.remarks(document)

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """One score per document; ``None`` for fewer than two sentences or none with a noun."""
        return [
            self.score_grid(columns_of(mentions))
            for some in in_batches(documents)
            for mentions in self.finder.find_documents(some)
        ]

    def score_grid(self, columns: Columns) -> Score:
        """The score of a grid, and what crosses each gap: an edge counts equally for all gaps between its ends."""
        if not judged(columns):
            return Score(None)
        size = columns.size
        by_distance, changes = np.zeros(size), np.zeros(size)
        for edges in project(columns, self.projection):
            apart = edges.right - edges.left
            by_distance += np.bincount(apart, weights=edges.weight, minlength=size)
            shared = self._discounted(edges.weight, apart) / apart
            changes += np.bincount(edges.left, weights=shared, minlength=size)
            changes -= np.bincount(edges.right, weights=shared, minlength=size)
        parts = np.cumsum(changes)[:-1] * ((size - 1) / size)  # so that their mean is the value
        return Score(self._mean_degree(by_distance), tuple(parts.tolist()))

    def _discounted(self, weight: Reals, apart: Numbers) -> Reals:
        return weight / apart if self.distance else weight

    def _mean_degree(self, by_distance: Reals) -> float:
        """From the sum of all edges of each length; those are whole numbers, so that equal orders tie exactly."""
        counts = by_distance[1:]
        lengths = np.arange(1, len(by_distance))
        return math.fsum(self._discounted(counts, lengths).tolist()) / len(by_distance)

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """The scores of several orders: the graph is built once. One that leaves sentences out is a text of its own."""
        grid = self.grid(document)
        whole = [number for number, order in enumerate(orders) if len(order) == len(document)]
        found = dict(zip(whole, self._order_values(grid, [orders[number] for number in whole]), strict=True))
        return [
            found[number] if number in found else self.score_grid(grid.restricted(order)).value
            for number, order in enumerate(orders)
        ]

    def _order_values(self, columns: Columns, orders: Sequence[Sequence[int]]) -> list[float | None]:
        if not judged(columns):
            return [None for _ in orders]
        position = places(orders, columns.size)  # [orders, sentences]
        sums = np.zeros((len(orders), columns.size))
        for edges in project(columns, self.projection):
            for row, place in zip(sums, position, strict=True):
                apart = np.abs(place[edges.right] - place[edges.left])
                row += np.bincount(apart, weights=edges.weight, minlength=columns.size)
        return [self._mean_degree(row) for row in sums]

    def prefix_steps(self, document: Document) -> GraphSteps:
        """A search over a document's sentences."""
        return GraphSteps(self.grid(document), self.projection, self.distance)

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:  # noqa: ARG002
        """Nothing to learn."""
        return self

    def adjusted(self, settings: Mapping[str, Any]) -> Self:
        """The same with other settings."""
        return type(self)(**{name: getattr(self, name) for name in SETTINGS} | dict(settings))

    def save(self, folder: str | Path, *, training: Mapping[str, Any] | None = None) -> None:
        """Write the settings; there is nothing else."""
        config = {name: getattr(self, name) for name in SETTINGS}
        save_artifact(Artifact("entity-graph", config, training=training or {}), folder)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a folder written by `save`."""
        return rebuild(cls, load_artifact(folder), folder, SETTINGS)


class GraphSteps:
    """Partial orders of a text that grow to the right; satisfies `weft.models.PrefixSteps`.

    Args:
        columns: The grid of all sentences.
        projection: Which edges.
        distance: Whether they are discounted.
    """

    def __init__(self, columns: Columns, projection: str, distance: bool) -> None:
        from scipy.sparse import coo_matrix

        found = list(project(columns, projection))
        left, right = (np.concatenate([getattr(edges, end) for edges in found]) for end in ("left", "right"))
        weight = np.concatenate([edges.weight for edges in found]) / columns.size
        shape = (columns.size, columns.size)
        upper = coo_matrix((weight, (left, right)), shape=shape).tocsr()
        self.edges, self.distance = (upper + upper.T).tocsr(), distance

    def begin(self, firsts: Sequence[int]) -> Reals:
        """Nothing is gained by the first sentence."""
        paths = len(firsts)
        self.position: npt.NDArray[np.int64] = np.full((paths, self.edges.shape[0]), -1, dtype=np.int64)
        self.position[np.arange(paths), list(firsts)] = 0
        self.placed = 1
        return np.zeros(paths)

    def gains(self) -> Reals:
        """The edges that each sentence would have to those placed: [paths, sentences]."""
        shares = (self.position >= 0).astype(np.float64)
        if self.distance:
            shares /= self.placed - self.position  # what is not placed has share 0
        gained: Reals = (self.edges @ shares.T).T
        return gained

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Go on with some paths, one sentence longer."""
        self.position = self.position[np.asarray(rows, dtype=np.int64)]
        self.position[np.arange(len(rows)), list(columns)] = self.placed
        self.placed += 1
