"""Base of the models that are not trained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from weft.document import Document
from weft.io.model_folder import Artifact, load_artifact, save_artifact
from weft.models.common.saved_reference import saved_reference, with_reference
from weft.models.common.setting_checks import restored_settings
from weft.progress import Progress, silent
from weft.scoring.percentiles import Reference
from weft.settings import Settings as ModelSettings


class FixedModel:
    """A model that is not trained; its folder holds its settings and, after `weft calibrate`, reference scores."""

    reference: Reference | None = None
    Settings: ClassVar[type[ModelSettings]]
    settings: ModelSettings

    def __init__(self, settings: ModelSettings | None = None) -> None:
        self.settings = settings or self.Settings()

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:  # noqa: ARG002
        """Return the model itself; there is nothing to learn."""
        return self

    def save(self, folder: str | Path, *, training: Mapping[str, Any] | None = None) -> None:
        """Write the settings."""
        artifact = Artifact(self.settings.model_name, self.settings.to_dict(), training=training or {})
        save_artifact(with_reference(artifact, self.reference), folder)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a folder written by `save`."""
        artifact = load_artifact(folder)
        model = cls(restored_settings(cls.Settings, artifact, folder))
        model.reference = saved_reference(artifact, folder)
        return model
