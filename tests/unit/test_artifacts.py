from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from weft.artifacts import Artifact, load_artifact, save_artifact, write_atomically
from weft.errors import ModelError
from weft.models import load_model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    artifact = Artifact("random", {"seed": 3}, {"w": np.arange(6, dtype=np.int8).reshape(2, 3)}, {"v.txt": "häuser\nb"})
    save_artifact(artifact, tmp_path / "model")
    return tmp_path / "model"


def edit(folder: Path, **changes: object) -> None:
    path = folder / "model.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_round_trip(folder: Path) -> None:
    artifact = load_artifact(folder)
    assert artifact.config == {"seed": 3}
    assert artifact.texts == {"v.txt": "häuser\nb"}
    assert artifact.tensors["w"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert artifact.tensors["w"].dtype == np.int8


def test_saving_again_replaces_the_model_whole(folder: Path) -> None:
    save_artifact(Artifact("random", {"seed": 4}), folder)
    assert load_artifact(folder).config == {"seed": 4}
    assert sorted(path.name for path in folder.iterdir()) == ["model.json"]
    assert sorted(path.name for path in folder.parent.iterdir()) == ["model"]


def test_saving_never_replaces_something_else(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("precious")
    with pytest.raises(ModelError, match="will not replace"):
        save_artifact(Artifact("random", {}), tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter1.tex").read_text() == "precious"


def test_a_newer_format_asks_for_an_upgrade(folder: Path) -> None:
    edit(folder, format=2, weft="9.9")
    with pytest.raises(ModelError, match=r"newer weft \(version 9\.9\).*format 2.*format 1.*upgrade"):
        load_model(folder)


@pytest.mark.parametrize("name", ["weights.safetensors", "v.txt"])
def test_an_altered_file_is_refused(folder: Path, name: str) -> None:
    content = bytearray((folder / name).read_bytes())
    content[-1] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(ModelError, match=f"{name} is damaged or was altered.*SHA-256"):
        load_model(folder)


def test_a_missing_file_is_refused(folder: Path) -> None:
    (folder / "v.txt").unlink()
    with pytest.raises(ModelError, match=r"v\.txt.*cannot be read"):
        load_artifact(folder)


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/passwd", "..", "a/b", "model.json", ""])
def test_files_outside_the_folder_are_never_read(folder: Path, name: str) -> None:
    (folder.parent / "secret.txt").write_text("secret")
    edit(folder, files={name: "0" * 64})
    with pytest.raises(ModelError, match="not a file name inside the folder"):
        load_artifact(folder)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff\xfe", b"null", b'{"format": true}', b'{"format": 1}', b"[" * 100_000]
)
def test_a_broken_manifest_is_refused(folder: Path, content: bytes) -> None:
    (folder / "model.json").write_bytes(content)
    with pytest.raises(ModelError, match="damaged or was altered"):
        load_artifact(folder)


def test_weights_that_are_not_safetensors_are_refused(folder: Path) -> None:
    import hashlib

    (folder / "weights.safetensors").write_bytes(b"\x80\x04pickle?")
    manifest = json.loads((folder / "model.json").read_text())
    manifest["files"]["weights.safetensors"] = hashlib.sha256(b"\x80\x04pickle?").hexdigest()
    edit(folder, files=manifest["files"])
    with pytest.raises(ModelError, match="not readable as safetensors"):
        load_artifact(folder)


def test_a_model_this_weft_does_not_have(folder: Path) -> None:
    edit(folder, model="os:system")
    with pytest.raises(ModelError, match="does not have.*'os:system'"):
        load_model(folder)


def test_not_a_model_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not a model folder"):
        load_model(tmp_path)


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="power cut"), write_atomically(path) as handle:
        handle.write(b"half")
        raise RuntimeError("power cut")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
