"""A training run of a neural model: open the data, train the parts in order, write one model folder."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor, nn

from weft.corpora.data_folder import find_data
from weft.corpora.readers.formats import read_documents
from weft.corpora.store.prepare import prepare
from weft.corpora.store.split_files import split_files
from weft.corpora.store.token_store import TokenStore
from weft.corpora.text.tokenizers import Tokenizer
from weft.errors import ConfigError
from weft.hub import load_model, model_folder
from weft.progress import Progress
from weft.protocols import NetworkModel, NeuralModel
from weft.training.config import RunConfig, check_neural_run, part_settings
from weft.training.devices import start_runtime
from weft.training.loop import Report
from weft.training.part_names import ENCODERS, PRECEDENCE
from weft.training.part_training import Corpus, finished_part, train_part
from weft.training.records import store_record, training_record

RECENT_REPORTS = 50  # averaged in the shown loss and speed; a report is one step, or ten on a GPU

Weights = Mapping[str, Tensor]


@dataclass(frozen=True, slots=True)
class Plan:
    """The parts that a run trains, and the networks that it takes from other models."""

    train: Sequence[str]  # the parts to train, in training order
    taken: Mapping[str, nn.Module]  # the trained networks of `run.base` that are copied, by part
    starts: Mapping[str, Weights]  # the weights of `run.start` that training starts from, by part


def train_parts(
    model: NeuralModel,
    config: RunConfig,
    files: Sequence[Path],
    *,
    parts: Sequence[str],
    data_root: str | None,
    command: str,
    progress: Progress,
) -> None:
    """Train parts of a model and write its folder once all parts are trained.

    A part whose run is finished is not trained again, because its checkpoint holds the result. Parts of the model
    folder `run.base` that are not to be trained are copied.

    Raises:
        ConfigError: The configuration allows no run.
    """
    check_neural_run(config, parts, model.parts)
    model.prepare()
    folder = Path(config.run.folder or f"{config.run.out}.run")
    run = config.run
    with start_runtime(run.device, deterministic=run.deterministic, precision=run.precision) as runtime:
        with runtime.main_first():
            corpus = _open_corpus(config, files, folder, data_root, progress)
        tokenizer = corpus.train.tokenizer()
        _read_texts(model, config, files, tokenizer, data_root, progress)
        plan = _plan(model, config, parts or config.run.parts, tokenizer)
        for part in model.parts:  # in order: a part may build on those before it
            settings, start = part_settings(config, part), plan.starts.get(part)
            if part in plan.train:
                listen = _report_progress(part, progress)
                network: nn.Module | None = train_part(
                    model,
                    part,
                    corpus,
                    settings,
                    runtime,
                    folder=folder / part,
                    start=start,
                    listen=listen,
                    checkpoint_seconds=config.run.checkpoint_seconds,
                )
            else:  # a part that this run has finished takes precedence over that of `run.base`
                finished = finished_part(model, part, corpus, settings, folder / part, start)
                network = finished or plan.taken.get(part)
                if part == PRECEDENCE and not set(ENCODERS) <= set(model.networks()):
                    network = None  # it needs the encoders first
            if network is not None:
                model.assemble({part: network}, tokenizer)
                model.to(runtime.device)
        if set(model.parts) <= set(model.networks()) and runtime.is_main:
            built_on = (config.run.start, config.run.base, *model.built_on())
            beside = [model_folder(name) for name in built_on if name]
            record = training_record(config, store_record(corpus.train), command)
            model.save(config.run.out, training=record, beside=beside)
        runtime.wait()  # so that the folder exists when any process ends


def _open_corpus(
    config: RunConfig, files: Sequence[Path], folder: Path, data_root: str | None, progress: Progress
) -> Corpus:
    """Open the stores, or prepare them from the files; a store that already exists is used."""
    data = config.data
    held_out = [find_data(name, data_root) for name in data.valid]
    if data.store:
        train = TokenStore(find_data(data.store, data_root))
    else:
        if data.valid_share and not (held_out or data.valid_store):
            files, held_out = split_files(files, folder / "split", share=data.valid_share, seed=config.run.seed)
        train = prepare(
            files, folder / "store", tokenizer=_tokenizer_to_build_on(config), tokenizer_kind=data.tokenizer,
            vocabulary_size=data.vocabulary, progress=progress,
        )  # fmt: skip
    if data.valid_store:
        valid = TokenStore(find_data(data.valid_store, data_root))
        _check_tokenizer(train, valid, data.valid_store)
        return Corpus(train, valid)
    if not held_out:
        return Corpus(train)
    return Corpus(train, prepare(held_out, folder / "valid", tokenizer=train.tokenizer(), progress=progress))


def _tokenizer_to_build_on(config: RunConfig) -> Tokenizer | None:
    """Return the tokenizer of the model that a run builds on, so that its networks can read the store."""
    name = config.run.start or config.run.base
    found = load_model(model_folder(name)) if name else None
    return found.tokenizer if isinstance(found, NetworkModel) else None


def _check_tokenizer(train: TokenStore, valid: TokenStore, name: str) -> None:
    theirs, ours = valid.tokenizer().fingerprint, train.tokenizer().fingerprint
    if theirs != ours:
        raise ConfigError(
            "the validation store and the training store have different tokenizers",
            seen=f"{theirs} in {name}",
            allowed=ours,
            next_step="prepare it again with --tokenizer and the tokenizer.json of the training store",
        )


def _read_texts(
    model: NeuralModel,
    config: RunConfig,
    files: Sequence[Path],
    tokenizer: Tokenizer,
    data_root: str | None,
    progress: Progress,
) -> None:
    """Pass the training texts to the model; most models need only the tokens and read nothing."""
    paths = [*files, *(find_data(name, data_root) for name in config.data.valid)]
    texts = (sentence for path in paths for document in read_documents(path) for sentence in document.sentences)
    model.read_texts(texts, tokenizer, progress=progress)


def _plan(model: NeuralModel, config: RunConfig, parts: Sequence[str], tokenizer: Tokenizer) -> Plan:
    """Return the plan of a run; the folders `run.base` and `run.start` are loaded once, even if they are the same."""
    loaded = {name: _networks_of(name, tokenizer) for name in {config.run.base, config.run.start} if name}
    base, start = loaded.get(config.run.base, {}), loaded.get(config.run.start, {})
    wanted = [part for part in model.parts if part in parts or (not parts and part not in base)]
    own = {*wanted, *config.run.parts}  # trained by this command or by another command of the run
    taken = {part: network for part, network in base.items() if part in model.parts and part not in own}
    _check_shapes(model, taken, tokenizer, config.run.base)
    source = {part: model.initial_parts().get(part, part) for part in model.parts}
    # Copy the weights: the networks of `run.base` are rounded and moved in place.
    starts = {part: _copied(start[name]) for part, name in source.items() if name in start}
    return Plan(wanted, taken, starts)


def _copied(network: nn.Module) -> Weights:
    return {name: value.detach().clone() for name, value in network.state_dict().items()}


def _networks_of(folder: str, tokenizer: Tokenizer) -> dict[str, nn.Module]:
    """Return the networks of a model folder that the run builds on."""
    base = load_model(model_folder(folder))
    networks = base.networks() if isinstance(base, NetworkModel) else {}
    if not isinstance(base, NetworkModel) or base.tokenizer is None or not networks:
        raise ConfigError(
            "this model has no networks to build on",
            seen=folder,
            allowed="a folder with a neural model",
            next_step="change run.base or run.start",
        )
    if base.tokenizer.fingerprint != tokenizer.fingerprint:
        raise ConfigError(
            "the model to build on and the store have different tokenizers",
            seen=base.tokenizer.fingerprint,
            allowed=tokenizer.fingerprint,
            next_step="prepare the store with --tokenizer and the tokenizer.json of that model's folder",
        )
    return networks


def _check_shapes(model: NeuralModel, networks: Mapping[str, nn.Module], tokenizer: Tokenizer, folder: str) -> None:
    for part, network in networks.items():
        ours = {name: value.shape for name, value in model.new_network(part, tokenizer).state_dict().items()}
        theirs = {name: value.shape for name, value in network.state_dict().items()}
        differing = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]
        if differing:
            raise ConfigError(
                f"the {part} network of {folder} does not have the configured shape",
                seen=differing[0],
                allowed="the settings that the model was trained with",
                next_step="copy its [model] settings, or omit run.base",
            )


def _report_progress(part: str, progress: Progress) -> Callable[[Report], None]:
    """Return a listener that shows the progress of a part, with its loss and speed averaged over recent reports."""
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
