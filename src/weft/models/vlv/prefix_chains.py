"""Chains of latent variables over growing partial orders, for the search for an order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from weft.models.common.partial_orders import spread, unplaced
from weft.models.vlv.chain_predictor import VariationalPredictor
from weft.models.vlv.estimators import density_ratio

Reals = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]


class PrefixChains:
    """Computes log p(next sentence | partial order) of growing partial orders, with the state of each chain.

    The partial orders of several texts are computed in one batch. Its rows are the samples of the first path of the
    first text, then those of the second path, and so on.
    """

    def __init__(self, predictor: VariationalPredictor, texts: Sequence[Sequence[str]]) -> None:
        self.predictor, self.sizes = predictor, [len(sentences) for sentences in texts]
        self.starts = np.cumsum([0, *self.sizes])[:-1].tolist()  # the number of each text's first sentence
        with torch.inference_mode():
            self.read = predictor.decoder.read([sentence for sentences in texts for sentence in sentences])
            self.vectors = predictor.network.chain.read(self.read.vectors)  # [sentences of all texts, width]
        self.noise = predictor.noise(self.read)  # [sentences of all texts, samples, latent]

    @torch.inference_mode()
    def begin(self, firsts: Sequence[Sequence[int]]) -> None:
        """Start one path with each of these sentences of each text."""
        samples = self.predictor.estimate.samples
        self.open = [
            unplaced([[first] for first in starts], size) for starts, size in zip(firsts, self.sizes, strict=True)
        ]  # [paths, left] for each text
        self._end_with(firsts)
        self.state = self.predictor.network.chain.begin(self.vectors[self.last])  # rows: paths · samples
        self.weights = [np.zeros((len(starts), samples)) for starts in firsts]

    @torch.inference_mode()
    def log_probs(self) -> list[Reals]:
        """Return log p of each sentence after each path, 0 for those in the path: [paths, sentences] for each text."""
        predictor, samples = self.predictor, self.predictor.estimate.samples
        lefts = [one.shape[1] for one in self.open]
        candidates = self._tensor(
            [start + one.repeat(samples, axis=0).ravel() for start, one in zip(self.starts, self.open, strict=True)]
        )  # [rows · left]
        owners = torch.arange(len(self.last), device=self.last.device).repeat_interleave(self._per_row(lefts))
        noise = self.noise[candidates, owners % samples]  # [rows · left, latent]
        self.step = predictor.network.chain.step(
            self.state.select(owners), self.vectors[candidates], noise, from_prior=predictor.estimate.from_prior
        )
        words = predictor.decoder.log_probs(self.read, self.last[owners], candidates, self.step.latent)
        gained = (words + density_ratio(self.step)).double().cpu().numpy()  # [rows · left]
        ends = np.cumsum([one.size * samples for one in self.open])[:-1]
        shapes = [(len(one), samples, one.shape[1]) for one in self.open]
        self.gained = [one.reshape(shape) for one, shape in zip(np.split(gained, ends), shapes, strict=True)]
        return [
            spread(self._estimated(one, weights), left, size)
            for one, weights, left, size in zip(self.gained, self.weights, self.open, self.sizes, strict=True)
        ]

    def keep(self, rows: Sequence[Sequence[int]], columns: Sequence[Sequence[int]]) -> None:
        """Keep some paths of each text and add one sentence to each."""
        samples, chosen, start = self.predictor.estimate.samples, [], 0
        for number, (paths, added) in enumerate(zip(rows, columns, strict=True)):
            gained, before = self.gained[number], self.open[number]
            kept, left = before[list(paths)], before.shape[1]  # [new paths, left]
            taken = kept == np.asarray(added, dtype=np.int64)[:, None]
            place = taken.argmax(axis=1) if kept.size else np.zeros(0, dtype=np.int64)  # [new paths]
            owners = np.asarray(paths, dtype=np.int64)[:, None] * samples + np.arange(samples)
            chosen.append((start + owners * left + place[:, None]).ravel())
            self.weights[number] = (self.weights[number][:, :, None] + gained)[list(paths), :, place]
            self.open[number] = kept[~taken].reshape(len(kept), max(left - 1, 0))
            start += gained.size
        self.state = self.step.state.select(self._tensor(chosen))
        self._end_with(columns)

    def _end_with(self, sentences: Sequence[Sequence[int]]) -> None:
        """Set the last sentence of each row, from that of each path."""
        each = [
            start + np.asarray(numbers, dtype=np.int64) for start, numbers in zip(self.starts, sentences, strict=True)
        ]
        self.last = self._tensor(each).repeat_interleave(self.predictor.estimate.samples)  # [rows]

    def _per_row(self, lefts: Sequence[int]) -> Tensor:
        """Return the number of sentences that are left, for each row: [rows]."""
        counts = [len(one) * self.predictor.estimate.samples for one in self.open]
        return torch.from_numpy(np.repeat(np.asarray(lefts, dtype=np.int64), counts)).to(self.last.device)

    def _tensor(self, parts: Sequence[Whole]) -> Tensor:
        return torch.from_numpy(np.concatenate([*parts, np.zeros(0, dtype=np.int64)])).to(self.predictor.device)

    def _estimated(self, gained: Reals, weights: Reals) -> Reals:
        """Return log p from the log-weights of samples, [paths, samples, left], and of the paths: [paths, left]."""
        if self.predictor.estimate.kind == "elbo":
            mean: Reals = gained.mean(axis=1)
            return mean
        before: Reals = np.logaddexp.reduce(weights, axis=1)[:, None]
        found: Reals = np.logaddexp.reduce(weights[:, :, None] + gained, axis=1) - before
        return found
