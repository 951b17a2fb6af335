"""Layers of the neural models in numpy, for scoring without torch and without gradients.

Importing torch takes longer than ordering a page with a small network. Rows of unequal length are stored flat, without
padding. The gate inputs of a word and the keys of a source are computed once for all rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from weft.models.common.thread_pool import in_threads

Reals = npt.NDArray[np.float32]
Whole = npt.NDArray[np.int64]
CHUNK_ROWS = 256  # predictions computed at once
CHUNK_WORDS = 1024  # words of the vocabulary at once: 256 × 1,024 float32 are 1 MiB, which fits the cache of a core
SMALLEST_SUM = 1e-30  # a lower sum of exponentials has lost precision to underflow
ATTENTION_CELLS = 2**20  # attention weights computed at once
LAYER_NORM_EPSILON = 1e-5  # torch's


@dataclass(frozen=True, slots=True)
class Ragged:
    """The positions of rows of unequal length that are stored flat."""

    lengths: Whole  # length of each row, at least 1: [rows]
    begins: Whole  # first position of each row: [rows]

    @staticmethod
    def of(lengths: Sequence[int] | Whole) -> Ragged:
        """Return rows of these lengths.

        Example:
            >>> Ragged.of([2, 3, 1]).begins.tolist()
            [0, 2, 5]
        """
        counts = np.asarray(lengths, dtype=np.int64)
        return Ragged(counts, np.cumsum(counts) - counts)

    @property
    def lasts(self) -> Whole:
        """The last position of each row: [rows]."""
        return self.begins + self.lengths - 1


class NumpyLstm:
    """One LSTM layer.

    Args:
        weights: The weights of `torch.nn.LSTM` by their names there, gates in the order input, forget, cell, output.
    """

    def __init__(self, weights: Mapping[str, Reals]) -> None:
        self.hidden = weights["weight_hh_l0"].shape[1]
        self.into = _gates(weights["weight_ih_l0"])  # [inputs, 4 · hidden]
        self.again = _gates(weights["weight_hh_l0"])  # [hidden, 4 · hidden]
        self.bias = _gates((weights["bias_ih_l0"] + weights["bias_hh_l0"])[:, None])[0]  # [4 · hidden]

    def inputs(self, vectors: Reals) -> Reals:
        """Return the gate inputs of token vectors: [types, inputs] → [types, 4 · hidden]."""
        gates: Reals = vectors @ self.into
        gates += self.bias
        return gates

    def run(self, tokens: Whole, rows: Ragged, inputs: Reals, start: tuple[Reals, Reals] | None = None) -> Reals:
        """Read rows of tokens, all rows one step at a time; rows that have ended are skipped.

        Args:
            tokens: Row of ``inputs`` that each position reads: [positions].
            rows: The positions of the rows.
            inputs: Gate inputs from `inputs`: [types, 4 · hidden].
            start: (h, c), each [rows, hidden]; zeros if None.

        Returns:
            States: [positions, hidden].
        """
        order = np.argsort(-rows.lengths, kind="stable")  # longest first, so that the running rows come first
        lengths, begins = rows.lengths[order], rows.begins[order]
        running = np.searchsorted(-lengths, -np.arange(lengths[0]))  # [steps]
        nothing = np.zeros((len(order), self.hidden), np.float32)
        h, c = (part[order] for part in start or (nothing, nothing))  # [rows, hidden] each, copied
        gates, read = (np.empty((len(order), 4 * self.hidden), np.float32) for _ in range(2))  # [rows, 4 · hidden]
        states = np.empty((len(tokens), self.hidden), np.float32)  # [positions, hidden]
        for step, count in enumerate(running.tolist()):
            h, c, gates, read = h[:count], c[:count], gates[:count], read[:count]
            places = begins[:count] + step  # [count]
            np.matmul(h, self.again, out=gates)
            # With mode="clip", numpy writes to `read` without a temporary copy.
            gates += np.take(inputs, tokens[places], axis=0, out=read, mode="clip")
            self._step(gates, h, c)
            states[places] = h
        return states

    def _step(self, gates: Reals, h: Reals, c: Reals) -> None:
        """Compute the next state from the sums of the gates, in place."""
        size = self.hidden
        np.tanh(gates, out=gates)
        opened, new = gates[:, : 3 * size], gates[:, 3 * size :]  # [rows, 3 · hidden] and [rows, hidden]
        opened *= 0.5
        opened += 0.5
        new *= opened[:, :size]
        c *= opened[:, size : 2 * size]
        c += new
        np.tanh(c, out=h)
        h *= opened[:, 2 * size :]


def _gates(weight: Reals) -> Reals:
    """Return the weights of gates in the layout of `NumpyLstm`: [4 · hidden, inputs] → [inputs, 4 · hidden].

    The order becomes input, forget, output, cell. Because σ(x) = ½ tanh(½ x) + ½, all four gates are one tanh if the
    inner factor ½ is part of the weights. The transposed layout makes products of few rows twice as fast.
    """
    gates = np.empty(weight.shape[::-1], np.float32)
    hidden = len(weight) // 4
    for place, (gate, factor) in enumerate(((0, 0.5), (1, 0.5), (3, 0.5), (2, 1.0))):
        rows = weight[gate * hidden : (gate + 1) * hidden]  # [hidden, inputs]
        np.multiply(rows.T, np.float32(factor), out=gates[:, place * hidden : (place + 1) * hidden])
    return gates


def add_attention(outputs: Reals, states: Reals, keys: Reals, values: Reals) -> None:
    """Add the attention of decoder states over one source to the outputs, in place.

    Args:
        outputs: [positions, size].
        states: [positions, hidden].
        keys: [kinds, source time, hidden], one for each kind of attention.
        values: [kinds, source time, size].
    """
    kinds, time, hidden = keys.shape
    all_keys, all_values = keys.reshape(-1, hidden).T, values.reshape(kinds * time, -1)
    step = max(1, ATTENTION_CELLS // (kinds * time))
    for start in range(0, len(states), step):
        part = slice(start, start + step)
        scores = (states[part] @ all_keys).reshape(-1, kinds, time)  # [positions, kinds, source time]
        softmax(scores)
        outputs[part] += scores.reshape(-1, kinds * time) @ all_values


def softmax(scores: Reals) -> None:
    """Turn scores into weights that sum to one along the last axis, in place."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)


def layer_norm(values: Reals, weight: Reals, bias: Reals) -> Reals:
    """Return rows of mean 0 and variance 1, scaled and shifted: [rows, size]."""
    centred = values - values.mean(axis=1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=1, keepdims=True) + np.float32(LAYER_NORM_EPSILON))  # [rows, 1]
    normed: Reals = centred / spread * weight + bias
    return normed


def check_shapes(weights: Mapping[str, Reals], expected: Mapping[str, tuple[int, ...]]) -> None:
    """Check the shapes of the weights of a network.

    Raises:
        ValueError: Weights are missing, unknown or of another shape.

    Example:
        >>> check_shapes({"bias": np.zeros(3, np.float32)}, {"bias": (4,)})
        Traceback (most recent call last):
        ValueError: bias has the shape (3,), not (4,)
    """
    for name in {**expected, **weights}:
        found = weights[name].shape if name in weights else None
        if found != expected.get(name):
            raise ValueError(f"{name} has the shape {found}, not {expected.get(name)}")


def token_log_probs(outputs: Reals, weight: Reals, targets: Whole) -> Reals:
    """Return log-probabilities of the targets, a block of logits at a time: [rows, D] and [words, D] → [rows]."""
    chunks = [slice(start, start + CHUNK_ROWS) for start in range(0, len(outputs), CHUNK_ROWS)]
    parts = in_threads(lambda rows: _chunk_log_probs(outputs[rows], weight, targets[rows]), chunks)
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)


def _chunk_log_probs(outputs: Reals, weight: Reals, targets: Whole) -> Reals:
    sums = np.zeros(len(outputs), np.float32)  # [rows]
    block = np.empty((min(CHUNK_WORDS, len(weight)), len(outputs)), np.float32)
    ones = np.ones(len(block), np.float32)
    picked: Reals = np.einsum("rd,rd->r", outputs, weight[targets])  # [rows]
    with np.errstate(over="ignore", divide="ignore"):  # of this thread
        for start in range(0, len(weight), CHUNK_WORDS):
            words = weight[start : start + CHUNK_WORDS]
            logits = np.matmul(words, outputs.T, out=block[: len(words)])  # [words, rows]
            # The maximum is not subtracted, which saves two passes; rows that need it are found by their sums.
            sums += ones[: len(words)] @ np.exp(logits, out=logits)
        found: Reals = picked - np.log(sums)
    wrong = ~((sums > SMALLEST_SUM) & np.isfinite(sums))
    if wrong.any():
        found[wrong] = picked[wrong] - _log_sum_exp(outputs[wrong] @ weight.T)
    return found


def _log_sum_exp(logits: Reals) -> Reals:
    """Return log Σ exp without underflow: [rows, words] → [rows]."""
    highest = logits.max(axis=1, keepdims=True)  # [rows, 1]
    sums: Reals = highest[:, 0] + np.log(np.exp(logits - highest).sum(axis=1))
    return sums
