from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer as Library

from weft.corpora.text.tokenizers import BpeTokenizer, Tokenizer, WordTokenizer, load_tokenizer, train_tokenizer
from weft.errors import ConfigError, ModelError

TEXT = ["A cat sat on the mat.", "The cat slept; the dog did not.", "Dogs and cats sleep."] * 3


@pytest.fixture(scope="module")
def bpe() -> BpeTokenizer:
    return BpeTokenizer.train(TEXT, vocabulary_size=300)


@pytest.fixture(params=["bpe", "words"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return train_tokenizer(request.param, TEXT, vocabulary_size=300)


def test_file_is_one_and_comes_back_the_same(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    again = load_tokenizer(path)
    assert [file.name for file in tmp_path.iterdir()] == ["tokenizer.json"]
    assert (again.name, again.vocabulary_size) == (tokenizer.name, tokenizer.vocabulary_size)
    assert again.encode_batch(TEXT) == tokenizer.encode_batch(TEXT)
    assert again.fingerprint == tokenizer.fingerprint == hashlib.sha256(path.read_bytes()).hexdigest()


def test_ids_hold_no_special_tokens(tokenizer: Tokenizer) -> None:
    special = {tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id}
    rows = tokenizer.encode_batch([*TEXT, "<pad> and <s> and </s>"])
    assert not special & {i for row in rows for i in row}
    assert all(0 <= i < tokenizer.vocabulary_size for row in rows for i in row)


def test_decode_leaves_special_tokens_out(tokenizer: Tokenizer) -> None:
    (ids,) = tokenizer.encode_batch(["the cat sat."])
    assert tokenizer.decode([tokenizer.bos_id, *ids, tokenizer.eos_id, tokenizer.pad_id]) == "the cat sat."


def test_training_is_deterministic_over_processes(tmp_path: Path) -> None:
    code = (
        "import sys; from weft.corpora.text.tokenizers import train_tokenizer;"
        f"print(train_tokenizer(sys.argv[1], {TEXT!r}, vocabulary_size=300).fingerprint)"
    )
    for kind in ("bpe", "words"):
        run = subprocess.run([sys.executable, "-c", code, kind], capture_output=True, text=True, check=True)
        assert run.stdout.strip() == train_tokenizer(kind, TEXT, vocabulary_size=300).fingerprint


def test_bpe_special_ids_and_the_library_can_load_it(bpe: BpeTokenizer, tmp_path: Path) -> None:
    bpe.save(tmp_path / "t.json")
    library = Library.from_file(str(tmp_path / "t.json"))
    assert [library.token_to_id(name) for name in ("<pad>", "<s>", "</s>")] == [0, 1, 2]
    assert library.encode("A cat sat.", add_special_tokens=False).ids == bpe.encode_batch(["A cat sat."])[0]
    assert bpe.unk_id is None


def test_bpe_word_has_the_same_ids_everywhere_in_a_sentence(bpe: BpeTokenizer) -> None:
    first, second = bpe.encode_batch(["cat", "cat cat"])
    assert second == first * 2


def test_bpe_replaces_half_a_surrogate_pair(bpe: BpeTokenizer) -> None:
    assert bpe.decode(bpe.encode_batch(["a \ud800 b"])[0]) == "a \ufffd b"


def test_word_ids_follow_counts_then_the_alphabet() -> None:
    tokenizer = WordTokenizer.train(["b a c", "b a", "z"], vocabulary_size=6, min_count=2)
    assert json.loads(tokenizer.to_text())["counts"] == [2, 2]
    assert tokenizer.encode_batch(["B a z c"]) == [[5, 4, 3, 3]]
    assert tokenizer.unk_id == 3


def test_word_decode_is_readable() -> None:
    tokenizer = WordTokenizer.train(['"the cat\'s mat," he said.'], min_count=1)
    (ids,) = tokenizer.encode_batch(['"The cat\'s mat," he said.'])
    assert tokenizer.decode(ids) == '"the cat\'s mat," he said.'


@pytest.mark.parametrize("size", [0, 258, 10**7])
def test_impossible_vocabulary_size_is_refused(size: int) -> None:
    with pytest.raises(ConfigError, match="vocabulary size"):
        BpeTokenizer.train(TEXT, vocabulary_size=size)


def test_unknown_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'bp'.*bpe, words"):
        train_tokenizer("bp", TEXT)


def _broken_bpe(change: dict[str, Any]) -> str:
    body = json.loads(BpeTokenizer.train(TEXT, vocabulary_size=270).to_text())
    return json.dumps({**body, **change})


def _gap(body: dict[str, Any]) -> dict[str, Any]:
    model = body["model"]
    return {**model, "vocab": {**model["vocab"], "!": 90_000}}


HOSTILE = {
    "empty": "",
    "not json": "\x80 not json",
    "a list": "[1, 2]",
    "an empty object": "{}",
    "deep": "[" * 100_000,
    "another model": json.dumps({"model": {"type": "WordPiece", "vocab": {}}}),
    "vocabulary of the wrong kind": json.dumps(
        {"model": {"type": "BPE", "vocab": [1]}, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True}}
    ),
    "words without counts": json.dumps({"format": "weft-words", "version": 1, "words": ["a"]}),
    "a word twice": json.dumps({"format": "weft-words", "version": 1, "words": ["a", "a"], "counts": [1, 1]}),
    "a special word": json.dumps({"format": "weft-words", "version": 1, "words": ["<s>"], "counts": [1]}),
    "numbers for words": json.dumps({"format": "weft-words", "version": 1, "words": [1], "counts": [1]}),
    "newer": json.dumps({"format": "weft-words", "version": 2, "words": [], "counts": []}),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_file_is_refused_with_the_four_things(text: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ModelError) as caught:
        load_tokenizer(path)
    error = caught.value
    assert str(path) in error.what
    assert error.seen is not None
    assert error.allowed
    assert error.next_step


@pytest.mark.parametrize("part", ["normalizer", "truncation", "padding", "post_processor"])
def test_bpe_with_extra_steps_is_refused(part: str) -> None:
    with pytest.raises(ModelError, match=part):
        BpeTokenizer(_broken_bpe({part: {"type": "Lowercase"}}))


def test_bpe_with_dropout_or_gaps_is_refused() -> None:
    body = json.loads(_broken_bpe({}))
    with pytest.raises(ModelError, match="dropout"):
        BpeTokenizer(json.dumps({**body, "model": {**body["model"], "dropout": 0.1}}))
    with pytest.raises(ModelError, match="gaps"):
        BpeTokenizer(json.dumps({**body, "model": _gap(body)}))
    with pytest.raises(ModelError):
        BpeTokenizer(json.dumps({**body, "model": {**body["model"], "merges": [["zz", "qq"]]}}))


def test_missing_and_binary_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot read"):
        load_tokenizer(tmp_path / "no.json")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelError, match="UTF-8"):
        load_tokenizer(tmp_path / "binary")
