"""Detection of English text: the parser and the word vectors in the package are for English."""

from __future__ import annotations

import re
from collections.abc import Sequence

FEWEST_LETTERS, FEWEST_WORDS = 5, 12  # fewer letters or words are not enough to decide
MOST_WORDS = 2000  # the rest of a longer text is not read
LATIN_SHARE, COMMON_SHARE = 0.7, 0.2  # English paragraphs have at least 0.95 and 0.25

_WORDS = re.compile(r"[^\W\d_]+")
# Some are also words of Dutch, German or Spanish, but less than a sixth of the words of a text in these languages.
_COMMON_WORDS = """
the of and to a in is was it that for on as with by at from he his she her they their this which be
are were had has have not or an but been who its would when there one if will into after over all
more other some only than then about could did you your we our us my me him them what how where
while because before during through between two first also no so up out i do can said
"""
_COMMON = frozenset(_COMMON_WORDS.split())


def looks_english(sentences: Sequence[str]) -> bool:
    """Return whether a text may be English; True if it is too short to decide.

    Example:
        >>> looks_english(["The dog barks at the cat, and the cat runs into the garden."])
        True
        >>> looks_english(["Der Hund bellt die Katze an, und die Katze läuft schnell davon."])
        False
        >>> looks_english(["这只狗在叫。猫看到了狗。"])
        False
    """
    words: list[str] = []
    for sentence in sentences:
        words += _WORDS.findall(sentence.lower())
        if len(words) >= MOST_WORDS:
            break
    letters = "".join(words)
    if len(letters) >= FEWEST_LETTERS and sum(map(str.isascii, letters)) < LATIN_SHARE * len(letters):
        return False
    common = sum(word in _COMMON for word in words)
    return len(words) < FEWEST_WORDS or common + 1 >= COMMON_SHARE * len(words)  # + 1: the share varies in short texts
