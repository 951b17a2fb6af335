"""Log-probabilities of sentences under a chain of latent variables: lower bounds from samples of z.

log p(s_n | s_1 … s_{n−1}) cannot be computed, because z cannot be integrated out. `iwae`, `elbo` and `prior` are lower
bounds in expectation of the log-probability of a text after its first sentence. How far they are below it, their
slack, can depend on the order of the sentences. `tighter`, the higher of two such estimates from few samples, can be
above the log-probability.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from weft.errors import ConfigError
from weft.models.vlv.latent_chain import ChainStep

ESTIMATORS = ("iwae", "elbo", "prior", "tighter")


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate of log p(s_n | s_1 … s_{n−1}).

    ``iwae`` and ``elbo`` draw z from the posterior: ``iwae`` averages the importance weights of samples (Burda et al.
    2016), ``elbo`` their logarithms. ``prior`` draws z from the prior and averages the probabilities of the words.
    ``tighter`` is, for each text, the higher of ``iwae`` and ``prior``; a maximum of noisy bounds is not a lower bound.
    """

    kind: str
    samples: int = 5  # number of samples of each latent variable
    # The noise of a sentence depends only on its words and the seed: scores of two orders differ only by the order.
    seed: int = 1

    def __post_init__(self) -> None:
        if self.kind not in (*ESTIMATORS, "exact") or self.samples < 1:
            raise ConfigError(
                "unknown estimate",
                seen=f"{self.kind} with {self.samples} samples",
                allowed=f"{', '.join(ESTIMATORS)}, with 1 sample or more",
                next_step="change `estimator` or `samples`",
            )

    @property
    def name(self) -> str:
        """The name of the estimate in results."""
        return self.kind if self.kind == "exact" else f"{self.kind}-{self.samples}"

    @property
    def from_prior(self) -> bool:
        """Whether z is drawn from the prior alone."""
        return self.kind == "prior"


EXACT = Estimate("exact", 1)  # of a chain without random variables


def density_ratio(step: ChainStep) -> Tensor:
    """Return log p(z_n | …) − log r(z_n | …) with the proposal r; 0 if z_n is drawn from the prior: [rows]."""
    return step.prior.log_prob(step.latent) - step.proposal.log_prob(step.latent)
