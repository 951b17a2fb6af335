"""Features of chunks for tree evaluators: counts, overlaps and similarities; for the informed one also scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from weft.corpora.text.tokenizers import BpeTokenizer, Tokenizer
from weft.evaluation.adversarial.chunks import CONTEXT
from weft.evaluation.adversarial.token_rows import Integers, TokenRows
from weft.models.common.neural.encoder_decoder import Tokens
from weft.models.common.neural.guided_decoding import GuidedDecoder
from weft.models.common.token_cache import TokenCache
from weft.protocols import NetworkModel

Floats = npt.NDArray[np.float32]
PAIRS_AT_ONCE = 4096  # sentences scored in one batch
_NOTHING = np.zeros(0, dtype=np.float32)
RARE = 50.0  # a token that occurs less often in human text is rare


class SentenceScores:
    """Scores sentences with the networks of the reader, a Seq2Seq: log-probabilities per token."""

    def __init__(self, reader: NetworkModel, pad: int, device: torch.device) -> None:
        assert reader.tokenizer is not None
        networks, known = dict[str, Any](reader.networks()), TokenCache(reader.tokenizer)
        self.prior = GuidedDecoder(networks["prior"], known)
        self.forward = GuidedDecoder(networks["forward"], known)
        self.pad, self.device = pad, device

    def alone(self, rows: TokenRows, human: int) -> Floats:
        """Return log p_L per token: [sentences]; the first ``human`` sentences have batches of their own."""
        numbers = np.arange(len(rows))
        parts = [*_batches(numbers[:human]), *_batches(numbers[human:])]
        return np.concatenate([_NOTHING, *(self._scored(self.prior, rows, part, part) for part in parts)])

    def after(self, rows: TokenRows, pairs: Integers) -> Floats:
        """Return log p_F(second | first) per token: [pairs]; pairs [pairs, 2] are numbers of sentences."""
        codes, which = np.unique(pairs[:, 0] * len(rows) + pairs[:, 1], return_inverse=True)
        parts = [self._scored(self.forward, rows, part // len(rows), part % len(rows)) for part in _batches(codes)]
        found: Floats = np.concatenate([_NOTHING, *parts])[which.reshape(-1)]
        return found

    @torch.inference_mode()
    def _scored(self, decoder: GuidedDecoder, rows: TokenRows, sources: Integers, targets: Integers) -> Floats:
        numbers, places = np.unique(np.stack([sources, targets]), return_inverse=True)
        ids, lengths = rows.padded(numbers, self.pad)
        read = decoder.read_tokens(Tokens(torch.from_numpy(ids).to(self.device), _moved(lengths, self.device)))
        first, second = (_moved(part, self.device) for part in places.reshape(2, -1))
        values = decoder.log_probs(read, first, second) / (read.tokens.lengths[second] + 1)
        found: Floats = values.float().cpu().numpy()
        return found


def _moved(values: Integers, device: torch.device) -> Tensor:
    return torch.from_numpy(values).to(device)


def _batches(items: Integers) -> list[Integers]:
    return [items[start : start + PAIRS_AT_ONCE] for start in range(0, len(items), PAIRS_AT_ONCE)]


class SentenceFeatures:
    """Features of all sentences of both sides.

    Args:
        rows: The sentences.
        tokenizer: The tokenizer of their ids.
        encoded: Sentence vectors [sentences, size], and the sizes of the groups that stand side by side in them.
        token_counts: [vocabulary] number of occurrences of each token in human text.
    """

    def __init__(
        self,
        rows: TokenRows,
        tokenizer: Tokenizer,
        encoded: tuple[Tensor, Sequence[int]],
        token_counts: npt.NDArray[np.int64],
    ) -> None:
        from scipy.sparse import csr_matrix

        size = tokenizer.vocabulary_size
        shape = len(rows), size
        ones = np.ones(len(rows.flat), dtype=np.float32)
        # A copy, because sum_duplicates sorts the ids in place.
        counts = csr_matrix((ones, rows.flat.copy(), rows.offsets.copy()), shape=shape)
        counts.sum_duplicates()
        self.lengths = np.maximum(rows.lengths, 1).astype(np.float32)
        self.sets = counts.copy()
        self.sets.data[:] = 1.0
        self.distinct = np.asarray(self.sets.sum(axis=1)).ravel()
        flags = token_kinds(tokenizer)
        kinds = np.stack([np.log(token_counts + 1.0), token_counts + 1.0 < RARE, *flags], axis=1).astype(np.float32)
        shares = (counts @ kinds) / self.lengths[:, None]  # [sentences, kinds]
        ends = np.where(rows.lengths > 0, rows.flat[np.maximum(rows.offsets[1:] - 1, 0)], 0)
        stops = flags[3][ends]  # whether the last token ends a sentence
        self.single: Floats = np.column_stack([self.lengths, self.distinct / self.lengths, shares, stops])
        self.vectors, self.groups = encoded

    def overlap(self, one: Integers, other: Integers) -> Floats:
        """Return shared tokens over all tokens (Jaccard), and over those of the first: [pairs, 2]."""
        common = np.asarray(self.sets[one].multiply(self.sets[other]).sum(axis=1)).ravel()
        whole = self.distinct[one] + self.distinct[other] - common
        return np.column_stack([common / np.maximum(whole, 1), common / np.maximum(self.distinct[one], 1)])

    def similarity(self, one: Integers, other: Integers) -> Floats:
        """Return cosines of sentence vectors, one per group: [pairs, groups]."""
        found = []
        for start in range(0, len(one), PAIRS_AT_ONCE):
            chosen = [
                self.vectors[torch.from_numpy(part[start : start + PAIRS_AT_ONCE]).to(self.vectors.device)].float()
                for part in (one, other)
            ]
            kinds = zip(*(torch.split(part, list(self.groups), dim=1) for part in chosen), strict=True)
            cosines = [torch.nn.functional.cosine_similarity(a, b, dim=1) for a, b in kinds]
            found.append(torch.stack(cosines, dim=1).cpu().numpy())
        return np.concatenate(found).astype(np.float32)


def token_kinds(tokenizer: Tokenizer) -> list[npt.NDArray[np.bool_]]:
    """Return which tokens hold a digit, a capital, punctuation, a sentence end, or the beginning of a word."""
    names = [b""] * tokenizer.vocabulary_size
    if isinstance(tokenizer, BpeTokenizer):
        names = tokenizer.pieces()
    tests = (
        lambda piece: any(48 <= byte <= 57 for byte in piece),
        lambda piece: any(65 <= byte <= 90 for byte in piece),
        lambda piece: any(byte in b",;:()'\"-" for byte in piece),
        lambda piece: any(byte in b".!?" for byte in piece),
        lambda piece: piece.startswith(b" "),
    )
    return [np.array([test(piece) for piece in names]) for test in tests]


def chunk_features(
    chunks: Integers, known: SentenceFeatures, rows: TokenRows, scored: tuple[SentenceScores, Floats] | None = None
) -> Floats:
    """Return a row of features for every chunk: [chunks, features].

    With ``scored`` (the reader's networks, and their scores of all sentences alone [sentences]) these are the features
    of `place_features`, and the scores of the language model and of the forward model.
    """
    columns = [] if scored is None else [scored[1][chunks[:, :CONTEXT]].mean(axis=1)[:, None]]
    for place in range(CONTEXT, chunks.shape[1]):
        own = place_features(chunks, place, known)
        if scored is not None:
            before, one = chunks[:, place - 1], chunks[:, place]
            after, alone = scored[0].after(rows, np.stack([before, one], axis=1)), scored[1][one]
            kinds = 2 * known.single.shape[1]
            own = np.concatenate(
                [own[:, :kinds], alone[:, None], after[:, None], (after - alone)[:, None], own[:, kinds:]], axis=1
            )
        columns.append(own)
    return np.concatenate(columns, axis=1).astype(np.float32)


def place_features(chunks: Integers, place: int, known: SentenceFeatures) -> Floats:
    """Return features of the sentence at one place of every chunk: [chunks, features].

    They are counts and shares of kinds of tokens, their difference from the mean of the context, and overlap and
    similarity with the sentences before: with the nearest, the highest, and the mean.
    """
    one = chunks[:, place]
    usual = known.single[chunks[:, :CONTEXT]].mean(axis=1)  # [chunks, kinds]
    pairs = [(known.overlap(one, chunks[:, other]), known.similarity(one, chunks[:, other])) for other in range(place)]
    every = np.stack([np.concatenate(pair, axis=1) for pair in pairs])  # [sentences before, chunks, kinds]
    columns = [known.single[one], known.single[one] - usual, every[-1], every.max(axis=0), every.mean(axis=0)]
    return np.concatenate(columns, axis=1).astype(np.float32)
