"""Damaged folders of generative models: one line that says what, seen, allowed and next, whatever is broken in them.

The hashes in every folder here are right: what `weft.io.model_folder` finds by itself is tested elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.helpers.command_line import weft
from tests.helpers.zoo_models import WEFT_SMALL

from weft.cli import app
from weft.corpora.text.tokenizers import BpeTokenizer
from weft.errors import ConfigError, ModelError
from weft.hub import load_model
from weft.io.model_folder import Artifact, load_artifact, save_artifact
from weft.io.quantization import Packed, unpack
from weft.models.common.network_parts import check_precedence_weight
from weft.models.seq2seq.seq2seq import Seq2Seq, Seq2SeqSettings

SENTENCES = ("Mary ate some apples.", "She likes apples.", "The senate adjourned in 1952.")
LARGE = 2**1024  # the first whole number that no float can hold
Damage = Callable[[Artifact], Artifact]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    """A small model with all parts, in good order."""
    torch.manual_seed(0)
    tokenizer = BpeTokenizer.train(SENTENCES, vocabulary_size=280)
    model = Seq2Seq(Seq2SeqSettings(dimensions=12, hidden=16, layers=1, precedence=True))
    for part in model.parts:  # one by one: precedence stands on the encoders
        model.assemble({part: model.new_network(part, tokenizer)}, tokenizer)
    folder = tmp_path_factory.mktemp("whole") / "model"
    model.save(folder)
    artifact = load_artifact(folder)
    return replace(artifact, texts={**artifact.texts, "reference.json": (WEFT_SMALL / "reference.json").read_text()})


def weights(**changes: Any) -> Damage:
    """Other weights, by ``part__name`` with ``__`` for the dots in a name; None takes one away."""

    def damage(artifact: Artifact) -> Artifact:
        tensors = dict(artifact.tensors)
        for key, change in changes.items():
            name = key.replace("__", ".").replace(".", "/", 1)
            value = change(tensors[name]) if callable(change) else change
            tensors.pop(name, None)
            if value is not None:
                tensors[name] = np.asarray(value)
        return replace(artifact, tensors=tensors)

    return damage


def without(*prefixes: str) -> Damage:
    def damage(artifact: Artifact) -> Artifact:
        return replace(artifact, tensors={k: v for k, v in artifact.tensors.items() if not k.startswith(prefixes)})

    return damage


def settings(**changes: object) -> Damage:
    return lambda artifact: replace(artifact, config={**artifact.config, **changes})


def no_parts(artifact: Artifact) -> Artifact:
    return replace(artifact, config={key: value for key, value in artifact.config.items() if key != "parts"})


def texts(**changes: str | None) -> Damage:
    def damage(artifact: Artifact) -> Artifact:
        changed = {**artifact.texts, **{f"{name}.json": text for name, text in changes.items()}}
        return replace(artifact, texts={name: text for name, text in changed.items() if text is not None})

    return damage


def old_names(artifact: Artifact) -> Artifact:
    """Weights from before attention had keys, without the layer they are put together with."""
    left = without("forward/output")(artifact)
    return replace(left, tensors={**left.tensors, "forward/attention.merge.weight": np.zeros((16, 32), np.float32)})


WEIGHTS: dict[str, Damage] = {
    "a scale one row short": weights(forward__embedding__weight__scale=lambda scale: scale[:-1]),
    "a scale for all rows": weights(forward__embedding__weight__scale=np.float32(0.1)),
    "a scale of one row": weights(backward__output__weight__scale=lambda scale: scale[:1]),
    "no scale": weights(prior__output__weight__scale=None),
    "no scale of precedence": weights(precedence__earlier__weight__scale=None),
    "a scale without its matrix": weights(forward__output__weight=None),
    "a scale of words": weights(forward__output__weight__scale=lambda scale: scale.astype(np.complex64)),
    "a matrix on its side": weights(
        forward__decoder__weight_hh_l0=lambda matrix: matrix.T,
        forward__decoder__weight_hh_l0__scale=np.ones(16, np.float32),
    ),
    "a vector for a matrix": weights(
        forward__decoder__weight_hh_l0=np.ones(16, np.float32), forward__decoder__weight_hh_l0__scale=None
    ),
    "a vector for the words": weights(
        prior__embedding__weight=np.ones(280, np.float32), prior__embedding__weight__scale=None
    ),
    "a column short": weights(backward__output__weight=lambda matrix: matrix[:, :-1]),
    "a number for a vector": weights(precedence__inputs__bias=np.float32(1.0)),
    "one weight too many": weights(prior__more__weight=np.ones(3, np.float32)),
    "no weights": without("backward/"),
    "no encoder": without("forward/encoder", "forward/attention"),
    "old names": old_names,
}
PARTS: dict[str, Damage] = {
    "no parts": no_parts,
    "null": settings(parts=None),
    "a text": settings(parts="forward, backward"),
    "a number": settings(parts=3),
    "none": settings(parts=[]),
    "no forward": settings(parts=["backward", "prior"]),
    "precedence on nothing": settings(parts=["forward", "prior", "precedence"]),
    "an unknown one": settings(parts=["forward", "backward", "prior", "precedense"]),
    "a list in it": settings(parts=[["forward"]]),
}
TEXTS: dict[str, Damage] = {
    "no tokenizer": texts(tokenizer=None),
    "no tokenizer in it": texts(tokenizer="{}"),
    "half a reference": texts(reference='{"texts": "a", "groups": ['),
    "another reference": texts(reference="[1]"),
}
SETTINGS: dict[str, Damage] = {
    **{
        f"precedence_weight {value!r}": settings(precedence_weight=value)
        for value in ("much", None, float("nan"), float("inf"), True, [1.0], LARGE)
    },
    **{f"combine {value!r}": settings(combine=value) for value in (None, "tri", 5, ["mmi"])},
}


def damaged(whole: Artifact, damage: Damage, folder: Path) -> Path:
    save_artifact(damage(whole), folder)
    return folder


def refused(folder: Path, text: Path) -> ModelError:
    """What `weft score` and `weft order` say, which is the same, and which has all four things."""
    said = []
    for command in ("score", "order"):
        with pytest.raises(ModelError) as caught:
            app([command, str(text), "--model", str(folder)], standalone_mode=False)
        said.append(caught.value)
    found = said[0]
    assert str(found) == str(said[1])
    assert found.what
    assert found.seen is not None
    assert found.allowed
    assert found.next_step
    assert len(str(found).splitlines()) == 1
    return found


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(SENTENCES), encoding="utf-8")
    return path


def test_the_folder_in_good_order_is_read(whole: Artifact, tmp_path: Path, text: Path) -> None:
    folder = damaged(whole, lambda artifact: artifact, tmp_path / "m")
    for command in ("score", "order"):
        app([command, str(text), "--model", str(folder)], standalone_mode=False)


@pytest.mark.parametrize("damage", WEIGHTS.values(), ids=WEIGHTS)
def test_weights_that_do_not_fit(whole: Artifact, damage: Damage, tmp_path: Path, text: Path) -> None:
    said = refused(damaged(whole, damage, tmp_path / "m"), text)
    assert "weights of the " in said.what
    assert str(tmp_path / "m") in said.what


@pytest.mark.parametrize("damage", PARTS.values(), ids=PARTS)
def test_parts_that_are_not_there(whole: Artifact, damage: Damage, tmp_path: Path, text: Path) -> None:
    said = refused(damaged(whole, damage, tmp_path / "m"), text)
    assert "`parts`" in said.what
    assert str(tmp_path / "m") in said.what


@pytest.mark.parametrize("damage", TEXTS.values(), ids=TEXTS)
def test_texts_that_are_broken(whole: Artifact, damage: Damage, tmp_path: Path, text: Path) -> None:
    assert str(tmp_path / "m") in str(refused(damaged(whole, damage, tmp_path / "m"), text))


@pytest.mark.parametrize("damage", SETTINGS.values(), ids=SETTINGS)
def test_settings_that_make_no_sense(whole: Artifact, damage: Damage, tmp_path: Path, text: Path) -> None:
    said = refused(damaged(whole, damage, tmp_path / "m"), text)
    assert str(tmp_path / "m") in said.what
    assert "precedence_weight" in said.what or "combine" in said.what


@pytest.mark.parametrize("value", ["much", None, [0.1], True, float("nan"), 1.0])
def test_a_share_that_is_none(whole: Artifact, value: object, tmp_path: Path, text: Path) -> None:
    said = refused(damaged(whole, settings(dropout=value), tmp_path / "m"), text)
    assert "dropout" in said.what


@pytest.mark.parametrize("command", ["score", "order"])
def test_the_commands_say_so_in_one_line(command: str, tmp_path: Path, text: Path) -> None:
    """A model of the zoo, as a user would find it damaged."""
    short = weights(forward__embedding__weight__scale=lambda scale: scale[:-1])
    folder = damaged(load_artifact(WEFT_SMALL), short, tmp_path / "m")
    done = weft(command, text, "--model", folder)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    for part in ("weft: error: the weights of the forward network in ", "saw ", "(8191,)", "; allowed: ", "; next: "):
        assert part in done.stderr


def test_what_a_matrix_is_packed_with_must_fit_it() -> None:
    packed: Packed = {"w": np.ones((2, 3), np.int8), "w.scale": np.ones(2, np.float32), "b": np.ones(3, np.float16)}
    assert unpack(packed)["w"].dtype == np.float32
    with pytest.raises(ValueError, match=r"w .*int8.* no scale"):
        unpack({"w": packed["w"]})
    for scale in (np.ones(3, np.float32), np.ones(1, np.float32), np.ones((2, 1), np.float32), np.float32(1)):
        with pytest.raises(ValueError, match=r"w .*\(2, 3\).*scale"):
            unpack({"w": packed["w"], "w.scale": np.asarray(scale)})
    with pytest.raises(ValueError, match="scale"):  # of something that is not packed
        unpack({"w": np.ones((2, 3), np.float32), "w.scale": packed["w.scale"]})


# A weight for what was never learned ------------------------------------------------------------------------------


def test_precedence_weighs_nothing_where_it_was_never_learned(whole: Artifact, tmp_path: Path) -> None:
    alone = settings(parts=["forward", "backward", "prior"])
    folder = damaged(whole, lambda artifact: without("precedence/")(alone(artifact)), tmp_path / "m")
    with pytest.raises(ConfigError, match=r"no precedence part.*saw .*2\.0.*allowed.*next"):
        load_model(folder, {"precedence_weight": 2.0})
    unchanged = load_model(folder, {"precedence_weight": 1, "combine": "bi"})
    assert isinstance(unchanged, Seq2Seq)
    assert unchanged.combine == "bi"
    learned = load_model(damaged(whole, lambda artifact: artifact, tmp_path / "n"))
    assert isinstance(learned, Seq2Seq)
    assert learned.adjusted({"precedence_weight": 2}).settings.precedence_weight == 2.0


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "much", None, True, LARGE])
def test_a_weight_is_a_number_wherever_it_is_given(value: object) -> None:
    for learned in (True, False):
        with pytest.raises(ConfigError, match="precedence_weight is out of range.*saw.*allowed.*next"):
            check_precedence_weight(value, learned=learned)
    with pytest.raises(ConfigError, match="precedence_weight"):
        Seq2Seq().adjusted({"precedence_weight": value})
