"""Words: sentences cut into lower-cased words and punctuation.

The word-level tokenizer, the overlap check and the lexical models use the same words.
"""

from __future__ import annotations

import re

# Combining accents do not match `\w`; without them "é" written as "e" + accent would be two tokens.
_TOKEN = re.compile(r"[\w\u0300-\u036f]+|[^\w\s]")
_WORD = re.compile(r"[\w\u0300-\u036f]+")


def words(sentence: str) -> list[str]:
    """Return the lower-cased words (digits included) and single punctuation characters of a sentence.

    Example:
        >>> words("The cat's 3 kittens slept.")
        ['the', 'cat', "'", 's', '3', 'kittens', 'slept', '.']
    """
    return _TOKEN.findall(sentence.lower())


def words_only(sentence: str) -> list[str]:
    """Return the lower-cased words of a sentence without punctuation.

    Example:
        >>> words_only("The cat's 3 kittens slept.")
        ['the', 'cat', 's', '3', 'kittens', 'slept']
    """
    return _WORD.findall(sentence.lower())
