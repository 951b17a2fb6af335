"""Checks of values, saved settings and weights, with their errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from weft.errors import ConfigError, CorpusError, ModelError, is_number
from weft.io.model_folder import Artifact
from weft.settings import Settings

HIGHEST = 2**31 - 1  # what every library beneath takes for a count
HIGHEST_SEED = 2**32 - 1

Model = TypeVar("Model")
Chosen = TypeVar("Chosen", bound=Settings)


def at_least(model: str, setting: str, value: object, lowest: int, highest: int = HIGHEST) -> None:
    """Raise ConfigError if a value is not a whole number from ``lowest`` to ``highest``.

    Example:
        >>> at_least("foltz-lda", "topics", 300, 2)
    """
    if type(value) is int and lowest <= value <= highest:
        return
    raise ConfigError(
        f"{model}'s `{setting}` is out of range" if type(value) is int else f"{model}'s `{setting}` has the wrong type",
        seen="null" if value is None else value,
        allowed=f"a whole number from {lowest} to {highest}",
        next_step=f"change `{setting}`",
    )


def check_seed(model: str, seed: object) -> None:
    """Raise ConfigError if a seed is out of range."""
    at_least(model, "seed", seed, 0, HIGHEST_SEED)


def check_text(model: str, setting: str, value: object) -> None:
    """Refuse a value that is not a string."""
    if not isinstance(value, str):
        raise ConfigError(
            f"{model}'s `{setting}` has the wrong type",
            seen="null" if value is None else value,
            allowed="text",
            next_step=f"change `{setting}`",
        )


def check_choice(model: str, setting: str, value: object, allowed: Sequence[str]) -> None:
    """Raise ConfigError if a value is not one of ``allowed``."""
    if value not in allowed:
        raise ConfigError(
            f"unknown {setting} for {model}",
            seen="null" if value is None else value,
            allowed=", ".join(name or '""' for name in allowed),
            next_step=f"change `{setting}`",
        )


def check_sentences(sentences: object) -> None:
    """Check that sentences are not one string: each of its letters would be taken for a sentence.

    Raises:
        CorpusError: They are one string.

    Example:
        >>> check_sentences(("Cats purr.", "Dogs bark."))
    """
    if isinstance(sentences, str):
        raise CorpusError(
            "one text was given in place of its sentences",
            seen=sentences if len(sentences) <= 40 else sentences[:40] + "…",
            allowed='a list of sentences, such as ["Cats purr.", "Dogs bark."]',
            next_step="put it in a list, or split it with weft.corpora.text.sentences",
        )


def check_share(setting: str, value: object) -> None:
    """Raise ConfigError if a share is not at least 0 and below 1."""
    if not is_number(value) or not 0 <= value < 1:
        raise ConfigError(
            f"{setting} is out of range",
            seen="null" if value is None else value,
            allowed="from 0 to below 1",
            next_step="change it",
        )


def check_weight(setting: str, value: object, *, least: float = -math.inf, most: float = math.inf) -> None:
    """Raise ConfigError if a weight is not a finite number or out of range."""
    if not is_number(value) or not least <= value <= most:
        raise ConfigError(
            f"{setting} is out of range",
            seen="null" if value is None else value,
            allowed="a finite number" if math.isinf(least) else f"a number from {least:g} to {most:g}",
            next_step="change it",
        )


def check_contrast(value: object) -> None:
    """Refuse a weight of contrast that would drown everything else."""
    check_weight("contrast", value, least=0.0, most=1000.0)


def rebuild(build: Callable[..., Model], artifact: Artifact, folder: str | Path, settings: Sequence[str]) -> Model:
    """Build a model with the settings of a saved one, which its constructor checks.

    Raises:
        ModelError: A setting has the wrong type or is out of range.
    """
    try:
        return build(**{name: artifact.config[name] for name in settings if name in artifact.config})
    except ConfigError as error:
        raise ModelError(
            f"the settings in {folder} are damaged or were altered: {error.what}",
            seen=error.seen,
            allowed=error.allowed,
            next_step="copy or train the model again",
        ) from error


def restored_settings(kind: type[Chosen], artifact: Artifact, folder: str | Path) -> Chosen:
    """Return the settings that a model was saved with; other entries of its folder's configuration are ignored.

    Raises:
        ModelError: A setting has the wrong type or is out of range.
    """
    known = kind.defaults()
    try:
        return kind.from_mapping({name: value for name, value in artifact.config.items() if name in known})
    except ConfigError as error:
        raise damaged_settings(error, folder) from error


def damaged_settings(error: ConfigError, folder: str | Path) -> ModelError:
    """Return the error of a model folder whose settings are wrong."""
    return ModelError(
        f"the settings in {folder} are damaged or were altered: {error.what}",
        seen=error.seen,
        allowed=error.allowed,
        next_step="copy or train the model again",
    )


def check_finite(folder: str | Path, **arrays: npt.ArrayLike) -> None:
    """Check that weights are finite: one NaN would make every score of its word NaN.

    Raises:
        ModelError: An array holds NaN or infinity.
    """
    for name, values in arrays.items():
        if not np.isfinite(values).all():
            raise ModelError(
                f"the weights in {folder} are not all numbers",
                seen=f"NaN or infinity in {name}",
                allowed="finite numbers",
                next_step="copy or train the model again",
            )


def untrained(name: str) -> ModelError:
    """Return the error of a model that is used before it is trained."""
    return ModelError(
        f"{name} has not been trained",
        allowed="a trained model; `weft models` lists those that are installed",
        next_step=f"pip install weft-zoo, or run `weft train configs/{name}.toml` and give the folder as --model",
    )
