"""The contrastive loss: predicting which of two contexts a sentence had. Not in the paper.

By Bayes' rule, and if both contexts are equally likely, a is the context of a sentence t with probability
p(t|a) / (p(t|a) + p(t|b)). The contrast is its negative logarithm, log(1 + exp(log p(t|b) − log p(t|a))): the criterion
of maximum mutual information (Bahl et al. 1986). The network remains a distribution over sentences.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from weft.corpora.store.pair_batches import PairBatch
from weft.models.common.neural.batch_tensors import others_to_device, pairs_to_device
from weft.models.common.neural.encoder_decoder import Predictions, Seq2SeqNetwork, Tokens
from weft.models.common.neural.layers import chunked_cross_entropy, token_log_probs
from weft.training.loop import LossPart


def pair_loss(network: Seq2SeqNetwork, batch: PairBatch, device: torch.device, contrast: float) -> LossPart:
    """Return the summed loss of a batch of sentence pairs, with a contrast of this weight if it has other sentences."""
    source, target, places = pairs_to_device(batch, device)
    if batch.other is None:
        return LossPart(network.loss(source, target, places), batch.tokens)
    sources = (source, others_to_device(batch, device))
    return contrast_loss(network, sources, target, places, contrast, batch.tokens)


def contrast_loss(
    network: Seq2SeqNetwork,
    sources: tuple[Tokens, Tokens],
    target: Tokens,
    places: Tensor,
    weight: float,
    tokens: int,
    guides: tuple[Tensor, Tensor] | None = None,
) -> LossPart:
    """Return the loss of a batch: the likelihood of targets, and the contrast of their source with another sentence.

    Args:
        network: Encoder and decoder.
        sources: The contexts, and as many other sentences.
        target: The sentences to predict.
        places: Positions of the real predictions, row by row.
        weight: Weight of the contrast relative to the likelihood.
        tokens: Number of tokens of the targets.
        guides: Guiding vectors of each target after its source and after the other sentence: [rows, guide] each.
    """
    matrix = network.embedding.weight
    found = [  # separately, so that neither is padded to the length of the other
        network.predictions(network.encode(source), target, places, guide)
        for source, guide in zip(sources, guides or (None, None), strict=True)
    ]
    right, wrong = (row_log_probs(one, matrix) for one in found)  # [rows] each
    share = weight * wrong_context_probability(right, wrong)  # [rows]
    likelihood, contrast = -right.sum(), functional.softplus(wrong - right).sum()
    with_gradient = weighted_loss(found[0], matrix, 1 + share) + weighted_loss(found[1], matrix, -share)
    total = with_gradient_of(with_gradient, likelihood + weight * contrast)
    return LossPart(total, tokens, {"likelihood": likelihood, "contrast": contrast})


def wrong_context_probability(right: Tensor, wrong: Tensor) -> Tensor:
    """Return the probability of the wrong context, the derivative of the contrast by log p(t|b) − log p(t|a)."""
    return (wrong - right).sigmoid()


def row_log_probs(found: Predictions, matrix: Tensor) -> Tensor:
    """Return log-probabilities of rows, without gradients: [rows]."""
    values = token_log_probs(found.hidden, matrix, found.wanted)  # [tokens]
    return values.new_zeros(found.count).index_add(0, found.rows, values)


def weighted_loss(found: Predictions, matrix: Tensor, weights: Tensor) -> Tensor:
    """Return the negative log-likelihood of rows, weighted by [rows], with gradients."""
    return chunked_cross_entropy(found.hidden, matrix, found.wanted, weights.index_select(0, found.rows))


def with_gradient_of(with_gradient: Tensor, value: Tensor) -> Tensor:
    """Return a value with the gradient of another tensor: weighted losses have the gradient of the contrast only."""
    return value + with_gradient - with_gradient.detach()
