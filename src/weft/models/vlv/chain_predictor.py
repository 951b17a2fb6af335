"""Log-probabilities of the sentences of a text under a chain of latent variables, and its next sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from weft.generation.continuation import best_first
from weft.generation.decoding import Candidate
from weft.generation.decoding_settings import Decoding
from weft.models.common.neural.guided_decoding import GuidedDecoder, ReadText
from weft.models.common.token_cache import TokenCache
from weft.models.vlv.estimators import Estimate, density_ratio
from weft.models.vlv.latent_chain import ChainStep, Gaussian
from weft.models.vlv.network import VariationalNetwork

Reals = npt.NDArray[np.float64]
Order = Sequence[int]


@dataclass(frozen=True, slots=True)
class NextSentence:
    """The source and the prior of the sentence that follows each context."""

    read: ReadText  # the encoded sentences of all contexts
    last: Tensor  # number of the last sentence of each context, the source of the next sentence: [contexts]
    prior: Gaussian  # p(z_n | z_{n−1}, s_1 … s_{n−1}), with earlier z at their posterior means: [contexts, latent]


class VariationalPredictor:
    """Computes log p(s_n | s_1 … s_{n−1}) of the sentences of a text, in several orders.

    Sentences are encoded once. The chain runs for each order, because it depends on all previous sentences.
    """

    def __init__(self, network: VariationalNetwork, ids: TokenCache, estimate: Estimate) -> None:
        self.network, self.ids, self.estimate = network.eval(), ids, estimate
        self.decoder = GuidedDecoder(network.words, ids)

    @property
    def device(self) -> torch.device:
        """The device of the network."""
        return self.decoder.device

    def token_counts(self, sentences: Sequence[str]) -> list[int]:
        """Return the number of tokens of each sentence, ``</s>`` included."""
        return self.ids.counts(sentences)

    @torch.inference_mode()
    def log_probs(self, sentences: Sequence[str], orders: Sequence[Order]) -> list[Reals]:
        """Return, for each order, the log-probabilities of its sentences except the first: [sentences − 1] each."""
        found: dict[int, Reals] = {}
        read = self.decoder.read(sentences) if any(len(order) > 1 for order in orders) else None
        for length in sorted({len(order) for order in orders}):
            same_length = [number for number, order in enumerate(orders) if len(order) == length]
            if length < 2 or read is None:
                found |= dict.fromkeys(same_length, np.zeros(0))
                continue
            places = torch.tensor(
                [list(orders[number]) for number in same_length], device=self.device
            )  # [orders, length]
            found |= dict(zip(same_length, self._estimated(read, places), strict=True))
        return [found[number] for number in range(len(orders))]

    def _estimated(self, read: ReadText, places: Tensor) -> Reals:
        """Return the log-probabilities of orders of one length: [orders, length − 1]."""
        if self.estimate.kind != "tighter":
            return self._of_orders(read, places, from_prior=self.estimate.from_prior)
        prior, posterior = (self._of_orders(read, places, from_prior=choice) for choice in (True, False))
        higher = prior.sum(axis=1) >= posterior.sum(axis=1)  # [orders]
        chosen: Reals = np.where(higher[:, None], prior, posterior)
        return chosen

    def _of_orders(self, read: ReadText, places: Tensor, *, from_prior: bool) -> Reals:
        """Return the log-probabilities of orders of one length, by one proposal: [orders, length − 1]."""
        orders, length = places.shape
        samples = self.estimate.samples
        rows = places.repeat_interleave(samples, dim=0)  # [orders · samples, length]
        noise = self.noise(read)[rows.T, torch.arange(samples, device=rows.device).repeat(orders)]
        steps = self.network.walk(self.network.chain.read(read.vectors), rows, noise, from_prior=from_prior)
        latent, densities = self.sampled(steps)
        sources, targets = rows[:, :-1].T.flatten(), rows[:, 1:].T.flatten()  # [(length − 1) · rows] each
        words = self.decoder.log_probs(read, sources, targets, latent.flatten(0, 1))
        weights = (words.view(length - 1, -1) + densities).double().view(length - 1, orders, samples)
        values: Reals = self._combined(weights).T.cpu().numpy()
        return values

    def sampled(self, steps: Sequence[ChainStep]) -> tuple[Tensor, Tensor]:
        """Return the z of each sentence, [steps, rows, latent], and their `density_ratio`, [steps, rows]."""
        return torch.stack([step.latent for step in steps]), torch.stack([density_ratio(step) for step in steps])

    def noise(self, read: ReadText) -> Tensor:
        """Return standard normal noise, which depends only on the sentence: [sentences, samples, latent]."""
        shape = self.estimate.samples, self.network.chain.latent
        drawn = [
            np.random.default_rng([self.estimate.seed, crc32(repr(ids).encode())]).standard_normal(shape, np.float32)
            for ids in read.ids
        ]
        return torch.from_numpy(np.stack(drawn)).to(self.device)

    @torch.inference_mode()
    def latent_means(self, sentences: Sequence[str]) -> Reals:
        """Return the posterior means of z_2 … z_N: [sentences − 1, latent]."""
        if len(sentences) < 2:
            return np.zeros((0, self.network.chain.latent))
        vectors = self.network.chain.read(self.decoder.read(sentences).vectors)  # [sentences, width]
        means: Reals = torch.cat([step.latent for step in self._mean_walk(vectors)]).double().cpu().numpy()
        return means

    def _mean_walk(self, vectors: Tensor) -> list[ChainStep]:
        """Run the chain over one text without noise; return a step for each sentence after the first."""
        places = torch.arange(len(vectors), device=vectors.device)[None]  # [1, sentences]
        return self.network.walk(vectors, places, vectors.new_zeros(len(vectors), 1, 1, dtype=torch.float32))

    @torch.inference_mode()
    def next_sentence(self, contexts: Sequence[Sequence[str]]) -> NextSentence:
        """Return the source and the prior of each next sentence; an empty context is read as an empty sentence."""
        texts = [list(context) or [""] for context in contexts]
        read, chain = self.decoder.read([sentence for text in texts for sentence in text]), self.network.chain
        ends = np.cumsum([len(text) for text in texts])
        vectors = chain.read(read.vectors)  # [sentences of all texts, width]
        each = [vectors[end - len(text) : end] for text, end in zip(texts, ends, strict=True)]
        states = [(chain.begin(one[:1]), *(step.state for step in self._mean_walk(one)))[-1] for one in each]
        priors = [chain.predict(state) for state in states]  # [1, latent] each
        prior = Gaussian(torch.cat([one.mean for one in priors]), torch.cat([one.log_std for one in priors]))
        return NextSentence(read, torch.tensor(ends - 1, device=self.device), prior)

    def draw(self, prior: Gaussian, draws: int, seed: int) -> Tensor:
        """Return samples from a prior; sample k does not depend on ``draws``: [contexts, draws, latent]."""
        noise = [
            np.random.default_rng([seed, number]).standard_normal(prior.mean.shape, dtype=np.float32)
            for number in range(draws)
        ]
        return Gaussian(prior.mean[:, None], prior.log_std[:, None]).sample(
            torch.from_numpy(np.stack(noise, axis=1)).to(self.device)
        )

    @torch.inference_mode()
    def propose(self, contexts: Sequence[Sequence[str]], decoding: Decoding) -> list[list[Candidate]]:
        """Return several next sentences for each context, best first; z_n is drawn ``draws`` times from its prior.

        The beam is divided among the draws. The log-probability of a candidate is conditional on its own z_n.
        """
        following, draws = self.next_sentence(contexts), decoding.draws
        latent = self.draw(following.prior, draws, decoding.seed)  # [contexts, draws, latent]
        found = self.decoder.write(
            following.read, following.last.repeat_interleave(draws), latent.flatten(0, 1), decoding
        )
        each = -(-decoding.beam // draws)  # rounded up
        rows = [found[start : start + draws] for start in range(0, len(found), draws)]
        return [best_first((one for beam in beams for one in beam[:each]), decoding) for beams in rows]

    def _combined(self, weights: Tensor) -> Tensor:
        """Return log-probabilities, [steps, orders], from log-weights of samples, [steps, orders, samples].

        A sample is a whole chain, whose weight at sentence n is the product of its weights up to n.
        """
        if self.estimate.kind == "elbo":
            return weights.mean(dim=-1)
        totals = weights.cumsum(dim=0).logsumexp(dim=-1)  # [steps, orders]
        before = torch.cat([torch.full_like(totals[:1], float(np.log(weights.shape[-1]))), totals[:-1]])
        return totals - before
