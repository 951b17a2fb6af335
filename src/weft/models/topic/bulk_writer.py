"""Writing with HMM-LDA-GM for many contexts at once."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from weft.generation.bulk_writing import Contexts, Proposals
from weft.generation.decoding_settings import Decoding
from weft.models.common.neural.bulk_decoders import BulkDecoders, candidate_tokens
from weft.models.common.neural.sentence_predictor import Predictor
from weft.models.topic.topic_network import TopicPredictor


class TopicWriter(BulkDecoders):
    """The bulk writer of HMM-LDA-GM, guided by predicted topics; backward, they are predicted from the candidate."""

    def __init__(self, forward: TopicPredictor, backward: TopicPredictor, prior: Predictor) -> None:
        super().__init__(forward.ids.tokenizer, forward.network.words, backward.network.words, prior)
        self.guides, self.topics = (forward.network, backward.network), forward.model

    def expected(self, contexts: Contexts) -> Tensor:
        """Return the predicted topics of the sentence after each context: [contexts, topics]."""
        texts = [[self.tokenizer.decode(ids) for ids in context] for context in contexts]
        return torch.from_numpy(self.topics.next_topics(texts).astype(np.float32)).to(self.device)

    @torch.inference_mode()
    def propose(self, contexts: Contexts, decoding: Decoding, *, reranked: bool) -> Proposals:
        """Return candidates guided by predicted topics."""
        last = self.last_sentences(contexts)
        guide = self.guides[0].guide(self.expected(contexts))
        rows = torch.arange(len(contexts), device=self.device)
        found = self.search_candidates(self.forward.read_tokens(last), rows, guide, decoding)
        if not reranked:
            return self.proposals(found, contexts, None)
        written = found.ids.flatten(0, 1).tolist()
        lengths = candidate_tokens(found).lengths.tolist()
        alone = [[row[:length]] for row, length in zip(written, lengths, strict=True)]
        back = self.guides[1].guide(self.expected(alone))  # [contexts · beam, guide]
        pairs = self.pairs(found, last, found.log_probs, self.backward_log_probs(found, last, back))
        return self.proposals(found, contexts, pairs)
