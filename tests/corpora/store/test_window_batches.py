"""Windows of consecutive sentences, their damage, and the mixture of inputs."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from weft.corpora.negatives.damaged_windows import (
    CHANGES,
    KINDS,
    REPEATED,
    STRANGER,
    Surroundings,
    Window,
    changed_order,
    damaged,
)
from weft.corpora.store.prepare import prepare
from weft.corpora.store.sentence_surprise import Teacher, write_surprise
from weft.corpora.store.token_store import TokenStore
from weft.corpora.store.window_batches import WindowOptions, WindowStream, marked_rows, mixture_weights
from weft.errors import ConfigError, CorpusError

OPTIONS = WindowOptions(fewest=3, most=8, window_tokens=60, sentence_tokens=12)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    """Two inputs; every sentence names its file, article and place."""
    folder = tmp_path_factory.mktemp("windows")
    for name, articles in (("a", 6), ("b", 3)):
        lines = []
        for article in range(articles):
            paragraphs = [[f"{name} {article} {part} {place}." for place in range(4)] for part in range(3)]
            lines.append(json.dumps({"id": f"{name}{article}", "paragraphs": paragraphs}))
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    return prepare([folder / "a.jsonl", folder / "b.jsonl"], folder / "s", tokenizer_kind="words", workers=1)


def stream(store: TokenStore, **changes: object) -> WindowStream:
    return WindowStream(store, batch_tokens=200, seed=1, options=replace(OPTIONS, **changes))  # type: ignore[arg-type]


def test_windows_stay_within_articles_and_limits(store: TokenStore) -> None:
    found = stream(store)
    for plan in found.epoch(0):
        for start, size in zip(plan.starts, plan.sizes, strict=True):
            assert OPTIONS.fewest <= size <= OPTIONS.most
            assert start // 12 == (start + size - 1) // 12  # an article has 12 sentences
            assert found.ends[start + size] - found.ends[start] <= OPTIONS.window_tokens


def test_some_windows_cross_paragraphs_and_most_start_with_one(store: TokenStore) -> None:
    plans = stream(store, at_paragraphs=1.0, fewest=5).epoch(0)
    starts = np.concatenate([plan.starts for plan in plans])
    assert (starts % 4 == 0).mean() > 0.5  # others would be too short at the end of an article
    assert all((plan.sizes > 4).all() for plan in plans)


def test_an_epoch_and_a_batch_depend_on_their_numbers_alone(store: TokenStore) -> None:
    one, other = stream(store), stream(store)
    for left, right in zip(one.epoch(2), other.epoch(2), strict=True):
        assert np.array_equal(one.batch(left).sentences, other.batch(right).sentences)
        assert np.array_equal(one.batch(left).changed, other.batch(right).changed)
    assert any(not np.array_equal(a.starts, b.starts) for a, b in zip(one.epoch(0), one.epoch(1), strict=False))


def test_a_batch_has_marked_sentences_and_different_slots(store: TokenStore) -> None:
    found = stream(store, damaged=0.0, changes=2)
    batch = found.batch(found.epoch(0)[0])
    tokenizer = store.tokenizer()
    assert (batch.sentences[:, 0] == tokenizer.bos_id).all()
    assert (batch.sentences[np.arange(len(batch.lengths)), batch.lengths - 1] == tokenizer.eos_id).all()
    assert (batch.texts[batch.places >= 0] == 0).all()
    assert len(batch.changed) == 2 and not np.array_equal(*batch.changed)
    for row, (places, slots) in enumerate(zip(batch.places, batch.slots, strict=True)):
        size = int((places >= 0).sum())
        assert len(set(slots[:size].tolist())) == size
        for changed in batch.changed[:, row]:
            assert sorted(changed[:size].tolist()) == list(range(size))
            assert changed[size:].tolist() == list(range(size, len(places)))


def test_a_damaged_window_is_not_longer_than_the_longest_as_planned(store: TokenStore) -> None:
    found = stream(store, damaged=1.0, strangers=3)
    plans = found.epoch(0)
    batches = [found.batch(plan) for plan in plans]
    for plan, batch in zip(plans, batches, strict=True):
        planned = found.ends[plan.starts + plan.sizes] - found.ends[plan.starts]
        assert batch.longest <= planned.max()
    assert any((batch.texts[batch.places >= 0] != 0).any() for batch in batches)


def test_marked_sentences_are_those_of_obvious_code() -> None:
    generator = np.random.default_rng(1)
    rows = [generator.integers(5, 99, size).tolist() for size in (0, 3, 9, 1, 7)]
    expected = [[1, *row[:4], 2] for row in rows]
    matrix, lengths = marked_rows(rows, (1, 2), 0, 6)
    assert lengths.tolist() == [len(row) for row in expected]
    assert matrix.tolist() == [row + [0] * (6 - len(row)) for row in expected]


def test_the_shares_of_processes_make_the_whole_batch(store: TokenStore) -> None:
    found = stream(store, masked=0.3)
    batch = found.batch(found.epoch(0)[0])
    shares = [batch.rows(rank, 2) for rank in range(2)]
    assert sum(map(len, shares)) == len(batch)
    first = shares[1]
    for row in range(len(first)):
        own, whole = first.places[row], batch.places[1::2][row]
        assert np.array_equal(first.sentences[own[own >= 0]], batch.sentences[whole[whole >= 0]])
        assert np.array_equal(first.masked[own[own >= 0]], batch.masked[whole[whole >= 0]])
    assert first.longest == batch.longest  # losses of shares are divided by the same number


def test_masked_tokens_are_words_and_drawn_after_everything_else(store: TokenStore) -> None:
    plain, masking = stream(store), stream(store, masked=0.4)
    tokenizer = store.tokenizer()
    for plan in masking.epoch(0):
        batch, other = masking.batch(plan), plain.batch(plan)
        assert not np.isin(batch.sentences[batch.masked], [tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id]).any()
        words = (batch.lengths - 2).sum()
        assert 0.1 < batch.masked.sum() / words < 0.7 and not other.masked.any()
        assert np.array_equal(batch.sentences, other.sentences) and np.array_equal(batch.changed, other.changed)


@pytest.mark.parametrize("kind", KINDS)
def test_damage_adds_what_does_not_belong(kind: str) -> None:
    around = Surroundings((100, 120), (40, 300))
    for seed in range(50):
        found = damaged(Window.plain(104, 8), kind, around, np.random.default_rng(seed))
        strange = found.numbers[found.texts == (REPEATED if kind == "repeated" else STRANGER)]
        if kind == "joined":
            other = found.numbers[found.texts == 1]
            assert len(other) and len(strange) == 0
            assert np.array_equal(np.diff(other), np.ones(len(other) - 1))
            assert not np.any((other >= 100) & (other < 120))
            continue
        assert len(strange) == 1
        inside, own = 100 <= strange[0] < 120, 104 <= strange[0] < 112
        assert (inside, own) == {"stranger": (False, False), "elsewhere": (True, False), "repeated": (True, True)}[kind]


def test_strangers_come_from_the_same_file(store: TokenStore) -> None:
    found = stream(store, damaged=1.0)
    seen = 0
    for plan in found.epoch(0):
        for start, size in zip(plan.starts.tolist(), plan.sizes.tolist(), strict=True):
            window = found._window(start, size, 10_000, np.random.default_rng(start))
            seen += int((window.texts != 0).sum())
            assert ((window.numbers >= 6 * 12) == (start >= 6 * 12)).all()  # the second file begins there
    assert seen > 10


def test_a_store_of_one_window_has_no_strangers() -> None:
    window = Window.plain(0, 5)
    for kind in ("stranger", "elsewhere", "joined"):
        assert damaged(window, kind, Surroundings((0, 5), (0, 5)), np.random.default_rng(1)) is window


@pytest.mark.parametrize("change", CHANGES)
def test_changed_orders_are_permutations(change: str) -> None:
    for seed in range(20):
        order = changed_order(7, change, np.random.default_rng(seed))
        assert sorted(order.tolist()) == list(range(7))
        assert change == "shuffled" or order.tolist() != list(range(7))


def test_the_store_knows_the_inputs_of_its_articles(store: TokenStore) -> None:
    assert store.article_inputs() == [("a.jsonl", 6), ("b.jsonl", 3)]


def test_a_mixture_draws_inputs_more_or_less_often(store: TokenStore) -> None:
    plans = stream(store, mixture="a.=0 b.=4").epoch(0)
    starts = np.concatenate([plan.starts for plan in plans])
    assert (starts >= 6 * 12).all()
    assert len(starts) > 12


def test_a_mixture_that_cannot_be_read_is_refused(store: TokenStore) -> None:
    for mixture in ("a", "opened", "a=x", "a=-1", "=1", "a=nan"):
        with pytest.raises(ConfigError, match="cannot read the mixture"):
            mixture_weights(store.article_inputs(), mixture)
    with pytest.raises(CorpusError, match="no article for training"):
        stream(store, mixture="a.=0 b.=0")


def test_articles_with_surprise_values_are_drawn_more_often(store: TokenStore, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(store.folder, tmp_path / "taught"))
    values = np.full(store.sentence_count, np.nan)
    values[12:24] = -3.0  # the second of nine articles of 12 sentences
    taught = write_surprise(folder, values, Teacher("0" * 64, "lm", 64))
    even, more = (stream(taught, taught=weight).draws for weight in (1.0, 5.0))
    assert more[1] == pytest.approx(5 * even[1])
    assert np.delete(more, 1).tolist() == np.delete(even, 1).tolist()
    assert stream(store, taught=5.0).draws.tolist() == stream(store).draws.tolist()  # a store without values
