"""Which sentence comes next, of all that are still to come: what the divergences of a chain say, and learn to say."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from weft.models.generative.latent_chain import ChainState, Gaussian, LatentChain, divergence


def choice_loss(
    chain: LatentChain, vectors: Tensor, places: Tensor, states: Sequence[ChainState], *, nats: float
) -> Tensor:
    """−log p(the next sentence | those before, all that are left), summed over the sentences of texts.

    A sentence is chosen by how little it would surprise the chain: p ∝ exp(−KL / ``nats``), the divergence being that
    of its posterior and the prior. The bound holds whatever posteriors are, so this only shapes what the chain expects.
    Reference: the softmax over what is left is that of set-to-sequence ordering (Logeswaran et al. 2018).

    Args:
        chain: The chain.
        vectors: [sentences, width], made ready.
        places: [texts, longest] which sentence stands where; −1 after the end of a text.
        states: Before every place but the first, each with a row for every text.
        nats: Divergence that makes a sentence e times less likely to be chosen.
    """
    size = len(states)
    hidden = torch.stack([state.hidden for state in states])  # [size, texts, width]
    later = places[:, 1:]  # [texts, size]
    left = torch.ones(size, size, dtype=torch.bool, device=places.device).triu()  # [size, size]: at place n, m ≥ n
    wanted = left[:, None] & (later >= 0)[None]  # [size, texts, size]
    place, text, candidate = wanted.nonzero(as_tuple=True)  # [rows] each
    before = hidden[place, text]  # [rows, width]
    posterior: Gaussian = chain.posterior(torch.cat([before, vectors[later[text, candidate]]], dim=-1))
    prior: Gaussian = chain.prior(hidden)  # [size, texts, latent]
    expected = Gaussian(prior.mean[place, text], prior.log_std[place, text])
    surprise = divergence(posterior, expected)  # [rows]
    values = surprise.new_full(wanted.shape, -torch.inf).masked_scatter(wanted, -surprise / nats)
    real = (later >= 0).T  # [size, texts]
    right = values.diagonal(dim1=0, dim2=2).T  # [size, texts]: the sentence that does come
    return (values.logsumexp(dim=-1) - right)[real].sum()
