"""Model folders: ``model.json``, safetensors, ONNX files and plain text; written atomically, checked, no pickle.

``model.json`` holds the model's name in the registry, its settings, how it was trained, and the SHA-256 of every other
file of the folder. Nothing in a folder is executed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.errors import ModelError
from weft.io.atomic_files import replace_folder, umask
from weft.io.folder_locks import in_use
from weft.io.regular_files import LARGEST_TEXT, check_regular, check_weights_size
from weft.version import VERSION

FORMAT = 1
MANIFEST = "model.json"
SUFFIX = ".safetensors"
GRAPH_SUFFIX = ".onnx"
WEIGHTS = "weights" + SUFFIX
LARGEST_MANIFEST = 64 * 2**20  # bytes

Tensors = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Shared:
    """Weights and texts that are stored in another model folder beside this one.

    Attributes:
        folder: The name of the other folder.
        tensors: The name of each tensor here, and its name in the other folder.
        sha256: The hash of these weights and texts, as `shared_digest` computes it.
        texts: Names of text files, the same in both folders.
    """

    folder: str
    tensors: Mapping[str, str]
    sha256: str
    texts: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Artifact:
    """The contents of a model folder.

    Attributes:
        model: The model's name in the registry.
        config: The settings it was built with.
        tensors: Its weights; ``part/name`` for a model of several parts.
        texts: Its vocabulary and other plain-text files, by file name.
        training: How it was trained: seed, data fingerprint, command.
        shared: What is stored in other folders; after reading, it is among ``tensors`` and ``texts``.
        graphs: Its ONNX files, by file name; `weft.io.onnx_files` checks them before they are used.
    """

    model: str
    config: Mapping[str, Any]
    tensors: Tensors = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    shared: Sequence[Shared] = ()
    graphs: Mapping[str, bytes] = field(default_factory=dict)


def save_artifact(artifact: Artifact, folder: str | Path) -> None:
    """Write a model folder under a temporary name, then rename it: a reader never sees an incomplete model."""
    from safetensors.numpy import save

    target = Path(folder)
    files = {name: text.encode("utf-8") for name, text in artifact.texts.items()}
    for name, tensors in _by_file(artifact.tensors).items():
        files[name] = save(tensors)
    files |= artifact.graphs
    manifest = {
        "format": FORMAT,
        "weft": VERSION,
        "model": artifact.model,
        "config": dict(artifact.config),
        "training": dict(artifact.training),
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }
    if artifact.shared:
        manifest["shared"] = [asdict(one) for one in artifact.shared]
    manifest["sha256"] = _manifest_hash(manifest)
    files[MANIFEST] = (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode("utf-8")
    _write_folder(target, files)


def _manifest_hash(manifest: Mapping[str, Any]) -> str:
    """Return a hash of all other fields of the manifest, so that an edited setting is detected."""
    content = {key: value for key, value in manifest.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode("utf-8")).hexdigest()


def _write_folder(target: Path, files: Mapping[str, bytes]) -> None:
    check_replaceable(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    fresh.chmod(0o777 & ~umask())
    try:
        with in_use(fresh):
            for name, content in files.items():
                (fresh / name).write_bytes(content)
            replace_folder(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def check_replaceable(target: Path) -> None:
    """Raise ModelError if a model cannot be written to a place because something else is there."""
    if target.exists() and not (target / MANIFEST).is_file() and (not target.is_dir() or any(target.iterdir())):
        raise ModelError(
            "cannot replace something that is not a model folder",
            seen=str(target),
            allowed="a new or empty folder, or an older model",
            next_step="choose another --out",
        )


def load_artifact(folder: str | Path) -> Artifact:
    """Return the contents of a model folder.

    Raises:
        ModelError: The folder is damaged, altered, of a newer format or cannot be read.
    """
    place = Path(folder)
    manifest = read_manifest(place)
    contents = {name: _read_checked(place, name, digest) for name, digest in manifest["files"].items()}
    tensors: dict[str, npt.NDArray[Any]] = {}
    for name in [name for name in contents if name.endswith(SUFFIX)]:
        prefix = "" if name == WEIGHTS else name.removesuffix(SUFFIX) + "/"
        parsed = _parse_weights(place / name, contents.pop(name))
        tensors |= {prefix + key: value for key, value in parsed.items()}
    graphs = {name: contents.pop(name) for name in list(contents) if name.endswith(GRAPH_SUFFIX)}
    texts = {name: _decode(place, name, content) for name, content in contents.items()}
    shared = [Shared(**one) for one in manifest.get("shared", [])]
    for one in shared:
        more_tensors, more_texts = _read_shared(place, one)
        tensors, texts = {**tensors, **more_tensors}, {**texts, **more_texts}
    return Artifact(
        model=manifest["model"],
        config=manifest["config"],
        tensors=tensors,
        texts=texts,
        training=manifest.get("training", {}),
        shared=shared,
        graphs=graphs,
    )


def shared_digest(artifact: Artifact, names: Mapping[str, str], texts: Sequence[str] = ()) -> str:
    """Return a hash of some tensors and texts of a folder."""
    digest = hashlib.sha256()
    for name in sorted(set(names.values())):
        digest.update(name.encode() + np.ascontiguousarray(artifact.tensors[name]).tobytes())
    for name in sorted(texts):
        digest.update(name.encode() + artifact.texts[name].encode())
    return digest.hexdigest()


def _read_shared(place: Path, shared: Shared) -> tuple[Tensors, Mapping[str, str]]:
    """Read weights and texts from the other folder; raise if they differ from those that this folder was saved with."""
    beside = Path(os.path.realpath(place)).parent / shared.folder
    if not (beside / MANIFEST).is_file():
        raise _not_beside(place, shared, "no such model folder")
    if read_manifest(beside).get("shared"):
        raise _not_beside(place, shared, "a folder that shares weights itself")
    known = load_artifact(beside)
    missing = [name for name in shared.tensors.values() if name not in known.tensors]
    missing += [name for name in shared.texts if name not in known.texts]
    if missing or shared_digest(known, shared.tensors, shared.texts) != shared.sha256:
        raise _not_beside(place, shared, f"a folder without {missing[0]}" if missing else "other weights")
    tensors = {name: known.tensors[there] for name, there in shared.tensors.items()}
    return tensors, {name: known.texts[name] for name in shared.texts}


def _not_beside(place: Path, shared: Shared, seen: str) -> ModelError:
    return ModelError(
        f"{place} shares weights with the folder {shared.folder} beside it",
        seen=f"{seen} at {place.parent / shared.folder}",
        allowed=f"the {shared.folder} that it was trained with, in the same place",
        next_step=f"copy {shared.folder} there too, or train the model again",
    )


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """Return the contents of ``model.json``, checked; the other files are not read.

    Raises:
        ModelError: The file is missing, damaged, altered or of a newer format.
    """
    place = Path(folder)
    path = place / MANIFEST
    if not path.is_file():
        raise ModelError(
            "not a model folder",
            seen=str(place),
            allowed=f"a folder with a {MANIFEST}",
            next_step="run `weft models` for the built-in names",
        )
    check_regular(path, LARGEST_MANIFEST)
    try:
        manifest = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"not readable as JSON ({error})") from error
    if not isinstance(manifest, dict):
        raise _damaged(path, "not a JSON object")
    _check_format(path, manifest)
    _check_shape(path, manifest)
    return manifest


def _check_format(path: Path, manifest: Mapping[str, Any]) -> None:
    seen = manifest.get("format")
    if isinstance(seen, int) and not isinstance(seen, bool) and seen > FORMAT:
        raise ModelError(
            f"{path} was written by a newer weft (version {manifest.get('weft', 'unknown')})",
            seen=f"format {seen}",
            allowed=f"format {FORMAT} or older",
            next_step="upgrade weft: pip install --upgrade weft-coherence",
        )
    if seen != FORMAT:
        raise _damaged(path, f"format is {seen!r}, not {FORMAT}")


def _check_shape(path: Path, manifest: Mapping[str, Any]) -> None:
    """Raise ModelError if a field has a wrong type or a file name leads out of the folder."""
    for key, kind in (("model", str), ("config", dict), ("files", dict), ("training", dict)):
        if not isinstance(manifest.get(key, {} if key == "training" else None), kind):
            raise _damaged(path, f"{key!r} is missing or of the wrong type")
    for name in manifest["files"]:
        if not _is_file_name(name) or name == MANIFEST or "\\" in name:
            raise _damaged(path, f"{name!r} is not a file name inside the folder")
    for one in manifest.get("shared", []) if isinstance(manifest.get("shared", []), list) else [None]:
        _check_shared(path, one)
    if manifest.get("sha256") != _manifest_hash(manifest):
        raise _damaged(path, "its fields do not match the SHA-256 recorded in it")


def _is_file_name(name: str) -> bool:
    """Return whether a name is one of a file in the folder itself; a lone surrogate is in no file name."""
    surrogate = any("\ud800" <= letter <= "\udfff" for letter in name)
    return name == os.path.basename(name) and name not in {"", ".", ".."} and "\0" not in name and not surrogate


def _check_shared(path: Path, entry: object) -> None:
    """Raise ModelError if the entry does not name a folder beside this one."""
    fields = entry if isinstance(entry, dict) else {}
    folder, tensors = fields.get("folder"), fields.get("tensors")
    texts = fields.get("texts", [])
    valid = (
        set(fields) | {"texts"} == {"folder", "tensors", "sha256", "texts"}
        and isinstance(folder, str) and _is_file_name(folder)
        and isinstance(tensors, dict) and all(isinstance(name, str) for name in tensors.values())
        and isinstance(texts, list) and all(isinstance(name, str) for name in texts)
    )  # fmt: skip
    if not valid:
        raise _damaged(path, "'shared' does not name weights of a folder beside this one")


def _read_checked(place: Path, name: str, digest: object) -> bytes:
    path = place / name
    try:
        if path.exists():  # a missing file has its own message
            check_weights_size(path) if name.endswith(SUFFIX) else check_regular(path, LARGEST_TEXT)
        content = path.read_bytes()
    except OSError as error:
        raise _damaged(path, f"cannot be read ({error.strerror})") from error
    if hashlib.sha256(content).hexdigest() != digest:
        raise _damaged(path, f"does not match the SHA-256 recorded in {MANIFEST}")
    return content


def _by_file(tensors: Tensors) -> dict[str, dict[str, npt.NDArray[Any]]]:
    """Group tensors by file: ``part/name`` goes into ``part.safetensors``, so that one part can be replaced."""
    files: dict[str, dict[str, npt.NDArray[Any]]] = {}
    for name, value in tensors.items():
        part, slash, key = name.partition("/")
        file = part + SUFFIX if slash else WEIGHTS
        files.setdefault(file, {})[key or part] = np.ascontiguousarray(value)
    return files


def _parse_weights(path: Path, content: bytes) -> Tensors:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tensors: Tensors = load(content)
    except (SafetensorError, ValueError, TypeError, KeyError) as error:
        raise _damaged(path, f"not readable as safetensors ({error})") from error
    return tensors


def _decode(place: Path, name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _damaged(place / name, f"not UTF-8 at byte {error.start}") from error


def _damaged(path: Path, why: str) -> ModelError:
    return ModelError(
        f"the model file {path} is damaged or was altered",
        seen=why,
        allowed="the folder exactly as `weft train` wrote it",
        next_step="copy or train the model again",
    )


def require(artifact: Artifact, folder: str | Path, *, tensors: tuple[str, ...], texts: tuple[str, ...] = ()) -> None:
    """Raise ModelError if an artifact lacks tensors or texts that its model needs."""
    missing = [name for name in tensors if name not in artifact.tensors]
    missing += [name for name in texts if name not in artifact.texts]
    if missing:
        raise _damaged(Path(folder), f"no {', '.join(missing)}, which {artifact.model} needs")
