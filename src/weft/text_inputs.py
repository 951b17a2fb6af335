"""What users pass as texts: a string, a Document, or many of them in a list or a Series; all become Documents."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from weft.corpora.text.sentences import document_of_text
from weft.document import Document, Score, TextWarning
from weft.errors import CorpusError
from weft.ordering.ordering import Ordering

ALLOWED = "a str (a whole text), a Document, or a list or a Series of them"
NOT_TEXTS = (bytes, bytearray, Mapping, set, frozenset, Path)  # iterables that are no list of texts
SINGLE_NAME = "text"
AT_ONCE = 64  # documents scored in one batch
LONG = 64  # sentences; a longer document is scored alone, so that a model needs to remember one such text
SENTENCES_AS_TEXTS = TextWarning(
    "sentences-as-texts",
    "every text of the list has one sentence; pass one text in sentences as Document('name', sentences)",
)

WithWarnings = TypeVar("WithWarnings", Score, Ordering)


def documents_of(texts: object, *, language: str = "en") -> tuple[list[Document], bool]:
    r"""Return the texts as documents, and whether there is a single one.

    Args:
        texts: A str is one text, split into sentences; its blank lines separate paragraphs. A list, tuple, generator,
            array or Series holds one text per entry.
        language: Language of the sentence splitter.

    Raises:
        CorpusError: The input, or one of its entries, is neither a str nor a Document.

    Example:
        >>> documents, single = documents_of("It rained. He slept.\n\nHe woke.")
        >>> documents[0].sentences, documents[0].paragraph_starts, single
        (('It rained.', 'He slept.', 'He woke.'), (0, 2), True)
    """
    found, single = texts_of(texts)
    names = [SINGLE_NAME] if single else [f"{SINGLE_NAME}-{number}" for number in range(len(found))]
    documents = [_document(text, name, language) for text, name in zip(found, names, strict=True)]
    return _labelled(documents, texts), single


def texts_of(texts: object) -> tuple[list[str | Document], bool]:
    """Return the texts as a list, not split yet, and whether there is a single one.

    Raises:
        CorpusError: The input, or one of its entries, is neither a str nor a Document.

    Example:
        >>> texts_of("It rained."), texts_of(("It rained.", "He slept."))
        ((['It rained.'], True), (['It rained.', 'He slept.'], False))
    """
    if isinstance(texts, str | Document):
        return [texts], True
    _check_many(texts)
    assert isinstance(texts, Iterable)
    return [_entry(text, number) for number, text in enumerate(texts)], False


def one_document(text: object, *, name: str = SINGLE_NAME, language: str = "en") -> Document:
    """Return a single text as a document.

    Raises:
        CorpusError: It is neither a str nor a Document.
    """
    if not isinstance(text, str | Document):
        raise CorpusError(
            "not a text",
            seen=_described(text),
            allowed="one str (a whole text) or one Document",
            next_step=_next_step(text),
        )
    return _document(text, name, language)


def _document(text: str | Document, name: str, language: str) -> Document:
    return text if isinstance(text, Document) else document_of_text(name, text, language)


def in_batches(documents: Iterator[Document]) -> Iterator[list[Document]]:
    """Yield the first document alone, then documents in batches, and long documents alone."""
    batch, size = list[Document](), 1
    for document in documents:
        if batch and len(document) > LONG:
            yield batch
            batch = []
        batch.append(document)
        if len(batch) == size or len(document) > LONG:
            yield batch
            batch, size = [], AT_ONCE
    if batch:
        yield batch


def length_batches(documents: Sequence[Document]) -> list[list[int]]:
    """Return the numbers of the documents in batches of similar lengths; long documents are alone.

    Example:
        >>> length_batches([Document(str(n), ("A.",) * n) for n in (3, 70, 1)])
        [[2, 0], [1]]
    """
    lengths = [(len(document), sum(map(len, document.sentences))) for document in documents]
    ranked = sorted(range(len(documents)), key=lambda number: lengths[number])
    short = [number for number in ranked if len(documents[number]) <= LONG]
    batches = [short[first : first + AT_ONCE] for first in range(0, len(short), AT_ONCE)]
    return [*batches, *([number] for number in ranked[len(short) :])]


def _entry(text: object, number: int) -> str | Document:
    if isinstance(text, str | Document):
        return text
    raise CorpusError(
        f"entry {number} is not a text",
        seen=_described(text),
        allowed="a str (a whole text) or a Document in every entry",
        next_step=_next_step(text),
    )


def _labelled(documents: list[Document], texts: object) -> list[Document]:
    """Return the documents of a pandas Series with the labels of its index; others as they are."""
    labels = labels_of(texts)
    if labels is None:
        return documents
    return [replace(document, label=label) for document, label in zip(documents, labels, strict=True)]


def labels_of(texts: object) -> list[Any] | None:
    """Return the index of a pandas Series; None for everything else.

    Example:
        >>> labels_of(["It rained."])
    """
    pandas = sys.modules.get("pandas")
    return list(texts.index) if pandas is not None and isinstance(texts, pandas.Series) else None


def _check_many(texts: object) -> None:
    if (shape := _array_shape(texts)) is not None and len(shape) != 1:
        raise CorpusError(
            "an array of texts has one dimension",
            seen=f"an array of shape {shape}",
            allowed=ALLOWED,
            next_step="pass one text with X.item()"
            if not shape
            else "pass one column, such as X[:, 0]; in a ColumnTransformer, name the column as 'text', not as ['text']",
        )
    if _is_frame(texts) or isinstance(texts, NOT_TEXTS) or not isinstance(texts, Iterable):
        raise CorpusError("not a text", seen=_described(texts), allowed=ALLOWED, next_step=_next_step(texts))


def _described(value: object) -> str:
    shown = repr(value) if isinstance(value, str | bytes | int | float | Path | list | tuple | dict) else ""
    return f"{type(value).__name__} {shown if len(shown) <= 60 else shown[:59] + '…'}".strip()


def _next_step(value: object) -> str:
    if isinstance(value, Path):
        return "read the file: weft.score(weft.read_documents(path))"
    if isinstance(value, bytes | bytearray):
        return "decode the bytes first, such as data.decode('utf-8')"
    if isinstance(value, set | frozenset):
        return "pass a list, such as sorted(texts): a set has no order"
    if isinstance(value, list | tuple):
        return "join the sentences of each text as Document('name', sentences)"
    if _is_frame(value):
        return "pass one column, such as frame['text']; in a ColumnTransformer, name it as 'text', not as ['text']"
    if isinstance(value, Mapping):
        return "pass list(texts.values())"
    if value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and math.isnan(value)):
        return "remove missing values first, such as series.dropna()"
    return "convert it with str()"


def _array_shape(value: object) -> tuple[int, ...] | None:
    """Return the shape of an array of numpy; None for everything else."""
    numpy = sys.modules.get("numpy")
    return value.shape if numpy is not None and isinstance(value, numpy.ndarray) else None


def _is_frame(value: object) -> bool:
    """Whether a value is a data frame; iterating over one gives its column names. Nothing is imported for it."""
    for library in ("pandas", "polars"):
        module = sys.modules.get(library)
        if module is not None and isinstance(value, module.DataFrame):
            return True
    return False


def with_list_warning(found: list[WithWarnings], documents: list[Document]) -> list[WithWarnings]:
    """Return the results of a list; if every text has one sentence, with a warning that the list may be one text."""
    if len(documents) < 2 or any(len(document) != 1 for document in documents):
        return found

    def warned(result: WithWarnings) -> WithWarnings:
        return replace(result, warnings=(*result.warnings, SENTENCES_AS_TEXTS))

    return list(map(warned, found))
