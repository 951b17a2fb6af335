"""The task `ratings`: agree with people's ratings of coherence (CoheSentia, Maimon & Tsarfaty 2023).

People rated generated stories from 1 to 5, once as a whole and once sentence by sentence; for each sentence they said
whether something was wrong with it. Nothing is learned from the set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.corpora.readers.jsonl import Record
from weft.document import Document, Score
from weft.errors import is_number
from weft.evaluation.result import Measure
from weft.evaluation.sets.links import links_of, unbroken
from weft.evaluation.sets.rank_statistics import Statistic, auc, kendall, spearman, summarize_statistic
from weft.evaluation.sets.records import NEXT_STEP, id_of, read_items, sentences_of
from weft.evaluation.task_contract import DataFile, EvaluateOptions, Outcome, Subject
from weft.progress import Progress, silent
from weft.protocols import BreakModel, DocumentScorer, FluencyModel

STORIES_AT_ONCE = 16
FORM = (
    '{"StoryID": …, "HolisticData": {"consensus_score": 1 to 5}, "IncrementalData": {"sentences": […], '
    '"consensus_score": 1 to 5, "reasons": {annotator: {number of a sentence: [reasons]}}}}'
)


@dataclass(frozen=True, slots=True)
class RatedStory:
    """A story with the ratings of people."""

    document: Document
    whole: float  # the rating of people who read the whole story
    stepwise: float  # the rating of people who read it sentence by sentence
    marked: tuple[float, ...]  # for each sentence, the share of people who found something wrong with it


def measure_ratings(subject: Subject, data: DataFile, options: EvaluateOptions, progress: Progress) -> Outcome:
    """Correlate the scores of a model with the ratings of people."""
    stories = read_items(data, FORM, story_of)
    return correlate_ratings(subject.model, stories, seed=options.seed, progress=progress)


def story_of(record: Record) -> RatedStory:
    """Return the story of a line of the set."""
    parts = [_object(record, record.fields, key) for key in ("HolisticData", "IncrementalData")]
    sentences = sentences_of(record, "sentences", least=1, fields=parts[1])
    whole, stepwise = (_rating(record, part) for part in parts)
    reasons = _object(record, parts[1], "reasons")
    numbers = [set(_object(record, reasons, name)) for name in reasons]
    shares = tuple(sum(str(n) in found for found in numbers) / max(1, len(numbers)) for n in range(len(sentences)))
    return RatedStory(Document(id_of(record, "StoryID"), sentences), whole, stepwise, shares)


def _object(record: Record, fields: dict[str, object], key: str) -> dict[str, object]:
    value = fields.get(key)
    if not isinstance(value, dict):
        raise record.error(
            f'"{key}" is not an object', seen="nothing" if value is None else value, allowed=FORM, next_step=NEXT_STEP
        )
    return value


def _rating(record: Record, fields: dict[str, object]) -> float:
    value = fields.get("consensus_score")
    if not is_number(value):
        raise record.error('no "consensus_score"', seen=value, allowed="a number", next_step=NEXT_STEP)
    return float(value)


def correlate_ratings(
    model: DocumentScorer, stories: Sequence[RatedStory], *, seed: int = 1, progress: Progress = silent
) -> Outcome:
    """Correlate the scores of a model with the ratings of people.

    Returns:
        ``spearman`` and ``kendall`` (τ-b) with the rating of the whole story, ``stepwise_spearman`` and
        ``stepwise_kendall`` with the rating after reading it sentence by sentence. For models with links:
        ``sentence_auc``, the probability that the link into a sentence that half of the people or more marked is
        weaker than the link into another sentence of any story, and ``sentence_spearman`` between the link and the
        share of people who did not mark the sentence. First sentences have no link into them. ``length_spearman`` is
        the control: the correlation of the rating with the number of sentences, the shorter the better. A story
        without a score is excluded. Ties count one half. If the model has a second value, the fluency of a text,
        ``fluency_spearman`` and ``fluency_kendall`` are its correlations with the rating of the whole story.
    """
    scores: list[Score] = []
    fluencies: list[float | None] = []
    for start in range(0, len(stories), STORIES_AT_ONCE):
        documents = [story.document for story in stories[start : start + STORIES_AT_ONCE]]
        scores += model.score(documents)
        fluencies += [model.fluency(one) if isinstance(model, FluencyModel) else None for one in documents]
        progress("scoring stories", len(scores), len(stories))
    chosen = [number for number, score in enumerate(scores) if score.value is not None]
    kept = [(stories[number], scores[number]) for number in chosen]
    statistics = _whole_statistics(kept) | _sentence_statistics(model, kept) if kept else {}
    statistics |= _fluency_statistics(kept, [fluencies[number] for number in chosen])
    found = {name: summarize_statistic(one, len(kept), seed=seed) for name, one in statistics.items()}
    return Outcome(
        measures={name: measure for name, (measure, _) in found.items()},
        documents=[story.document.id for story, _ in kept],
        lengths=[len(story.document) for story, _ in kept],
        n_excluded=len(stories) - len(kept),
        scores={"score": Measure.of_values([score.value for _, score in kept])},
        intervals={name: interval for name, (_, interval) in found.items()},
    )


Kept = Sequence[tuple[RatedStory, Score]]


def _whole_statistics(kept: Kept) -> dict[str, Statistic]:
    values = [score.value or 0.0 for _, score in kept]
    whole, stepwise = [story.whole for story, _ in kept], [story.stepwise for story, _ in kept]
    return {
        "spearman": spearman(values, whole),
        "kendall": kendall(values, whole),
        "stepwise_spearman": spearman(values, stepwise),
        "stepwise_kendall": kendall(values, stepwise),
        "length_spearman": spearman([-len(story.document) for story, _ in kept], whole),
    }


def _fluency_statistics(kept: Kept, fluencies: Sequence[float | None]) -> dict[str, Statistic]:
    values, whole = [value for value in fluencies if value is not None], [story.whole for story, _ in kept]
    if not values or len(values) < len(kept):
        return {}
    return {"fluency_spearman": spearman(values, whole), "fluency_kendall": kendall(values, whole)}


def _sentence_statistics(model: DocumentScorer, kept: Kept) -> dict[str, Statistic]:
    """Return statistics over the sentences of all stories; a resample draws stories with all their sentences."""
    links: list[float] = []
    marked: list[float] = []
    owners: list[int] = []
    for number, (story, score) in enumerate(kept):
        found = unbroken(model, story.document) if isinstance(model, BreakModel) else links_of(score, story.document)
        if found is not None:
            links += found
            marked += story.marked[1:]
            owners += [number] * len(found)
    if not links:
        return {}
    return {
        "sentence_auc": auc(links, [share < 0.5 for share in marked], owners),
        "sentence_spearman": spearman(links, [-share for share in marked], owners),
    }
