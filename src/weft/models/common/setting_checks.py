"""Checks of arguments and of saved settings and weights, shared by the models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from weft.errors import ConfigError, CorpusError, ModelError
from weft.io.model_folder import Artifact
from weft.settings import HIGHEST_COUNT, HIGHEST_SEED, Settings

Chosen = TypeVar("Chosen", bound=Settings)


def at_least(model: str, name: str, value: object, lowest: int, highest: int = HIGHEST_COUNT) -> None:
    """Raise ConfigError if an argument is not a whole number from ``lowest`` to ``highest``.

    Raises:
        ConfigError: The value has the wrong type or is out of range.

    Example:
        >>> at_least("vlv-gm", "draws", 3, 1)
    """
    if type(value) is int and lowest <= value <= highest:
        return
    raise ConfigError(
        f"{model}'s `{name}` is out of range" if type(value) is int else f"{model}'s `{name}` has the wrong type",
        seen="null" if value is None else value,
        allowed=f"a whole number from {lowest} to {highest}",
        next_step=f"change `{name}`",
    )


def check_seed(model: str, seed: object) -> None:
    """Raise ConfigError if a seed is outside the range of the random-number generators."""
    at_least(model, "seed", seed, 0, HIGHEST_SEED)


def check_choice(model: str, name: str, value: object, allowed: Sequence[str]) -> None:
    """Raise ConfigError if an argument is not one of the allowed values."""
    if value not in allowed:
        raise ConfigError(
            f"unknown {name} for {model}",
            seen="null" if value is None else value,
            allowed=", ".join(choice or '""' for choice in allowed),
            next_step=f"change `{name}`",
        )


def check_sentences(sentences: object) -> None:
    """Raise CorpusError if one string is given instead of a list of sentences.

    Raises:
        CorpusError: The argument is a string, whose letters would count as sentences.

    Example:
        >>> check_sentences(("Cats purr.", "Dogs bark."))
    """
    if isinstance(sentences, str):
        raise CorpusError(
            "expected a list of sentences, not a single text",
            seen=sentences if len(sentences) <= 40 else sentences[:40] + "…",
            allowed='a list of sentences, such as ["Cats purr.", "Dogs bark."]',
            next_step="put it in a list, or split it with weft.corpora.text.sentences",
        )


def restored_settings(kind: type[Chosen], artifact: Artifact, folder: str | Path) -> Chosen:
    """Return the settings of a saved model; other entries of its configuration are ignored.

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


def misfit(folder: str | Path, seen: str, allowed: str, *, what: str = "weights") -> ModelError:
    """Return the error of a model folder whose contents have the wrong shapes or values."""
    return ModelError(
        f"the {what} in {folder} do not fit together",
        seen=seen,
        allowed=allowed,
        next_step="copy or train the model again",
    )


def check_finite(folder: str | Path, **arrays: npt.ArrayLike) -> None:
    """Raise ModelError if saved weights are not finite.

    Raises:
        ModelError: An array contains NaN or infinity.
    """
    for name, values in arrays.items():
        if not np.isfinite(values).all():
            raise ModelError(
                f"the weights in {folder} are not all finite",
                seen=f"NaN or infinity in {name}",
                allowed="finite numbers",
                next_step="copy or train the model again",
            )


def untrained(name: str) -> ModelError:
    """Return the error of a model that is used before it is trained."""
    return ModelError(
        f"{name} has not been trained",
        seen=name,
        allowed="a trained model; `weft models` lists those that are installed",
        next_step=f"pip install ./zoo (in a clone), or run `weft train configs/{name}.toml` and use its folder",
    )
