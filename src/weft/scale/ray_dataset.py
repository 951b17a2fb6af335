"""Scores as a step of a user's own Ray Data pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.corpora.text.sentences import check_language, document_of_text
from weft.document import Document, Score
from weft.errors import ConfigError, did_you_mean
from weft.registry import DEFAULT_MODEL
from weft.scale.block_rows import BadRow
from weft.scale.ray_engine import cores_of_machines, one_thread, ray_data
from weft.scale.score_blocks import WINDOW, ScoringOptions, score_rows
from weft.settings import check_count, check_type

if TYPE_CHECKING:
    from ray.data import Dataset

PREFIX = "coherence"


def score_dataset(
    dataset: Dataset,
    *,
    column: str = "text",
    language: str = "en",
    model: str | Path = DEFAULT_MODEL,
    combine: str | None = None,
    settings: Mapping[str, Any] | None = None,
    genre: str | None = None,
    workers: int = 1,
) -> Dataset:
    """Return a Ray dataset with the scores of its texts in further columns; nothing is computed until it is used.

    The new columns are ``coherence`` (NaN if there is no score), ``coherence_percentile``, ``coherence_transitions``
    and ``coherence_warnings``, the codes of warnings. Ray decides which texts are scored together, so the last digits
    can differ between two runs; `weft.scale.score` writes the same bytes every time.

    A worker takes one core of the cluster if enough are left for the other steps of the pipeline, such as reading.
    With as many workers as cores, or more, each takes a part of a core, so that one core is left on some machine: all
    workers compute, by turns with the other steps. The cores are counted when this function is called.

    Args:
        dataset: The dataset.
        column: Its column with the texts.
        language: Language of the sentence splitter.
        model: Name or folder of a model.
        combine: ``uni``, ``bi`` or ``mmi``, for a generative model.
        settings: Other settings of the model.
        genre: Genre of the percentiles; by default guessed for each text.
        workers: Number of workers, each with a model and one thread.

    Raises:
        ConfigError: Ray is not installed, or an option has a wrong value.

    Example:
        >>> score_dataset([{"text": "It rained."}])
        Traceback (most recent call last):
        weft.errors.ConfigError: not a dataset of Ray: saw 'list'; allowed: a ray.data.Dataset; next: use weft.score for
        a list, or weft.scale.score for files
    """
    if not type(dataset).__module__.startswith("ray.data"):  # Ray is started only for a dataset
        raise ConfigError(
            "not a dataset of Ray",
            seen=type(dataset).__name__,
            allowed="a ray.data.Dataset",
            next_step="use weft.score for a list, or weft.scale.score for files",
        )
    check_type("column", column, "text")
    check_count("workers", workers)
    check_language(language)
    _check_column(dataset, column)
    options = ScoringOptions(str(model), combine, "auto", dict(settings or {}), genre)
    options.load()  # an error in the options is raised here, and not in every worker
    data = ray_data(workers)
    return dataset.map_batches(
        _DatasetScorer,
        fn_constructor_args=(options, column, language),
        batch_size=WINDOW,
        compute=data.ActorPoolStrategy(size=workers),
        num_cpus=cores_of_worker(workers, cores_of_machines()),
    )


def cores_of_worker(workers: int, machines: Sequence[float]) -> float:
    """Return how many cores a worker of a pipeline takes, at most one.

    Other steps of the pipeline need a whole core on some machine. If more cores are free than there are machines, one
    machine has such a core, wherever Ray puts the workers.

    Args:
        workers: Number of workers.
        machines: Number of cores of every machine of the cluster.

    Example:
        >>> cores_of_worker(2, [4]), cores_of_worker(2, [2]), cores_of_worker(3, [2, 2]), cores_of_worker(1, [1])
        (1, 0.5, 0.6666, 0.0)
    """
    whole = [int(cores) for cores in machines if cores >= 1]
    # Ray counts ten-thousandths of a core.
    return min(1, max(0, sum(whole) - len(whole)) * 10_000 // workers / 10_000)


def _check_column(dataset: Dataset, column: str) -> None:
    """Raise ConfigError if the columns of a dataset are known, and this one is not among them."""
    known = dataset.columns(fetch_if_missing=False)
    if known is not None and column not in known:
        raise _no_column(column, known)


def _no_column(column: str, known: Iterable[str]) -> ConfigError:
    return ConfigError(
        f"the dataset has no column {column!r}",
        seen=column,
        allowed=did_you_mean(column, known) or "none",
        next_step="name another with `column`",
    )


class _DatasetScorer:
    """A worker of Ray that adds scores to batches of rows."""

    def __init__(self, options: ScoringOptions, column: str, language: str) -> None:
        one_thread()
        self.options, self.column, self.language = options, column, language
        self.model = options.load()

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        if self.column not in batch:
            raise _no_column(self.column, batch)
        texts = [text if isinstance(text, str) else "" for text in batch[self.column]]
        rows: list[Document | BadRow] = [
            document_of_text(str(number), text, self.language) for number, text in enumerate(texts)
        ]
        found = dict(score_rows(rows, self.model, self.options))
        scores = [one if isinstance(one, Score) else Score(None) for one in map(found.get, range(len(rows)))]
        return {
            **batch,
            PREFIX: np.array([np.nan if score.value is None else score.value for score in scores]),
            f"{PREFIX}_percentile": np.array([_number(score.percentile) for score in scores]),
            f"{PREFIX}_transitions": [list(score.transitions) for score in scores],
            f"{PREFIX}_warnings": [" ".join(warning.code for warning in score.warnings) for score in scores],
        }


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)
