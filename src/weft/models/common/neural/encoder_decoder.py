"""The network of generative model 1: an LSTM encoder-decoder, with or without attention (section 3.1).

References: Sutskever et al. 2014 (sequence to sequence); Luong et al. 2015 (attention). The same class is
used for the forward model, the backward model (source and target are swapped) and the language model (no encoder).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from weft.corpora.text.tokenizers import Tokenizer
from weft.models.common.neural.layers import (
    Attention,
    Embedding,
    Encoder,
    FeedingDecoder,
    Guides,
    KeysValues,
    LexicalAttention,
    LstmState,
    attend,
    chunked_cross_entropy,
    make_lstm,
    token_log_probs,
)
from weft.models.common.neural.source_memory import Memory


@dataclass(frozen=True, slots=True)
class Architecture:
    """The sizes of a network."""

    vocabulary: int  # number of token types
    dimensions: int = 512  # size of token vectors
    hidden: int = 512  # size of LSTM states
    layers: int = 2  # number of LSTM layers of the decoder and of the encoder
    attention: bool = True  # whether the decoder attends to the source
    encoder: bool = True  # whether there is an encoder; a language model has none
    dropout: float = 0.1  # dropout on token vectors, between layers and before the output
    # Share of decoder input tokens hidden in training, which makes the decoder use its source more.
    word_dropout: float = 0.0
    feed: bool = False  # whether the upper decoder layers also read the attention result of the first; needs two layers
    frozen: bool = False  # whether input token vectors are given and fixed; the output matrix is then separate
    lexical: bool = False  # whether attention also connects source words directly to the output
    guide: int = 0  # size of the vector that guides each word of a target (the paper's z_n); 0 for none


@dataclass(frozen=True, slots=True)
class Tokens:
    """Padded sentences on a device: ids [rows, time] and lengths [rows]."""

    ids: Tensor
    lengths: Tensor


@dataclass(frozen=True, slots=True)
class Predictions:
    """Decoder outputs for the real tokens of some rows, as one flat sequence."""

    hidden: Tensor  # input of the output matrix: [tokens, dimensions]
    wanted: Tensor  # ids to predict: [tokens]
    rows: Tensor  # row of each token: [tokens]
    count: int  # number of rows


class Seq2SeqNetwork(nn.Module):
    """Encoder, decoder, attention and tied output."""

    def __init__(self, architecture: Architecture, *, bos: int, eos: int, pad: int) -> None:
        super().__init__()
        sizes = architecture
        self.architecture, self.bos, self.eos, self.pad = sizes, bos, eos, pad
        self.embedding = Embedding(sizes.vocabulary, sizes.dimensions)
        self.given: nn.Parameter | None = None
        if sizes.frozen:
            self.given = nn.Parameter(torch.zeros(sizes.vocabulary, sizes.dimensions), requires_grad=False)
        self.encoder = Encoder(sizes.dimensions, sizes.hidden, sizes.layers, sizes.dropout) if sizes.encoder else None
        attends = sizes.encoder and sizes.attention
        make_decoder = FeedingDecoder if attends and sizes.feed and sizes.layers > 1 else make_lstm
        self.decoder = make_decoder(sizes.dimensions, sizes.hidden, sizes.layers, sizes.dropout)
        self.attention = Attention(sizes.hidden, sizes.dimensions) if attends else None
        self.lexical = LexicalAttention(sizes.hidden, sizes.dimensions) if attends and sizes.lexical else None
        # No tanh before the output layer: it slowed learning from the source (docs/log.md).
        self.output = nn.Linear(sizes.hidden, sizes.dimensions, bias=False)
        self.guides = Guides(sizes.guide, sizes.dimensions) if sizes.guide else None

    def encode(self, source: Tokens) -> Memory:
        """Return the encoded context sentences; the memory of a language model or an empty source is empty."""
        if self.encoder is None or source.ids.shape[1] == 0:
            return Memory()
        embedded = self._dropped(self._look_up(source.ids))  # [rows, source time, dimensions]
        states, words, start = self.encoder(embedded, source.lengths)
        states = self._dropped(states)  # [rows, source time, hidden]
        keys_values: dict[str, KeysValues] = {}
        if isinstance(self.decoder, FeedingDecoder):
            keys_values["feed"] = self.decoder.keys_values(states)
        if self.attention is not None:
            keys_values["attention"] = self.attention(states)
        if self.lexical is not None:
            keys_values["lexical"] = self.lexical(states, words, source.lengths)
        return Memory(source.lengths, start, keys_values)

    def decode(
        self, inputs: Tensor, memory: Memory, state: LstmState | None = None, guide: Tensor | None = None
    ) -> tuple[Tensor, LstmState]:
        """Run the decoder over given input tokens, all steps at once.

        Args:
            inputs: Token ids, beginning with ``bos``: [rows, time].
            memory: The encoded source.
            state: The state after an earlier call; at the beginning of a sentence, None.
            guide: The guiding vector of each row: [rows, guide].

        Returns:
            The input of the output matrix, [rows, time, dimensions], and the final state.
        """
        embedded = self._dropped(self._look_up(inputs))  # [rows, time, dimensions]
        if self.guides is not None and guide is not None:
            embedded = embedded + self.guides.reading(guide)[:, None]
        start = state if state is not None else memory.start
        if isinstance(self.decoder, FeedingDecoder):
            states, reached = self.decoder(embedded, start, memory.keys_values.get("feed"), memory.lengths)
        else:
            states, reached = self.decoder(embedded, start)  # [rows, time, hidden]
        states = self._dropped(states)
        outputs = self.output(states)  # [rows, time, dimensions]
        if self.guides is not None and guide is not None:
            outputs = outputs + self.guides.writing(guide)[:, None]
        for name in ("attention", "lexical"):
            if name in memory.keys_values and memory.lengths is not None:
                outputs = outputs + attend(states, memory.keys_values[name], memory.lengths)
        return outputs, reached

    def _look_up(self, ids: Tensor) -> Tensor:
        vectors: Tensor = self.embedding(ids) if self.given is None else functional.embedding(ids, self.given)
        return vectors  # [rows, time, dimensions]

    def _dropped(self, values: Tensor) -> Tensor:
        return functional.dropout(values, self.architecture.dropout, self.training)

    def _shifted(self, target: Tokens) -> tuple[Tensor, Tensor, Tensor]:
        """Return decoder inputs, the tokens they predict, and the mask of real ones: each [rows, time + 1]."""
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
        """Return the negative log-likelihood of the targets, summed over tokens and ends of sentences.

        Args:
            source: The contexts.
            target: The sentences to predict.
            places: Positions of the real predictions, row by row; computing them on a GPU would make the host wait.
            guide: The guiding vector of each row: [rows, guide].
        """
        return self.target_loss(self.encode(source), target, places, guide)

    def target_loss(
        self, memory: Memory, target: Tokens, places: Tensor | None = None, guide: Tensor | None = None
    ) -> Tensor:
        """Return the loss of the targets for encoded sources."""
        found = self.predictions(memory, target, places, guide)
        return chunked_cross_entropy(found.hidden, self.embedding.weight, found.wanted)

    def predictions(
        self, memory: Memory, target: Tokens, places: Tensor | None = None, guide: Tensor | None = None
    ) -> Predictions:
        """Return the predictions of the targets; in training some input words are hidden."""
        inputs, predicted, real = self._shifted(target)
        if self.training and self.architecture.word_dropout:
            hidden_words = torch.rand(inputs.shape, device=inputs.device) < self.architecture.word_dropout
            hidden_words[:, 0] = False
            inputs = inputs.masked_fill(hidden_words, self.pad)
        outputs, _ = self.decode(inputs, memory, guide=guide)  # [rows, time + 1, dimensions]
        chosen = real.flatten().nonzero().squeeze(1) if places is None else places  # [tokens]
        rows = torch.div(chosen, predicted.shape[1], rounding_mode="floor")  # [tokens]
        hidden = outputs.flatten(0, 1).index_select(0, chosen)  # [tokens, dimensions]
        return Predictions(hidden, predicted.flatten().index_select(0, chosen), rows, len(predicted))

    @torch.no_grad()
    def log_prob(self, memory: Memory, target: Tokens, guide: Tensor | None = None) -> Tensor:
        """Return the log-probability of each target given its source, summed over tokens with ``</s>``: [rows]."""
        inputs, predicted, real = self._shifted(target)
        outputs, _ = self.decode(inputs, memory, guide=guide)
        sums = torch.zeros(real.shape, device=inputs.device)
        sums[real] = token_log_probs(outputs[real], self.embedding.weight, predicted[real])
        return sums.sum(dim=1)


def special_ids(tokenizer: Tokenizer) -> dict[str, int]:
    """Return the ids of the special tokens, as arguments of a network."""
    return {"bos": tokenizer.bos_id, "eos": tokenizer.eos_id, "pad": tokenizer.pad_id}


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
