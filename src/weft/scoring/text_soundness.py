"""Which sentences of a text say something new and readable, so that repetition and gibberish do not raise its score.

A model of what is likely next finds a repeated sentence very likely, and some models find one run of random letters
likely after another. A model whose score should not rise with them lets links of unsound sentences count as
`UNSOUND_LINK`, and the sentences themselves as `UNSOUND_SURPRISE`. Sound texts keep their scores.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.corpora.text.repetition import sentence_repetition
from weft.corpora.text.unknown_words import FEWEST_LETTERS, gibberish_share, unknown_share, word_share

# Up to the first value a sentence is sound, from the second on it is not at all.
REPEATED, GIBBERISH, UNKNOWN = (0.35, 0.7), (0.5, 0.8), (0.75, 0.95)
WORDLESS = (0.6, 0.8)  # share of the characters that are in no word; 99.9% of sound sentences have at most 0.55
UNSOUND_LINK = -1.0  # what a link of an unsound sentence adds to a score, in nats above chance
# What an unsound sentence adds to fluency, in nats per token: less than 99.9% of the sentences of sound texts.
UNSOUND_SURPRISE = -5.0


def sentence_soundness(sentences: Sequence[str]) -> list[float]:
    """Return for each sentence how far it is sound, from 0 (a copy, or random letters) to 1.

    The values do not depend on the order of the sentences: all copies of a sentence are unsound, and of several that
    are nearly the same all but one.

    Example:
        >>> sentence_soundness(["The cat slept.", "The cat slept.", "Then rain fell.", "Tgh csr xlzpt qn vbe jwq."])
        [0.0, 0.0, 1.0, 0.0]
    """
    ranked = sorted(sentences)
    repeated: dict[str, float] = {}
    for sentence, value in zip(ranked, sentence_repetition(ranked), strict=True):
        repeated[sentence] = max(value, repeated.get(sentence, 0.0))
    return [_readable(one) * (1 - _rise(repeated[one], REPEATED)) for one in sentences]


def sound_surprises(surprises: Sequence[float], soundness: Sequence[float]) -> list[float]:
    """Return log-likelihoods of sentences in which unsound ones count as `UNSOUND_SURPRISE`, in part or as a whole.

    Args:
        surprises: The log-likelihood per token of each sentence.
        soundness: How far each sentence is sound, from `sentence_soundness`.

    Example:
        >>> sound_surprises([-3.0, -2.0, -6.0], [1.0, 0.5, 0.0])
        [-3.0, -3.5, -6.0]
    """
    return [
        min(value, sound * value + (1 - sound) * UNSOUND_SURPRISE)
        for value, sound in zip(surprises, soundness, strict=True)
    ]


def _readable(sentence: str) -> float:
    """Return how far a sentence consists of words, from 0 to 1; too short a sentence may have unknown words alone."""
    letters = sum(map(str.isalpha, sentence))
    unknown = unknown_share([sentence]) if letters >= FEWEST_LETTERS else 0.0
    unreadable = max(
        _rise(gibberish_share([sentence], GIBBERISH[0]), GIBBERISH),
        _rise(unknown, UNKNOWN),
        _rise(1 - word_share([sentence]), WORDLESS),
    )
    return 1 - unreadable


def _rise(value: float, bounds: tuple[float, float]) -> float:
    """Return 0 up to the lower bound, 1 from the upper one, and a straight line between them."""
    low, high = bounds
    return min(1.0, max(0.0, (value - low) / (high - low)))
