"""The contract of models that write for many contexts at once, for the adversarial evaluation.

`continuation` continues one text at a time and reranks candidates as texts. A bulk writer searches a batch of contexts
and scores all candidates on the device. It scores the token ids that it wrote; in rare cases, the text of a candidate
has other ids when it is tokenised again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from weft.corpora.text.tokenizers import Tokenizer
from weft.generation.decoding_settings import Decoding
from weft.scoring.uni_bi_mmi import PairLogProbs

if TYPE_CHECKING:
    import torch

Contexts = Sequence[Sequence[Sequence[int]]]  # for each context, the ids of its sentences, the nearest last
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Proposals:
    """Candidates for each context, and their log-probabilities."""

    ids: npt.NDArray[np.int32]  # [contexts, beam, time], ``eos`` from the end on
    lengths: npt.NDArray[np.int64]  # [contexts, beam] tokens, the end included
    log_probs: Reals  # [contexts, beam] log-probabilities in the search; given the latent variable if there is one
    overlap: Reals  # [contexts, beam] highest token overlap (Jaccard) of a candidate with a sentence before it
    # The log-probabilities that reranking combines, each [contexts, beam]; None without reranking.
    pairs: PairLogProbs | None


class BulkWriter(Protocol):
    """A model that writes for a batch of contexts with the same number of sentences."""

    tokenizer: Tokenizer

    @property
    def device(self) -> torch.device:
        """The device of the model."""

    def propose(self, contexts: Contexts, decoding: Decoding, *, reranked: bool) -> Proposals:
        """Return candidates; with ``reranked``, also the log-probabilities that bi and MMI need."""
