"""Words: the one way weft cuts a sentence into lower-cased words and punctuation.

The word-level tokenizer, the overlap check and the lexical baselines share it, so that "a word" means the
same everywhere.
"""

from __future__ import annotations

import re

# Combining accents are not `\w` to Python; without them "é" written as "e" + accent would be two tokens.
_TOKEN = re.compile(r"[\w\u0300-\u036f]+|[^\w\s]")
_WORD = re.compile(r"[\w\u0300-\u036f]+")


def words(sentence: str) -> list[str]:
    """Cut a sentence into lower-cased words (digits included) and single punctuation characters.

    Example:
        >>> words("The cat's 3 kittens slept.")
        ['the', 'cat', "'", 's', '3', 'kittens', 'slept', '.']
    """
    return _TOKEN.findall(sentence.lower())


def words_only(sentence: str) -> list[str]:
    """The same words without the punctuation.

    Example:
        >>> words_only("The cat's 3 kittens slept.")
        ['the', 'cat', 's', '3', 'kittens', 'slept']
    """
    return _WORD.findall(sentence.lower())
