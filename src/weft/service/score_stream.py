"""A stream of texts to score: JSON lines in and out, however many, while only a part of the queue is in use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from pydantic import BaseModel, TypeAdapter, ValidationError

from weft.errors import WeftError
from weft.loaded_model import Model
from weft.protocols import BreakModel
from weft.scoring.genre_choice import check_genre
from weft.service.answers import stopping_error
from weft.service.bodies.given_texts import given_text
from weft.service.bodies.problems import LineProblem, ServiceError, problem_of
from weft.service.bodies.request_bodies import StreamOptions, TextBody
from weft.service.bodies.views import score_body
from weft.service.bodies.wrong_requests import wrong_line
from weft.service.engine import Engine, ServedModel
from weft.service.operations import reasons_for, shuffled
from weft.text_inputs import SINGLE_NAME

LINE: TypeAdapter[str | TextBody] = TypeAdapter(str | TextBody)


@dataclass(frozen=True)
class StartedLine:
    """A line that is being scored.

    Attributes:
        number: Its number in the request, from 1.
        result: Its score, or its problem.
    """

    number: int
    result: asyncio.Task[BaseModel]


Started = asyncio.Queue[StartedLine | None]


@dataclass(frozen=True)
class ScoreStream:
    """Scores the lines of a request.

    Attributes:
        engine: The models.
        options: The options of the request.
        served: The model.
        model: The model, combined as the request asks.
        genre: The genre that the request names, or an empty string.
    """

    engine: Engine
    options: StreamOptions
    served: ServedModel
    model: Model
    genre: str

    @classmethod
    def of(cls, engine: Engine, options: StreamOptions) -> ScoreStream:
        """Return the stream of a request.

        Raises:
            WeftError: The model, the combination or the genre is unknown.
        """
        served = engine.served(options.model)
        model = served.combined(options.combine)
        return cls(engine, options, served, model, check_genre(options.genre, model.inner, model.name))

    async def results(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[BaseModel]:
        """Yield the result of each line, in order: a score or a problem; if the service stops, the last one says so."""
        started: Started = asyncio.Queue()
        reading = asyncio.create_task(self._read(chunks, started))
        answered, stopping = 0, self.engine.stopping
        try:
            while (line := await stopping.unless_begun(started.get())) is not None:
                answered = line.number - 1
                result = await stopping.unless_begun(line.result)
                answered = line.number
                yield result
            await reading
        except ServiceError:
            yield await _problem(answered + 1, _unanswered(answered + 1))
        finally:
            reading.cancel()
            while not started.empty():
                if (rest := started.get_nowait()) is not None:
                    rest.result.cancel()

    async def _read(self, chunks: AsyncIterator[bytes], started: Started) -> None:
        """Start to score each line as soon as there is a place for it in the queue."""
        number, places = 0, self.engine.queue.stream_places
        try:
            async for line in _lines(chunks, self.engine.settings.body_bytes, self.engine.settings.stream_bytes):
                number += 1
                if line.strip():
                    await places.acquire()
                    task = asyncio.create_task(self._result(number, line))
                    task.add_done_callback(lambda _: places.release())
                    started.put_nowait(StartedLine(number, task))
        except WeftError as error:
            started.put_nowait(StartedLine(number + 1, asyncio.create_task(_problem(number + 1, error))))
        started.put_nowait(None)

    async def _result(self, number: int, line: bytes) -> BaseModel:
        try:
            return await self._score(number, line)
        except ValidationError as error:
            return await _problem(number, wrong_line(error.errors(include_url=False, include_context=False)))
        except WeftError as error:
            return await _problem(number, error)

    async def _score(self, number: int, line: bytes) -> BaseModel:
        engine, options = self.engine, self.options
        body = LINE.validate_json(line)
        name = f"{SINGLE_NAME}-{number - 1}"
        text = await engine.read(lambda: given_text(body, name, options.language, engine.settings, self.model))
        (score,) = await engine.queue.score(self.model, self.served.lock, [text.document], [self.genre], patient=True)
        if options.own_shuffles:
            score = await shuffled(engine, self.served, self.model, score)
        reasons = await reasons_for(engine, self.served, self.model, score) if options.reasons else {}
        breaks = isinstance(self.model.inner, BreakModel)
        return await engine.read(lambda: score_body(score, text, reasons, breaks=breaks))


def _unanswered(number: int) -> ServiceError:
    """Return the error of a stream that ends before all of its lines are scored."""
    return stopping_error(f"no score of line {number}", f"send the lines from {number} on again later")


async def _problem(number: int, error: WeftError) -> BaseModel:
    return LineProblem(**problem_of(error).model_dump(), line=number)


async def _lines(chunks: AsyncIterator[bytes], longest: int, most: int) -> AsyncIterator[bytes]:
    """Yield the lines of a body.

    Raises:
        ServiceError: A line or the whole body is too long (413).
    """
    rest, size = b"", 0
    async for chunk in chunks:
        size += len(chunk)
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line
        if len(rest) > longest or size > most:
            what, seen = ("line", len(rest)) if len(rest) > longest else ("stream", size)
            raise ServiceError(
                413, "body-too-large", f"the {what} is too long", seen=f"at least {seen} bytes",
                allowed=f"lines of up to {longest} bytes, {most} bytes in all", next_step="send several streams",
            )  # fmt: skip
    if rest:
        yield rest
