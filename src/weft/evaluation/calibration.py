"""Reference scores of a model on texts and on shuffled copies, and its probabilities of breaks (`weft calibrate`)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from weft.corpora.negatives.damaged_documents import damaged_copies
from weft.corpora.negatives.permute import permutations
from weft.document import Document
from weft.errors import ConfigError, CorpusError
from weft.hub import describe_model, load_model
from weft.io.devices import on_device
from weft.io.model_folder import Artifact, load_artifact, save_artifact
from weft.progress import Progress, silent
from weft.protocols import BreakModel, CalibratedModel, CoherenceModel, DocumentScorer
from weft.scoring.break_calibration import BREAK_CALIBRATION, BreakCalibration, fit_calibration
from weft.scoring.percentiles import REFERENCE, Group, Reference, make_group

LENGTH_CLASSES = (3, 5, 10)  # smallest number of sentences of each class
TEXTS_EACH = 1000
FEWEST_TEXTS = 20  # fewer texts do not give percentiles
AT_ONCE = 50


def calibrate(
    folder: str | Path,
    documents: Iterable[Document],
    *,
    texts: str,
    out: str | Path | None = None,
    seed: int = 1,
    device: str = "auto",
    command: str = "",
    progress: Progress = silent,
) -> Reference:
    """Score paragraphs and one shuffled copy of each, and write the quantiles into the model's folder.

    For a model that estimates breaks, write also the calibration of their probabilities and the threshold above which
    a gap is marked, from the paragraphs and one damaged copy of each.

    Args:
        folder: Folder of a trained model; with ``out``, also the name of one.
        documents: Texts that the model was not trained on; every paragraph counts as one text.
        texts: Name of these texts, such as ``Wikipedia paragraphs``.
        out: Folder of a calibrated copy to write; None changes the folder of the model.
        seed: Seed of the shuffles.
        device: ``auto``, ``cpu`` or ``cuda``.
        command: The command to record.
        progress: Called as the work goes on.

    Returns:
        The reference scores.

    Raises:
        ConfigError: The model cannot be calibrated, or its folder cannot be written.
        CorpusError: There are too few texts of some length.
    """
    if out is not None:
        _check_new(Path(out))
    model = on_device(load_model(folder), device)
    if not isinstance(model, CalibratedModel):
        raise ConfigError(
            "this model cannot be calibrated",
            seen=model.settings.model_name,
            allowed="a generative model, such as weft-small or seq2seq",
            next_step="name one of these, or a folder with one",
        )
    classes = _paragraphs_by_class(documents)
    groups = tuple(_group(model, fewest, found, seed, progress) for fewest, found in classes.items())
    artifact = load_artifact(folder) if out is None else _contents(model, folder)
    setting = str(artifact.config.get("combine", ""))
    reference = Reference(texts, setting, groups, seed, command)
    written = {REFERENCE: reference.to_text()}
    if isinstance(model, BreakModel):
        paragraphs = [paragraph for found in classes.values() for paragraph in found]
        written[BREAK_CALIBRATION] = calibrate_breaks(model, paragraphs, name=texts, seed=seed).to_text()
    save_artifact(replace(artifact, texts={**artifact.texts, **written}), folder if out is None else out)
    return reference


def _check_new(out: Path) -> None:
    """Raise ConfigError if a folder has content that a copy would replace."""
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise ConfigError(
            "the folder of the copy is not empty",
            seen=str(out),
            allowed="a new folder",
            next_step="give another --out, or calibrate the model in this folder by its path, without --out",
        )


def _contents(model: CoherenceModel, name: str | Path) -> Artifact:
    """Return the contents of a folder of its own for a model, which the package or another folder may hold."""
    with tempfile.TemporaryDirectory() as place:
        model.save(place, training=describe_model(name).training)
        return load_artifact(place)


def calibrate_breaks(
    model: BreakModel, documents: Sequence[Document], *, name: str = "", seed: int = 1
) -> BreakCalibration:
    """Return the calibration of a model's probabilities of breaks, from sound texts and one damaged copy of each."""
    sound = [model.break_odds(document).tolist() for document in documents]
    odds = [value for values in sound for value in values]
    broken = [False] * len(odds)
    for damaged in damaged_copies(documents, seed=seed):
        for value, label in zip(model.break_odds(damaged.document).tolist(), damaged.broken, strict=True):
            if label is not None:
                odds.append(value)
                broken.append(label)
    return fit_calibration(odds, broken, sound, name=name)


def _paragraphs_by_class(documents: Iterable[Document]) -> dict[int, list[Document]]:
    """Return paragraphs by the smallest number of sentences of their length class."""
    found: dict[int, list[Document]] = {fewest: [] for fewest in LENGTH_CLASSES}
    for paragraph in (paragraph for document in documents for paragraph in document.paragraphs()):
        fitting = [fewest for fewest in LENGTH_CLASSES if fewest <= len(paragraph)]
        shuffles = len(set(paragraph.sentences)) > 1  # equal sentences cannot be shuffled
        if fitting and shuffles and len(found[fitting[-1]]) < TEXTS_EACH:
            found[fitting[-1]].append(paragraph)
        if all(len(texts) == TEXTS_EACH for texts in found.values()):
            break
    for fewest, texts in found.items():
        if len(texts) < FEWEST_TEXTS:
            raise CorpusError(
                f"too few texts of {_sentences_of(fewest)}",
                seen=len(texts),
                allowed=f"{FEWEST_TEXTS} texts of each length: {'; '.join(map(_sentences_of, LENGTH_CLASSES))}",
                next_step=f"add texts with paragraphs of {_sentences_of(fewest)}",
            )
    return found


def _sentences_of(fewest: int) -> str:
    """Return the lengths of a class in words.

    Example:
        >>> _sentences_of(3), _sentences_of(10)
        ('3 to 4 sentences', '10 or more sentences')
    """
    longer = [other for other in LENGTH_CLASSES if other > fewest]
    return f"{fewest} to {min(longer) - 1} sentences" if longer else f"{fewest} or more sentences"


def _group(model: DocumentScorer, fewest: int, documents: Sequence[Document], seed: int, progress: Progress) -> Group:
    shuffled = [document.reorder(permutations(document, count=1, seed=seed)[0]) for document in documents]
    label = f"texts of {_sentences_of(fewest)}"
    written = _values(model, documents, label, progress)
    return make_group(fewest, written, _values(model, shuffled, f"{label}, shuffled", progress))


def _values(model: DocumentScorer, documents: Sequence[Document], label: str, progress: Progress) -> list[float]:
    values: list[float] = []
    for start in range(0, len(documents), AT_ONCE):
        values += [score.value or 0.0 for score in model.score(documents[start : start + AT_ONCE])]
        progress(label, len(values), len(documents))
    return values
