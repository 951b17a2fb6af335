"""The chunks of text that are continued: three sentences of context and the three that people wrote after them.

One selection for all systems, cut by page: a function of the data, the tokenizer and the numbers below alone.
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
from weft.evaluation.adversarial.saved_arrays import damaged, read_arrays, write_arrays
from weft.evaluation.adversarial.token_rows import IdRows, Whole, canonical_rows
from weft.io.file_hash import sha256_of
from weft.io.seeded_hash import hash_key
from weft.progress import Progress, silent

CONTEXT, TURNS = 3, 3
SIZE = CONTEXT + TURNS
PARTS = ("train", "dev", "test")
HELD_OUT = 0.17  # of the pages, for the test part and for the dev part each
FORMAT = 2  # rises when the selection changes


@dataclass(frozen=True, slots=True)
class Protocol:
    """What decides the selection.

    Attributes:
        train: Contexts to train evaluators on; each gives two instances, a human chunk and a machine chunk.
        dev: Contexts to stop training by.
        test: Contexts to measure on.
        shortest: Tokens of the shortest sentence in a chunk, as of the shortest that is written.
        longest: Tokens of the longest.
        seed: Of the choice of pages and chunks.
    """

    train: int = 64_000
    dev: int = 6_400
    test: int = 6_400
    shortest: int = 4
    longest: int = 80
    seed: int = 1

    @staticmethod
    def limited(test: int | None) -> Protocol:
        """The standard, or a small copy of it with so many test contexts."""
        return Protocol() if test is None else Protocol(train=10 * test, dev=test, test=test)


@dataclass(frozen=True)
class Chunks:
    """Contexts and what people wrote after them, train first, then dev, then test.

    Attributes:
        rows: The sentences.
        context: [chunks, 3] numbers of sentences.
        human: [chunks, 3] numbers of the sentences that follow.
        pages: [chunks] the ids of their pages.
        sizes: Of train, dev and test.
        fingerprint: Of all that decided the selection.
    """

    rows: IdRows
    context: Whole
    human: Whole
    pages: npt.NDArray[np.str_]
    sizes: tuple[int, int, int]
    fingerprint: str

    def __len__(self) -> int:
        return len(self.context)

    @property
    def learned(self) -> Whole:
        """Numbers of the sentences of the training part: what may be counted without a look at the others."""
        part = self.part("train")
        return np.unique(np.concatenate([self.context[part], self.human[part]]))

    def part(self, name: str) -> slice:
        """Where a part stands among the chunks."""
        ends = np.cumsum(self.sizes)
        number = PARTS.index(name)
        return slice(int(ends[number] - self.sizes[number]), int(ends[number]))


@dataclass(frozen=True, slots=True)
class _Window:
    """Six sentences in a row: the page, where the first stands among all sentences, and where in its paragraph."""

    page: int
    first: int
    start: int


def load_chunks(
    path: Path, tokenizer: Tokenizer, protocol: Protocol, *, folder: Path | None = None, progress: Progress = silent
) -> Chunks:
    """The selection; kept in ``folder``, so that the next system need not read the corpus again."""
    fingerprint = _fingerprint(path, tokenizer, protocol)
    kept = None if folder is None else folder / f"chunks-{fingerprint[:12]}.npz"
    if kept is not None and kept.is_file():
        return _read(kept, fingerprint, tokenizer.vocabulary_size)
    chunks = select_chunks(read_documents(path, ReadOptions()), tokenizer, protocol, fingerprint, progress=progress)
    if kept is not None:
        _write(kept, chunks)
    return chunks


def _fingerprint(path: Path, tokenizer: Tokenizer, protocol: Protocol) -> str:
    content = [FORMAT, sha256_of(path), tokenizer.fingerprint, asdict(protocol)]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def select_chunks(
    documents: Iterator[Document] | Sequence[Document],
    tokenizer: Tokenizer,
    protocol: Protocol,
    fingerprint: str = "",
    *,
    progress: Progress = silent,
) -> Chunks:
    """Choose chunks of six sentences from paragraphs.

    A hash gives every page its part and its place. Test and dev take chunks that do not overlap; in training chunks may
    share sentences, once those that share few are used up.

    Raises:
        CorpusError: There are too few.
    """
    pages, texts, windows = _windows(documents, progress)
    rows = canonical_rows(texts, tokenizer, longest=10**9)
    fits = (rows.lengths >= protocol.shortest) & (rows.lengths <= protocol.longest)  # [sentences]
    bad = np.concatenate([[0], np.cumsum(~fits)])
    fitting = [window for window in windows if bad[window.first + SIZE] == bad[window.first]]
    chosen = _chosen(pages, fitting, protocol)
    firsts = np.array([window.first for part in chosen for window in part], dtype=np.int64)  # [chunks]
    places = firsts[:, None] + np.arange(SIZE)  # [chunks, 6]
    used, numbers = np.unique(places, return_inverse=True)
    numbers = numbers.reshape(places.shape)
    names = np.array([pages[window.page] for part in chosen for window in part], dtype=np.str_)
    sizes = (len(chosen[0]), len(chosen[1]), len(chosen[2]))
    kept = IdRows.of([rows.row(number) for number in used.tolist()])
    return Chunks(kept, numbers[:, :CONTEXT], numbers[:, CONTEXT:], names, sizes, fingerprint)


def _windows(
    documents: Iterator[Document] | Sequence[Document], progress: Progress
) -> tuple[list[str], list[str], list[_Window]]:
    """Ids of pages, sentences of paragraphs that are long enough, and every six of them in a row."""
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


def _chosen(pages: Sequence[str], windows: Sequence[_Window], protocol: Protocol) -> list[list[_Window]]:
    """The chunks of train, dev and test."""
    of_page: dict[int, list[_Window]] = {}
    for window in windows:
        of_page.setdefault(window.page, []).append(window)
    order = sorted(of_page, key=lambda page: hash_key(protocol.seed, "page", pages[page]))
    sides: dict[str, list[int]] = {name: [] for name in PARTS}
    for page in order:
        sides[_side(protocol.seed, pages[page])].append(page)
    held = {name: [one for page in sides[name] for one in _apart(of_page[page])] for name in ("dev", "test")}
    left = [window for page in sides["train"] for window in of_page[page]]
    left.sort(key=lambda one: (one.start % SIZE > 0, one.start % CONTEXT > 0, hash_key(protocol.seed, one.first)))
    parts = [left[: protocol.train], held["dev"][: protocol.dev], held["test"][: protocol.test]]
    for name, part, wanted in zip(PARTS, parts, (protocol.train, protocol.dev, protocol.test), strict=True):
        if len(part) < wanted:
            raise CorpusError(
                f"too few chunks of {SIZE} sentences for the {name} part",
                seen=len(part),
                allowed=f"{wanted}, of sentences of {protocol.shortest} to {protocol.longest} tokens",
                next_step="give more text, or --limit with a smaller number of test contexts",
            )
    return parts


def _side(seed: int, page: str) -> str:
    """The part of a page, whatever the size of the experiment: what is dev in a small one is never test in another."""
    place = int.from_bytes(hash_key(seed, "side", page)[:8], "big") / 2**64
    return "test" if place < HELD_OUT else "dev" if place < 2 * HELD_OUT else "train"


def _apart(windows: Sequence[_Window]) -> list[_Window]:
    """Windows of a page that share no sentence, in the order of the text."""
    found: list[_Window] = []
    for window in windows:
        if not found or window.first >= found[-1].first + SIZE:
            found.append(window)
    return found


def _write(path: Path, chunks: Chunks) -> None:
    arrays: dict[str, Any] = {
        "flat": chunks.rows.flat, "offsets": chunks.rows.offsets, "context": chunks.context, "human": chunks.human,
        "pages": chunks.pages, "sizes": np.array(chunks.sizes),
    }  # fmt: skip
    write_arrays(path, arrays)


def _read(path: Path, fingerprint: str, vocabulary: int) -> Chunks:
    found = read_arrays(path)
    try:
        rows = IdRows(found["flat"], found["offsets"])
        first, second, third = found["sizes"].tolist()
        chunks = Chunks(rows, found["context"], found["human"], found["pages"], (first, second, third), fingerprint)
        _check(chunks, vocabulary)
        return chunks
    except KeyError as error:
        raise damaged(path, f"no {error}") from error
    except (ValueError, TypeError, IndexError) as error:
        raise damaged(path, str(error)) from error


def _check(chunks: Chunks, vocabulary: int) -> None:
    """Refuse arrays that do not belong together, whoever wrote them.

    Raises:
        ValueError: They do not.
    """
    rows, count = chunks.rows, sum(chunks.sizes)
    shapes = (chunks.context.shape, chunks.human.shape, chunks.pages.shape)
    if shapes != ((count, CONTEXT), (count, TURNS), (count,)):
        raise ValueError(f"chunks of the shapes {shapes}, not {count} of them")
    if int(rows.offsets[0]) != 0 or int(rows.offsets[-1]) != len(rows.flat) or (rows.lengths < 0).any():
        raise ValueError("sentences that do not follow each other")
    for what, numbers, end in (
        ("tokens", rows.flat, vocabulary),
        ("sentences", chunks.context, len(rows)),
        ("sentences", chunks.human, len(rows)),
    ):
        if numbers.dtype.kind not in "iu" or (numbers.size and not 0 <= int(numbers.min()) <= int(numbers.max()) < end):
            raise ValueError(f"numbers of {what} that are not among {end}")
