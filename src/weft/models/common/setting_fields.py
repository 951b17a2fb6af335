"""Settings that several models share, each declared once: all settings of generative models, and single fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from weft.scoring.uni_bi_mmi import COMBINATIONS
from weft.settings import setting
from weft.training.part_names import PARTS, PRECEDENCE

HIGHEST_CONTRAST = 1000.0  # with a higher weight, the likelihood would have no effect


def combine_field() -> Any:
    """Declare the combination of the parts of a generative model."""
    help = "Combination: uni (forward only), bi (both directions) or mmi (both, minus the language model)."
    return setting("mmi", help, choices=COMBINATIONS, adjustable=True)


def dimensions_field(default: int) -> Any:
    """Declare the size of token vectors."""
    return setting(default, "Size of token vectors.", minimum=1)


def hidden_field(default: int) -> Any:
    """Declare the size of LSTM states."""
    return setting(default, "Size of LSTM states.", minimum=1)


def feed_field(default: bool) -> Any:
    """Declare whether the attention result is an input of upper layers."""
    return setting(default, "Whether the upper decoder layers read the attention result.")


def lexical_field(default: bool) -> Any:
    """Declare lexical attention."""
    return setting(default, "Whether attention also connects source words directly to the output.")


def word_dropout_field(default: float) -> Any:
    """Declare word dropout."""
    return setting(default, "Share of decoder input words that are hidden in training.", minimum=0.0, below=1.0)


def contrast_field(against: str) -> Any:
    """Declare the weight of the contrastive loss."""
    help = f"Weight of the contrastive loss ({against}); 0 trains on the likelihood alone, as in the paper."
    return setting(0.0, help, minimum=0.0, maximum=HIGHEST_CONTRAST)


def frozen_field() -> Any:
    """Declare the weights of `run.start` that are not trained."""
    help = 'Weights of run.start that are not trained: "" (none), encoder, or words (encoder and decoder).'
    return setting("", help, choices=("", "encoder", "words"))


def precedence_weight_field() -> Any:
    """Declare the weight of the precedence part in ordering."""
    help = "Weight of the precedence log-odds in ordering, relative to the coherence of transitions."
    return setting(1.0, help, adjustable=True)


@dataclass(frozen=True, kw_only=True)
class GenerativeFields:
    """Settings of all generative models; a model with other defaults declares the field again."""

    combine: str = combine_field()
    dimensions: int = dimensions_field(384)
    hidden: int = hidden_field(640)
    layers: int = setting(2, "Number of LSTM layers.", minimum=1)
    feed: bool = feed_field(True)
    lexical: bool = lexical_field(True)
    dropout: float = setting(0.1, "Dropout in training.", minimum=0.0, below=1.0)
    word_dropout: float = word_dropout_field(0.0)
    contrast: float = contrast_field("after its neighbour against after another sentence of its paragraph")
    precedence: bool = setting(
        False, "Whether to train a fourth part, which predicts which of two sentences comes first."
    )
    precedence_weight: float = precedence_weight_field()
    precision: str = setting("int8", "Precision of saved weights: int8 or float32.", choices=("int8", "float32"))

    def parts(self) -> tuple[str, ...]:
        """Return the names of the networks, in training order; precedence builds on the encoders of the first two.

        Example:
            >>> GenerativeFields().parts()
            ('forward', 'backward', 'prior')
        """
        return (*PARTS, PRECEDENCE) if self.precedence else PARTS
