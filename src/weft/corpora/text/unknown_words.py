"""How much of a text is no English: random letters, encoded data, program code, numbers and signs alone.

The list of words is the vocabulary of the word vectors in the package: the 30,000 most frequent words of news and
Wikipedia, names among them. Technical and old texts have many words outside it, so an unknown word counts as gibberish
only if it also has three letters in a row that hardly any word of the list has.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from weft.io.package_files import PRETRAINED

FEWEST_LETTERS = 10  # a sentence with fewer letters is not judged
FEWEST_WORDS = 3  # that have the same three letters in a row
START, END = "^", "$"

_WORDS = re.compile(r"[^\W\d_]{2,40}")  # single letters are of initials, formulas and variables
_SYMBOLS = re.compile(r"[={}\\;_<>+/&^~$]")  # of program code; Markdown, lists and timestamps have the others


def unknown_share(sentences: Sequence[str]) -> float:
    """Return the share of a text's letters that are in unknown words, from 0 to 1.

    Example:
        >>> unknown_share(["The cat slept on the mat."]), unknown_share(["Jabbering snarkly wobters."])
        (0.0, 1.0)
    """
    sizes = _letters_by_word(sentences)
    return _unknown(sizes).total() / max(1, sizes.total())


def gibberish_share(sentences: Sequence[str], least: float = 0.0) -> float:
    """Return the share of a text's letters that are in unknown words which do not look like words, from 0 to 1.

    Args:
        sentences: The text.
        least: The lowest share that makes a difference. The result is 0 if `unknown_share` is lower, because then the
            words need not be looked at letter by letter.

    Example:
        >>> gibberish_share(["Chemotaxis abounds."]), gibberish_share(["Tgh csr xlzpt qn vbe jwq."])
        (0.0, 1.0)
    """
    sizes = _letters_by_word(sentences)
    unknown, total = _unknown(sizes), max(1, sizes.total())
    if not unknown or unknown.total() / total < least:
        return 0.0
    return sum(size for word, size in unknown.items() if not _looks_like_a_word(word)) / total


def unreadable_share(sentences: Sequence[str], least: float) -> float:
    """Return the share of a text's letters in sentences with a `gibberish_share` of at least ``least``.

    Example:
        >>> round(unreadable_share(["The cat slept on the mat.", "Tgh csr xlzpt qn vbe jwq."], 0.5), 2)
        0.5
    """
    sizes = [_letters_by_word([sentence]).total() for sentence in sentences]
    unreadable = (
        size
        for sentence, size in zip(sentences, sizes, strict=True)
        if size >= FEWEST_LETTERS and gibberish_share([sentence], least) >= least
    )
    return sum(unreadable) / max(1, sum(sizes))


def word_share(sentences: Sequence[str]) -> float:
    """Return the share of a text's characters, without spaces, that are in words of two letters or more, from 0 to 1.

    Example:
        >>> word_share(["The cat slept."]), word_share(["12 34 56.", "..."])
        (0.9166666666666666, 0.0)
    """
    characters = sum(len(word) for sentence in sentences for word in sentence.split())
    return _letters_by_word(sentences).total() / max(1, characters)


def symbol_share(sentences: Sequence[str]) -> float:
    """Return the share of symbols of program code, such as braces and equals signs, among a text's characters.

    Example:
        >>> round(symbol_share(["if (a == b) { c[d] += 1; }"]), 2)
        0.39
    """
    characters = sum(len(sentence) - sentence.count(" ") for sentence in sentences)
    return sum(len(_SYMBOLS.findall(sentence)) for sentence in sentences) / max(1, characters)


def _letters_by_word(sentences: Sequence[str]) -> Counter[str]:
    """Return how many letters of a text each distinct word makes up."""
    words = Counter(word for sentence in sentences for word in _WORDS.findall(sentence.lower()))
    return Counter({word: count * len(word) for word, count in words.items()})


def _unknown(sizes: Counter[str]) -> Counter[str]:
    """Return the words that are not known, with their letters."""
    known = known_words()
    return Counter({word: size for word, size in sizes.items() if word not in known})


def _looks_like_a_word(word: str) -> bool:
    return _letter_triples(word) <= _usual_triples()


def _letter_triples(word: str) -> set[str]:
    marked = f"{START}{word}{END}"
    return {marked[place : place + 3] for place in range(len(word))}


@lru_cache(maxsize=1)
def known_words() -> frozenset[str]:
    """Return the words that count as known."""
    path = PRETRAINED / "glove" / "vocabulary.txt"
    return frozenset(path.read_text(encoding="utf-8").split("\n"))


@lru_cache(maxsize=1)
def _usual_triples() -> frozenset[str]:
    """Return the sequences of three letters that several known words have; counting them is slow."""
    counts = Counter(triple for word in known_words() for triple in _letter_triples(word))
    return frozenset(triple for triple, count in counts.items() if count >= FEWEST_WORDS)
