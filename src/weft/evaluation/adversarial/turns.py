"""Continuing many contexts turn by turn: candidates in bulk, reranked uni, bi or MMI, the best fresh one taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from weft.corpora.text.tokenizers import Tokenizer
from weft.evaluation.adversarial.chunks import TURNS
from weft.evaluation.adversarial.token_rows import canonical_rows, squashed
from weft.generation.bulk import BulkWriter, Contexts, Proposals
from weft.generation.decoding import Decoding
from weft.io.seeded_hash import hash_key
from weft.scoring.pairs import Combine

Reals = npt.NDArray[np.float64]
CONTEXTS_AT_ONCE = {"cuda": 1024, "cpu": 64}  # about 20 GiB with ten candidates each
LATE = 1e6  # what a candidate loses that is taken only if there is no other
# The end of a sentence is a token too: 80 words, as people's longest. What else was tried: docs/adversarial.md.
ADVERSARIAL = Decoding(method="sample", beam=10, top_k=2000, top_p=0.98, max_tokens=81, draws=10)
CLOSING = ".!?…\"'”’)]»"  # what sentences of people end with


def continued(
    writer: BulkWriter, contexts: Contexts, decoding: Decoding, ways: Sequence[Combine], *, seed: Sequence[object] = ()
) -> dict[Combine, list[tuple[str, ...]]]:
    """Three sentences after every context, for every way of reranking; the first list of candidates is the same.

    Args:
        writer: What proposes.
        contexts: All with the same number of sentences.
        decoding: How.
        ways: Of reranking.
        seed: What else decides chance beside ``decoding.seed``: the number of the shard.
    """
    texts: dict[Combine, list[tuple[str, ...]]] = {way: [()] * len(contexts) for way in ways}
    known: dict[Combine, Contexts] = dict.fromkeys(ways, contexts)
    for turn in range(TURNS):
        chosen: dict[Combine, list[str]] = {way: [] for way in ways}
        for wanted in [list(ways)] if turn == 0 else [[way] for way in ways]:
            found = next_sentences(writer, known[wanted[0]], decoding, wanted, seed=(*seed, turn))
            chosen |= found
        for way in ways:
            texts[way] = [(*before, text) for before, text in zip(texts[way], chosen[way], strict=True)]
            rows = canonical_rows(chosen[way], writer.tokenizer, longest=decoding.max_tokens)
            known[way] = [(*context, rows.row(number)) for number, context in enumerate(known[way])]
    return texts


def next_sentences(
    writer: BulkWriter, contexts: Contexts, decoding: Decoding, ways: Sequence[Combine], *, seed: Sequence[object]
) -> dict[Combine, list[str]]:
    """One sentence after every context; contexts of like length are searched together."""
    size = CONTEXTS_AT_ONCE.get(writer.device.type, 64)
    order = sorted(range(len(contexts)), key=lambda number: (len(contexts[number][-1]), number))
    found: dict[Combine, list[str]] = {way: [""] * len(contexts) for way in ways}
    for start in range(0, len(order), size):
        batch = order[start : start + size]
        drawn = int.from_bytes(hash_key(decoding.seed, *seed, start)[:4], "big")
        part = [contexts[number] for number in batch]
        proposals = writer.propose(part, replace(decoding, seed=drawn), reranked=any(way != "uni" for way in ways))
        ranks = _ranks(proposals, decoding, ways, closing_tokens(writer.tokenizer))  # type: ignore[arg-type]
        for way in ways:
            texts = _taken(proposals, ranks[way], writer)
            for number, text in zip(batch, texts, strict=True):
                found[way][number] = text
    return found


@lru_cache(maxsize=4)
def closing_tokens(tokenizer: Tokenizer) -> npt.NDArray[np.bool_]:
    """Which tokens may end a sentence: [vocabulary]."""
    texts = (tokenizer.decode([number]) for number in range(tokenizer.vocabulary_size))
    return np.array([text.rstrip().endswith(tuple(CLOSING)) for text in texts])


def _ranks(
    proposals: Proposals, decoding: Decoding, ways: Sequence[Combine], closing: npt.NDArray[np.bool_]
) -> dict[Combine, npt.NDArray[np.int64]]:
    """For every way the candidates of every context, best first: [contexts, beam].

    One that was cut at its longest, that does not end as sentences do, or that shares too many tokens with a sentence
    before, is taken only if there is no other; one with the very tokens of a sentence before, last of all.
    """
    words = np.maximum(proposals.lengths - 2, 0)[:, :, None]  # where the last token before the end stands
    ends = np.take_along_axis(proposals.ids, words, axis=2)[:, :, 0]  # [contexts, beam]
    unfinished = (proposals.lengths >= decoding.max_tokens) | ~closing[ends]
    late = unfinished | (proposals.overlap > decoding.alike)  # [contexts, beam]
    losses = LATE * (late + 1.0 * (proposals.overlap >= 1.0))
    ranks: dict[Combine, npt.NDArray[np.int64]] = {}
    for way in ways:
        if way == "uni":  # the search's own choice
            values = proposals.log_probs / np.maximum(proposals.lengths, 1) ** decoding.length_power
        else:
            assert proposals.pairs is not None
            values = proposals.pairs.combined(way)
        ranks[way] = np.argsort(losses - np.nan_to_num(values, neginf=-1e9), axis=1, kind="stable")
    return ranks


def _taken(proposals: Proposals, ranks: npt.NDArray[np.int64], writer: BulkWriter) -> list[str]:
    """The best candidate of every context as text; one whose bytes make no characters gives way to the next."""
    tokenizer, texts = writer.tokenizer, []
    best = np.take_along_axis(proposals.ids, ranks[:, :1, None], axis=1)[:, 0].tolist()  # [contexts, time]
    lengths = np.take_along_axis(proposals.lengths, ranks[:, :1], axis=1)[:, 0].tolist()
    for number, (ids, length) in enumerate(zip(best, lengths, strict=True)):
        text = squashed(tokenizer.decode(_words(ids[:length], tokenizer.eos_id)))
        if not text or "\ufffd" in text:
            text = _next_best(proposals, ranks[number], number, writer) or text.replace("\ufffd", "")
        texts.append(text)
    return texts


def _next_best(proposals: Proposals, rank: npt.NDArray[np.int64], number: int, writer: BulkWriter) -> str:
    for place in rank[1:].tolist():
        ids = proposals.ids[number, place, : proposals.lengths[number, place]].tolist()
        text = squashed(writer.tokenizer.decode(_words(ids, writer.tokenizer.eos_id)))
        if text and "\ufffd" not in text:
            return text
    return ""


def _words(ids: list[int], eos: int) -> list[int]:
    """Ids without the end of the sentence."""
    return ids[:-1] if ids and ids[-1] == eos else ids
