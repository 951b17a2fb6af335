"""The embedded model: numpy where it scores on a CPU, torch where it must, and the same numbers from both."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from weft.corpora.text.tokenizers import BpeTokenizer
from weft.document import Document, Window
from weft.errors import ConfigError, ModelError
from weft.evaluation.evaluated_models import load_subjects
from weft.generation.decoding_settings import Decoding
from weft.hub import load_model
from weft.io.model_folder import load_artifact, save_artifact
from weft.models.common.token_cache import TokenCache
from weft.models.seq2seq.numpy_predictor import NumpyPredictor
from weft.models.seq2seq.seq2seq import Seq2Seq, Seq2SeqSettings
from weft.models.seq2seq.weft_small import EMBEDDED, WeftSmall, WeftSmallSettings

EXAMPLES = Path(__file__).parents[3] / "examples"
TEXT = Document(
    "life",
    (
        "Anna Weber was born in 1881 in Trieste.",
        "She studied painting in Vienna from 1899.",
        "Her first exhibition, in 1904, was a failure.",
        "No picture was sold.",
        "Weber died in 1952.",
    ),
)
STRANGE = Document("strange", ("\u200b", "…", "日本語の文。", "\u0000\u200b", "a", "word " * 300, "In 1999 it ended."))


@pytest.fixture(scope="module")
def embedded() -> WeftSmall:
    return WeftSmall()


@pytest.fixture(scope="module")
def trained() -> Seq2Seq:
    return Seq2Seq.load(EMBEDDED)


@pytest.fixture(scope="module", params=[{}, {"attention": False}, {"lexical": True}, {"lexical": True, "seed": 5}])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Seq2Seq, WeftSmall]:
    """A random model of each kind, read by both."""
    settings = {key: value for key, value in request.param.items() if key != "seed"}
    torch.manual_seed(request.param.get("seed", 3))
    tokenizer = BpeTokenizer.train([*TEXT.sentences, *STRANGE.sentences], vocabulary_size=300)
    model = Seq2Seq(Seq2SeqSettings(dimensions=12, hidden=16, layers=1, precedence=True, **settings))
    for part in model.parts:  # one by one: precedence stands on the encoders
        network = model.new_network(part, tokenizer)
        for parameter in network.parameters():
            torch.nn.init.normal_(parameter, std=0.4)
        model.assemble({part: network}, tokenizer)
    folder = tmp_path_factory.mktemp("pair") / "model"
    model.save(folder)
    return Seq2Seq.load(folder), as_weft_small(folder)


def as_weft_small(folder: Path) -> WeftSmall:
    save_artifact(replace(load_artifact(folder), model="weft-small"), folder)
    return WeftSmall.load(folder)


def close(one: object, other: object) -> None:
    assert np.asarray(one) == pytest.approx(np.asarray(other), abs=1e-4)


@pytest.mark.parametrize("document", [TEXT, STRANGE, TEXT.reorder([3, 1])], ids=lambda document: document.id)
def test_numpy_scores_as_torch_does(pair: tuple[Seq2Seq, WeftSmall], document: Document) -> None:
    full, plain = pair
    for combine in ("uni", "bi", "mmi"):
        ours, theirs = plain.combined(combine), full.combined(combine)
        close(ours.score([document])[0].transitions, theirs.score([document])[0].transitions)
        close(ours.pair_table(document), theirs.pair_table(document))
    close(plain.precedence_table(document), full.precedence_table(document))


def test_the_embedded_model_scores_as_torch_does(embedded: WeftSmall, trained: Seq2Seq) -> None:
    documents = [TEXT, STRANGE, TEXT.reorder([4, 2, 0, 1, 3])]
    for ours, theirs in zip(embedded.score(documents), trained.score(documents), strict=True):
        close(ours.transitions, theirs.transitions)
    close(embedded.pair_table(TEXT), trained.pair_table(TEXT))
    close(embedded.precedence_table(TEXT), trained.precedence_table(TEXT))


def test_log_probabilities_and_counts_of_windows(pair: tuple[Seq2Seq, WeftSmall]) -> None:
    full, plain = pair
    contexts: list[tuple[str, ...]] = [(), ("",), ("One.", "Two."), ("Two.",), ("word " * 200,)]
    windows = [Window(context, target) for context in contexts for target in ("", "a", "No picture was sold.")]
    for part, predictor in full.predictors.items():
        ours = plain._networks.predictors[part]
        expected = [predictor.log_prob([window])[0] for window in windows]
        assert ours.log_prob(windows) == pytest.approx(expected, abs=1e-3)
        assert [ours.log_prob([window])[0] for window in windows] == pytest.approx(ours.log_prob(windows), abs=1e-4)
        assert ours.token_counts(["", "a b"]) == predictor.token_counts(["", "a b"])


def test_a_sentence_without_words_is_no_missing_one(pair: tuple[Seq2Seq, WeftSmall]) -> None:
    """Beside others or alone: a score does not depend on its neighbours."""
    for model in pair:
        alone = model.score([Document("d", ("\u200b", "A cat sat."))])[0]
        beside = model.score([Document("d", ("\u200b", "A cat sat.")), TEXT])[0]
        assert alone.value == pytest.approx(beside.value, abs=1e-5)


def test_documents_without_pairs(embedded: WeftSmall) -> None:
    for sentences in ((), ("Alone.",)):
        document = Document("d", sentences)
        assert embedded.score([document])[0].value is None
        assert embedded.pair_table(document).shape == (len(sentences), len(sentences))
        table = embedded.precedence_table(document)
        assert table is not None
        assert not table.any()


def test_what_is_known_is_not_read_again(pair: tuple[Seq2Seq, WeftSmall], monkeypatch: pytest.MonkeyPatch) -> None:
    network, tokenizer = pair[1]._networks.predictors["forward"].network, pair[0].predictors["forward"].tokenizer
    predictor = NumpyPredictor(network, TokenCache(tokenizer))
    read: list[int] = []
    encode = network.encode

    def counted(sentences: Any) -> Any:
        read.append(len(sentences))
        return encode(sentences)

    monkeypatch.setattr(network, "encode", counted)
    first = predictor.starts(TEXT.sentences)
    predictor.log_prob([Window((left,), right) for left in TEXT.sentences for right in TEXT.sentences])
    assert sum(read) == len(TEXT)
    monkeypatch.setattr("weft.models.seq2seq.numpy_predictor.CACHED_POSITIONS", 1)
    assert predictor.starts(["a b", *TEXT.sentences])[1:] == pytest.approx(first, abs=1e-5)
    assert not predictor._cache  # too much to keep: forgotten, and found anew
    assert np.array_equal(predictor.starts(TEXT.sentences), first)  # to the last place, whatever was asked before


def test_windows_beyond_a_batch_are_scored_alike(
    pair: tuple[Seq2Seq, WeftSmall], monkeypatch: pytest.MonkeyPatch
) -> None:
    predictor = pair[1]._networks.predictors["forward"]
    windows = [Window((left,), right) for left in TEXT.sentences for right in TEXT.sentences]
    whole = predictor.log_prob(windows)
    monkeypatch.setattr("weft.models.seq2seq.numpy_predictor.NumpyPredictor.windows_at_once", 4)
    assert predictor.log_prob(windows) == pytest.approx(whole, abs=1e-4)
    assert predictor.log_prob([]) == []


# What needs torch -------------------------------------------------------------------------------------------------


def test_on_another_device_torch_computes(pair: tuple[Seq2Seq, WeftSmall], monkeypatch: pytest.MonkeyPatch) -> None:
    full, plain = pair
    moved: list[str] = []
    monkeypatch.setattr(Seq2Seq, "to", lambda _, device: moved.append(str(device)))
    ways = plain.combined("mmi"), plain.combined("bi")
    try:
        plain.to("cuda")
        assert moved == ["cuda"]
        for way in ways:  # they hold the same networks
            assert way.scorer.forward is plain.predictors["forward"]
        close(plain.precedence_table(STRANGE), full.precedence_table(STRANGE))
        half = plain.adjusted({"precedence_weight": 0.5}).precedence_table(STRANGE)
        close(2 * np.asarray(half), full.precedence_table(STRANGE))
        close(plain.score([TEXT])[0].transitions, full.score([TEXT])[0].transitions)
    finally:
        plain.to(torch.device("cpu"))
    assert moved == ["cuda", "cpu"]
    assert isinstance(ways[0].scorer.forward, NumpyPredictor)


def test_a_model_on_the_cpu_needs_no_torch_networks() -> None:
    model = WeftSmall(WeftSmallSettings(combine="bi")).to("cpu")
    model.score([TEXT])
    assert "torch_model" not in vars(model._networks)


def test_it_writes_and_shows_its_networks(embedded: WeftSmall) -> None:
    candidates = embedded.predictors["forward"].propose(
        [TEXT.sentences], Decoding(method="beam", beam=2, max_tokens=8)
    )[0]
    assert candidates[0].text
    assert tuple(embedded.networks()) == embedded.parts == ("forward", "backward", "prior", "precedence")


# In the house of the models ---------------------------------------------------------------------------------------


def test_ways_of_combining_share_what_is_known(embedded: WeftSmall) -> None:
    embedded.pair_table(TEXT)
    other = embedded.combined("uni")
    assert TEXT.sentences in other._networks.tables
    assert other.combine == "uni"
    with pytest.raises(ConfigError, match="unknown combine"):
        embedded.combined("best")
    with pytest.raises(ConfigError, match="unknown combine"):
        WeftSmall(WeftSmallSettings(combine="best"))


def test_a_saved_copy_is_the_same(embedded: WeftSmall, tmp_path: Path) -> None:
    embedded.combined("bi").save(tmp_path / "m", training={"seed": 1})
    again = WeftSmall.load(tmp_path / "m")
    assert again.combine == "bi"
    assert again.reference is None  # reference scores are those of the way they were made
    assert again.score([TEXT]) == embedded.combined("bi").score([TEXT])
    assert load_artifact(tmp_path / "m").training == {"seed": 1}


def test_folders_that_are_something_else_are_refused(tmp_path: Path) -> None:
    tokenizer = BpeTokenizer.train(TEXT.sentences, vocabulary_size=280)
    model = Seq2Seq(Seq2SeqSettings(dimensions=8, hidden=8, layers=2))
    model.assemble({part: model.new_network(part, tokenizer) for part in model.parts}, tokenizer).save(tmp_path / "m")
    with pytest.raises(ModelError, match="weights of the forward network in .* do not fit"):
        as_weft_small(tmp_path / "m")
    artifact = load_artifact(EMBEDDED)
    texts = {**artifact.texts, "tokenizer.json": tokenizer.to_text()}
    save_artifact(replace(artifact, model="weft-small", texts=texts), tmp_path / "words")
    with pytest.raises(ModelError, match="8192 words, not 280"):
        WeftSmall.load(tmp_path / "words")
    tensors = {name: value for name, value in artifact.tensors.items() if name != "precedence/early.weight"}
    save_artifact(replace(artifact, model="weft-small", tensors=tensors), tmp_path / "judge")
    with pytest.raises(ModelError, match="precedence network .*early.weight has the shape None"):
        WeftSmall.load(tmp_path / "judge")


@pytest.mark.parametrize("command", [["score", "essay.txt", "-e"], ["order", "shuffled.txt"]])
def test_the_commands_import_nothing_heavy(command: list[str]) -> None:
    arguments = [command[0], str(EXAMPLES / command[1]), *command[2:]]
    code = f"""
import atexit, sys
sys.argv = ["weft", *{arguments!r}]
heavy = ("torch", "transformers", "scipy", "sklearn", "pyarrow", "tomotopy")
atexit.register(lambda: print([name for name in heavy if name in sys.modules], file=sys.stderr))
from weft.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout
    assert done.stderr.splitlines()[-1] == "[]"


def test_settings_of_a_saved_one_can_change_and_are_kept(tmp_path: Path) -> None:
    WeftSmall().save(tmp_path / "m")
    changed = load_model(tmp_path / "m", {"combine": "bi", "precedence_weight": 0.5})
    assert isinstance(changed, WeftSmall)
    text = Document("t", ("Mary ate some apples.", "She likes apples.", "The senate adjourned."))
    whole, half = WeftSmall().precedence_table(text), changed.precedence_table(text)
    assert whole is not None
    assert half is not None
    assert half == pytest.approx(0.5 * whole, abs=1e-6)
    assert changed.combined("mmi").settings.precedence_weight == 0.5
    changed.save(tmp_path / "n")
    again = WeftSmall.load(tmp_path / "n")
    assert (again.combine, again.settings.precedence_weight) == ("bi", 0.5)


def test_results_of_other_settings_never_share_a_name() -> None:
    plain = load_subjects("pairs", "weft-small", {}, combine=["mmi"])
    changed = load_subjects("pairs", "weft-small", {"combine": "bi"}, combine=["mmi"])
    assert [one.variant for one in (*plain, *changed)] == ["mmi", "mmi-combine=bi"]
