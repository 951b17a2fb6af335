"""The neural evaluator: a word LSTM for every sentence, a sentence LSTM on top, and a sigmoid: human or machine.

Reference: Li & Jurafsky 2017, section 4.3; Kannan & Vinyals 2017 (adversarial evaluation); Bowman et al. 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

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


class EvaluatorNetwork(nn.Module):
    """Reads chunks of sentences.

    A sentence's vector is made of the last state of a word LSTM, the mean of its word vectors and, if there is a
    reader, the reader's vector. The sentence LSTM reads each vector together with its similarity to the sentence
    before and to all sentences before, because an LSTM alone is slow to learn that two vectors should be similar.

    Args:
        vocabulary: Number of token ids.
        dimensions: Size of word vectors.
        groups: Sizes of the groups in the reader's vectors; empty without a reader.
        settings: The other sizes.
    """

    def __init__(self, vocabulary: int, dimensions: int, groups: Sequence[int], settings: EvaluatorSettings) -> None:
        super().__init__()
        self.groups, frozen = tuple(groups), sum(groups)
        self.embedding = Embedding(vocabulary, dimensions)
        self.words = make_lstm(dimensions, settings.hidden, 1, 0.0)
        self.normal = nn.LayerNorm(frozen) if frozen else None
        self.sentence = nn.Linear(settings.hidden + dimensions + frozen, settings.width)
        self.text = make_lstm(5 * settings.width + 2 * len(self.groups), settings.width, 1, 0.0)
        self.verdict = nn.Linear(settings.width, 1)
        self.dropout = settings.dropout

    def _sentences(self, ids: Tensor, lengths: Tensor, known: Tensor) -> Tensor:
        """Return sentence vectors: [sentences, width]."""
        embedded = self._with_dropout(self.embedding(ids))  # [sentences, time, dimensions]
        states, _ = self.words(embedded)  # [sentences, time, hidden]
        last = states[torch.arange(len(states), device=states.device), lengths - 1]
        real = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
        mean = (embedded * real[:, :, None]).sum(dim=1) / lengths[:, None]  # [sentences, dimensions]
        parts = [last, mean] if self.normal is None else [last, mean, self.normal(known.to(last.dtype))]
        return torch.tanh(self.sentence(self._with_dropout(torch.cat(parts, dim=-1))))

    def forward(self, ids: Tensor, lengths: Tensor, known: Tensor, places: Tensor) -> Tensor:
        """Return the log-odds of chunks being human: [chunks].

        Args:
            ids: [sentences, time] padded tokens of distinct sentences.
            lengths: [sentences].
            known: [sentences, size] the reader's vectors.
            places: [chunks, sentences of a chunk] numbers of sentences.
        """
        vectors = self._sentences(ids, lengths, known)[places]  # [chunks, sentences, width]
        others = _previous(vectors)
        likeness = [part for other in others for part in (vectors * other, (vectors - other).abs())]
        inputs = [self._with_dropout(torch.cat([vectors, *likeness], dim=-1)), *self._cosines(known[places])]
        states, _ = self.text(torch.cat(inputs, dim=-1))  # [chunks, sentences, width]
        odds: Tensor = self.verdict(self._with_dropout(states[:, -1])).squeeze(1)
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
    labels: npt.NDArray[np.float32]


def make_batch(rows: TokenRows, chunks: Integers, labels: npt.NDArray[np.float32], pad: int) -> ChunkBatch:
    """Return a batch of chunks; a sentence that several share is read once."""
    numbers, places = np.unique(chunks, return_inverse=True)
    ids, lengths = rows.padded(numbers, pad)
    return ChunkBatch(numbers, ids, lengths, places.reshape(chunks.shape), labels)


class ChunkStream:
    """Batches of as many human as machine chunks; satisfies `weft.training.loop.Batches`."""

    def __init__(self, labelled: LabelledChunks, part: str, *, pairs: int, pad: int, seed: int) -> None:
        self.rows, self.human, self.machine = labelled.rows, labelled.human[part], labelled.machine[part]
        self.pairs, self.pad, self.seed = pairs, pad, seed

    def epoch(self, number: int) -> list[Integers]:
        """Return the pairs of every batch, shuffled."""
        order = np.random.default_rng([self.seed, number]).permutation(len(self.human))
        return [order[start : start + self.pairs] for start in range(0, len(order), self.pairs)]

    def batch(self, pairs: Integers) -> ChunkBatch:
        """Return a batch."""
        chunks = np.concatenate([self.human[pairs], self.machine[pairs]])  # [2 · pairs, sentences]
        labels = np.repeat(np.array([1.0, 0.0], dtype=np.float32), len(pairs))
        return make_batch(self.rows, chunks, labels, self.pad)


def network_verdicts(
    labelled: LabelledChunks,
    vectors: Tensor,
    groups: Sequence[int],
    embedding: Tensor,
    pad: int,
    settings: EvaluatorSettings,
    runtime: Runtime,
    *,
    seed: int = 1,
    on_report: Callable[[Report], None] | None = None,
) -> Verdicts:
    """Train an evaluator, stopped early by the dev part, and return its verdicts on dev and test.

    ``vectors`` [sentences, size] are the reader's vectors of all sentences (size 0 without a reader), in groups of the
    given sizes; ``embedding`` [vocabulary, dimensions] are the initial word vectors.
    """
    seed_step(seed, 0, 0)
    network = EvaluatorNetwork(len(embedding), embedding.shape[1], groups, settings)
    network.embedding.weight.data.copy_(embedding)
    network.to(runtime.device)

    def read(batch: ChunkBatch) -> Tensor:
        known = vectors[torch.from_numpy(batch.numbers).to(vectors.device)].to(runtime.device).float()
        arrays = (batch.ids, batch.lengths, batch.places)
        ids, lengths, places = (torch.from_numpy(array).to(runtime.device) for array in arrays)
        odds: Tensor = network(ids, lengths, known, places)
        return odds

    @torch.inference_mode()
    def log_odds(chunks: Integers) -> npt.NDArray[np.float32]:
        found = []
        for start in range(0, len(chunks), READ_AT_ONCE):
            part = chunks[start : start + READ_AT_ONCE]
            batch = make_batch(labelled.rows, part, np.zeros(len(part), dtype=np.float32), pad)
            with runtime.autocast():
                found.append(read(batch).cpu().numpy())
        return np.concatenate(found).astype(np.float32)

    stream = ChunkStream(labelled, "train", pairs=settings.pairs, pad=pad, seed=seed)
    dev = ChunkStream(labelled, "dev", pairs=READ_AT_ONCE, pad=pad, seed=0)
    training = _train(network, read, stream, dev, settings, runtime, on_report)
    human, machine = (
        {part: log_odds(side[part]) for part in ("dev", "test")} for side in (labelled.human, labelled.machine)
    )
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
        odds = read(batch)
        wanted = torch.from_numpy(batch.labels).to(runtime.device)
        right = ((odds > 0) == (wanted > 0)).float().sum()
        total = functional.binary_cross_entropy_with_logits(odds, wanted, reduction="sum")
        return LossPart(total, len(batch.labels), {"accuracy": right})

    def validate() -> LossPart:
        return summed([loss(batch) for batch in dev_batches])

    epoch = max(1, -(-len(stream.human) // settings.pairs))  # steps
    plan = TrainingSettings(
        learning_rate=settings.learning_rate, warmup=min(100, epoch), decay="cosine", steps=settings.epochs * epoch,
        weight_decay=settings.weight_decay, validate_every=max(1, epoch // settings.checks),
        patience=settings.patience, seed=stream.seed,
    )  # fmt: skip
    trainer = Trainer(network, loss, stream, plan, runtime, validate)
    reports = []
    for report in trainer.run():
        if on_report is not None:
            on_report(report)
        if report.kind == "validation":
            reports.append({"step": report.step, "loss": report.loss, **(report.parts or {})})
    network.load_state_dict(trainer.result())
    network.eval()
    best = min(reports, key=lambda one: one["loss"]) if reports else {}
    return {"steps": trainer.step, "seconds": trainer.seconds, "dev": best}
