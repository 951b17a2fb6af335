from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft.corpora.store.prepare import prepare
from weft.corpora.store.token_store import TokenStore, dtype_for
from weft.errors import CorpusError

PARAGRAPHS = [
    [["a b c.", "d e."], ["f."]],
    [["g h i j k l."]],
    [["m n.", "o.", "p q r s."], ["t u.", "v w."]],
]


@pytest.fixture
def store(tmp_path: Path) -> TokenStore:
    lines = [json.dumps({"id": str(i), "paragraphs": part}) for i, part in enumerate(PARAGRAPHS)]
    (tmp_path / "in.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return prepare([tmp_path / "in.jsonl"], tmp_path / "store", vocabulary_size=270, workers=1)


def _texts(store: TokenStore) -> list[str]:
    tokenizer = store.tokenizer()
    return [tokenizer.decode(store.sentence(i).tolist()) for i in range(store.sentence_count)]


def test_structure_comes_back(store: TokenStore) -> None:
    texts = _texts(store)
    paragraphs = [texts[start:end] for start, end in pairwise(store.paragraph_offsets)]
    articles = [paragraphs[start:end] for start, end in pairwise(store.article_offsets)]
    assert articles == PARAGRAPHS
    assert (store.info.counts["articles"], store.paragraph_count, store.sentence_count) == (3, 5, 9)
    assert store.info.counts["tokens"] == len(store.ids) == store.lengths().sum()


def test_lengths_are_those_of_the_sentences(store: TokenStore) -> None:
    assert store.lengths().tolist() == [len(store.sentence(i)) for i in range(store.sentence_count)]


@pytest.mark.parametrize("numbers", [[], [3], [8, 0, 0, 4], list(range(9))[::-1]])
def test_gather_is_the_sentences_one_after_the_other(store: TokenStore, numbers: list[int]) -> None:
    flat, offsets = store.gather(np.array(numbers))
    assert len(offsets) == len(numbers) + 1
    for i, number in enumerate(numbers):
        assert flat[offsets[i] : offsets[i + 1]].tolist() == store.sentence(number).tolist()
    assert offsets[-1] == len(flat)
    assert flat.dtype == store.ids.dtype == np.uint16


@pytest.mark.parametrize("numbers", [[-1], [9], [0, 10**9]])
def test_gather_refuses_numbers_that_are_not_there(store: TokenStore, numbers: list[int]) -> None:
    with pytest.raises(IndexError, match="0 to 8"):
        store.gather(numbers)


@pytest.mark.parametrize("number", [-1, 9])
def test_one_sentence_out_of_range(store: TokenStore, number: int) -> None:
    with pytest.raises(IndexError):
        store.sentence(number)


def test_ids_are_read_only(store: TokenStore) -> None:
    with pytest.raises(ValueError, match="read-only"):
        store.ids[0] = 5


def test_dtype_follows_the_vocabulary() -> None:
    assert [dtype_for(size) for size in (300, 2**16, 2**16 + 1)] == ["uint16", "uint16", "uint32"]


def _refused(folder: Path, match: str) -> None:
    with pytest.raises(CorpusError, match=match) as caught:
        TokenStore(folder)
    assert caught.value.seen is not None
    assert caught.value.allowed
    assert caught.value.next_step


@pytest.mark.parametrize("name", ["ids.bin", "sentences.bin", "paragraphs.bin", "articles.bin"])
@pytest.mark.parametrize("change", [-1, 1, -8, 8])
def test_file_of_another_length_is_refused(store: TokenStore, name: str, change: int) -> None:
    path = store.folder / name
    data = path.read_bytes()
    path.write_bytes(data[:change] if change < 0 else data + bytes(change))
    _refused(store.folder, name)


@pytest.mark.parametrize("name", ["ids.bin", "articles.bin", "store.json", "tokenizer.json"])
def test_missing_file_is_refused(store: TokenStore, name: str) -> None:
    (store.folder / name).unlink()
    _refused(store.folder, name)


def test_offsets_that_go_back_are_refused(store: TokenStore) -> None:
    offsets = np.fromfile(store.folder / "sentences.bin", dtype="<i8")
    offsets[2], offsets[3] = offsets[3], offsets[2]
    offsets.tofile(store.folder / "sentences.bin")
    _refused(store.folder, "decreasing")


def test_another_tokenizer_is_refused(store: TokenStore) -> None:
    path = store.folder / "tokenizer.json"
    path.write_text(path.read_text(encoding="utf-8") + " ", encoding="utf-8")
    _refused(store.folder, "tokenizer.json")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"format": 2}, "written by a newer weft"),
        ({"format": 0}, "format 0"),
        ({"format": "1"}, "format"),
        ({"dtype": "float64"}, "dtype"),
        ({"dtype": "uint32"}, "dtype"),
        ({"counts": {}}, "tokens"),
        ({"counts": [1]}, "counts"),
        ({"counts": {"tokens": True, "sentences": 9, "paragraphs": 5, "articles": 3}}, "tokens"),
        ({"counts": {"tokens": -2, "sentences": 9, "paragraphs": 5, "articles": 3}}, "tokens"),
    ],
)
def test_tampered_header_is_refused(store: TokenStore, change: dict[str, Any], match: str) -> None:
    path = store.folder / "store.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **change}), encoding="utf-8")
    _refused(store.folder, match)


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "[" * 100_000])
def test_header_that_is_not_an_object_is_refused(store: TokenStore, text: str) -> None:
    (store.folder / "store.json").write_text(text, encoding="utf-8")
    _refused(store.folder, "store.json is damaged")


def test_reading_needs_neither_tokenizers_nor_torch() -> None:
    code = "import sys, weft.corpora.store.token_store; print(*sorted({'tokenizers', 'torch'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""
