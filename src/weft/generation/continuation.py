"""Continuing a text: a model proposes next sentences, and the best one after reranking is added to the text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from weft.document import Document
from weft.generation.decoding import Candidate
from weft.generation.decoding_settings import Decoding
from weft.io.seeded_hash import hash_key
from weft.scoring.sequence_scorer import SequenceScorer
from weft.scoring.uni_bi_mmi import Combine, Scorer

# Number of sentences before a candidate that a model with memory reads: it was trained on windows of 12.
REMEMBERED = 11


class Writer(Protocol):
    """A model that proposes next sentences."""

    def propose(self, contexts: Sequence[Sequence[str]], decoding: Decoding) -> list[list[Candidate]]:
        """Return several candidates for each context (sentences, the nearest last), best first."""


def best_first(candidates: Iterable[Candidate], decoding: Decoding) -> list[Candidate]:
    """Return the candidates of several searches, best first and without duplicates."""
    best: dict[str, Candidate] = {}
    for one in sorted(candidates, key=lambda one: -one.log_prob / max(1, one.tokens) ** decoding.length_power):
        best.setdefault(one.text, one)
    return list(best.values())


def rerank(candidates: Sequence[Candidate], context: Sequence[str], scorer: Scorer | SequenceScorer) -> list[Candidate]:
    """Return candidates ranked by their score after the context; bi and MMI need whole sentences (section 3.1)."""
    before = tuple(context[-REMEMBERED:] if isinstance(scorer, SequenceScorer) else context[-1:])
    documents = [Document(str(number), (*before, candidate.text)) for number, candidate in enumerate(candidates)]
    values = [score.transitions[-1] for score in scorer.score(documents)]
    ranked = sorted(zip(values, range(len(candidates)), strict=True), key=lambda pair: (-pair[0], pair[1]))
    return [candidates[number] for _, number in ranked]


def continue_document(
    writer: Writer,
    document: Document,
    *,
    sentences: int = 1,
    decoding: Decoding = Decoding(),  # noqa: B008  frozen
    scorer: Callable[[Combine], Scorer | SequenceScorer] | None = None,
    combine: Combine = "uni",
) -> Iterator[str]:
    """Write sentences one by one; each is part of the context of the next.

    Args:
        writer: The model that proposes sentences.
        document: The text so far.
        sentences: Number of sentences to write.
        decoding: Settings of decoding.
        scorer: A function that returns the scorer for reranking; needed for ``bi`` and ``mmi``.
        combine: ``uni`` takes the first candidate of the search; ``bi`` and ``mmi`` rerank its N-best list.

    Yields:
        Each new sentence as soon as it is written; fewer than ``sentences`` if the model writes no words.
    """
    context = list(document.sentences)
    for number in range(sentences):
        seed = int.from_bytes(hash_key(decoding.seed, number)[:4], "big")
        candidates = writer.propose([context], replace(decoding, seed=seed))[0]
        usable = _new_candidates(candidates, context, decoding.alike)
        if not usable:  # the model writes no words here
            return
        if combine != "uni" and scorer is not None and context:
            usable = rerank(usable, context, scorer(combine))
        context.append(usable[0].text)
        yield usable[0].text


def _new_candidates(candidates: Sequence[Candidate], context: Sequence[str], alike: float) -> list[Candidate]:
    """Return the candidates with words that overlap little with the context; if none does, those not in it, or all."""
    written = [candidate for candidate in candidates if candidate.text]
    absent = [candidate for candidate in written if candidate.text not in context]
    new = [one for one in absent if all(_overlap(one.text, other) <= alike for other in context)]
    return new or absent or written


def _overlap(one: str, other: str) -> float:
    """Return the number of shared words divided by the number of all words (Jaccard).

    Example:
        >>> _overlap("the cat sat", "The cat ran")
        0.5
    """
    ours, theirs = set(one.lower().split()), set(other.lower().split())
    return len(ours & theirs) / max(1, len(ours | theirs))
