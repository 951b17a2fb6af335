"""The bodies of requests, as pydantic models; OpenAPI describes them."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, model_validator
from pydantic.json_schema import SkipJsonSchema

TEXT = "Bees visit flowers to drink nectar. In return, the flower dusts the bee with pollen. Rates rose in March."
OTHER = "Rates rose in March. Bees visit flowers to drink nectar. In return, the flower dusts the bee with pollen."

Name = Annotated[str, Field(max_length=200)]
Optional = Name | SkipJsonSchema[None]
Combine = Literal["uni", "bi", "mmi"] | SkipJsonSchema[None]


def _one_of(*names: str) -> list[Any]:
    """Return the schema of objects that have exactly one of some fields."""
    return [{"required": [name]} for name in names]


class TextBody(BaseModel):
    """A text with a name: a string to split into sentences, or its sentences."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"oneOf": _one_of("text", "sentences")})

    id: Name = Field(default="", description="Name of the text; by default `text`, or `text-0`, `text-1` and so on.")
    text: str | SkipJsonSchema[None] = Field(default=None, description="The text; blank lines separate its paragraphs.")
    sentences: list[str] | SkipJsonSchema[None] = Field(
        default=None, description="Its sentences, instead of `text`; none may be blank."
    )
    paragraph_starts: list[Annotated[int, Field(ge=0)]] | SkipJsonSchema[None] = Field(
        default=None, description="Index of the first sentence of every paragraph, from 0; only with `sentences`."
    )
    title: Name = Field(default="", description="Its title.")
    genre: Name = Field(default="", description="Its genre, one of those that /v1/models lists for the model.")

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.text is None) == (self.sentences is None):
            raise ValueError("either `text` or `sentences`")
        starts = self.paragraph_starts
        if starts is not None and (self.sentences is None or not _are_starts(starts, len(self.sentences))):
            raise ValueError("paragraph_starts begin with 0, rise, and stay below the number of `sentences`")
        return self


def _are_starts(starts: list[int], size: int) -> bool:
    rising = all(one < other for one, other in pairwise(starts))
    return starts[:1] == [0] and rising and (starts[-1] < size or starts == [0])


class TextsRequest(BaseModel):
    """One text or many, and how they are split."""

    model_config = ConfigDict(extra="forbid")

    text: str | TextBody | SkipJsonSchema[None] = Field(None, description="One text.")
    texts: list[str | TextBody] | SkipJsonSchema[None] = Field(None, description="Several texts, instead of `text`.")
    language: Name = Field("en", description="Language of the sentence splitter, such as `de`.")
    model: Optional = Field(None, description="One of the models that the service serves; by default the first.")
    combine: Combine = Field(None, description="How a generative model combines its parts; by default its own way.")

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.text is None) == (self.texts is None):
            raise ValueError("either `text` or `texts`")
        return self

    def given(self) -> list[str | TextBody]:
        """Return the texts as a list."""
        return [self.text] if self.text is not None else list(self.texts or ())


def _example(**fields: Any) -> ConfigDict:
    either = {} if "first" in fields else {"oneOf": _one_of("text", "texts")}
    return ConfigDict(extra="forbid", json_schema_extra={"example": fields, **either})


class ScoreRequest(TextsRequest):
    """Texts to score."""

    model_config = _example(text=TEXT, genre="essay", reasons=True)

    genre: Optional = Field(
        None,
        description="Genre of the reference texts of the percentile, such as `essay`, or `all`; by default guessed.",
    )
    reasons: StrictBool = Field(False, description="Whether to say why the text breaks where it does; takes longer.")
    own_shuffles: StrictBool = Field(
        False, description="Whether to set `shuffles_beaten` with any model; a reader always does, others take longer."
    )


class OrderRequest(TextsRequest):
    """Texts whose sentences are put in order."""

    model_config = _example(text=OTHER)

    first_given: StrictBool = Field(False, description="Whether the first sentence stays first.")
    search: Literal["auto", "exact", "beam", "greedy"] = Field("auto", description="How orders are searched.")
    objective: Literal["auto", "coherence", "precedence", "both"] = Field("auto", description="What is searched for.")
    beam: int = Field(10, ge=1, le=100, description="Beam width.")
    seed: int = Field(1, ge=0, le=2**32 - 1, description="Breaks ties.")


class GenerateRequest(TextsRequest):
    """Texts to continue."""

    model_config = _example(text="Bees visit flowers to drink nectar.", number=1, method="sample", candidates=2)

    number: int = Field(1, ge=1, le=20, description="Number of sentences to write.")
    candidates: int = Field(
        1, ge=1, le=10, description="Number of continuations of each text; each begins with another sentence."
    )
    method: Literal["beam", "diverse", "sample"] = Field("diverse", description="How sentences are searched.")
    beam: int = Field(10, ge=1, le=50, description="Size of the N-best list, or number of samples.")
    temperature: float = Field(1.0, gt=0, le=10, description="Temperature of sampling.")
    top_k: int = Field(0, ge=0, le=100_000, description="Number of words to sample from; 0 for all.")
    top_p: float = Field(0.9, gt=0, le=1, description="Probability mass to sample from.")
    diversity: float = Field(0.5, ge=0, le=100, description="Penalty of words of other groups of a diverse beam.")
    length_power: float = Field(1.0, ge=0, le=10, description="Log-probability is divided by length to this power.")
    no_repeat: int = Field(3, ge=0, le=100, description="Length of token runs that may not repeat; 0 for no limit.")
    alike: float = Field(0.4, ge=0, le=1, description="Highest word overlap with an earlier sentence.")
    min_tokens: int = Field(4, ge=1, le=200, description="Length of the shortest sentence, in tokens.")
    max_tokens: int = Field(60, ge=5, le=200, description="Length of the longest sentence, in tokens.")
    seed: int = Field(1, ge=0, le=2**31 - 1, description="Seed of sampling.")
    rerank: Optional = Field(
        None, description="Another model that the service serves, which chooses among the sentences that are written."
    )


class CompareRequest(BaseModel):
    """Two versions of a text."""

    model_config = _example(first=OTHER, second=TEXT)

    first: str | TextBody = Field(description="The first version.")
    second: str | TextBody = Field(description="The second version.")
    language: Name = Field("en", description="Language of the sentence splitter.")
    model: Optional = Field(None, description="One of the models that the service serves; by default the first.")
    combine: Combine = Field(None, description="How a generative model combines its parts; by default its own way.")


class StreamOptions(BaseModel):
    """The options of a stream of texts, in the query."""

    model_config = ConfigDict(extra="forbid")

    language: Name = Field("en", description="Language of the sentence splitter.")
    model: Optional = Field(None, description="One of the models that the service serves; by default the first.")
    combine: Combine = Field(None, description="How a generative model combines its parts.")
    genre: Optional = Field(None, description="Genre of the reference texts of the percentile; by default guessed.")
    reasons: bool = Field(False, description="Whether to say why the texts break where they do; takes longer.")
    own_shuffles: bool = Field(
        False, description="Whether to set `shuffles_beaten` with any model; a reader always does, others take longer."
    )
