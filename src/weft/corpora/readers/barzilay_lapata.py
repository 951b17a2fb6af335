"""The discourse corpora of Barzilay & Lapata (2008): NTSB accident reports and AP earthquake stories.

They are read from JSON lines with ``sentences`` and ``perms``, or from the original layout, a folder or a tar file::

    raw/{apws,ntsb}/{train,test}/NAME[.perm-1][-p]        the original documents
    raw/{apws,ntsb}/{train,test}_staging/NAME.perm-K[-p]  their permutations

where every line is a tag and a sentence. ``perm-1`` is the original itself: orders equal to the original are omitted,
because they would limit accuracy to 20/21.
"""

from __future__ import annotations

import logging
import os
import re
import tarfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from weft.corpora.negatives.permuted_document import PermutedDocument
from weft.corpora.readers.corpus_names import DOMAINS, SPLITS, is_tar
from weft.corpora.readers.permuted_jsonl import read_permuted_jsonl
from weft.corpora.readers.read_options import DEFAULT_OPTIONS, ReadOptions
from weft.document import Document
from weft.errors import CorpusError, check_known
from weft.io.compressed_streams import Source, name_of, open_bytes

_logger = logging.getLogger(__name__)

_LAYOUT = re.compile(
    r"(?:^|/)(?P<domain>apws|ntsb)/(?P<split>train|test)(?P<staging>_staging)?/"
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9.-]*?)(?:\.perm-(?P<number>\d+))?(?:-p)?$"
)
# The longest of the 4,400 texts has 9 kB.
MAX_MEMBER_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class _Text:
    """A file of the original layout: a document or one of its permutations."""

    domain: str
    split: str
    name: str
    number: int  # number of the permutation; 0 for an original
    sentences: tuple[str, ...]


def read_barzilay_lapata(
    source: Source,
    options: ReadOptions = DEFAULT_OPTIONS,
    *,
    domain: str | None = None,
    split: str | None = None,
) -> Iterator[PermutedDocument]:
    """Yield documents with their permutations from JSON lines, a directory or a tar file.

    Args:
        source: A ``.jsonl`` file, a directory at any level of the original layout, or a tar file.
        options: The encoding and the longest line.
        domain: ``apws`` or ``ntsb``: the only domain to read from the original layout.
        split: ``train`` or ``test``: the only split to read from the original layout.

    Yields:
        Each document with its distinct orders, without the original order. An order lists, for every position, the
        index of its sentence; it may omit sentences.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp()) / "ntsb"
        >>> for name, lines in {"train/n1": "t A.|t B.", "train_staging/n1.perm-2": "t B.|t A."}.items():
        ...     (folder / name).parent.mkdir(parents=True)
        ...     _ = (folder / name).write_text(lines.replace("|", chr(10)))
        >>> [(item.document.id, item.orders) for item in read_barzilay_lapata(folder)]
        [('n1', ((1, 0),))]
    """
    if domain is not None:
        check_known("domain", domain, DOMAINS)
    if split is not None:
        check_known("split", split, SPLITS)
    if os.path.isdir(source):
        texts = _directory_texts(Path(source), options.encoding)
    elif is_tar(source):
        texts = _archive_texts(source, options.encoding)
    else:
        yield from read_permuted_jsonl(source, options)
        return
    yield from _joined(text for text in texts if domain in (None, text.domain) and split in (None, text.split))


def read_originals(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    """Yield the documents of `read_barzilay_lapata` without their permutations."""
    return (item.document for item in read_barzilay_lapata(source, options))


def _directory_texts(folder: Path, encoding: str) -> Iterator[_Text]:
    folder = folder.resolve()
    folders = [folder]
    if folder.name in SPLITS:  # the permutations of a split are in a folder beside it
        folders.append(folder.with_name(f"{folder.name}_staging"))
    for path in sorted(path for top in folders for path in top.rglob("*")):
        found = _LAYOUT.search(path.as_posix())
        if found and path.is_file():
            with open_bytes(path) as stream:
                yield _text(found, stream.read(MAX_MEMBER_BYTES + 1), str(path), encoding)


def _archive_texts(source: Source, encoding: str) -> Iterator[_Text]:
    """Yield the texts of a tar file, read as a stream; links, devices and names with ``..`` are skipped."""
    name = name_of(source)
    try:
        with open_bytes(source) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                found = _LAYOUT.search(member.name)
                unsafe = ".." in member.name.split("/") or not member.isreg()
                file = archive.extractfile(member) if found and not unsafe else None
                if found and file:
                    yield _text(found, file.read(MAX_MEMBER_BYTES + 1), f"{name}, {member.name}", encoding)
    except tarfile.TarError as error:
        raise CorpusError(
            f"not a readable tar file: {name}",
            seen=str(error),
            allowed="the archive of the original corpus, whole",
            next_step="download it again, or unpack it and give the directory",
        ) from error


def _text(found: re.Match[str], data: bytes, where: str, encoding: str) -> _Text:
    number = int(found["number"] or 0) if found["staging"] else 0
    sentences = _tagged_sentences(data, where, encoding)
    return _Text(found["domain"], found["split"], found["name"], number, sentences)


def _tagged_sentences(data: bytes, where: str, encoding: str) -> tuple[str, ...]:
    if len(data) > MAX_MEMBER_BYTES:
        raise _bad_text(where, f"more than {MAX_MEMBER_BYTES} bytes")
    try:
        lines = data.decode(encoding).split("\n")
    except UnicodeError as error:
        raise _bad_text(where, str(error)) from error
    pieces = [line.split(None, 1) for line in lines if line.strip()]
    if any(len(piece) < 2 for piece in pieces):
        raise _bad_text(where, f"line {1 + [len(piece) for piece in pieces].index(1)} has a tag and no sentence")
    return tuple(" ".join(sentence.split()) for _, sentence in pieces)


def _bad_text(where: str, seen: str) -> CorpusError:
    return CorpusError(
        f"not a text of this corpus: {where}",
        seen=seen,
        allowed="lines of a tag, a space and a sentence",
        next_step="remove the file, or check `encoding`",
    )


def _joined(texts: Iterable[_Text]) -> Iterator[PermutedDocument]:
    """Yield originals with their permutations; an archive has any order, so all are held in memory (10 MB)."""
    originals: dict[tuple[str, str, str], tuple[str, ...]] = {}
    permutations: dict[tuple[str, str, str], dict[int, tuple[str, ...]]] = defaultdict(dict)
    for text in texts:
        key = (text.domain, text.split, text.name)
        if text.number == 0:
            originals[key] = text.sentences
        else:
            permutations[key][text.number] = text.sentences
    for key in sorted(originals):
        if originals[key]:
            orders = _text_orders(key[-1], originals[key], permutations[key])
            yield PermutedDocument(Document(key[-1], originals[key]), orders)


def _text_orders(
    name: str, original: tuple[str, ...], permutations: dict[int, tuple[str, ...]]
) -> tuple[tuple[int, ...], ...]:
    orders: dict[tuple[int, ...], None] = {}
    for number, sentences in sorted(permutations.items()):
        order = _align(original, sentences)
        if order is None:
            _logger.warning("%s.perm-%d is omitted: it has a sentence that is not in its original", name, number)
        elif list(order) != sorted(order):
            orders[order] = None
    return tuple(orders)


def _align(original: tuple[str, ...], permuted: tuple[str, ...]) -> tuple[int, ...] | None:
    """Return the original index of each permuted sentence; equal sentences are assigned from first to last."""
    places: dict[str, list[int]] = defaultdict(list)
    for index in reversed(range(len(original))):
        places[original[index]].append(index)
    try:
        return tuple(places[sentence].pop() for sentence in permuted)
    except IndexError:  # a sentence is not in the original, or fewer times
        return None
