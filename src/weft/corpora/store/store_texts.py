"""The texts of a store: its inputs read again, in the same order and without the same overlapping paragraphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.corpora.readers.formats import read_documents
from weft.corpora.readers.read_options import ReadOptions
from weft.corpora.store.encode_chunks import Chunk, Paragraph, kept_paragraphs
from weft.corpora.store.input_files import InputFile, describe_input, source_chunks
from weft.corpora.store.overlap import OverlapIndex
from weft.corpora.store.token_store import TokenStore
from weft.corpora.text.tokenizers import Tokenizer
from weft.errors import CorpusError

Article = list[Paragraph]


@dataclass(frozen=True, slots=True)
class StoreInputs:
    """The input files of a store, checked.

    Attributes:
        sources: The inputs, in the order of the store.
        held_out: The text that is not in the store.
        drop_overlap: Whether paragraphs that overlap with it were omitted.
    """

    sources: tuple[InputFile, ...]
    held_out: OverlapIndex
    drop_overlap: bool

    def chunks(self, characters: int) -> Iterator[Chunk]:
        """Yield the inputs in chunks of about ``characters``."""
        for number, source in enumerate(self.sources):
            yield from source_chunks(source, number, characters)

    def articles(self, chunk: Chunk) -> list[Article]:
        """Return the articles of a chunk that are in the store, each as its paragraphs."""
        found = (
            kept_paragraphs(place, document, held_out=self.held_out, drop_overlap=self.drop_overlap)
            for place, document in chunk.read()
        )
        return [article for article in found if article]


def store_inputs(store: TokenStore, inputs: Sequence[str | Path], held_out: Sequence[str | Path] = ()) -> StoreInputs:
    """Return the inputs of a store, read with the options of the store.

    Raises:
        CorpusError: The files are not those that the store was prepared from.
    """
    body = store.info.body
    recorded = [ReadOptions(**options) for options in body.get("options", [])]
    if len(recorded) != len(inputs):
        raise _other_files("inputs", f"{len(inputs)} files", f"{len(recorded)} files")
    sources = tuple(describe_input(str(name), options) for name, options in zip(inputs, recorded, strict=True))
    others = tuple(describe_input(str(name), ReadOptions()) for name in held_out)
    _check_files("inputs", sources, body.get("inputs", []))
    _check_files("held-out files", others, body.get("held_out", []))
    documents = chain.from_iterable(read_documents(other.path, other.options) for other in others)
    return StoreInputs(sources, OverlapIndex.of(documents), bool(body.get("drop_overlap")))


@dataclass(frozen=True, slots=True)
class ArticleSample:
    """The structure of some consecutive articles, and the tokens of some of their sentences, to compare with a store.

    Attributes:
        articles: Paragraphs of each: [articles].
        paragraphs: Sentences of each: [paragraphs].
        tokens: Token ids of some sentences, by their number among those of the articles.
    """

    articles: npt.NDArray[np.int64]
    paragraphs: npt.NDArray[np.int64]
    tokens: dict[int, list[int]]

    @classmethod
    def of(cls, articles: Sequence[Article], tokenizer: Tokenizer, every: int) -> ArticleSample:
        """Return the structure of articles and the tokens of every ``every``-th sentence and of the last."""
        paragraphs = [paragraph for article in articles for paragraph in article]
        sentences = [sentence for paragraph in paragraphs for sentence in paragraph]
        numbers = sorted({*range(0, len(sentences), every), len(sentences) - 1}) if sentences else []
        encoded = tokenizer.encode_batch([sentences[number] for number in numbers])
        return cls(
            np.array([len(article) for article in articles], dtype=np.int64),
            np.array([len(paragraph) for paragraph in paragraphs], dtype=np.int64),
            dict(zip(numbers, map(list, encoded), strict=True)),
        )


class AlignmentCheck:
    """Compares articles, sample after sample, with a store from its beginning.

    Attributes:
        sentences: Number of sentences compared so far: the store's number of the next one.
    """

    def __init__(self, store: TokenStore) -> None:
        self.store = store
        self.articles = self.paragraphs = self.sentences = 0

    def advance(self, sample: ArticleSample) -> None:
        """Compare the next articles.

        Raises:
            CorpusError: Their structure or a sentence differs from that of the store.
        """
        self._compare("articles", self.store.article_offsets, self.articles, sample.articles)
        self._compare("paragraphs", self.store.paragraph_offsets, self.paragraphs, sample.paragraphs)
        for number, tokens in sample.tokens.items():
            if self.store.sentence(self.sentences + number).tolist() != tokens:
                raise _misaligned(f"other tokens in sentence {self.sentences + number}")
        self.articles += len(sample.articles)
        self.paragraphs += len(sample.paragraphs)
        self.sentences += int(sample.paragraphs.sum())

    def finish(self) -> None:
        """Raise CorpusError if the store has more sentences."""
        if self.sentences != self.store.sentence_count:
            raise _misaligned(f"{self.sentences} sentences, and {self.store.sentence_count} in the store")

    def _compare(self, level: str, offsets: Any, start: int, sizes: npt.NDArray[np.int64]) -> None:
        if not np.array_equal(np.diff(offsets[start : start + len(sizes) + 1]), sizes):
            raise _misaligned(f"other {level} after number {start}")


def _check_files(what: str, files: Sequence[InputFile], recorded: Sequence[dict[str, Any]]) -> None:
    seen = [file.sha256 for file in files]
    wanted = [str(one.get("sha256")) for one in recorded]
    if seen != wanted:
        names = ", ".join(str(one.get("name")) for one in recorded) or "none"
        given = ", ".join(file.name for file in files) or "none"
        raise _other_files(what, given, f"the same files in the same order: {names}")


def _other_files(what: str, seen: str, allowed: str) -> CorpusError:
    return CorpusError(
        f"these are not the {what} of the store", seen=seen, allowed=allowed,
        next_step="name the files of the `weft prepare` command, in its order",
    )  # fmt: skip


def _misaligned(seen: str) -> CorpusError:
    return CorpusError(
        "the texts are not those of the store",
        seen=seen,
        allowed="the sentences of the store, in its order",
        next_step="prepare the store again with this version of weft",
    )
