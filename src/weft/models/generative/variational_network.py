"""Generative model 3 as a network: an encoder-decoder guided by a chain of latent variables (section 3.3)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from weft.models.generative.latent_chain import ChainStep, LatentChain, divergence
from weft.models.generative.memory import Memory
from weft.models.generative.network import Architecture, Seq2SeqNetwork, Tokens
from weft.models.layers import chunked_cross_entropy


@dataclass(frozen=True, slots=True)
class Cures:
    """What keeps the posterior from collapsing onto the prior.

    Attributes:
        annealing: Share of the training over which the weight of the divergence rises from 0 to 1 (Bowman et al. 2016).
        free_nats: Divergence a sentence that costs nothing (Kingma et al. 2016).
        bag_weight: What predicting the words of a sentence from z alone, in any order, counts (Zhao et al. 2017).
    """

    annealing: float = 0.3
    free_nats: float = 3.0
    bag_weight: float = 0.1


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts of a batch.

    Attributes:
        sentences: All of them, [sentences, time].
        places: [texts, longest] which sentence stands where; −1 after the end of a text.
    """

    sentences: Tokens
    places: Tensor

    @property
    def real(self) -> Tensor:
        """[texts, longest − 1] whether there is a sentence, from the second on."""
        return self.places[:, 1:] >= 0


@dataclass(frozen=True, slots=True)
class Bound:
    """The parts of the lower bound on log p(s_2 … s_N | s_1), summed over a batch, with gradients.

    Attributes:
        words: −log p(s_n | z_n, s_{n−1}).
        divergence: KL of posteriors and priors.
        charged: What of it the loss counts: not what is free.
        bag: −log p of the words from z alone.
        sentences: How many were predicted.
    """

    words: Tensor
    divergence: Tensor
    charged: Tensor
    bag: Tensor
    sentences: int


class VariationalNetwork(nn.Module):
    """Encoder, chain and decoder of one direction.

    Args:
        architecture: Of encoder and decoder; its ``guide`` is the size of z.
        width: Of the sentence-level LSTM.
        bos: Id that starts a target.
        eos: Id that ends it.
        pad: Id that fills rows up.
        cures: Against collapse, in training.
    """

    inside = "words."  # where the weights of an encoder-decoder have their place

    def __init__(
        self, architecture: Architecture, width: int, *, bos: int, eos: int, pad: int, cures: Cures | None = None
    ) -> None:
        super().__init__()
        self.words = Seq2SeqNetwork(architecture, bos=bos, eos=eos, pad=pad)
        self.chain = LatentChain(2 * architecture.hidden, width, architecture.guide)
        self.bag = nn.Linear(architecture.guide, architecture.dimensions, bias=False)
        self.cures = cures or Cures()
        self.share = 1.0  # of the training that is done; the training loop tells

    def read(self, sentences: Tokens) -> tuple[Memory, Tensor]:
        """What decoders remember of sentences, and their vectors made ready for the chain: [sentences, width]."""
        memory = self.words.encode(sentences)
        assert memory.start is not None
        vectors = torch.cat([part[0] for part in memory.start], dim=-1)  # [sentences, 2 · hidden]
        return memory, self.chain.read(vectors)

    def walk(self, vectors: Tensor, places: Tensor, noise: Tensor) -> list[ChainStep]:
        """Run the chain over texts, a step for every sentence after the first.

        Args:
            vectors: [sentences, width], made ready.
            places: [texts, longest]; what stands after the end of a text is read, and must not be used.
            noise: [longest − 1, texts, latent].
        """
        chosen = places.clamp(min=0)
        state = self.chain.begin(vectors[chosen[:, 0]])
        steps = []
        for place in range(1, places.shape[1]):
            step = self.chain.step(state, vectors[chosen[:, place]], noise[place - 1])
            steps.append(step)
            state = step.state
        return steps

    def bound(self, texts: Texts) -> Bound:
        """The lower bound with one sample of every z in training, with the posteriors' means otherwise."""
        memory, vectors = self.read(texts.sentences)
        count, longest = texts.places.shape
        shape = (longest - 1, count, self.chain.latent)
        noise = torch.randn(shape, device=vectors.device) if self.training else vectors.new_zeros(shape).float()
        steps = self.walk(vectors, texts.places, noise)
        real = texts.real.T  # [longest − 1, texts]
        latent = torch.stack([step.latent for step in steps])[real]  # [predicted, latent]
        nats = torch.stack([divergence(step.posterior, step.prior) for step in steps])[real]  # [predicted]
        targets, sources = texts.places[:, 1:].T[real], texts.places[:, :-1].T[real]  # [predicted] each
        words = self.word_loss(memory, texts.sentences, sources, targets, latent)
        free = self.cures.free_nats if self.training else 0.0
        charged = nats.clamp(min=free).sum()
        bag = self._bag(latent, texts.sentences, targets)
        return Bound(words, nats.sum(), charged, bag, len(targets))

    def weigh(self, bound: Bound) -> Tensor:
        """What is minimised: the bound itself in evaluation, with its cures in training."""
        if not self.training:
            return bound.words + bound.divergence
        weight = min(1.0, self.share / self.cures.annealing) if self.cures.annealing else 1.0
        return bound.words + weight * bound.charged + self.cures.bag_weight * bound.bag

    def word_loss(self, memory: Memory, sentences: Tokens, sources: Tensor, targets: Tensor, latent: Tensor) -> Tensor:
        """−log p(targets | z, sources), summed; numbers of sentences and latent variables, a row each."""
        chosen = Tokens(sentences.ids[targets], sentences.lengths[targets])
        return self.words.target_loss(memory.select(sources), chosen, guide=latent)

    def _bag(self, latent: Tensor, sentences: Tokens, targets: Tensor) -> Tensor:
        """All words of a sentence predicted by one distribution, which z alone gives."""
        ids, lengths = sentences.ids[targets], sentences.lengths[targets]
        real = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]  # [predicted, time]
        rows = torch.arange(len(ids), device=ids.device)[:, None].expand_as(ids)[real]  # [tokens]
        return chunked_cross_entropy(self.bag(latent)[rows], self.words.embedding.weight, ids[real])
