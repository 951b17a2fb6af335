"""Writing with Seq2Seq for many contexts at once."""

from __future__ import annotations

import torch

from weft.generation.bulk_writing import Contexts, Proposals
from weft.generation.decoding_settings import Decoding
from weft.models.common.neural.bulk_decoders import BulkDecoders
from weft.models.common.neural.sentence_predictor import Predictor


class PairWriter(BulkDecoders):
    """The bulk writer of Seq2Seq, which reads the sentence before."""

    def __init__(self, forward: Predictor, backward: Predictor, prior: Predictor) -> None:
        super().__init__(forward.tokenizer, forward.network, backward.network, prior)

    @torch.inference_mode()
    def propose(self, contexts: Contexts, decoding: Decoding, *, reranked: bool) -> Proposals:
        """Return candidates; the log-probabilities of the search are p_F."""
        last = self.last_sentences(contexts)
        rows = torch.arange(len(contexts), device=self.device)
        found = self.search_candidates(self.forward.read_tokens(last), rows, None, decoding)
        if not reranked:
            return self.proposals(found, contexts, None)
        pairs = self.pairs(found, last, found.log_probs, self.backward_log_probs(found, last))
        return self.proposals(found, contexts, pairs)
