"""The network of generative model 1 in numpy: the scores of `common.neural.encoder_decoder`, without torch.

Only networks of one layer are supported, with or without attention and lexical attention, as in the embedded model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from weft.models.common.thread_pool import in_threads
from weft.models.seq2seq.numpy_layers import (
    NumpyLstm,
    Ragged,
    Reals,
    Whole,
    add_attention,
    check_shapes,
    token_log_probs,
)

GROUP_POSITIONS = 8192  # positions per decoded group; their states of size 384 take 12 MiB
SPLIT_ROWS = 64  # fewer rows form one group, because smaller matrix products are slow
LSTM = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")


@dataclass(frozen=True, slots=True)
class Source:
    """One encoded sentence."""

    start: Reals  # start state (h, c) of the decoder: [2, hidden]
    keys: Reals  # keys for each kind of attention: [kinds, time, hidden]
    values: Reals  # values for each kind of attention: [kinds, time, dimensions]


class NumpyNetwork:
    """Encoder, decoder, attention and tied output.

    Raises:
        ValueError: The weights are those of another network.
    """

    def __init__(self, weights: Mapping[str, Reals], *, bos: int, eos: int) -> None:
        check_weights(weights)
        self.bos, self.eos = bos, eos
        self.embedding = weights["embedding.weight"]  # [vocabulary, dimensions]
        self.decoder = NumpyLstm({name: weights[f"decoder.{name}"] for name in LSTM})
        self.output = np.ascontiguousarray(weights["output.weight"].T)  # [hidden, dimensions]
        self.encoder: NumpyLstm | None = None
        if "encoder.bridge.weight" in weights:
            self.encoder = NumpyLstm({name: weights[f"encoder.lstm.{name}"] for name in LSTM})
            self.bridge, self.bridge_bias = weights["encoder.bridge.weight"].T, weights["encoder.bridge.bias"]
        kinds = [kind for kind in ("attention", "lexical") if f"{kind}.key.weight" in weights]
        self.keys = [weights[f"{kind}.key.weight"].T for kind in kinds]  # [hidden, hidden] each
        self.value = weights["attention.value.weight"].T if kinds else None  # [hidden, dimensions]
        self.mix = weights["lexical.mix.weight"].T if "lexical" in kinds else None  # [3 · dimensions, dimensions]

    def encode(self, sentences: Sequence[Sequence[int]]) -> list[Source]:
        """Return the encoded sentences; each has at least one token."""
        groups = cut_evenly([len(sentence) for sentence in sentences])
        parts = in_threads(lambda rows: self._encode([sentences[row] for row in rows]), groups)
        found = dict(zip((row for rows in groups for row in rows), (s for part in parts for s in part), strict=True))
        return [found[row] for row in range(len(sentences))]

    def _encode(self, sentences: Sequence[Sequence[int]]) -> list[Source]:
        assert self.encoder is not None
        rows = Ragged.of([len(sentence) for sentence in sentences])
        ids = np.array([token for sentence in sentences for token in reversed(sentence)])  # [positions]
        types, tokens = np.unique(ids, return_inverse=True)
        vectors = self._look_up(types)  # [types, dimensions]
        states = self.encoder.run(tokens, rows, self.encoder.inputs(vectors))  # [positions, hidden]
        starts = (states[rows.lasts] @ self.bridge + self.bridge_bias).reshape(len(rows.lengths), 2, -1)
        keys = [states @ matrix for matrix in self.keys]  # [positions, hidden] each
        values = [] if self.value is None else [states @ self.value]  # [positions, dimensions] each
        if self.mix is not None:
            values.append(_with_neighbours(vectors[tokens], rows) @ self.mix)
        places = [slice(begin, begin + length) for begin, length in zip(rows.begins, rows.lengths, strict=True)]
        return [
            Source(start, _stacked(keys, place), _stacked(values, place))
            for start, place in zip(starts, places, strict=True)
        ]

    def log_prob(
        self, sources: Sequence[Source], chosen: Sequence[int], targets: Sequence[Sequence[int]]
    ) -> list[float]:
        """Return the log-probability of each target given its source, summed over tokens, ``</s>`` included.

        Args:
            sources: Encoded sentences.
            chosen: The source of each target; −1 for none.
            targets: Token ids.
        """
        groups = cut_evenly([len(target) + 1 for target in targets])
        laid_out = [self._lay_out(np.array([chosen[row] for row in rows]), rows, targets) for rows in groups]
        outputs = in_threads(lambda batch: self._decode(sources, batch), laid_out)
        if not outputs:
            return []
        predicted = np.concatenate([batch.predicted for batch in laid_out])
        log_probs = token_log_probs(np.concatenate(outputs), self.embedding, predicted)  # [positions]
        places = Ragged.of(np.concatenate([batch.rows.lengths for batch in laid_out]))
        sums = np.add.reduceat(log_probs, places.begins, dtype=np.float64)  # [targets]
        values = np.empty(len(targets))
        values[np.concatenate([batch.numbers for batch in laid_out])] = sums
        return [float(value) for value in values]

    def _lay_out(self, chosen: Whole, numbers: Sequence[int], targets: Sequence[Sequence[int]]) -> _Batch:
        """Return a batch in which the targets of a source are adjacent, so that they attend to it together."""
        order = np.argsort(chosen, kind="stable")
        own = [targets[numbers[row]] for row in order]
        inputs = np.array([token for target in own for token in (self.bos, *target)])
        predicted = np.array([token for target in own for token in (*target, self.eos)])
        rows = Ragged.of([len(target) + 1 for target in own])
        return _Batch(chosen[order], np.asarray(numbers)[order], rows, inputs, predicted)

    def _decode(self, sources: Sequence[Source], batch: _Batch) -> Reals:
        """Return the input of the output matrix: [positions, dimensions]."""
        types, tokens = np.unique(batch.inputs, return_inverse=True)
        start = self._starts(sources, batch.chosen)
        states = self.decoder.run(tokens, batch.rows, self.decoder.inputs(self._look_up(types)), start)
        outputs: Reals = states @ self.output  # [positions, dimensions]
        if not self.keys:
            return outputs
        firsts = np.flatnonzero(np.diff(batch.chosen, prepend=-2))  # the first row of each source
        ends = [*batch.rows.begins[firsts[1:]], len(states)]
        for number, begin, end in zip(batch.chosen[firsts], batch.rows.begins[firsts], ends, strict=True):
            if number >= 0:
                add_attention(outputs[begin:end], states[begin:end], sources[number].keys, sources[number].values)
        return outputs

    def _starts(self, sources: Sequence[Source], chosen: Whole) -> tuple[Reals, Reals]:
        """Return the start state of each row, zeros without a source: (h, c), each [rows, hidden]."""
        nothing = np.zeros((2, self.decoder.hidden), np.float32)
        starts = np.stack([nothing if number < 0 else sources[number].start for number in chosen])
        return starts[:, 0], starts[:, 1]

    def _look_up(self, types: Whole) -> Reals:
        vectors: Reals = self.embedding[types] * np.float32(self.embedding.shape[1] ** 0.5)
        return vectors  # [types, dimensions]


@dataclass(frozen=True, slots=True)
class _Batch:
    """Rows that are decoded together, stored flat."""

    chosen: Whole  # number of the source of each row, ascending: [rows]
    numbers: Whole  # number of the target of each row: [rows]
    rows: Ragged  # the positions of the rows
    inputs: Whole  # input ids: [positions]
    predicted: Whole  # ids to predict: [positions]


def _with_neighbours(vectors: Reals, rows: Ragged) -> Reals:
    """Return each vector with its two neighbours, zeros at the ends of a row: [positions, 3 · dimensions]."""
    before, after = np.zeros_like(vectors), np.zeros_like(vectors)
    before[1:], after[:-1] = vectors[:-1], vectors[1:]
    before[rows.begins], after[rows.lasts] = 0.0, 0.0
    return np.concatenate([before, vectors, after], axis=1)


def _stacked(parts: Sequence[Reals], place: slice) -> Reals:
    """Return the same positions of several arrays: [parts, positions, size]."""
    return np.stack([part[place] for part in parts]) if parts else np.zeros((0, 0, 0), np.float32)


def cut_evenly(lengths: Sequence[int]) -> list[list[int]]:
    """Return row numbers, longest first, in an even number of groups of similar size.

    The groups do not depend on the number of threads, so that scores do not depend on it.

    Example:
        >>> cut_evenly([3, 5, 2])
        [[1, 0, 2]]
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-sizes, kind="stable")
    total = int(sizes.sum())
    pairs = -(-total // (2 * GROUP_POSITIONS))
    count = 1 if len(sizes) < SPLIT_ROWS and total <= GROUP_POSITIONS else 2 * pairs
    middles = np.cumsum(sizes[order]) - sizes[order] / 2  # [rows]
    group = (middles * count // max(1, total)).astype(np.int64)  # [rows], ascending
    parts = [order[group == number].tolist() for number in range(count)]
    return [part for part in parts if part]


def check_weights(weights: Mapping[str, Reals]) -> None:
    """Check that weights are those of a network of one layer.

    Raises:
        ValueError: Weights are missing, unknown or of another shape.
    """
    for name in ("embedding.weight", "decoder.weight_hh_l0"):  # all other shapes follow from these two
        if name not in weights:
            raise ValueError(f"no {name}")
        if weights[name].ndim != 2 or not weights[name].size:
            raise ValueError(f"{name} has the shape {weights[name].shape}, not that of a matrix")
    vocabulary, dimensions = weights["embedding.weight"].shape
    check_shapes(weights, _shapes(weights, vocabulary, dimensions, weights["decoder.weight_hh_l0"].shape[1]))


def _shapes(names: Mapping[str, Reals], vocabulary: int, dimensions: int, hidden: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the weights of a network with these parts."""
    gates = ((4 * hidden, dimensions), (4 * hidden, hidden), (4 * hidden,), (4 * hidden,))
    expected: dict[str, tuple[int, ...]] = {
        "embedding.weight": (vocabulary, dimensions),
        "output.weight": (dimensions, hidden),
        **{f"decoder.{name}": shape for name, shape in zip(LSTM, gates, strict=True)},
    }
    if any(name.startswith("encoder.") for name in names):
        expected |= {f"encoder.lstm.{name}": shape for name, shape in zip(LSTM, gates, strict=True)}
        expected |= {"encoder.bridge.weight": (2 * hidden, hidden), "encoder.bridge.bias": (2 * hidden,)}
    if any(name.startswith(("attention.", "lexical.")) for name in names):
        expected |= {"attention.key.weight": (hidden, hidden), "attention.value.weight": (dimensions, hidden)}
    if any(name.startswith("lexical.") for name in names):
        expected |= {"lexical.key.weight": (hidden, hidden), "lexical.mix.weight": (dimensions, 3 * dimensions)}
    return expected
