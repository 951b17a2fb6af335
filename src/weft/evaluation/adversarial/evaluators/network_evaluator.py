"""Neural evaluators: a word LSTM for every sentence, a sentence LSTM on top, and a sigmoid: human or machine.

There are three kinds, by what they read (`NetworkInputs`): words alone; also vectors of a reader, and how similar
sentences are (the first evaluator); and also the features of the boosted trees.

Reference: Li & Jurafsky 2017, section 4.3; Kannan & Vinyals 2017 (adversarial evaluation); Bowman et al. 2016.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from weft.evaluation.adversarial.evaluators.evaluator_training import log_odds_loss, train_to_best
from weft.evaluation.adversarial.evaluators.features import Floats
from weft.evaluation.adversarial.evaluators.surface_tables import SurfaceTables
from weft.evaluation.adversarial.labelled_chunks import LabelledChunks
from weft.evaluation.adversarial.options import EvaluatorSettings
from weft.evaluation.adversarial.token_rows import Integers, TokenRows
from weft.evaluation.adversarial.verdicts import Verdicts
from weft.models.common.neural.layers import Embedding, make_lstm
from weft.training.devices import Runtime, seed_step
from weft.training.loop import LossPart, Report, Trainer, summed
from weft.training.settings import TrainingSettings

SHARPNESS = 3.0  # factor of cosines, which vary less than the other inputs
READ_AT_ONCE = 1024  # chunks scored in one batch


@dataclass(frozen=True)
class NetworkInputs:
    """What an evaluator reads beside words.

    Attributes:
        embedding: The initial word vectors: [vocabulary, dimensions].
        vectors: The reader's vectors of all sentences: [sentences, size]; size 0 without a reader.
        groups: Sizes of the groups in these vectors.
        likeness: Whether the network compares each sentence with those before.
        surface: For each side and part, features of every sentence of a continuation [chunks, sentences of a
            continuation, features]; empty without features.
    """

    embedding: Tensor
    vectors: Tensor
    groups: tuple[int, ...] = ()
    likeness: bool = True
    surface: SurfaceTables = field(default_factory=dict)

    @property
    def surface_shape(self) -> tuple[int, int]:
        """Number of sentences of a continuation, and of features of each."""
        found = next(iter(self.surface.values()), None)
        return (0, 0) if found is None else (found.shape[1], found.shape[2])


class EvaluatorNetwork(nn.Module):
    """Reads chunks of sentences.

    A sentence's vector is made of the last state of a word LSTM, the mean of its word vectors and, if there is a
    reader, the reader's vector. The sentence LSTM reads each vector together with its similarity to the sentence
    before and to all sentences before, because an LSTM alone is slow to learn that two vectors should be similar.
    Without likeness, the vector is made of the last state alone, and nothing else is read.

    Args:
        inputs: What it reads.
        settings: The sizes.
    """

    def __init__(self, inputs: NetworkInputs, settings: EvaluatorSettings) -> None:
        super().__init__()
        (vocabulary, dimensions), width = inputs.embedding.shape, settings.width
        self.groups, self.likeness, frozen = inputs.groups, inputs.likeness, sum(inputs.groups)
        self.embedding = Embedding(vocabulary, dimensions)
        self.words = make_lstm(dimensions, settings.hidden, 1, 0.0)
        self.normal = nn.LayerNorm(frozen) if frozen else None
        self.sentence = nn.Linear(settings.hidden + (dimensions if inputs.likeness else 0) + frozen, width)
        turns, features = inputs.surface_shape
        self.surface = SurfaceReader(turns, features, settings) if features else None
        further = 2 * len(self.groups) + (width if features else 0)
        self.text = make_lstm((5 if inputs.likeness else 1) * width + further, width, 1, 0.0)
        self.verdict = nn.Linear((2 if features else 1) * width, 1)
        self.dropout = settings.dropout

    def _sentences(self, ids: Tensor, lengths: Tensor, known: Tensor) -> Tensor:
        """Return sentence vectors: [sentences, width]."""
        embedded = self._with_dropout(self.embedding(ids))  # [sentences, time, dimensions]
        states, _ = self.words(embedded)  # [sentences, time, hidden]
        parts = [states[torch.arange(len(states), device=states.device), lengths - 1]]
        if self.likeness:
            real = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
            parts.append((embedded * real[:, :, None]).sum(dim=1) / lengths[:, None])  # [sentences, dimensions]
        if self.normal is not None:
            parts.append(self.normal(known.to(states.dtype)))
        return torch.tanh(self.sentence(self._with_dropout(torch.cat(parts, dim=-1))))

    def forward(self, ids: Tensor, lengths: Tensor, known: Tensor, places: Tensor, surface: Tensor) -> Tensor:
        """Return the log-odds of chunks being human: [chunks].

        Args:
            ids: [sentences, time] padded tokens of distinct sentences.
            lengths: [sentences].
            known: [sentences, size] the reader's vectors.
            places: [chunks, sentences of a chunk] numbers of sentences.
            surface: [chunks, sentences of a continuation, features].
        """
        vectors = self._sentences(ids, lengths, known)[places]  # [chunks, sentences, width]
        others = _previous(vectors) if self.likeness else ()
        likeness = [part for other in others for part in (vectors * other, (vectors - other).abs())]
        inputs = [self._with_dropout(torch.cat([vectors, *likeness], dim=-1)), *self._cosines(known[places])]
        whole = []
        if self.surface is not None:
            each, all_features = self.surface(surface)
            before = each.new_zeros(len(each), places.shape[1] - each.shape[1], each.shape[2])
            inputs.append(torch.cat([before, each], dim=1))
            whole.append(all_features)
        states, _ = self.text(torch.cat(inputs, dim=-1))  # [chunks, sentences, width]
        odds: Tensor = self.verdict(self._with_dropout(torch.cat([states[:, -1], *whole], dim=-1))).squeeze(1)
        return odds.float()

    def _cosines(self, frozen: Tensor) -> list[Tensor]:
        """Return cosines of the reader's vectors with those before, per group: [chunks, sentences, 1] each."""
        return [
            SHARPNESS * functional.cosine_similarity(kind, other, dim=-1)[:, :, None]
            for kind in (torch.split(frozen, list(self.groups), dim=-1) if self.groups else ())
            for other in _previous(kind)
        ]

    def _with_dropout(self, values: Tensor) -> Tensor:
        return functional.dropout(values, self.dropout, self.training)


class SurfaceReader(nn.Module):
    """Reads the features of continuations: those of each sentence for the sentence LSTM, and all for the verdict."""

    def __init__(self, turns: int, features: int, settings: EvaluatorSettings) -> None:
        super().__init__()
        width, drop = settings.width, nn.Dropout(settings.dropout)
        self.each = nn.Sequential(nn.Linear(features, width), nn.ReLU(), drop, nn.Linear(width, width))
        self.whole = nn.Sequential(
            nn.Linear(turns * features, 2 * width), nn.ReLU(), drop, nn.Linear(2 * width, width), nn.ReLU()
        )

    def forward(self, surface: Tensor) -> tuple[Tensor, Tensor]:
        """Return vectors of sentences [chunks, sentences of a continuation, width] and of chunks [chunks, width]."""
        return self.each(surface), self.whole(surface.flatten(1))


def _previous(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Return the vector of the sentence before, and the mean of all before: [chunks, sentences, size] each."""
    before = torch.cat([torch.zeros_like(vectors[:, :1]), vectors[:, :-1]], dim=1)
    count = torch.arange(vectors.shape[1], device=vectors.device).clamp(min=1)[:, None]  # [sentences, 1]
    return before, before.cumsum(dim=1) / count


@dataclass(frozen=True, slots=True)
class ChunkBatch:
    """A batch of chunks: distinct sentences, their places in the chunks, and labels (1 for human)."""

    numbers: Integers
    ids: Integers
    lengths: Integers
    places: Integers
    labels: Floats
    surface: Floats  # [chunks, sentences of a continuation, features]


def make_batch(rows: TokenRows, chunks: Integers, labels: Floats, surface: Floats, pad: int) -> ChunkBatch:
    """Return a batch of chunks; a sentence that several share is read once."""
    numbers, places = np.unique(chunks, return_inverse=True)
    ids, lengths = rows.padded(numbers, pad)
    return ChunkBatch(numbers, ids, lengths, places.reshape(chunks.shape), labels, surface)


class ChunkStream:
    """Batches of as many human as machine chunks; satisfies `weft.training.loop.Batches`."""

    def __init__(
        self, labelled: LabelledChunks, part: str, surface: SurfaceTables, *, pairs: int, pad: int, seed: int
    ) -> None:
        self.rows, self.human, self.machine = labelled.rows, labelled.human[part], labelled.machine[part]
        self.surface = [_surface_of(surface, side, part, len(self.human)) for side in ("human", "machine")]
        self.pairs, self.pad, self.seed = pairs, pad, seed

    def epoch(self, number: int) -> list[Integers]:
        """Return the pairs of every batch, shuffled."""
        order = np.random.default_rng([self.seed, number]).permutation(len(self.human))
        return [order[start : start + self.pairs] for start in range(0, len(order), self.pairs)]

    def batch(self, pairs: Integers) -> ChunkBatch:
        """Return a batch."""
        chunks = np.concatenate([self.human[pairs], self.machine[pairs]])  # [2 · pairs, sentences]
        labels = np.repeat(np.array([1.0, 0.0], dtype=np.float32), len(pairs))
        surface = np.concatenate([table[pairs] for table in self.surface])
        return make_batch(self.rows, chunks, labels, surface, self.pad)


def _surface_of(surface: SurfaceTables, side: str, part: str, count: int) -> Floats:
    """Return the features of a side and part, or an empty array without features."""
    return surface[side, part] if surface else np.zeros((count, 0, 0), dtype=np.float32)


def network_verdicts(
    labelled: LabelledChunks,
    inputs: NetworkInputs,
    pad: int,
    settings: EvaluatorSettings,
    runtime: Runtime,
    *,
    seed: int = 1,
    on_report: Callable[[Report], None] | None = None,
) -> Verdicts:
    """Train an evaluator, stopped early by the dev part, and return its verdicts on dev and test."""
    seed_step(seed, 0, 0)
    network = EvaluatorNetwork(inputs, settings)
    network.embedding.weight.data.copy_(inputs.embedding)
    network.to(runtime.device)
    vectors = inputs.vectors

    def read(batch: ChunkBatch) -> Tensor:
        known = vectors[torch.from_numpy(batch.numbers).to(vectors.device)].to(runtime.device).float()
        arrays = (batch.ids, batch.lengths, batch.places, batch.surface)
        ids, lengths, places, surface = (torch.from_numpy(array).to(runtime.device) for array in arrays)
        odds: Tensor = network(ids, lengths, known, places, surface)
        return odds

    @torch.inference_mode()
    def log_odds(side: str, part: str) -> Floats:
        chunks, found = (labelled.human if side == "human" else labelled.machine)[part], []
        surface = _surface_of(inputs.surface, side, part, len(chunks))
        for start in range(0, len(chunks), READ_AT_ONCE):
            cut = slice(start, start + READ_AT_ONCE)
            labels = np.zeros(len(chunks[cut]), dtype=np.float32)
            batch = make_batch(labelled.rows, chunks[cut], labels, surface[cut], pad)
            with runtime.autocast():
                found.append(read(batch).cpu().numpy())
        return np.concatenate(found).astype(np.float32)

    stream = ChunkStream(labelled, "train", inputs.surface, pairs=settings.pairs, pad=pad, seed=seed)
    dev = ChunkStream(labelled, "dev", inputs.surface, pairs=READ_AT_ONCE, pad=pad, seed=0)
    training = _train(network, read, stream, dev, settings, runtime, on_report)
    human, machine = ({part: log_odds(side, part) for part in ("dev", "test")} for side in ("human", "machine"))
    return Verdicts(human, machine, training)


def _train(
    network: EvaluatorNetwork,
    read: Callable[[ChunkBatch], Tensor],
    stream: ChunkStream,
    dev: ChunkStream,
    settings: EvaluatorSettings,
    runtime: Runtime,
    on_report: Callable[[Report], None] | None,
) -> dict[str, Any]:
    """Train until the dev loss stops falling, restore the best weights, and return facts about the training."""
    dev_batches = [dev.batch(pairs) for pairs in dev.epoch(0)]

    def loss(batch: ChunkBatch) -> LossPart:
        return log_odds_loss(read(batch), batch.labels)

    def validate() -> LossPart:
        return summed([loss(batch) for batch in dev_batches])

    epoch = max(1, -(-len(stream.human) // settings.pairs))  # steps
    plan = TrainingSettings(
        learning_rate=settings.learning_rate, warmup=min(100, epoch), decay="cosine", steps=settings.epochs * epoch,
        weight_decay=settings.weight_decay, validate_every=max(1, epoch // settings.checks),
        patience=settings.patience, seed=stream.seed,
    )  # fmt: skip
    trainer = Trainer(network, loss, stream, plan, runtime, validate)
    return train_to_best(trainer, network, on_report)
