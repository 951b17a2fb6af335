"""The tasks `sp`, `bso` and `dc` of DiscoEval (Chen et al. 2019), solved by the scores of a model.

DiscoEval trains a classifier on frozen sentence vectors for each task. Here nothing is trained: a model scores the
texts that a task asks about. Only the threshold of one metric of `dc` is chosen on labelled texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from weft.corpora.readers.jsonl import Record
from weft.document import Document
from weft.evaluation.metrics import best_alone
from weft.evaluation.result import Measure
from weft.evaluation.sets.choices import Question, choices_outcome
from weft.evaluation.sets.rank_statistics import auc, summarize_statistic
from weft.evaluation.sets.records import id_of, label_of, read_items, sentences_of
from weft.evaluation.task_contract import DataFile, EvaluateOptions, Outcome, Subject
from weft.io.file_hash import sha256_of
from weft.progress import Progress, silent
from weft.protocols import DocumentScorer
from weft.scoring.uni_bi_mmi import order_values

TEXTS_AT_ONCE = 32
SP_FORM = '{"id": …, "sentences": [the sentence to place, then the others in order], "label": its position, from 0}'
BSO_FORM = '{"id": …, "fields": [two sentences in their true order]}'
DC_FORM = '{"id": …, "sentences": [sentences], "label": 1 for a coherent text, 0 for one with a strange sentence}'
Labelled = tuple[Document, int]  # a text and its label


def measure_positions(
    subject: Subject,
    data: DataFile,
    options: EvaluateOptions,  # noqa: ARG001  part of the contract
    progress: Progress,
) -> Outcome:
    """Put the first sentence of every group at each position."""
    return place_first(subject.model, read_items(data, SP_FORM, _group), progress=progress)


def _group(record: Record) -> Labelled:
    sentences = sentences_of(record, "sentences", least=2)
    return Document(id_of(record), sentences), label_of(record, range(len(sentences)))


def place_first(model: DocumentScorer, groups: Sequence[Labelled], *, progress: Progress = silent) -> Outcome:
    """Put the first sentence of every group at each position among the others, which are in order.

    Returns:
        ``accuracy``: the share of groups in which the true position scores strictly highest.

    Example:
        >>> from weft.registry import create_model
        >>> group = Document("d", ("Wed in 1820.", "Born in 1800.", "Died in 1880."))
        >>> place_first(create_model("year-sort"), [(group, 1)]).measures["accuracy"].numerators
        (1.0,)
    """
    chosen = []
    for number, (document, _) in enumerate(groups):
        rest = range(1, len(document))
        orders = [(*rest[:place], 0, *rest[place:]) for place in range(len(document))]
        chosen.append(best_alone(order_values(model, document, orders)))
        progress("placing sentences", number + 1, len(groups))
    return choices_outcome(chosen, [Question(document.id, len(document), place) for document, place in groups])


def measure_two_orders(
    subject: Subject,
    data: DataFile,
    options: EvaluateOptions,  # noqa: ARG001  part of the contract
    progress: Progress,
) -> Outcome:
    """Score both orders of every two sentences."""
    return choose_orders(subject.model, read_items(data, BSO_FORM, _pair), progress=progress)


def _pair(record: Record) -> Document:
    return Document(id_of(record), sentences_of(record, "fields", least=2))


def choose_orders(model: DocumentScorer, pairs: Sequence[Document], *, progress: Progress = silent) -> Outcome:
    """Score both orders of every two sentences.

    Returns:
        ``accuracy``: the share of pairs whose true order scores strictly higher.

    Example:
        >>> from weft.registry import create_model
        >>> pair = Document("d", ("Born in 1800.", "Died in 1880."))
        >>> choose_orders(create_model("year-sort"), [pair]).measures["accuracy"].numerators
        (1.0,)
    """
    chosen = []
    for number, document in enumerate(pairs):
        chosen.append(best_alone(order_values(model, document, [(0, 1), (1, 0)])))
        progress("comparing two orders", number + 1, len(pairs))
    return choices_outcome(chosen, [Question(document.id, len(document), right=0) for document in pairs])


def measure_coherent_texts(subject: Subject, data: DataFile, options: EvaluateOptions, progress: Progress) -> Outcome:
    """Compare the scores of coherent and of changed texts; the threshold comes from the valid part, if there is one."""
    texts = read_items(data, DC_FORM, _text)
    valid = valid_part(data.path)
    known = read_items(replace(data, path=valid), DC_FORM, _text) if valid is not None else []
    found = tell_coherent(subject.model, texts, known, seed=options.seed, progress=progress)
    source = {} if valid is None else {"valid_name": valid.name, "valid_sha256": sha256_of(valid)}
    return replace(found, settings={**found.settings, **source})


def _text(record: Record) -> Labelled:
    return Document(id_of(record), sentences_of(record, "sentences", least=2)), label_of(record, range(2))


def valid_part(path: Path) -> Path | None:
    """Return the file beside a test file whose name has ``valid`` in place of ``test``, if there is one."""
    beside = path.with_name(path.name.replace(".test.", ".valid."))
    return beside if beside != path and beside.is_file() else None


def tell_coherent(
    model: DocumentScorer,
    texts: Sequence[Labelled],
    valid: Sequence[Labelled] = (),
    *,
    seed: int = 1,
    progress: Progress = silent,
) -> Outcome:
    """Score every text.

    Returns:
        ``auc``: the probability that a coherent text scores higher than a changed one (a tie counts one half).
        ``accuracy_at_median``: the share of texts on the right side of the median score; it uses no label, but knows
        that half of the texts are changed. ``accuracy``: the share on the right side of the threshold that is best on
        ``valid``, if there are such texts. A text on a threshold, or without a score, is wrong.

    Example:
        >>> from weft.registry import create_model
        >>> good, bad = ("Born in 1800.", "Died in 1880."), ("Died in 1880.", "Born in 1800.")
        >>> texts = [(Document("a", good), 1), (Document("b", bad), 0)]
        >>> tell_coherent(create_model("year-sort"), texts).measures["accuracy_at_median"].numerators
        (1.0, 1.0)
    """
    values = _values(model, [document for document, _ in texts], progress)
    labels = [label for _, label in texts]
    scored = np.array([value for value in values if np.isfinite(value)])
    settings: dict[str, Any] = {"median": float(np.median(scored))} if len(scored) else {}
    if valid:
        known = _values(model, [document for document, _ in valid], progress)
        settings["threshold"] = best_threshold(known, [label for _, label in valid])
    area, interval = summarize_statistic(auc(values, [label == 1 for label in labels]), len(texts), seed=seed)
    measures = {"auc": area}
    for name, threshold in (("accuracy_at_median", "median"), ("accuracy", "threshold")):
        if threshold in settings:
            right = tuple(float(_is_right(v, settings[threshold], n)) for v, n in zip(values, labels, strict=True))
            measures[name] = Measure(right, (1.0,) * len(texts))
    return Outcome(
        measures=measures,
        documents=[document.id for document, _ in texts],
        lengths=[len(document) for document, _ in texts],
        n_pairs=len(texts),
        scores={"score": Measure.of_values([value if np.isfinite(value) else None for value in values])},
        settings=settings,
        intervals={"auc": interval},
    )


def _is_right(value: float, threshold: float, label: int) -> bool:
    return value > threshold if label else value < threshold


def _values(model: DocumentScorer, documents: Sequence[Document], progress: Progress) -> list[float]:
    """Return the score of every document; minus infinity for one without a score."""
    found: list[float] = []
    for start in range(0, len(documents), TEXTS_AT_ONCE):
        for score in model.score(documents[start : start + TEXTS_AT_ONCE]):
            found.append(float("-inf") if score.value is None or score.value != score.value else score.value)
        progress("scoring texts", len(found), len(documents))
    return found


def best_threshold(values: Sequence[float], labels: Sequence[int]) -> float:
    """Return the threshold with the highest accuracy: the middle between two neighbouring scores; the lowest of equals.

    Example:
        >>> best_threshold([0.1, 0.4, 0.6, 0.9], [0, 0, 1, 1])
        0.5
    """
    distinct = sorted({value for value in values if np.isfinite(value)})
    between = [(low + high) / 2 for low, high in pairwise(distinct)] or distinct or [0.0]
    scores, positive = np.asarray(values), np.asarray(labels) == 1
    higher, lower = np.sort(scores[positive]), np.sort(scores[~positive])
    cuts = np.asarray(between)
    right = len(higher) - np.searchsorted(higher, cuts, side="right") + np.searchsorted(lower, cuts, side="left")
    return float(cuts[int(np.argmax(right))])
