"""Reasons why the score of a text means little, each with a code and a sentence.

The thresholds are such that hardly any sound English text has a warning: `benchmarks/warning_rates.py` counts them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from weft.corpora.text.language_detection import foreign_language
from weft.corpora.text.line_layout import LineCounts, count_lines
from weft.corpora.text.repetition import repetition
from weft.corpora.text.text_limits import LONG_SENTENCE, clipped, is_long
from weft.corpora.text.unknown_words import (
    gibberish_share,
    symbol_share,
    unknown_share,
    unreadable_share,
    word_share,
)
from weft.document import Document, TextWarning

ENOUGH_SENTENCES = 3
FEWEST_ITEMS, ITEM_SHARE = 3, 0.2  # lines that are list items, headings, rows or code, and their share of the sentences
FEWEST_LABELS, LABEL_SHARE = 2, 0.05  # speaker labels or timestamps: one turn may have many sentences
REPEATED = 0.3  # `repetition` of sound texts: 0.03 (median), at most 0.21 in 99% of every genre but tales and chatbots
GIBBERISH, UNKNOWN = 0.35, 0.7  # of the letters; 99% of the excerpts of every genre have at most 0.20 and 0.43
UNREADABLE, UNREADABLE_SHARE = 0.5, 0.25  # gibberish of a sentence, and the share of such sentences
SYMBOLS = 0.05  # of the characters; at most 0.02 in sound texts
FEWEST_WORDS = 0.6  # share of the characters that are in words; excerpts of every genre have at least 0.74
FEWEST_CHARACTERS = 20  # a text with fewer is judged only if it has no word at all

FEW_SENTENCES = TextWarning("few-sentences", "fewer than 3 sentences: a score of one or two links says little")
LIST = TextWarning("list", "many lines are list items, headings or rows of a table, which are not sentences")
TRANSCRIPT = TextWarning("transcript", "speaker labels or timestamps are read as if they were words of the text")
REPETITION = TextWarning("repetition", "sentences repeat earlier ones, which can raise a score without any coherence")
UNKNOWN_WORDS = TextWarning(
    "unknown-words", "much of the text is not English words: random letters, numbers, signs, data or code"
)


def text_warnings(document: Document) -> tuple[TextWarning, ...]:
    """Return the reasons why the score of a document means little; empty for most texts.

    Looks at the first `weft.corpora.text.text_limits.MOST_CHARACTERS` characters.

    Example:
        >>> [warning.code for warning in text_warnings(Document("d", ("The cat slept.",) * 5))]
        ['repetition']
    """
    sentences = clipped(document.sentences)
    found = [*language_warnings(sentences)]
    if len(document) < ENOUGH_SENTENCES:
        found.append(FEW_SENTENCES)
    found += dict.fromkeys([*document.layout_warnings, *layout_warnings(_as_blocks(sentences), len(sentences))])
    if any(map(is_long, document.sentences)):
        found.append(LONG_SENTENCE)
    if repetition(sentences) >= REPEATED:
        found.append(REPETITION)
    if not any(warning.code in {"not-english", "mixed-languages"} for warning in found):
        found += unknown_word_warnings(sentences)
    return tuple(dict.fromkeys(found))


def language_warnings(sentences: Sequence[str]) -> tuple[TextWarning, ...]:
    """Return a warning if a text is not English, or partly not.

    Example:
        >>> print(*language_warnings(["Der Hund bellt die Katze an, und sie läuft schnell davon."]))
        the text looks German, and the models are trained on English
    """
    language = foreign_language(sentences)
    if language is None:
        return ()
    if language.whole:
        return (TextWarning("not-english", f"the text looks {language.name}, and the models are trained on English"),)
    sentence = f"part of the text looks {language.name}, and the models are trained on English"
    return (TextWarning("mixed-languages", sentence),)


def layout_warnings(lines: Iterable[str], sentences: int) -> tuple[TextWarning, ...]:
    """Return the warnings that the lines of a text give before it is split into so many sentences.

    Example:
        >>> [warning.code for warning in layout_warnings(["- eggs", "- milk", "- bread"], 1)]
        ['list']
    """
    counts = count_lines(lines)
    found = []
    if counts.items >= max(FEWEST_ITEMS, ITEM_SHARE * sentences):
        found.append(LIST)
    if _is_transcript(counts, sentences):
        found.append(TRANSCRIPT)
    if counts.code >= max(FEWEST_ITEMS, ITEM_SHARE * sentences):
        found.append(UNKNOWN_WORDS)
    return tuple(found)


def unknown_word_warnings(sentences: Sequence[str]) -> tuple[TextWarning, ...]:
    """Return a warning if much of a text is no English words.

    Example:
        >>> [warning.code for warning in unknown_word_warnings(["Qxv zzrt kjh.", "Wpl mnb vfr tgb."])]
        ['unknown-words']
        >>> [warning.code for warning in unknown_word_warnings(["12 34.", "...", "5 + 6 = 11"])]
        ['unknown-words']
    """
    words, characters = word_share(sentences), sum(map(len, sentences))
    if characters == 0 or (characters < FEWEST_CHARACTERS and words > 0):
        return ()
    unreadable = (
        words < FEWEST_WORDS
        or gibberish_share(sentences, GIBBERISH) >= GIBBERISH
        or unknown_share(sentences) >= UNKNOWN
        or unreadable_share(sentences, UNREADABLE) >= UNREADABLE_SHARE
        or symbol_share(sentences) >= SYMBOLS
    )
    return (UNKNOWN_WORDS,) if unreadable else ()


def _is_transcript(counts: LineCounts, sentences: int) -> bool:
    labels = counts.speakers.total()
    # One of two speakers has several turns, or both are in capital letters; "Ingredients:" and "Method:" occur once.
    turns = len(counts.speakers) > 1 and max(counts.speakers.values()) > 1
    speaking = turns or counts.shouted >= FEWEST_LABELS
    least = max(FEWEST_LABELS, LABEL_SHARE * sentences)
    return (speaking and labels >= least) or counts.timestamps >= least


def _as_blocks(sentences: Iterable[str]) -> Iterable[str]:
    """Yield every sentence as a paragraph of one line."""
    for sentence in sentences:
        yield sentence.replace("\n", " ")
        yield ""
