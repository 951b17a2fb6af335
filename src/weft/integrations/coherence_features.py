"""A transformer for scikit-learn: texts in, numbers about their coherence out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin

from weft.document import Document, Score
from weft.errors import ConfigError
from weft.loaded_model import AnyModel, as_model
from weft.models.common.thread_pool import few_threads
from weft.registry import DEFAULT_MODEL
from weft.scoring.own_shuffles import own_shuffles_beaten
from weft.text_inputs import documents_of

OWN = ("coherence", "lowest_link", "breaks", "own_shuffles", "percentile", "fluency")
MOST_SHUFFLES = 10_000


class CoherenceFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Turns texts into features of their coherence, for a pipeline of scikit-learn.

    The features are ``coherence`` (the score), ``lowest_link``, ``breaks`` (number of breaks or weak links),
    ``own_shuffles`` (share of the text's own random orders that score lower), ``percentile``, ``fluency`` (how
    easy to predict the sentences are, whatever their order), ``entity`` and ``lexical`` (the scores of two other
    models). A feature that a text or a model does not have is NaN.

    Nothing is learned from the texts: `fit` checks the names of the models.

    Args:
        model: Name or folder of the model, or what `weft.load` returned.
        entity: Model of the feature ``entity``; None to omit it. The default needs the extra ``parse``.
        lexical: Model of the feature ``lexical``; None to omit it.
        shuffles: Number of random orders of ``own_shuffles``; 0 to omit it, which saves most of the time.
        genre: Genre of the reference texts of the percentiles; guessed from each text by default.
        language: Language of the sentence splitter.

    Example:
        >>> features = CoherenceFeatures(model="foltz-sif", entity=None, lexical="foltz-glove")
        >>> found = features.fit_transform(["A cat sat. It slept. Rain fell.", "One sentence."])
        >>> found.shape, [*features.get_feature_names_out()][-1], bool(np.isnan(found[1, 0]))
        ((2, 7), 'lexical', True)
    """

    def __init__(
        self,
        model: AnyModel = DEFAULT_MODEL,
        *,
        entity: AnyModel | None = "entity-graph",
        lexical: AnyModel | None = "foltz-sif",
        shuffles: int = 100,
        genre: str | None = None,
        language: str = "en",
    ) -> None:
        self.model, self.entity, self.lexical = model, entity, lexical
        self.shuffles, self.genre, self.language = shuffles, genre, language

    def fit(self, X: object = None, y: object = None) -> Self:  # noqa: ARG002, N803  scikit-learn's names
        """Load the models, so that an unknown name is an error here, and return the transformer."""
        self._check_shuffles()
        for model in (self.model, *self._others().values()):
            as_model(model)
        return self

    def transform(self, X: object) -> npt.NDArray[np.float64]:  # noqa: N803
        """Return one row per text.

        Args:
            X: Texts: a list, an array or a Series of strings or Documents.

        Raises:
            WeftError: There is no such model or genre, something is not a text, or ``shuffles`` is out of range.
        """
        self._check_shuffles()
        documents, _ = documents_of([X] if isinstance(X, str | Document) else X, language=self.language)
        columns = self._own_columns(documents)
        for name, model in self._others().items():
            columns[name] = [_number(score.value) for score in as_model(model).score(documents)]
        return np.array([columns[name] for name in self._names()], dtype=np.float64).T

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:  # noqa: ARG002
        """Return the names of the features."""
        return np.array(self._names(), dtype=object)

    def _own_columns(self, documents: list[Document]) -> dict[str, list[float]]:
        model = as_model(self.model)
        scores: list[Score] = model.score(documents, genre=self.genre)
        columns = {
            "coherence": [_number(score.value) for score in scores],
            "lowest_link": [min(score.transitions, default=math.nan) for score in scores],
            "breaks": [float(len(score.breaks)) if score.transitions else math.nan for score in scores],
            "percentile": [_number(score.percentile) for score in scores],
            "fluency": [_number(score.fluency) for score in scores],
        }
        if self.shuffles:
            with few_threads():
                beaten = [own_shuffles_beaten(model.inner, score, shuffles=self.shuffles) for score in scores]
            columns["own_shuffles"] = [_number(share) for share in beaten]
        return columns

    def _check_shuffles(self) -> None:
        if not isinstance(self.shuffles, Integral) or not 0 <= self.shuffles <= MOST_SHUFFLES:
            raise ConfigError(
                "the number of random orders is wrong",
                seen=self.shuffles,
                allowed=f"a whole number from 0 to {MOST_SHUFFLES}",
                next_step="change shuffles; 0 omits the feature",
            )

    def _others(self) -> dict[str, AnyModel]:
        named = {"entity": self.entity, "lexical": self.lexical}
        return {name: model for name, model in named.items() if model is not None}

    def _names(self) -> list[str]:
        own: Iterable[str] = OWN if self.shuffles else (name for name in OWN if name != "own_shuffles")
        return [*own, *self._others()]

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        """Say that the input is a list of strings and that nothing is learned."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.requires_fit = False
        return tags


def _number(value: float | None) -> float:
    return math.nan if value is None else value
