"""Which sentences of a text say something new and readable, so that repetition and gibberish do not raise its score.

A model of what is likely next finds a repeated sentence very likely, and some models find one run of random letters
likely after another. A model whose score should not rise with them lets links of unsound sentences count as
`UNSOUND_LINK`. Sound texts keep their scores.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.corpora.text.repetition import sentence_repetition
from weft.corpora.text.unknown_words import gibberish_share

# Up to the first value a sentence is sound, from the second on it is not at all.
REPEATED, GIBBERISH = (0.35, 0.7), (0.5, 0.8)
UNSOUND_LINK = -1.0  # what a link of an unsound sentence adds to a score, in nats above chance


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
    readable = {one: 1 - _rise(gibberish_share([one], GIBBERISH[0]), GIBBERISH) for one in repeated}
    return [readable[one] * (1 - _rise(repeated[one], REPEATED)) for one in sentences]


def _rise(value: float, bounds: tuple[float, float]) -> float:
    """Return 0 up to the lower bound, 1 from the upper one, and a straight line between them."""
    low, high = bounds
    return min(1.0, max(0.0, (value - low) / (high - low)))
