"""A run of a neural model: stores, parts, checkpoints, and at the end one model folder."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from weft.corpora.data_folder import find_data
from weft.corpora.readers.formats import read_documents
from weft.corpora.store.prepare import prepare
from weft.corpora.store.token_store import TokenStore
from weft.corpora.text.tokenizers import Tokenizer
from weft.errors import ConfigError
from weft.hub import load_model, model_folder
from weft.io.model_folder import read_manifest
from weft.progress import Progress
from weft.training.config import RunConfig, split_tables
from weft.training.devices import start_runtime
from weft.training.fitting import Corpus, finished_part, tell_texts, train_part
from weft.training.loop import Report, TrainingSettings
from weft.training.parts import ENCODERS, PRECEDENCE

RECENT_REPORTS = 50  # what a shown loss and speed are the mean of; a report is a step, or ten on a GPU


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

    A part that has reached its end is not trained again: its checkpoint holds the result. Parts of the model folder
    ``run.base`` that are not to be trained are taken over as they are.
    """
    parts = parts or config.run.parts
    for part in [*parts, *split_tables(config.training)[1]]:
        if part not in model.parts:
            raise ConfigError("no such part", seen=part, allowed=", ".join(model.parts), next_step="choose one of them")
    _check_run(model, config)
    folder = Path(config.run.folder or f"{config.run.out}.run")
    settings = {part: part_settings(config, part) for part in model.parts}
    corpus = _corpus(config, files, folder, data_root, progress)
    tokenizer = corpus.train.tokenizer()
    texts = [*files, *(find_data(name, data_root) for name in config.data.valid)]
    tell_texts(model, (document for path in texts for document in read_documents(path)), corpus.train, progress)
    with start_runtime(config.run.device, deterministic=config.run.deterministic) as runtime:
        wanted, taken = _plan(model, config, parts, tokenizer)
        starts = _starts(model, config, tokenizer)
        for part in model.parts:  # in order: a part may stand on those before it
            if part in wanted:
                listen = _shown(part, progress)
                network: nn.Module | None = train_part(
                    model, part, corpus, settings[part], runtime, folder=folder / part, start=starts.get(part),
                    listen=listen,
                )  # fmt: skip
            else:
                # What this run has finished stands before what it was built on.
                finished = finished_part(model, part, corpus, settings[part], folder / part, starts.get(part))
                network = finished or taken.get(part)
                if part == PRECEDENCE and not set(ENCODERS) <= set(model.networks()):
                    network = None  # it waits for the encoders it stands on
            if network is not None:
                model.assemble({part: network}, tokenizer)
                model.to(runtime.device)
        if set(model.parts) <= set(model.networks()) and runtime.is_main:
            built_on = (config.run.start, config.run.base, *model.built_on())
            record = _record(config, corpus, command)
            model.save(config.run.out, training=record, beside=[model_folder(one) for one in built_on if one])
    return model


def _starts(model: Any, config: RunConfig, tokenizer: Tokenizer) -> dict[str, dict[str, Tensor]]:
    """The weights that parts start from: those of the part of the same name, or of the one the model names."""
    found = {part: network.state_dict() for part, network in _networks_of(config.run.start, tokenizer).items()}
    named: Mapping[str, str] = model.initial_parts()
    return {part: found[named.get(part, part)] for part in model.parts if named.get(part, part) in found}


def _plan(
    model: Any, config: RunConfig, parts: Sequence[str], tokenizer: Tokenizer
) -> tuple[list[str], dict[str, nn.Module]]:
    """The parts to train, and the networks of others that are taken over from ``run.base``."""
    known = _networks_of(config.run.base, tokenizer)
    wanted = [part for part in model.parts if part in parts or (not parts and part not in known)]
    own = {*wanted, *config.run.parts}  # trained by this command or by another one of the run
    taken = {part: network for part, network in known.items() if part in model.parts and part not in own}
    _check_shapes(model, taken, tokenizer, config.run.base)
    return wanted, taken


def _check_run(model: Any, config: RunConfig) -> None:
    """Refuse what could not be done, before hours are spent on it."""
    if model.networks():
        raise ConfigError(
            f"{config.model.name} is trained already",
            seen=config.model.name,
            allowed="a model with something to learn",
            next_step="train a seq2seq",
        )
    if getattr(model, "frozen", "") and not config.run.start:
        raise ConfigError(
            "weights that were never trained would be frozen",
            seen=f"model.frozen = {model.frozen!r}, and no run.start",
            allowed="run.start = the folder of a trained seq2seq",
            next_step="set run.start, or leave model.frozen away",
        )
    if config.data.limit:
        raise ConfigError(
            "data.limit is for models that learn from documents, not from a store",
            seen=config.data.limit,
            allowed="0",
            next_step="prepare a store of fewer documents",
        )
    getattr(model, "topic_model", None)  # topics are read, or missed, now and not once a store is prepared


def _check_shapes(model: Any, networks: Mapping[str, nn.Module], tokenizer: Tokenizer, folder: str) -> None:
    for part, network in networks.items():
        ours, theirs = model.new_network(part, tokenizer).state_dict(), network.state_dict()
        odd = [name for name in {**ours, **theirs} if name not in ours or name not in theirs]
        odd += [name for name in ours if name in theirs and ours[name].shape != theirs[name].shape]
        if odd:
            raise ConfigError(
                f"the {part} network of {folder} has another shape than the one configured",
                seen=odd[0],
                allowed="the settings that model was trained with",
                next_step="copy its [model] settings, or leave run.base away",
            )


def part_settings(config: RunConfig, part: str) -> TrainingSettings:
    """How a part is trained: what [training] says, and [training.PART] where it says otherwise."""
    common, tables = split_tables(config.training)
    return TrainingSettings(**{**common, **tables.get(part, {}), "seed": config.run.seed})


def _networks_of(folder: str, tokenizer: Tokenizer) -> dict[str, nn.Module]:
    """The networks of a model folder that the run builds on; none where no folder is named."""
    if not folder:
        return {}
    base: Any = load_model(model_folder(folder))
    if not hasattr(base, "networks"):
        raise ConfigError(
            "this model has no networks to build on",
            seen=folder,
            allowed="a folder with a neural model",
            next_step="change run.base or run.start",
        )
    networks: dict[str, nn.Module] = base.networks()
    theirs = base.tokenizer.fingerprint
    if theirs != tokenizer.fingerprint:
        raise ConfigError(
            "the model to build on has another tokenizer than the store",
            seen=theirs,
            allowed=tokenizer.fingerprint,
            next_step="prepare the store with --tokenizer and the tokenizer.json of that model's folder",
        )
    return networks


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
        beside = TokenStore(find_data(data.valid_store, data_root))
        _check_tokenizer(train, beside, data.valid_store)
        return Corpus(train, beside)
    if not data.valid:
        return Corpus(train)
    valid = [find_data(name, data_root) for name in data.valid]
    return Corpus(train, prepare(valid, folder / "valid", tokenizer=train.tokenizer(), progress=progress))


def _check_tokenizer(train: TokenStore, valid: TokenStore, name: str) -> None:
    theirs, ours = valid.tokenizer().fingerprint, train.tokenizer().fingerprint
    if theirs != ours:
        raise ConfigError(
            "the validation store has another tokenizer than the training store",
            seen=f"{theirs} in {name}",
            allowed=ours,
            next_step="prepare it again with --tokenizer and the tokenizer.json of the training store",
        )


def _record(config: RunConfig, corpus: Corpus, command: str) -> dict[str, Any]:
    built_on = {"start": config.run.start}
    if config.run.base != config.run.start:  # told once
        built_on["base"] = config.run.base
    return {
        "seed": config.run.seed,
        "data": corpus.train.info.body.get("inputs", []),
        "data_fingerprint": corpus.train.info.fingerprint,
        "sentences": corpus.train.sentence_count,
        "settings": dict(config.training),
        "command": command,
        **{name: lineage(folder) for name, folder in built_on.items() if folder},
    }


def lineage(folder: str) -> dict[str, Any]:
    """What a model that is built on another one says of that one: which it was, and how it was made in its turn."""
    manifest = read_manifest(model_folder(folder))
    made = {name: value for name, value in manifest.get("training", {}).items() if name != "data"}
    return {"folder": folder, "sha256": manifest["sha256"], "training": made}


def _shown(part: str, progress: Progress) -> Callable[[Report], None]:
    """Tells how far a part is, its loss and its speed, both smoothed over the last steps."""
    recent: deque[Report] = deque(maxlen=RECENT_REPORTS)
    best = ""

    def listen(report: Report) -> None:
        nonlocal best
        if report.kind == "validation":
            best = f", valid {report.loss:.3f}"
            return
        recent.append(report)
        loss = sum(one.loss * one.tokens for one in recent) / sum(one.tokens for one in recent)
        seconds = recent[-1].seconds - recent[0].seconds
        speed = sum(one.tokens for one in list(recent)[1:]) / seconds if seconds > 0 else 0.0
        progress(part, int(1000 * report.share), 1000, f"loss {loss:.3f}{best}, {speed:,.0f} tokens/s")

    return listen
