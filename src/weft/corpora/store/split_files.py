"""A file of documents divided into a training and a validation part."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from weft.corpora.readers.formats import read_documents
from weft.document import Document
from weft.errors import CorpusError
from weft.io.atomic_files import write_atomically
from weft.io.seeded_hash import hash_key


def split_files(
    files: Sequence[Path], folder: str | Path, *, share: float, seed: int = 1
) -> tuple[list[Path], list[Path]]:
    r"""Write the documents of files to ``train.jsonl`` and ``valid.jsonl`` of a folder, and return both paths.

    Which documents are held out depends on the seed and on their number alone. At least one is in each part.

    Args:
        files: Files of documents.
        folder: Folder to write.
        share: Share of the documents that are held out, between 0 and 1.
        seed: Seed of the choice.

    Raises:
        CorpusError: There are fewer than two documents.

    Example:
        >>> import tempfile
        >>> place = Path(tempfile.mkdtemp())
        >>> _ = (place / "texts.jsonl").write_text('{"text": "It rained."}\n' * 10)
        >>> _, valid = split_files([place / "texts.jsonl"], place / "split", share=0.2)
        >>> len(valid[0].read_text().splitlines())
        2
    """
    place = Path(folder)
    count = sum(1 for _ in _documents(files))
    if count < 2:
        raise CorpusError(
            "too few documents to hold some out for validation",
            seen=count,
            allowed="2 documents or more",
            next_step="add documents, or set data.valid_share to 0",
        )
    ranked = sorted(range(count), key=lambda number: hash_key(seed, "valid", number))
    held_out = set(ranked[: min(count - 1, max(1, round(share * count)))])
    for name, inside in (("train", False), ("valid", True)):
        chosen = (one for number, one in enumerate(_documents(files)) if (number in held_out) is inside)
        with write_atomically(place / f"{name}.jsonl") as handle:
            handle.writelines(_line(document) for document in chosen)
    return [place / "train.jsonl"], [place / "valid.jsonl"]


def _documents(files: Sequence[Path]) -> Iterator[Document]:
    return (document for path in files for document in read_documents(path))


def _line(document: Document) -> bytes:
    paragraphs = [paragraph.sentences for paragraph in document.paragraphs()]
    record = {"id": document.id, "title": document.title, "paragraphs": paragraphs}
    return (json.dumps(record, ensure_ascii=False) + "\n").encode()
