"""Networks shared by HMM-LDA-GM and VLV-GM: an encoder-decoder guided by a vector, and a language model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from weft.corpora.store.pair_batches import PairBatch, PairStream
from weft.corpora.store.token_store import TokenStore
from weft.corpora.text.tokenizers import Tokenizer
from weft.models.common.neural.batch_tensors import pairs_to_device
from weft.models.common.neural.encoder_decoder import Architecture, Seq2SeqNetwork
from weft.models.common.neural.sentence_predictor import Predictor
from weft.models.common.setting_fields import GenerativeFields
from weft.training.loop import LossPart
from weft.training.settings import TrainingSettings


def guided_architecture(settings: GenerativeFields, tokenizer: Tokenizer, guide: int) -> Architecture:
    """Return the sizes of a guided encoder-decoder.

    Args:
        settings: The settings of the model.
        tokenizer: The tokenizer of the network.
        guide: Size of the guiding vector.
    """
    return Architecture(
        tokenizer.vocabulary_size, settings.dimensions, settings.hidden, settings.layers, dropout=settings.dropout,
        word_dropout=settings.word_dropout, feed=settings.feed, lexical=settings.lexical, guide=guide,
    )  # fmt: skip


def language_model(settings: GenerativeFields, tokenizer: Tokenizer) -> Seq2SeqNetwork:
    """Return the prior of a guided model: the language model of Seq2Seq."""
    sizes = Architecture(
        tokenizer.vocabulary_size, settings.dimensions, settings.hidden, settings.layers, encoder=False,
        dropout=settings.dropout, feed=settings.feed, lexical=settings.lexical,
    )  # fmt: skip
    return Seq2SeqNetwork(sizes, **special_ids(tokenizer))


def special_ids(tokenizer: Tokenizer) -> dict[str, int]:
    """Return the ids of the special tokens, as arguments of a network."""
    return {"bos": tokenizer.bos_id, "eos": tokenizer.eos_id, "pad": tokenizer.pad_id}


def prior_batches(store: TokenStore, pad: int, settings: TrainingSettings) -> PairStream:
    """Return batches of single sentences, for the language model."""
    return PairStream(
        store, "prior", batch_tokens=settings.batch_tokens, max_tokens=settings.max_tokens, seed=settings.seed, pad=pad
    )


def prior_loss(network: Seq2SeqNetwork, batch: PairBatch, device: torch.device) -> LossPart:
    """Return the summed loss of a batch of the language model."""
    return LossPart(network.loss(*pairs_to_device(batch, device)), batch.tokens)


def prior_predictor(network: torch.nn.Module, ids: Any) -> Predictor:
    """Return the language model as a sentence model."""
    assert isinstance(network, Seq2SeqNetwork)
    return Predictor(network, ids.tokenizer, ids)


def inner_encoders(predictors: Mapping[str, Any]) -> dict[str, Predictor]:
    """Return the encoders of the guided networks, by part."""
    return {
        part: Predictor(one.network.words, one.ids.tokenizer, one.ids)
        for part, one in predictors.items()
        if part != "prior"
    }


def freeze(network: torch.nn.Module, what: str) -> None:
    """Exclude weights from training; training is then faster, and a folder can share them with another model.

    Args:
        network: A network that contains an encoder-decoder.
        what: "" (none), ``encoder`` (the encoder with its word vectors) or ``words`` (all of the encoder-decoder).
    """
    prefixes = {"": (), "encoder": ("words.embedding.", "words.encoder."), "words": ("words.",)}[what]
    for name, parameter in network.named_parameters():
        if name.startswith(prefixes) and not name.startswith("words.guides."):
            parameter.requires_grad_(False)
