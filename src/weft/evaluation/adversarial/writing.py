"""Writing continuations of many contexts, sentence by sentence: propose candidates in bulk, rerank, take the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from weft.corpora.text.tokenizers import Tokenizer
from weft.evaluation.adversarial.chunks import CONTINUATION
from weft.evaluation.adversarial.token_rows import Integers, canonical_rows, single_spaced
from weft.generation.bulk_writing import BulkWriter, Contexts, Proposals
from weft.generation.decoding_settings import Decoding
from weft.io.seeded_hash import hash_key
from weft.scoring.uni_bi_mmi import Combine

CONTEXTS_AT_ONCE = {"cuda": 512, "cpu": 64}  # about 10 GiB with ten candidates each
PENALTY = 1e6  # for candidates that are taken only if there is no other
# The end of a sentence is a token too: 80 words, as the longest human sentence. docs/adversarial.md lists other trials.
ADVERSARIAL_DECODING = Decoding(method="sample", beam=10, top_k=2000, top_p=0.98, max_tokens=81, draws=10)
CLOSING = ".!?…\"'”’)]»"  # the last characters of human sentences


def write_continuations(
    writer: BulkWriter, contexts: Contexts, decoding: Decoding, combine: Combine, *, seed: Sequence[object] = ()
) -> list[tuple[str, ...]]:
    """Return three sentences for every context; each is written with those before it as context.

    All contexts have the same number of sentences. ``seed`` is added to ``decoding.seed``: the number of the shard.
    """
    texts: list[tuple[str, ...]] = [()] * len(contexts)
    for turn in range(CONTINUATION):
        chosen = write_next_sentences(writer, contexts, decoding, combine, seed=(*seed, turn))
        texts = [(*before, text) for before, text in zip(texts, chosen, strict=True)]
        rows = canonical_rows(chosen, writer.tokenizer, longest=decoding.max_tokens)
        contexts = [(*context, rows.row(number)) for number, context in enumerate(contexts)]
    return texts


def write_next_sentences(
    writer: BulkWriter, contexts: Contexts, decoding: Decoding, combine: Combine, *, seed: Sequence[object]
) -> list[str]:
    """Return one sentence for every context; contexts of similar length are searched together."""
    size = CONTEXTS_AT_ONCE.get(writer.device.type, 64)
    order = sorted(range(len(contexts)), key=lambda number: (len(contexts[number][-1]), number))
    found = [""] * len(contexts)
    for start in range(0, len(order), size):
        batch = order[start : start + size]
        drawn = int.from_bytes(hash_key(decoding.seed, *seed, start)[:4], "big")
        part = [contexts[number] for number in batch]
        proposals = writer.propose(part, replace(decoding, seed=drawn), reranked=combine != "uni")
        ranks = rank_candidates(proposals, decoding, combine, closing_tokens(writer.tokenizer))
        for row, number in enumerate(batch):
            found[number] = _best_text(proposals.ids[row], proposals.lengths[row], ranks[row], writer.tokenizer)
    return found


@lru_cache(maxsize=4)
def closing_tokens(tokenizer: Tokenizer) -> npt.NDArray[np.bool_]:
    """Return which tokens may end a sentence: [vocabulary]."""
    texts = (tokenizer.decode([number]) for number in range(tokenizer.vocabulary_size))
    return np.array([text.rstrip().endswith(tuple(CLOSING)) for text in texts])


def rank_candidates(
    proposals: Proposals, decoding: Decoding, combine: Combine, closing: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int64]:
    """Return the candidates of every context, best first: [contexts, beam].

    Three kinds of candidates are taken only if there is no other: those cut at the longest length, those without a
    closing token, and those that share too many tokens with a sentence before. A copy of a sentence before comes last.
    """
    words = np.maximum(proposals.lengths - 2, 0)[:, :, None]  # the place of the last token before the end
    ends = np.take_along_axis(proposals.ids, words, axis=2)[:, :, 0]  # [contexts, beam]
    unfinished = (proposals.lengths >= decoding.max_tokens) | ~closing[ends]
    late = unfinished | (proposals.overlap > decoding.alike)  # [contexts, beam]
    losses = PENALTY * (late + 1.0 * (proposals.overlap >= 1.0))
    if combine == "uni":  # the search's own choice
        values = proposals.log_probs / np.maximum(proposals.lengths, 1) ** decoding.length_power
    else:
        assert proposals.pairs is not None
        values = proposals.pairs.combined(combine)
    return np.argsort(losses - np.nan_to_num(values, neginf=-1e9), axis=1, kind="stable")


def _best_text(ids: npt.NDArray[np.int32], lengths: Integers, rank: Integers, tokenizer: Tokenizer) -> str:
    """Return the best candidate of a context as text; if its bytes are not valid text, the next one that is valid."""
    rows = (ids[place, : lengths[place]] for place in rank)
    texts = (single_spaced(tokenizer.decode(row[row != tokenizer.eos_id].tolist())) for row in rows)
    best = next(texts)
    if best and "\ufffd" not in best:
        return best
    return next((text for text in texts if text and "\ufffd" not in text), best.replace("\ufffd", ""))
