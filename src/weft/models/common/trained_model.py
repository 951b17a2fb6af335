"""Base of the models that learn weights without a neural network: their settings and their model folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

from weft.errors import ConfigError
from weft.io.model_folder import Artifact, load_artifact, save_artifact
from weft.models.common.saved_reference import saved_reference, with_reference
from weft.models.common.setting_checks import damaged_settings, restored_settings
from weft.scoring.percentiles import Reference
from weft.settings import Settings as ModelSettings


class TrainedModel(ABC):
    """A model whose folder holds its settings, what it has learned and, after `weft calibrate`, reference scores."""

    reference: Reference | None = None
    Settings: ClassVar[type[ModelSettings]]
    settings: ModelSettings

    def __init__(self, settings: ModelSettings | None = None) -> None:
        self.settings = settings or self.Settings()

    @abstractmethod
    def to_artifact(self) -> Artifact:
        """Return the contents of the model folder.

        Raises:
            ModelError: The model is not trained.
        """

    @abstractmethod
    def restore(self, artifact: Artifact, folder: str | Path) -> None:
        """Take what was learned from the contents of a model folder.

        Raises:
            ModelError: Something is missing or does not fit the settings.
        """

    def save(self, folder: str | Path, *, training: Mapping[str, Any] | None = None) -> None:
        """Write a model folder."""
        artifact = with_reference(self.to_artifact(), self.reference)
        save_artifact(replace(artifact, training={**(training or {}), **artifact.training}), folder)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a folder written by `save`."""
        return cls.from_artifact(load_artifact(folder), folder)

    @classmethod
    def from_artifact(cls, artifact: Artifact, folder: str | Path) -> Self:
        """Return the model with the contents of a folder."""
        try:
            model = cls(restored_settings(cls.Settings, artifact, folder))
        except ConfigError as error:
            raise damaged_settings(error, folder) from error
        model.restore(artifact, folder)
        model.reference = saved_reference(artifact, folder)
        return model
