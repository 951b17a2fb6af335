"""The network of generative model 3: an encoder-decoder guided by a chain of latent variables (section 3.3)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from weft.models.common.neural.contrastive_loss import (
    row_log_probs,
    weighted_loss,
    with_gradient_of,
    wrong_context_probability,
)
from weft.models.common.neural.encoder_decoder import Architecture, Seq2SeqNetwork, Tokens
from weft.models.common.neural.layers import chunked_cross_entropy
from weft.models.common.neural.source_memory import Memory
from weft.models.vlv.latent_chain import ChainStep, LatentChain, divergence


@dataclass(frozen=True, slots=True)
class LossWeights:
    """Weights of the training loss; all except the last prevent the posterior from collapsing to the prior."""

    # Share of the training over which the weight of the divergence rises from 0 to 1 (Bowman et al. 2016).
    annealing: float
    free_nats: float  # divergence per sentence that is not penalised (Kingma et al. 2016)
    # Weight of predicting the words of a sentence from z alone, in any order (Zhao et al. 2017).
    bag_weight: float
    contrast: float  # weight of the contrast between texts and shuffled texts


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts of a batch."""

    sentences: Tokens  # all sentences: [sentences, time]
    places: Tensor  # numbers of the sentences of each text, −1 after the end: [texts, longest]
    shuffled: Tensor | None = None  # the same numbers in another order, for the contrast

    @property
    def real(self) -> Tensor:
        """Whether there is a sentence at each place from the second on: [texts, longest − 1]."""
        return self.places[:, 1:] >= 0


@dataclass(frozen=True, slots=True)
class Bound:
    """The parts of the lower bound on log p(s_2 … s_N | s_1), summed over a batch, with gradients."""

    words: Tensor  # −log p(s_n | z_n, s_{n−1})
    divergence: Tensor  # KL of posteriors and priors
    charged: Tensor  # the divergence in the loss, at least `free_nats` per sentence
    bag: Tensor  # −log p of the words from z alone
    sentences: int  # number of predicted sentences
    contrast: Tensor | None = (
        None  # contrastive loss of a sentence in its text and in a shuffled text, z from the prior
    )


@dataclass(frozen=True, slots=True)
class _Sampled:
    """All sentences of texts except the first, with a sample of their latent variables."""

    sources: Tensor  # numbers of the previous sentences: [predicted]
    targets: Tensor  # numbers of the sentences: [predicted]
    latent: Tensor  # samples of z: [predicted, latent]
    nats: Tensor  # KL of posterior and prior: [predicted]

    def row_of(self, sentences: Tensor, count: int) -> Tensor:
        """Return the row of each sentence among the targets, −1 if it is not a target; ``count`` is the total."""
        rows = torch.full((count,), -1, device=sentences.device)
        rows[self.targets] = torch.arange(len(self.targets), device=sentences.device)
        return rows[sentences]


class VariationalNetwork(nn.Module):
    """Encoder, chain and decoder of one direction; ``architecture.guide`` is the size of z, ``width`` of the chain."""

    inner_prefix = "words."  # of the names of the encoder-decoder's weights

    def __init__(
        self,
        architecture: Architecture,
        width: int,
        *,
        bos: int,
        eos: int,
        pad: int,
        weights: LossWeights,
        noisy: bool = True,
    ) -> None:
        super().__init__()
        self.words = Seq2SeqNetwork(architecture, bos=bos, eos=eos, pad=pad)
        self.chain = LatentChain(2 * architecture.hidden, width, architecture.guide, noisy=noisy)
        self.bag = nn.Linear(architecture.guide, architecture.dimensions, bias=False)
        self.weights = weights
        self.share = 1.0  # share of the training that is done, set by the training loop

    def read(self, sentences: Tokens) -> tuple[Memory, Tensor]:
        """Return encoded sentences, and their vectors for the chain: [sentences, width]."""
        memory = self.words.encode(sentences)
        assert memory.start is not None
        vectors = torch.cat([part[0] for part in memory.start], dim=-1)  # [sentences, 2 · hidden]
        return memory, self.chain.read(vectors)

    def walk(self, vectors: Tensor, places: Tensor, noise: Tensor, *, from_prior: bool = False) -> list[ChainStep]:
        """Run the chain over texts; return a step for each sentence after the first.

        Args:
            vectors: Vectors from `read`: [sentences, width].
            places: Numbers of sentences, [texts, longest]; steps after the end of a text are meaningless.
            noise: Noise of the sentence at each place, [longest, texts, latent]; that of the first is unused.
            from_prior: Whether z is drawn from the prior instead of the posterior.
        """
        chosen = places.clamp(min=0)
        state = self.chain.begin(vectors[chosen[:, 0]])
        steps = []
        for place in range(1, places.shape[1]):
            step = self.chain.step(state, vectors[chosen[:, place]], noise[place], from_prior=from_prior)
            steps.append(step)
            state = step.state
        return steps

    def bound(self, texts: Texts) -> Bound:
        """Return the lower bound, with one sample of each z in training and at the posterior means otherwise.

        Words are likelier at the mean of z than on average over z, so that the validation loss is slightly below the
        negative bound.
        """
        memory, vectors = self.read(texts.sentences)
        shape = len(vectors), self.chain.latent
        noise = torch.randn(shape, device=vectors.device) if self.training else vectors.new_zeros(shape).float()
        plain = self._sampled(vectors, texts.places, noise)
        free = self.weights.free_nats if self.training else 0.0
        charged = plain.nats.clamp(min=free).sum()
        bag = self._bag(plain.latent, texts.sentences, plain.targets)
        words = self.word_loss(memory, texts.sentences, plain.sources, plain.targets, plain.latent)
        contrast = None
        if texts.shuffled is not None and self.weights.contrast:
            # Both orders use the same noise, so that they do not differ by chance. z is drawn from the prior: a
            # contrast of posterior bounds would reward a posterior that fits badly to shuffled texts.
            right, wrong = (
                self._sampled(vectors, order, noise, from_prior=True) for order in (texts.places, texts.shuffled)
            )
            contrast = self._contrast(memory, texts.sentences, right, wrong)
        return Bound(words, plain.nats.sum(), charged, bag, len(plain.targets), contrast)

    def _sampled(self, vectors: Tensor, places: Tensor, noise: Tensor, *, from_prior: bool = False) -> _Sampled:
        """Run the chain over texts, with noise [sentences, latent]; return all sentences except the first of each."""
        steps = self.walk(vectors, places, noise[places.clamp(min=0).T], from_prior=from_prior)
        real = (places[:, 1:] >= 0).T  # [longest − 1, texts]
        return _Sampled(
            sources=places[:, :-1].T[real],
            targets=places[:, 1:].T[real],
            latent=torch.stack([step.latent for step in steps])[real],
            nats=torch.stack([divergence(step.posterior, step.prior) for step in steps])[real],
        )

    def _contrast(self, memory: Memory, sentences: Tokens, plain: _Sampled, shuffled: _Sampled) -> Tensor:
        """Return the contrast of the log-probabilities of sentences in their texts and in shuffled texts, given z."""
        matrix = self.words.embedding.weight
        targets = torch.cat([plain.targets, shuffled.targets])
        found = self.words.predictions(
            memory.select(torch.cat([plain.sources, shuffled.sources])),
            Tokens(sentences.ids[targets], sentences.lengths[targets]),
            guide=torch.cat([plain.latent, shuffled.latent]),
        )
        log_probs = row_log_probs(found, matrix)  # [plain + shuffled]
        size = len(plain.targets)
        partner = plain.row_of(shuffled.targets, len(sentences.ids))  # [shuffled], −1 for the first of a text
        paired, at = partner >= 0, partner.clamp(min=0)
        right, wrong = log_probs[:size][at], log_probs[size:]  # [shuffled] each
        share = (wrong_context_probability(right, wrong) * paired).detach()  # [shuffled]
        on_plain = share.new_zeros(size).index_add(0, at, share)  # [plain]
        contrast = (functional.softplus(wrong - right) * paired).sum().detach()
        return with_gradient_of(weighted_loss(found, matrix, torch.cat([on_plain, -share])), contrast)

    def total_loss(self, bound: Bound) -> Tensor:
        """Return the loss: words and divergence in evaluation, weighted in training; the contrast in both."""
        contrast = 0.0 if bound.contrast is None else self.weights.contrast * bound.contrast
        if not self.training:
            return bound.words + bound.divergence + contrast
        weight = min(1.0, self.share / self.weights.annealing) if self.weights.annealing else 1.0
        return bound.words + weight * bound.charged + self.weights.bag_weight * bound.bag + contrast

    def word_loss(self, memory: Memory, sentences: Tokens, sources: Tensor, targets: Tensor, latent: Tensor) -> Tensor:
        """Return −log p(targets | z, sources), summed; targets and sources are numbers of sentences, [rows] each."""
        chosen = Tokens(sentences.ids[targets], sentences.lengths[targets])
        return self.words.target_loss(memory.select(sources), chosen, guide=latent)

    def _bag(self, latent: Tensor, sentences: Tokens, targets: Tensor) -> Tensor:
        """Return the loss of predicting all words of a sentence from one distribution that depends on z alone."""
        ids, lengths = sentences.ids[targets], sentences.lengths[targets]
        real = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]  # [predicted, time]
        rows = torch.arange(len(ids), device=ids.device)[:, None].expand_as(ids)[real]  # [tokens]
        return chunked_cross_entropy(self.bag(latent)[rows], self.words.embedding.weight, ids[real])
