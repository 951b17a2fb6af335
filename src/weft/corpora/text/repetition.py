"""How much of a text repeats what it has said before: sentences that are the same, or nearly the same, as earlier ones.

Two things count as repeated. The first is a sequence of three words that occurred in the last thousand words; the
start and the end of a sentence are words here. The second is a sentence that shares most of its words, in any order,
with one of the eight sentences before it. Both take linear time.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence

from weft.corpora.text.words import words_only

NEAR_WORDS = 1000  # a sequence of words that occurred longer ago is not a repetition: long texts have many of them
NEAR_SENTENCES = 8  # a sentence is compared with so many sentences before it
SAME_WORDS = 0.5  # share of common words from which two sentences begin to look alike; neighbours have 0.17 (median)
START, END = "<", ">"


def repetition(sentences: Sequence[str]) -> float:
    """Return how much of a text repeats itself, from 0 (nothing) to nearly 1 (one sentence, over and over).

    The value is the mean of `sentence_repetition`, weighted by the number of words. A text of n copies of a sentence
    has (n - 1) / n.

    Example:
        >>> repetition(["The cat slept on the mat.", "Then it woke.", "It was hungry."])
        0.0
        >>> repetition(["The cat slept on the mat."] * 4)
        0.75
    """
    lengths = [len(words_only(sentence)) for sentence in sentences]
    values = sentence_repetition(sentences)
    total = sum(lengths)
    return sum(length * value for length, value in zip(lengths, values, strict=True)) / total if total else 0.0


def sentence_repetition(sentences: Sequence[str]) -> list[float]:
    """Return for each sentence how much of it was said before, from 0 (nothing) to 1 (all of it).

    Example:
        >>> sentence_repetition(["The cat slept.", "The cat slept.", "On Monday it rained."])
        [0.0, 1.0, 0.0]
        >>> sentence_repetition(["On Monday the cat slept.", "The cat slept on Monday."])  # the same words
        [0.0, 1.0]
    """
    last: dict[tuple[str, str, str], int] = {}
    before: deque[Counter[str]] = deque(maxlen=NEAR_SENTENCES)
    place, found = 0, []
    for sentence in sentences:
        words = words_only(sentence)
        seen = _seen_sequences(words, last, place)
        place += len(words)
        bag = Counter(words)
        alike = max((_common_share(bag, other) for other in before), default=0.0)
        before.append(bag)
        found.append(max(seen, (alike - SAME_WORDS) / (1 - SAME_WORDS), 0.0))
    return found


def _seen_sequences(words: Sequence[str], last: dict[tuple[str, str, str], int], place: int) -> float:
    """Return the share of a sentence's sequences of three words that occurred shortly before, and note all of them."""
    if not words:
        return 0.0
    marked = [START, *words, END]
    seen = 0
    for offset, sequence in enumerate(zip(marked, marked[1:], marked[2:], strict=False)):
        seen += place + offset - last.get(sequence, -NEAR_WORDS - 1) <= NEAR_WORDS
        last[sequence] = place + offset
    return seen / len(words)  # as many sequences as words


def _common_share(first: Counter[str], second: Counter[str]) -> float:
    """Return the Dice coefficient of two bags of words."""
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if total else 0.0
