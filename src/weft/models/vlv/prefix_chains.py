"""Chains of latent variables over growing partial orders, for the search for an order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from weft.models.common.partial_orders import spread, unplaced
from weft.models.vlv.chain_predictor import VariationalPredictor
from weft.models.vlv.estimators import density_ratio

Reals = npt.NDArray[np.float64]


class PrefixChains:
    """Computes log p(next sentence | partial order) of growing partial orders, with the state of each chain."""

    def __init__(self, predictor: VariationalPredictor, sentences: Sequence[str]) -> None:
        self.predictor, self.size = predictor, len(sentences)
        with torch.inference_mode():
            self.read = predictor.decoder.read(sentences)
            self.vectors = predictor.network.chain.read(self.read.vectors)  # [sentences, width]
        self.noise = predictor.noise(self.read)  # [sentences, samples, latent]

    @torch.inference_mode()
    def begin(self, firsts: Sequence[int]) -> None:
        """Start one path with each of these sentences."""
        samples = self.predictor.estimate.samples
        self.last = torch.tensor(list(firsts), device=self.predictor.device).repeat_interleave(samples)
        self.open = unplaced([[first] for first in firsts], self.size)
        self.state = self.predictor.network.chain.begin(self.vectors[self.last])  # rows: paths · samples
        self.weights = torch.zeros(len(firsts), samples, dtype=torch.float64, device=self.predictor.device)

    @torch.inference_mode()
    def log_probs(self) -> Reals:
        """Return log p of each sentence after each path, 0 for those in the path: [paths, sentences]."""
        predictor, rows, left = self.predictor, len(self.last), self.open.shape[1]
        candidates = torch.from_numpy(self.open).to(self.last.device)  # [paths, left]
        candidates = candidates.repeat_interleave(predictor.estimate.samples, dim=0).flatten()  # [rows · left]
        owners = torch.arange(rows, device=self.last.device).repeat_interleave(left)
        noise = self.noise[candidates, owners % predictor.estimate.samples]  # [rows · left, latent]
        self.step = predictor.network.chain.step(
            self.state.select(owners), self.vectors[candidates], noise, from_prior=predictor.estimate.from_prior
        )
        words = predictor.decoder.log_probs(self.read, self.last[owners], candidates, self.step.latent)
        grown = (words + density_ratio(self.step)).double().view(len(self.weights), -1, left)
        self.grown = self.weights[:, :, None] + grown  # [paths, samples, left]
        if predictor.estimate.kind == "elbo":
            values = grown.mean(dim=1)
        else:
            values = self.grown.logsumexp(dim=1) - self.weights.logsumexp(dim=1, keepdim=True)
        return spread(values.cpu().numpy(), self.open, self.size)

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Keep some paths and add one sentence to each."""
        device, samples = self.last.device, self.predictor.estimate.samples
        chosen, left = self.open[list(rows)], self.open.shape[1]  # [new paths, left]
        taken = chosen == np.asarray(columns)[:, None]
        paths, at = torch.tensor(list(rows), device=device), torch.from_numpy(taken.argmax(axis=1)).to(device)
        owners = (paths[:, None] * samples + torch.arange(samples, device=device)).flatten()  # [new rows]
        self.state = self.step.state.select(owners * left + at.repeat_interleave(samples))
        self.weights = self.grown[paths, :, at]
        self.last = torch.tensor(list(columns), device=device).repeat_interleave(samples)
        self.open = chosen[~taken].reshape(len(chosen), left - 1)
