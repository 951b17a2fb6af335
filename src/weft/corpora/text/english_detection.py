"""Whether a text is English: the parser and the word vectors in the package know no other language."""

from __future__ import annotations

import re
from collections.abc import Sequence

LEAST_LETTERS, LEAST_WORDS = 5, 12  # of a text that can be judged by its letters, and by its words
LOOKED_AT = 2000  # words; enough to tell
LATIN_SHARE, COMMON_SHARE = 0.7, 0.2  # English paragraphs have .95 and .25 at least

_WORDS = re.compile(r"[^\W\d_]+")
# Some are words of Dutch, German or Spanish too, but make up less than a sixth of such a text.
_COMMON_WORDS = """
the of and to a in is was it that for on as with by at from he his she her they their this which be
are were had has have not or an but been who its would when there one if will into after over all
more other some only than then about could did you your we our us my me him them what how where
while because before during through between two first also no so up out i do can said
"""
_COMMON = frozenset(_COMMON_WORDS.split())


def looks_english(sentences: Sequence[str]) -> bool:
    """Whether a text may be English; one that is too short to tell may be.

    Args:
        sentences: Of the text.

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
        if len(words) >= LOOKED_AT:
            break
    letters = "".join(words)
    if len(letters) >= LEAST_LETTERS and sum(map(str.isascii, letters)) < LATIN_SHARE * len(letters):
        return False
    common = sum(word in _COMMON for word in words)
    return len(words) < LEAST_WORDS or common + 1 >= COMMON_SHARE * len(words)  # one more: short texts vary
