"""What the two entity-grid models share: finding the grid, scoring it in any order, searching, and the folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from weft.corpora.syntax.sentence_parser import SentenceParser
from weft.document import Document, Score
from weft.errors import CorpusError, ModelError
from weft.io.model_folder import Artifact, load_artifact, require, save_artifact
from weft.models.common.setting_checks import check_finite, rebuild, untrained
from weft.models.entity.grid import Columns, columns_of
from weft.models.entity.grid_search import ColumnSteps
from weft.models.entity.mentions import MentionFinder, MentionSettings
from weft.models.entity.transition_weights import TransitionWeights, order_scores
from weft.models.entity.transitions import BASE, WindowOptions
from weft.progress import Progress

DOCUMENTS_AT_ONCE = 200  # parsed together
COMPARABLE = "only between orders of one text"


class GridModel:
    """A trained weight for every transition of an entity grid.

    Args:
        mentions: How entities are found.
    """

    name: ClassVar[str]
    settings: ClassVar[tuple[str, ...]]
    adjustable = ("parser",)

    def __init__(self, mentions: MentionSettings) -> None:
        mentions.check(self.name)
        self.parser, self.syntax = mentions.parser, mentions.syntax
        self.nouns, self.plurals = mentions.nouns, mentions.plurals
        self.finder = MentionFinder(mentions)
        self.weights: TransitionWeights | None = None
        self.notes: dict[str, Any] = {}  # what training found, for the folder

    @property
    def options(self) -> WindowOptions:
        """Which windows the grid is looked at through."""
        raise NotImplementedError

    @property
    def lengths(self) -> tuple[int, ...]:
        """Of the transitions."""
        raise NotImplementedError

    by_class: ClassVar[bool]

    def with_parser(self, parser: SentenceParser) -> Self:
        """The same model, given its parser instead of finding one: another tool's parses, or a test's."""
        self.finder.loaded = parser
        return self

    # Scoring ----------------------------------------------------------------------------------------------------------

    def grid(self, document: Document) -> Columns:
        """The entity grid of a text."""
        return columns_of(self.finder.find(document.sentences))

    def remarks(self, document: Document) -> tuple[str, ...]:
        """What keeps a text's entities from being found."""
        return self.finder.remarks(document)

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """One score per document; ``None`` for fewer than two sentences or none with a noun."""
        weights = self._trained()
        return [
            weights.score(columns_of(mentions))
            for some in in_batches(documents)
            for mentions in self.finder.find_documents(some)
        ]

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """The scores of several orders: its sentences are parsed once, and only columns are permuted."""
        return order_scores(self._trained(), self.grid(document), orders)

    def prefix_steps(self, document: Document) -> ColumnSteps:
        """A search over a document's sentences that carries the ends of all columns along."""
        return ColumnSteps(self._trained(), self.grid(document))

    def _trained(self) -> TransitionWeights:
        if self.weights is None:
            raise untrained(self.name)
        return self.weights

    # Learning ---------------------------------------------------------------------------------------------------------

    def read_grids(
        self, documents: Iterable[Document], shortest: int, progress: Progress
    ) -> list[tuple[Document, Columns]]:
        """The paragraphs to learn from, those with enough sentences and a noun, and their grids.

        Raises:
            CorpusError: There are none.
        """
        found: list[tuple[Document, Columns]] = []
        seen = 0
        for some in in_batches(_long_enough(documents, shortest)):
            seen += len(some)
            grids = map(columns_of, self.finder.find_documents(some))
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

    # Keeping ----------------------------------------------------------------------------------------------------------

    def adjusted(self, settings: Mapping[str, Any]) -> Self:
        """The same model with another parser."""
        changed = type(self)(**{name: getattr(self, name) for name in self.settings} | dict(settings))
        changed.weights = self.weights
        return changed

    def save(self, folder: str | Path, *, training: Mapping[str, Any] | None = None) -> None:
        """Write the weights."""
        tables = {str(length): table.astype(np.float32) for length, table in self._trained().tables.items()}
        config = {name: getattr(self, name) for name in self.settings}
        save_artifact(Artifact(self.name, config, tables, training=self._made(training or {})), folder)

    def _made(self, training: Mapping[str, Any]) -> dict[str, Any]:
        """How it was made, what was found, and the pipeline whose parses it learned from."""
        return {
            **training,
            **self.notes,
            **({"parsed_by": self.finder.loaded.name} if self.finder.loaded is not None else {}),
        }

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a folder written by `save`."""
        artifact = load_artifact(folder)
        model = rebuild(cls, artifact, folder, cls.settings)
        require(artifact, folder, tensors=tuple(map(str, model.lengths)))
        tables = {length: artifact.tensors[str(length)].astype(np.float64) for length in model.lengths}
        check_finite(folder, **{f"transitions of length {length}": table for length, table in tables.items()})
        for length, table in tables.items():
            if table.shape != (model.options.classes, BASE**length):
                raise _misshapen(folder, length, table.shape)
        model.weights = TransitionWeights(tables, model.options, model.by_class)
        return model


def in_batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Documents to parse together."""
    stream = iter(documents)
    while some := list(islice(stream, DOCUMENTS_AT_ONCE)):
        yield some


def _long_enough(documents: Iterable[Document], shortest: int) -> Iterator[Document]:
    return (part for document in documents for part in document.paragraphs() if len(part) >= shortest)


def _misshapen(folder: str | Path, length: int, shape: tuple[int, ...]) -> ModelError:
    return ModelError(
        f"the weights in {folder} do not fit its settings",
        seen=f"{shape} for transitions of length {length}",
        allowed="the folder exactly as `weft train` wrote it",
        next_step="copy or train the model again",
    )
