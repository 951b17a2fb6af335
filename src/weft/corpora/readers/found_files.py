"""The files of a folder, or those whose names fit a pattern, and the names of their documents."""

from __future__ import annotations

import glob
import logging
import os
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from weft.document import Document
from weft.errors import CorpusError
from weft.io.compressed_streams import STDIN, Source, plain_name, stem_of

_logger = logging.getLogger(__name__)
SHOWN_SUFFIXES = 5


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file and the name that its documents get.

    Attributes:
        path: Where it is.
        name: Its path in the folder without its suffix, or with it if two files differ only there.
    """

    path: Path
    name: str


def is_pattern(source: Source) -> bool:
    """Return whether a source is a pattern such as ``essays/*.txt``; the name of an existing file is none.

    Example:
        >>> is_pattern("essays/*.txt"), is_pattern("essay.txt"), is_pattern("-")
        (True, False, False)
    """
    return glob.has_magic(str(source)) and not os.path.lexists(source)


def found_files(source: Source, known: Collection[str] | None = None) -> list[FoundFile]:
    """Return the files of a folder and of the folders in it, or those that fit a pattern, sorted by name.

    Hidden files are omitted. Links to folders are not followed.

    Args:
        source: A folder or a pattern; ``**`` stands for any number of folders.
        known: Suffixes of files to read, such as ``.txt``; by default all. Others in a folder are counted in the log.

    Raises:
        CorpusError: There is no such file.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> for name in ("b.txt", "a.txt", "x.png"):
        ...     _ = (folder / name).write_text("It rained.")
        >>> [file.name for file in found_files(folder, {".txt"})]
        ['a', 'b']
    """
    if is_pattern(source):
        matches = [Path(match) for match in glob.glob(str(source), recursive=True)]
        root = _pattern_root(str(source))
        paths = [path for match in matches for path in ([match] if match.is_file() else _walk(match, known))]
    else:
        root = Path(source)
        paths = _walk(root, known)
    if not paths:
        raise _none_found(source)
    # Without suffixes, because "essay-2.txt" would come before "essay.txt" otherwise.
    return _named(sorted(set(paths), key=lambda path: (path.with_suffix("").parts, path.name)), root)


def _pattern_root(pattern: str) -> Path:
    """Return the folders of a pattern that come before its first special character."""
    parts = Path(pattern).parts
    plain = next((at for at, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    return Path(*parts[:plain])


def _walk(folder: Path, known: Collection[str] | None) -> list[Path]:
    """Return the files of a folder that have a known suffix; log how many have another."""
    found, others = list[Path](), Counter[str]()
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for path in (Path(place, name) for name in names if not name.startswith(".")):
            suffix = Path(plain_name(path)).suffix.lower()
            if not path.is_file():  # a socket, a pipe or a broken link
                continue
            if known is None or suffix in known:
                found.append(path)
            else:
                others[suffix] += 1
    if others:
        listing = ", ".join(sorted(others)[:SHOWN_SUFFIXES])
        _logger.warning("%s: files of unknown formats are not read: %d (%s)", folder, others.total(), listing)
    return found


def _none_found(source: Source) -> CorpusError:
    pattern = is_pattern(source)
    return CorpusError(
        "no file fits the pattern" if pattern else f"no readable file in the folder {source}",
        seen=str(source) if pattern else ", ".join(sorted(os.listdir(source))[:SHOWN_SUFFIXES]) or "an empty folder",
        allowed="a pattern that fits at least one file" if pattern else "files of known formats, such as .txt and .csv",
        next_step="check the path" if pattern else "name the format of all files with `format`",
    )


def _named(paths: Sequence[Path], root: Path) -> list[FoundFile]:
    full = [_inside(path, root).with_name(plain_name(path)) for path in paths]
    short = [path.with_suffix("") for path in full]
    counts = Counter(short)
    names = (one if counts[other] > 1 else other for one, other in zip(full, short, strict=True))
    return [FoundFile(path, name.as_posix()) for path, name in zip(paths, names, strict=True)]


def _inside(path: Path, root: Path) -> Path:
    return path.relative_to(root) if path.is_relative_to(root) else path


def expanded(sources: Sequence[str]) -> list[str]:
    """Return the sources with the files that fit a pattern in its place.

    Example:
        >>> expanded(["a.txt", "-"])
        ['a.txt', '-']
    """
    listed = ([str(file.path) for file in found_files(one)] if is_pattern(one) else [one] for one in sources)
    return [source for sources in listed for source in sources]


def renamed(documents: Iterator[Document], file: FoundFile) -> Iterator[Document]:
    """Yield the documents of a file; ids that were made of the name of the file get the name that it has here."""
    stem = stem_of(file.path)
    for document in documents:
        made = document.id == stem or document.id.startswith(f"{stem}:")
        yield replace(document, id=file.name + document.id[len(stem) :]) if made and file.name != stem else document


def common_names(sources: Sequence[Source]) -> set[Source]:
    """Return the files whose documents would have the same names as those of another file.

    Example:
        >>> sorted(common_names(["a/essay.txt", "b/essay.txt", "b/story.txt"]))
        ['a/essay.txt', 'b/essay.txt']
    """
    files = {source for source in sources if str(source) != STDIN and not is_pattern(source) and not _is_folder(source)}
    counts = Counter(stem_of(source) for source in files)
    return {source for source in files if counts[stem_of(source)] > 1}


def _is_folder(source: Source) -> bool:
    return os.path.isdir(source)
