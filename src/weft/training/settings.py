"""Settings of the training loop; this module does not import torch, so that configurations are checked fast."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from weft.errors import ConfigError
from weft.settings import HIGHEST_SEED, Settings, setting


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(Settings):
    """Settings of the training of a network."""

    model_name: ClassVar[str] = "training"

    optimizer: str = setting("adamw", "The optimizer.", choices=("adamw", "adagrad", "sgd"))
    learning_rate: float = setting(2e-3, "Highest learning rate.", above=0)
    warmup: int = setting(300, "Number of steps over which the learning rate rises from zero.", minimum=0)
    decay: str = setting("cosine", "How the learning rate falls over the run.", choices=("cosine", "linear", "none"))
    steps: int = setting(0, "Length of the run in steps; 0 if `minutes` decides.", minimum=0)
    minutes: float = setting(0.0, "Length of the run in minutes of training; 0 if `steps` decides.", minimum=0)
    batch_tokens: int = setting(12000, "Number of padded target tokens per batch.", minimum=1)
    accumulate: int = setting(1, "Number of batches per step.", minimum=1)
    clip: float = setting(1.0, "Highest norm of the gradient.", above=0)
    weight_decay: float = setting(0.01, "Weight decay of AdamW.", minimum=0)
    max_tokens: int = setting(100, "Longest sentence to train on, in tokens.", minimum=1)
    validate_every: int = setting(1000, "Number of steps between validations; 0 for one at the end.", minimum=0)
    patience: int = setting(0, "Validations without improvement before the run stops; 0 for no early stop.", minimum=0)
    compiled: bool = setting(
        False, "Whether PyTorch compiles the layers of a reader: faster on a GPU, after a minute of compiling."
    )
    seed: int = setting(1, "Seed of initialisation, order and dropout.", minimum=0, maximum=HIGHEST_SEED)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.steps <= 0 and self.minutes <= 0:
            raise ConfigError(
                "neither training.steps nor training.minutes is set",
                seen="steps 0, minutes 0",
                allowed="one of them above 0",
                next_step="add --minutes 5, or set training.minutes",
            )
