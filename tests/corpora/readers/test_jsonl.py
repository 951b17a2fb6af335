"""JSON lines: three shapes, and every way a line can be wrong, named with its file and number."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from weft.corpora.readers.formats import ReadOptions, read_documents, read_permuted
from weft.document import Document
from weft.errors import CorpusError


def write(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "file.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def read(tmp_path: Path, *lines: str) -> list[Document]:
    return list(read_documents(write(tmp_path, *lines)))


def test_the_three_shapes(tmp_path: Path) -> None:
    documents = read(
        tmp_path,
        '{"id": "x", "title": "T", "paragraphs": [["A. B.", "C."], ["D."]], "text": "ignored"}',
        "",
        '{"id": 7, "sentences": ["A. B.", " ", "C\\nd."]}',
        '{"id": null, "title": null, "text": "One. Two.\\n\\nThree.", "extra": {}}\r',
    )
    assert documents == [
        Document("x", ("A. B.", "C.", "D."), "T", (0, 2)),
        Document("7", ("A. B.", "C d.")),
        Document("file:4", ("One.", "Two.", "Three."), "", (0, 2)),
    ]


DEEP = '{"text": ' + "[" * 200_000 + "]" * 200_000 + "}"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"text": "a" "b"}', "bad JSON at column 14"),
        ("plain text", "bad JSON at column 1"),
        ('{"text": "cut', "bad JSON at column 10"),
        ('["a"]', "expected a JSON object, got a list"),
        ('"a"', "expected a JSON object, got a string"),
        ("3", "expected a JSON object, got a number"),
        ("null", "expected a JSON object, got null"),
        ('{"txt": "a", "n": 1}', "saw 'keys txt, n'"),
        ("{}", "none at all"),
        ('{"text": 3}', "text is a number"),
        ('{"text": null}', "text is null"),
        ('{"sentences": "A. B."}', 'rename the key to "text"'),
        ('{"sentences": ["a", ["b"]]}', "sentences[1] is a list"),
        ('{"paragraphs": ["a"]}', "paragraphs[0] is a string"),
        ('{"paragraphs": [["a"], [true]]}', "paragraphs[1][0] is a boolean"),
        ('{"paragraphs": {}}', "paragraphs is an object"),
        ('{"id": [], "text": "a"}', "id is a list"),
        ('{"id": true, "text": "a"}', "id is a boolean"),
        ('{"title": 1, "text": "a"}', "title is a number"),
        (DEEP, "nested too deeply"),
        ('{"text": "a", "n": ' + "9" * 5000 + "}", "unreadable JSON"),
        ('{"text": "a \\ud800 b"}', "surrogate"),
        ('{"sentences": ["a", "\\uDC00"]}', "surrogate"),
        ('{"id": "\\ud800", "text": "a"}', "surrogate"),
    ],
    ids=lambda value: value[:30],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(CorpusError) as caught:
        read(tmp_path, '{"text": "Fine."}', "", line)
    error = caught.value
    assert said in str(error)
    assert "file.jsonl, line 3:" in str(error)
    assert all((error.what, error.seen, error.allowed, error.next_step))
    assert "\n" not in str(error)
    assert len(str(error)) < 600
    str(error).encode()  # Even an error about a surrogate can be printed.


def test_missing_keys_name_the_three_allowed(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match='"paragraphs", "sentences" or "text"'):
        read(tmp_path, '{"body": "x"}')


def test_whole_pairs_of_surrogates_are_characters(tmp_path: Path) -> None:
    assert read(tmp_path, '{"sentences": ["\\ud83d\\ude00 \\\\ud800"]}')[0].sentences == ("😀 \\ud800",)


def test_pretty_printed_json_gets_the_right_advice(tmp_path: Path) -> None:
    for value in ([{"text": "a"}], {"text": "a"}):
        with pytest.raises(CorpusError, match="jq -c"):
            read(tmp_path, *json.dumps(value, indent=1).split("\n"))


def test_a_line_beyond_the_limit(tmp_path: Path) -> None:
    path = write(tmp_path, '{"text": "' + "a" * 1000 + '"}')
    with pytest.raises(CorpusError, match="line 1 is too long"):
        list(read_documents(path, ReadOptions(max_line_bytes=500)))


def test_orders_are_read(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        '{"sentences": ["a", "b", "c"], "perms": [[2, 1, 0], [1, 0], [2, 1, 0]]}',
        '{"sentences": ["a", "b"]}',
        '{"paragraphs": [["a"], ["b"]], "perms": []}',
        '{"text": "One. Two.", "perms": [[1, 0]]}',
    )
    assert [item.orders for item in read_permuted(path)] == [((2, 1, 0), (1, 0)), (), (), ((1, 0),)]


@pytest.mark.parametrize(
    ("orders", "said"),
    [
        ("3", "perms is not a list"),
        ("[3]", "perms[0] is not a list of integers"),
        ("[[1, 0, 2], [1.0, 0]]", "perms[1] is not a list of integers"),
        ("[[true, false]]", "not a list of integers"),
        ("[[0, 3]]", "points outside the 3 sentences"),
        ("[[1, -1]]", "points outside"),
        ("[[1, 1, 0]]", "uses a sentence twice"),
        ("[[0, 1, 2]]", "is the original order"),
        ("[[0, 2]]", "is the original order"),
        ("[[1]]", "is the original order"),
        ("[[]]", "is the original order"),
    ],
)
def test_wrong_orders_are_named(tmp_path: Path, orders: str, said: str) -> None:
    path = write(tmp_path, "", '{"sentences": ["a", "b", "c"], "perms": ' + orders + "}")
    with pytest.raises(CorpusError) as caught:
        list(read_permuted(path))
    assert said in str(caught.value)
    assert "line 2" in str(caught.value)


@pytest.mark.parametrize("text", ['"sentences": ["a", "", "b"]', '"paragraphs": [["a"], ["", "b"]]'])
def test_a_blank_sentence_would_shift_the_orders(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, "{" + text + ', "perms": [[1, 0]]}')
    with pytest.raises(CorpusError, match="1 of them blank"):
        list(read_permuted(path))
    assert len(next(read_documents(path))) == 2
