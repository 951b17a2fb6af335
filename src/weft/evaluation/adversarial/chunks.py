"""Chunks of text: three sentences of context and the three sentences that people wrote after them.

All systems get the same selection. It depends only on the data, the tokenizer and the settings below.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.corpora.readers.formats import ReadOptions, read_documents
from weft.corpora.text.tokenizers import Tokenizer
from weft.document import Document
from weft.errors import CorpusError
from weft.evaluation.adversarial.saved_arrays import explain_damage, read_arrays, write_arrays
from weft.evaluation.adversarial.token_rows import Integers, TokenRows, canonical_rows
from weft.io.file_hash import sha256_of
from weft.io.seeded_hash import hash_key
from weft.progress import Progress, silent

CONTEXT, CONTINUATION = 3, 3  # sentences
SIZE = CONTEXT + CONTINUATION
PARTS = ("train", "dev", "test")
HELD_OUT = 0.17  # share of the pages in the test part, and in the dev part
FORMAT = 2  # changes with the selection


@dataclass(frozen=True, slots=True)
class SelectionSettings:
    """Settings of the selection."""

    train: int = 64_000  # number of contexts to train evaluators on; each gives a human chunk and a machine chunk
    dev: int = 6_400  # number of contexts that decide when training stops
    test: int = 6_400  # number of contexts to measure on
    shortest: int = 4  # tokens of the shortest sentence in a chunk; machine sentences have the same limits
    longest: int = 80  # tokens of the longest
    seed: int = 1  # seed of the choice of pages and chunks

    @staticmethod
    def limited(test: int | None) -> SelectionSettings:
        """Return the standard settings, or those of a smaller experiment with this number of test contexts."""
        return SelectionSettings() if test is None else SelectionSettings(train=10 * test, dev=test, test=test)


@dataclass(frozen=True)
class Chunks:
    """Contexts and human continuations: train first, then dev, then test."""

    rows: TokenRows  # the sentences
    context: Integers  # [chunks, 3] numbers of sentences
    human: Integers  # [chunks, 3] numbers of the sentences that follow
    pages: npt.NDArray[np.str_]  # [chunks] ids of their pages
    sizes: tuple[int, int, int]  # number of chunks in train, dev and test
    fingerprint: str  # hash of everything that determines the selection

    def __len__(self) -> int:
        return len(self.context)

    @property
    def training_sentences(self) -> Integers:
        """Numbers of the sentences of the training part, which statistics may use."""
        part = self.part("train")
        return np.unique(np.concatenate([self.context[part], self.human[part]]))

    def part(self, name: str) -> slice:
        """Return the place of a part among the chunks."""
        ends = np.cumsum(self.sizes)
        number = PARTS.index(name)
        return slice(int(ends[number] - self.sizes[number]), int(ends[number]))


@dataclass(frozen=True, slots=True)
class _Window:
    """Six consecutive sentences: the page, the number of the first, and its place in the paragraph."""

    page: int
    first: int
    start: int


def load_chunks(
    path: Path, tokenizer: Tokenizer, selection: SelectionSettings, folder: Path, *, progress: Progress = silent
) -> Chunks:
    """Return the selection; it is saved in ``folder``, so that the next run does not read the corpus again."""
    fingerprint = _fingerprint(path, tokenizer, selection)
    saved = folder / f"chunks-{fingerprint[:12]}.npz"
    if saved.is_file():
        return _read(saved, fingerprint, tokenizer.vocabulary_size)
    chunks = select_chunks(read_documents(path, ReadOptions()), tokenizer, selection, fingerprint, progress=progress)
    arrays: dict[str, Any] = {
        "flat": chunks.rows.flat, "offsets": chunks.rows.offsets, "context": chunks.context, "human": chunks.human,
        "pages": chunks.pages, "sizes": np.array(chunks.sizes),
    }  # fmt: skip
    write_arrays(saved, arrays)
    return chunks


def _fingerprint(path: Path, tokenizer: Tokenizer, selection: SelectionSettings) -> str:
    content = [FORMAT, sha256_of(path), tokenizer.fingerprint, asdict(selection)]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def select_chunks(
    documents: Iterator[Document] | Sequence[Document],
    tokenizer: Tokenizer,
    selection: SelectionSettings,
    fingerprint: str = "",
    *,
    progress: Progress = silent,
) -> Chunks:
    """Choose chunks of six sentences from paragraphs.

    A hash determines the part and the rank of every page. Chunks of test and dev do not overlap. Training chunks may
    share sentences; those that overlap least are taken first.

    Raises:
        CorpusError: There are too few chunks.
    """
    pages, texts, windows = _windows(documents, progress)
    rows = canonical_rows(texts, tokenizer, longest=10**9)
    fits = (rows.lengths >= selection.shortest) & (rows.lengths <= selection.longest)  # [sentences]
    bad = np.concatenate([[0], np.cumsum(~fits)])
    fitting = [window for window in windows if bad[window.first + SIZE] == bad[window.first]]
    chosen = _chosen(pages, fitting, selection)
    firsts = np.array([window.first for part in chosen for window in part], dtype=np.int64)  # [chunks]
    places = firsts[:, None] + np.arange(SIZE)  # [chunks, 6]
    used, numbers = np.unique(places, return_inverse=True)
    numbers = numbers.reshape(places.shape)
    names = np.array([pages[window.page] for part in chosen for window in part], dtype=np.str_)
    sizes = (len(chosen[0]), len(chosen[1]), len(chosen[2]))
    kept = TokenRows.of([rows.row(number) for number in used.tolist()])
    return Chunks(kept, numbers[:, :CONTEXT], numbers[:, CONTEXT:], names, sizes, fingerprint)


def _windows(
    documents: Iterator[Document] | Sequence[Document], progress: Progress
) -> tuple[list[str], list[str], list[_Window]]:
    """Return ids of pages, sentences of paragraphs that are long enough, and all windows of six of them."""
    pages: list[str] = []
    texts: list[str] = []
    windows: list[_Window] = []
    for document in documents:
        for paragraph in document.paragraphs():
            count = len(paragraph.sentences)
            if count >= SIZE:
                windows += [_Window(len(pages), len(texts) + start, start) for start in range(count - SIZE + 1)]
                texts += paragraph.sentences
        pages.append(document.id)
        if len(pages) % 1000 == 0:
            progress("reading pages", len(pages))
    return pages, texts, windows


def _chosen(pages: Sequence[str], windows: Sequence[_Window], selection: SelectionSettings) -> list[list[_Window]]:
    """Return the chunks of train, dev and test."""
    of_page: dict[int, list[_Window]] = {}
    for window in windows:
        of_page.setdefault(window.page, []).append(window)
    order = sorted(of_page, key=lambda page: hash_key(selection.seed, "page", pages[page]))
    of_part: dict[str, list[int]] = {name: [] for name in PARTS}
    for page in order:
        of_part[_part_of(selection.seed, pages[page])].append(page)
    held = {name: [one for page in of_part[name] for one in _disjoint(of_page[page])] for name in ("dev", "test")}
    left = [window for page in of_part["train"] for window in of_page[page]]
    left.sort(key=lambda one: (one.start % SIZE > 0, one.start % CONTEXT > 0, hash_key(selection.seed, one.first)))
    parts = [left[: selection.train], held["dev"][: selection.dev], held["test"][: selection.test]]
    for name, part, wanted in zip(PARTS, parts, (selection.train, selection.dev, selection.test), strict=True):
        if len(part) < wanted:
            raise CorpusError(
                f"too few chunks of {SIZE} sentences for the {name} part",
                seen=len(part),
                allowed=f"{selection.train} for train and {selection.test} each for dev and test, of sentences of "
                f"{selection.shortest} to {selection.longest} tokens",
                next_step="give more text, or --limit N, which needs 10 N chunks for train and N each for dev and test",
            )
    return parts


def _part_of(seed: int, page: str) -> str:
    """Return the part of a page; it does not depend on the size of the experiment, so that dev never becomes test."""
    place = int.from_bytes(hash_key(seed, "side", page)[:8], "big") / 2**64
    return "test" if place < HELD_OUT else "dev" if place < 2 * HELD_OUT else "train"


def _disjoint(windows: Sequence[_Window]) -> list[_Window]:
    """Return windows of a page that share no sentence, in the order of the text."""
    found: list[_Window] = []
    for window in windows:
        if not found or window.first >= found[-1].first + SIZE:
            found.append(window)
    return found


def _read(path: Path, fingerprint: str, vocabulary: int) -> Chunks:
    found = read_arrays(path)
    with explain_damage(path):
        rows = TokenRows(found["flat"], found["offsets"])
        first, second, third = found["sizes"].tolist()
        chunks = Chunks(rows, found["context"], found["human"], found["pages"], (first, second, third), fingerprint)
        _check(chunks, vocabulary)
        return chunks


def _check(chunks: Chunks, vocabulary: int) -> None:
    """Raise ValueError if the arrays do not match each other."""
    rows, count = chunks.rows, sum(chunks.sizes)
    shapes = (chunks.context.shape, chunks.human.shape, chunks.pages.shape)
    if shapes != ((count, CONTEXT), (count, CONTINUATION), (count,)):
        raise ValueError(f"arrays of the shapes {shapes}, not {count} chunks")
    if int(rows.offsets[0]) != 0 or int(rows.offsets[-1]) != len(rows.flat) or (rows.lengths < 0).any():
        raise ValueError("sentences do not follow each other")
    for what, numbers, end in (
        ("tokens", rows.flat, vocabulary),
        ("sentences", chunks.context, len(rows)),
        ("sentences", chunks.human, len(rows)),
    ):
        if numbers.dtype.kind not in "iu" or (numbers.size and not 0 <= int(numbers.min()) <= int(numbers.max()) < end):
            raise ValueError(f"a number of {what} is not below {end}")
