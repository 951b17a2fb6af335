"""Continuing a text: a model proposes next sentences, and the best one after reranking is added to the text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from weft.document import Document
from weft.generation.decoding import Candidate
from weft.generation.decoding_settings import Decoding
from weft.io.seeded_hash import hash_key
from weft.progress import Progress, silent
from weft.protocols import DocumentScorer
from weft.scoring.sequence_scorer import SequenceScorer
from weft.scoring.uni_bi_mmi import Combine, Scorer

# Number of sentences before a candidate that a model with memory reads: it was trained on windows of 12.
REMEMBERED = 11
MOST = 0.8  # share of the words of the shorter of two sentences; from here on, one repeats most of the other
FEW_WORDS = 4  # sentences with fewer different words share most of them with many sentences


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


def rerank_by(candidates: Sequence[Candidate], context: Sequence[str], judge: DocumentScorer) -> list[Candidate]:
    """Return candidates ranked by the score that any model gives to the text with each of them at the end.

    A candidate that has no score comes last; of equal scores, the one that the search found better comes first.
    """
    before = tuple(context[-REMEMBERED:])
    documents = [Document(str(number), (*before, candidate.text)) for number, candidate in enumerate(candidates)]
    values = [-math.inf if score.value is None else score.value for score in judge.score(documents)]
    return [candidates[number] for number in sorted(range(len(candidates)), key=lambda number: -values[number])]


def continue_document(
    writer: Writer,
    document: Document,
    *,
    sentences: int = 1,
    decoding: Decoding = Decoding(),  # noqa: B008  frozen
    scorer: Callable[[Combine], Scorer | SequenceScorer] | None = None,
    combine: Combine = "uni",
    judge: DocumentScorer | None = None,
    avoid: Sequence[str] = (),
    progress: Progress = silent,
) -> Iterator[str]:
    """Write sentences one by one; each is part of the context of the next.

    Args:
        writer: The model that proposes sentences.
        document: The text so far.
        sentences: Number of sentences to write.
        decoding: Settings of decoding.
        scorer: A function that returns the scorer for reranking; needed for ``bi`` and ``mmi``.
        combine: ``uni`` takes the first candidate of the search; ``bi`` and ``mmi`` rerank its N-best list.
        judge: Another model that reranks the N-best list, instead of ``scorer``.
        avoid: Sentences that the continuation must not begin with, such as those of other continuations.
        progress: Receives the number of sentences written.

    Yields:
        Each new sentence as soon as it is written; fewer than ``sentences`` if the model writes no words, or none but
        those to avoid.
    """
    context = list(document.sentences)
    for number in range(sentences):
        progress("writing", number, sentences)
        seed = int.from_bytes(hash_key(decoding.seed, number)[:4], "big")
        candidates = writer.propose([context], replace(decoding, seed=seed))[0]
        unwanted = set(map(_words, avoid)) if number == 0 else set()
        candidates = [candidate for candidate in candidates if _words(candidate.text) not in unwanted]
        usable = _new_candidates(candidates, context, decoding.alike)
        if not usable:  # the model writes no words here
            return
        if judge is not None and context:
            usable = rerank_by(usable, context, judge)
        elif combine != "uni" and scorer is not None and context:
            usable = rerank(usable, context, scorer(combine))
        context.append(usable[0].text)
        yield usable[0].text


def _new_candidates(candidates: Sequence[Candidate], context: Sequence[str], alike: float) -> list[Candidate]:
    """Return the candidates with words that repeat no sentence before; if all do, the one that repeats least."""
    written = [candidate for candidate in candidates if candidate.text]
    known = {_words(sentence) for sentence in context}
    absent = [candidate for candidate in written if _words(candidate.text) not in known]
    new = [one for one in absent if not any(_repeats(one.text, other, alike) for other in context)]
    if new or not written:
        return new
    return [min(absent or written, key=lambda one: max(_overlap(one.text, other) for other in context))]


def _repeats(one: str, other: str, alike: float) -> bool:
    """Return whether two sentences share too many words, or one has most words of the other; never from 1 on.

    Example:
        >>> _repeats("The old cat sat there, and it rained.", "The old cat sat.", 0.6)
        True
    """
    if alike >= 1:
        return False
    ours, theirs = set(_words(one)), set(_words(other))
    fewer = min(len(ours), len(theirs))
    inside = fewer >= FEW_WORDS and len(ours & theirs) >= MOST * fewer
    return inside or _overlap(one, other) > alike


def _words(sentence: str) -> tuple[str, ...]:
    """Return the words of a sentence in small letters, without punctuation."""
    return tuple(re.findall(r"\w+", sentence.lower())) or (sentence,)


def _overlap(one: str, other: str) -> float:
    """Return the number of shared words divided by the number of all words (Jaccard).

    Example:
        >>> _overlap("the cat sat", "The cat ran")
        0.5
    """
    ours, theirs = set(one.lower().split()), set(other.lower().split())
    return len(ours & theirs) / max(1, len(ours | theirs))
