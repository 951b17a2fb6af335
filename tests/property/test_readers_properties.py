"""What must hold for any text: what is written is read, and the size of a chunk changes nothing."""

from __future__ import annotations

import contextlib
import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.corpora.readers.formats import ReadOptions, read_documents, read_permuted
from weft.corpora.readers.lines import open_lines
from weft.corpora.text.sentences import split_sentences
from weft.errors import CorpusError, WeftError

characters = st.characters(exclude_categories=["Cs"])
line = st.text(st.one_of(st.sampled_from("ab .\u2028\r\x85é😀"), characters)).filter(lambda text: "\n" not in text)
# NUL and its kin rightly make a file binary.
printable = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).map(str.strip).filter(bool)
corpus = st.lists(st.lists(printable, min_size=1, max_size=4), min_size=1, max_size=4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readers")


def written(folder: Path, data: bytes, name: str) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@settings(max_examples=150, deadline=None)
@given(st.lists(line.filter(lambda text: "\0" not in text), max_size=6), st.integers(8150, 8200), st.booleans())
def test_lines_are_cut_at_newlines_alone(folder: Path, lines: list[str], first: int, compressed: bool) -> None:
    # The first line fills a chunk of the decoder, so that its border falls into the others.
    data = "\n".join(["x" * first, *lines]).encode()
    path = written(folder, gzip.compress(data) if compressed else data, "f")
    expected = [text.removesuffix("\r") for text in data.decode().split("\n")]
    if not data.decode().split("\n")[-1]:
        expected.pop()
    assert list(open_lines(path)) == list(enumerate(expected, 1))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60), st.integers(0, 8200), st.sampled_from(["utf-8", "gbk", "latin-1"]))
def test_any_bytes_give_their_lines_or_one_error(folder: Path, data: bytes, first: int, encoding: str) -> None:
    path = written(folder, b"x" * first + b"\n" + data, "f")
    try:
        lines = [text for _, text in open_lines(path, ReadOptions(encoding=encoding, max_line_bytes=8200))]
    except CorpusError:
        return
    expected = data.decode(encoding).split("\n")
    assert lines[1:] == [text.removesuffix("\r") for text in (expected if expected[-1] else expected[:-1])]


@settings(max_examples=80, deadline=None)
@given(corpus)
def test_lines_round_trip(folder: Path, documents: list[list[str]]) -> None:
    text = "\n\n".join("\n".join(sentences) for sentences in documents)
    read = read_documents(written(folder, text.encode(), "f.txt"), ReadOptions(format="lines"))
    assert [list(document.sentences) for document in read] == documents


@settings(max_examples=80, deadline=None)
@given(st.lists(corpus, min_size=1, max_size=3), st.booleans())
def test_jsonl_round_trip(folder: Path, documents: list[list[list[str]]], ascii_only: bool) -> None:
    lines = [json.dumps({"paragraphs": paragraphs}, ensure_ascii=ascii_only) for paragraphs in documents]
    read = list(read_documents(written(folder, "\n".join(lines).encode(), "f.jsonl")))
    assert [[list(part.sentences) for part in document.paragraphs()] for document in read] == documents
    assert [document.id for document in read] == [f"f:{number}" for number in range(1, len(lines) + 1)]


@settings(max_examples=80, deadline=None)
@given(st.permutations(range(5)).filter(lambda order: order != sorted(order)))
def test_orders_round_trip(folder: Path, order: list[int]) -> None:
    line = json.dumps({"sentences": list("abcde"), "perms": [order]})
    (item,) = read_permuted(written(folder, line.encode(), "f.jsonl"))
    assert item.orders == (tuple(order),)


@settings(max_examples=150, deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=3)))
def test_any_json_is_read_or_refused_on_purpose(folder: Path, value: object) -> None:
    for key in ("text", "sentences", "paragraphs", "id", "title", "perms"):
        fields = {"text": "One. Two.", key: value}
        path = written(folder, json.dumps(fields).encode(), "f.jsonl")
        with contextlib.suppress(WeftError):
            assert all(item.document.sentences for item in read_permuted(path))


@settings(max_examples=150, deadline=None)
@given(
    st.text(st.one_of(st.sampled_from('aB. !?"()\n…。'), characters), max_size=80),
    st.sampled_from(["en", "de", "hy"]),
)
def test_splitting_loses_nothing_but_white_space(text: str, language: str) -> None:
    sentences = split_sentences(text, language)
    assert "".join("".join(sentences).split()) == "".join(text.split())
    assert all(sentence == " ".join(sentence.split()) and sentence for sentence in sentences)
