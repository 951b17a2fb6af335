"""``weft corrupt``: write documents with their negatives as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from weft.corpora.negatives.permute import permutations
from weft.corpora.negatives.permuted_document import PermutedDocument
from weft.corpora.negatives.replace import replacements
from weft.corpora.readers.formats import ReadOptions, read_documents
from weft.document import Document
from weft.io.atomic_files import write_atomically


def write_negatives(path: str | Path, documents: Iterable[PermutedDocument]) -> int:
    """Write documents with their negatives as JSON lines; `read_permuted` reads them.

    Returns:
        The number of documents written.
    """
    written = 0
    with write_atomically(Path(path)) as handle:
        for document in documents:
            handle.write(json.dumps(_record(document), ensure_ascii=False).encode("utf-8") + b"\n")
            written += 1
    return written


def corrupt_file(
    source: str | Path,
    out: str | Path,
    *,
    permutations_each: int = 20,
    replacements_each: int = 0,
    seed: int = 1,
    options: ReadOptions | None = None,
) -> int:
    """Read documents and write each with its seeded negatives.

    A record has ``perms``, lists of sentence indices, and ``replacements``, each with a ``position`` and the
    ``sentence`` to put there: a sentence of another document of the file, or of the same one if it is the only one.

    Returns:
        The number of documents written.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "a.txt").write_text("One fell. Two rose. Three sat.")
        >>> corrupt_file(folder / "a.txt", folder / "b.jsonl", permutations_each=2)
        1
    """
    documents: Iterable[Document] = read_documents(source, options or ReadOptions())
    pool: list[str] = []
    if replacements_each:
        documents = list(documents)  # the pool of replacements is all sentences of the file
        pool = [sentence for document in documents for sentence in document.sentences]
    corrupted = (
        PermutedDocument(
            document,
            permutations(document, count=permutations_each, seed=seed),
            replacements(document, pool, count=replacements_each, seed=seed),
        )
        for document in documents
    )
    return write_negatives(out, corrupted)


def _record(item: PermutedDocument) -> dict[str, Any]:
    document = item.document
    record: dict[str, Any] = {"id": document.id, "title": document.title, "sentences": document.sentences}
    if item.orders:
        record["perms"] = item.orders
    if item.replacements:
        record["replacements"] = [asdict(replacement) for replacement in item.replacements]
    return record
