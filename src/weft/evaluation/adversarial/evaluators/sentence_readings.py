"""What the reader knows about all sentences of an experiment."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from weft.corpora.text.tokenizers import Tokenizer
from weft.evaluation.adversarial.chunks import Chunks
from weft.evaluation.adversarial.evaluators.features import Floats, SentenceFeatures, SentenceScores
from weft.evaluation.adversarial.evaluators.sentence_encoder import SentenceEncoder
from weft.evaluation.adversarial.token_rows import TokenRows
from weft.protocols import NetworkModel


class SentenceReadings:
    """Vectors, features and scores of all sentences, the human ones first, by the reader; computed on first use."""

    def __init__(self, reader: NetworkModel, chunks: Chunks, rows: TokenRows, device: torch.device) -> None:
        assert reader.tokenizer is not None
        self.reader, self.chunks, self.rows, self.device = reader, chunks, rows, device
        self.tokenizer: Tokenizer = reader.tokenizer

    @cached_property
    def token_counts(self) -> npt.NDArray[np.int64]:
        """Number of occurrences of each token in human sentences of the training part: [vocabulary]."""
        rows, learned = self.chunks.rows, np.zeros(len(self.chunks.rows), dtype=np.bool_)
        learned[self.chunks.training_sentences] = True
        tokens = rows.flat[np.repeat(learned, rows.lengths)]
        return np.bincount(tokens, minlength=self.tokenizer.vocabulary_size).astype(np.int64)

    @cached_property
    def encoder(self) -> SentenceEncoder:
        """The frozen encoders."""
        return SentenceEncoder(self.reader, self.token_counts, self.tokenizer, self.device)

    @cached_property
    def word_vectors(self) -> Tensor:
        """The reader's word vectors: [vocabulary, dimensions]."""
        found: Tensor = self.reader.networks()["forward"].embedding.weight  # type: ignore[union-attr, assignment]
        return found.detach().float().cpu()

    @cached_property
    def vectors(self) -> Tensor:
        """Sentence vectors: [sentences, size]."""
        human = len(self.chunks.rows)
        return torch.cat([self.encoder(self.chunks.rows), self.encoder(self.rows.after(human))])

    @cached_property
    def features(self) -> SentenceFeatures:
        """Counts, overlaps and similarities."""
        return SentenceFeatures(self.rows, self.tokenizer, (self.vectors, self.encoder.groups), self.token_counts)

    @cached_property
    def scores(self) -> SentenceScores:
        """The reader's networks as scorers of sentences."""
        return SentenceScores(self.reader, self.tokenizer.pad_id, self.device)

    @cached_property
    def alone(self) -> Floats:
        """Log-probability per token of every sentence without context: [sentences]."""
        return self.scores.alone(self.rows, len(self.chunks.rows))
