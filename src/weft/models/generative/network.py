"""Generative model 1 as a network: LSTM encoder-decoder, with or without attention (the paper's section 3.1).

References: Sutskever et al. 2014 (sequence to sequence); Luong et al. 2015 (attention). The forward model, the backward
model and the language model are this one class: backward swaps source and target, the language model has no encoder.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from weft.models.generative.memory import Memory
from weft.models.layers import (
    Attention,
    Embedding,
    Encoder,
    FeedingDecoder,
    Guides,
    LexicalAttention,
    Look,
    LstmState,
    attend,
    chunked_cross_entropy,
    make_lstm,
    token_log_probs,
)


@dataclass(frozen=True, slots=True)
class Architecture:
    """The sizes of a network.

    Attributes:
        vocabulary: Number of token types.
        dimensions: Size of token vectors.
        hidden: Size of LSTM states.
        layers: LSTM layers of the decoder, and of the encoder.
        attention: Whether the decoder looks back at the source.
        feed: Whether the decoder's upper layers also read what its first layer saw there; needs two layers.
        lexical: Whether attention also leads from the source's words straight to the output.
        frozen: Whether the vectors of input tokens are given and stay as they are; another matrix then predicts.
        encoder: False for a language model, whose source is empty.
        dropout: On token vectors, between layers and before the output.
        word_dropout: Share of the decoder's input tokens hidden in training, which makes it lean on its source.
        guide: Size of a vector that guides every word of a target (the paper's z_n); 0 for none.
    """

    vocabulary: int
    dimensions: int = 512
    hidden: int = 512
    layers: int = 2
    attention: bool = True
    encoder: bool = True
    dropout: float = 0.1
    word_dropout: float = 0.0
    feed: bool = False
    frozen: bool = False
    lexical: bool = False
    guide: int = 0


@dataclass(frozen=True, slots=True)
class Tokens:
    """Padded sentences on a device: ids [rows, time] and lengths [rows]."""

    ids: Tensor
    lengths: Tensor


@dataclass(frozen=True, slots=True)
class ContrastLoss:
    """A loss and its two parts, each summed over a batch."""

    total: Tensor
    likelihood: Tensor
    contrast: Tensor


class Seq2SeqNetwork(nn.Module):
    """Encoder, decoder, attention and tied output.

    Args:
        architecture: The sizes.
        bos: Id that starts a target.
        eos: Id that ends it.
        pad: Id that fills rows up.
    """

    def __init__(self, architecture: Architecture, *, bos: int, eos: int, pad: int) -> None:
        super().__init__()
        sizes = architecture
        self.architecture, self.bos, self.eos, self.pad = sizes, bos, eos, pad
        self.embedding = Embedding(sizes.vocabulary, sizes.dimensions)
        self.given: nn.Parameter | None = None
        if sizes.frozen:
            self.given = nn.Parameter(torch.zeros(sizes.vocabulary, sizes.dimensions), requires_grad=False)
        self.encoder = Encoder(sizes.dimensions, sizes.hidden, sizes.layers, sizes.dropout) if sizes.encoder else None
        looks = sizes.encoder and sizes.attention
        make_decoder = FeedingDecoder if looks and sizes.feed and sizes.layers > 1 else make_lstm
        self.decoder = make_decoder(sizes.dimensions, sizes.hidden, sizes.layers, sizes.dropout)
        self.attention = Attention(sizes.hidden, sizes.dimensions) if looks else None
        self.lexical = LexicalAttention(sizes.hidden, sizes.dimensions) if looks and sizes.lexical else None
        # No tanh before the output layer: it slowed learning from the source (docs/log.md).
        self.output = nn.Linear(sizes.hidden, sizes.dimensions, bias=False)
        self.guides = Guides(sizes.guide, sizes.dimensions) if sizes.guide else None

    def encode(self, source: Tokens) -> Memory:
        """Read the context sentences; a language model, or an empty source, remembers nothing."""
        if self.encoder is None or source.ids.shape[1] == 0:
            return Memory()
        embedded = self._dropped(self._look_up(source.ids))  # [rows, source time, dimensions]
        states, words, start = self.encoder(embedded, source.lengths)
        states = self._dropped(states)  # [rows, source time, hidden]
        looks: dict[str, Look] = {}
        if isinstance(self.decoder, FeedingDecoder):
            looks["feed"] = self.decoder.look(states)
        if self.attention is not None:
            looks["attention"] = self.attention(states)
        if self.lexical is not None:
            looks["lexical"] = self.lexical(states, words, source.lengths)
        return Memory(source.lengths, start, looks)

    def decode(
        self, inputs: Tensor, memory: Memory, state: LstmState | None = None, guide: Tensor | None = None
    ) -> tuple[Tensor, LstmState]:
        """Run the decoder over given input tokens, all steps at once.

        Args:
            inputs: [rows, time] token ids, the first of a sentence being ``bos``.
            memory: The source.
            state: Where an earlier call stopped; the source's final state at the beginning of a sentence.
            guide: [rows, guide], what guides every word of the row.

        Returns:
            What the output matrix is multiplied with, [rows, time, dimensions], and the state reached.
        """
        embedded = self._dropped(self._look_up(inputs))  # [rows, time, dimensions]
        if self.guides is not None and guide is not None:
            embedded = embedded + self.guides.reading(guide)[:, None]
        start = state if state is not None else memory.start
        if isinstance(self.decoder, FeedingDecoder):
            states, reached = self.decoder(embedded, start, memory.looks.get("feed"), memory.lengths)
        else:
            states, reached = self.decoder(embedded, start)  # [rows, time, hidden]
        states = self._dropped(states)
        outputs = self.output(states)  # [rows, time, dimensions]
        if self.guides is not None and guide is not None:
            outputs = outputs + self.guides.writing(guide)[:, None]
        for name in ("attention", "lexical"):
            if name in memory.looks and memory.lengths is not None:
                outputs = outputs + attend(states, memory.looks[name], memory.lengths)
        return outputs, reached

    def _look_up(self, ids: Tensor) -> Tensor:
        vectors: Tensor = self.embedding(ids) if self.given is None else functional.embedding(ids, self.given)
        return vectors  # [rows, time, dimensions]

    def _dropped(self, values: Tensor) -> Tensor:
        return functional.dropout(values, self.architecture.dropout, self.training)

    def _shifted(self, target: Tokens) -> tuple[Tensor, Tensor, Tensor]:
        """Decoder inputs, the tokens they predict, and which of them are real: each [rows, time + 1]."""
        rows, width = target.ids.shape
        device = target.ids.device
        lengths = target.lengths
        first = torch.full((rows, 1), self.bos, device=device)
        inputs = torch.cat([first, target.ids], dim=1)
        predicted = torch.cat([target.ids, torch.full((rows, 1), self.pad, device=device)], dim=1)
        predicted.scatter_(1, lengths[:, None], self.eos)
        real = torch.arange(width + 1, device=device) <= lengths[:, None]
        return inputs, predicted, real

    def loss(self, source: Tokens, target: Tokens, places: Tensor | None = None, guide: Tensor | None = None) -> Tensor:
        """Negative log-likelihood of the targets, summed over tokens and ends of sentences.

        Args:
            source: The contexts.
            target: What is to be predicted.
            places: Which of the predictions are real, counted row by row; a GPU that has to find out itself makes the
                host wait for it.
            guide: [rows, guide].
        """
        return self.target_loss(self.encode(source), target, places, guide)

    def target_loss(
        self, memory: Memory, target: Tokens, places: Tensor | None = None, guide: Tensor | None = None
    ) -> Tensor:
        """The same for sources that are encoded already."""
        inputs, predicted, real = self._shifted(target)
        if self.training and self.architecture.word_dropout:
            hidden_words = torch.rand(inputs.shape, device=inputs.device) < self.architecture.word_dropout
            hidden_words[:, 0] = False
            inputs = inputs.masked_fill(hidden_words, self.pad)
        outputs, _ = self.decode(inputs, memory, guide=guide)  # [rows, time + 1, dimensions]
        chosen = real.flatten().nonzero().squeeze(1) if places is None else places  # [tokens]
        hidden = outputs.flatten(0, 1).index_select(0, chosen)  # [tokens, dimensions]
        return chunked_cross_entropy(hidden, self.embedding.weight, predicted.flatten().index_select(0, chosen))

    def contrast_loss(
        self, source: Tokens, other: Tokens, target: Tokens, places: Tensor, weight: float
    ) -> ContrastLoss:
        """The likelihood of the targets, and which of two sentences was their source (Bahl et al. 1986).

        By Bayes' rule and with equal odds, the first of two sources was it with probability p(t|a) / (p(t|a) + p(t|b)).
        Its negative logarithm, the contrast, is log(1 + exp(log p(t|b) − log p(t|a))).

        Args:
            source: The contexts.
            other: As many sentences that are not.
            target: What is to be predicted.
            places: Which of the predictions are real, counted row by row.
            weight: What the contrast of a row counts beside its likelihood.
        """
        inputs, predicted, _ = self._shifted(Tokens(target.ids.repeat(2, 1), target.lengths.repeat(2)))
        outputs, _ = self.decode(inputs, self.encode(_stacked(source, other, self.pad)))  # [2 rows, time + 1, D]
        half = predicted.numel() // 2
        chosen = torch.cat([places, places + half])  # [2 tokens]: each target after its source, then after the other
        hidden = outputs.flatten(0, 1).index_select(0, chosen)  # [2 tokens, D]
        wanted = predicted.flatten().index_select(0, chosen)  # [2 tokens]
        known = token_log_probs(hidden, self.embedding.weight, wanted)  # [2 tokens]
        rows = torch.div(chosen, predicted.shape[1], rounding_mode="floor")  # [2 tokens]
        right, wrong = known.new_zeros(len(inputs)).index_add(0, rows, known).chunk(2)  # [rows] each
        doubt = (wrong - right).sigmoid()  # [rows]: the derivative of the contrast by log p(t|b) − log p(t|a)
        shares = torch.cat([1 + weight * doubt, -weight * doubt]).index_select(0, rows)  # [2 tokens]
        # It has the gradient, but not the value.
        surrogate = chunked_cross_entropy(hidden, self.embedding.weight, wanted, shares)
        likelihood, contrast = -right.sum(), functional.softplus(wrong - right).sum()
        return ContrastLoss(likelihood + weight * contrast + surrogate - surrogate.detach(), likelihood, contrast)

    @torch.no_grad()
    def log_prob(self, memory: Memory, target: Tokens, guide: Tensor | None = None) -> Tensor:
        """Log-probability of the targets given their sources, summed over tokens, ``</s>`` included: [rows]."""
        inputs, predicted, real = self._shifted(target)
        outputs, _ = self.decode(inputs, memory, guide=guide)
        sums = torch.zeros(real.shape, device=inputs.device)
        sums[real] = token_log_probs(outputs[real], self.embedding.weight, predicted[real])
        return sums.sum(dim=1)


def _stacked(above: Tokens, below: Tokens, pad: int) -> Tokens:
    """The rows of both, padded to the same width."""
    width = max(above.ids.shape[1], below.ids.shape[1])
    ids = [functional.pad(one.ids, (0, width - one.ids.shape[1]), value=pad) for one in (above, below)]
    return Tokens(torch.cat(ids), torch.cat([above.lengths, below.lengths]))
