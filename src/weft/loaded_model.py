"""A trained model that takes texts as users have them, and how it is loaded."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, Unpack, overload

from weft.call_options import OrderOptions, ScoreOptions
from weft.corpora.text.text_limits import readable
from weft.document import ALL_GENRES, Continuation, Document, Score
from weft.errors import ConfigError, check_known, packages_named
from weft.generation.decoding_settings import Decoding
from weft.generation.writing_models import combined_model, writing_model
from weft.hub import load_model
from weft.io.devices import DEVICES, on_device
from weft.models.common.thread_pool import few_threads
from weft.ordering.order import Objective, Search, order_steps
from weft.ordering.ordering import Ordering
from weft.progress import Progress, Steps, result_of, silent
from weft.protocols import CoherenceModel, ModelCard
from weft.registry import DEFAULT_MODEL
from weft.scoring.completed_score import completed
from weft.scoring.genre_choice import check_genre
from weft.scoring.own_shuffles import with_own_shuffles
from weft.scoring.score_warnings import warnings_of
from weft.settings import check_count, check_type
from weft.text_inputs import documents_of, in_batches, one_document, with_list_warning

if TYPE_CHECKING:
    from weft.evaluation.text_comparison import Revision
    from weft.ordering.best_move import Move


class Model:
    """A trained model that takes strings, Documents, lists and Series.

    Args:
        inner: The model itself.
        name: Its name for results and messages.
        source: The name or folder it was loaded from; empty for a model made in Python.
        settings: The settings it was loaded with.
        combination: The combination of its parts that was chosen; empty for its own.

    Example:
        >>> model = load("foltz-glove")
        >>> model.score("The cat slept. It purred. Rates rose.").breaks
        (1,)
    """

    def __init__(
        self,
        inner: CoherenceModel,
        name: str,
        *,
        source: str = "",
        settings: Mapping[str, Any] | None = None,
        combination: str = "",
    ) -> None:
        self.inner, self.name = inner, name
        self.source, self.settings, self.combination = source, dict(settings or {}), combination

    @property
    def card(self) -> ModelCard:
        """What the model does and what its score means."""
        return self.inner.card

    def __repr__(self) -> str:
        return f"Model({self.name!r}: {self.card.summary})"

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> Any:
        """Copy or pickle a loaded model as what it was loaded from: sessions of onnxruntime can be neither."""
        if not self.source:
            return super().__reduce_ex__(protocol)
        return _loaded_again, (self.source, self.settings, self.combination)

    @overload  # a str is a text here, never an iterable of letters
    def score(  # type: ignore[overload-overlap]
        self, texts: str | Document, **options: Unpack[ScoreOptions]
    ) -> Score: ...

    @overload
    def score(self, texts: Iterable[str | Document], **options: Unpack[ScoreOptions]) -> list[Score]: ...

    def score(
        self,
        texts: str | Document | Iterable[str | Document],
        *,
        combine: str | None = None,
        language: str = "en",
        genre: str | None = None,
        own_shuffles: bool = False,
    ) -> Score | list[Score]:
        """Score texts; see `weft.score`."""
        documents, single = documents_of(texts, language=language)
        model = self.combined(combine)
        scores = list(model.score_stream(iter(documents), genre=genre, own_shuffles=own_shuffles))
        return scores[0] if single else with_list_warning(scores, documents)

    def combined(self, combine: str | None) -> Model:
        """Return the same networks combined in another way, ``uni``, ``bi`` or ``mmi``; as they are for None."""
        if combine is None:
            return self
        found = combined_model(self.inner, combine, self.name)
        return Model(found, self.name, source=self.source, settings=self.settings, combination=combine)

    def score_stream(
        self, documents: Iterator[Document], *, genre: str | None = None, own_shuffles: bool = False
    ) -> Iterator[Score]:
        """Score documents as they arrive: the first one alone, so that it is shown at once, then in batches."""
        known = check_genre(genre, self.inner, self.name)
        for batch in in_batches(documents):
            scores = self.score_batch(batch, [known] * len(batch))
            yield from with_own_shuffles(self.inner, scores) if own_shuffles else scores

    def score_batch(self, documents: Sequence[Document], genres: Sequence[str]) -> list[Score]:
        """Score documents in one call of the model; each has a genre that `check_genre` returned, or an empty one."""
        with few_threads(sentences=sum(map(len, documents))), packages_named():
            triples = zip(self.inner.score(list(map(readable, documents))), documents, genres, strict=True)
            return [completed(score, document, self.inner, self.name, genre) for score, document, genre in triples]

    @overload
    def order(  # type: ignore[overload-overlap]
        self, texts: str | Document, **options: Unpack[OrderOptions]
    ) -> Ordering: ...

    @overload
    def order(self, texts: Iterable[str | Document], **options: Unpack[OrderOptions]) -> list[Ordering]: ...

    def order(
        self,
        texts: str | Document | Iterable[str | Document],
        *,
        combine: str | None = None,
        first_given: bool = False,
        search: Search = "auto",
        objective: Objective = "auto",
        beam: int = 10,
        seed: int = 1,
        language: str = "en",
    ) -> Ordering | list[Ordering]:
        """Put the sentences of texts in order; see `weft.order`."""
        check_type("first_given", first_given, False)
        documents, single = documents_of(texts, language=language)
        model = self.combined(combine)
        found = []
        for document in documents:
            steps = model.order_steps(
                document, first_given=first_given, search=search, objective=objective, beam=beam, seed=seed
            )
            with few_threads(), packages_named():
                found.append(result_of(steps))
        return found[0] if single else with_list_warning(found, documents)

    def order_steps(
        self, document: Document, *, first_given: bool, search: Search, objective: Objective, beam: int, seed: int
    ) -> Steps[Ordering]:
        """Return the order of a text, in steps as short as those of the model."""
        first = 0 if first_given and len(document) else None
        ordering = yield from order_steps(
            self.inner, readable(document), first=first, search=search, objective=objective, beam=beam, seed=seed,
            keep_given=True,
        )  # fmt: skip
        warnings = warnings_of(self.inner, document, ordering.value)
        sentences = tuple(document.sentences[place] for place in ordering.order)
        return replace(ordering, id=document.id, label=document.label, sentences=sentences, warnings=warnings)

    def best_move(
        self,
        text: str | Document,
        *,
        combine: str | None = None,
        first_given: bool = False,
        objective: Objective = "auto",
        language: str = "en",
    ) -> Move:
        """Return the move of one sentence that improves a text most; see `weft.best_move`."""
        from weft.ordering.best_move import best_move

        check_type("first_given", first_given, False)
        document, model = one_document(text, language=language), self.combined(combine).inner
        with few_threads(), packages_named():
            found = best_move(model, readable(document), first_given=first_given, objective=objective)
        return replace(found, warnings=warnings_of(model, document, found.input_value))

    @overload
    def generate(
        self,
        texts: str | Document,
        *,
        sentences: int = ...,
        combine: str | None = ...,
        rerank: AnyModel | None = ...,
        decoding: Decoding | None = ...,
        language: str = ...,
        **options: Any,
    ) -> Continuation: ...

    @overload
    def generate(
        self,
        texts: Iterable[str | Document],
        *,
        sentences: int = ...,
        combine: str | None = ...,
        rerank: AnyModel | None = ...,
        decoding: Decoding | None = ...,
        language: str = ...,
        **options: Any,
    ) -> list[Continuation]: ...

    def generate(
        self,
        texts: str | Document | Iterable[str | Document],
        *,
        sentences: int = 1,
        combine: str | None = None,
        rerank: AnyModel | None = None,
        decoding: Decoding | None = None,
        language: str = "en",
        **options: Any,
    ) -> Continuation | list[Continuation]:
        """Continue texts; see `weft.generate`."""
        check_count("sentences", sentences)
        documents, single = documents_of(texts, language=language)
        chosen = Decoding.from_options(options, decoding)
        named = "draws" in options or chosen.draws != Decoding().draws
        model = self.writing(combine, draws=chosen.draws if named else None)
        judge = self.judge(rerank, combine)
        written = (model.generate_stream(one, sentences=sentences, decoding=chosen, judge=judge) for one in documents)
        found = [Continuation(one, tuple(new), self.name) for one, new in zip(documents, written, strict=True)]
        return found[0] if single else found

    def generate_stream(
        self,
        document: Document,
        *,
        sentences: int,
        decoding: Decoding,
        judge: Model | None = None,
        avoid: Sequence[str] = (),
        progress: Progress = silent,
    ) -> Iterator[str]:
        """Yield each sentence of a continuation as soon as it is written; see `continue_document`."""
        with packages_named():
            from weft.generation.continuation import continue_document

            model = writing_model(self.inner, self.name)
            writer = model.writer()
        written = continue_document(
            writer,
            readable(document),
            sentences=sentences,
            decoding=decoding,
            scorer=model.reranker,
            combine=model.combine,
            judge=None if judge is None else judge.inner,
            avoid=avoid,
            progress=progress,
        )
        while True:
            with few_threads(), packages_named():
                sentence = next(written, None)
            if sentence is None:
                return
            yield sentence

    def writing(self, combine: str | None = None, *, draws: int | None = None) -> Model:
        """Return the model if it can write, combined in this way.

        Raises:
            ConfigError: The model cannot write, cannot be combined in this way, or has no latent variables to draw.
        """
        model = writing_model(self.inner, self.name)
        if draws is not None and model.name != "vlv-gm":
            raise ConfigError(
                f"{model.name} has no latent variables to draw",
                seen=f"draws {draws}",
                allowed="draws with vlv-gm",
                next_step="omit draws, or use vlv-gm",
            )
        return self.combined(combine)

    def judge(self, rerank: AnyModel | None, combine: str | None = None) -> Model | None:
        """Return the model that chooses among the sentences that this one writes; None: this one, by its combination.

        Raises:
            ConfigError: There is no such model, or a combination is given too.
        """
        if rerank is not None and combine is not None:
            raise ConfigError(
                "sentences are reranked either by the combination of the model or by another model",
                seen=f"combine {combine} and rerank {rerank}",
                allowed="one of them",
                next_step="omit combine or rerank",
            )
        if rerank is None:
            own = combine is not None or self.combination or not self.card.reranked_by
            return None if own else as_model(self.card.reranked_by)
        return self if rerank == self.source else as_model(rerank)

    def compare(self, first: object, second: object, *, combine: str | None = None, language: str = "en") -> Revision:
        """Compare two versions of a text; see `weft.compare`."""
        from weft.evaluation.text_comparison import compare_texts

        model = self.combined(combine)
        one = one_document(first, name="first", language=language)
        other = one_document(second, name="second", language=language)
        with few_threads(sentences=len(one) + len(other)), packages_named():
            found = compare_texts(model.inner, readable(one), readable(other))

        def both(genre: str = "") -> tuple[Score, Score]:
            pairs = ((found.first, one), (found.second, other))
            first, second = (completed(score, text, model.inner, model.name, genre) for score, text in pairs)
            return first, second

        scores = both()
        if scores[0].genre != scores[1].genre:  # percentiles of two versions must be among the same texts
            scores = both(ALL_GENRES)
        return replace(found, first=scores[0], second=scores[1])


# -- Loading ---------------------------------------------------------------------------------------------------------


def load(
    model: str | Path = DEFAULT_MODEL,
    *,
    combine: str | None = None,
    device: str = "auto",
    settings: Mapping[str, Any] | None = None,
) -> Model:
    """Load a trained model by its name or from its folder.

    Args:
        model: Name (see `weft models`) or folder.
        combine: ``uni``, ``bi`` or ``mmi``, for a generative model.
        device: ``auto`` uses a GPU if the model runs in PyTorch and there is one; else ``cpu`` or ``cuda``.
        settings: Other settings of the model that can change without training it again.

    Raises:
        ConfigError: There is no such model, or it does not have such a setting.

    Example:
        >>> load("foltz-sif").name
        'foltz-sif'
    """
    if not isinstance(model, str | Path):
        raise _not_a_model(model)
    if settings is not None and not isinstance(settings, Mapping):
        raise ConfigError(
            "the settings of a model are not a mapping",
            seen=settings,
            allowed='values by name, such as {"samples": 4}',
            next_step="run `weft config MODEL` to see the names",
        )
    check_known("device", device, DEVICES)
    with few_threads(), packages_named():
        found = load_model(model, settings)
    return Model(on_device(found, device), str(model), source=str(model), settings=settings).combined(combine)


def _loaded_again(source: str, settings: Mapping[str, Any], combination: str) -> Model:
    """Return the model that a copied or pickled one was loaded from; it is loaded once per process."""
    return (load(source, settings=settings) if settings else as_model(source)).combined(combination or None)


def _not_a_model(seen: object) -> ConfigError:
    return ConfigError(
        "not a model",
        seen=type(seen).__name__,
        allowed="a model's name, its folder, or what weft.load returns",
        next_step="run `weft models` to see the names",
    )


AnyModel = str | Path | Model | CoherenceModel
_loading = threading.Lock()


def as_model(model: AnyModel) -> Model:
    """Return a loaded model; a name is loaded once per process."""
    if isinstance(model, Model):
        return model
    if isinstance(model, str | Path):
        manifest = Path(model) / "model.json"
        with _loading:
            return _loaded(str(model), manifest.stat().st_mtime_ns if os.path.isfile(manifest) else 0)
    if isinstance(model, CoherenceModel):
        return Model(model, type(model).__name__)
    raise _not_a_model(model)


@lru_cache(maxsize=4)
def _loaded(name: str, changed: int) -> Model:  # noqa: ARG001  a folder that was written again is loaded again
    return load(name)
