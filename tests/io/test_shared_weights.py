"""Models built on another one: what is frozen stays, is kept once on disk, and orders as the other does."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from weft.corpora.store.prepare import prepare  # noqa: E402
from weft.document import Document  # noqa: E402
from weft.errors import ConfigError, ModelError  # noqa: E402
from weft.io.model_folder import Artifact, Shared, load_artifact, save_artifact  # noqa: E402
from weft.io.shared_weights import WORTH_SHARING, share  # noqa: E402
from weft.models.seq2seq.seq2seq import Seq2Seq  # noqa: E402
from weft.models.vlv.vlv_gm import VlvGm, VlvGmSettings  # noqa: E402
from weft.ordering.order import order_document, order_table  # noqa: E402
from weft.training.config import build_config  # noqa: E402
from weft.training.runs import train  # noqa: E402

SENTENCES = ("a cat sat here", "it slept all day", "a dog came by", "the cat ran off", "then all was still")
TEXT = Document("t", SENTENCES)
SIZES = {"dimensions": 64, "hidden": 32, "layers": 2, "feed": True, "lexical": True, "dropout": 0.0}


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained seq2seq with precedence, and a vlv-gm that was built on it."""
    place = tmp_path_factory.mktemp("zoo")
    lines = [json.dumps({"text": ". ".join(SENTENCES[n % 5 :] + SENTENCES[: n % 5]) + "."}) for n in range(12)]
    (place / "texts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    prepare([place / "texts.jsonl"], place / "store", vocabulary_size=300, workers=1)
    train(build_config(config(place, "seq2seq", precedence=True)))
    based: dict[str, Any] = config(place, "vlv-gm", precedence=True, frozen="encoder", latent=4, width=16)
    based["run"] |= {"start": str(place / "seq2seq"), "base": str(place / "seq2seq")}
    train(build_config(based), parts=["forward", "backward"])
    return place


def config(place: Path, name: str, **model: object) -> dict[str, dict[str, Any]]:
    return {
        "model": {"name": name, **SIZES, **model},
        "data": {"store": str(place / "store")},
        "run": {"out": str(place / name), "device": "cpu"},
        "training": {"steps": 3, "warmup": 1, "batch_tokens": 300, "learning_rate": 0.05},
    }


def test_what_is_frozen_stays_and_the_rest_learns(zoo: Path) -> None:
    first, second = Seq2Seq.load(zoo / "seq2seq"), VlvGm.load(zoo / "vlv-gm")
    for part in ("forward", "backward"):
        words = second.predictors[part].network.words.state_dict()
        for name, value in first.networks()[part].state_dict().items():
            same = torch.equal(words[name], value)
            assert same == name.startswith(("embedding.", "encoder.")), name
    for part in ("prior", "precedence"):
        other = second.networks()[part].state_dict()
        assert all(torch.equal(other[name], value) for name, value in first.networks()[part].state_dict().items())


def test_what_is_shared_is_kept_once(zoo: Path) -> None:
    artifact = load_artifact(zoo / "vlv-gm")
    assert [one.folder for one in artifact.shared] == ["seq2seq"]
    names = artifact.shared[0].tensors
    assert names["forward/words.embedding.weight"] in {"forward/embedding.weight"}
    assert names["prior/embedding.weight"] == "prior/embedding.weight"
    assert names["forward/words.embedding.weight.scale"] == "forward/embedding.weight.scale"
    assert "forward/words.output.weight" not in names
    moved = VlvGm.load(zoo / "vlv-gm")
    moved.save(zoo / "alone")
    assert load_artifact(zoo / "alone").shared == []
    assert VlvGm.load(zoo / "alone").score([TEXT])[0].value == pytest.approx(moved.score([TEXT])[0].value, abs=1e-5)
    small, whole = (sum(f.stat().st_size for f in (zoo / name).iterdir()) for name in ("vlv-gm", "alone"))
    assert small < 0.8 * whole


@pytest.mark.parametrize(
    "change", ["gone", "empty", "others", "shares"], ids=["not there", "no folder", "other weights", "shares itself"]
)
def test_a_folder_without_the_one_it_was_built_on(zoo: Path, tmp_path: Path, change: str) -> None:
    shutil.copytree(zoo / "vlv-gm", tmp_path / "vlv-gm")
    if change == "empty":
        (tmp_path / "seq2seq").mkdir()
    if change == "others":
        model = Seq2Seq.load(zoo / "seq2seq")
        with torch.no_grad():
            for network in model.networks().values():
                for parameter in network.parameters():
                    parameter.mul_(1.5)
        model.save(tmp_path / "seq2seq")
    if change == "shares":
        shutil.copytree(zoo / "vlv-gm", tmp_path / "seq2seq")
    with pytest.raises(ModelError, match="shares weights with the folder seq2seq") as caught:
        VlvGm.load(tmp_path / "vlv-gm")
    assert caught.value.seen
    assert "seq2seq" in str(caught.value.next_step)


@pytest.mark.parametrize(
    "entry",
    [
        None, [], {"folder": "../x", "tensors": {}, "sha256": ""}, {"folder": "..", "tensors": {}, "sha256": ""},
        {"folder": "x"}, {"folder": 3, "tensors": {}, "sha256": ""}, {"folder": "x", "tensors": {"a": 1}, "sha256": ""},
        {"folder": "x", "tensors": [], "sha256": "", "more": 1}, {"folder": "a\0b", "tensors": {}, "sha256": ""},
        {"folder": "x", "tensors": {}, "sha256": "", "texts": "t"},
        {"folder": "x", "tensors": {}, "sha256": "", "texts": [1]},
    ],
)  # fmt: skip
def test_a_manifest_cannot_point_elsewhere(tmp_path: Path, entry: object) -> None:
    from weft.io.model_folder import _manifest_hash

    save_artifact(Artifact("random", {}), tmp_path / "m")
    path = tmp_path / "m" / "model.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["shared"] = "x" if entry == [] else [entry]
    manifest["sha256"] = _manifest_hash(manifest)
    path.write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(ModelError, match="damaged or was altered"):
        load_artifact(tmp_path / "m")


def test_only_folders_side_by_side_share(tmp_path: Path) -> None:
    large, words = np.arange(WORTH_SHARING, dtype=np.float32), "w" * WORTH_SHARING
    texts = {"words.txt": words, "short.txt": "w"}
    one, two, elsewhere = tmp_path / "a" / "one", tmp_path / "a" / "two", tmp_path / "b" / "two"
    save_artifact(Artifact("random", {}, {"w": large, "small": large[:4]}, texts), one)
    model = Artifact("random", {}, {"v": large.copy(), "small": large[:4]}, {**texts, "other.txt": words})
    found = share(model, two, [one])
    assert found.shared == [Shared("one", {"v": "w"}, found.shared[0].sha256, ["words.txt"])]
    assert set(found.tensors) == {"small"}
    assert set(found.texts) == {"short.txt", "other.txt"}
    save_artifact(found, two)
    read = load_artifact(two)
    assert np.array_equal(read.tensors["v"], large)
    assert read.texts == model.texts
    assert share(model, elsewhere, [one]).shared == []
    assert share(Artifact("random", {}, {"v": large + 1}, {"words.txt": words + "!"}), two, [one]).shared == []


@pytest.mark.parametrize("text", ["v" * WORTH_SHARING, None], ids=["other text", "no text"])
def test_a_text_that_is_shared_is_checked(tmp_path: Path, text: str | None) -> None:
    save_artifact(Artifact("random", {}, texts={"words.txt": "w" * WORTH_SHARING}), tmp_path / "one")
    model = Artifact("random", {}, texts={"words.txt": "w" * WORTH_SHARING})
    save_artifact(share(model, tmp_path / "two", [tmp_path / "one"]), tmp_path / "two")
    assert load_artifact(tmp_path / "two").texts == model.texts
    save_artifact(Artifact("random", {}, texts={} if text is None else {"words.txt": text}), tmp_path / "one")
    with pytest.raises(ModelError, match="shares weights with the folder one"):
        load_artifact(tmp_path / "two")


def test_a_folder_shares_nothing_with_itself_or_with_one_that_shares(tmp_path: Path) -> None:
    large = Artifact("random", {}, {"w": np.arange(WORTH_SHARING, dtype=np.float32)})
    save_artifact(large, tmp_path / "one")
    assert share(large, tmp_path / "one", [tmp_path / "one"]).shared == [], "it is about to be replaced"
    save_artifact(share(large, tmp_path / "two", [tmp_path / "one"]), tmp_path / "two")
    assert share(large, tmp_path / "three", [tmp_path / "two"]).shared == []


def test_a_run_onto_its_own_base_keeps_all_weights(zoo: Path, tmp_path: Path) -> None:
    shutil.copytree(zoo / "store", tmp_path / "store")
    shutil.copytree(zoo / "seq2seq", tmp_path / "seq2seq")
    again = config(tmp_path, "seq2seq", precedence=True)
    again["run"]["base"] = again["run"]["start"] = str(tmp_path / "seq2seq")
    train(build_config(again), parts=["backward"])
    assert Seq2Seq.load(tmp_path / "seq2seq").score([TEXT])[0].value is not None


def test_parts_of_one_run_may_be_trained_by_several_commands(zoo: Path, tmp_path: Path) -> None:
    """The other direction of the base is another kind of network: it must not be taken for the one still to come."""
    for name in ("store", "seq2seq"):
        shutil.copytree(zoo / name, tmp_path / name)
    based = config(tmp_path, "vlv-gm", precedence=True, frozen="words", latent=4, width=16)
    based["run"] |= {"start": str(tmp_path / "seq2seq"), "base": str(tmp_path / "seq2seq")}
    based["run"]["parts"] = ["forward", "backward"]
    train(build_config(based), parts=["forward"])
    assert not (tmp_path / "vlv-gm").exists()
    train(build_config(based), parts=["backward"])
    assert VlvGm.load(tmp_path / "vlv-gm").score([TEXT])[0].value is not None


def test_a_model_with_memory_orders_by_precedence_too(zoo: Path) -> None:
    first, second = Seq2Seq.load(zoo / "seq2seq"), VlvGm.load(zoo / "vlv-gm")
    table, theirs = second.precedence_table(TEXT), first.precedence_table(TEXT)
    assert table is not None
    assert theirs is not None
    assert np.allclose(table, theirs, atol=1e-5)
    expected = order_table(np.zeros_like(table), table, objective="precedence", name="t", first=0, search="beam").order
    assert order_document(second, TEXT, first=0, objective="precedence").order == expected
    heavy = second.adjusted({"precedence_weight": 1e6})
    found = order_document(heavy, TEXT, first=0)
    assert (found.order, found.objective) == (expected, "both")
    assert order_document(second, TEXT, first=0, objective="coherence").objective == "coherence"


def test_nothing_is_frozen_that_was_never_trained(zoo: Path) -> None:
    with pytest.raises(ConfigError, match="frozen weights"):
        train(build_config(config(zoo, "vlv-gm", frozen="words") | {"run": {"out": str(zoo / "no"), "device": "cpu"}}))
    with pytest.raises(ConfigError, match="frozen"):
        VlvGm(VlvGmSettings(frozen="half"))
