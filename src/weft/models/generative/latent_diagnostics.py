"""What a chain of latent variables learned: is z used, how many of its dimensions, and does it matter which?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from weft.models.generative.latent_chain import ChainStep, divergence
from weft.models.generative.variational import VlvGm
from weft.models.generative.variational_network import Texts, VariationalNetwork
from weft.models.generative.variational_predictor import VariationalPredictor
from weft.scoring import OrderMemory

ACTIVE = 0.01  # variance of a posterior mean over sentences above which a dimension counts as used (Burda et al. 2016)


@dataclass(frozen=True, slots=True)
class LatentUse:
    """How much a chain's latent variables hold.

    Attributes:
        sentences: How many were looked at.
        divergence: Mean KL of posterior and prior, nats per sentence; near 0 the posterior has collapsed.
        active: Share of dimensions whose posterior mean moves with the sentence.
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
    means = []
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
        means.append(latent)
    spread = torch.cat(means).var(dim=0)  # [latent]
    active = float((spread > ACTIVE).float().mean())
    return LatentUse(count, nats / count, active, loss / count, shuffled / count)


class MisguidedPredictor(VariationalPredictor):
    """The same chain, but every sentence is decoded with the z of the one before it; what the chain expects stays."""

    def sampled(self, steps: Sequence[ChainStep]) -> tuple[Tensor, Tensor]:
        """Latent variables moved on by a place, the last one to the front; log-densities as they were."""
        latent, densities = super().sampled(steps)
        return latent.roll(1, dims=0), densities


class ExchangedPredictor(VariationalPredictor):
    """The same chain, but every sentence has the z of the one before it: decoded with it, and expected or not."""

    def sampled(self, steps: Sequence[ChainStep]) -> tuple[Tensor, Tensor]:
        """Latent variables moved on by a place: what each counts is that sentence's prior over where it was drawn."""
        latent = torch.stack([step.latent for step in steps]).roll(1, dims=0)  # [steps, rows, latent]
        drawn = torch.stack([step.posterior.log_prob(step.latent) for step in steps]).roll(1, dims=0)  # [steps, rows]
        expected = torch.stack([step.prior.log_prob(value) for step, value in zip(steps, latent, strict=True)])
        return latent, expected - drawn


SHUFFLES = {"decoder": MisguidedPredictor, "all": ExchangedPredictor}


def with_shuffled_latents(model: VlvGm, where: str = "all") -> VlvGm:
    """A model whose z are exchanged between sentences: what it then tells worse, z told it.

    Args:
        model: The model.
        where: ``all``, or ``decoder``, where only the decoder is given the wrong z.
    """
    other = model.adjusted({})
    other.memory = OrderMemory()  # the other's scores are not these
    kind, chains = SHUFFLES[where], model.chains.items()
    other.chains = {part: kind(chain.network, chain.ids, chain.estimate) for part, chain in chains}
    return other
