"""A metric in the style of the library evaluate of Hugging Face, which is not needed for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from weft.document import Document, Score
from weft.errors import ConfigError
from weft.loaded_model import AnyModel, as_model
from weft.registry import DEFAULT_MODEL
from weft.text_inputs import documents_of

Texts = str | Document | Iterable[str | Document]


class CoherenceMetric:
    """Mean coherence of texts, and the score of each; made by `weft.metric`.

    Args:
        model: Name or folder of the model, or what `weft.load` returned.
        combine: ``uni``, ``bi`` or ``mmi``, for a generative model; the default is the model's own.
        genre: Genre of the reference texts of the percentiles; guessed from each text by default.
        language: Language of the sentence splitter.

    Example:
        >>> found = CoherenceMetric("foltz-sif").compute(predictions=["A cat sat. It slept.", "One sentence."])
        >>> found["scored"], len(found["scores"]), found["scores"][1], found["warning_codes"][1]
        (1, 2, None, ['no-score'])
    """

    name = "coherence"

    def __init__(
        self,
        model: AnyModel = DEFAULT_MODEL,
        *,
        combine: str | None = None,
        genre: str | None = None,
        language: str = "en",
    ) -> None:
        self.model = as_model(model).combined(combine)
        self.genre, self.language = genre, language
        self._predictions: list[Document] = []
        self._references: list[Document] = []

    def add(self, *, prediction: str | Document, reference: str | Document | None = None) -> None:
        """Keep a text for `compute`."""
        self.add_batch(predictions=[prediction], references=None if reference is None else [reference])

    def add_batch(self, *, predictions: Texts, references: Texts | None = None) -> None:
        """Keep texts for `compute`."""
        texts = [self._documents(given) for given in (predictions, () if references is None else references)]
        self._predictions += texts[0]
        self._references += texts[1]

    def _documents(self, texts: object) -> list[Document]:
        return documents_of(texts, language=self.language)[0]

    def compute(self, *, predictions: Texts | None = None, references: Texts | None = None) -> dict[str, Any]:
        """Score the texts that were added and those given here.

        Args:
            predictions: Texts, such as those that a language model has written.
            references: Other texts to compare them with, as many as there are predictions; they need not be about the
                same subjects.

        Returns:
            Plain data: ``coherence`` and ``fluency`` (means over the texts that have them; None if there is none),
            ``scores``, ``fluencies``, ``percentiles`` and ``warning_codes`` of each text, ``scored`` (number of texts
            with a score), ``repetitive`` (number of texts that repeat themselves, whose scores mean nothing), and with
            references ``reference_coherence`` and ``difference``.

        Raises:
            ConfigError: There are no texts, or not as many references as predictions.
            CorpusError: Something is not a text.
        """
        if predictions is not None or references is not None:
            self.add_batch(predictions=() if predictions is None else predictions, references=references)
        texts, others = self._predictions, self._references
        self._predictions, self._references = [], []
        _check_numbers(texts, others)
        scores = self.model.score(texts, genre=self.genre)
        found = _summary(scores)
        if others:
            mean = _mean(score.value for score in self.model.score(others, genre=self.genre))
            known = mean is not None and found["coherence"] is not None
            found["reference_coherence"] = mean
            found["difference"] = found["coherence"] - mean if known else None
        return found


def metric(
    model: AnyModel = DEFAULT_MODEL, *, combine: str | None = None, genre: str | None = None, language: str = "en"
) -> CoherenceMetric:
    """Return a metric with the methods of those of the library evaluate: `compute`, `add` and `add_batch`.

    Args:
        model: Name or folder of the model, or what `weft.load` returned.
        combine: ``uni``, ``bi`` or ``mmi``, for a generative model; the default is the model's own.
        genre: Genre of the reference texts of the percentiles; guessed from each text by default.
        language: Language of the sentence splitter.

    Example:
        >>> metric("foltz-sif").compute(predictions=["A cat sat. The cat slept."])["scored"]
        1
    """
    return CoherenceMetric(model, combine=combine, genre=genre, language=language)


def _check_numbers(texts: Sequence[Document], references: Sequence[Document]) -> None:
    if texts and len(references) in (0, len(texts)):
        return
    raise ConfigError(
        "there must be predictions, and as many references or none",
        seen=f"{len(texts)} predictions and {len(references)} references",
        allowed="compute(predictions=[...]), or with a reference for each prediction",
        next_step="pass predictions, or omit references",
    )


def _summary(scores: Sequence[Score]) -> dict[str, Any]:
    codes = [[warning.code for warning in score.warnings] for score in scores]
    return {
        "coherence": _mean(score.value for score in scores),
        "fluency": _mean(score.fluency for score in scores),
        "scores": [score.value for score in scores],
        "fluencies": [score.fluency for score in scores],
        "percentiles": [score.percentile for score in scores],
        "warning_codes": codes,
        "scored": sum(score.value is not None for score in scores),
        "repetitive": sum("repetition" in each for each in codes),
    }


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
