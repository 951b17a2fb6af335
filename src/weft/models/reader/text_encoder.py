"""The encoder of the reader: transformer layers that read sentences alone, then all sentences of a text at once.

Layers are those of BERT (Devlin et al. 2019), so that trained weights of such an encoder fit. Nothing in the input
tells the order of the sentences: word positions start again in each sentence, and a slot vector, drawn at random,
only tells which words belong to the same sentence.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from weft.models.reader.network_constants import NORM_EPSILON

ALIGNMENT = 8  # joined texts have a multiple of this many tokens, which attention on a GPU is fastest with


@dataclass(frozen=True, slots=True)
class EncoderSizes:
    """The sizes of an encoder."""

    vocabulary: int
    hidden: int
    layers: int
    local_layers: int
    heads: int
    feed_forward: int
    positions: int
    slots: int
    dropout: float


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts as the input of the encoder.

    Attributes:
        ids: [sentences, time] token ids, padded on the right.
        lengths: [sentences]
        places: [texts, most] the sentence at each place; −1 after the end of a text.
        slots: [texts, most] slot of each sentence.
        longest: Number of tokens of the longest text.
    """

    ids: Tensor
    lengths: Tensor
    places: Tensor
    slots: Tensor
    longest: int

    @property
    def real(self) -> Tensor:
        """Which places have a sentence: [texts, most]."""
        return self.places >= 0


@dataclass(frozen=True, slots=True)
class PackedTokens:
    """Where the tokens of each text stand when its sentences are joined."""

    source: Tensor  # [texts, longest] row of the token among all tokens, [sentences · time]
    owner: Tensor  # [texts, longest] place of the sentence of each token
    real: Tensor  # [texts, longest] false after the end of a text
    firsts: Tensor  # [texts, most] where each sentence starts


def joined_width(longest: int, most: int, time: int) -> int:
    """Return the number of tokens of a joined text with padding.

    Args:
        longest: Number of tokens of the longest text.
        most: Largest number of sentences of a text.
        time: Number of tokens of a sentence with padding.
    """
    return min(-(-longest // ALIGNMENT) * ALIGNMENT, most * time)


def pack(texts: Texts) -> PackedTokens:
    """Return the layout of joined sentences, without padding between them."""
    count, most = texts.places.shape
    time = texts.ids.shape[1]
    inside = torch.arange(time, device=texts.ids.device)
    lengths = texts.lengths[texts.places.clamp(min=0)] * texts.real  # [texts, most]
    used = (inside < lengths[:, :, None]).view(count, most * time)  # [texts, most · time]
    longest = joined_width(texts.longest, most, time)
    order = used.logical_not().to(torch.uint8).argsort(dim=1, stable=True)[:, :longest]  # real ones first
    rows = (texts.places.clamp(min=0)[:, :, None] * time + inside).view(count, most * time)
    firsts = lengths.cumsum(dim=1) - lengths
    return PackedTokens(
        rows.gather(1, order), order // time, used.gather(1, order), firsts.clamp(max=order.shape[1] - 1)
    )


class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward network, each followed by a residual sum and normalisation."""

    def __init__(self, sizes: EncoderSizes) -> None:
        super().__init__()
        self.heads, self.rate = sizes.heads, sizes.dropout
        self.inputs = nn.Linear(sizes.hidden, 3 * sizes.hidden)  # queries, keys and values
        self.output = nn.Linear(sizes.hidden, sizes.hidden)
        self.attention_norm = nn.LayerNorm(sizes.hidden, eps=NORM_EPSILON)
        self.wide = nn.Linear(sizes.hidden, sizes.feed_forward)
        self.narrow = nn.Linear(sizes.feed_forward, sizes.hidden)
        self.norm = nn.LayerNorm(sizes.hidden, eps=NORM_EPSILON)
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return new states, [rows, time, hidden]; ``mask``, [rows, 1, 1, time], is false for padding."""
        rows, time, hidden = states.shape
        parts = self.inputs(states).view(rows, time, 3, self.heads, hidden // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)  # [rows, heads, time, hidden / heads] each
        rate = self.rate if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=rate)
        mixed = self.output(mixed.transpose(1, 2).reshape(rows, time, hidden))
        states = self.attention_norm(states + self.dropout(mixed))
        wider = functional.gelu(self.wide(states))
        found: Tensor = self.norm(states + self.dropout(self.narrow(wider)))
        return found


class TextEncoder(nn.Module):
    """Reads all sentences of texts at once, without their order."""

    def __init__(self, sizes: EncoderSizes) -> None:
        super().__init__()
        self.local_layers = sizes.local_layers
        self.words = nn.Embedding(sizes.vocabulary, sizes.hidden)
        self.positions = nn.Embedding(sizes.positions, sizes.hidden)
        self.slots = nn.Embedding(sizes.slots, sizes.hidden)
        self.mask = nn.Parameter(torch.zeros(sizes.hidden))  # stands for a masked word
        self.norm = nn.LayerNorm(sizes.hidden, eps=NORM_EPSILON)
        self.dropout = nn.Dropout(sizes.dropout)
        self.layers = nn.ModuleList(EncoderLayer(sizes) for _ in range(sizes.layers))
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)

    def forward(self, texts: Texts, packed: PackedTokens, masked: Tensor | None = None) -> Tensor:
        """Return the states of all words: [texts, longest, hidden].

        Args:
            texts: The texts.
            packed: The layout of their joined sentences.
            masked: Which words are hidden: [sentences, time].
        """
        time = texts.ids.shape[1]
        words = self.words(texts.ids)  # [sentences, time, hidden]
        if masked is not None:
            words = torch.where(masked[:, :, None], self.mask.to(words.dtype), words)
        states = self.dropout(self.norm(words + self.positions.weight[:time]))
        real = torch.arange(time, device=texts.ids.device) < texts.lengths[:, None]  # [sentences, time]
        for layer in self.layers[: self.local_layers]:
            states = layer(states, real[:, None, None])
        joined: Tensor = states.flatten(0, 1).index_select(0, packed.source.flatten())  # needs no sorting for gradients
        joined = joined.view(*packed.source.shape, -1)  # [texts, longest, hidden]
        joined = joined + self.slots(texts.slots.gather(1, packed.owner)).to(joined.dtype)
        for layer in self.layers[self.local_layers :]:
            joined = layer(joined, packed.real[:, None, None])
        return joined


def sentence_vectors(states: Tensor, texts: Texts, packed: PackedTokens) -> Tensor:
    """Return the first state and the mean state of each sentence: [texts, most, 2 · hidden]."""
    hidden = states.shape[2]
    firsts = states.gather(1, packed.firsts[:, :, None].expand(-1, -1, hidden))  # [texts, most, hidden]
    places = torch.arange(texts.places.shape[1], device=states.device)
    owned = (packed.owner[:, None] == places[:, None]) & packed.real[:, None]  # [texts, most, longest]
    # A product with a matrix of zeros and ones gives the same sums on every device, unlike scattered additions.
    means = owned.to(states.dtype) @ states / owned.sum(dim=2, keepdim=True).clamp(min=1).to(states.dtype)
    return torch.cat([firsts, means], dim=2) * texts.real[:, :, None]
