"""What a chain of latent variables learned: is z used, how many of its dimensions, and does it matter which?"""

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
from weft.scoring.sequences import OrderMemory

# Variance over sentences of what a sentence adds to the mean of z, in spreads of the prior, above which a dimension
# counts as used (Burda et al. 2016). Their prior is the same for all; ours moves with the context by itself.
ACTIVE = 0.01


@dataclass(frozen=True, slots=True)
class LatentUse:
    """How much a chain's latent variables hold.

    Attributes:
        sentences: How many were looked at.
        divergence: Mean KL of posterior and prior, nats per sentence; near 0 the posterior has collapsed.
        active: Share of dimensions whose posterior mean moves away from the prior's with the sentence.
        loss: Mean −log p(s_n | z_n, s_{n−1}) per sentence, z_n the posterior's mean.
        shuffled_loss: The same with every sentence given the z of another one: higher, where z matters.
    """

    sentences: int
    divergence: float
    active: float
    loss: float
    shuffled_loss: float


@torch.inference_mode()
def latent_use(network: VariationalNetwork, batches: Iterable[Texts], *, seed: int = 1) -> LatentUse:
    """Look at a trained chain.

    Args:
        network: The chain.
        batches: Texts it was not trained on.
        seed: Of the shuffle.
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
    """How far the sentence itself moves the mean of its z, in spreads of the prior: [rows, latent]."""
    return (step.posterior.mean - step.prior.mean) * (-step.prior.log_std).exp()


class MisguidedPredictor(VariationalPredictor):
    """The same chain, but every sentence has the z of another one of its text.

    Args:
        predictor: The chain.
        whole: Whether its z must also be expected at the place it is put to, as any z must; otherwise only words are
            decoded with it, and what is expected stays.
    """

    def __init__(self, predictor: VariationalPredictor, *, whole: bool) -> None:
        super().__init__(predictor.network, predictor.ids, predictor.estimate)
        self.whole = whole

    def sampled(self, steps: Sequence[ChainStep]) -> tuple[Tensor, Tensor]:
        """Latent variables moved on by some places, chosen for every order by chance, and their log-densities."""
        latent, densities = super().sampled(steps)  # [steps, rows, latent], [steps, rows]
        count, samples = len(steps), self.estimate.samples
        if count < 2:
            return latent, densities
        orders = latent.shape[1] // samples
        moved = np.random.default_rng([self.estimate.seed, count]).integers(1, count, orders).repeat(samples)  # [rows]
        taken = torch.from_numpy((np.arange(count)[:, None] + moved) % count).to(latent.device)  # [steps, rows]
        others = latent.gather(0, taken[:, :, None].expand_as(latent))
        if not self.whole:
            return others, densities
        drawn = torch.stack([step.posterior.log_prob(step.latent) for step in steps]).gather(0, taken)  # [steps, rows]
        return others, torch.stack([step.prior.log_prob(z) for step, z in zip(steps, others, strict=True)]) - drawn


def with_shuffled_latents(model: VlvGm, *, whole: bool = False) -> VlvGm:
    """A model whose sentences have the z of others: what it then tells worse, z told it.

    Args:
        model: The trained model.
        whole: Whether the z of another sentence must also be expected where it is put; otherwise only decoders have it.
    """
    other = model.adjusted({})
    other.memory = OrderMemory()  # the other's scores are not these
    other.predictors = {
        part: MisguidedPredictor(one, whole=whole) if isinstance(one, VariationalPredictor) else one
        for part, one in model.predictors.items()
    }
    return other
