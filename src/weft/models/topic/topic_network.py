"""The network of generative model 2, an encoder-decoder guided by predicted topics (section 3.2), and its writer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from weft.generation.bulk_writing import Contexts, Proposals
from weft.generation.decoding import Candidate
from weft.generation.decoding_settings import Decoding
from weft.models.common.neural.bulk_decoders import BulkDecoders, candidate_tokens
from weft.models.common.neural.encoder_decoder import Architecture, Seq2SeqNetwork, Tokens
from weft.models.common.neural.guided_decoding import GuidedDecoder, ReadText
from weft.models.common.neural.sentence_predictor import Predictor
from weft.models.common.partial_orders import spread, unplaced
from weft.models.common.token_cache import TokenCache
from weft.models.topic.hmm_lda import HmmLda

Reals = npt.NDArray[np.float64]
Order = Sequence[int]


class TopicNetwork(nn.Module):
    """An encoder-decoder whose guide is z_n = t_n V (the paper's equation 4); ``guide`` is the size of z."""

    inner_prefix = "words."  # of the names of the encoder-decoder's weights

    def __init__(self, architecture: Architecture, topics: int, *, bos: int, eos: int, pad: int) -> None:
        super().__init__()
        self.words = Seq2SeqNetwork(architecture, bos=bos, eos=eos, pad=pad)
        self.topics = nn.Linear(topics, architecture.guide, bias=False)  # V

    def guide(self, topics: Tensor) -> Tensor:
        """Return the guiding vectors of topics: [rows, topics] → [rows, guide]."""
        guide: Tensor = self.topics(topics.to(self.topics.weight.dtype))
        return guide

    def loss(self, source: Tokens, target: Tokens, topics: Tensor, places: Tensor | None = None) -> Tensor:
        """Return the summed negative log-likelihood of the targets."""
        return self.words.loss(source, target, places, self.guide(topics))


class TopicPredictor:
    """Computes log p(s_n | s_{n−1}, t_n) of the sentences of a text, in several orders; s_1 … s_{n−1} predict t_n.

    With ``peek``, t_n is computed from s_n too, as in one reading of the paper; not comparable with other models.
    """

    def __init__(self, network: TopicNetwork, model: HmmLda, ids: TokenCache, *, peek: bool) -> None:
        self.network, self.model, self.ids, self.peek = network.eval(), model, ids, peek
        self.decoder = GuidedDecoder(network.words, ids)

    def token_counts(self, sentences: Sequence[str]) -> list[int]:
        """Return the number of tokens of each sentence, ``</s>`` included."""
        return self.ids.counts(sentences)

    def log_probs(self, sentences: Sequence[str], orders: Sequence[Order]) -> list[Reals]:
        """Return, for each order, the log-probabilities of its sentences except the first: [sentences − 1] each."""
        wanted = [(number, place) for number, order in enumerate(orders) for place in range(1, len(order))]
        values = self.at(sentences, orders, wanted)
        ends = np.cumsum([max(len(order) - 1, 0) for order in orders])[:-1]
        return np.split(values, ends)

    @torch.inference_mode()
    def at(
        self,
        sentences: Sequence[str],
        orders: Sequence[Order],
        wanted: Sequence[tuple[int, int]],
        read: ReadText | None = None,
    ) -> Reals:
        """Return the log-probabilities at some places, (number of the order, place in the order): [wanted]."""
        if not wanted:
            return np.zeros(0)
        found = self.model.topics_of_orders(sentences, orders, kind="filtered" if self.peek else "predicted")
        topics = torch.from_numpy(np.stack([found[number][place] for number, place in wanted]).astype(np.float32))
        device = self.decoder.device
        sources = torch.tensor([orders[number][place - 1] for number, place in wanted], device=device)
        targets = torch.tensor([orders[number][place] for number, place in wanted], device=device)
        guide = self.network.guide(topics.to(device))
        values = self.decoder.log_probs(read or self.decoder.read(sentences), sources, targets, guide)
        exact: Reals = values.double().cpu().numpy()
        return exact

    @torch.inference_mode()
    def propose(self, contexts: Sequence[Sequence[str]], decoding: Decoding) -> list[list[Candidate]]:
        """Return several next sentences for each context, best first, guided by predicted topics.

        Topics are predicted even with ``peek``, because the sentence does not exist yet.
        """
        topics = torch.from_numpy(self.model.next_topics(contexts).astype(np.float32))
        guide = self.network.guide(topics.to(self.decoder.device))
        read = self.decoder.read([context[-1] if context else "" for context in contexts])
        return self.decoder.write(read, torch.arange(len(contexts), device=self.decoder.device), guide, decoding)


class TopicPaths:
    """Computes log p(next sentence | partial order) of growing partial orders.

    The topics of a partial order are computed anew in each step, which takes less time than decoding the next sentence.
    """

    def __init__(self, predictor: TopicPredictor, sentences: Sequence[str]) -> None:
        self.predictor, self.sentences = predictor, sentences
        with torch.inference_mode():
            self.read = predictor.decoder.read(sentences)

    def begin(self, firsts: Sequence[int]) -> None:
        """Start one path with each of these sentences."""
        self.paths = [[first] for first in firsts]

    def log_probs(self) -> Reals:
        """Return log p of each sentence after each path, 0 for those in the path: [paths, sentences]."""
        left = unplaced(self.paths, len(self.sentences))  # [paths, left]
        orders = [[*path, number] for path, row in zip(self.paths, left.tolist(), strict=True) for number in row]
        wanted = [(number, len(order) - 1) for number, order in enumerate(orders)]
        values = self.predictor.at(self.sentences, orders, wanted, self.read)
        return spread(values.reshape(left.shape), left, len(self.sentences))

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Keep some paths and add one sentence to each."""
        self.paths = [[*self.paths[row], column] for row, column in zip(rows, columns, strict=True)]


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
