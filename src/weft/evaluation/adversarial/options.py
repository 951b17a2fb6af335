"""The settings of an adversarial evaluation: how systems write, and how evaluators are built and trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar

from weft.errors import ConfigError, did_you_mean
from weft.evaluation.adversarial.chunks import SelectionSettings
from weft.evaluation.adversarial.writing import ADVERSARIAL_DECODING
from weft.evaluation.task_contract import EvaluateOptions
from weft.generation.decoding_settings import Decoding
from weft.settings import KINDS, Settings, setting


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
    second: bool = setting(True, "Whether boosted trees evaluate too, on all chunks and on chunks of equal lengths.")
    informed: bool = setting(True, "Whether boosted trees with scores of the reader's networks evaluate too.")
    seeds: int = setting(3, "Neural evaluators per length, each with a seed of its own; their mean counts.", minimum=1)
    # Where chunks overlap, human sentences occur in several chunks and machine sentences never do, which is a way to
    # tell them apart in the training part only.
    apart: bool = setting(False, "Whether evaluators are trained only on chunks that share no sentence.")


@dataclass(frozen=True, slots=True)
class AdversarialOptions:
    """How an adversarial evaluation is run.

    Attributes:
        folder: Where chunks, continuations and verdicts are kept between runs.
        limit: Test contexts of a small copy of the experiment; None for the whole.
        decoding: How systems write.
        evaluator: How evaluators are built and trained.
        seed: Seed of evaluators and controls.
        device: ``auto``, ``cpu`` or ``cuda``.
    """

    folder: Path = Path("adversarial")
    limit: int | None = None
    decoding: Decoding = ADVERSARIAL_DECODING
    evaluator: EvaluatorSettings = EvaluatorSettings()
    seed: int = 1
    device: str = "auto"


def adversarial_options(options: EvaluateOptions) -> AdversarialOptions:
    """Return the options of an adversarial evaluation.

    Raises:
        ConfigError: A setting is unknown, or has the wrong type or value.

    Example:
        >>> adversarial_options(EvaluateOptions(settings={"decoding.beam": 5})).decoding.beam
        5
    """
    chosen = AdversarialOptions(options.work, options.limit, seed=options.seed, device=options.device)
    _check_length(options.settings)
    known = [*_types(chosen.decoding, "decoding."), *_types(chosen.evaluator, "evaluator.")]
    for name in options.settings:
        if name not in known:
            raise ConfigError(
                "unknown setting",
                seen=name,
                allowed=did_you_mean(name, known),
                next_step="correct the name in --set",
            )
    return replace(
        chosen,
        decoding=_changed(chosen.decoding, options.settings, "decoding."),
        evaluator=_changed(chosen.evaluator, options.settings, "evaluator."),
    )


def _check_length(settings: Mapping[str, Any]) -> None:
    longest = SelectionSettings().longest + 1  # the end of a sentence is a token too
    given = settings.get("decoding.max_tokens", longest)
    if isinstance(given, int) and given > longest:
        raise ConfigError(
            "evaluators do not read sentences that long",
            seen=f"decoding.max_tokens={given}",
            allowed=f"up to {longest}",
            next_step="omit it",
        )


def _types(old: Any, section: str) -> dict[str, type]:
    return {f"{section}{one.name}": type(getattr(old, one.name)) for one in fields(old)}


def _changed(old: Any, settings: Mapping[str, Any], section: str) -> Any:
    """Return the settings of one section with some replaced."""
    types = _types(old, section)
    changes = {name: value for name, value in settings.items() if name.startswith(section)}
    for name, value in changes.items():
        if not (type(value) is types[name] or (types[name] is float and type(value) is int)):
            raise ConfigError(
                f"{name} has the wrong type",
                seen=value,
                allowed=KINDS.get(types[name], types[name].__name__),
                next_step="correct the value in --set",
            )
    return replace(old, **{name.removeprefix(section): value for name, value in changes.items()})
