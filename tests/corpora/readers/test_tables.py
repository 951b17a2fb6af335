"""CSV, TSV and Parquet."""

from __future__ import annotations

import csv
import gzip
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from weft.corpora.readers.formats import ReadOptions, read_documents
from weft.document import Document
from weft.errors import ConfigError, CorpusError


def read(path: Path | str, **options: object) -> list[Document]:
    return list(read_documents(path, ReadOptions(**options)))  # type: ignore[arg-type]


def write(tmp_path: Path, text: str, name: str = "a.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def failure(path: Path | str, **options: object) -> str:
    with pytest.raises((CorpusError, ConfigError)) as caught:
        read(path, **options)
    error = caught.value
    assert all((error.what, error.seen, error.allowed, error.next_step))
    return str(error)


def test_quotes_commas_and_newlines(tmp_path: Path) -> None:
    path = write(tmp_path, 'n,text\r\n1,"One, ""two"". Three.\r\n\r\nFour."\r\n\r\n2,Five.\r\n3,\r\n')
    assert read(path) == [
        Document("a:2", ('One, "two".', "Three.", "Four."), "", (0, 2)),
        Document("a:6", ("Five.",)),
    ]


def test_tsv_with_names_and_another_column_and_compression(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv.gz"
    path.write_bytes(gzip.compress("\ufeffname\t body \nx\tOne, two.\n\tThree.\n".encode()))
    assert [(d.id, d.sentences) for d in read(path, column="body", id_column="name")] == [
        ("x", ("One, two.",)),
        ("a:3", ("Three.",)),
    ]


def test_a_field_longer_than_the_csv_module_allows(tmp_path: Path) -> None:
    before = csv.field_size_limit(1000)
    (document,) = read(write(tmp_path, "text\n" + "word " * 100_000))
    assert len(" ".join(document.sentences)) == 499_999
    assert csv.field_size_limit(before) == 1000, "the limit of the process is left as it was"


def test_wrong_tables(tmp_path: Path) -> None:
    assert "did you mean text?" in failure(write(tmp_path, "txt,text \na,b"), column="texts")
    assert "saw 'columns id, body'" in failure(write(tmp_path, "id,body\na,b"))
    assert "with `column`" in failure(write(tmp_path, "id,body\na,b"))
    assert "with `id_column`" in failure(write(tmp_path, "text\na"), id_column="id")
    assert "row at line 3: 3 fields under a header of 2" in failure(write(tmp_path, "a,text\n1,b\n1,b,c\n"))
    assert "row at line 2: 1 fields" in failure(write(tmp_path, "a,text\n1\n"))
    assert "row at line 2: bad quoting" in failure(write(tmp_path, 'text\n"never closed\nx\n'))
    assert "bad quoting" in failure(write(tmp_path, 'text\n"closed" too early\n'))
    long = 'text\n"' + "never closed\n" * 100
    assert "a field is too long" in failure(write(tmp_path, long), max_line_bytes=200)


def test_encoding_errors_are_those_of_every_text(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"text\ncaf\xe9\n")
    assert "byte 0xe9 at offset 8" in failure(path)
    assert read(path, encoding="latin-1")[0].sentences == ("café",)


def table(tmp_path: Path, **columns: object) -> Path:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def test_parquet(tmp_path: Path) -> None:
    path = table(tmp_path, text=["One. Two.", None, "", "Three."], key=[5, 6, 7, None])
    assert read(path) == [Document("a:1", ("One.", "Two.")), Document("a:4", ("Three.",))]
    assert [document.id for document in read(path, id_column="key")] == ["5", "a:4"]


def test_parquet_of_many_batches_and_dictionaries(tmp_path: Path) -> None:
    path = table(tmp_path, text=pa.array(["One.", "Two."] * 2000).dictionary_encode())
    assert len(read(path)) == 4000


def test_wrong_parquet(tmp_path: Path) -> None:
    assert "did you mean text?" in failure(table(tmp_path, text=["a"]), column="tex")
    assert "does not hold text" in failure(table(tmp_path, text=[1, 2]))
    assert "no text in" in failure(table(tmp_path, text=pa.array([], pa.string())))
    path = table(tmp_path, text=["One. Two."] * 100)
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    assert "not a readable Parquet file" in failure(path)
    path.write_bytes(b"text,not\nparquet,really\n")
    assert "not PAR1" in failure(path)
    assert "does not exist" in failure(tmp_path / "none.parquet")
    assert "standard input" in failure("-", format="parquet")


def test_parquet_with_bytes_that_are_no_text(tmp_path: Path) -> None:
    broken = pa.array([b"\xff\xfe"], pa.binary()).view(pa.string())
    assert "not a readable Parquet file" in failure(table(tmp_path, text=broken))


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = table(tmp_path, text=["One."])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'weft-coherence[parquet]'" in failure(path)
