"""Barzilay & Lapata: the original layout, unpacked and packed, and its agreement with our JSON lines."""

from __future__ import annotations

import io
import logging
import tarfile
from pathlib import Path

import pytest

from weft.corpora.negatives.permuted_document import PermutedDocument
from weft.corpora.readers.barzilay_lapata import read_barzilay_lapata
from weft.corpora.readers.formats import ReadOptions, read_documents, read_permuted
from weft.document import Document
from weft.errors import ConfigError, CorpusError

FILES = {
    "raw/ntsb/train/n1.txt-1-out": "t-1 A cat sat. \nt-2 It slept. \nt-3  Rain  fell. \n",
    "raw/ntsb/train_staging/n1.txt-1-out.perm-1": "t-1 A cat sat. \nt-2 It slept. \nt-3 Rain fell. \n",
    "raw/ntsb/train_staging/n1.txt-1-out.perm-10": "t-3 Rain fell.\nt-1 A cat sat.\nt-2 It slept.\n",
    "raw/ntsb/train_staging/n1.txt-1-out.perm-2": "t-2 It slept.\nt-1 A cat sat.\nt-3 Rain fell.\n",
    "raw/ntsb/train_staging/n1.txt-1-out.perm-3": "t-2 It slept.\nt-1 A cat sat.\nt-3 Rain fell.\n",
    "raw/ntsb/train_staging/n1.txt-1-out.perm-4": "t-3 Rain fell.\nt-1 A cat sat.\n",
    "raw/ntsb/train_staging/n1.txt-1-out.perm-5": "t-1 A cat sat.\nt-3 Rain fell.\n",
    "raw/ntsb/test/n2.perm-1": "t Same.\nt Other.\nt Same.\n",
    "raw/ntsb/test_staging/n2.perm-2": "t Same.\nt Same.\nt Other.\n",
    "raw/apws/test/a1.perm-1-p": "t Quake.\nt Shock.\n",
    "raw/apws/test/._a1.perm-1-p": "\x01\x02",
    "barzilay/grids/test/ntsb/n2.perm-1-p.parsed.grid": "CAT S -\n",
}
EXPECTED = [
    PermutedDocument(Document("a1", ("Quake.", "Shock.")), ()),
    PermutedDocument(Document("n2", ("Same.", "Other.", "Same.")), ((0, 2, 1),)),
    PermutedDocument(
        Document("n1.txt-1-out", ("A cat sat.", "It slept.", "Rain fell.")), ((1, 0, 2), (2, 0), (2, 0, 1))
    ),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "data"


def add(archive: tarfile.TarFile, name: str, data: bytes, kind: bytes = tarfile.REGTYPE) -> None:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, "/etc/passwd" if kind == tarfile.SYMTYPE else ""
    member.size = len(data) if kind == tarfile.REGTYPE else 0
    archive.addfile(member, io.BytesIO(data))


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "raw.tar.gz"
    with tarfile.open(path, "w:gz") as file:
        for name, text in reversed(FILES.items()):  # Permutations before originals, too.
            add(file, f"data/{name}", text.encode())
        add(file, "../ntsb/train/evil", b"t Evil.\n")
        add(file, "data/raw/ntsb/train/link", b"", tarfile.SYMTYPE)
        add(file, "data/raw/ntsb/train/odd name", b"t Odd.\n")
    return path


def test_the_unpacked_layout(folder: Path) -> None:
    assert list(read_permuted(folder)) == EXPECTED
    assert list(read_permuted(folder / "raw")) == EXPECTED
    assert list(read_permuted(folder / "raw" / "ntsb" / "train")) == EXPECTED[2:]


def test_the_archive_is_read_without_unpacking(archive: Path) -> None:
    before = sorted(archive.parent.iterdir())
    assert list(read_permuted(archive)) == EXPECTED
    assert sorted(archive.parent.iterdir()) == before


def test_documents_alone(folder: Path) -> None:
    assert list(read_documents(folder)) == [item.document for item in EXPECTED]


def test_one_domain_and_split(archive: Path) -> None:
    assert list(read_barzilay_lapata(archive, domain="ntsb", split="test")) == EXPECTED[1:2]
    with pytest.raises(ConfigError, match="unknown domain"):
        next(read_barzilay_lapata(archive, domain="ntbs"))
    with pytest.raises(ConfigError, match="unknown split"):
        next(read_barzilay_lapata(archive, split="dev"))


def test_the_format_also_reads_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "x", "sentences": ["A.", "B."], "perms": [[1, 0]], "perm_ids": [2]}')
    options = ReadOptions(format="barzilay-lapata")
    assert list(read_permuted(path, options)) == [PermutedDocument(Document("x", ("A.", "B.")), ((1, 0),))]


@pytest.mark.parametrize("text", ["t Other sentence.\nt A cat sat.\n", "t It slept.\nt It slept.\n"])
def test_a_permutation_of_another_text_is_left_out_and_told(
    folder: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "raw/ntsb/train_staging/n1.txt-1-out.perm-7").write_text(text)
    with caplog.at_level(logging.WARNING):
        assert list(read_permuted(folder)) == EXPECTED
    assert "perm-7" in caplog.text


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"t Fine.\ntag-alone\n", "line 2 has a tag"),
        (b"t caf\xe9\n", "0xe9"),
        (b"t x\n" * 2**19, "more than"),
    ],
)
def test_files_that_are_no_texts(folder: Path, data: bytes, said: str) -> None:
    (folder / "raw/ntsb/train/n9").write_bytes(data)
    with pytest.raises(CorpusError) as caught:
        list(read_permuted(folder))
    assert said in str(caught.value)
    assert "n9" in str(caught.value)


def test_broken_archives(archive: Path, tmp_path: Path) -> None:
    whole = archive.read_bytes()
    archive.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CorpusError, match="ends too early"):
        list(read_permuted(archive))
    path = tmp_path / "text.tar"
    path.write_text("this is no archive " * 100)
    with pytest.raises(CorpusError, match="not a readable tar file"):
        list(read_permuted(path))


def test_an_archive_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "other.tar"
    with tarfile.open(path, "w") as file:
        add(file, "README", b"hello")
    with pytest.raises(CorpusError, match="no text in"):
        list(read_permuted(path))


@pytest.mark.shared
@pytest.mark.parametrize(("split", "equal_orders"), [("train", 100), ("test", 99)])
def test_the_original_accidents_agree_with_ours(shared_data: Path, split: str, equal_orders: int) -> None:
    folder = shared_data / "barzilay_lapata"
    ours = {item.document.id: item for item in read_permuted(folder / f"accidents.{split}.jsonl")}
    packed = folder / "raw_texts_and_grids.tar.gz"
    theirs = {item.document.id: item for item in read_barzilay_lapata(packed, domain="ntsb", split=split)}
    assert theirs.keys() == ours.keys()
    assert len(ours) == 100
    assert all(theirs[name].document == ours[name].document for name in ours)
    # The archive lacks permutations 15 to 20 of one test document; ours has them from elsewhere.
    assert sum(set(theirs[name].orders) == set(ours[name].orders) for name in ours) == equal_orders
    assert all(set(theirs[name].orders) <= set(ours[name].orders) for name in ours)


@pytest.mark.shared
def test_the_pairs_are_as_many_as_documented(shared_data: Path) -> None:
    names = ["accidents.train", "accidents.test", "earthquakes.train", "earthquakes.test"]
    counts = [
        sum(len(item.orders) for item in read_permuted(shared_data / "barzilay_lapata" / f"{name}.jsonl"))
        for name in names
    ]
    assert counts == [2000, 1992, 1909, 1972]
