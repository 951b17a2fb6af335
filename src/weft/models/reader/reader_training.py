"""Networks of the reader in PyTorch, and the loss of a batch; imported only where PyTorch is needed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch

from weft.corpora.store.window_batches import WindowBatch
from weft.corpora.text.tokenizers import Tokenizer
from weft.errors import CorpusError
from weft.io.quantization import unpack
from weft.models.common.neural.batch_tensors import to_device
from weft.models.common.neural.network_folder import as_tensors
from weft.models.reader.bert_weights import encoder_folder, load_encoder
from weft.models.reader.network import (
    ReaderNetwork,
    batch_texts,
    break_loss,
    exchange_loss,
    masked_words,
    near_loss,
    next_loss,
    precedence_loss,
    stray_loss,
    surprise_loss,
)
from weft.models.reader.reader_settings import BOTH, ReaderSettings
from weft.models.reader.text_encoder import EncoderSizes
from weft.training.loop import LossPart

MASKED_WORDS = ("encoder.mask", "word")  # weights that only masked words need


def empty_network(settings: ReaderSettings, tokenizer: Tokenizer) -> ReaderNetwork:
    """Return a network of the right shape."""
    sizes = EncoderSizes(
        tokenizer.vocabulary_size, settings.hidden, settings.layers, settings.local_layers, settings.heads,
        settings.feed_forward, settings.sentence_tokens, settings.slots, settings.dropout,
    )  # fmt: skip
    both, surprise, strays = settings.directions == BOTH, settings.surprise_weight > 0, settings.stray_weight > 0
    return ReaderNetwork(sizes, settings.pair, both=both, surprise=surprise, strays=strays)


def new_network(settings: ReaderSettings, tokenizer: Tokenizer) -> ReaderNetwork:
    """Return an untrained network, with the encoder that the settings name."""
    network = empty_network(settings, tokenizer)
    if settings.encoder:
        load_encoder(network.encoder, encoder_folder(settings.encoder), tokenizer)
    if settings.frozen_layers:
        network.encoder.freeze(settings.frozen_layers)
    return network


def exported_network(settings: ReaderSettings, tokenizer: Tokenizer, graphs: Mapping[str, bytes]) -> ReaderNetwork:
    """Return the network of an exported reader; weights that only masked words need are new.

    Raises:
        ValueError: The weights in the graphs do not fit the settings.
    """
    from weft.models.reader.exported.exported_weights import exported_weights

    network = empty_network(settings, tokenizer)
    found = as_tensors(unpack(exported_weights(graphs)))
    known = network.state_dict()
    missing = [name for name in known if name not in found and not name.startswith(MASKED_WORDS)]
    if missing or not found.keys() <= known.keys():
        raise ValueError(f"other weights than those of the settings: {(missing or sorted(found.keys() - known))[0]}")
    network.load_state_dict(known | found)
    return network


def batch_loss(
    settings: ReaderSettings, network: torch.nn.Module, batch: WindowBatch, device: torch.device
) -> LossPart:
    """Return the losses of all heads, summed over windows."""
    assert isinstance(network, ReaderNetwork)
    if network.surprise is not None and network.training:
        network.surprise.set_moments(to_device(batch.moments, device))
    texts, labels = batch_texts(batch, device)
    # Validation reads whole texts, as scoring does, so that losses with and without masked words can be compared.
    masked = masked_words(batch, device) if settings.masked and network.training else None
    reading = network.read(texts, masked.hidden if masked is not None else None)
    changed = to_device(batch.changed, device)  # [changes, windows, most]
    orders = (torch.arange(changed.shape[2], device=device).expand_as(changed[0]), *changed)
    gaps = [network.read_gaps(reading, order, texts.real) for order in orders]
    breaks = [break_loss(network.breaks.odds(one.mixed), labels, one.order) for one in gaps]
    losses = {
        "precedence": precedence_loss(reading.odds, labels),
        "next": next_loss(reading.follows, labels),
        "break": (breaks[0] + torch.stack(breaks[1:]).mean(dim=0)) / 2,
    }
    weights = {"precedence": 1.0, "next": settings.next_weight, "break": settings.break_weight}
    if settings.near_weight:
        losses["near"], weights["near"] = near_loss(reading.odds, labels), settings.near_weight
    if settings.exchange_weight:
        losses["exchange"] = exchange_loss(reading.follows, reading.odds, labels)
        weights["exchange"] = settings.exchange_weight
    if network.strays is not None:
        # Of the own order alone. A moved sentence has its true neighbours in the text, unlike an intruder: a head that
        # learned from changed orders too found fewer intruders in dev texts of the genres, of either kind.
        losses["stray"] = stray_loss(network.stray_odds(network.strays, reading, gaps[0]), labels)
        weights["stray"] = settings.stray_weight
    if network.surprise is not None:
        values = to_device(batch.surprise, device)[texts.places.clamp(min=0)]  # [windows, most]
        found = network.surprise(reading.vectors)
        losses["surprise"] = surprise_loss(found, network.surprise.standardised(values), labels)
        weights["surprise"] = settings.surprise_weight
    if masked is not None:
        words = network.masked_loss(reading, texts.ids, masked)
        losses["words"] = words / max(1.0, settings.masked * texts.longest)
        weights["words"] = settings.masked_weight
    total = torch.stack([weights[name] * values for name, values in losses.items()]).sum()
    return LossPart(total, len(batch), {name: values.detach().sum() for name, values in losses.items()})


def untaught(folder: Path) -> CorpusError:
    """Return the error for a store without the values that the head for surprise learns."""
    return CorpusError(
        f"{folder} has no surprise values to learn",
        seen="a surprise_weight above 0",
        allowed="stores with surprise.bin, for training and validation",
        next_step="run tools/teach_surprise.py on the store, or set model.surprise_weight to 0",
    )
