"""A Markov chain of latent sentence variables: Gaussian priors and posteriors over a hierarchical LSTM.

The chain runs from sentence to sentence and does not model words. References: Li & Jurafsky 2017, section 3.3; Serban
et al. 2017 (hierarchical latent variables); Chung et al. 2015 (chains of latent variables).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

SHORTEST_LOG_STD, LONGEST_LOG_STD = -4.0, 3.0  # outside of this range, training diverges


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Independent normal distributions: mean and log of the standard deviation, each [..., latent]."""

    mean: Tensor
    log_std: Tensor

    def sample(self, noise: Tensor) -> Tensor:
        """Return reparameterised samples (Kingma & Welling 2014): the noise does not depend on parameters."""
        return self.mean + self.log_std.exp() * noise

    def log_prob(self, value: Tensor) -> Tensor:
        """Return the log-density, summed over dimensions: [...]."""
        scaled = (value - self.mean) * (-self.log_std).exp()
        density: Tensor = -0.5 * scaled.square() - self.log_std - 0.5 * math.log(2 * math.pi)
        return density.sum(dim=-1)


def divergence(posterior: Gaussian, prior: Gaussian) -> Tensor:
    """Return KL(posterior ‖ prior), summed over dimensions: [...].

    Paper: the quadratic form is (μ_p − μ_q)ᵀ Σ_p⁻¹ (μ_p − μ_q); the paper prints ⁻¹ for ᵀ.

    Example:
        >>> one = Gaussian(torch.zeros(3), torch.zeros(3))
        >>> divergence(one, one).item()
        0.0
    """
    spread = 2 * (posterior.log_std - prior.log_std)  # log σ_q² / σ_p²
    shift = (posterior.mean - prior.mean) * (-prior.log_std).exp()
    nats: Tensor = 0.5 * (spread.exp() + shift.square() - 1 - spread)
    return nats.sum(dim=-1)


class GaussianHead(nn.Module):
    """A small network whose output is a Gaussian."""

    def __init__(self, inputs: int, width: int, latent: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(inputs, width), nn.Tanh(), nn.Linear(width, 2 * latent))

    def forward(self, values: Tensor) -> Gaussian:
        """Return the Gaussian of inputs, [..., inputs], over [..., latent]."""
        mean, log_std = self.layers(values).float().chunk(2, dim=-1)  # densities need full precision
        return Gaussian(mean, log_std.clamp(SHORTEST_LOG_STD, LONGEST_LOG_STD))


@dataclass(frozen=True, slots=True)
class ChainState:
    """The state of a chain before a sentence."""

    hidden: Tensor  # hidden state of the sentence-level LSTM: [rows, width]
    cell: Tensor  # cell state of the sentence-level LSTM: [rows, width]
    latent: Tensor  # the last latent variable: [rows, latent]

    def select(self, rows: Tensor) -> ChainState:
        """Return some rows, in any order and repeated."""
        return ChainState(self.hidden[rows], self.cell[rows], self.latent[rows])


@dataclass(frozen=True, slots=True)
class ChainStep:
    """One step of a chain, from one sentence to the next."""

    prior: Gaussian  # p(z_n | z_{n−1}, s_1 … s_{n−1})
    posterior: Gaussian  # q(z_n | z_{n−1}, s_1 … s_n)
    proposal: Gaussian  # the distribution that z_n was drawn from: the posterior or the prior
    latent: Tensor  # z_n: [rows, latent]
    state: ChainState  # the state after the sentence


class LatentChain(nn.Module):
    """The sentence-level LSTM, which reads vectors of the size ``sentence``, and the Gaussian heads on it.

    Without ``noisy`` the chain has no random variables: z_n is the mean that the text before predicts. Such a chain
    shows what the latent variables add.
    """

    def __init__(self, sentence: int, width: int, latent: int, *, noisy: bool = True) -> None:
        super().__init__()
        self.latent = latent
        self.reading = nn.Linear(sentence, width)
        self.memory = nn.LSTMCell(width + latent, width)
        self.prior = GaussianHead(width, width, latent)
        self.posterior = GaussianHead(2 * width, width, latent) if noisy else None

    def read(self, vectors: Tensor) -> Tensor:
        """Return sentence vectors projected to the width of the chain: [..., sentence] → [..., width]."""
        return torch.tanh(self.reading(vectors))

    def begin(self, first: Tensor) -> ChainState:
        """Return the state after the first sentence, [rows, width], which has no latent variable."""
        zeros = first.new_zeros(len(first), self.memory.hidden_size)
        empty = ChainState(zeros, zeros, first.new_zeros(len(first), self.latent, dtype=torch.float32))
        return self._after(empty, first, empty.latent)

    def predict(self, state: ChainState) -> Gaussian:
        """Return p(z_n | z_{n−1}, s_1 … s_{n−1}), which does not depend on the next sentence."""
        prior: Gaussian = self.prior(state.hidden)
        return prior

    def step(self, state: ChainState, sentence: Tensor, noise: Tensor, *, from_prior: bool = False) -> ChainStep:
        """Read one sentence and sample its latent variable.

        Args:
            state: The state before the sentence.
            sentence: Vectors from `read`: [rows, width].
            noise: Standard normal noise, or zeros for the mean: [rows, latent].
            from_prior: Whether z_n is drawn from the prior instead of the posterior.
        """
        prior = self.predict(state)
        if self.posterior is None:
            return ChainStep(prior, prior, prior, prior.mean, self._after(state, sentence, prior.mean))
        posterior: Gaussian = self.posterior(torch.cat([state.hidden, sentence], dim=-1))
        proposal = prior if from_prior else posterior
        latent = proposal.sample(noise)
        return ChainStep(prior, posterior, proposal, latent, self._after(state, sentence, latent))

    def _after(self, state: ChainState, sentence: Tensor, latent: Tensor) -> ChainState:
        """Return the state after a sentence and its latent variable."""
        inputs = torch.cat([sentence, latent.to(sentence.dtype)], dim=-1)
        hidden, cell = self.memory(inputs, (state.hidden, state.cell))
        return ChainState(hidden, cell, latent)
