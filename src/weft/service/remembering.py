"""What the service asks of models: to remember pairs of sentences, and to compute long texts in steps, if they can."""

from __future__ import annotations

from typing import Protocol, Self, runtime_checkable

from weft.corpora.text.text_limits import readable
from weft.corpora.text.tokenizers import Tokenizer
from weft.document import Document
from weft.loaded_model import Model
from weft.progress import Steps
from weft.protocols import PairwiseModel
from weft.scoring.stepping_models import SteppingModel


@runtime_checkable
class TokenizedModel(Protocol):
    """A model that reads tokens."""

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer; None before training."""


@runtime_checkable
class RememberingModel(PairwiseModel, Protocol):
    """A first-order model that can reuse what it computed for pairs of sentences of earlier texts."""

    def remembering(self) -> Self:
        """Return the same model with a cache of pairs: after an edit, only the pairs that changed are computed."""


def remembering(model: Model) -> Model:
    """Return the same model, which reuses what it computed for pairs of sentences, if it can; else as it is.

    Values may differ in their last digits from those of a text that is scored anew.

    Example:
        >>> from weft.loaded_model import load
        >>> remembering(load("foltz-sif")).name
        'foltz-sif'
    """
    if not isinstance(model.inner, RememberingModel):
        return model
    found = model.inner.remembering()
    return Model(found, model.name, source=model.source, settings=model.settings, combination=model.combination)


def table_steps(model: Model, document: Document) -> Steps[None]:
    """Compute the links between all sentences of a text in short steps; no steps if the model cannot."""
    if isinstance(model.inner, SteppingModel):
        yield from model.inner.table_steps(readable(document))


def score_steps(model: Model, document: Document) -> Steps[None]:
    """Compute the links of a long text in short steps; no steps if the model cannot."""
    if isinstance(model.inner, SteppingModel):
        yield from model.inner.score_steps(readable(document))


def token_count(model: Model, document: Document) -> int:
    """Return how many tokens of a text the model reads; of words, for a model without a tokenizer.

    Example:
        >>> from weft.loaded_model import load
        >>> token_count(load("foltz-sif"), Document("d", ("It rained.", "He slept.")))
        4
    """
    sentences = readable(document).sentences
    tokenizer = model.inner.tokenizer if isinstance(model.inner, TokenizedModel) else None
    if tokenizer is None:
        return sum(len(sentence.split()) for sentence in sentences)
    return sum(map(len, tokenizer.encode_batch(sentences)))
