"""From the name of a model to the trained model.

A name is looked up in this order:

1. a path: a folder with a ``model.json``;
2. models of the package, and of other packages, that need no training, such as ``foltz-glove``;
3. model folders inside the package (``weft-reader``) and in installed ones (``weft-zoo``; group ``weft.models``);
4. model folders in ``zoo/`` below the working folder;
5. model folders in the folders that the environment variable ``WEFT_MODELS`` lists.

The result is a model that can score, or an error that says how to get one; never an untrained model. Nothing in a
model folder is executed: its ``model.json`` names a model class, which comes from this package or from a package that
the user has installed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from weft.errors import ConfigError, ModelError, WeftError, closest_name, did_you_mean
from weft.io.model_folder import MANIFEST, load_artifact, read_manifest, save_artifact
from weft.io.package_files import PRETRAINED, PRETRAINED_MODELS
from weft.protocols import AdjustableModel, CoherenceModel, ModelCard
from weft.registry import (
    DEFAULT_MODEL,
    MODEL_GROUP,
    MODELS,
    NAMED_MODELS,
    TORCH_MODELS,
    create_model,
    entry_points,
    is_installed,
    is_registered,
    model_class,
    model_names,
    package_of,
)

MODELS_VARIABLE = "WEFT_MODELS"
ZOO_FOLDER = "zoo"
ZOO_PACKAGE = "weft-zoo"
INSTALL_ZOO = "pip install ./zoo"
EXTRAS = {"parse": ("spacy",), "hf": ("sentence_transformers", "transformers")}  # the packages of each extra
PACKAGE = "weft"  # the source of models inside this package
# Folders inside the package with the weights of models that need no training.
PACKAGE_FOLDERS = {"foltz-glove": "glove", "foltz-sif": "glove"}
# Texts of 15 sentences scored in a second by one core: medians in results/benchmarks/scoring.json.
SPEEDS = {"weft-reader": 18.2, "foltz-embedding": 5.4, "hf": 0.7}


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model that can be loaded."""

    name: str  # the name or path it was found by
    model: str  # the name of its class in the registry
    folder: Path | None  # its trained weights; None for a model that needs no training
    source: str  # where it was found: ``weft``, the name of an installed package, or a folder


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A line of `weft models`."""

    name: str  # what ``--model`` and `load_model` take
    summary: str  # one line on what the model does
    source: str  # where it was found; empty if it was not found
    missing: str  # how to get it; empty if it was found
    size: int | None  # bytes on disk; None if it has no files of its own
    speed: float | None  # texts of 15 sentences scored in a second by one core; None if it was not measured
    default: bool  # whether commands use it when no model is named
    extra: str = ""  # the extra of weft-coherence that it needs and that is not installed; empty if there is none
    shared: tuple[str, ...] = ()  # names of the folders beside its own that hold some of its weights


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """The contents of `weft models NAME`."""

    known: KnownModel  # its line in the list
    card: ModelCard  # the description of the model
    # The settings it was trained with; empty if it needs no training or was not found.
    config: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)  # how it was trained: seed, data fingerprint, command


def load_model(name: str | Path, settings: Mapping[str, Any] | None = None) -> CoherenceModel:
    """Return a trained model by name or path, ready to score.

    Args:
        name: A name that `weft models` lists, or a folder that `weft train` wrote.
        settings: Values that replace those of the model; of a trained model, only adjustable ones.

    Raises:
        ConfigError: There is no model of that name, or a setting is wrong.
        ModelError: The model has to be trained first, or its folder is damaged.

    Example:
        >>> type(load_model("foltz-glove")).__name__
        'FoltzGlove'
    """
    found = find_model(name)
    if found.folder is None:
        return create_model(found.model, settings)
    return _adjusted(_known_class(found).load(found.folder), settings or {})


def find_model(name: str | Path) -> FoundModel:
    """Return where a model is, without loading its weights.

    Raises:
        ConfigError: There is no model of that name.
        ModelError: The model has to be trained first, or its folder is damaged.

    Example:
        >>> find_model("weft-reader").source
        'weft'
    """
    text = str(name)
    if os.path.isfile(Path(text) / MANIFEST):  # False for a name that is too long, for which Path raises
        return FoundModel(text, read_manifest(text)["model"], Path(text), str(Path(text).parent))
    if not _is_plain(text):
        raise _no_folder(text)
    registered = is_registered(text)
    if registered and not model_class(text).card.needs_training:
        return FoundModel(text, text, None, _package_with(text))
    for source, place in _places():
        if os.path.isfile(place / text / MANIFEST):
            return FoundModel(text, read_manifest(place / text)["model"], place / text, source)
    raise _untrained(text) if registered or text in NAMED_MODELS else _unknown(text)


def model_folder(name: str | Path) -> Path:
    """Return the folder of a trained model by name or path.

    Raises:
        ConfigError: There is no model of that name, or it has no folder.
        ModelError: The model has to be trained first, or its folder is damaged.
    """
    found = find_model(name)
    if found.folder is None:
        raise ConfigError(
            "this model comes ready to use and has no folder of its own",
            seen=found.name,
            allowed="a folder that `weft train` wrote, or the name of one",
            next_step="name another model or its folder; `weft calibrate` also takes --out FOLDER",
        )
    return found.folder


def writable_folder(name: str | Path) -> Path:
    """Return the folder of a trained model by name or path, to write to.

    Raises:
        ConfigError: There is no model of that name, or it belongs to an installed package.
        ModelError: The model has to be trained first, or its folder is damaged.
    """
    found = find_model(name)
    installed = any(found.folder == place / found.name for _, place in _package_places())
    if found.folder is None or (installed and found.folder != Path(name)):
        raise ConfigError(
            "this model belongs to an installed package, which is not changed",
            seen=f"{name} in {found.folder or found.source}",
            allowed="a model folder of your own, or a folder for a copy",
            next_step="give --out FOLDER, and name the copy by its path",
        )
    return found.folder


def copied_model(name: str | Path, out: str | Path) -> Path:
    """Write a copy of a model, with all weights that it shares with other folders, and return its folder.

    Raises:
        ConfigError: There is no model of that name.
        ModelError: The model has to be trained first, or the folder holds something else.
    """
    found = find_model(name)
    if found.folder is None:
        create_model(found.model).save(out)
    else:
        save_artifact(replace(load_artifact(found.folder), shared=()), out)
    return Path(out)


def is_model(name: str | Path) -> bool:
    """Return whether a name or path is that of a model, trained or not."""
    text = str(name)
    if os.path.isfile(Path(text) / MANIFEST):
        return True
    return _is_plain(text) and (is_registered(text) or text in _trained())


def known_models() -> list[KnownModel]:
    """Return all models: the default, those of the registry, then further ones, such as those for one domain."""
    trained = _trained()
    rest = [name for name in trained if name not in (DEFAULT_MODEL, *model_names())]
    return [_known(name, trained) for name in [DEFAULT_MODEL, *model_names(), *rest]]


def describe_model(name: str | Path) -> ModelDescription:
    """Return the card of a model and, if it was found, how it was trained.

    Raises:
        ConfigError: There is no model of that name.
        ModelError: Its folder is damaged.
    """
    try:
        found = find_model(name)
    except ModelError:
        if not is_registered(str(name)):
            raise
        return ModelDescription(_known(str(name), _trained()), model_class(str(name)).card)
    card = _known_class(found).card
    if found.folder is None:
        return ModelDescription(_known(found.name, {}), card)
    manifest = read_manifest(found.folder)
    known = _known(found.name, {found.name: found})
    return ModelDescription(known, card, manifest["config"], manifest.get("training", {}))


def _places() -> Iterator[tuple[str, Path]]:
    """Yield the folders that are searched for model folders, in order, each with its name in messages."""
    yield from _package_places()
    yield f"{ZOO_FOLDER}/", Path(ZOO_FOLDER)
    yield from ((folder, Path(folder)) for folder in os.environ.get(MODELS_VARIABLE, "").split(os.pathsep) if folder)


def _package_places() -> Iterator[tuple[str, Path]]:
    """Yield the folders of installed packages that hold models, this one first, each with the name of its package."""
    yield PACKAGE, PRETRAINED_MODELS
    for entry in entry_points(MODEL_GROUP):
        if ":" not in entry.value:
            yield from ((package_of(entry), place) for place in _package_folders(entry.value))


def _package_with(name: str) -> str:
    """Return the package that a registered model belongs to."""
    if name in MODELS:
        return PACKAGE
    return next(package_of(entry) for entry in entry_points(MODEL_GROUP) if entry.name == name)


def _package_folders(package: str) -> list[Path]:
    """Return the folders of an installed package, which is not imported: none of its code runs."""
    from importlib.util import find_spec

    try:
        spec = find_spec(package)
    except (ImportError, ValueError):  # a package that was removed by hand has no models
        return []
    return [Path(place) for place in (spec.submodule_search_locations or ())] if spec is not None else []


def _trained() -> dict[str, FoundModel]:
    """Return all trained models that a plain name finds."""
    found: dict[str, FoundModel] = {}
    for source, place in _places():
        for manifest in sorted(place.glob(f"*/{MANIFEST}")):
            folder = manifest.parent
            if folder.name not in found and not folder.name.startswith("."):
                found[folder.name] = FoundModel(folder.name, _model_in(folder), folder, source)
    return found


def _model_in(folder: Path) -> str:
    """Return the registry name in a folder; empty if the folder is damaged, which `load_model` reports."""
    try:
        return str(read_manifest(folder)["model"])
    except ModelError:
        return ""


def _known(name: str, trained: Mapping[str, FoundModel]) -> KnownModel:
    found = trained.get(name)
    kind = found.model if found else name
    if kind in TORCH_MODELS and not is_installed("torch"):
        source, get = (found.source, "") if found else ("", f"{INSTALL_ZOO} '.[train]' (in a clone); or train it")
        return KnownModel(name, TORCH_MODELS[kind], source, get, None, SPEEDS.get(name), False, "train")
    try:
        card = model_class(kind).card
    except WeftError as error:  # a broken package or a damaged folder must not break the list
        return KnownModel(name, f"cannot be used: {error.what}", "", error.next_step or "", None, None, False)
    speed, default, extra = SPEEDS.get(name), name == DEFAULT_MODEL, _missing_extra(card)
    if is_registered(name) and not card.needs_training:
        size = _size(PRETRAINED / PACKAGE_FOLDERS[name]) if name in PACKAGE_FOLDERS else None
        return KnownModel(name, card.summary, _package_with(name), "", size, speed, default, extra)
    if found is None or found.folder is None:
        return KnownModel(name, card.summary, "", _how_to_get(name, trained), None, speed, default, extra)
    shared = tuple(one["folder"] for one in read_manifest(found.folder).get("shared", []))
    return KnownModel(name, card.summary, found.source, "", _size(found.folder), speed, default, extra, shared)


def _missing_extra(card: ModelCard) -> str:
    """Return the extra that a model needs, if it is not installed; nothing is imported."""
    return "" if all(map(is_installed, EXTRAS.get(card.extra, ()))) else card.extra


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())


def _known_class(found: FoundModel) -> type[CoherenceModel]:
    """Return the class of a found model.

    Raises:
        ModelError: Its folder names a class that is not installed.
    """
    if not is_registered(found.model):
        raise ModelError(
            f"{found.folder or found.name} holds a model that is not installed",
            seen=found.model,
            allowed=did_you_mean(found.model, model_names()),
            next_step="install the package that adds this model, or pip install --upgrade weft-coherence",
        )
    return model_class(found.model)


def _is_plain(name: str) -> bool:
    """Return whether a text can be a model's name; otherwise it is a path."""
    return bool(name) and not name.startswith(".") and not any(mark in name for mark in ("/", os.sep, "\0"))


def _no_folder(name: str) -> ModelError:
    last = Path(name).name
    named = f"; {last} is found by its name" if _is_plain(last) and last in _trained() else ""
    return ModelError(
        "no model folder there",
        seen=name,
        allowed=f"a folder with a {MANIFEST}, or a name that `weft models` lists{named}",
        next_step=f"use --model {last}" if named else "check the path, or run `weft models`",
    )


def _how_to_get(name: str, trained: Mapping[str, FoundModel]) -> str:
    """Return how to get a trained model of a registered name, as the next step of a message."""
    train = f"train it (weft train configs/{name}.toml)" if name in (*MODELS, *NAMED_MODELS) else "train it"
    variants = sorted(other for other, found in trained.items() if found.model == name and other not in NAMED_MODELS)
    first = f"use {' or '.join(variants)}, which are trained for one domain; or " if variants else ""
    if not variants and _in_zoo(name) and not _has_zoo():
        first = f"{INSTALL_ZOO} (in a clone); or "
    return f"{first}{train} and name its folder; or set {MODELS_VARIABLE} to a folder of trained models"


def _in_zoo(name: str) -> bool:
    """Return whether the zoo has trained weights of a registered model, or of its variants for one domain."""
    return name in NAMED_MODELS or INSTALL_ZOO in model_class(name).card.needs


def _has_zoo() -> bool:
    return any(source == ZOO_PACKAGE for source, _ in _package_places())


def _untrained(name: str) -> ModelError:
    return ModelError(
        f"no trained {name} was found",
        seen=name,
        allowed="a model that needs no training, an installed one, or the folder of a trained one",
        next_step=_how_to_get(name, _trained()),
    )


def _unknown(name: str) -> WeftError:
    if os.path.isdir(name):
        return _no_folder(name)
    close = closest_name(name, {*model_names(), *_trained()})
    suggestion = f"did you mean {close}? or " if close else ""
    return ConfigError(
        "unknown model",
        seen=name,
        allowed=f"{suggestion}a name that `weft models` lists, or a folder with a {MANIFEST}",
        next_step=_next_step_of_unknown(name),
    )


def _next_step_of_unknown(name: str) -> str:
    install = f"{INSTALL_ZOO} (in a clone), which adds the paper's trained models"
    has_zoo = _has_zoo()
    if not has_zoo and any(name.startswith(f"{model}-") for model in model_names()):  # a model for one domain
        return f"{install}; or run `weft models`"
    return "run `weft models`" if has_zoo else f"run `weft models`; {install}"


def _adjusted(model: CoherenceModel, settings: Mapping[str, Any]) -> CoherenceModel:
    """Return a trained model with other values of its adjustable settings."""
    if not settings:
        return model
    model.settings.adjusted(settings)  # raises if a setting is fixed or a value is wrong
    if not isinstance(model, AdjustableModel):
        raise ConfigError(
            f"the settings of a trained {model.settings.model_name} are fixed",
            seen=", ".join(settings),
            allowed="no --set (in Python: settings) with this model",
            next_step="omit it, or train again with it",
        )
    adjusted: CoherenceModel = model.adjusted(settings)
    return adjusted
