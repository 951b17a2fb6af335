"""Networks of the discriminative models: an LSTM reads sentences, and a head scores cliques or pairs.

References: Li & Hovy 2014; Li & Jurafsky 2017, section 2 (cliques); Xu et al. 2019 (pairs); Conneau et al. 2017
(maximum over an LSTM's states).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor, nn
from torch.nn import functional

from weft.models.common.neural.encoder_decoder import Tokens
from weft.models.common.neural.layers import Embedding, make_lstm
from weft.models.discriminative.clique_windows import EDGES
from weft.models.discriminative.sentence_similarity import (
    MEASURES,
    ContentEncoder,
    all_similarities,
    content_size,
    similarities,
)

ALL_PAIRS = 1024  # sentences up to which the similarities of all pairs are computed at once: 8 MiB
POOLINGS = ("last", "max", "mean")


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """How an LSTM reads sentences; `NetworkFields` and `LstmFields` explain most of it."""

    vocabulary: int
    dimensions: int = 100
    hidden: int = 100
    layers: int = 1
    pooling: str = "max"
    dropout: float = 0.3
    fixed_words: bool = False  # token vectors are not trained
    fixed_encoder: bool = False  # nothing in the reader is trained
    similarity: bool = True  # the content vectors of sentences are computed, from which similarities follow


class SentenceLstm(nn.Module):
    """An LSTM that reads a sentence from its end, like the encoders of seq2seq, whose weights it can start from."""

    def __init__(self, reading: ReaderOptions) -> None:
        super().__init__()
        self.lstm = make_lstm(reading.dimensions, reading.hidden, reading.layers, reading.dropout)
        self.pooling = reading.pooling

    def forward(self, embedded: Tensor, lengths: Tensor) -> Tensor:
        """Return sentence vectors, [sentences, hidden], of [sentences, time, dimensions] padded on the right."""
        time = torch.arange(embedded.shape[1], device=embedded.device)
        backwards = (lengths[:, None] - 1 - time).clamp(min=0)  # [sentences, time]
        reversed_ = embedded.gather(1, backwards[:, :, None].expand_as(embedded))
        states: Tensor = self.lstm(reversed_)[0]  # [sentences, time, hidden], meaningless after the end
        if self.pooling == "last":
            return states[torch.arange(len(states), device=states.device), lengths - 1]
        real = (time < lengths[:, None])[:, :, None]  # [sentences, time, 1]
        if self.pooling == "max":
            return states.masked_fill(~real, -torch.inf).amax(dim=1)
        return (states * real).sum(dim=1) / lengths[:, None]


class SentenceReader(nn.Module):
    """Token vectors and an LSTM over them; both can start from another model's encoder."""

    def __init__(self, reading: ReaderOptions) -> None:
        super().__init__()
        self.embedding = Embedding(reading.vocabulary, reading.dimensions)
        self.encoder = SentenceLstm(reading)
        self.dropout = nn.Dropout(reading.dropout)
        self.fixed = reading.fixed_encoder
        self.embedding.weight.requires_grad_(not (reading.fixed_words or reading.fixed_encoder))
        self.encoder.requires_grad_(not reading.fixed_encoder)
        self.contents = ContentEncoder(reading.vocabulary) if reading.similarity else None
        self.size = reading.hidden
        if reading.similarity:
            self.size += content_size(reading.dimensions, reading.vocabulary)

    def read(self, sentences: Tokens) -> Tensor:
        """Return the vector of each sentence, followed by its content vector if that is used: [sentences, size]."""
        vectors = self._vectors(sentences)
        if self.contents is None:
            return vectors
        real = torch.arange(sentences.ids.shape[1], device=sentences.ids.device) < sentences.lengths[:, None]
        # Padding gets weight zero: dropping it would make the host wait for the device.
        owners = torch.arange(len(real), device=real.device)[:, None].expand_as(real).flatten()  # [tokens]
        tokens, counted = sentences.ids.flatten(), real.flatten()
        content = self.contents(tokens, owners, counted, len(real), self.embedding.weight)
        return torch.cat([vectors, content], dim=1)

    def _vectors(self, sentences: Tokens) -> Tensor:
        if self.fixed:  # not trained, so there is no dropout either
            with torch.no_grad():
                frozen: Tensor = self.encoder(self.embedding(sentences.ids), sentences.lengths)
                return frozen
        embedded = self.dropout(self.embedding(sentences.ids))  # [sentences, time, dimensions]
        vectors: Tensor = self.encoder(embedded, sentences.lengths)
        return vectors


@dataclass(frozen=True, slots=True)
class CliqueRows:
    """The two ends of a text and its sentences, as inputs of cliques."""

    projected: Tensor  # contribution to the hidden layer at each place of a clique: [2 + sentences, places, width]
    contents: Tensor  # content vectors: [2 + sentences, content size]; no columns if they are not used
    similarities: tuple[Tensor, ...] | None  # of all pairs, [2 + sentences, 2 + sentences] each; None for a long text

    def __len__(self) -> int:
        return len(self.projected)


class CliqueHead(nn.Module):
    """The classifier of cliques: a hidden layer (tanh) over the concatenated sentences, and their log-odds.

    A matrix over a concatenation is a sum of matrices, one for each place. Each sentence is multiplied once for each
    place it can take, and a clique is a sum of rows.

    Args:
        size: Size of a sentence vector.
        window: Number of sentences on either side of the centre.
        width: Size of the hidden layer.
        dropout: Dropout rate in training.
        dimensions: Size of the word vectors inside content vectors; 0 if similarities are not used.
    """

    def __init__(self, size: int, window: int, width: int, dropout: float, dimensions: int) -> None:
        super().__init__()
        self.size, self.window, self.width, self.dimensions = size, window, width, dimensions
        self.edges = nn.Parameter(torch.zeros(EDGES, size))  # Paper: padding; here it is learned, starting from zero
        self.places = nn.Linear(size, (2 * window + 1) * width, bias=False)
        self.bias = nn.Parameter(torch.zeros(width))
        self.output = nn.Linear(width, 1)
        self.dropout = nn.Dropout(dropout)
        self.pairs = tuple(combinations(range(2 * window + 1), 2))
        self.alike = nn.Linear(MEASURES * len(self.pairs), width, bias=False) if dimensions else None

    def rows(self, read: Tensor) -> CliqueRows:
        """Return the inputs of cliques, from sentences that have been read: [sentences, vector and content]."""
        vectors, contents = read[:, : self.size], read[:, self.size :]
        rows = self.dropout(torch.cat([self.edges.to(vectors.dtype), vectors]))  # [2 + sentences, size]
        projected = self.places(rows).view(len(rows), -1, self.width)
        contents = functional.pad(contents, (0, 0, EDGES, 0))  # an end of the text is similar to nothing
        every = self.alike is not None and len(contents) <= ALL_PAIRS
        return CliqueRows(projected, contents, all_similarities(contents, self.dimensions) if every else None)

    def forward(self, rows: CliqueRows, cliques: Tensor) -> Tensor:
        """Return the log-odds that cliques, [cliques, places] of rows, are original: [cliques]."""
        total: Tensor = self.bias
        for place in range(2 * self.window + 1):
            total = total + rows.projected[:, place].index_select(0, cliques[:, place])
        if self.alike is not None:
            found = [self._similarities(rows, cliques[:, a], cliques[:, b]) for a, b in self.pairs]
            total = total + self.alike(torch.cat(found, dim=1))
        odds: Tensor = self.output(self.dropout(torch.tanh(total)))[:, 0]
        return odds

    def _similarities(self, rows: CliqueRows, left: Tensor, right: Tensor) -> Tensor:
        """Return the similarities of pairs of rows: [pairs, MEASURES]."""
        if rows.similarities is not None:
            return torch.stack([table[left, right] for table in rows.similarities], dim=1)
        return similarities(rows.contents.index_select(0, left), rows.contents.index_select(0, right), self.dimensions)


class CliqueNetwork(SentenceReader):
    """A sentence reader with a classifier of cliques."""

    def __init__(self, reading: ReaderOptions, window: int, width: int) -> None:
        super().__init__(reading)
        compared = reading.dimensions if reading.similarity else 0
        self.head = CliqueHead(reading.hidden, window, width, reading.dropout, compared)


class PairNetwork(SentenceReader):
    """A sentence reader with a score of pairs: a hidden layer over u, v, u − v, |u − v| and u · v (element-wise)."""

    def __init__(self, reading: ReaderOptions, width: int) -> None:
        super().__init__(reading)
        self.direction = "forward"  # trained with the second sentence replaced; "backward": with the first
        self.hidden, self.dimensions = reading.hidden, reading.dimensions
        self.norm = nn.LayerNorm(reading.hidden)
        # u − v is linear in u and v, so it needs no matrix of its own.
        self.left = nn.Linear(reading.hidden, width)
        self.right = nn.Linear(reading.hidden, width, bias=False)
        self.joint = nn.Linear(2 * reading.hidden, width, bias=False)
        self.alike = nn.Linear(MEASURES, width, bias=False) if reading.similarity else None
        self.verdict = nn.Linear(width, 1, bias=False)  # only differences of scores matter

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Return the scores of pairs of sentences, [..., size] each, made by `pair_inputs`: [...]."""
        (u, like_u), (v, like_v) = (side.tensor_split([self.hidden], dim=-1) for side in (left, right))
        together = torch.cat([(u - v).abs(), u * v], dim=-1)  # [..., 2 · hidden]
        hidden = self.left(u) + self.right(v) + self.joint(together)  # [..., width]
        if self.alike is not None:
            hidden = hidden + self.alike(similarities(like_u, like_v, self.dimensions))
        score: Tensor = self.verdict(self.dropout(functional.relu(hidden))).squeeze(-1)
        return score

    def pair_inputs(self, read: Tensor) -> Tensor:
        """Return sentences that have been read, normalised as inputs of pairs: [sentences, size]."""
        normed = self.dropout(self.norm(read[:, : self.hidden]))
        return torch.cat([normed, read[:, self.hidden :]], dim=1)
