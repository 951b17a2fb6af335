"""The names of files and folders by which corpora with a layout of their own are recognised."""

from __future__ import annotations

import re
from pathlib import Path

from weft.errors import CorpusError
from weft.io.compressed_streams import Source

DOMAINS, SPLITS = ("apws", "ntsb"), ("train", "test")  # folders of the corpora of Barzilay & Lapata
_EXTRACTED_NAME = re.compile(r"wiki_\d+(\.gz|\.bz2|\.xz)?$")


def is_tar(source: Source) -> bool:
    """Return whether a file has the name of a tar archive."""
    return Path(source).name.lower().endswith((".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz"))


def looks_like_layout(folder: Path) -> bool:
    """Return whether a directory is part of the original layout of Barzilay & Lapata."""
    if not set(DOMAINS).isdisjoint(folder.parts[-2:]):
        return True
    return any((folder / above / name).is_dir() for name in DOMAINS for above in ("data/raw", "raw", ""))


def extracted_files(folder: Path) -> list[Path]:
    """Return the files of a WikiExtractor folder, sorted."""
    paths = sorted(path for path in folder.rglob("wiki_*") if is_extracted_name(path.name))
    if paths:
        return paths
    raise CorpusError(
        f"no WikiExtractor output in {folder}",
        seen=", ".join(sorted(path.name for path in folder.iterdir())[:5]) or "an empty directory",
        allowed="files named wiki_00, wiki_01, ... at any depth",
        next_step="give the directory that WikiExtractor wrote to (its option -o)",
    )


def is_extracted_name(name: str) -> bool:
    """Return whether a file has a name that WikiExtractor gives."""
    return _EXTRACTED_NAME.match(name) is not None
