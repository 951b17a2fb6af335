"""Layers of the neural models: LSTM, attention, and a cross-entropy that computes logits in chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

LstmState = tuple[Tensor, Tensor]  # (h, c), each [layers, rows, hidden]
CHUNK_ROWS = 4096  # rows of logits held at once: 4096 × 16,384 float32 are 256 MiB

CPU_CHUNK_ROWS = 256  # 256 × 8,192 float32 are 8 MiB; larger chunks do not fit the cache


def make_lstm(inputs: int, hidden: int, layers: int, dropout: float) -> nn.LSTM:
    """Return an LSTM whose forget gates start open (bias 1), so that it remembers the source early in training."""
    lstm = nn.LSTM(inputs, hidden, layers, batch_first=True, dropout=dropout if layers > 1 else 0.0)
    for name, parameter in lstm.named_parameters():
        if name.startswith("bias_ih"):
            nn.init.zeros_(parameter)
            parameter.data[hidden : 2 * hidden] = 1.0  # gate order: input, forget, cell, output
        elif name.startswith("bias"):
            nn.init.zeros_(parameter)
        else:
            _start_normal(parameter, std=parameter.shape[1] ** -0.5 / 2)
    return lstm


def _start_normal(parameter: Tensor, std: float) -> None:
    """Initialise a parameter with random numbers, unless it is on the meta device."""
    if not parameter.is_meta:  # there, normal_ imports the compiler of torch, which takes a second
        nn.init.normal_(parameter, std=std)


class Embedding(nn.Module):
    """Token vectors of standard deviation D^-0.5, scaled by √D as inputs; the same matrix predicts tokens.

    With unscaled vectors of standard deviation 0.05, training stays at unigram loss for 1,000 steps (docs/log.md).
    """

    def __init__(self, vocabulary: int, dimensions: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocabulary, dimensions))
        _start_normal(self.weight, std=dimensions**-0.5)
        self.scale = dimensions**0.5

    def forward(self, ids: Tensor) -> Tensor:
        """Return the vectors of ids: [rows, time] → [rows, time, dimensions]."""
        looked_up: Tensor = functional.embedding(ids, self.weight) * self.scale
        return looked_up


class Encoder(nn.Module):
    """Encodes a reversed sentence as states and a start state for a decoder (Sutskever et al. 2014).

    Rows are padded on the right, so that padding does not affect the states before it: a score must not depend on other
    rows of the batch. The decoder starts from the state at the last real token, through a linear bridge, because the
    last state of the LSTM includes padding. (Packed sequences are exact too, but take twice the time, because they
    launch one small kernel per step.)
    """

    def __init__(self, inputs: int, hidden: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.lstm = make_lstm(inputs, hidden, layers, dropout)
        self.bridge = nn.Linear(hidden, 2 * hidden)
        self.layers = layers

    def forward(self, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
        """Encode sentences.

        Args:
            embedded: Token vectors in reading order, padded on the right: [rows, time, inputs].
            lengths: Number of tokens, on the device, each at least 1: [rows].

        Returns:
            States in reversed order, meaningless after the end, [rows, time, hidden]; the token vectors in that order,
            [rows, time, inputs]; and a start state (h, c) for a decoder, [layers, rows, hidden] each.
        """
        time = torch.arange(embedded.shape[1], device=embedded.device)
        backwards = (lengths[:, None] - 1 - time).clamp(min=0)  # [rows, time]
        reversed_ = embedded.gather(1, backwards[:, :, None].expand_as(embedded))  # [rows, time, inputs]
        states, _ = self.lstm(reversed_)  # [rows, time, hidden]
        last = states[torch.arange(len(states), device=states.device), lengths - 1]  # [rows, hidden]
        h, c = self.bridge(last).chunk(2, dim=-1)  # [rows, hidden] each
        start = tuple(part.expand(self.layers, *part.shape).contiguous() for part in (h, c))
        return states, reversed_, (start[0], start[1])


@dataclass(frozen=True, slots=True)
class KeysValues:
    """The keys and values of a source, for attention.

    Both depend only on the source and are computed once per sentence, for all its targets.
    """

    keys: Tensor  # vectors that are multiplied with the states of the decoder: [rows, source time, hidden]
    values: Tensor  # vectors that are averaged: [rows, source time, size]


def attend(states: Tensor, source: KeysValues, lengths: Tensor) -> Tensor:
    """Return the mean of the values of a source, weighted by the products of its keys with each decoder state.

    Args:
        states: States of the decoder: [rows, target time, hidden].
        source: The keys and values of the source.
        lengths: Number of tokens of the source: [rows].

    Returns:
        Weighted means: [rows, target time, size].
    """
    scores = states @ source.keys.transpose(1, 2)  # [rows, target time, source time]
    beyond = torch.arange(source.keys.shape[1], device=lengths.device) >= lengths[:, None]  # [rows, source time]
    weights = scores.float().masked_fill(beyond[:, None, :], -torch.inf).softmax(dim=-1)
    return weights.to(source.values.dtype) @ source.values


class Attention(nn.Module):
    """The general attention of Luong et al. (2015) over the source states, added to the output.

    Luong et al. concatenate the attention result with the decoder state before the output layer. That layer is linear
    here, so that its matrix is a sum of two, and the one for the source is applied once per sentence.
    """

    def __init__(self, hidden: int, size: int) -> None:
        super().__init__()
        self.key = nn.Linear(hidden, hidden, bias=False)
        self.value = nn.Linear(hidden, size, bias=False)

    def forward(self, source: Tensor) -> KeysValues:
        """Return keys and values of a source: [rows, source time, hidden]."""
        return KeysValues(self.key(source), self.value(source))


class LexicalAttention(nn.Module):
    """Attention over the source words, connected directly to the output (Nguyen & Chiang 2018).

    A repeated name is a rare word, which the decoder state represents badly. Adding its vector from the source to the
    input of the tied output matrix makes it likely. Values mix the vectors of a word and its two neighbours, because
    the word after a matched word is often the next word.
    """

    def __init__(self, hidden: int, dimensions: int) -> None:
        super().__init__()
        self.key = nn.Linear(hidden, hidden, bias=False)
        self.mix = nn.Linear(3 * dimensions, dimensions, bias=False)
        nn.init.zeros_(self.mix.weight)  # starts at zero, so that a network trained without it is unchanged

    def forward(self, source: Tensor, words: Tensor, lengths: Tensor) -> KeysValues:
        """Return keys and values of a source.

        Args:
            source: States of the source: [rows, source time, hidden].
            words: Token vectors of the source, in the same order: [rows, source time, dimensions].
            lengths: Number of tokens of the source: [rows].
        """
        real = torch.arange(words.shape[1], device=words.device) < lengths[:, None]  # [rows, source time]
        padded = functional.pad(words * real[:, :, None], (0, 0, 1, 1))  # [rows, source time + 2, dimensions]
        around = torch.cat([padded[:, :-2], padded[:, 1:-1], padded[:, 2:]], dim=-1)
        return KeysValues(self.key(source), self.mix(around))


class FeedingDecoder(nn.Module):
    """A decoder whose upper layers read the attention result of the first layer (Wu et al. 2016).

    The first layer does not depend on attention, so that all steps of a layer run at once. Input feeding into the first
    layer (Luong et al. 2015) would require one word at a time.
    """

    def __init__(self, inputs: int, hidden: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.first = make_lstm(inputs, hidden, 1, 0.0)
        self.key = nn.Linear(hidden, hidden, bias=False)
        self.upper = make_lstm(2 * hidden, hidden, layers - 1, dropout)

    def keys_values(self, source: Tensor) -> KeysValues:
        """Return keys of a source, and its states as values: [rows, source time, hidden]."""
        return KeysValues(self.key(source), source)

    def forward(
        self, embedded: Tensor, state: LstmState | None, source: KeysValues | None, lengths: Tensor | None
    ) -> tuple[Tensor, LstmState]:
        """Run all steps.

        Args:
            embedded: Token vectors: [rows, time, inputs].
            state: (h, c), each [layers, rows, hidden]; zeros if None.
            source: The keys and values of the source, or None if it is empty.
            lengths: Number of tokens of the source: [rows].

        Returns:
            States of the last layer, [rows, time, hidden], and the final state.
        """
        low = high = None
        if state is not None:
            low, high = ((state[0][:1], state[1][:1]), (state[0][1:].contiguous(), state[1][1:].contiguous()))
        states, (low_h, low_c) = self.first(embedded, low)  # [rows, time, hidden]
        found = torch.zeros_like(states)
        if source is not None and lengths is not None:
            found = attend(states, source, lengths)
        states, (high_h, high_c) = self.upper(torch.cat([states, found], dim=-1), high)
        return states, (torch.cat([low_h, high_h]), torch.cat([low_c, high_c]))


class Guides(nn.Module):
    """Connections of a guiding vector to each step of a decoder: to its input and to its output.

    Paper: the state and z_n are concatenated. A matrix over a concatenation is a sum of two, and here the one for z_n
    maps to the space of token vectors. Both connections start at zero, so that a network trained without a guide is
    unchanged.
    """

    def __init__(self, guide: int, dimensions: int) -> None:
        super().__init__()
        self.reading = nn.Linear(guide, dimensions, bias=False)
        self.writing = nn.Linear(guide, dimensions, bias=False)
        for connection in (self.reading, self.writing):
            nn.init.zeros_(connection.weight)


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Cross-entropy with gradients computed chunk by chunk in the forward pass; memory holds one chunk of logits."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, shares: Tensor | None) -> Tensor:
        matrix = weight.to(hidden.dtype)  # [vocabulary, dimensions]
        gradient_hidden = torch.empty_like(hidden)
        learned = ctx.needs_input_grad[1]  # frozen vectors need no gradient, which saves a third of the work
        gradient_weight = torch.zeros_like(weight, dtype=torch.float32) if learned else None
        total = torch.zeros((), device=hidden.device, dtype=torch.float32)
        for start in range(0, len(hidden), CHUNK_ROWS):
            rows = slice(start, start + CHUNK_ROWS)
            logits = (hidden[rows] @ matrix.T).float()  # [chunk, vocabulary]
            log_norm = logits.logsumexp(dim=1)  # [chunk]
            picked = logits.gather(1, targets[rows, None]).squeeze(1)
            losses = log_norm - picked  # [chunk]
            # d loss / d logits = softmax − one-hot, written over the logits.
            gradient = (logits - log_norm[:, None]).exp_()
            gradient.scatter_add_(1, targets[rows, None], -torch.ones_like(picked)[:, None])
            if shares is not None:
                losses, gradient = losses * shares[rows], gradient * shares[rows, None]
            total += losses.sum()
            narrow = gradient.to(hidden.dtype)
            gradient_hidden[rows] = narrow @ matrix
            if gradient_weight is not None:
                gradient_weight += (narrow.T @ hidden[rows]).float()
        ctx.save_for_backward(gradient_hidden, None if gradient_weight is None else gradient_weight.to(weight.dtype))
        return total

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, Tensor | None, None, None]:
        gradient_hidden, gradient_weight = ctx.saved_tensors
        on_weight = None if gradient_weight is None else gradient_weight * upstream[0]
        return gradient_hidden * upstream[0].to(gradient_hidden.dtype), on_weight, None, None


def chunked_cross_entropy(hidden: Tensor, weight: Tensor, targets: Tensor, shares: Tensor | None = None) -> Tensor:
    """Return the summed cross-entropy of tied output weights without the full logits tensor.

    Args:
        hidden: Inputs of the output matrix: [tokens, dimensions].
        weight: The output matrix: [vocabulary, dimensions].
        targets: Ids to predict: [tokens].
        shares: Weight of each token; 1 if None: [tokens].

    Returns:
        A scalar, in natural-log units.
    """
    loss: Tensor = _ChunkedCrossEntropy.apply(hidden, weight, targets, shares)  # type: ignore[no-untyped-call]
    return loss


@torch.no_grad()
def token_log_probs(hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
    """Return log-probabilities of the targets, chunk by chunk: [tokens, D] and [vocabulary, D] → [tokens]."""
    parts = []
    matrix = weight.to(hidden.dtype).T  # [D, vocabulary]
    step = CHUNK_ROWS if hidden.is_cuda else CPU_CHUNK_ROWS
    for start in range(0, len(hidden), step):
        rows = slice(start, start + step)
        logits = (hidden[rows] @ matrix).float()  # [chunk, vocabulary]
        picked = logits.gather(1, targets[rows, None]).squeeze(1)
        highest = logits.amax(dim=1, keepdim=True)
        # This logsumexp overwrites the logits; that of torch makes three copies of them.
        parts.append(picked - highest.squeeze(1) - logits.sub_(highest).exp_().sum(dim=1).log())
    return torch.cat(parts) if parts else hidden.new_zeros(0)
