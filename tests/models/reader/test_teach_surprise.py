"""The tool that writes the surprise of the sentences of a store: against a slow computation, and its checks."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.helpers.tiny_causal_lm import tiny_lm
from tools.teach_surprise import SurpriseTeacher, main, window_starts

from weft.corpora.store.prepare import prepare
from weft.corpora.store.token_store import TokenStore
from weft.models.causal_lm.model_files import find_causal, read_causal
from weft.models.causal_lm.predictor import SentenceIds

TEST = [f"The market of the town number {number} fell sharply in that cold year." for number in range(3)]
ARTICLES = [
    [["The cat chased a mouse.", "The mouse hid under <|endoftext|> an old tree."], ["It slept."]],
    [["Banks closed.", "Zürich – 1933."], TEST, ["By 1933 the market had begun to recover."]],
    [[f"Cats like to sleep, and mouse {number} hid under the tree." for number in range(12)]],
]
KEPT = [[paragraph for paragraph in article if paragraph != TEST] for article in ARTICLES]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("transformers")
    return tiny_lm(tmp_path_factory.mktemp("lm"))


@pytest.fixture
def store(tmp_path: Path) -> TokenStore:
    for name, some in (("a", ARTICLES[:1]), ("b", ARTICLES[1:])):
        lines = [json.dumps({"id": f"{name}{number}", "paragraphs": one}) for number, one in enumerate(some)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    (tmp_path / "test.jsonl").write_text(json.dumps({"id": "t", "sentences": TEST}))
    return prepare(
        [tmp_path / "a.jsonl", tmp_path / "b.jsonl"], tmp_path / "store", vocabulary_size=300, workers=1,
        held_out=[tmp_path / "test.jsonl"], drop_overlap=True,
    )  # fmt: skip


def teach(store: TokenStore, model: Path, *more: str, inputs: str = "ab") -> int:
    place = store.folder.parent
    given = [str(place / f"{name}.jsonl") for name in inputs]
    fixed = ["--store", str(store.folder), "--model", str(model), "--device", "cpu", "--dtype", "float32"]
    return main([*given, *fixed, "--held-out", str(place / "test.jsonl"), "--workers", "1", *more])


def slow_values(model: Path, context: int) -> list[float]:
    """One token after the other, each with the tokens before it in the first window that contains it."""
    network, tokenizer = read_causal(find_causal(str(model)), "float32")
    ids = SentenceIds(tokenizer)
    room = context - len(ids.start)
    found = []
    for article in KEPT:
        sentences = [sentence for paragraph in article for sentence in paragraph]
        tokens = [ids.of(sentence, first=place == 0) for place, sentence in enumerate(sentences)]
        flat, place = [token for one in tokens for token in one], 0
        for one in tokens:
            values = []
            for _ in one:
                begin = next(start for start in window_starts(len(flat), room) if place < start + room)
                given = torch.tensor([ids.start + flat[begin:place]])
                values.append(float(network(input_ids=given).logits[0, -1].log_softmax(dim=0)[flat[place]]))
                place += 1
            found.append(float(np.mean(values)) if values else float("nan"))
    return found


@pytest.mark.parametrize(("context", "batch"), [(512, 4096), (40, 100), (23, 10)])
def test_values_are_those_of_a_slow_computation(store: TokenStore, model: Path, context: int, batch: int) -> None:
    done = teach(store, model, "--context", str(context), "--batch-tokens", str(batch), "--check-every", "2")
    assert done == 0
    found = TokenStore(store.folder)
    expected = slow_values(model, context)
    assert found.sentence_count == len(expected) == 18
    values = found.surprise(range(found.sentence_count))
    assert values == pytest.approx(expected, abs=0.02, nan_ok=True)  # float16
    assert found.surprise_info is not None and found.surprise_info.context == context
    assert len(set(np.round(values[~np.isnan(values)], 2))) > 10


def test_half_precision_is_close(store: TokenStore, model: Path) -> None:
    """A GPU reads in bfloat16."""
    assert teach(store, model, "--dtype", "bfloat16") == 0
    values = TokenStore(store.folder).surprise(range(store.sentence_count))
    assert values == pytest.approx(slow_values(model, 512), abs=0.2)


@pytest.mark.parametrize("tokens", [0, 1, 7, 8, 9, 14, 15, 100])
def test_windows_cover_a_text_and_the_last_one_is_needed(tokens: int) -> None:
    starts = window_starts(tokens, 8)
    assert starts[0] == 0 and np.all(np.diff(starts) == 6)
    assert tokens <= starts[-1] + 8
    assert len(starts) == 1 or starts[-2] + 8 < tokens


def test_only_the_first_sentences(store: TokenStore, model: Path) -> None:
    assert teach(store, model, "--limit", "3") == 0
    values = TokenStore(store.folder).surprise(range(store.sentence_count))
    assert np.isfinite(values).tolist() == [True] * 3 + [False] * (store.sentence_count - 3)


def test_every_second_article(store: TokenStore, model: Path) -> None:
    """The values of the articles that are read do not change."""
    found = []
    for every in ("1", "2"):
        assert teach(store, model, "--every", every) == 0
        found.append(TokenStore(store.folder).surprise(range(store.sentence_count)))
    articles = np.asarray(store.paragraph_offsets)[np.asarray(store.article_offsets)]
    known = np.isfinite(found[1])
    assert known.any()
    assert not known.all()
    assert all(len(set(known[low:high].tolist())) == 1 for low, high in pairwise(articles.tolist()))
    assert found[1][known] == pytest.approx(found[0][known], abs=2e-3)


def test_values_of_a_store_of_the_first_inputs(
    store: TokenStore, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are the same whether they are copied or computed, and those of other sentences are unknown."""
    held_out = tmp_path / "test.jsonl"
    first, last = (
        prepare(
            [tmp_path / f"{name}.jsonl"], tmp_path / f"only-{name}", tokenizer=store.tokenizer(), workers=1,
            held_out=[held_out], drop_overlap=True,
        )
        for name in "ab"
    )  # fmt: skip
    assert main(["--store", str(store.folder), "--copy", str(first.folder)]) == 2
    assert "has no values" in capsys.readouterr().err
    assert teach(store, model) == 0
    whole = TokenStore(store.folder).surprise(range(store.sentence_count))
    for part, inputs in ((first, "a"), (last, "b")):
        given = [str(tmp_path / f"{inputs}.jsonl"), "--store", str(part.folder), "--model", str(model)]
        assert (
            main([*given, "--held-out", str(held_out), "--workers", "1", "--device", "cpu", "--dtype", "float32"]) == 0
        )
    assert main(["--store", str(store.folder), "--copy", str(first.folder)]) == 0
    copied = TokenStore(store.folder).surprise(range(store.sentence_count))
    count = first.sentence_count
    assert copied[:count] == pytest.approx(whole[:count], abs=2e-3)
    assert np.isnan(copied[count:]).all()
    assert main(["--store", str(store.folder), "--copy", str(last.folder)]) == 2
    assert "are not the first ones" in capsys.readouterr().err


def test_another_model_or_context_has_another_fingerprint(store: TokenStore, model: Path) -> None:
    seen = set()
    for context in ("512", "64", "512"):
        teach(store, model, "--context", context)
        info = TokenStore(store.folder).surprise_info
        assert info is not None
        seen.add(info.teacher)
    assert len(seen) == 2


def test_other_inputs_are_refused(store: TokenStore, model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for inputs in ("ba", "a", "abb"):
        assert teach(store, model, inputs=inputs) == 2
        assert "not the inputs of the store" in capsys.readouterr().err
    assert main([str(store.folder.parent / "a.jsonl"), str(store.folder.parent / "b.jsonl"), "--store",
                 str(store.folder), "--model", str(model)]) == 2  # fmt: skip
    assert "held-out files of the store" in capsys.readouterr().err
    assert TokenStore(store.folder).surprise_info is None


@pytest.mark.parametrize("level", ["ids", "sentences", "paragraphs"])
def test_a_store_of_other_sentences_is_refused(
    store: TokenStore, model: Path, level: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As after a change of a reader or of the tokenizer: the files are the same, the sentences are not."""
    path = store.folder / f"{level}.bin"
    values = np.frombuffer(path.read_bytes(), dtype=store.ids.dtype if level == "ids" else np.int64).copy()
    values[5 if level == "ids" else 1] += 1
    path.write_bytes(values.tobytes())
    assert teach(store, model, "--check-every", "1") == 2
    assert "not those of the store" in capsys.readouterr().err


def test_a_name_on_the_hub_is_refused(store: TokenStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert teach(store, Path("some/model")) == 2
    assert "on this machine" in capsys.readouterr().err


def test_the_context_is_that_of_the_model_at_most(model: Path) -> None:
    network, _ = read_causal(find_causal(str(model)), "float32")
    assert SurpriseTeacher(network, [0], context=4096, batch_tokens=100).context == 512


@pytest.mark.slow
def test_processes_give_the_same_values(store: TokenStore, model: Path) -> None:
    values = []
    for workers in ("1", "2"):
        assert teach(store, model, "--workers", workers) == 0
        values.append((store.folder / "surprise.bin").read_bytes())
    assert values[0] == values[1]
