"""Writing with VLV-GM for many contexts at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from weft.generation.bulk_writing import Contexts, Proposals
from weft.generation.decoding import Hypotheses
from weft.generation.decoding_settings import Decoding
from weft.models.common.neural.bulk_decoders import BulkDecoders, candidate_tokens, joined_tokens
from weft.models.common.neural.encoder_decoder import Tokens
from weft.models.common.neural.guided_decoding import ReadText
from weft.models.common.neural.sentence_predictor import Predictor
from weft.models.vlv.chain_predictor import VariationalPredictor
from weft.models.vlv.estimators import Estimate, density_ratio
from weft.models.vlv.latent_chain import ChainState, Gaussian


class ChainWriter(BulkDecoders):
    """The bulk writer of VLV-GM, guided by latent variables that are drawn from their prior.

    Reranking averages over the samples of ``estimate``.
    """

    def __init__(
        self, forward: VariationalPredictor, backward: VariationalPredictor, prior: Predictor, estimate: Estimate
    ) -> None:
        super().__init__(forward.ids.tokenizer, forward.network.words, backward.network.words, prior)
        self.chains, self.estimate = (forward.network.chain, backward.network.chain), estimate

    @torch.inference_mode()
    def propose(self, contexts: Contexts, decoding: Decoding, *, reranked: bool) -> Proposals:
        """Return candidates; z_n is drawn ``draws`` times, and the beam is divided among the draws."""
        count = len(contexts)
        draws = min(decoding.draws, decoding.beam)
        each = -(-decoding.beam // draws)  # rounded up
        read = self.forward.read_tokens(self.tokens([ids for context in contexts for ids in context]))
        state = self.state_after(read, count)
        generator = torch.Generator(device=self.device).manual_seed(decoding.seed)
        noise = self.noise(count * draws, generator).view(count, draws, -1)
        prior = self.chains[0].predict(state)
        latent = Gaussian(prior.mean[:, None], prior.log_std[:, None]).sample(noise)  # [contexts, draws, latent]
        lasts = (torch.arange(count, device=self.device) + 1) * len(contexts[0]) - 1
        few = replace(decoding, beam=each, groups=each if decoding.method == "diverse" else decoding.groups)
        found = self.search_candidates(read, lasts.repeat_interleave(draws), latent.flatten(0, 1), few)
        time = found.ids.shape[-1]
        found = Hypotheses(
            found.ids.view(count, draws * each, time),
            found.log_probs.view(count, draws * each),
            found.lengths.view(count, draws * each),
        )
        if not reranked:
            return self.proposals(found, contexts, None)
        last = self.last_sentences(contexts)
        forward = self.forward_log_probs(found, last, state, generator)
        pairs = self.pairs(found, last, forward, self.chain_backward_log_probs(found, last, generator))
        return self.proposals(found, contexts, pairs)

    def state_after(self, read: ReadText, count: int) -> ChainState:
        """Return the state of the chain after each context, with latent variables at their posterior means.

        The sentences of a context are known, so their posterior is used with every estimate; the scorer of a text draws
        the z of earlier sentences as the estimate says.
        """
        chain = self.chains[0]
        vectors = chain.read(read.vectors).view(count, -1, chain.memory.hidden_size)  # [contexts, sentences, width]
        state = chain.begin(vectors[:, 0])
        no_noise = vectors.new_zeros(count, chain.latent, dtype=torch.float32)
        for place in range(1, vectors.shape[1]):
            state = chain.step(state, vectors[:, place], no_noise).state
        return state

    def noise(self, rows: int, generator: torch.Generator) -> Tensor:
        """Return standard normal noise: [rows, latent]."""
        return torch.randn(rows, self.chains[0].latent, generator=generator, device=self.device)

    def forward_log_probs(
        self, found: Hypotheses, last: Tokens, state: ChainState, generator: torch.Generator
    ) -> Tensor:
        """Return log p_F(candidate | context) by importance sampling: [contexts, beam]."""
        contexts, beam, _ = found.ids.shape
        read = self.forward.read_tokens(joined_tokens(candidate_tokens(found), last, self.tokenizer.pad_id))
        vectors = self.chains[0].read(read.vectors[: contexts * beam])  # [candidates, width]
        rows = torch.arange(contexts * beam, device=self.device)
        begun = state.select(rows // beam)
        places = contexts * beam + rows // beam, rows
        return self.importance_weighted(0, read, begun, vectors, places, generator).view(contexts, beam)

    def chain_backward_log_probs(self, found: Hypotheses, last: Tokens, generator: torch.Generator) -> Tensor:
        """Return log p_B(sentence before | candidate) by importance sampling: [contexts, beam]."""
        contexts, beam, _ = found.ids.shape
        read = self.backward.read_tokens(joined_tokens(candidate_tokens(found), last, self.tokenizer.pad_id))
        vectors = self.chains[1].read(read.vectors)  # [candidates + contexts, width]
        rows = torch.arange(contexts * beam, device=self.device)
        targets = contexts * beam + rows // beam
        begun = self.chains[1].begin(vectors[: contexts * beam])
        return self.importance_weighted(1, read, begun, vectors[targets], (rows, targets), generator).view(
            contexts, beam
        )

    def importance_weighted(
        self,
        direction: int,
        read: ReadText,
        state: ChainState,
        sentences: Tensor,
        places: tuple[Tensor, Tensor],
        generator: torch.Generator,
    ) -> Tensor:
        """Return log p(target | source, state) by importance sampling: [rows].

        Args:
            direction: 0 for forward, 1 for backward.
            read: The encoded sentences.
            state: The state of the chain before each target.
            sentences: The vectors of the targets: [rows, width].
            places: Numbers of sources and of targets, [rows] each.
            generator: The random numbers of the samples.
        """
        decoder, weights = (self.forward, self.backward)[direction], []
        samples, from_prior = self.estimate.samples, self.estimate.from_prior
        for _ in range(samples):
            noise = self.noise(len(sentences), generator)
            step = self.chains[direction].step(state, sentences, noise, from_prior=from_prior)
            weights.append(decoder.log_probs(read, *places, step.latent) + density_ratio(step))
        return torch.stack(weights).double().logsumexp(dim=0) - float(np.log(samples))
