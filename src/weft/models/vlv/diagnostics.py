"""Diagnostics of a chain of latent variables: how much z depends on its sentence, and how much it helps decoding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from weft.models.vlv.estimators import VariationalPredictor
from weft.models.vlv.latent_chain import ChainStep, divergence
from weft.models.vlv.network import Texts, VariationalNetwork
from weft.models.vlv.vlv_gm import VlvGm
from weft.scoring.sequence_scorer import OrderCache

# A dimension counts as used if the shift of the mean of z by its sentence, in standard deviations of the prior, has a
# higher variance over sentences (Burda et al. 2016). They use the mean itself: their prior is the same for all texts.
ACTIVE = 0.01


@dataclass(frozen=True, slots=True)
class LatentUse:
    """The use of the latent variables of a chain.

    Attributes:
        sentences: Number of sentences.
        divergence: Mean KL of posterior and prior, nats per sentence; near 0 if the posterior has collapsed.
        active: Share of dimensions whose posterior mean depends on the sentence.
        loss: Mean −log p(s_n | z_n, s_{n−1}) per sentence, with z_n at the posterior mean.
        shuffled_loss: The same loss with the z of another sentence; higher if the decoder uses z.
    """

    sentences: int
    divergence: float
    active: float
    loss: float
    shuffled_loss: float


@torch.inference_mode()
def latent_use(network: VariationalNetwork, batches: Iterable[Texts], *, seed: int = 1) -> LatentUse:
    """Return the use of latent variables in a trained chain.

    Args:
        network: The chain.
        batches: Texts that were not in the training data.
        seed: Seed of the shuffle.
    """
    network.eval()
    generator = torch.Generator().manual_seed(seed)
    count, nats, loss, shuffled = 0, 0.0, 0.0, 0.0
    shifts = []
    for texts in batches:
        memory, vectors = network.read(texts.sentences)
        steps = network.walk(vectors, texts.places, vectors.new_zeros(1, 1, 1).expand(texts.places.shape[1], -1, -1))
        real = texts.real.T  # [longest − 1, texts]
        latent = torch.stack([step.latent for step in steps])[real]  # [predicted, latent]
        nats += float(torch.stack([divergence(step.posterior, step.prior) for step in steps])[real].sum())
        targets, sources = texts.places[:, 1:].T[real], texts.places[:, :-1].T[real]
        others = latent[torch.randperm(len(latent), generator=generator).to(latent.device)]
        loss += float(network.word_loss(memory, texts.sentences, sources, targets, latent))
        shuffled += float(network.word_loss(memory, texts.sentences, sources, targets, others))
        count += len(targets)
        shifts.append(torch.stack([_shift(step) for step in steps])[real])
    spread = torch.cat(shifts).var(dim=0)  # [latent]
    active = float((spread > ACTIVE).float().mean())
    return LatentUse(count, nats / count, active, loss / count, shuffled / count)


def _shift(step: ChainStep) -> Tensor:
    """Return the shift of the mean of z by its sentence, in standard deviations of the prior: [rows, latent]."""
    return (step.posterior.mean - step.prior.mean) * (-step.prior.log_std).exp()


class MisguidedPredictor(VariationalPredictor):
    """A chain in which each sentence has the z of another sentence of its text.

    Args:
        predictor: The chain.
        whole: Whether the density of z changes too; otherwise only decoding uses the other z.
    """

    def __init__(self, predictor: VariationalPredictor, *, whole: bool) -> None:
        super().__init__(predictor.network, predictor.ids, predictor.estimate)
        self.whole = whole

    def sampled(self, steps: Sequence[ChainStep]) -> tuple[Tensor, Tensor]:
        """Return latent variables, shifted by a random number of places in each order, and their log-densities."""
        latent, densities = super().sampled(steps)  # [steps, rows, latent], [steps, rows]
        count, samples = len(steps), self.estimate.samples
        if count < 2:
            return latent, densities
        orders = latent.shape[1] // samples
        shifts = np.random.default_rng([self.estimate.seed, count]).integers(1, count, orders).repeat(samples)  # [rows]
        taken = torch.from_numpy((np.arange(count)[:, None] + shifts) % count).to(latent.device)  # [steps, rows]
        others = latent.gather(0, taken[:, :, None].expand_as(latent))
        if not self.whole:
            return others, densities
        drawn = torch.stack([step.posterior.log_prob(step.latent) for step in steps]).gather(0, taken)  # [steps, rows]
        return others, torch.stack([step.prior.log_prob(z) for step, z in zip(steps, others, strict=True)]) - drawn


def with_shuffled_latents(model: VlvGm, *, whole: bool = False) -> VlvGm:
    """Return a model in which each sentence has the z of another; its loss in accuracy is due to z.

    Args:
        model: The trained model.
        whole: Whether the density of z changes too; otherwise only decoding uses the other z.
    """
    other = model.adjusted({})
    other.memory = OrderCache()  # scores of the original model do not apply
    other.predictors = {
        part: MisguidedPredictor(one, whole=whole) if isinstance(one, VariationalPredictor) else one
        for part, one in model.predictors.items()
    }
    return other
