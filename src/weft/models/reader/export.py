"""Exporting a trained reader for inference without PyTorch (`weft export`)."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weft.corpora.text.tokenizers import Tokenizer
from weft.errors import ConfigError, ModelError, check_known
from weft.io.model_folder import Artifact, load_artifact, save_artifact
from weft.io.quantization import SCALE
from weft.models.common.network_parts import fitting_weights, saved_tokenizer
from weft.models.common.setting_checks import restored_settings
from weft.models.reader.network_constants import BREAKS, SENTENCES, TEXT
from weft.models.reader.reader_settings import PART, ReaderSettings

ARITHMETICS = ("float32", "int16", "int8")
NOTICE = "NOTICE.txt"  # the licence notice of the weights that training started from
LARGEST_NOTICE = 2**20  # bytes
READER = ReaderSettings.model_name


def export(
    folder: str | Path,
    out: str | Path | None = None,
    *,
    arithmetic: str = "float32",
    notice: str | Path | None = None,
    command: str = "",
) -> Path:
    """Write a trained reader as ONNX graphs, which score without PyTorch.

    Args:
        folder: The folder of a trained reader.
        out: The folder to write; by default the same name with ``-onnx`` at the end.
        arithmetic: How the inputs of linear layers are rounded: ``float32``, ``int16`` or ``int8``. Weights are int8.
        notice: A text file to keep in the folder, such as the licence notice of the weights that training started from.
        command: The command to record.

    Returns:
        The folder that was written.

    Raises:
        ConfigError: The model is not a reader, the package onnx is not installed, or the notice cannot be read.
        ModelError: The folder is damaged, or holds an exported model already.
    """
    check_known("arithmetic", arithmetic, ARITHMETICS)
    if importlib.util.find_spec("onnx") is None:
        raise _no_onnx()
    artifact = load_artifact(folder)
    if artifact.model != READER:
        raise _no_reader(artifact.model)
    if artifact.graphs:
        raise _exported(folder)
    texts = {**artifact.texts, **({NOTICE: _text(Path(notice))} if notice is not None else {})}
    tokenizer = saved_tokenizer(artifact, folder)
    settings = restored_settings(ReaderSettings, artifact, folder)
    with fitting_weights(PART, folder):
        graphs = _graphs(artifact, settings, arithmetic)
        _try(graphs, tokenizer, settings)
    place = Path(out) if out is not None else Path(f"{Path(folder)}-onnx")
    parameters = sum(value.size for name, value in artifact.tensors.items() if not name.endswith(SCALE))
    record = {"arithmetic": arithmetic, "parameters": parameters, "command": command}
    training = {**artifact.training, "export": record}
    save_artifact(Artifact(READER, artifact.config, {}, texts, training, graphs=graphs), place)
    return place


def _graphs(artifact: Artifact, settings: ReaderSettings, arithmetic: Any) -> dict[str, bytes]:
    """Return the graphs by file name.

    Raises:
        ValueError: Weights are missing, or do not have the sizes of the settings.
    """
    from weft.models.reader.exported.onnx_graphs import SavedWeights, break_graph, sentence_graph, text_graph

    prefix = f"{PART}/"
    weights = SavedWeights(
        {name.removeprefix(prefix): value for name, value in artifact.tensors.items() if name.startswith(prefix)}
    )
    builders = {SENTENCES: sentence_graph, TEXT: text_graph, BREAKS: break_graph}
    return {name: build(settings, weights, arithmetic) for name, build in builders.items()}


def _try(graphs: Mapping[str, bytes], tokenizer: Tokenizer, settings: ReaderSettings) -> None:
    """Read a text with new graphs.

    Raises:
        ValueError: They cannot be used, because weights do not have the sizes of the settings.
    """
    from weft.models.reader.exported.onnx_tables import OnnxTableReader

    try:
        OnnxTableReader(graphs, tokenizer, settings.sentence_tokens, settings.slots).tables([("One.", "Two or three.")])
    except Exception as error:  # errors of onnxruntime have no common base class
        raise ValueError(str(error)) from error


def _text(path: Path) -> str:
    """Return the contents of a notice.

    Raises:
        ConfigError: It is not a text file.
    """
    seen = "no such file"
    if path.is_file() and path.stat().st_size <= LARGEST_NOTICE:
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            seen = str(error)
    elif path.exists():
        seen = "a folder, a pipe, or a file that is too large"
    raise ConfigError(
        f"cannot read the notice {path}",
        seen=seen,
        allowed=f"a text file in UTF-8 of at most {LARGEST_NOTICE:,} bytes",
        next_step="correct --notice",
    )


def _no_onnx() -> ConfigError:
    return ConfigError(
        "the package onnx is not installed",
        seen="no onnx",
        allowed="weft-coherence with the extra `train`",
        next_step="pip install 'weft-coherence[train]'",
    )


def _no_reader(seen: str) -> ConfigError:
    return ConfigError(
        "only a reader can be exported",
        seen=seen,
        allowed=f"the folder of a trained {READER}",
        next_step="train one: weft train configs/reader.toml",
    )


def _exported(folder: str | Path) -> ModelError:
    return ModelError(
        "this model was exported already",
        seen=str(folder),
        allowed="a folder with safetensors, as `weft train` writes it",
        next_step="export the folder of the trained model",
    )
