"""The one place that loads models of transformers and sentence-transformers.

Security: a library never sees the folder of a model. It gets a temporary folder with the files that were checked: JSON
files without the keys that choose code, vocabularies, and weights in safetensors or GGUF. So no pickle is read, no code
in a folder is run, no other file is followed, and nothing is downloaded unless the caller allows it by name.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

from weft.errors import ModelError
from weft.io.regular_files import check_regular, check_weights_size

CONFIG, INDEX, WEIGHTS, MODULES = "config.json", "model.safetensors.index.json", "model.safetensors", "modules.json"
LARGEST_CONFIG = 16 * 2**20  # bytes of a JSON file with settings
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "spiece.model", "vocab.txt", "vocab.json")  # one of them is needed
VOCABULARIES = (*TOKENIZERS, "merges.txt")
SETTINGS = (
    "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "sentence_bert_config.json",
    "config_sentence_transformers.json",
)  # fmt: skip
SHARD = re.compile(r"[A-Za-z0-9][\w.-]*\.safetensors")
# Keys that choose code, a kernel or another file; they are left out wherever they stand.
_CODE_KEYS = """
    auto_map trust_remote_code custom_pipelines custom_generate attn_implementation _attn_implementation
    _attn_implementation_internal _attn_implementation_autoset experts_implementation _experts_implementation
    _experts_implementation_internal use_kernels kernel_config compile_config _name_or_path base_model_name_or_path
    tokenizer_file vocab_file merges_file spm_file model_args tokenizer_args config_args model_kwargs
    processor_kwargs config_kwargs backend
"""
CODE_KEYS = frozenset(_CODE_KEYS.split())
MODULE_TYPE = re.compile(r"sentence_transformers(\.\w+)*\.(Transformer|Pooling|Normalize|Dense)")
ALLOWED = "config.json, weights in .safetensors and the files of a tokenizer"


def load_pretrained(
    folder: Path, kind: str, *, gguf_file: str | None = None, tokenizer: bool = True, **options: Any
) -> tuple[Any, Any]:
    """Return a network of transformers and its tokenizer, from files that were checked.

    Args:
        folder: Folder of the model.
        kind: Class of transformers that builds the network, such as ``AutoModel``.
        gguf_file: The file of the folder to read instead of all others.
        tokenizer: Whether to load the tokenizer; the second value is None without it.
        options: Further arguments of ``from_pretrained`` of the network.

    Raises:
        ImportError: transformers is not installed.
        ModelError: The folder lacks a file, names one that must not be read, or cannot be loaded.
    """
    import transformers
    from transformers.utils import logging

    logging.disable_progress_bar()  # it would overwrite the progress bar of weft
    logging.set_verbosity(logging.CRITICAL)  # what is wrong with a folder is said in one error
    common: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    if gguf_file is not None:
        common["gguf_file"] = gguf_file
    with checked_folder(folder, gguf_file=gguf_file, tokenizer=tokenizer) as clean:
        try:
            with redirect_stderr(StringIO()):  # one progress bar cannot be switched off
                own = transformers.AutoTokenizer.from_pretrained(clean, **common) if tokenizer else None
                common |= {} if gguf_file else {"use_safetensors": True}
                builder = getattr(transformers, kind)
                network, report = builder.from_pretrained(clean, output_loading_info=True, **common, **options)
        except Exception as error:  # a damaged folder raises many kinds of errors, in three libraries
            raise unreadable(folder, f"{type(error).__name__}: {error}".replace(str(clean), str(folder))) from error
    _check_complete(folder, report, own)
    return network.eval().requires_grad_(False), own


def load_sentence_encoder(folder: Path) -> Any:
    """Return a model of sentence-transformers on the CPU, from files that were checked.

    Raises:
        ImportError: sentence-transformers is not installed.
        ModelError: The folder lacks a file, names one that must not be read, or cannot be loaded.
    """
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()
    with checked_folder(folder) as clean:
        try:
            return SentenceTransformer(
                str(clean),
                device="cpu",
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True},
            )
        except Exception as error:  # a damaged folder raises many kinds of errors, in three libraries
            raise unreadable(folder, f"{type(error).__name__}: {error}".replace(str(clean), str(folder))) from error


def downloaded_folder(name: str, *, allow_download: bool) -> Path:
    """Return the folder of a model of the Hugging Face hub: the one of an earlier download, or a new one if allowed.

    Raises:
        ImportError: huggingface-hub is not installed.
        ModelError: It is not there, and a download is not allowed or fails.
    """
    from huggingface_hub import snapshot_download

    patterns = [CONFIG, INDEX, "*.safetensors", *VOCABULARIES, *SETTINGS]
    try:
        found = snapshot_download(name, allow_patterns=patterns, local_files_only=not allow_download)
    except Exception as error:  # of several libraries
        if allow_download:
            raise unreadable(name, f"{type(error).__name__}: {error}") from error
        raise ModelError(
            "this model is not on this computer, and nothing is downloaded unless you ask for it",
            seen=name,
            allowed="a folder, or a model that was downloaded before",
            next_step='add --allow-download; in Python, settings={"model": ..., "download": True}',
        ) from error
    return Path(found)


@contextmanager
def checked_folder(folder: Path, *, gguf_file: str | None = None, tokenizer: bool = True) -> Iterator[Path]:
    """Yield a temporary folder that has the safe files of a model and nothing else.

    Raises:
        ModelError: The folder lacks a file, or names one that must not be read.
    """
    wanted = {gguf_file: gguf_file} if gguf_file is not None else _needed(folder, tokenizer)
    texts = {} if gguf_file is not None else _clean_settings(folder)
    with tempfile.TemporaryDirectory(prefix="weft-model-") as name:
        clean = Path(name)
        for path, text in texts.items():
            (clean / path).parent.mkdir(exist_ok=True)
            (clean / path).write_text(text, encoding="utf-8")
        for path in wanted:
            check_regular(folder / path)
            if path.endswith(".safetensors"):
                check_weights_size(folder / path)
            (clean / path).parent.mkdir(exist_ok=True)
            _link(folder / path, clean / path)
        yield clean


def unreadable(folder: object, why: str) -> ModelError:
    """Return the error of a model that cannot be loaded."""
    return ModelError(
        f"the model cannot be loaded ({' '.join(why.split())})",
        seen=str(folder),
        allowed=ALLOWED,
        next_step="name another model, or restore the folder from its source",
    )


def _needed(folder: Path, tokenizer: bool) -> list[str]:
    """Return the names of the weights and vocabularies of a folder."""
    if (folder / "adapter_config.json").exists():
        raise unreadable(folder, "an adapter, which names another model")
    if not (folder / CONFIG).exists():
        raise unreadable(folder, f"no {CONFIG}")
    vocabularies = [name for name in VOCABULARIES if (folder / name).exists()]
    if tokenizer and not set(vocabularies) & set(TOKENIZERS):
        raise unreadable(folder, f"no tokenizer: none of {', '.join(TOKENIZERS)}")
    return [*_weights(folder), *vocabularies, *_module_weights(folder)]


def _weights(folder: Path) -> list[str]:
    if (folder / WEIGHTS).exists():
        return [WEIGHTS]
    if (folder / INDEX).exists():
        named = read_settings(folder / INDEX).get("weight_map")
        files = sorted(set(map(str, named.values()))) if isinstance(named, dict) else []
        for name in files:
            if not SHARD.fullmatch(name):
                raise unreadable(folder, f"{INDEX} names {name}, which is not a .safetensors file of the folder")
        if not files:
            raise unreadable(folder, f"{INDEX} names no file")
        return files
    pickled = any(file.suffix in {".bin", ".pt", ".pth"} for file in folder.iterdir())
    raise unreadable(folder, "its weights are pickled" if pickled else "no weights")


def _module_folders(folder: Path) -> list[str]:
    """Return the folders that modules.json of sentence-transformers names; only known types of modules are allowed."""
    if not (folder / MODULES).exists():
        return []
    found = []
    for module in _read_json(folder / MODULES):
        kind, path = (str(module.get(key, "")) if isinstance(module, dict) else "" for key in ("type", "path"))
        if not MODULE_TYPE.fullmatch(kind) or not re.fullmatch(r"\w*", path):
            raise unreadable(folder, f"{MODULES} names the module {kind!r} in {path!r}")
        found += [path] if path else []
    return found


def _module_weights(folder: Path) -> list[str]:
    names = [f"{module}/{WEIGHTS}" for module in _module_folders(folder)]
    return [name for name in names if (folder / name).exists()]


def _clean_settings(folder: Path) -> dict[str, str]:
    """Return the JSON files of a folder without the keys that choose code."""
    names = [name for name in (CONFIG, *SETTINGS) if (folder / name).exists()]
    modules = _module_folders(folder)
    names += [name for module in modules if (folder / (name := f"{module}/{CONFIG}")).exists()]
    found = {name: json.dumps(without_code_keys(read_settings(folder / name))) for name in names}
    if not (folder / WEIGHTS).exists() and (folder / INDEX).exists():
        found[INDEX] = json.dumps(read_settings(folder / INDEX))
    if (folder / MODULES).exists():
        found[MODULES] = json.dumps(_read_json(folder / MODULES))
    return found


def without_code_keys(value: Any) -> Any:
    """Return settings without the keys that choose code, at any depth.

    Example:
        >>> without_code_keys({"model_type": "llama", "auto_map": {"AutoModel": "x.Y"}, "text": {"backend": "b"}})
        {'model_type': 'llama', 'text': {}}
    """
    if isinstance(value, dict):
        return {key: without_code_keys(one) for key, one in value.items() if key not in CODE_KEYS}
    return [without_code_keys(one) for one in value] if isinstance(value, list) else value


def read_settings(path: Path) -> dict[str, Any]:
    """Return a JSON object of a model's folder.

    Raises:
        ModelError: The file is not regular, too large, or not a JSON object.
    """
    found = _read_json(path)
    if not isinstance(found, dict):
        raise unreadable(path.parent, f"{path.name} is not a JSON object")
    return found


def _read_json(path: Path) -> Any:
    check_regular(path)
    if path.stat().st_size > LARGEST_CONFIG:
        raise unreadable(path.parent, f"{path.name} has more than {LARGEST_CONFIG} bytes")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise unreadable(path.parent, f"{path.name} is not JSON") from error


def _check_complete(folder: Path, report: dict[str, Any], tokenizer: Any) -> None:
    """Raise ModelError if weights are missing, which transformers would draw at random, or no text can be encoded."""
    if report["missing_keys"] or report["mismatched_keys"]:
        raise unreadable(folder, f"no weights for {min(map(str, report['missing_keys'] or ['some parts']))}")
    if tokenizer is not None and not tokenizer("A cat sat.", add_special_tokens=False)["input_ids"]:
        raise unreadable(folder, "its tokenizer has no vocabulary")


def _link(source: Path, target: Path) -> None:
    try:
        target.symlink_to(os.path.realpath(source))
    except OSError:  # a system without symbolic links
        shutil.copyfile(source, target)
