"""The discriminative model: is a clique of sentences as somebody wrote it?

References: Li & Hovy 2014; Li & Jurafsky 2017, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from weft.corpora.store.pair_batches import Whole
from weft.corpora.store.paragraph_batches import ParagraphBatch
from weft.document import Document, Score
from weft.models.common.neural.batch_tensors import zero_loss
from weft.models.common.setting_checks import at_least, check_choice
from weft.models.discriminative.base_model import READING_SETTINGS, Judge, moved_sentences, negatives_generator
from weft.models.discriminative.clique_order_search import CliqueOrderSearch
from weft.models.discriminative.clique_windows import clique_windows, damaged_windows
from weft.models.discriminative.networks import CliqueHead, CliqueNetwork, CliqueRows, Reading
from weft.protocols import ModelCard
from weft.scoring.pairs import Memory
from weft.training.loop import LossPart

PART = "clique"
NEGATIVES = ("permutation", "document", "corpus")
CLIQUES_AT_ONCE = 1024  # judged at a time: bounds memory, whatever the number of orders
REMEMBERED = 8  # texts whose sentences are not read again for another order


class Discriminative(Judge):
    """Log-odds that cliques of neighbouring sentences are as they were written, averaged over the text.

    Paper: the score is the mean of probabilities. Here it is the mean of log-odds: probabilities of well-learned
    cliques are all 1 to the last digit, and such texts would tie.

    Args:
        window: Sentences on either side of a clique's centre (the paper's L); texts are padded at both ends.
        negatives: Damaged cliques to learn from: those of a ``permutation`` of the text; cliques whose centre is
            replaced by another sentence of the ``document``, or of the ``corpus`` (the paper's two).
        each: Damaged cliques for every one as written.
        fewest: Sentences of the shortest texts to learn from.
        dimensions: Size of token vectors.
        hidden: Size of LSTM states.
        layers: LSTM layers.
        pooling: Which states make a sentence's vector: the ``last`` (the paper's), their ``max`` or their ``mean``.
        width: Of the hidden layer over a clique.
        dropout: In training.
        vectors: Word vectors to start from: a GloVe file or folder, or ``glove`` for those in the package; where it is
            empty, vectors are learned.
        tuned: Whether given vectors are trained further; the paper keeps them as they are.
        frozen: ``encoder`` keeps the reader as it was in ``run.start``.
        likeness: Whether cliques also see how alike their sentences are, in two cosines a pair; not in the paper.
        precision: Of saved weights: ``int8`` or ``float32``.

    Example:
        >>> Discriminative(window=2).window
        2
    """

    name = "discriminative"
    part_names: ClassVar[tuple[str, ...]] = (PART,)
    settings: Any = ("window", "negatives", "each", "fewest", *READING_SETTINGS, "precision")
    card = ModelCard(
        summary="a classifier of cliques: neighbouring sentences as written, or damaged",
        reference="Li & Jurafsky 2017, section 2; Li & Hovy 2014",
        score_range="log-odds, around -10 to 10",
        meaning="each sentence stands between its neighbours, and at the ends, as in the texts it was trained on",
        comparable="between texts of the kind it was trained on",
        needs="zoo/discriminative, zoo/discriminative-accidents, zoo/discriminative-earthquakes, or training",
    )

    def __init__(
        self,
        window: int = 1,
        negatives: str = "permutation",
        each: int = 3,
        fewest: int = 2,
        dimensions: int = 100,
        hidden: int = 100,
        layers: int = 1,
        pooling: str = "max",
        width: int = 100,
        dropout: float = 0.3,
        vectors: str = "",
        tuned: bool = False,
        frozen: str = "",
        likeness: bool = True,
        precision: str = "int8",
    ) -> None:
        at_least(self.name, "window", window, 1, 100)
        check_choice(self.name, "negatives", negatives, NEGATIVES)
        at_least(self.name, "each", each, 1, 1000)
        at_least(self.name, "fewest", fewest, 2)  # one sentence cannot be put in another order
        self._keep(dimensions, hidden, layers, pooling, width, dropout, vectors, tuned, frozen, likeness, precision)
        self.window, self.negatives, self.each, self.fewest = window, negatives, each, fewest
        self._rows: Memory[tuple[str, ...], CliqueRows] = Memory(REMEMBERED)

    # Training ---------------------------------------------------------------------------------------------------------

    @property
    def parts(self) -> tuple[str, ...]:
        """One network."""
        return self.part_names

    def initial_parts(self) -> Mapping[str, str]:
        """Return the forward part of a seq2seq named in run.start: its encoder reads sentences too."""
        return {PART: "forward"}

    def build(self, part: str, reading: Reading) -> CliqueNetwork:  # noqa: ARG002
        """An untrained network."""
        return CliqueNetwork(reading, self.window, self.width)

    def batch_loss(self, network: torch.nn.Module, batch: ParagraphBatch, device: torch.device) -> LossPart:
        """Cross-entropy of cliques as written and damaged, both kinds weighing the same; summed."""
        if not len(batch):
            return LossPart(zero_loss(network), 0)
        assert isinstance(network, CliqueNetwork)
        return self.clique_loss(network.head, network.read(moved_sentences(batch, device)), batch.places, network)

    def clique_loss(self, head: CliqueHead, vectors: Tensor, laid_out: Whole, network: torch.nn.Module) -> LossPart:
        """The same for sentences that have been read, whatever read them: [sentences, vector and content]."""
        places, generator = torch.from_numpy(laid_out), negatives_generator(network)
        real = places >= 0  # [texts, longest]
        rows = head.rows(vectors)
        whole = clique_windows(places, self.window)[real]  # [cliques, places]
        made = [damaged_windows(places, self.window, self.negatives, generator) for _ in range(self.each)]
        damaged = torch.cat([windows[kept] for windows, kept in made])  # [damaged, places]
        odds = head(rows, torch.cat([whole, damaged]).to(vectors.device)).float()
        right, wrong = odds[: len(whole)], odds[len(whole) :]
        missed, believed = functional.softplus(-right).sum(), functional.softplus(wrong).sum()
        weight = len(whole) / max(len(damaged), 1)
        return LossPart((missed + weight * believed) / 2, len(whole))

    # Scoring ----------------------------------------------------------------------------------------------------------

    @property
    def head(self) -> CliqueHead:
        """What judges cliques."""
        network: Any = self.judge(PART)  # a CliqueNetwork, or another reader with a head
        head: CliqueHead = network.head
        return head

    def rows(self, document: Document) -> CliqueRows:
        """The document's sentences as cliques are made of, read once."""
        head = self.head

        @torch.inference_mode()
        def read() -> CliqueRows:
            return head.rows(self.sentence_vectors(PART, document.sentences))

        return self._rows.get(document.sentences, read)

    @torch.inference_mode()
    def clique_odds(self, document: Document, orders: Sequence[Sequence[int]]) -> list[list[float]]:
        """The log-odds of every clique of a document's sentences in several orders."""
        rows, head = self.rows(document), self.head
        windows = [clique_windows(torch.tensor([list(order)], dtype=torch.int64), self.window)[0] for order in orders]
        every = torch.cat(windows)  # [cliques of all orders, places]
        parts = [
            head(rows, every[start : start + CLIQUES_AT_ONCE].to(rows.moved.device)).double().cpu()
            for start in range(0, len(every), CLIQUES_AT_ONCE)
        ]
        odds = iter(torch.cat(parts).tolist())
        return [list(islice(odds, len(order))) for order in orders]

    def order_scores(self, document: Document, orders: Sequence[Sequence[int]]) -> list[float | None]:
        """The scores of a document's sentences in several orders; each sentence is read once."""
        judged = [order for order in orders if len(order) > 1]
        found = iter(self.clique_odds(document, judged) if judged else [])
        return [_mean(next(found)) if len(order) > 1 else None for order in orders]

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """One score per document: the mean log-odds of its cliques, shared out among its transitions."""
        self.judge(PART)
        return [self._score(document) for document in documents]

    def _score(self, document: Document) -> Score:
        if len(document) < 2:
            return Score(None)
        odds = self.clique_odds(document, [range(len(document))])[0]
        return Score(_mean(odds), tuple(transition_shares(odds)))

    def order_search(self, document: Document) -> CliqueOrderSearch:
        """A search over orders that judges each clique once it is complete."""
        return CliqueOrderSearch(self.head, self.rows(document))

    def take(self, part: str, network: torch.nn.Module, ids: object) -> None:
        """Put a trained network to its use; what others made of sentences is forgotten."""
        self._rows = Memory(REMEMBERED)
        super().take(part, network, ids)  # type: ignore[arg-type]


def _mean(odds: Sequence[float]) -> float:
    return math.fsum(odds) / len(odds)  # exact, so that orders with the same cliques tie exactly


def transition_shares(odds: Sequence[float]) -> list[float]:
    """What each transition has of the cliques on its two sides, so that their mean is the mean of the cliques.

    A clique in the middle belongs to the transitions before and after its centre by halves, one at an end to the only
    transition it has.

    Example:
        >>> transition_shares([1.0, 2.0, 3.0])
        [1.3333333333333333, 2.6666666666666665]
    """
    shares = np.asarray(odds, dtype=np.float64) / 2  # [sentences]
    shares[[0, -1]] *= 2
    count = len(odds)
    return [float(value) for value in (shares[:-1] + shares[1:]) * (count - 1) / count]
