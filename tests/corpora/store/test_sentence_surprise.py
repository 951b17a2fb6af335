"""Surprise values beside a store: they belong to sentence numbers, and a damaged or interrupted file is noticed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from weft.corpora.store import sentence_surprise
from weft.corpora.store.prepare import prepare
from weft.corpora.store.sentence_surprise import Teacher, write_surprise
from weft.corpora.store.token_store import TokenStore
from weft.errors import CorpusError

TEACHER = Teacher("f" * 64, "small-lm", 1024)
VALUES = [-1.5, float("nan"), -3.25, -2.0]


@pytest.fixture
def store(tmp_path: Path) -> TokenStore:
    (tmp_path / "in.jsonl").write_text(json.dumps({"id": "1", "paragraphs": [["a b.", "c."], ["d e.", "f."]]}))
    return prepare([tmp_path / "in.jsonl"], tmp_path / "store", vocabulary_size=270, workers=1)


def test_a_store_without_values_knows_none(store: TokenStore) -> None:
    assert store.surprise_info is None
    assert np.isnan(store.surprise([0, 3])).all()


def test_values_come_back_by_sentence_number(store: TokenStore) -> None:
    before = store.contents
    found = write_surprise(store.folder, VALUES, TEACHER)
    assert found.surprise([2, 0, 0, 3]).tolist() == [-3.25, -1.5, -1.5, -2.0]
    assert np.isnan(found.surprise([1]))[0]
    info = found.surprise_info
    assert info is not None and (info.teacher, info.name, info.known) == ("f" * 64, "small-lm", 3)
    assert (info.mean, info.deviation) == pytest.approx((-2.25, np.std([-1.5, -3.25, -2.0])))
    assert found.info.fingerprint == store.info.fingerprint and found.contents != before
    with pytest.raises(IndexError, match="0 to 3"):
        found.surprise([4])


def test_infinite_values_are_unknown_and_new_values_replace_old_ones(store: TokenStore) -> None:
    write_surprise(store.folder, VALUES, TEACHER)
    found = write_surprise(store.folder, [-np.inf, -1e9, -4.0, -2.0], TEACHER)
    assert np.isnan(found.surprise(range(4))).tolist() == [True, True, False, False]


@pytest.mark.parametrize("values", [VALUES[:3], [float("nan")] * 4, [VALUES]])
def test_values_of_other_sentences_are_refused(store: TokenStore, values: list[float]) -> None:
    with pytest.raises(CorpusError, match="4 values"):
        write_surprise(store.folder, values, TEACHER)
    assert TokenStore(store.folder).surprise_info is None


def test_an_interrupted_write_leaves_no_entry_of_other_values(
    store: TokenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_surprise(store.folder, VALUES, TEACHER)

    def fail(path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sentence_surprise, "write_atomically", fail)
    with pytest.raises(KeyboardInterrupt):
        write_surprise(store.folder, [-9.0] * 4, TEACHER)
    assert np.isnan(TokenStore(store.folder).surprise(range(4))).all()


def test_damage_is_noticed(store: TokenStore) -> None:
    write_surprise(store.folder, VALUES, TEACHER)
    (store.folder / "surprise.bin").write_bytes(b"123")
    with pytest.raises(CorpusError, match="damaged"):
        TokenStore(store.folder)
    header = store.folder / "store.json"
    header.write_text(json.dumps({**json.loads(header.read_text()), "surprise": {"teacher": 3}}))
    with pytest.raises(CorpusError, match="damaged"):
        TokenStore(store.folder)


def test_a_store_with_values_is_found_again_and_can_be_replaced(store: TokenStore, tmp_path: Path) -> None:
    write_surprise(store.folder, VALUES, TEACHER)
    again = prepare([tmp_path / "in.jsonl"], store.folder, vocabulary_size=270, workers=1)
    assert again.surprise_info is not None
    fresh = prepare([tmp_path / "in.jsonl"], store.folder, vocabulary_size=280, workers=1, overwrite=True)
    assert fresh.surprise_info is None and not (store.folder / "surprise.bin").exists()
