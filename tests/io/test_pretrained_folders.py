"""Attacks on the folders of transformers: nothing is unpickled, run, followed outside or downloaded."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.command_line import weft
from tests.helpers.tiny_causal_lm import tiny_lm

from weft.document import Document
from weft.errors import ModelError
from weft.io.pretrained_folders import checked_folder, load_pretrained, load_sentence_encoder
from weft.models.causal_lm.causal_lm import Hf, HfSettings

pytest.importorskip("transformers", reason="the extra `hf` is not installed")
TEXT = Document("d", ("The cat chased a mouse.", "The mouse hid under an old tree."))


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_lm(tmp_path_factory.mktemp("lm"))


@pytest.fixture
def folder(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "model"))


def score(folder: Path) -> float | None:
    return Hf(HfSettings(model=str(folder))).score([TEXT])[0].value


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_a_folder_without_tokenizer_is_an_error(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match="no tokenizer"):
        score(folder)


def test_a_tokenizer_without_vocabulary_is_an_error(folder: Path) -> None:
    body = json.loads((folder / "tokenizer.json").read_text())
    body["model"] |= {"vocab": {}, "merges": []}
    body["added_tokens"] = []
    (folder / "tokenizer.json").write_text(json.dumps(body))
    with pytest.raises(ModelError, match="cannot be loaded"):
        score(folder)


@pytest.mark.parametrize(
    "name", ["pytorch_model.bin", "../other.safetensors", "/etc/x.safetensors", "a/b.safetensors", 7]
)
def test_an_index_names_safetensors_of_the_folder_alone(folder: Path, name: object) -> None:
    (folder / "model.safetensors").rename(folder.parent / "other.safetensors")
    (folder / "pytorch_model.bin").write_bytes(b"never read")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"lm_head.weight": name}}))
    with pytest.raises(ModelError, match="names .*, which is not a .safetensors file of the folder"):
        score(folder)


def test_an_index_of_parts_is_read(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    expected = score(folder)
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    named: dict[str, dict[str, Any]] = {}
    for number, (name, value) in enumerate(sorted(weights.items())):
        file = f"model-{number % 2 + 1:05d}-of-00002.safetensors"
        named.setdefault(file, {})[name] = value
    for file, part in named.items():
        save_file(part, folder / file, metadata={"format": "pt"})
    index = {"metadata": {}, "weight_map": {name: file for file, part in named.items() for name in part}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert score(folder) == expected


def test_keys_that_choose_code_are_ignored(folder: Path) -> None:
    expected = score(folder)
    change(
        folder / "config.json",
        _attn_implementation="kernels-community/evil", attn_implementation="kernels-community/evil",
        auto_map={"AutoModelForCausalLM": "evil.M", "AutoConfig": "evil.C"}, trust_remote_code=True,
        custom_pipelines={"x": {"impl": "evil.P"}}, use_kernels=True,
    )  # fmt: skip
    change(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": ["evil.T", None]}, vocab_file="/etc/passwd")
    (folder / "evil.py").write_text(f"open({str(folder / 'ran')!r}, 'w')")
    (folder / "pytorch_model.bin").write_bytes(b"never read")
    assert score(folder) == expected
    assert not (folder / "ran").exists()
    with checked_folder(folder) as clean:
        assert not {"evil.py", "pytorch_model.bin"} & set(os.listdir(clean))


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_pipe_in_place_of_a_file_is_refused(folder: Path, name: str) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(ModelError, match="not a regular file"):
        score(folder)


def test_an_encoder_without_its_weights_is_refused(folder: Path) -> None:
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_pretrained(folder, "AutoModelForMaskedLM")


@pytest.mark.parametrize(
    "module", [{"type": "evil.Module", "path": ""}, {"type": "sentence_transformers.models.Dense", "path": "../x"}]
)
def test_modules_of_sentence_encoders_are_known_ones(folder: Path, module: dict[str, str]) -> None:
    (folder / "modules.json").write_text(json.dumps([module]))
    with pytest.raises(ModelError, match="names the module"):
        load_sentence_encoder(folder)


def test_nothing_is_downloaded_unless_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("It rained. He slept. He woke.")
    command = ("score", "a.txt", "--model", "hf", "--set", "model=no-such-owner-of-ours/no-such-model")
    offline = weft(*command, cwd=tmp_path)
    assert offline.returncode == 2 and "--allow-download" in offline.stderr
    asked = weft(*command, "--allow-download", cwd=tmp_path)  # with or without a network there is no such model
    assert asked.returncode == 2 and "--allow-download" not in asked.stderr


def test_a_saved_model_cannot_allow_a_download(tmp_path: Path) -> None:
    Hf(HfSettings(model="someone/else", download=True)).save(tmp_path)
    loaded = Hf.load(tmp_path)
    assert not loaded.settings.download
    assert loaded.adjusted({"download": True}).network.settings.download
