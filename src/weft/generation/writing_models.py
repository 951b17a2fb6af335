"""Checks of what a model can do: combine its parts, and write."""

from __future__ import annotations

from typing import TypeVar

from weft.errors import ConfigError
from weft.protocols import BulkWritingModel, CombinableModel, WritingModel
from weft.scoring.uni_bi_mmi import COMBINATIONS

AnyModel = TypeVar("AnyModel")


def combined_model(model: AnyModel, combine: str, name: str) -> AnyModel:
    """Return a model whose parts are combined as uni, bi or mmi.

    Raises:
        ConfigError: The model has no parts to combine, or there is no such combination.
    """
    if not isinstance(model, CombinableModel):
        raise ConfigError(
            f"{name} has no parts to combine",
            seen=combine,
            allowed="uni, bi and mmi with a generative model, such as seq2seq",
            next_step="omit combine, or choose a generative model",
        )
    if not isinstance(combine, str) or combine not in COMBINATIONS:
        raise ConfigError(
            f"unknown combination of the parts of {name}",
            seen=combine,
            allowed=", ".join(COMBINATIONS),
            next_step="correct or omit `combine`",
        )
    return model.combined(combine)


def writing_model(model: object, name: str) -> WritingModel:
    """Return the model if it can write.

    Raises:
        ConfigError: The model cannot write.
    """
    if not isinstance(model, WritingModel):
        raise ConfigError(
            "this model cannot write",
            seen=name,
            allowed="a generative model, such as weft-small of the zoo, or a causal language model (hf)",
            next_step="choose another model",
        )
    return model


def bulk_writing_model(model: object, name: str) -> BulkWritingModel:
    """Return the model if it can write for many contexts at once.

    Raises:
        ConfigError: It cannot.
    """
    if not isinstance(model, BulkWritingModel):
        raise ConfigError(
            "this model cannot write"
            if not isinstance(model, WritingModel)
            else "this model writes one text at a time",
            seen=name,
            allowed="a model that weft trains, such as seq2seq or weft-small",
            next_step="choose another model",
        )
    return model
