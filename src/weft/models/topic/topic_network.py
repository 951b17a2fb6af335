"""Generative model 2 as a network: an encoder-decoder guided by predicted topics (section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from weft.generation.decoding import Candidate, Decoding
from weft.models.common.neural.encoder_decoder import Architecture, Seq2SeqNetwork, Tokens
from weft.models.common.neural.guided_decoding import GuidedDecoder, ReadText
from weft.models.common.partial_orders import spread, unplaced
from weft.models.common.token_cache import TokenCache
from weft.models.topic.hmm_lda import HmmLda

Reals = npt.NDArray[np.float64]
Order = Sequence[int]


class TopicNetwork(nn.Module):
    """An encoder-decoder whose guide is z_n = t_n V (the paper's equation 4).

    Args:
        architecture: Of encoder and decoder; its ``guide`` is the size of z.
        topics: Number of topics.
        bos: Id that starts a target.
        eos: Id that ends it.
        pad: Id that fills rows up.
    """

    inner_prefix = "words."  # of the weights of the encoder-decoder inside

    def __init__(self, architecture: Architecture, topics: int, *, bos: int, eos: int, pad: int) -> None:
        super().__init__()
        self.words = Seq2SeqNetwork(architecture, bos=bos, eos=eos, pad=pad)
        self.topics = nn.Linear(topics, architecture.guide, bias=False)  # V

    def guide(self, topics: Tensor) -> Tensor:
        """[rows, topics] → [rows, guide]."""
        guide: Tensor = self.topics(topics.to(self.topics.weight.dtype))
        return guide

    def loss(self, source: Tokens, target: Tokens, topics: Tensor, places: Tensor | None = None) -> Tensor:
        """Return the summed negative log-likelihood of the targets."""
        return self.words.loss(source, target, places, self.guide(topics))


class TopicPredictor:
    """log p(s_n | s_{n−1}, t_n) of every sentence of a text, in any orders; t_n comes from all sentences before.

    Args:
        network: The trained network.
        model: The topic model.
        ids: Cache of token ids.
        peek: Whether t_n is computed from s_n too, as the paper's pipeline reads; not comparable to other models.
    """

    def __init__(self, network: TopicNetwork, model: HmmLda, ids: TokenCache, *, peek: bool) -> None:
        self.network, self.model, self.ids, self.peek = network.eval(), model, ids, peek
        self.decoder = GuidedDecoder(network.words, ids)

    def token_counts(self, sentences: Sequence[str]) -> list[int]:
        """Return the number of tokens of each sentence, ``</s>`` included."""
        return self.ids.counts(sentences)

    def log_probs(self, sentences: Sequence[str], orders: Sequence[Order]) -> list[Reals]:
        """Return the log-probabilities of the sentences of every order but the first: [sentences − 1] each."""
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
        """Return log-probabilities at some places, (number of the order, place in it): [wanted]."""
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
        """Return several next sentences for every context, best first, guided by predicted topics.

        The topics are always predicted, with ``peek`` too: the sentence does not exist yet.
        """
        texts = [[*context, ""] for context in contexts]  # its last topics are predicted from the context alone
        topics = self.model.topics_of_documents(texts, kind="predicted")[np.cumsum([len(text) for text in texts]) - 1]
        guide = self.network.guide(torch.from_numpy(topics.astype(np.float32)).to(self.decoder.device))
        read = self.decoder.read([context[-1] if context else "" for context in contexts])
        return self.decoder.write(read, torch.arange(len(contexts), device=self.decoder.device), guide, decoding)


class TopicPaths:
    """log p(next sentence | partial order) for partial orders that grow.

    Topics of a partial order are computed in every step, in numpy; decoding takes longer, and only the next sentence
    is decoded.

    Args:
        predictor: The model.
        sentences: Of one text.
    """

    def __init__(self, predictor: TopicPredictor, sentences: Sequence[str]) -> None:
        self.predictor, self.sentences = predictor, sentences
        with torch.inference_mode():
            self.read = predictor.decoder.read(sentences)

    def begin(self, firsts: Sequence[int]) -> None:
        """Start one path with each of these sentences."""
        self.paths = [[first] for first in firsts]

    def log_probs(self) -> Reals:
        """Return log p of every sentence after every path; 0 for placed ones: [paths, sentences]."""
        left = unplaced(self.paths, len(self.sentences))  # [paths, left]
        orders = [[*path, number] for path, row in zip(self.paths, left.tolist(), strict=True) for number in row]
        wanted = [(number, len(order) - 1) for number, order in enumerate(orders)]
        values = self.predictor.at(self.sentences, orders, wanted, self.read)
        return spread(values.reshape(left.shape), left, len(self.sentences))

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Continue with some paths, each one sentence longer."""
        self.paths = [[*self.paths[row], column] for row, column in zip(rows, columns, strict=True)]
