"""Sentences that VLV-GM writes from different z_n after the same context.

Reference: Bowman et al. 2016 (sentences along lines in a latent space); Serban et al. 2017 (z drawn from its prior).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from weft.errors import ConfigError, CorpusError
from weft.generation.decoding_settings import Decoding
from weft.models.common.setting_checks import at_least, check_sentences, untrained
from weft.models.vlv.chain_predictor import NextSentence, VariationalPredictor
from weft.models.vlv.latent_chain import Gaussian
from weft.models.vlv.vlv_gm import VlvGm

MOST_SENTENCES = 100  # written in one call, each with a beam of its own


@dataclass(frozen=True, slots=True)
class Written:
    """A sentence and its latent variable.

    Attributes:
        text: The sentence.
        latent: Its z_n.
        log_prob: log p(s_n | z_n, s_{n−1}), summed over tokens, the end included.
        tokens: Number of tokens, the end included.
    """

    text: str
    latent: tuple[float, ...]
    log_prob: float
    tokens: int


def prior_sentences(
    model: VlvGm,
    context: Sequence[str],
    *,
    draws: int = 5,
    decoding: Decoding = Decoding(method="beam"),  # noqa: B008  frozen
) -> list[Written]:
    """Return the best sentences for several draws of z_n from p(z_n | z_{n−1}, s_1 … s_{n−1}).

    Args:
        model: The trained model.
        context: The previous sentences, at least one.
        draws: Number of draws; draw k does not depend on this number.
        decoding: Settings of decoding; its ``seed`` is also that of the draws.
    """
    at_least(model.name, "draws", draws, 1, MOST_SENTENCES)
    chain, following = _next_sentence(model, context)
    return _written(chain, following, chain.draw(following.prior, draws, decoding.seed)[0], decoding)


def traversal(
    model: VlvGm,
    context: Sequence[str],
    *,
    dimension: int | None = None,
    points: int = 5,
    reach: float = 3.0,
    decoding: Decoding = Decoding(method="beam"),  # noqa: B008  frozen
) -> list[Written]:
    """Return the sentences written at points along one dimension of z_n, through the mean of its prior.

    Args:
        model: The trained model.
        context: The previous sentences, at least one.
        dimension: Dimension of z; by default the one that changes the decoder most.
        points: Number of evenly spaced points; with an odd number the mean is in the middle.
        reach: Distance to both sides, in standard deviations of the prior.
        decoding: Settings of decoding.
    """
    at_least(model.name, "points", points, 2, MOST_SENTENCES)
    if not 0 < reach <= 1e3:
        raise ConfigError("reach is out of range", seen=reach, allowed="above 0, at most 1000", next_step="use 3.0")
    chain, following = _next_sentence(model, context)
    chosen = strongest_dimension(chain, following.prior) if dimension is None else dimension
    at_least(model.name, "dimension", chosen, 0, model.settings.latent - 1)
    latent = following.prior.mean.repeat(points, 1)  # [points, latent]
    steps = torch.linspace(-reach, reach, points, device=latent.device)
    latent[:, chosen] += steps * following.prior.log_std[0, chosen].exp()
    return _written(chain, following, latent, decoding)


@torch.inference_mode()
def strongest_dimension(chain: VariationalPredictor, prior: Gaussian) -> int:
    """Return the dimension of z in which a standard deviation of the prior changes the decoder most."""
    guides = chain.network.words.guides
    assert guides is not None
    weights = torch.cat([guides.reading.weight, guides.writing.weight]).float()  # [2 · dimensions, latent]
    return int((weights.norm(dim=0) * prior.log_std[0].exp()).argmax())


def _next_sentence(model: VlvGm, context: Sequence[str]) -> tuple[VariationalPredictor, NextSentence]:
    if "forward" not in model.predictors:
        raise untrained(model.name)
    check_sentences(context)
    if not context:
        raise CorpusError(
            "no text to continue",
            seen="no sentence",
            allowed="a context of one sentence or more",
            next_step="give a text",
        )
    chain = model.predictors["forward"]
    return chain, chain.next_sentence([context])


@torch.inference_mode()
def _written(chain: VariationalPredictor, following: NextSentence, latent: Tensor, decoding: Decoding) -> list[Written]:
    """Return the best sentence for each z: [rows, latent]."""
    found = chain.decoder.write(following.read, following.last.expand(len(latent)), latent, decoding)
    rows = zip(found, latent.tolist(), strict=True)
    return [Written(beam[0].text, tuple(z), beam[0].log_prob, beam[0].tokens) for beam, z in rows]
