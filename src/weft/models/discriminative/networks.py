"""The clique network and the pair network: sentences are read by an LSTM, and what is read is judged.

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
from weft.models.discriminative.sentence_similarity import MEASURES, Contents, all_cosines, content_size, cosines

ALL_PAIRS = 1024  # sentences up to which all pairs are compared at once: 8 MiB
POOLINGS = ("last", "max", "mean")


@dataclass(frozen=True, slots=True)
class Reading:
    """How sentences are read.

    Attributes:
        vocabulary: Number of token types.
        dimensions: Size of token vectors.
        hidden: Size of LSTM states, and of a sentence's vector.
        layers: LSTM layers.
        pooling: Which states make a sentence's vector: the ``last`` (the paper's), their ``max`` or their ``mean``.
        dropout: On token vectors, sentence vectors and the hidden layer.
        fixed_words: Whether token vectors stay as they are.
        fixed_encoder: Whether the whole reader stays as it is.
        likeness: Whether sentences also come with what tells how alike they are.
    """

    vocabulary: int
    dimensions: int = 100
    hidden: int = 100
    layers: int = 1
    pooling: str = "max"
    dropout: float = 0.3
    fixed_words: bool = False
    fixed_encoder: bool = False
    likeness: bool = True


class SentenceLstm(nn.Module):
    """Reads a sentence from its end, as the shared encoders do, so that it can start from their weights."""

    def __init__(self, reading: Reading) -> None:
        super().__init__()
        self.lstm = make_lstm(reading.dimensions, reading.hidden, reading.layers, reading.dropout)
        self.pooling = reading.pooling

    def forward(self, embedded: Tensor, lengths: Tensor) -> Tensor:
        """[sentences, time, dimensions], padded on the right → [sentences, hidden]."""
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


class Reader(nn.Module):
    """Token vectors and the LSTM over them; the part that may start from another model's encoder."""

    def __init__(self, reading: Reading) -> None:
        super().__init__()
        self.embedding = Embedding(reading.vocabulary, reading.dimensions)
        self.encoder = SentenceLstm(reading)
        self.dropout = nn.Dropout(reading.dropout)
        self.fixed = reading.fixed_encoder
        self.embedding.weight.requires_grad_(not (reading.fixed_words or reading.fixed_encoder))
        self.encoder.requires_grad_(not reading.fixed_encoder)
        self.contents = Contents(reading.vocabulary) if reading.likeness else None
        self.size = reading.hidden
        if reading.likeness:
            self.size += content_size(reading.dimensions, reading.vocabulary)

    def read(self, sentences: Tokens) -> Tensor:
        """What is made of each sentence, and its content where that is wanted: [sentences, size]."""
        vectors = self._vectors(sentences)
        if self.contents is None:
            return vectors
        real = torch.arange(sentences.ids.shape[1], device=sentences.ids.device) < sentences.lengths[:, None]
        # Padding is weighed with zero: to leave it out, the host would have to wait for the device.
        owners = torch.arange(len(real), device=real.device)[:, None].expand_as(real).flatten()  # [tokens]
        tokens, counted = sentences.ids.flatten(), real.flatten()
        content = self.contents(tokens, owners, counted, len(real), self.embedding.weight)
        return torch.cat([vectors, content], dim=1)

    def _vectors(self, sentences: Tokens) -> Tensor:
        if self.fixed:  # nothing is learned here, and nothing is left to chance
            with torch.no_grad():
                frozen: Tensor = self.encoder(self.embedding(sentences.ids), sentences.lengths)
                return frozen
        embedded = self.dropout(self.embedding(sentences.ids))  # [sentences, time, dimensions]
        vectors: Tensor = self.encoder(embedded, sentences.lengths)
        return vectors


@dataclass(frozen=True, slots=True)
class CliqueRows:
    """Edges and sentences as cliques are made of.

    Attributes:
        moved: [2 + sentences, places, width] what each adds to the hidden layer at each place of a clique.
        contents: [2 + sentences, content size] what tells how alike they are; no columns where that is not asked.
        alike: [MEASURES, 2 + sentences, 2 + sentences] how alike all pairs are; None of a long text.
    """

    moved: Tensor
    contents: Tensor
    alike: tuple[Tensor, ...] | None

    def __len__(self) -> int:
        return len(self.moved)


class CliqueHead(nn.Module):
    """The sentences of a clique side by side, a hidden layer (tanh) and one number: the log-odds of coherence.

    A matrix over a concatenation is a sum of matrices, one for each place: every sentence is multiplied once for each
    place it may take, and a clique is a sum of rows.

    Args:
        size: Of a sentence's vector.
        window: Sentences on either side of the centre.
        width: Of the hidden layer.
        dropout: In training.
        dimensions: Size of the sums of word vectors that tell how alike the sentences of a clique are; 0 where the
            hidden layer does not see that.
    """

    def __init__(self, size: int, window: int, width: int, dropout: float, dimensions: int) -> None:
        super().__init__()
        self.size, self.window, self.width, self.dimensions = size, window, width, dimensions
        self.edges = nn.Parameter(torch.zeros(EDGES, size))  # Paper: padding; it is learned here, from zero
        self.places = nn.Linear(size, (2 * window + 1) * width, bias=False)
        self.bias = nn.Parameter(torch.zeros(width))
        self.output = nn.Linear(width, 1)
        self.dropout = nn.Dropout(dropout)
        self.pairs = tuple(combinations(range(2 * window + 1), 2))
        self.alike = nn.Linear(MEASURES * len(self.pairs), width, bias=False) if dimensions else None

    def rows(self, read: Tensor) -> CliqueRows:
        """Sentences that have been read, [sentences, vector and content], ready for cliques."""
        vectors, contents = read[:, : self.size], read[:, self.size :]
        known = self.dropout(torch.cat([self.edges.to(vectors.dtype), vectors]))  # [2 + sentences, size]
        moved = self.places(known).view(len(known), -1, self.width)
        known = functional.pad(contents, (0, 0, EDGES, 0))  # an edge is like nothing
        every = self.alike is not None and len(known) <= ALL_PAIRS
        return CliqueRows(moved, known, all_cosines(known, self.dimensions) if every else None)

    def forward(self, rows: CliqueRows, cliques: Tensor) -> Tensor:
        """Log-odds that cliques, [cliques, places] of rows, are as they were written: [cliques]."""
        total: Tensor = self.bias
        for place in range(2 * self.window + 1):
            total = total + rows.moved[:, place].index_select(0, cliques[:, place])
        if self.alike is not None:
            likeness = [self._likeness(rows, cliques[:, a], cliques[:, b]) for a, b in self.pairs]
            total = total + self.alike(torch.cat(likeness, dim=1))
        odds: Tensor = self.output(self.dropout(torch.tanh(total)))[:, 0]
        return odds

    def _likeness(self, rows: CliqueRows, left: Tensor, right: Tensor) -> Tensor:
        """How alike pairs of rows are: [pairs, MEASURES]."""
        if rows.alike is not None:
            return torch.stack([table[left, right] for table in rows.alike], dim=1)
        return cosines(rows.contents.index_select(0, left), rows.contents.index_select(0, right), self.dimensions)


class CliqueNetwork(Reader):
    """Sentences in, log-odds of cliques out.

    Args:
        reading: How sentences are read.
        window: Sentences on either side of the centre.
        width: Of the hidden layer.
    """

    def __init__(self, reading: Reading, window: int, width: int) -> None:
        super().__init__(reading)
        self.head = CliqueHead(
            reading.hidden, window, width, reading.dropout, reading.dimensions if reading.likeness else 0
        )


class PairNetwork(Reader):
    """How well one sentence follows another: u, v, u − v, |u − v| and u · v (each element), and a hidden layer.

    Args:
        reading: How sentences are read.
        width: Of the hidden layer.

    Attributes:
        direction: ``forward`` where it is trained with the second sentence replaced, ``backward`` with the first.
    """

    def __init__(self, reading: Reading, width: int) -> None:
        super().__init__(reading)
        self.direction, self.hidden, self.dimensions = "forward", reading.hidden, reading.dimensions
        self.norm = nn.LayerNorm(reading.hidden)
        # u − v is a sum of both, which the matrices of u and v already are: it needs no matrix of its own.
        self.left = nn.Linear(reading.hidden, width)
        self.right = nn.Linear(reading.hidden, width, bias=False)
        self.joint = nn.Linear(2 * reading.hidden, width, bias=False)
        self.alike = nn.Linear(MEASURES, width, bias=False) if reading.likeness else None
        self.verdict = nn.Linear(width, 1, bias=False)  # of two pairs only the difference counts

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """Scores of pairs of sentences made ready by `ready`, [..., size] each: [...]."""
        (u, like_u), (v, like_v) = (side.tensor_split([self.hidden], dim=-1) for side in (left, right))
        together = torch.cat([(u - v).abs(), u * v], dim=-1)  # [..., 2 · hidden]
        hidden = self.left(u) + self.right(v) + self.joint(together)  # [..., width]
        if self.alike is not None:
            hidden = hidden + self.alike(cosines(like_u, like_v, self.dimensions))
        score: Tensor = self.verdict(self.dropout(functional.relu(hidden))).squeeze(-1)
        return score

    def ready(self, read: Tensor) -> Tensor:
        """Sentences that have been read as pairs are made of them: [sentences, size]."""
        normed = self.dropout(self.norm(read[:, : self.hidden]))
        return torch.cat([normed, read[:, self.hidden :]], dim=1)
