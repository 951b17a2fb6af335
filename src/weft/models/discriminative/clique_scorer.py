"""Scores of a text from its cliques: windows of adjacent sentences, each with the log-odds that it is original."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from weft.corpora.store.pair_batches import Whole
from weft.document import Document, Score
from weft.models.discriminative.clique_order_search import CliqueOrderSearch
from weft.models.discriminative.clique_windows import clique_windows, damaged_windows
from weft.models.discriminative.discriminative_model import negatives_generator
from weft.models.discriminative.networks import CliqueHead, CliqueRows
from weft.scoring.uni_bi_mmi import BoundedCache
from weft.settings import setting
from weft.training.loop import LossPart

NEGATIVES = ("permutation", "document", "corpus")
PART = "clique"
CLIQUES_AT_ONCE = 1024  # limits memory for any number of orders


@dataclass(frozen=True, kw_only=True)
class CliqueFields:
    """Settings of models that classify cliques."""

    window: int = setting(
        1, "Number of sentences on either side of a clique's centre (the paper's L).", minimum=1, maximum=100
    )
    negatives: str = setting(
        "permutation",
        "Source of damaged cliques: a permutation of the text, or the centre replaced by another sentence of the "
        "document or of the corpus (the paper's two).",
        choices=NEGATIVES,
    )
    each: int = setting(3, "Number of damaged cliques for each original one.", minimum=1, maximum=1000)


def clique_loss(
    head: CliqueHead, vectors: Tensor, laid_out: Whole, settings: CliqueFields, network: torch.nn.Module
) -> LossPart:
    """Return the summed cross-entropy of original and damaged cliques, both kinds with the same total weight.

    Args:
        head: The classifier of cliques.
        vectors: The sentences that have been read: [sentences, vector and content].
        laid_out: The sentence at each position; −1 after the end of a text: [texts, longest].
        settings: The size of cliques, and how negatives are made.
        network: The network that is trained; in validation its negatives are fixed.
    """
    places, generator = torch.from_numpy(laid_out), negatives_generator(network)
    real = places >= 0  # [texts, longest]
    rows = head.rows(vectors)
    whole = clique_windows(places, settings.window)[real]  # [cliques, places]
    made = [damaged_windows(places, settings.window, settings.negatives, generator) for _ in range(settings.each)]
    damaged = torch.cat([windows[kept] for windows, kept in made])  # [damaged, places]
    odds = head(rows, torch.cat([whole, damaged]).to(vectors.device)).float()
    right, wrong = odds[: len(whole)], odds[len(whole) :]
    loss_original, loss_damaged = functional.softplus(-right).sum(), functional.softplus(wrong).sum()
    weight = len(whole) / max(len(damaged), 1)
    return LossPart((loss_original + weight * loss_damaged) / 2, len(whole))


class CliqueScorer(ABC):
    """Scores texts and orders with a network that classifies cliques; a part of a `DiscriminativeModel`."""

    memory: BoundedCache[tuple[str, ...], CliqueRows]  # of the last few texts

    @abstractmethod
    def network(self, part: str) -> Any:
        """Return a trained network."""

    @abstractmethod
    def sentence_vectors(self, part: str, sentences: Sequence[str]) -> Tensor:
        """Return the vector of each sentence: [sentences, size]."""

    @property
    def head(self) -> CliqueHead:
        """The trained classifier of cliques."""
        found: CliqueHead = self.network(PART).head
        return found

    def rows(self, document: Document) -> CliqueRows:
        """Return the document's sentences as inputs of cliques; those of the last few documents are cached."""

        @torch.inference_mode()
        def compute() -> CliqueRows:
            return self.head.rows(self.sentence_vectors(PART, document.sentences))

        return self.memory.get(document.sentences, compute)

    @torch.inference_mode()
    def odds(self, document: Document, orders: Sequence[Sequence[int]]) -> list[list[float]]:
        """Return the log-odds of all cliques of each order of the document's sentences."""
        rows, window = self.rows(document), self.head.window
        windows = [clique_windows(torch.tensor([list(order)], dtype=torch.int64), window)[0] for order in orders]
        every = torch.cat(windows)  # [cliques of all orders, places]
        parts = [
            self.head(rows, every[start : start + CLIQUES_AT_ONCE].to(rows.projected.device)).double().cpu()
            for start in range(0, len(every), CLIQUES_AT_ONCE)
        ]
        odds = iter(torch.cat(parts).tolist())
        return [list(islice(odds, len(order))) for order in orders]

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """Return the score of each order, None for fewer than two sentences; a sentence is read once."""
        longer = [order for order in orders if len(order) > 1]
        found = iter(self.odds(document, longer) if longer else [])
        return [_mean(next(found)) if len(order) > 1 else None for order in orders]

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """Return the mean log-odds of each document's cliques."""
        self.network(PART)  # raises if the model is not trained
        return [self._score(document) for document in documents]

    def _score(self, document: Document) -> Score:
        if len(document) < 2:
            return Score(None)
        odds = self.odds(document, [range(len(document))])[0]
        return Score(_mean(odds), tuple(transition_shares(odds)))

    def order_search(self, document: Document) -> CliqueOrderSearch:
        """Return the state of a beam search over the document's sentences."""
        return CliqueOrderSearch(self.head, self.rows(document))


def _mean(odds: Sequence[float]) -> float:
    return math.fsum(odds) / len(odds)  # exact, so that orders with the same cliques tie


def transition_shares(odds: Sequence[float]) -> list[float]:
    """Return the share of each transition in the cliques, such that their mean is the mean of the cliques.

    A clique belongs by halves to the transitions before and after its centre; the first and the last clique belong to
    the only transition beside them.

    Example:
        >>> transition_shares([1.0, 2.0, 3.0])
        [1.3333333333333333, 2.6666666666666665]
    """
    shares = np.asarray(odds, dtype=np.float64) / 2  # [sentences]
    shares[[0, -1]] *= 2
    count = len(odds)
    return [float(value) for value in (shares[:-1] + shares[1:]) * (count - 1) / count]
