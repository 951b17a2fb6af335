"""What the paths below /v1 do: the functions of the library, with the models of the service."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import asdict
from functools import partial

from weft.corpora.text.text_limits import readable
from weft.document import Continuation, Document, Score
from weft.generation.decoding_settings import Decoding
from weft.loaded_model import Model
from weft.models.common.thread_pool import few_threads
from weft.ordering.break_reasons import BreakReason, break_reasons, gives_reasons
from weft.ordering.ordering import Ordering
from weft.protocols import BreakModel, CalibratedModel, ShuffleJudge, TabledModel, WritingModel
from weft.scoring.genre_choice import check_genre
from weft.scoring.own_shuffles import with_own_shuffles
from weft.service.answers import stopping_error
from weft.service.bodies.given_texts import GivenText, given_text, given_texts
from weft.service.bodies.problems import ServiceError
from weft.service.bodies.request_bodies import CompareRequest, GenerateRequest, OrderRequest, ScoreRequest, TextsRequest
from weft.service.bodies.response_bodies import (
    GenerateResponse,
    Limits,
    ModelBody,
    ModelsResponse,
    OrderResponse,
    ScoreResponse,
    WrittenSentence,
)
from weft.service.bodies.views import Reasons, compare_body, continuation_body, order_body, score_body
from weft.service.engine import Engine, ServedModel
from weft.service.remembering import score_steps, table_steps
from weft.text_inputs import with_list_warning
from weft.version import VERSION

SERVED_NAMES = ("summary", "score_range", "meaning", "comparable", "reference")


async def _texts(engine: Engine, body: TextsRequest, model: Model) -> list[GivenText]:
    single = body.text is not None
    return await engine.read(partial(given_texts, body.given(), body.language, engine.settings, model, single=single))


async def score(engine: Engine, body: ScoreRequest) -> str:
    """Return the scores of texts, as JSON."""
    served = engine.served(body.model)
    model = served.combined(body.combine)
    genre = check_genre(body.genre, model.inner, model.name)
    texts = await _texts(engine, body, model)
    scores = await engine.queue.score(model, served.lock, [one.document for one in texts], [genre] * len(texts))
    if body.own_shuffles:
        scores = [await shuffled(engine, served, model, score) for score in scores]
    if body.text is None:
        scores = with_list_warning(scores, [one.document for one in texts])
    reasons = [await reasons_for(engine, served, model, score) if body.reasons else {} for score in scores]

    def written() -> str:
        found = zip(scores, texts, reasons, strict=True)
        bodies = [score_body(*one, breaks=isinstance(model.inner, BreakModel)) for one in found]
        return ScoreResponse(model=served.name, scores=bodies).model_dump_json()

    return await engine.read(written)


async def shuffled(engine: Engine, served: ServedModel, model: Model, score: Score) -> Score:
    """Return a score with `shuffles_beaten`, which a `reader` has set already.

    Raises:
        ServiceError: The text is too long to compute its links in other orders (422).
    """
    if isinstance(model.inner, ShuffleJudge) or score.document is None:
        return score
    _check_size(
        score.document, _most_ordered(engine, model), "to compare with its own random orders", "omit `own_shuffles`"
    )

    def beaten() -> Score:
        with served.lock, few_threads():
            return next(with_own_shuffles(model.inner, [score]))

    await engine.finish(table_steps(model, score.document), served.lock)
    return await engine.call(beaten)


async def reasons_for(engine: Engine, served: ServedModel, model: Model, score: Score) -> Reasons:
    """Return why a text breaks; nothing for a text too long for a table of all pairs of its sentences."""
    document = score.document
    if document is None or len(document) > _most_ordered(engine, model) or not gives_reasons(model.inner):
        return {}

    def found() -> dict[int, BreakReason]:
        with served.lock, few_threads():
            return break_reasons(model.inner, readable(document), score.breaks)

    if not score.breaks:
        return {}
    await engine.finish(table_steps(model, document), served.lock)
    return await engine.call(found)


async def order(engine: Engine, body: OrderRequest) -> OrderResponse:
    """Return the orders of texts."""
    served = engine.served(body.model)
    model = served.combined(body.combine)
    texts = await _texts(engine, body, model)
    for text in texts:
        _check_size(text.document, _most_ordered(engine, model), "to order", "order its sections one by one")
    found: list[Ordering] = []
    for text in texts:
        steps = model.order_steps(
            text.document, first_given=body.first_given, search=body.search, objective=body.objective, beam=body.beam,
            seed=body.seed,
        )  # fmt: skip
        found.append(await engine.finish(steps, served.lock))
    if body.text is None:
        found = with_list_warning(found, [one.document for one in texts])
    bodies = [order_body(one, text.document) for one, text in zip(found, texts, strict=True)]
    return OrderResponse(model=served.name, orders=bodies)


def _most_ordered(engine: Engine, model: Model) -> int:
    """Return how many sentences a text may have to be ordered or explained."""
    settings = engine.settings
    return settings.reader_order_sentences if isinstance(model.inner, TabledModel) else settings.order_sentences


def _check_size(document: Document, most: int, purpose: str, next_step: str) -> None:
    if len(document) > most:
        raise ServiceError(
            422, "too-many-sentences", f"the text has too many sentences {purpose}", seen=f"{len(document)} sentences",
            allowed=f"up to {most} sentences", next_step=next_step,
        )  # fmt: skip


async def generate(engine: Engine, body: GenerateRequest) -> GenerateResponse:
    """Return continuations of texts."""
    served = await engine.call(partial(engine.writer, body.model))
    judge = _judge(engine, served, body.rerank)
    found = []
    for text in await _texts(engine, body, served.model):
        begun: list[str] = []
        for candidate in range(body.candidates):
            steps = await engine.call(partial(_continuation, served, judge, body, text.document, candidate, begun))
            sentences = [sentence async for sentence in engine.iterate(steps, _locks(served, judge))]
            begun += sentences[:1]
            new = Continuation(text.document, tuple(sentences), served.name)
            found.append(continuation_body(new, candidate))
    return GenerateResponse(model=served.name, continuations=found)


async def generate_stream(engine: Engine, body: GenerateRequest) -> AsyncIterator[WrittenSentence]:
    """Yield each new sentence as soon as it is written."""
    served = await engine.call(partial(engine.writer, body.model))
    judge = _judge(engine, served, body.rerank)
    for text in await _texts(engine, body, served.model):
        begun: list[str] = []
        for candidate in range(body.candidates):
            steps = await engine.call(partial(_continuation, served, judge, body, text.document, candidate, begun))
            number = 0
            async for sentence in engine.iterate(steps, _locks(served, judge)):
                if number == 0:
                    begun.append(sentence)
                yield WrittenSentence(
                    id=text.document.id, candidate=candidate, number=number, sentence=sentence, model=served.name
                )
                number += 1
                if engine.stopping.begun.is_set():
                    raise stopping_error("unfinished continuations")


def _judge(engine: Engine, served: ServedModel, name: str | None) -> ServedModel | None:
    """Return the model that chooses among the sentences that another one writes; None if the request names none."""
    return None if name is None else served if name == served.name else engine.served(name)


def _locks(*models: ServedModel | None) -> list[threading.Lock]:
    """Return the locks of models, each once."""
    return list({id(one.lock): one.lock for one in models if one is not None}.values())


def _continuation(
    served: ServedModel,
    judge: ServedModel | None,
    body: GenerateRequest,
    document: Document,
    candidate: int,
    begun: Sequence[str],
) -> Iterator[str]:
    """Return an iterator over the sentences of one candidate; it begins with none of the sentences in ``begun``."""
    if not document.sentences:
        raise ServiceError(
            422, "empty-text", "there is nothing to continue", seen="a text without sentences",
            allowed="texts of at least one sentence", next_step="write a first sentence",
        )  # fmt: skip
    decoding = Decoding(
        method=body.method, beam=body.beam, temperature=body.temperature, top_k=body.top_k, top_p=body.top_p,
        min_tokens=body.min_tokens, max_tokens=body.max_tokens, diversity=body.diversity,
        length_power=body.length_power, no_repeat=body.no_repeat, alike=body.alike, seed=body.seed + candidate,
    )  # fmt: skip
    with served.lock:
        model = served.model.writing(body.combine)
        chosen = served.model.judge(judge.model if judge is not None else None, body.combine)
    return model.generate_stream(document, sentences=body.number, decoding=decoding, judge=chosen, avoid=tuple(begun))


async def compare(engine: Engine, body: CompareRequest) -> str:
    """Return the comparison of two versions of a text, as JSON."""
    served = engine.served(body.model)

    def read() -> tuple[GivenText, GivenText]:
        one = given_text(body.first, "first", body.language, engine.settings, served.model)
        return one, given_text(body.second, "second", body.language, engine.settings, served.model)

    first, second = await engine.read(read)

    for text in (first, second):
        await engine.finish(score_steps(served.combined(body.combine), text.document), served.lock)

    def compared() -> str:
        with served.lock:
            found = served.model.compare(first.document, second.document, combine=body.combine)
        breaks = isinstance(served.model.inner, BreakModel)
        return compare_body(found, served.name, first, second, breaks=breaks).model_dump_json()

    return await engine.call(compared)


def models(engine: Engine) -> ModelsResponse:
    """Return the models and the limits of the service."""
    settings = engine.settings
    limits = {name: value for name, value in asdict(settings).items() if name in Limits.model_fields}
    return ModelsResponse(
        version=VERSION, default=settings.default_model, writer=settings.writer, limits=Limits(**limits),
        models=[_model_body(served, settings.default_model) for served in engine.models.values()],
    )  # fmt: skip


def _model_body(served: ServedModel, default: str) -> ModelBody:
    inner, card = served.model.inner, asdict(served.model.card)
    reference = inner.reference if isinstance(inner, CalibratedModel) else None
    return ModelBody(
        name=served.name,
        default=served.name == default,
        writes=isinstance(inner, WritingModel),
        genres=sorted(reference.genres) if reference is not None else [],
        breaks=isinstance(inner, BreakModel),
        reasons=gives_reasons(inner),
        **{name: card[name] for name in SERVED_NAMES},
    )
