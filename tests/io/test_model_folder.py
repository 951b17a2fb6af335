from __future__ import annotations

import errno
import hashlib
import json
import os
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from weft.errors import CorpusError, ModelError, WeftError
from weft.hub import load_model
from weft.io.atomic_files import write_atomically
from weft.io.model_folder import Artifact, load_artifact, save_artifact


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    artifact = Artifact("random", {"seed": 3}, {"w": np.arange(6, dtype=np.int8).reshape(2, 3)}, {"v.txt": "häuser\nb"})
    save_artifact(artifact, tmp_path / "model")
    return tmp_path / "model"


def edit(folder: Path, **changes: object) -> None:
    path = folder / "model.json"
    manifest = {**json.loads(path.read_text()), **changes}
    # Sealed again, so that what is tested is the check behind the seal.
    content = json.dumps({key: value for key, value in manifest.items() if key != "sha256"}, sort_keys=True)
    path.write_text(json.dumps({**manifest, "sha256": hashlib.sha256(content.encode()).hexdigest()}))


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
    with pytest.raises(ModelError, match="cannot replace"):
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
    (folder / "weights.safetensors").write_bytes(b"\x80\x04pickle?")
    manifest = json.loads((folder / "model.json").read_text())
    manifest["files"]["weights.safetensors"] = hashlib.sha256(b"\x80\x04pickle?").hexdigest()
    edit(folder, files=manifest["files"])
    with pytest.raises(ModelError, match="not a whole safetensors file"):
        load_artifact(folder)


def test_a_model_that_is_not_installed(folder: Path) -> None:
    edit(folder, model="os:system")
    with pytest.raises(ModelError, match="not installed.*'os:system'"):
        load_model(folder)


def test_not_a_model_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no model folder"):
        load_model(tmp_path)


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="power cut"), write_atomically(path) as handle:
        handle.write(b"half")
        raise RuntimeError("power cut")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_a_symbolic_link_stays_one_and_what_it_points_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.txt").write_text("old")
    for name, target in (("link", "real/a.txt"), ("dangling", "real/new.txt")):
        link = tmp_path / name
        link.symlink_to(target)
        with write_atomically(link) as handle:
            handle.write(b"new")
        assert link.is_symlink()
        assert (tmp_path / target).read_text() == "new"
    assert sorted(path.name for path in (tmp_path / "real").iterdir()) == ["a.txt", "new.txt"]


def _device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 7))
    except PermissionError:
        pytest.skip("only root makes devices")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


SPECIAL: dict[str, Callable[[Path], None]] = {
    "a folder": Path.mkdir,
    "a named pipe": os.mkfifo,
    "a socket": _socket,
    "a device": _device,
}


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("name", ["x", "link"])
def test_what_is_not_a_file_is_never_replaced(
    tmp_path: Path, kind: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    SPECIAL[kind](Path("x"))
    Path("link").symlink_to("x")
    before = os.stat("x")
    with pytest.raises(CorpusError, match=f"cannot write over {kind}.*allowed.*next"), write_atomically(Path(name)):
        pytest.fail("nothing may be written")
    assert (os.stat("x").st_ino, os.stat("x").st_mode) == (before.st_ino, before.st_mode)
    assert sorted(os.listdir()) == ["link", "x"]


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("file/a.txt", "is a file, not a folder"),
        ("file/deeper/a.txt", "is a file, not a folder"),
        ("x" * 300, "shorter name"),
        ("a\0b", "another place"),
        ("loop", "another place"),
        ("", "file name"),
    ],
)
def test_a_name_that_cannot_be_written_is_told(
    tmp_path: Path, name: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("precious")
    Path("loop").symlink_to("loop")
    with pytest.raises(CorpusError) as caught, write_atomically(Path(name)):
        pytest.fail("nothing may be written")
    error = caught.value
    assert error.seen and error.allowed and step in str(error.next_step)
    assert Path("file").read_text() == "precious"
    assert sorted(os.listdir()) == ["file", "loop"]


def test_the_longest_name_a_file_may_have(tmp_path: Path) -> None:
    with write_atomically(tmp_path / ("x" * 255)) as handle:
        handle.write(b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["x" * 255]


@pytest.mark.parametrize(("call", "number"), [("fsync", errno.ENOSPC), ("replace", errno.EACCES)])
def test_a_full_or_forbidden_disk_is_told_and_leaves_nothing(
    tmp_path: Path, call: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, call, fail)
    with (
        pytest.raises(CorpusError, match=os.strerror(number)) as caught,
        write_atomically(tmp_path / "a.txt") as handle,
    ):
        handle.write(b"new")
    assert isinstance(caught.value.__cause__, OSError)
    assert list(tmp_path.iterdir()) == []


def test_errors_of_the_block_that_are_not_about_writing_stay_what_they_are(tmp_path: Path) -> None:
    for error in (FileNotFoundError(errno.ENOENT, "another file"), BrokenPipeError(errno.EPIPE, "head"), ValueError()):
        with pytest.raises(type(error)), write_atomically(tmp_path / "a.txt"):
            raise error


def test_an_edited_setting_is_found(folder: Path) -> None:
    path = folder / "model.json"
    path.write_text(path.read_text().replace('"seed": 3', '"seed": 4'))
    with pytest.raises(ModelError, match="do not match the SHA-256"):
        load_artifact(folder)


def test_parts_have_files_of_their_own(tmp_path: Path) -> None:
    tensors = {"forward/w": np.ones(2), "backward/w": np.zeros(2), "plain": np.ones(1)}
    save_artifact(Artifact("random", {}, tensors), tmp_path / "m")
    names = sorted(path.name for path in (tmp_path / "m").iterdir())
    assert names == ["backward.safetensors", "forward.safetensors", "model.json", "weights.safetensors"]
    assert load_artifact(tmp_path / "m").tensors.keys() == tensors.keys()


def test_a_failed_swap_puts_the_old_model_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "model"
    save_artifact(Artifact("random", {"seed": 1}), target)
    rename = os.rename

    def fails_once(source: str | Path, destination: str | Path) -> None:
        if Path(destination) == target and Path(source).name != target.name:
            raise OSError(5, "Input/output error")
        rename(source, destination)

    monkeypatch.setattr(os, "rename", fails_once)
    with pytest.raises((OSError, WeftError)):
        save_artifact(Artifact("random", {"seed": 2}), target)
    monkeypatch.undo()
    assert load_artifact(target).config == {"seed": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.fixture(params=[0o022, 0o027, 0o077])
def mask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.skipif(os.name == "nt", reason="no permission bits here")
def test_files_get_the_permissions_the_user_asked_for(tmp_path: Path, mask: int) -> None:
    with write_atomically(tmp_path / "a.txt") as handle:
        handle.write(b"a")
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o666 & ~mask
    save_artifact(Artifact("random", {}, texts={"v.txt": "a"}), tmp_path / "model")
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o777 & ~mask
    for path in (tmp_path / "model").iterdir():
        assert path.stat().st_mode & 0o777 == 0o666 & ~mask


@pytest.mark.skipif(os.name == "nt", reason="a backslash is no part of a name here")
@pytest.mark.parametrize("name", ["a\\b.txt", "..\\secret.txt", "\\"])
def test_names_with_a_backslash_are_refused(tmp_path: Path, name: str) -> None:
    """On Windows they would lead out of the folder; the manifest is otherwise in order, hashes included."""
    save_artifact(Artifact("random", {}, texts={name: "a"}), tmp_path / "model")
    with pytest.raises(ModelError, match="not a file name inside the folder"):
        load_artifact(tmp_path / "model")
