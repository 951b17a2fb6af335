"""Settings that several models share, each declared once: functions that return a field of a `Settings` class."""

from __future__ import annotations

from typing import Any

from weft.scoring.pairs import COMBINATIONS
from weft.settings import setting

FROZEN = ("", "encoder", "words")
PRECISIONS = ("int8", "float32")
HIGHEST_CONTRAST = 1000.0  # a higher weight would leave nothing of the likelihood


def combine_field() -> Any:
    """Declare how the parts of a generative model are combined."""
    help = "Combination: uni (forward only), bi (both directions) or mmi (both, minus the language model)."
    return setting("mmi", help, choices=COMBINATIONS, adjustable=True)


def dimensions_field(default: int) -> Any:
    """Declare the size of token vectors."""
    return setting(default, "Size of token vectors.", minimum=1)


def hidden_field(default: int) -> Any:
    """Declare the size of LSTM states."""
    return setting(default, "Size of LSTM states.", minimum=1)


def layers_field(default: int) -> Any:
    """Declare the number of LSTM layers."""
    return setting(default, "Number of LSTM layers.", minimum=1)


def feed_field(default: bool) -> Any:
    """Declare input feeding."""
    return setting(default, "Whether the upper decoder layers read the attention result.")


def lexical_field(default: bool) -> Any:
    """Declare lexical attention."""
    return setting(default, "Whether attention also connects source words directly to the output.")


def dropout_field(default: float) -> Any:
    """Declare dropout."""
    return setting(default, "Dropout in training.", minimum=0.0, below=1.0)


def word_dropout_field(default: float) -> Any:
    """Declare word dropout."""
    return setting(default, "Share of decoder input words that are hidden in training.", minimum=0.0, below=1.0)


def contrast_field(against: str) -> Any:
    """Declare the weight of the contrastive loss.

    Args:
        against: What a sentence in its context is contrasted with.
    """
    help = f"Weight of the contrastive loss ({against}); 0 trains on the likelihood alone, as in the paper."
    return setting(0.0, help, minimum=0.0, maximum=HIGHEST_CONTRAST)


def frozen_field() -> Any:
    """Declare which weights of `run.start` are not trained."""
    help = 'Weights of run.start that are not trained: "" (none), encoder, or words (encoder and decoder).'
    return setting("", help, choices=FROZEN)


def precedence_field() -> Any:
    """Declare the precedence part."""
    return setting(False, "Whether to train a fourth part, which predicts which of two sentences comes first.")


def precedence_weight_field() -> Any:
    """Declare the weight of the precedence part in ordering."""
    help = "Weight of the precedence log-odds in ordering, relative to the coherence of transitions."
    return setting(1.0, help, adjustable=True)


def vectors_field(use: str) -> Any:
    """Declare pretrained word vectors.

    Args:
        use: What the model does with them.
    """
    help = (
        f"Pretrained word vectors ({use}): a GloVe file or folder, or glove for those in the package; empty for none."
    )
    return setting("", help)


def precision_field() -> Any:
    """Declare the precision of saved weights."""
    return setting("int8", "Precision of saved weights: int8 or float32.", choices=PRECISIONS)
