"""What the second evaluator looks at: counts, overlaps and likenesses, no learned reading; the third also at scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from weft.corpora.text.tokenizers import BpeTokenizer, Tokenizer
from weft.evaluation.adversarial.chunks import CONTEXT
from weft.evaluation.adversarial.token_rows import IdRows, Whole
from weft.models.common.encoder_decoder import Tokens
from weft.models.common.guided_decoding import GuidedDecoder
from weft.models.common.token_cache import TokenCache

Reals = npt.NDArray[np.float32]
PAIRS_AT_ONCE = 4096  # sentences scored at a time
RARE = 50.0  # a token seen less often in human text is rare


class SentenceScores:
    """Log-probabilities per token under the frozen reader's networks, each sentence and each pair once.

    Args:
        reader: A Seq2Seq.
        pad: Id that fills rows up.
        device: Where its networks are.
    """

    def __init__(self, reader: Any, pad: int, device: torch.device) -> None:
        networks, known = reader.networks(), TokenCache(reader.tokenizer)
        self.prior = GuidedDecoder(networks["prior"], known)
        self.forward = GuidedDecoder(networks["forward"], known)
        self.pad, self.device = pad, device
        self.human: Reals | None = None  # log p_L per token of the sentences of people, which all opponents share
        self.latest: tuple[IdRows, Reals] | None = None  # of the opponent that was asked about last

    def alone(self, rows: IdRows, shared: int) -> Reals:
        """Log p_L per token: [sentences]; of the first ``shared`` sentences it is found once."""
        if self.human is None:
            self.human = self._alone(rows, 0, shared)
        if self.latest is None or self.latest[0] is not rows:
            self.latest = rows, np.concatenate([self.human, self._alone(rows, shared, len(rows))])
        return self.latest[1]

    def _alone(self, rows: IdRows, start: int, stop: int) -> Reals:
        numbers = np.arange(start, stop)
        parts = [self._scored(self.prior, rows, part, part) for part in _lots(numbers)]
        return np.concatenate([np.zeros(0, dtype=np.float32), *parts])

    def after(self, rows: IdRows, pairs: Whole) -> Reals:
        """Log p_F(second | first) per token: [pairs]; pairs [pairs, 2] are numbers of sentences."""
        codes, which = np.unique(pairs[:, 0] * len(rows) + pairs[:, 1], return_inverse=True)
        parts = [self._scored(self.forward, rows, part // len(rows), part % len(rows)) for part in _lots(codes)]
        found: Reals = np.concatenate([np.zeros(0, dtype=np.float32), *parts])[which.reshape(-1)]
        return found

    @torch.inference_mode()
    def _scored(self, decoder: GuidedDecoder, rows: IdRows, sources: Whole, targets: Whole) -> Reals:
        numbers, places = np.unique(np.stack([sources, targets]), return_inverse=True)
        ids, lengths = rows.padded(numbers, self.pad)
        read = decoder.read_tokens(Tokens(torch.from_numpy(ids).to(self.device), _moved(lengths, self.device)))
        first, second = (_moved(part, self.device) for part in places.reshape(2, -1))
        values = decoder.log_probs(read, first, second) / (read.tokens.lengths[second] + 1)
        found: Reals = values.float().cpu().numpy()
        return found


def _moved(values: Whole, device: torch.device) -> Tensor:
    return torch.from_numpy(values).to(device)


def _lots(items: Whole) -> list[Whole]:
    return [items[start : start + PAIRS_AT_ONCE] for start in range(0, len(items), PAIRS_AT_ONCE)]


class SentenceFeatures:
    """Features of all sentences of a bout.

    Args:
        rows: The sentences.
        tokenizer: What their ids mean.
        frozen: [sentences, size] of the frozen reader, kinds side by side, and the sizes of the kinds.
        seen: [vocabulary] how often people wrote each token.
    """

    def __init__(
        self, rows: IdRows, tokenizer: Tokenizer, frozen: tuple[Tensor, Sequence[int]], seen: npt.NDArray[np.int64]
    ) -> None:
        from scipy.sparse import csr_matrix

        size = tokenizer.vocabulary_size
        shape = len(rows), size
        ones = np.ones(len(rows.flat), dtype=np.float32)
        # A copy: adding up duplicates sorts the ids where they lie, and the sentences must stay as they were written.
        counts = csr_matrix((ones, rows.flat.copy(), rows.offsets.copy()), shape=shape)
        counts.sum_duplicates()
        self.lengths = np.maximum(rows.lengths, 1).astype(np.float32)
        self.sets = counts.copy()
        self.sets.data[:] = 1.0
        self.distinct = np.asarray(self.sets.sum(axis=1)).ravel()
        sorts = token_kinds(tokenizer)
        kinds = np.stack([np.log(seen + 1.0), seen + 1.0 < RARE, *sorts], axis=1).astype(np.float32)
        shares = (counts @ kinds) / self.lengths[:, None]  # [sentences, kinds]
        ends = np.where(rows.lengths > 0, rows.flat[np.maximum(rows.offsets[1:] - 1, 0)], 0)
        stops = sorts[3][ends]  # whether the last token ends a sentence
        self.single: Reals = np.column_stack([self.lengths, self.distinct / self.lengths, shares, stops])
        self.vectors, self.groups = frozen

    def overlap(self, one: Whole, other: Whole) -> Reals:
        """Shared tokens over all tokens (Jaccard), and over those of the first: [pairs, 2]."""
        common = np.asarray(self.sets[one].multiply(self.sets[other]).sum(axis=1)).ravel()
        whole = self.distinct[one] + self.distinct[other] - common
        return np.column_stack([common / np.maximum(whole, 1), common / np.maximum(self.distinct[one], 1)])

    def likeness(self, one: Whole, other: Whole) -> Reals:
        """Cosines of the reader's vectors, of each kind: [pairs, kinds]."""
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
    """Which tokens hold a digit, a capital, punctuation, the end of a sentence, the beginning of a word."""
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
    chunks: Whole, known: SentenceFeatures, rows: IdRows, scored: tuple[SentenceScores, Reals] | None = None
) -> Reals:
    """A row of features for every chunk: [chunks, features].

    Of every sentence that continues: counts and shares of kinds of tokens, their difference from the context's mean,
    overlap and likeness with the sentence before, the context and the rest of the continuation; with scores, and those
    of all sentences alone [sentences], also what the language model and the forward model say of it.
    """
    context = chunks[:, :CONTEXT]
    usual = known.single[context].mean(axis=1)  # [chunks, kinds]
    columns = [] if scored is None else [scored[1][context].mean(axis=1)[:, None]]
    for place in range(CONTEXT, chunks.shape[1]):
        one = chunks[:, place]
        before = chunks[:, place - 1]
        columns += [known.single[one], known.single[one] - usual]
        if scored is not None:
            after, alone = scored[0].after(rows, np.stack([before, one], axis=1)), scored[1][one]
            columns += [alone[:, None], after[:, None], (after - alone)[:, None]]
        pairs = [
            (known.overlap(one, chunks[:, other]), known.likeness(one, chunks[:, other])) for other in range(place)
        ]
        nearest = np.concatenate(pairs[-1], axis=1)
        every = np.stack([np.concatenate(pair, axis=1) for pair in pairs])  # [sentences before, chunks, kinds]
        columns += [nearest, every.max(axis=0), every.mean(axis=0)]
    return np.concatenate(columns, axis=1).astype(np.float32)
