"""Several models in one: a pairwise ranker over their scores (HMM+Entity, HMM+Content of Louis & Nenkova 2012)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from weft.corpora.negatives.permute import permutations
from weft.corpora.syntax.parsed_sentence import ParsedSentence
from weft.corpora.syntax.parser import find_parser
from weft.corpora.syntax.sentence_parser import ParsingModel, SentenceParser
from weft.document import Document, Score
from weft.errors import ConfigError, CorpusError, ModelError
from weft.hub import load_model
from weft.io.model_folder import Artifact, load_artifact, require, save_artifact
from weft.models.common.pairwise_ranker import learn_ranking
from weft.models.common.setting_checks import at_least, check_finite, check_seed, check_text, rebuild, untrained
from weft.progress import Progress, silent
from weft.protocols import ModelCard, PrefixModel, PrefixSteps, RemarkingModel
from weft.registry import create_model

Reals = npt.NDArray[np.float64]
WEIGHTS = "part_weights"


class Part(Protocol):
    """What can be put together: a model that scores several orders of a text."""

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """One score per document."""

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """One score per order."""

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Any:
        """Learn."""

    def save(self, folder: str | Path, *, training: Mapping[str, Any] | None = None) -> None:
        """Write a folder."""


class LazyParser:
    """One parser for all parts, found when a sentence is to be parsed, so that each sentence is parsed once.

    Args:
        pipeline: As `weft.corpora.syntax.parser.find_parser` takes it.
    """

    def __init__(self, pipeline: str) -> None:
        self.name = pipeline
        self.found: SentenceParser | None = None

    def parse(self, sentences: Sequence[str], *, progress: Progress = silent) -> list[ParsedSentence]:
        """The parse of each sentence, in the order given."""
        if self.found is None:
            self.found = find_parser(self.name)
            self.name = self.found.name
        return self.found.parse(sentences, progress=progress)


class Combination:
    """A weighted sum of the scores of models, the weights those of a linear SVM on differences.

    A model knows its own training texts too well, so the ranker learns from what parts say of texts that they have not
    seen: in each of ``folds`` rounds they learn from the other texts and judge these and their permutations. Then the
    parts learn from all texts.

    Args:
        parser: A spaCy pipeline by name, for all parts.
        permutations: How many permutations of each text the ranker learns from.
        folds: Rounds of cross-validation.
        settings: Of each part: its name here, and the settings of its constructor.
    """

    name: ClassVar[str]
    parts_by_name: ClassVar[Mapping[str, str]]  # the name of a part here, and in the registry
    adjustable = ("parser",)

    def __init__(self, parser: str, permutations: int, folds: int, settings: Mapping[str, Mapping[str, Any]]) -> None:
        check_text(self.name, "parser", parser)
        at_least(self.name, "permutations", permutations, 1)
        at_least(self.name, "folds", folds, 2)
        self.parser, self.permutations, self.folds = parser, permutations, folds
        self.part_settings = {part: _checked(self.name, part, table) for part, table in settings.items()}
        self.with_parser(LazyParser(parser))
        self.new_parts()  # refuses wrong settings now
        self.members: dict[str, Part] = {}
        self.weights: Reals = np.zeros(0)
        self.notes: dict[str, Any] = {}

    def with_parser(self, parser: SentenceParser) -> Self:
        """The same model, given its parser instead of finding one: another tool's parses, or a test's."""
        self.shared = parser
        for member in getattr(self, "members", {}).values():
            _give_parser(member, parser)
        return self

    def adjusted(self, settings: Mapping[str, Any]) -> Self:
        """The same model with another parser."""
        changed = type(self)(**{**self._settings(), **settings})
        changed.members, changed.weights = self.members, self.weights
        return changed.with_parser(changed.shared)

    def new_parts(self) -> dict[str, Part]:
        """Parts that have learned nothing yet."""
        found: dict[str, Part] = {}
        for part, registered in self.parts_by_name.items():
            made: Any = create_model(registered, self.part_settings[part])
            _give_parser(made, self.shared)
            found[part] = made
        return found

    # Learning ---------------------------------------------------------------------------------------------------------

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:
        """Learn the ranker from parts that have not seen what they judge, then the parts from all texts."""
        check_seed(self.name, seed)
        texts = [part for document in documents for part in document.paragraphs()]
        judged = [text for text in texts if len(text) > 1]
        if len(judged) < 2:
            raise CorpusError(
                "not enough text to learn from",
                seen=f"{len(judged)} paragraphs of two sentences or more",
                allowed="at least two",
                next_step="give more training text",
            )
        rounds = min(self.folds, len(judged))
        differences: list[Reals] = []
        group: list[int] = []
        for fold in range(rounds):
            progress("learning parts that have not seen what they judge", fold, rounds)
            unseen = judged[fold::rounds]
            parts = self._learned_parts([text for n, text in enumerate(judged) if n % rounds != fold], seed)
            for number, text in enumerate(unseen):
                orders = [tuple(range(len(text))), *permutations(text, count=self.permutations, seed=seed)]
                features = part_scores(parts, text, orders)  # [orders, parts]
                differences.append(features[0] - features[1:])
                group += [fold + rounds * number] * (len(orders) - 1)
        ranking = learn_ranking(np.concatenate(differences), np.array(group, dtype=np.int64), progress=progress)
        self.weights = ranking.weights
        self.notes = {"ranker": {"C": ranking.cost, "accuracy": ranking.accuracy}, "parsed_by": self.shared.name}
        self.members = self._learned_parts(texts, seed, progress)
        return self

    def _learned_parts(self, texts: Sequence[Document], seed: int, progress: Progress = silent) -> dict[str, Part]:
        parts = self.new_parts()
        for part in parts.values():
            part.fit(texts, seed=seed, progress=progress)
        return parts

    # Scoring ----------------------------------------------------------------------------------------------------------

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """One score per document: the weighted sum of its parts'."""
        found = [member.score(documents) for member in self._trained().values()]
        return [self._sum(of_document) for of_document in zip(*found, strict=True)]

    def _sum(self, scores: Sequence[Score]) -> Score:
        """A part that has nothing to judge adds nothing; transitions are given where all parts that judge have them."""
        weighed = zip(self.weights, scores, strict=True)
        judged = [(weight, score) for weight, score in weighed if score.value is not None]
        if not judged:
            return Score(None)
        value = float(sum(weight * (score.value or 0.0) for weight, score in judged))
        if not all(score.transitions for _, score in judged):
            return Score(value)
        parts = np.sum([weight * np.array(score.transitions) for weight, score in judged], axis=0)
        return Score(value, tuple(parts.tolist()))

    def remarks(self, document: Document) -> tuple[str, ...]:
        """What its parts have to say of a text."""
        parts = [part for part in self._trained().values() if isinstance(part, RemarkingModel)]
        return tuple(dict.fromkeys(remark for part in parts for remark in part.remarks(document)))

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """The scores of several orders of a document's sentences."""
        judged = [order for order in orders if len(order) > 1]
        values = iter((part_scores(self._trained(), document, judged) @ self.weights).tolist() if judged else [])
        return [next(values) if len(order) > 1 else None for order in orders]

    def prefix_steps(self, document: Document) -> PrefixSteps:
        """A search over a document's sentences, by all parts together."""
        steps = [part.prefix_steps(document) for part in self._trained().values() if isinstance(part, PrefixModel)]
        return WeightedSteps(steps, self.weights)

    def _trained(self) -> dict[str, Part]:
        if not self.members:
            raise untrained(self.name)
        return self.members

    # Keeping ----------------------------------------------------------------------------------------------------------

    def _settings(self) -> dict[str, Any]:
        plain = {"parser": self.parser, "permutations": self.permutations, "folds": self.folds}
        return {**plain, **self.part_settings}

    def save(self, folder: str | Path, *, training: Mapping[str, Any] | None = None) -> None:
        """Write the weights, and all that the parts would write, each under its name."""
        tensors: dict[str, Any] = {WEIGHTS: self.weights}
        texts: dict[str, str] = {}
        for part, member in self._trained().items():
            inside = _artifact_of(member)
            tensors |= {f"{part}/{name}": value for name, value in inside.tensors.items()}
            texts |= {f"{part}.{name}": text for name, text in inside.texts.items()}
        made = {**(training or {}), **self.notes}
        save_artifact(Artifact(self.name, self._settings(), tensors, texts, made), folder)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a folder written by `save`."""
        artifact = load_artifact(folder)
        require(artifact, folder, tensors=(WEIGHTS,))
        model = rebuild(cls, artifact, folder, ("parser", "permutations", "folds", *cls.parts_by_name))
        model.weights = artifact.tensors[WEIGHTS].astype(np.float64)
        check_finite(folder, **{WEIGHTS: model.weights})
        if model.weights.shape != (len(cls.parts_by_name),):
            raise ModelError(
                f"the weights in {folder} do not fit together",
                seen=f"{model.weights.shape} weights",
                allowed=f"one for each of {', '.join(cls.parts_by_name)}",
                next_step="copy or train the model again",
            )
        untaught = model.new_parts()
        model.members = {part: _read_part(part, model, artifact, folder) for part in untaught}
        return model.with_parser(model.shared)


def part_scores(parts: Mapping[str, Part], document: Document, orders: Sequence[Sequence[int]]) -> Reals:
    """What each part says of each order, 0 where it has nothing to judge: [orders, parts]."""
    columns = [[value or 0.0 for value in part.order_scores(document, orders)] for part in parts.values()]
    return np.array(columns, dtype=np.float64).T


class WeightedSteps:
    """What a sentence gains by several models; satisfies `weft.models.PrefixSteps`."""

    def __init__(self, parts: Sequence[PrefixSteps], weights: Reals) -> None:
        self.parts, self.weights = parts, weights

    def begin(self, firsts: Sequence[int]) -> Reals:
        """[paths]."""
        found: Reals = self.weights @ np.array([part.begin(firsts) for part in self.parts])
        return found

    def gains(self) -> Reals:
        """[paths, sentences]."""
        found: Reals = np.tensordot(self.weights, np.array([part.gains() for part in self.parts]), axes=1)
        return found

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Go on with some paths, one sentence longer."""
        for part in self.parts:
            part.keep(rows, columns)


def _give_parser(part: Any, parser: SentenceParser) -> None:
    if isinstance(part, ParsingModel):
        part.with_parser(parser)


def _checked(model: str, part: str, table: object) -> dict[str, Any]:
    """The settings of a part; one parser is for all."""
    if not isinstance(table, Mapping) or "parser" in table:
        raise ConfigError(
            f"{model}'s settings of `{part}` are out of place",
            seen="null" if table is None else str(table),
            allowed=f"a table [model.{part}] without `parser`, which is a setting of all parts together",
            next_step=f"change [model.{part}]",
        )
    return dict(table)


def _artifact_of(member: Part) -> Artifact:
    """What a part would write into a folder of its own."""
    with tempfile.TemporaryDirectory() as place:
        member.save(Path(place) / "part")
        return load_artifact(Path(place) / "part")


def _read_part(part: str, model: Combination, artifact: Artifact, folder: str | Path) -> Any:
    """A part from what its combination's folder has of it."""
    tensors = {name.removeprefix(f"{part}/"): v for name, v in artifact.tensors.items() if name.startswith(f"{part}/")}
    texts = {name.removeprefix(f"{part}."): v for name, v in artifact.texts.items() if name.startswith(f"{part}.")}
    inside = Artifact(model.parts_by_name[part], model.part_settings[part], tensors, texts)
    with tempfile.TemporaryDirectory() as place:
        save_artifact(inside, Path(place) / part)
        try:
            return load_model(Path(place) / part)
        except ModelError as error:  # tell of the folder that the user knows
            raise ModelError(
                error.what.replace(place, str(folder)),
                seen=error.seen,
                allowed=error.allowed,
                next_step=error.next_step,
            ) from error


class HmmEntity(Combination):
    """HMM+Entity: the syntax HMM and the entity grid, weighed by a ranker.

    Args:
        parser: A spaCy pipeline by name, for both.
        permutations: How many permutations of each text the ranker learns from.
        folds: Rounds of cross-validation in which parts judge what they have not seen.
        syntax: Settings of the syntax HMM.
        entity: Settings of the entity grid.

    Example:
        >>> model = HmmEntity(syntax={"clusters": 4}, entity={"longest": 2})
        >>> sorted(model.new_parts())
        ['entity', 'syntax']
    """

    name = "hmm-entity"
    parts_by_name: ClassVar[Mapping[str, str]] = {"syntax": "syntax-hmm", "entity": "entity-grid"}
    card = ModelCard(
        summary="the syntax HMM and the entity grid together",
        reference="Louis & Nenkova 2012; Barzilay & Lapata 2008",
        score_range="any number",
        meaning="structures and entities follow each other as in texts of the domain",
        comparable="only between orders of one text",
        needs="the extra `parse`; zoo/hmm-entity-accidents, or training (weft train configs/hmm-entity.toml)",
    )

    def __init__(
        self,
        parser: str = "",
        permutations: int = 20,
        folds: int = 5,
        syntax: dict[str, Any] = {},  # noqa: B006  never changed
        entity: dict[str, Any] = {},  # noqa: B006
    ) -> None:
        super().__init__(parser, permutations, folds, {"syntax": syntax, "entity": entity})


class HmmContent(Combination):
    """HMM+Content: the syntax HMM and the content HMM, weighed by a ranker.

    Args:
        parser: A spaCy pipeline by name, for the syntax.
        permutations: How many permutations of each text the ranker learns from.
        folds: Rounds of cross-validation in which parts judge what they have not seen.
        syntax: Settings of the syntax HMM.
        content: Settings of the content HMM.

    Example:
        >>> HmmContent(content={"clusters": 4}).part_settings
        {'syntax': {}, 'content': {'clusters': 4}}
    """

    name = "hmm-content"
    parts_by_name: ClassVar[Mapping[str, str]] = {"syntax": "syntax-hmm", "content": "content-hmm"}
    card = ModelCard(
        summary="the syntax HMM and the content HMM together",
        reference="Louis & Nenkova 2012; Barzilay & Lee 2004",
        score_range="any number",
        meaning="structures and topics follow each other as in texts of the domain",
        comparable="only between orders of one text",
        needs="the extra `parse`; zoo/hmm-content-accidents, or training (weft train configs/hmm-content.toml)",
    )

    def __init__(
        self,
        parser: str = "",
        permutations: int = 20,
        folds: int = 5,
        syntax: dict[str, Any] = {},  # noqa: B006  never changed
        content: dict[str, Any] = {},  # noqa: B006
    ) -> None:
        super().__init__(parser, permutations, folds, {"syntax": syntax, "content": content})
