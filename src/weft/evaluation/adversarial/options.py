"""The settings of an adversarial evaluation: how systems write, and how evaluators are built and trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from weft.errors import ConfigError, did_you_mean
from weft.evaluation.adversarial.chunks import SelectionSettings
from weft.evaluation.adversarial.writing import ADVERSARIAL_DECODING
from weft.generation.decoding_settings import Decoding
from weft.settings import Settings, setting


@dataclass(frozen=True, kw_only=True)
class EvaluatorSettings(Settings):
    """How evaluators are built and trained."""

    model_name: ClassVar[str] = "evaluator"
    reader: str = setting(
        "seq2seq", "Name or folder of the Seq2Seq whose tokenizer and frozen encoders read every sentence."
    )
    hidden: int = setting(256, "Size of the states of the word LSTM.", minimum=1)
    width: int = setting(256, "Size of sentence vectors and of the states of the sentence LSTM.", minimum=1)
    dropout: float = setting(0.3, "Dropout in training.", minimum=0, below=1)
    pairs: int = setting(256, "Human chunks per batch, and as many machine chunks.", minimum=1)
    epochs: int = setting(6, "Maximal number of passes over the training chunks.", minimum=1)
    checks: int = setting(2, "Validations per pass.", minimum=1)
    patience: int = setting(3, "Validations without gain before training stops.", minimum=1)
    learning_rate: float = setting(1e-3, "Highest learning rate.")
    weight_decay: float = setting(0.05, "Weight decay of AdamW.")
    first: bool = setting(
        True, "Whether to use the first evaluator, a network that reads words and the reader's vectors."
    )
    second: bool = setting(True, "Whether to use boosted trees too, on all chunks and on chunks of equal lengths.")
    informed: bool = setting(True, "Whether to use boosted trees with scores of the reader's networks too.")
    plain: bool = setting(False, "Whether to use a network that reads only words, as the paper describes it, too.")
    surface: bool = setting(False, "Whether to use a network that also reads the features of the trees.")
    outside: str = setting(
        "",
        "Folder of a BERT of transformers that is trained further to evaluate too; minilm: all-MiniLM-L6-v2 of the "
        "extra hf; empty: none.",
    )
    outside_epochs: int = setting(
        2, "Passes of that model over the training chunks, each at a random length.", minimum=1
    )
    outside_rate: float = setting(1e-4, "Highest learning rate of that model.")
    seeds: int = setting(
        3, "Neural evaluators per kind and length, each with a seed of its own; their mean counts. 0: none.", minimum=0
    )
    # Where chunks overlap, human sentences occur in several chunks and machine sentences never do, which is a way to
    # tell them apart in the training part only.
    apart: bool = setting(False, "Whether evaluators are trained only on chunks that share no sentence.")


def adversarial_settings(settings: Mapping[str, Any]) -> tuple[Decoding, EvaluatorSettings]:
    """Return how systems write and how evaluators are trained, from settings by dotted name.

    Raises:
        ConfigError: A setting is unknown, or has the wrong type or value.

    Example:
        >>> adversarial_settings({"decoding.beam": 5})[0].beam
        5
    """
    known = [f"decoding.{one.name}" for one in fields(Decoding)]
    known += [f"evaluator.{name}" for name in EvaluatorSettings.defaults()]
    for name in settings:
        if name not in known:
            raise ConfigError(
                "unknown setting",
                seen=name,
                allowed=did_you_mean(name, known),
                next_step="correct the name in --set",
            )
    decoding, evaluator = (
        {name.removeprefix(section): value for name, value in settings.items() if name.startswith(section)}
        for section in ("decoding.", "evaluator.")
    )
    chosen = Decoding.from_options(decoding, ADVERSARIAL_DECODING)
    longest = SelectionSettings().longest + 1  # the end of a sentence is a token too
    if chosen.max_tokens > longest:
        raise ConfigError(
            "evaluators do not read sentences that long",
            seen=f"decoding.max_tokens={chosen.max_tokens}",
            allowed=f"up to {longest}",
            next_step="omit it",
        )
    return chosen, EvaluatorSettings.from_mapping(evaluator)
