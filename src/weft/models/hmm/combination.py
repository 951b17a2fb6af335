"""Combination of several models by a pairwise ranker over their scores."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from weft.corpora.negatives.permute import permutations
from weft.corpora.syntax.sentence_parser import LazyParser, ParsingModel, SentenceParser
from weft.document import Document, Score
from weft.errors import ConfigError, CorpusError
from weft.io.model_folder import Artifact, require
from weft.models.common.pairwise_ranker import learn_ranking
from weft.models.common.setting_checks import check_finite, check_seed, misfit, untrained
from weft.progress import Progress, silent
from weft.protocols import OrderSearch, RemarkingModel, SearchableModel
from weft.registry import create_model, model_class
from weft.scoring.sequence_scorer import WeightedOrderSearch
from weft.settings import Settings as ModelSettings
from weft.settings import setting

Reals = npt.NDArray[np.float64]
WEIGHTS = "part_weights"


class Part(Protocol):
    """A model that can be part of a combination: it scores several orders of a text."""

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """Return one score per document."""

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """Return one score per order."""

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Any:
        """Train the part."""

    def to_artifact(self) -> Artifact:
        """Return the contents of the part's own model folder."""


@dataclass(frozen=True, kw_only=True)
class CombinationFields:
    """Settings shared by the combinations."""

    parser: str = setting("", "Name of a spaCy pipeline for all parts; empty: the best one installed.", adjustable=True)
    permutations: int = setting(20, "Number of permutations of each text that the ranker learns from.", minimum=1)
    folds: int = setting(5, "Number of rounds of cross-validation in which parts score unseen texts.", minimum=2)


class Combination(ABC):
    """A weighted sum of the scores of several models, with the weights of a linear SVM.

    score = Σ_k w_k · score_k. A part scores its own training texts too well. The ranker therefore learns from parts
    that have not seen the texts they score: in each of `folds` rounds, the parts are trained on the other texts. At
    the end, the parts are trained on all texts.

    Attributes:
        members: The trained parts; empty before training.
        weights: The weight of each part.
        notes: Facts about the training, which are saved in the model folder.
    """

    Settings: ClassVar[type[ModelSettings]]
    settings: ModelSettings
    registered: ClassVar[Mapping[str, str]]  # part -> its name in the registry

    def __init__(self, settings: ModelSettings | None = None) -> None:
        self.settings = settings or self.Settings()
        assert isinstance(self.settings, CombinationFields)
        self.shared_settings: CombinationFields = self.settings
        self.parser: SentenceParser = LazyParser(self.settings.parser)
        self.members: dict[str, Part] = {}
        self.weights: Reals = np.zeros(0)
        self.notes: dict[str, Any] = {}
        self.new_parts()  # raises now if the settings of a part are wrong

    @property
    def part_settings(self) -> dict[str, dict[str, Any]]:
        """The settings of each part."""
        values = self.settings.to_dict()
        return {part: values[part] for part in self.registered}

    def with_parser(self, parser: SentenceParser) -> Self:
        """Use this parser for all parts instead of searching for one, and return the model."""
        self.parser = parser
        for member in self.members.values():
            _give_parser(member, parser)
        return self

    def adjusted(self, changes: Mapping[str, Any]) -> Self:
        """Return the same trained model with another parser."""
        changed = type(self)(self.settings.adjusted(changes))
        changed.members, changed.weights = self.members, self.weights
        return changed.with_parser(changed.parser)

    def new_parts(self) -> dict[str, Part]:
        """Return untrained parts."""
        found: dict[str, Part] = {}
        for part, settings in self.part_settings.items():
            made: Any = create_model(self.registered[part], settings)
            _give_parser(made, self.parser)
            found[part] = made
        return found

    # Learning ---------------------------------------------------------------------------------------------------------

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Train the ranker on scores of unseen texts, then the parts on all texts."""
        check_seed(self.settings.model_name, seed)
        texts = [part for document in documents for part in document.paragraphs()]
        scored = [text for text in texts if len(text) > 1]
        if len(scored) < 2:
            raise CorpusError(
                "not enough text to learn from",
                seen=f"{len(scored)} paragraphs of two sentences or more",
                allowed="at least two",
                next_step="give more training text",
            )
        rounds = min(self.shared_settings.folds, len(scored))
        differences: list[Reals] = []
        group: list[int] = []
        for fold in range(rounds):
            progress("cross-validating parts", fold, rounds)
            unseen = scored[fold::rounds]
            parts = self._learned_parts([text for n, text in enumerate(scored) if n % rounds != fold], seed)
            for number, text in enumerate(unseen):
                orders = [
                    tuple(range(len(text))),
                    *permutations(text, count=self.shared_settings.permutations, seed=seed),
                ]
                features = part_scores(parts, text, orders)  # [orders, parts]
                differences.append(features[0] - features[1:])
                group += [fold + rounds * number] * (len(orders) - 1)
        ranking = learn_ranking(np.concatenate(differences), np.array(group, dtype=np.int64), progress=progress)
        self.weights = ranking.weights
        self.notes = {"ranker": {"C": ranking.cost, "accuracy": ranking.accuracy}, "parsed_by": self.parser.name}
        self.members = self._learned_parts(texts, seed, progress)
        return self

    def _learned_parts(self, texts: Sequence[Document], seed: int, progress: Progress = silent) -> dict[str, Part]:
        parts = self.new_parts()
        for part in parts.values():
            part.fit(texts, seed=seed, progress=progress)
        return parts

    # Scoring ----------------------------------------------------------------------------------------------------------

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """Return the weighted sum of the parts' scores of each document."""
        found = [member.score(documents) for member in self._trained().values()]
        return [self._sum(of_document) for of_document in zip(*found, strict=True)]

    def _sum(self, scores: Sequence[Score]) -> Score:
        """Return the weighted sum over the parts that have a score; it has transitions if all of them do."""
        weighed = zip(self.weights, scores, strict=True)
        present = [(weight, score) for weight, score in weighed if score.value is not None]
        if not present:
            return Score(None)
        value = float(sum(weight * (score.value or 0.0) for weight, score in present))
        if not all(score.transitions for _, score in present):
            return Score(value)
        parts = np.sum([weight * np.array(score.transitions) for weight, score in present], axis=0)
        return Score(value, tuple(parts.tolist()))

    def remarks(self, document: Document) -> tuple[str, ...]:
        """Return the remarks of all parts."""
        parts = [part for part in self._trained().values() if isinstance(part, RemarkingModel)]
        return tuple(dict.fromkeys(remark for part in parts for remark in part.remarks(document)))

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """Return the score of each order; None for fewer than two sentences."""
        longer = [order for order in orders if len(order) > 1]
        values = iter((part_scores(self._trained(), document, longer) @ self.weights).tolist() if longer else [])
        return [next(values) if len(order) > 1 else None for order in orders]

    def order_search(self, document: Document) -> OrderSearch:
        """Return the state of a beam search over the document's sentences, with all parts."""
        steps = [part.order_search(document) for part in self._trained().values() if isinstance(part, SearchableModel)]
        return WeightedOrderSearch(steps, self.weights)

    def _trained(self) -> dict[str, Part]:
        if not self.members:
            raise untrained(self.settings.model_name)
        return self.members

    # Saving -----------------------------------------------------------------------------------------------------------

    def to_artifact(self) -> Artifact:
        """Return the weights, and the contents of each part's folder under the part's name."""
        tensors: dict[str, Any] = {WEIGHTS: self.weights}
        texts: dict[str, str] = {}
        for part, member in self._trained().items():
            inside = member.to_artifact()
            tensors |= {f"{part}/{name}": value for name, value in inside.tensors.items()}
            texts |= {f"{part}.{name}": text for name, text in inside.texts.items()}
        return Artifact(self.settings.model_name, self.settings.to_dict(), tensors, texts, self.notes)

    def restore(self, artifact: Artifact, folder: str | Path) -> None:
        """Take the weights and the parts from the contents of a model folder."""
        require(artifact, folder, tensors=(WEIGHTS,))
        self.weights = artifact.tensors[WEIGHTS].astype(np.float64)
        check_finite(folder, **{WEIGHTS: self.weights})
        if self.weights.shape != (len(self.registered),):
            raise misfit(folder, f"{self.weights.shape} weights", f"one for each of {', '.join(self.registered)}")
        self.members = {part: self._read_part(part, artifact, folder) for part in self.registered}
        self.with_parser(self.parser)

    def _read_part(self, part: str, artifact: Artifact, folder: str | Path) -> Part:
        """Return a part from its contents in the combination's folder."""
        name = self.registered[part]
        tensors = {key.removeprefix(f"{part}/"): v for key, v in artifact.tensors.items() if key.startswith(f"{part}/")}
        texts = {key.removeprefix(f"{part}."): v for key, v in artifact.texts.items() if key.startswith(f"{part}.")}
        kind: Any = model_class(name)
        found: Part = kind.from_artifact(Artifact(name, self.part_settings[part], tensors, texts), Path(folder) / part)
        return found


def part_scores(parts: Mapping[str, Part], document: Document, orders: Sequence[Sequence[int]]) -> Reals:
    """Return the score of each order by each part, 0 where a part has none: [orders, parts]."""
    columns = [[value or 0.0 for value in part.order_scores(document, orders)] for part in parts.values()]
    return np.array(columns, dtype=np.float64).T


def _give_parser(part: Any, parser: SentenceParser) -> None:
    if isinstance(part, ParsingModel):
        part.with_parser(parser)


def check_parts(model: str, **tables: Mapping[str, Any]) -> None:
    """Raise ConfigError if the settings of a part name a parser; all parts share one."""
    for part, table in tables.items():
        if "parser" in table:
            raise ConfigError(
                f"{model}.{part} has a `parser` of its own",
                seen=str(table),
                allowed=f"a table [model.{part}] without `parser`; [model] parser applies to all parts",
                next_step=f"remove `parser` from [model.{part}]",
            )
