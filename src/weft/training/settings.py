"""Settings of the training loop; this module does not import torch, so that configurations are checked fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from weft.errors import ConfigError, check_known, is_number
from weft.settings import CORRECT_VALUE

CHOICES: Mapping[str, tuple[str, ...]] = {
    "optimizer": ("adamw", "adagrad", "sgd"),
    "decay": ("cosine", "linear", "none"),
}
LEAST_COUNTS: Mapping[str, int] = {
    "warmup": 0, "steps": 0, "batch_tokens": 1, "accumulate": 1, "max_tokens": 1, "validate_every": 0, "patience": 0,
}  # fmt: skip
HIGHEST_COUNT = 2**31 - 1  # the largest count that all libraries accept
FROM_ZERO, ABOVE_ZERO = ("minutes", "weight_decay"), ("learning_rate", "clip")


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """Settings of the training of a network."""

    optimizer: str = "adamw"  # ``adamw``, ``adagrad`` or ``sgd``
    learning_rate: float = 2e-3  # highest learning rate
    warmup: int = 300  # number of steps over which the learning rate rises from zero
    decay: str = "cosine"  # ``cosine`` or ``linear`` to zero over the run, or ``none``
    steps: int = 0  # length of the run in steps; 0 if ``minutes`` decides
    minutes: float = 0.0  # length of the run in minutes of training; 0 if ``steps`` decides
    batch_tokens: int = 12000  # number of padded target tokens per batch
    accumulate: int = 1  # number of batches per step
    clip: float = 1.0  # highest norm of the gradient
    weight_decay: float = 0.01  # weight decay of AdamW
    max_tokens: int = 100  # longest sentence to train on, in tokens
    validate_every: int = 1000  # number of steps between validations; 0 for one at the end
    patience: int = 0  # number of validations without improvement before the run stops; 0 for no early stop
    seed: int = 1  # seed of initialisation, order and dropout

    def __post_init__(self) -> None:
        check_training(asdict(self))
        if self.steps <= 0 and self.minutes <= 0:
            raise ConfigError(
                "neither training.steps nor training.minutes is set",
                seen="steps 0, minutes 0",
                allowed="one of them above 0",
                next_step="add --minutes 5",
            )


def check_training(values: Mapping[str, Any], section: str = "training") -> None:
    """Check the values of training settings.

    Args:
        values: Some or all settings by name, of the right types.
        section: Their section, such as ``training.precedence``.

    Raises:
        ConfigError: A value is out of range or unknown.

    Example:
        >>> check_training({"clip": 0.5, "decay": "none"}, "training.prior")
    """
    for name, value in values.items():
        if name in CHOICES:
            check_known(f"{name} in [{section}]", value, CHOICES[name])
        elif (allowed := _broken_bound(name, value)) is not None:
            raise ConfigError(f"{section}.{name} is out of range", seen=value, allowed=allowed, next_step=CORRECT_VALUE)


def _broken_bound(name: str, value: object) -> str | None:
    """Return the allowed range if a value is out of range, else None."""
    if name in LEAST_COUNTS:
        least = LEAST_COUNTS[name]
        return None if is_number(value) and least <= value <= HIGHEST_COUNT else f"{least} to {HIGHEST_COUNT}"
    if name in FROM_ZERO:
        return None if is_number(value) and value >= 0 else "0 or more"
    if name in ABOVE_ZERO:
        return None if is_number(value) and value > 0 else "above 0"
    return None  # the seed is checked in its section
