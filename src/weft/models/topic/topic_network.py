"""The network of generative model 2, an encoder-decoder guided by predicted topics (section 3.2), and its writer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

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
from weft.models.topic.hmm_lda import HmmLda, Kind

Reals = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
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
        pairs = np.array([pair for order in orders for pair in pairwise(order)], dtype=np.int64).reshape(-1, 2)
        ends = np.cumsum([max(len(order) - 1, 0) for order in orders])[:-1]
        if not len(pairs):
            return [np.zeros(0) for _ in orders]
        found = self.model.topics_of_orders(sentences, orders, kind=self.kind)
        topics = np.concatenate([topics[1:] for topics in found])  # [pairs, topics]
        return np.split(self.decoded(self.read(sentences), pairs, topics), ends)

    @property
    def kind(self) -> Kind:
        """Whether the topics of a sentence are predicted from those before it, or computed from it too."""
        return "filtered" if self.peek else "predicted"

    @torch.inference_mode()
    def read(self, sentences: Sequence[str]) -> ReadText:
        """Encode sentences."""
        return self.decoder.read(sentences)

    @torch.inference_mode()
    def decoded(self, read: ReadText, pairs: Whole, topics: Reals) -> Reals:
        """Return log p(right | left, topics of right) of pairs of sentences, [pairs, 2], [pairs, topics]: [pairs]."""
        device = self.decoder.device
        sources, targets = torch.from_numpy(pairs).to(device).unbind(dim=1)
        guide = self.network.guide(torch.from_numpy(topics.astype(np.float32)).to(device))
        exact: Reals = self.decoder.log_probs(read, sources, targets, guide).double().cpu().numpy()
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
    """Computes log p(next sentence | partial order) of growing partial orders of several texts, in one batch.

    The topics of a partial order are computed anew in each step, which takes less time than decoding the next sentence.
    """

    def __init__(self, predictor: TopicPredictor, texts: Sequence[Sequence[str]]) -> None:
        self.predictor, self.sizes = predictor, [len(sentences) for sentences in texts]
        self.starts = np.cumsum([0, *self.sizes])[:-1].tolist()  # the number of each text's first sentence
        sentences = [sentence for text in texts for sentence in text]
        self.read, self.bags = predictor.read(sentences), predictor.model.sentence_bags(sentences)

    def begin(self, firsts: Sequence[Sequence[int]]) -> None:
        """Start one path with each of these sentences of each text."""
        self.paths = [[[first] for first in starts] for starts in firsts]

    def log_probs(self) -> list[Reals]:
        """Return log p of each sentence after each path, 0 for those in the path: [paths, sentences] for each text."""
        lefts = [unplaced(paths, size) for paths, size in zip(self.paths, self.sizes, strict=True)]
        grown = [
            [start + number for number in (*path, following)]
            for start, paths, left in zip(self.starts, self.paths, lefts, strict=True)
            for path, row in zip(paths, left.tolist(), strict=True)
            for following in row
        ]
        if not grown:
            return [np.zeros((len(paths), size)) for paths, size in zip(self.paths, self.sizes, strict=True)]
        pairs = np.array([order[-2:] for order in grown], dtype=np.int64)
        values = self.predictor.decoded(self.read, pairs, self._topics(grown))
        ends = np.cumsum([left.size for left in lefts])[:-1]
        each = zip(np.split(values, ends), lefts, self.sizes, strict=True)
        return [spread(one.reshape(left.shape), left, size) for one, left, size in each]

    def keep(self, rows: Sequence[Sequence[int]], columns: Sequence[Sequence[int]]) -> None:
        """Keep some paths of each text and add one sentence to each."""
        self.paths = [
            [[*paths[row], column] for row, column in zip(kept, added, strict=True)]
            for paths, kept, added in zip(self.paths, rows, columns, strict=True)
        ]

    def _topics(self, orders: Sequence[Sequence[int]]) -> Reals:
        """Return the topics of the last sentence of each order: [orders, topics]."""
        model, kind = self.predictor.model, self.predictor.kind
        if kind == "filtered":
            return np.stack([one[-1] for one in model.topics_in_orders(self.bags, orders, kind=kind)])
        # Predicted topics do not depend on the last sentence: those of all orders with one beginning are the same.
        same: dict[tuple[int, ...], int] = {}
        rows = [same.setdefault(tuple(order[:-1]), len(same)) for order in orders]
        found = model.topics_in_orders(self.bags, [[*path, path[-1]] for path in same], kind=kind)
        return np.stack([one[-1] for one in found])[rows]


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
