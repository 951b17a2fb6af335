"""Writing with a causal language model: whole sentences, their probabilities, the searches, and who chooses."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("transformers", reason="the extra `hf` is not installed")

import torch
from tests.helpers.tiny_causal_lm import tiny_lm, trained_lm
from typer.testing import CliRunner

import weft
from weft.cli import app
from weft.corpora.text.sentences import split_sentences
from weft.document import Document, Score
from weft.errors import ConfigError, ModelError
from weft.generation.continuation import continue_document, rerank_by
from weft.generation.decoding import Candidate
from weft.generation.decoding_settings import METHODS, Decoding
from weft.generation.writing_models import bulk_writing_model, writing_model
from weft.models.causal_lm.causal_lm import Hf
from weft.models.causal_lm.writer import CausalWriter, WritingSteps
from weft.protocols import BulkWritingModel, WritingModel
from weft.registry import DEFAULT_MODEL

CONTEXT = ("The cat chased a mouse through the garden.", "Banks closed and investors lost their money.")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained_lm(tmp_path_factory.mktemp("lm") / "trained")


@pytest.fixture(scope="module")
def model(folder: Path) -> Hf:
    return Hf(Hf.Settings(model=str(folder)))


@pytest.fixture(scope="module")
def writer(model: Hf) -> CausalWriter:
    return model.writer()


class ByLength:
    """A judge that prefers the text whose last sentence is longest, and does not score texts with a cat."""

    def score(self, documents: Sequence[Document]) -> list[Score]:
        return [Score(None if "Cats" in one.sentences[-1] else float(len(one.sentences[-1]))) for one in documents]


def end_probability(writer: CausalWriter, values: torch.Tensor) -> float:
    """Log-probability of the tokens that begin another sentence, added one by one."""
    tokenizer, total = writer.predictor.ids.tokenizer, 0.0
    for number in range(len(values)):
        text = tokenizer.decode([number])
        if number == tokenizer.eos_token_id or "\n" in text or (text[:1].isspace() and not text[1:2].islower()):
            total += math.exp(float(values[number]))
    return math.log(total)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("context", [CONTEXT, ()], ids=["context", "no context"])
def test_candidates_are_whole_sentences(writer: CausalWriter, method: str, context: tuple[str, ...]) -> None:
    (found,) = writer.propose([context], Decoding(method=method, beam=10))
    assert len(found) >= 3
    assert len({one.text for one in found}) == len(found)
    for one in found:
        assert split_sentences(one.text) == (one.text,) and one.text.endswith((".", "!", "?", '"'))
        assert one.tokens <= 60 and "<|" not in one.text and "\n" not in one.text
    values = [one.log_prob / one.tokens for one in found]
    assert values == sorted(values, reverse=True)


def test_probabilities_are_those_of_the_tokens_and_of_the_end(writer: CausalWriter) -> None:
    predictor = writer.predictor
    (found,) = writer.propose([CONTEXT], Decoding(method="beam", beam=5))
    checked = 0
    for one in found:
        sentence = predictor.ids.of(one.text, first=False)
        if len(sentence) + 1 != one.tokens:  # the same text in other tokens
            continue
        before = predictor.ids.start + [token for part in predictor.ids.text(CONTEXT) for token in part]
        with torch.inference_mode():  # without a cache, the whole text at once
            logits = predictor.network(input_ids=torch.tensor([before + sentence])).logits[0].float()
        values = logits.log_softmax(dim=1)[len(before) - 1 :]
        total = sum(float(values[place, token]) for place, token in enumerate(sentence))
        assert one.log_prob == pytest.approx(total + end_probability(writer, values[-1]), abs=1e-3)
        checked += 1
    assert checked


def test_an_abbreviation_does_not_end_a_sentence(writer: CausalWriter) -> None:
    """The end is possible only where the splitter finds one before the likeliest next token."""
    encode = writer.predictor.ids.tokenizer
    steps = WritingSteps(writer.predictor, writer.kinds, [0], spaced=True, min_tokens=1)
    size = len(writer.kinds.never)
    name = encode(" B", add_special_tokens=False)["input_ids"][0]
    values = torch.full((1, size), -10.0)
    values[0, name] = 0.0  # a name follows, or another sentence
    for text, ends in (
        ("He met Dr.", False),
        ("He met a doctor.", True),
        ("He met a doctor", False),
        ("He met,", False),
    ):
        ids = torch.tensor([encode(text, add_special_tokens=False)["input_ids"]])
        assert bool(steps._with_ends(values, ids)[0, size].isfinite()) is ends
        assert bool(steps._with_ends(values, ids)[0, name].isfinite()) is not ends
    assert not steps._with_ends(values, torch.empty((1, 0), dtype=torch.long))[0, 50].isfinite()  # a space comes first


def test_equal_seeds_give_equal_sentences(writer: CausalWriter) -> None:
    draws = [writer.propose([CONTEXT], Decoding(method="sample", seed=seed, beam=6))[0] for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def test_short_sentences_are_not_candidates(writer: CausalWriter) -> None:
    (found,) = writer.propose([CONTEXT], Decoding(method="sample", min_tokens=8, beam=20))
    assert found and all(one.tokens > 8 for one in found)


def test_unfinished_sentences_are_not_candidates(writer: CausalWriter, folder: Path, tmp_path: Path) -> None:
    assert writer.propose([CONTEXT], Decoding(max_tokens=4)) == [[]]
    untrained = Hf(Hf.Settings(model=str(tiny_lm(tmp_path / "m")))).writer()
    for one in untrained.propose([CONTEXT], Decoding(method="sample"))[0]:
        assert split_sentences(one.text) == (one.text,)
    text = tmp_path / "text.txt"
    text.write_text(" ".join(CONTEXT), encoding="utf-8")
    settings = ["--model", "hf", "--set", f"model={folder}", "--max-tokens", "5", "--combine", "uni"]
    run = CliRunner().invoke(app, ["generate", str(text), *settings])
    assert run.exit_code == 0 and "0 of 1 written" in run.stderr and "--max-tokens" in run.stderr


def test_long_contexts_lose_their_first_sentences(tmp_path: Path) -> None:
    writer = Hf(Hf.Settings(model=str(trained_lm(tmp_path / "m", positions=64, steps=40)))).writer()
    decoding = Decoding(method="sample", max_tokens=30, beam=4)
    sizes = [len(writer._context(CONTEXT * count, 30)) for count in (1, 2, 50)]
    assert max(sizes) <= 64 - 30
    for context in (CONTEXT * 50, ("word " * 500,), ("",)):
        writer.propose([context], decoding)  # no position is out of range
    writer.propose([CONTEXT], Decoding(method="sample", max_tokens=500))


def test_it_keeps_the_protocols(model: Hf) -> None:
    assert isinstance(model, WritingModel) and not isinstance(model, BulkWritingModel)
    assert writing_model(model, "hf") is model
    with pytest.raises(ConfigError, match="writes one text at a time.*seq2seq"):
        bulk_writing_model(model, "hf")
    assert Hf.card.reranked_by == DEFAULT_MODEL


# Who chooses ----------------------------------------------------------------------------------------------------------


def test_another_model_chooses() -> None:
    candidates = [
        Candidate(text, 0.0, 1) for text in ("Cats like to sleep well.", "It hid.", "It ran away.", "It sat.")
    ]
    ranked = [one.text for one in rerank_by(candidates, CONTEXT, ByLength())]
    assert ranked == ["It ran away.", "It hid.", "It sat.", "Cats like to sleep well."]


class Fixed:
    """A writer that always proposes the same sentences."""

    def __init__(self, *texts: str) -> None:
        self.texts = texts

    def propose(self, contexts: Sequence[Sequence[str]], decoding: Decoding) -> list[list[Candidate]]:
        return [[Candidate(text, -1.0, 1) for text in self.texts] for _ in contexts]


@pytest.mark.parametrize(
    "repeated",
    [
        "Banks closed and investors lost their money.",
        "banks closed, and investors lost their money",
        "The cat chased a mouse through the garden, and then it slept for a very long time in the warm sun of May.",
    ],
    ids=["equal", "but for the comma", "and more"],
)
def test_repetitions_come_last_whatever_the_judge_says(repeated: str) -> None:
    new = "It hid."
    found = continue_document(Fixed(repeated, new), Document("d", CONTEXT), judge=ByLength())
    assert list(found) == [new]
    found = continue_document(Fixed(repeated), Document("d", CONTEXT), judge=ByLength())
    assert list(found) == [repeated]  # better than nothing


def test_the_package_s_model_chooses_by_default(folder: Path) -> None:
    model = weft.load("hf", settings={"model": str(folder)})
    judge = model.judge(None)
    assert judge is not None and judge.name == DEFAULT_MODEL
    assert model.judge(None, "mmi") is None and model.judge("hf") is model
    assert weft.load("foltz-sif").judge(None) is None
    with pytest.raises(ConfigError, match="either by the combination.*next: omit combine or rerank"):
        model.generate(" ".join(CONTEXT), combine="mmi", rerank="foltz-sif")
    with pytest.raises((ConfigError, ModelError), match="no-such-model"):
        model.generate(" ".join(CONTEXT), rerank="no-such-model")
    texts = {
        model.generate(" ".join(CONTEXT), sentences=2, rerank=rerank, combine=combine, method="sample").sentences
        for rerank, combine in ((None, None), ("foltz-sif", None), (None, "uni"), (None, "mmi"))
    }
    assert len(texts) > 1 and all(len(text) == 2 for text in texts)


def test_the_command_line(folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text(" ".join(CONTEXT), encoding="utf-8")
    command = ["generate", str(text), "--model", "hf", "--set", f"model={folder}", "--method", "sample", "-f", "json"]
    runs = [CliRunner().invoke(app, [*command, "--rerank", "foltz-sif", "--sentences", "2"]) for _ in range(2)]
    assert runs[0].exit_code == 0, runs[0].output
    assert runs[0].stdout == runs[1].stdout
    record = json.loads(runs[0].stdout)
    assert len(record["sentences"]) == 2 and record["model"] == "hf"
