"""Base of the two entity-grid models: building the grid, scoring orders, searching, saving and loading."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from weft.corpora.syntax.sentence_parser import SentenceParser, parsed_by
from weft.document import Document, Score
from weft.errors import CorpusError
from weft.io.model_folder import Artifact, require
from weft.models.common.setting_checks import check_finite, misfit, untrained
from weft.models.entity.grid import SparseGrid, build_grid
from weft.models.entity.grid_order_search import GridOrderSearch
from weft.models.entity.mentions import MentionFields, MentionFinder
from weft.models.entity.transition_weights import TransitionWeights
from weft.models.entity.transitions import BASE, WindowOptions
from weft.progress import Progress
from weft.settings import Settings as ModelSettings
from weft.settings import setting

DOCUMENTS_AT_ONCE = 200  # parsed at once
COMPARABLE = "only between orders of one text"


@dataclass(frozen=True, kw_only=True)
class GridFields:
    """Settings shared by the two entity-grid models."""

    salience: int = setting(
        2, "An entity in at least this many sentences is salient; below 2, all entities form one class.", minimum=0
    )
    first_mentions: bool = setting(False, "Distinguish an entity's first mention from later ones (an extension).")
    shortest: int = setting(3, "Number of sentences of the shortest paragraphs to train on.", minimum=2)


class GridModel(ABC):
    """A model with a learned weight for each transition of an entity grid."""

    Settings: ClassVar[type[ModelSettings]]
    settings: ModelSettings
    by_class: ClassVar[bool]  # whether a weight applies to shares within a class of entities, or among all

    def __init__(self, settings: ModelSettings | None = None) -> None:
        self.settings = settings or self.Settings()
        assert isinstance(self.settings, MentionFields)
        self.finder = MentionFinder(self.settings)
        self.weights: TransitionWeights | None = None  # learned by `fit`
        self.notes: dict[str, Any] = {}  # facts about the training, which are saved in the model folder

    @property
    @abstractmethod
    def options(self) -> WindowOptions:
        """The windows through which columns of the grid are read."""

    @property
    @abstractmethod
    def lengths(self) -> tuple[int, ...]:
        """The lengths of transitions."""

    def with_parser(self, parser: SentenceParser) -> Self:
        """Use this parser instead of searching for one, and return the model."""
        self.finder.parser = parser
        return self

    # Scoring ----------------------------------------------------------------------------------------------------------

    def grid(self, document: Document) -> SparseGrid:
        """Return the entity grid of a document."""
        return build_grid(self.finder.find(document.sentences))

    def remarks(self, document: Document) -> tuple[str, ...]:
        """Return the reasons why no entities or roles are found in a document, if there are any."""
        return self.finder.remarks(document)

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """Return one score per document; None for fewer than two sentences or no noun."""
        weights = self._trained()
        return [
            weights.score(build_grid(mentions))
            for some in in_batches(documents)
            for mentions in self.finder.find_documents(some)
        ]

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """Return the score of each order; the sentences are parsed once."""
        return self._trained().order_scores(self.grid(document), orders)

    def order_search(self, document: Document) -> GridOrderSearch:
        """Return the state of a beam search over the document's sentences."""
        return GridOrderSearch(self._trained(), self.grid(document))

    def _trained(self) -> TransitionWeights:
        if self.weights is None:
            raise untrained(self.settings.model_name)
        return self.weights

    # Learning ---------------------------------------------------------------------------------------------------------

    def read_grids(
        self, documents: Iterable[Document], shortest: int, progress: Progress
    ) -> list[tuple[Document, SparseGrid]]:
        """Return the paragraphs with enough sentences and a noun, each with its grid.

        Raises:
            CorpusError: No paragraph qualifies.
        """
        found: list[tuple[Document, SparseGrid]] = []
        seen = 0
        paragraphs = (part for document in documents for part in document.paragraphs() if len(part) >= shortest)
        for some in in_batches(paragraphs):
            seen += len(some)
            grids = map(build_grid, self.finder.find_documents(some))
            found += [(text, grid) for text, grid in zip(some, grids, strict=True) if grid.names]
            progress("finding entities", seen)
        if found:
            return found
        raise CorpusError(
            "not enough text to learn from",
            seen=f"{seen} paragraphs of {shortest} sentences or more, none with a noun",
            allowed="at least one paragraph with a noun",
            next_step="give more training text, or lower `shortest`",
        )

    # Saving -----------------------------------------------------------------------------------------------------------

    def adjusted(self, changes: Mapping[str, Any]) -> Self:
        """Return the same trained model with another parser."""
        changed = type(self)(self.settings.adjusted(changes))
        changed.weights = self.weights
        return changed

    def to_artifact(self) -> Artifact:
        """Return the contents of the model folder."""
        tables = {str(length): table.astype(np.float32) for length, table in self._trained().tables.items()}
        made = {**self.notes, **parsed_by(self.finder.parser)}
        return Artifact(self.settings.model_name, self.settings.to_dict(), tables, training=made)

    def restore(self, artifact: Artifact, folder: str | Path) -> None:
        """Take the weights from the contents of a model folder."""
        require(artifact, folder, tensors=tuple(map(str, self.lengths)))
        tables = {length: artifact.tensors[str(length)].astype(np.float64) for length in self.lengths}
        check_finite(folder, **{f"transitions of length {length}": table for length, table in tables.items()})
        for length, table in tables.items():
            if table.shape != (self.options.classes, BASE**length):
                seen = f"{table.shape} for transitions of length {length}"
                raise misfit(folder, seen, f"({self.options.classes}, {BASE**length})")
        self.weights = TransitionWeights(tables, self.options, self.by_class)


def in_batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Yield lists of documents that are parsed at once."""
    stream = iter(documents)
    while some := list(islice(stream, DOCUMENTS_AT_ONCE)):
        yield some
