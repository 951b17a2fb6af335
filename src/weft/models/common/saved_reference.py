"""Reference scores in a model folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from weft.io.model_folder import Artifact
from weft.scoring.percentiles import REFERENCE, Reference, read_reference


def saved_reference(artifact: Artifact, folder: str | Path) -> Reference | None:
    """Return the reference scores, if the model was calibrated."""
    if REFERENCE not in artifact.texts:
        return None
    return read_reference(artifact.texts[REFERENCE], source=str(Path(folder) / REFERENCE))


def with_reference(artifact: Artifact, reference: Reference | None) -> Artifact:
    """Return the contents of a model folder with reference scores, if there are any."""
    if reference is None:
        return artifact
    return replace(artifact, texts={**artifact.texts, REFERENCE: reference.to_text()})
