"""The hub: from a model's name or folder to the model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weft.errors import ConfigError, ModelError, did_you_mean
from weft.io.model_folder import load_artifact
from weft.protocols import CoherenceModel
from weft.registry import MODELS, create_model, model_class
from weft.settings import Settings, check_type


def load_model(name_or_folder: str | Path, settings: Mapping[str, Any] | None = None) -> CoherenceModel:
    """A model by registered name, or from a folder written by `weft train`.

    Example:
        >>> type(load_model("foltz-glove")).__name__
        'FoltzGlove'
    """
    name = str(name_or_folder)
    if name in MODELS:
        return create_model(name, settings)
    folder = Path(name_or_folder)
    if not folder.exists():
        model_class(name)  # raises with the nearest name
    trained = load_artifact(folder).model
    if trained not in MODELS:
        raise ModelError(
            f"{folder} holds a model this weft does not have",
            seen=trained,
            allowed=did_you_mean(trained, MODELS),
            next_step="upgrade weft",
        )
    return _adjusted(model_class(trained).load(folder), settings or {})


def _adjusted(model: Any, settings: Mapping[str, Any]) -> CoherenceModel:
    """A trained model with other settings, of those that leave what it has learned as it is."""
    own = vars(model).get("settings")  # all models, once each has its dataclass
    known = own.to_dict() if isinstance(own, Settings) else vars(model)
    free: tuple[str, ...] = own.adjustable() if isinstance(own, Settings) else getattr(model, "adjustable", ())
    for key, value in settings.items():
        if key not in free:
            raise ConfigError(
                "this setting of a trained model is fixed",
                seen=key,
                allowed=", ".join(free) or "no --set with this model folder",
                next_step="leave it away, or train again with it",
            )
        check_type(key, value, known[key] if key in known else getattr(model, key))
    adjusted: CoherenceModel = model.adjusted(settings) if settings else model
    return adjusted
