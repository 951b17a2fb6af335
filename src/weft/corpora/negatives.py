"""Writing negatives down, beside their documents, in the format the readers read back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from weft.artifacts import write_atomically
from weft.corpora.corruption import PermutedDocument, permutations, replacements
from weft.corpora.readers import ReadOptions, read_documents
from weft.document import Document

Record = dict[str, Any]


def write_negatives(path: str | Path, documents: Iterable[PermutedDocument]) -> int:
    """Write documents with their permutations as JSONL, atomically; `read_permuted` reads them back.

    Returns:
        How many documents were written.
    """
    return _write(path, (_record(item.document, item.orders) for item in documents))


def corrupt_file(
    source: str | Path,
    out: str | Path,
    *,
    permutations_each: int = 20,
    replacements_each: int = 0,
    seed: int = 1,
    options: ReadOptions | None = None,
) -> int:
    """Read documents and write them with seeded permutations; replacements follow as documents of their own.

    A replaced document carries ``corrupted`` (the original's id) and ``position``; its new sentence comes from the
    other documents of the file, or from its own where the file has only one.

    Returns:
        How many documents were written.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "a.txt").write_text("One fell. Two rose. Three sat.")
        >>> corrupt_file(folder / "a.txt", folder / "b.jsonl", permutations_each=2)
        1
    """
    reading = options or ReadOptions()
    if not replacements_each:
        documents = read_documents(source, reading)
        return _write(out, (_permuted(document, permutations_each, seed) for document in documents))
    held = list(read_documents(source, reading))  # the pool of replacements is the whole file
    return _write(out, _with_replacements(held, permutations_each, replacements_each, seed))


def _permuted(document: Document, count: int, seed: int) -> Record:
    return _record(document, permutations(document, count=count, seed=seed))


def _with_replacements(held: Sequence[Document], orders: int, count: int, seed: int) -> Iterator[Record]:
    pool = [sentence for document in held for sentence in document.sentences]
    for document in held:
        yield _permuted(document, orders, seed)
        for number, changed in enumerate(replacements(document, pool, count=count, seed=seed)):
            record = _record(changed.document, ())
            yield {
                **record,
                "id": f"{document.id}~{number}",
                "corrupted": document.id,
                "position": changed.position,
            }


def _record(document: Document, orders: Sequence[Sequence[int]]) -> Record:
    record: Record = {"id": document.id, "title": document.title, "sentences": document.sentences}
    return {**record, "perms": orders} if orders else record


def _write(path: str | Path, records: Iterable[Record]) -> int:
    written = 0
    with write_atomically(Path(path)) as handle:
        for record in records:
            handle.write(json.dumps(record, ensure_ascii=False).encode("utf-8") + b"\n")
            written += 1
    return written
