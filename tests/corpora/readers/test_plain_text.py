"""The plain text formats, the choice of a format, and what happens when there is nothing to read."""

from __future__ import annotations

import bz2
import io
import json
import subprocess
import sys
from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace

import pytest

from weft.corpora.readers.formats import (
    FORMATS,
    PERMUTED_FORMATS,
    ReadOptions,
    detect_format,
    read_documents,
    read_permuted,
)
from weft.document import Document
from weft.errors import ConfigError, CorpusError

STORY = "It rained. He\nslept.\n\nHe woke. He left.\n"


def write(tmp_path: Path, text: str, name: str) -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def read(path: Path | str, **options: object) -> list[Document]:
    return list(read_documents(path, ReadOptions(**options)))  # type: ignore[arg-type]


def test_text_is_one_document_with_paragraphs(tmp_path: Path) -> None:
    (document,) = read(write(tmp_path, STORY, "story.txt"))
    assert document == Document("story", ("It rained.", "He slept.", "He woke.", "He left."), "", (0, 2))


def test_blocks_are_documents_named_by_line(tmp_path: Path) -> None:
    first, second = read(write(tmp_path, "\n" + STORY, "story.txt"), format="blocks")
    assert (first.id, first.sentences) == ("story:2", ("It rained.", "He slept."))
    assert (second.id, second.sentences) == ("story:5", ("He woke.", "He left."))


def test_lines_are_sentences_never_split(tmp_path: Path) -> None:
    path = write(tmp_path, " It rained. He slept. \nHe woke\n\n\nNew one", "story.txt")
    first, second = read(path, format="lines")
    assert first == Document("story:1", ("It rained. He slept.", "He woke"))
    assert second == Document("story:5", ("New one",))


def test_blocks_stream(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_bytes(b"One. Two.\n\n" * 200_000 + b"\xff")
    documents = read_documents(path, ReadOptions(format="blocks"))
    assert len(next(documents)) == 2  # The bad byte at the end was not reached.


@pytest.mark.parametrize("text", ["", "\n\n \n", "\ufeff"])
@pytest.mark.parametrize("name", ["text", "blocks", "lines", "jsonl", "csv", "tsv", "wikiextractor"])
def test_nothing_to_read_is_an_error(tmp_path: Path, text: str, name: str) -> None:
    with pytest.raises(CorpusError, match="no text in") as caught:
        read(write(tmp_path, text, "empty.txt"), format=name)
    assert all((caught.value.seen, caught.value.allowed, caught.value.next_step))


def test_documents_without_sentences_leave_no_trace(tmp_path: Path) -> None:
    lines = ['{"text": ""}', '{"sentences": []}', '{"paragraphs": [[], [" "]]}', '{"text": "One."}']
    assert [document.id for document in read(write(tmp_path, "\n".join(lines), "a.jsonl"))] == ["a:4"]
    with pytest.raises(CorpusError, match="no text in"):
        read(write(tmp_path, "\n".join(lines[:3]), "b.jsonl"))
    with pytest.raises(CorpusError, match="no text in"):
        list(read_permuted(tmp_path / "b.jsonl"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.jsonl", "jsonl"),
        ("a.JSON.gz", "jsonl"),
        ("a.ndjson.xz", "jsonl"),
        ("a.csv.bz2", "csv"),
        ("a.tsv", "tsv"),
        ("a.parquet", "parquet"),
        ("enwiki-pages-articles.xml.bz2", "wikipedia-dump"),
        ("wiki_00", "wikiextractor"),
        ("wiki_99.bz2", "wikiextractor"),
        ("raw_texts_and_grids.tar.gz", "barzilay-lapata"),
        ("a.md", "markdown"),
        ("README", "text"),
        ("-", "text"),
    ],
)
def test_formats_by_name(name: str, expected: str) -> None:
    assert detect_format(name) == expected
    assert expected in FORMATS


@pytest.mark.parametrize("place", [*FORMATS.values(), *PERMUTED_FORMATS.values()])
def test_readers_are_where_the_table_says(place: str) -> None:
    assert callable(resolve_name(place))


def test_formats_of_directories(tmp_path: Path) -> None:
    (tmp_path / "extracted" / "AA").mkdir(parents=True)
    (tmp_path / "extracted" / "AA" / "wiki_00").touch()
    (tmp_path / "bl" / "raw" / "ntsb" / "train").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    assert detect_format(tmp_path / "extracted") == "wikiextractor"
    assert detect_format(tmp_path / "bl") == detect_format(tmp_path / "bl" / "raw") == "barzilay-lapata"
    assert detect_format(tmp_path / "bl" / "raw" / "ntsb" / "train") == "barzilay-lapata"
    assert detect_format(tmp_path / "other") == "folder"


def test_standard_input_is_text_unless_said_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(bz2.compress(b"One. Two."))))
    assert read("-") == [Document("stdin", ("One.", "Two."))]
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b'{"text": "One."}')))
    assert read("-", format="jsonl")[0].id == "stdin:1"


def test_options_that_do_not_exist(tmp_path: Path) -> None:
    path = write(tmp_path, "One.", "a.txt")
    with pytest.raises(ConfigError, match="did you mean jsonl"):
        read(path, format="json")
    with pytest.raises(ConfigError, match="unknown encoding"):
        read(path, encoding="utf-9")
    with pytest.raises(ConfigError, match="unknown language"):
        read(path, language="english", format="lines")
    assert [item.orders for item in read_permuted(path)] == [()]


def test_a_directory_where_a_file_was_meant(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="an empty folder"):
        read(tmp_path, format="jsonl")


def test_importing_the_readers_imports_nothing_heavy() -> None:
    heavy = ["sentencex", "pyarrow", "mwparserfromhell", "tokenizers", "torch"]
    code = (
        f"import sys, json, weft.corpora.readers.formats; print(json.dumps([n for n in {heavy} if n in sys.modules]))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(found.stdout) == []
