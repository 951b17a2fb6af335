"""Reference scores of a model on texts and on shuffled copies, and its probabilities of breaks (`weft calibrate`)."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from weft.corpora.negatives.damaged_documents import damaged_copies
from weft.corpora.negatives.permute import permutations
from weft.corpora.text.genre import genre_of_label
from weft.document import Document
from weft.errors import ConfigError, CorpusError, check_known
from weft.hub import copied_model, load_model, writable_folder
from weft.io.devices import on_device
from weft.io.model_folder import load_artifact, save_artifact
from weft.io.seeded_hash import hash_key
from weft.progress import Progress, silent
from weft.protocols import BreakModel, CalibratedModel, DocumentScorer
from weft.scoring.break_calibration import BREAK_CALIBRATION, BreakCalibration, fit_calibration
from weft.scoring.percentiles import REFERENCE, Group, Reference, make_group

LENGTH_CLASSES = (3, 5, 10, 20)  # smallest number of sentences of each class
LONGEST_EXCERPT = 40  # sentences
TEXTS_EACH = 1000  # of a length class
TEXTS_OF_GENRE = 200  # of a length class of one of several genres
FEWEST_TEXTS = 20  # fewer texts do not give percentiles
AT_ONCE = 50
UNITS = ("paragraph", "text", "excerpt")


@dataclass(frozen=True, slots=True)
class ScoredText:
    """The scores of a reference text and of one shuffle of it."""

    sentences: int
    written: float
    shuffled: float


def calibrate(
    name: str | Path,
    documents: Iterable[Document],
    *,
    texts: str,
    unit: str = "paragraph",
    out: str | Path | None = None,
    seed: int = 1,
    device: str = "auto",
    command: str = "",
    progress: Progress = silent,
) -> Reference:
    """Score texts and one shuffled copy of each, and write the quantiles into the model's folder.

    If the documents have genres, each genre has quantiles of its own, and counts the same in those of all texts. For a
    model that estimates breaks, write also the calibration of their probabilities and the threshold above which a gap
    is marked, from the texts and one damaged copy of each.

    Args:
        name: Name or folder of a model.
        documents: Texts that the model was not trained on.
        texts: Name of these texts, such as ``student essays``.
        unit: What counts as a text: every ``paragraph``, every document (``text``), or one ``excerpt`` of each length
            class of every document.
        out: Model folder to write; by default, the model's own.
        seed: Seed of the shuffles and excerpts.
        device: ``auto``, ``cpu`` or ``cuda``.
        command: The command to record.
        progress: Called as the work goes on.

    Returns:
        The reference scores.

    Raises:
        ConfigError: The model cannot be calibrated, the unit is unknown, or the folder cannot be written.
        CorpusError: There are too few texts.
    """
    check_known("unit", unit, UNITS)
    with _folder_to_write(name, out) as folder:
        artifact = load_artifact(folder)
        model = on_device(load_model(folder), device)
        if not isinstance(model, CalibratedModel):
            raise ConfigError(
                "this model cannot be calibrated",
                seen=artifact.model,
                allowed="a model that holds reference scores (weft.protocols.CalibratedModel)",
                next_step="calibrate another model, or add `reference` to its class",
            )
        chosen = _chosen_texts(documents, unit, seed)
        scored = {genre: _scored(model, found, genre, seed, progress) for genre, found in chosen.items()}
        setting = str(artifact.config.get("combine", ""))
        reference = Reference(texts, setting, _all_groups(scored), seed, command, unit, _genre_groups(scored, unit))
        written = {REFERENCE: reference.to_text()}
        if isinstance(model, BreakModel):
            everything = [text for found in chosen.values() for text in found]
            written[BREAK_CALIBRATION] = calibrate_breaks(model, everything, name=texts, seed=seed).to_text()
        save_artifact(replace(artifact, texts={**artifact.texts, **written}), folder)
    return reference


@contextmanager
def _folder_to_write(name: str | Path, out: str | Path | None) -> Iterator[Path]:
    """Give the folder of a model, or a copy of it that is written to ``out`` if the block raises no error."""
    if out is None:
        yield writable_folder(name)
        return
    _check_new(Path(out))
    with tempfile.TemporaryDirectory() as place:
        copy = copied_model(name, Path(place) / "model")
        yield copy
        save_artifact(load_artifact(copy), out)


def _check_new(out: Path) -> None:
    """Raise ConfigError if a folder has content that a copy would replace."""
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise ConfigError(
            "the folder of the copy is not empty",
            seen=str(out),
            allowed="a new folder",
            next_step="give another --out, or calibrate the model in this folder by its path, without --out",
        )


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


# Choosing texts -------------------------------------------------------------------------------------------------------


def _chosen_texts(documents: Iterable[Document], unit: str, seed: int) -> dict[str, list[Document]]:
    """Return the texts of each genre, at most so many of each length class; texts without a genre have the genre ''.

    Raises:
        CorpusError: There are too few texts.
    """
    found: dict[str, dict[int, list[Document]]] = {}
    for text in (text for document in documents for text in _texts_of(document, unit, seed)):
        genre = genre_of_label(text.genre)
        classes = found.setdefault(genre, {})
        same = classes.setdefault(_class_of(len(text)), [])
        if len(same) < (TEXTS_OF_GENRE if genre else TEXTS_EACH):
            same.append(text)
    chosen = {genre: [text for _, same in sorted(classes.items()) for text in same] for genre, classes in found.items()}
    count = sum(map(len, chosen.values()))
    if count < FEWEST_TEXTS:
        raise CorpusError(
            "too few texts",
            seen=count,
            allowed=f"at least {FEWEST_TEXTS} of {LENGTH_CLASSES[0]} sentences or more, which are not all equal",
            next_step="add texts, or count every paragraph with --unit paragraph",
        )
    return chosen


def _texts_of(document: Document, unit: str, seed: int) -> list[Document]:
    """Return the texts of a document that are long enough and can be shuffled."""
    if unit == "excerpt":
        found = [_excerpt(document, fewest, seed) for fewest in LENGTH_CLASSES if len(document) >= fewest]
    else:
        found = document.paragraphs() if unit == "paragraph" else [document]
    return [text for text in found if len(text) >= LENGTH_CLASSES[0] and len(set(text.sentences)) > 1]


def _excerpt(document: Document, fewest: int, seed: int) -> Document:
    """Return an excerpt whose length is in a class; it is a function of the seed and the document's name."""
    longer = [other - 1 for other in LENGTH_CLASSES if other > fewest]
    most = min(longer[0] if longer else LONGEST_EXCERPT, len(document))
    drawn = int.from_bytes(hash_key(seed, fewest, document.id))
    size = fewest + drawn % (most - fewest + 1)
    start = drawn // 64 % (len(document) - size + 1)
    return replace(document.reorder(range(start, start + size)), id=f"{document.id}#{start}-{start + size}")


def _class_of(sentences: int) -> int:
    return max(fewest for fewest in LENGTH_CLASSES if fewest <= sentences)


# Scores ---------------------------------------------------------------------------------------------------------------


def _scored(
    model: DocumentScorer, documents: Sequence[Document], genre: str, seed: int, progress: Progress
) -> list[ScoredText]:
    """Return the scores of texts and of their shuffles; texts without a score are left out."""
    found: list[ScoredText] = []
    for start in range(0, len(documents), AT_ONCE):
        batch = documents[start : start + AT_ONCE]
        shuffled = [document.reorder(permutations(document, count=1, seed=seed)[0]) for document in batch]
        for document, one, other in zip(batch, model.score(batch), model.score(shuffled), strict=True):
            if one.value is not None and other.value is not None:
                found.append(ScoredText(len(document), one.value, other.value))
        progress(f"{genre or 'reference'} texts", start + len(batch), len(documents))
    return found


def _all_groups(scored: Mapping[str, Sequence[ScoredText]]) -> tuple[Group, ...]:
    """Return the quantiles of all texts; in each length class every genre has the same weight.

    Raises:
        CorpusError: The model has no score for most of the texts.
    """
    everything = [text for texts in scored.values() for text in texts]
    if len(everything) < FEWEST_TEXTS:
        raise CorpusError(
            "too few texts have a score",
            seen=len(everything),
            allowed=f"at least {FEWEST_TEXTS}",
            next_step="add texts, or calibrate another model",
        )
    groups = []
    for fewest, most in _length_ranges(everything):
        inside = {genre: [text for text in texts if fewest <= text.sentences < most] for genre, texts in scored.items()}
        weights = [1 / len(texts) for texts in inside.values() for _ in texts]
        groups.append(_make_group(fewest, [text for texts in inside.values() for text in texts], weights))
    return tuple(groups)


def _genre_groups(scored: Mapping[str, Sequence[ScoredText]], unit: str) -> dict[str, tuple[Group, ...]]:
    """Return the quantiles of each genre that has enough texts; a text without a genre counts among all texts only."""
    return {
        genre: tuple(
            _make_group(fewest, [text for text in texts if fewest <= text.sentences < most])
            for fewest, most in _length_ranges(texts)
        )
        for genre, texts in sorted(scored.items())
        if genre and _independent(texts, unit) >= FEWEST_TEXTS
    }


def _independent(texts: Sequence[ScoredText], unit: str) -> int:
    """Return the number of texts; excerpts of one document, which has one in each length class, count once."""
    if unit != "excerpt":
        return len(texts)
    return max(Counter(_class_of(text.sentences) for text in texts).values(), default=0)


def _length_ranges(texts: Sequence[ScoredText]) -> list[tuple[int, float]]:
    """Return ranges of length (from, below) with enough texts each; a class with too few texts joins the next one.

    Example:
        >>> short, long = [ScoredText(4, 0.0, 0.0)] * 20, [ScoredText(12, 0.0, 0.0)] * 19
        >>> _length_ranges([*short, *long]), _length_ranges([*short, *long, ScoredText(25, 0.0, 0.0)])
        ([(3, inf)], [(3, 10.0), (10, inf)])
    """
    counts = Counter(_class_of(text.sentences) for text in texts)
    starts: list[int] = []
    waiting, start = 0, 0
    for fewest in sorted(counts):
        start = start or fewest
        waiting += counts[fewest]
        if waiting >= FEWEST_TEXTS:
            starts.append(start)
            waiting, start = 0, 0
    ends = [*(float(other) for other in starts[1:]), math.inf]
    return list(zip(starts, ends, strict=True))


def _make_group(fewest: int, texts: Sequence[ScoredText], weights: Sequence[float] | None = None) -> Group:
    return make_group(fewest, [text.written for text in texts], [text.shuffled for text in texts], weights)
