"""Files of models that are not what they seem: refused before they are read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from weft.errors import ModelError
from weft.io.model_folder import MANIFEST, Artifact, _manifest_hash, load_artifact, save_artifact


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "model"
    save_artifact(Artifact("m", {}, {"w": np.arange(6.0)}, {"words.txt": "a\nb"}, graphs={"g.onnx": b"x"}), place)
    return place


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", ["weights.safetensors", "words.txt", "g.onnx", MANIFEST])
def test_pipes_and_devices_are_refused(folder: Path, name: str) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(ModelError, match="not a (regular file|model folder)"):
        load_artifact(folder)
    (folder / name).unlink()
    (folder / name).symlink_to("/dev/zero")
    with pytest.raises(ModelError, match="not a (regular file|model folder)"):
        load_artifact(folder)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", ["weights.safetensors", "words.txt", "g.onnx", MANIFEST])
def test_a_file_of_terabytes_is_refused_before_it_is_read(folder: Path, name: str) -> None:
    os.truncate(folder / name, 2**41)  # takes no space
    with pytest.raises(ModelError, match="too large|size that it says"):
        load_artifact(folder)


@pytest.mark.parametrize(
    "head", [b"", b"\xff" * 8, (2).to_bytes(8, "little") + b"[]", (9).to_bytes(8, "little") + b'{"w": {}}']
)
def test_headers_that_make_no_sense_are_refused(folder: Path, head: bytes) -> None:
    (folder / "weights.safetensors").write_bytes(head)
    with pytest.raises(ModelError, match="safetensors file"):
        load_artifact(folder)


@pytest.mark.parametrize("name", ["\ud800.safetensors", "a\0", "../x", "/etc/passwd", ".."])
def test_a_manifest_names_files_of_the_folder(folder: Path, name: str) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["files"][name] = "0" * 64
    manifest["sha256"] = _manifest_hash(manifest)
    (folder / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(ModelError, match="is not a file name inside the folder"):
        load_artifact(folder)


def test_a_sharing_model_names_a_folder_beside_it(folder: Path) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["shared"] = [{"folder": "\udfff", "tensors": {}, "sha256": ""}]
    manifest["sha256"] = _manifest_hash(manifest)
    (folder / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(ModelError, match="does not name weights of a folder beside"):
        load_artifact(folder)
