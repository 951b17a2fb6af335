"""Document, Window, Score: what flows through weft.

Frozen dataclasses with no behaviour but slicing and reordering, so that every stage can share them
without asking who changed what.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Document:
    """A text as a list of sentences.

    Attributes:
        id: A name that is unique in its corpus.
        sentences: The sentences, in order.
        title: A title, or the empty string.
        paragraph_starts: Index of the first sentence of every paragraph; a text of one paragraph has ``(0,)``.

    Example:
        >>> document = Document("d", ("A cat sat.", "It slept.", "Rain fell."))
        >>> document.reorder([2, 0, 1]).sentences
        ('Rain fell.', 'A cat sat.', 'It slept.')
    """

    id: str
    sentences: tuple[str, ...]
    title: str = ""
    paragraph_starts: tuple[int, ...] = (0,)

    def __len__(self) -> int:
        return len(self.sentences)

    def reorder(self, order: Sequence[int]) -> Document:
        """The same document with its sentences in another order; a subset of the indices is allowed.

        Paragraph boundaries mean nothing after a reordering, so the result has one paragraph.
        """
        return replace(self, sentences=tuple(self.sentences[i] for i in order), paragraph_starts=(0,))

    def paragraphs(self) -> list[Document]:
        """One document per paragraph, named ``id#0``, ``id#1`` and so on; a single paragraph keeps its id."""
        if len(self.paragraph_starts) <= 1:
            return [self]
        ends = (*self.paragraph_starts[1:], len(self.sentences))
        return [
            Document(f"{self.id}#{number}", self.sentences[start:end], self.title)
            for number, (start, end) in enumerate(zip(self.paragraph_starts, ends, strict=True))
        ]


@dataclass(frozen=True, slots=True)
class Window:
    """A target sentence and the sentences it is predicted from; an empty context means a language model."""

    context: tuple[str, ...]
    target: str


@dataclass(frozen=True, slots=True)
class Score:
    """How coherent a model finds a document: higher is more coherent, always.

    Attributes:
        value: The document's score, or ``None`` where the model has nothing to judge (fewer than two sentences).
        transitions: The local parts, one per adjacent pair, where the model has them.
        estimator: ``exact``, or the name of the bound or sampling estimate behind the value.
    """

    value: float | None
    transitions: tuple[float, ...] = ()
    estimator: str = "exact"
