"""The bodies of responses, as pydantic models; OpenAPI describes them.

The fields of a result are those of its `to_dict()` in the library. What only a page needs is in `view`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Body(BaseModel):
    """A part of a response; the schema lists every field as present."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)


class SentenceView(Body):
    """A sentence in its place."""

    number: int = Field(description="Its index in the text, from 0.")
    text: str = Field(description="The sentence, on one line.")
    start: int | None = Field(
        description="Where it begins in the given text, in Unicode code points; null if sentences were given."
    )
    end: int | None = Field(description="Where it ends.")


class Reason(Body):
    """Why a text breaks at a gap."""

    code: Literal["moved", "foreign", "restart"] = Field(
        description="`moved`: a sentence fits better elsewhere; `foreign`: it fits nowhere; `restart`: what follows "
        "hangs together and does not follow from what comes before."
    )
    sentence: int = Field(description="Index of the sentence that it is about.")
    after: int | None = Field(description="For `moved`, index of the sentence after which it fits better; -1: first.")
    text: str = Field(description="The reason in words; sentences are counted from 1.")


class LinkView(Body):
    """The link over the gap between two neighbouring sentences."""

    gap: int = Field(description="Index of the gap: it lies between sentence `gap` and sentence `gap + 1`.")
    value: float = Field(description="Score of the transition.")
    bar: float = Field(description="Its place on a scale that is the same for all texts, from 0 (weak) to 1 (strong).")
    percentile: float | None = Field(description="Percentage of reference texts of two sentences that score lower.")
    break_probability: float | None = Field(description="Probability of a break, for models that estimate it.")
    marked: bool = Field(description="Whether the gap is one of the `breaks`.")
    reason: Reason | None = Field(None, description="Why, if reasons were asked for and the model can say.")


class Scale(Body):
    """What the bars are measured against."""

    kind: Literal["percentile", "range"] = Field(description="Percentile among reference texts, or a range of values.")
    low: float = Field(description="The value, or percentile, of an empty bar.")
    high: float = Field(description="The value, or percentile, of a full bar.")
    reference: str = Field(description="Name of the reference texts; empty for a range.")
    text: str = Field(description="The scale in words.")


class ScoreView(Body):
    """What a page shows of a scored text."""

    passages: list[list[SentenceView]] = Field(description="The sentences of each paragraph.")
    links: list[LinkView] = Field(description="One link for each gap; empty for a model that scores only whole texts.")
    scale: Scale
    mark: Literal["break", "weak link"] = Field(description="What `breaks` are.")
    meaning: str = Field(description="Percentile and shuffles beaten in one sentence; may be empty.")
    note: str = Field(description="That no break was found; may be empty.")


class Percentiles(Body):
    """Percentages of the reference texts that score lower."""

    written: float | None = Field(description="Among texts as written.")
    shuffled: float | None = Field(description="Among shuffled texts.")


class ScoreBody(Body):
    """A score: the fields of `weft.Score.to_dict()`, and `view`."""

    id: str
    sentences: int | None = Field(description="Number of sentences.")
    paragraphs: list[int] | None = Field(description="Number of the paragraph of every sentence.")
    value: float | None = Field(description="The score, higher is more coherent; null if there is nothing to score.")
    transitions: list[float]
    breaks: list[int] = Field(description="Indices of the gaps where the text breaks, or of its weak links.")
    break_probabilities: list[float]
    break_threshold: float | None
    estimator: str
    percentiles: Percentiles | None
    reference: str | None
    genre: str | None
    genre_guessed: bool
    genre_probability: float | None
    shuffles_beaten: float | None = Field(description="Share of its own random orders that score lower, 0 to 1.")
    fluency: float | None = Field(
        description="How predictable its sentences are, whatever their order: nats per token, higher is more fluent."
    )
    model: str
    warnings: list[str]
    warning_codes: list[str]
    view: ScoreView


class ScoreResponse(Body):
    """The scores, in the order of the texts."""

    model: str
    scores: list[ScoreBody]


class MoveView(Body):
    """A move of one sentence; the moves of an order are made one after the other."""

    sentence: int = Field(description="Index of the sentence in the input.")
    was: int = Field(description="Its place before the move, after all earlier moves.")
    place: int = Field(description="Its place after the move.")
    text: str


class OrderBody(Body):
    """An order: the fields of `weft.Ordering.to_dict()`, and the moves that lead to it."""

    order: list[int] = Field(description="Indices into the input, in the proposed order.")
    value: float | None
    input_value: float | None
    search: str
    objective: str
    kept: bool = Field(description="Whether no better order than that of the input was found.")
    id: str
    sentences: list[str] = Field(description="The sentences in the proposed order.")
    warnings: list[str]
    warning_codes: list[str]
    moves: list[MoveView] = Field(description="The fewest moves of one sentence that turn the input into the order.")


class OrderResponse(Body):
    """The orders, in the order of the texts."""

    model: str
    orders: list[OrderBody]


class ContinuationBody(Body):
    """A continuation: the fields of `weft.Continuation.to_dict()`, and its number among the candidates."""

    id: str
    sentences: list[str] = Field(description="The new sentences; fewer than asked for if none is whole.")
    model: str
    candidate: int = Field(description="Number of the candidate, from 0.")


class GenerateResponse(Body):
    """The continuations: all candidates of the first text, then those of the next."""

    model: str
    continuations: list[ContinuationBody]


class WrittenSentence(Body):
    """A line of a stream of continuations: one new sentence."""

    id: str
    candidate: int
    number: int = Field(description="Number of the new sentence, from 0.")
    sentence: str
    model: str


class TextSummary(Body):
    """One of two compared texts."""

    id: str
    sentences: int | None
    value: float | None
    percentile: float | None


class SentencePair(Body):
    """A sentence of one or both texts."""

    kind: Literal["same", "changed", "moved", "added", "removed"]
    before: int | None
    after: int | None
    similarity: float
    text_before: str | None
    text_after: str | None


class TransitionPair(Body):
    """A transition of one or both texts."""

    kind: Literal["kept", "changed", "new", "gone"]
    before: int | None
    after: int | None
    value_before: float | None
    value_after: float | None
    difference: float | None


class CompareResponse(Body):
    """A comparison: the fields of `weft.Revision.to_dict()`, its meaning, and both scores."""

    model: str
    first: TextSummary
    second: TextSummary
    difference: float | None = Field(description="Second minus first; above 0, the second is more coherent.")
    percentile_points: float | None
    estimator: str
    sentences: list[SentencePair]
    transitions: list[TransitionPair]
    meaning: str
    first_score: ScoreBody
    second_score: ScoreBody


class ModelBody(Body):
    """A model that the service serves."""

    name: str
    default: bool = Field(description="Whether it answers requests that name no model.")
    writes: bool = Field(description="Whether it can continue texts.")
    summary: str
    score_range: str
    meaning: str = Field(description="What a higher score means.")
    comparable: str
    reference: str = Field(description="The publication that describes it.")
    genres: list[str] = Field(description="Genres of its reference texts.")
    breaks: bool = Field(description="Whether it estimates the probability of breaks.")
    reasons: bool = Field(description="Whether it can say why a text breaks.")


class Limits(Body):
    """What a request may contain."""

    body_bytes: int
    texts: int
    sentences: int
    characters: int
    tokens: int
    order_sentences: int
    reader_order_sentences: int
    request_seconds: float


class ModelsResponse(Body):
    """The models and the limits of the service."""

    version: str
    default: str
    writer: str = Field(description="The model that continues texts if a request names none.")
    models: list[ModelBody]
    limits: Limits


class Health(Body):
    """Whether the service works."""

    status: Literal["ok"]
