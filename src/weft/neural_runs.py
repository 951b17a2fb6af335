"""A run of a neural model: stores, parts, checkpoints, and at the end one model folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from weft.config import RunConfig
from weft.corpora.locate import find_data
from weft.corpora.prepare import prepare
from weft.corpora.store import TokenStore
from weft.errors import ConfigError
from weft.fitting import Corpus, finished_part, train_part
from weft.progress import Progress
from weft.runtime import start_runtime
from weft.training import Report, TrainingSettings


def train_parts(
    model: Any,
    config: RunConfig,
    files: Sequence[Path],
    *,
    parts: Sequence[str],
    data_root: str | None,
    command: str,
    progress: Progress,
) -> Any:
    """Train the parts of a model that are asked for; write the model once all are trained.

    A part that has reached its end is not trained again: its checkpoint holds the result.
    """
    for part in parts:
        if part not in model.parts:
            raise ConfigError("no such part", seen=part, allowed=", ".join(model.parts), next_step="choose one of them")
    folder = Path(config.run.folder or f"{config.run.out}.run")
    settings = TrainingSettings(**{**config.training, "seed": config.run.seed})
    corpus = _corpus(config, files, folder, data_root, progress)
    networks = {}
    with start_runtime(config.run.device, deterministic=config.run.deterministic) as runtime:
        for part in parts or model.parts:
            networks[part] = train_part(
                model, part, corpus, settings, runtime, folder=folder / part, listen=_shown(part, progress)
            )
        for part in model.parts:
            network = None if part in networks else finished_part(model, part, corpus, settings, folder / part)
            if network is not None:
                networks[part] = network
        if len(networks) == len(model.parts) and runtime.is_main:
            model.assemble(networks, corpus.train.tokenizer())
            model.save(config.run.out, training=_record(config, corpus, command))
    return model


def _corpus(
    config: RunConfig, files: Sequence[Path], folder: Path, data_root: str | None, progress: Progress
) -> Corpus:
    """Open the stores, or make them of the files; a store that is already there is used."""
    data = config.data
    if data.store:
        train = TokenStore(find_data(data.store, data_root))
    else:
        kind, size = data.tokenizer, data.vocabulary
        train = prepare(files, folder / "store", tokenizer_kind=kind, vocabulary_size=size, progress=progress)
    if data.valid_store:
        return Corpus(train, TokenStore(find_data(data.valid_store, data_root)))
    if not data.valid:
        return Corpus(train)
    valid = [find_data(name, data_root) for name in data.valid]
    return Corpus(train, prepare(valid, folder / "valid", tokenizer=train.tokenizer(), progress=progress))


def _record(config: RunConfig, corpus: Corpus, command: str) -> dict[str, Any]:
    return {
        "seed": config.run.seed,
        "data": corpus.train.info.body.get("inputs", []),
        "data_fingerprint": corpus.train.info.fingerprint,
        "sentences": corpus.train.sentence_count,
        "settings": dict(config.training),
        "command": command,
    }


def _shown(part: str, progress: Progress) -> Callable[[Report], None]:
    def listen(report: Report) -> None:
        if report.kind == "step":
            progress(part, int(1000 * report.share), 1000)
        else:
            progress(f"{part}: validated at step {report.step}: {report.loss:.3f}", 1000, 1000)

    return listen
