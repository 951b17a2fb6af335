"""The encoder of the reader: transformer layers that read sentences alone, then all sentences of a text at once.

Layers are those of BERT (Devlin et al. 2019), so that trained weights of such an encoder fit. Nothing in the input
tells the order of the sentences: word positions start again in each sentence, and a slot vector, drawn at random,
only tells which words belong to the same sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from weft.models.reader.cpu_attention import attention_by_text, plain_attention
from weft.models.reader.network_constants import NORM_EPSILON

SHORT = 64  # tokens; of rows that are not longer, many at once are faster than one after the other
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
    """Where the tokens of each text stand when its sentences are joined; every sentence is in one text."""

    source: Tensor  # [texts, longest] row of the token among all tokens, [sentences · time]
    owner: Tensor  # [texts, longest] place of the sentence of each token
    real: Tensor  # [texts, longest] false after the end of a text
    firsts: Tensor  # [texts, most] where each sentence starts
    back: Tensor  # [sentences, time] row of the token among all joined tokens, [texts · longest]; any row for padding
    used: Tensor  # [sentences, time] false for padding

    def join(self, states: Tensor) -> Tensor:
        """Return the states of sentences as those of joined texts: [sentences, time, …] → [texts, longest, …]."""
        rows = _rearranged(states.flatten(0, 1), self.source.flatten(), self.back.flatten(), self.used.flatten())
        return rows.view(*self.source.shape, -1)

    def part(self, states: Tensor) -> Tensor:
        """Return the states of joined texts as those of sentences: [texts, longest, …] → [sentences, time, …]."""
        rows = _rearranged(states.flatten(0, 1), self.back.flatten(), self.source.flatten(), self.real.flatten())
        return rows.view(*self.back.shape, -1)


class _Rearranged(torch.autograd.Function):
    """Rows in another order, in which each real row occurs once, with padding.

    Gradients are collected by the opposite order: adding them up row by row is slow, and in random order on a GPU.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, there: Tensor, back: Tensor, kept: Tensor) -> Tensor:
        ctx.save_for_backward(back, kept)
        return rows.index_select(0, there)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        back, kept = ctx.saved_tensors
        return gradients[0].index_select(0, back) * kept[:, None], None, None, None


def _rearranged(rows: Tensor, there: Tensor, back: Tensor, kept: Tensor) -> Tensor:
    """Return ``rows[there]``; ``back`` is the way back, and ``kept`` is false for rows that are padding."""
    found: Tensor = _Rearranged.apply(rows, there, back, kept)  # type: ignore[no-untyped-call]
    return found


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
    firsts = (lengths.cumsum(dim=1) - lengths).clamp(max=order.shape[1] - 1)
    starts = firsts + order.shape[1] * torch.arange(count, device=order.device)[:, None]  # among all joined tokens
    sentences = len(texts.ids)
    own = torch.where(texts.real, texts.places, sentences).flatten()  # one row more takes the places without a sentence
    begins = starts.new_zeros(sentences + 1).scatter(0, own, starts.flatten())[:sentences]
    return PackedTokens(
        rows.gather(1, order), order // time, used.gather(1, order), firsts,
        (begins[:, None] + inside).clamp(max=order.numel() - 1), inside < texts.lengths[:, None],
    )  # fmt: skip


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

    def forward(self, states: Tensor, packed: PackedTokens, *, local: bool) -> Tensor:
        """Return new states of joined texts, [texts, longest, hidden].

        In a local layer, only attention sees sentences with padding; without, they have little more than half as many
        tokens, which is what all other operations cost.
        """
        parts = self.inputs(states)  # [texts, longest, 3 · hidden]
        mixed = packed.join(self._mixed(packed.part(parts), packed.used)) if local else self._mixed(parts, packed.real)
        states = self.attention_norm(states + self.dropout(self.output(mixed)))
        wider = functional.gelu(self.wide(states))
        found: Tensor = self.norm(states + self.dropout(self.narrow(wider)))
        return found

    def _mixed(self, parts: Tensor, real: Tensor) -> Tensor:
        """Return what attention makes of queries, keys and values: [rows, time, 3 · hidden] → [rows, time, hidden]."""
        rows, time, hidden = parts.shape[0], parts.shape[1], parts.shape[2] // 3
        rate, mask = self.rate if self.training else 0.0, real[:, None, None]
        slow = _fused_is_slow(parts)
        if slow and not rate and time > SHORT:
            return attention_by_text(parts, real.sum(dim=1), self.heads)
        divided = parts.view(rows, time, 3, self.heads, hidden // self.heads)
        query, key, value = divided.permute(2, 0, 3, 1, 4)  # [rows, heads, time, hidden / heads] each
        attend = plain_attention if slow else functional.scaled_dot_product_attention
        mixed = attend(query, key, value, attn_mask=mask, dropout_p=rate)
        return mixed.transpose(1, 2).reshape(rows, time, hidden)


def _fused_is_slow(states: Tensor) -> bool:
    """Return whether PyTorch's fused attention is slow: its gradient in bfloat16 on a CPU, 40% of a training step."""
    return states.dtype == torch.bfloat16 and states.device.type == "cpu" and states.requires_grad


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

    def freeze(self, layers: int) -> None:
        """Let the word vectors and so many of the lower layers keep their weights in training."""
        for module in (self.words, self.positions, self.norm, *self.layers[:layers]):
            module.requires_grad_(False)

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
        joined: Tensor = packed.join(states)  # [texts, longest, hidden]
        for layer in self.layers[: self.local_layers]:
            joined = layer(joined, packed, local=True)
        joined = joined + self.slots(texts.slots.gather(1, packed.owner)).to(joined.dtype)
        for layer in self.layers[self.local_layers :]:
            joined = layer(joined, packed, local=False)
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
