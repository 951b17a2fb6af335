"""The language of a text: English, another language, or English mixed with another one.

``py3langid`` decides. It is loaded for the first text with many words that are not common English ones, because it
takes most of a second and 100 MB: most English texts never need it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from weft.corpora.text.text_limits import clipped

FEWEST_LETTERS = 5  # a text with fewer letters is not judged
COMMON_SHARE = 0.25  # of the words of a sentence; with as many common English words it is taken for English
MIXED_SHARE = 0.2  # of the letters; with less in another language a text is not called mixed
FEWEST_FOREIGN_LETTERS = 30  # of the other language in a mixed text
MOST_ENGLISH = 0.05  # probability of English in a text that is called foreign
LEAST_SURE, SURE = 0.3, 0.5  # probability of the language of a whole text, and of a single sentence
OTHER_ALPHABET = 0.1  # probability of the language of a text in other letters than Latin ones, which is not English
MOST_SENTENCES = 200  # later ones are not judged one by one

ENGLISH, NO_LANGUAGE = "en", "zxx"
# The languages that are told apart. py3langid knows more, but takes a short text in Spanish for one in Venetian.
LANGUAGES = {
    "af": "Afrikaans", "am": "Amharic", "ar": "Arabic", "az": "Azerbaijani", "be": "Belarusian", "bg": "Bulgarian",
    "bn": "Bengali", "ca": "Catalan", "cs": "Czech", "cy": "Welsh", "da": "Danish", "de": "German", "el": "Greek",
    "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian",
    "fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician", "gu": "Gujarati", "ha": "Hausa", "he": "Hebrew",
    "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian", "is": "Icelandic",
    "it": "Italian", "ja": "Japanese", "ka": "Georgian", "kk": "Kazakh", "km": "Khmer", "kn": "Kannada",
    "ko": "Korean", "la": "Latin", "lo": "Lao", "lt": "Lithuanian", "lv": "Latvian", "mk": "Macedonian",
    "ml": "Malayalam", "mn": "Mongolian", "mr": "Marathi", "ms": "Malay", "my": "Burmese", "ne": "Nepali",
    "nl": "Dutch", "no": "Norwegian", "pa": "Punjabi", "pl": "Polish", "ps": "Pashto", "pt": "Portuguese",
    "ro": "Romanian", "ru": "Russian", "si": "Sinhala", "sk": "Slovak", "sl": "Slovenian", "so": "Somali",
    "sq": "Albanian", "sr": "Serbian", "sv": "Swedish", "sw": "Swahili", "ta": "Tamil", "te": "Telugu", "th": "Thai",
    "tl": "Filipino", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "uz": "Uzbek", "vi": "Vietnamese",
    "yo": "Yoruba", "zh": "Chinese", "zu": "Zulu",
}  # fmt: skip

_WORDS = re.compile(r"[^\W\d_]+")
# Some are also words of Dutch, German or Spanish, but less than a sixth of the words of a text in these languages.
_COMMON_WORDS = """
the of and to a in is was it that for on as with by at from he his she her they their this which be
are were had has have not or an but been who its would when there one if will into after over all
more other some only than then about could did you your we our us my me him them what how where
while because before during through between two first also no so up out i do can said
"""
_COMMON = frozenset(_COMMON_WORDS.split())


@dataclass(frozen=True, slots=True)
class Language:
    """A language other than English in a text.

    Attributes:
        name: Its English name, such as ``German``.
        whole: Whether it is the language of the whole text; a mixed text also has English.
    """

    name: str
    whole: bool = True


def foreign_language(sentences: Sequence[str]) -> Language | None:
    """Return the language of a text that is not English, or the other language of a mixed one; None for English.

    A text that is too short to decide, or that is in no language at all, also gives None.

    Example:
        >>> foreign_language(["The dog barks at the cat, and the cat runs into the garden."])
        >>> foreign_language(["Der Hund bellt die Katze an, und die Katze läuft schnell davon."])
        Language(name='German', whole=True)
    """
    sentences = clipped(sentences)
    sizes = list(map(_size, sentences))
    total = sum(sizes)
    doubtful = sum(size for sentence, size in zip(sentences, sizes, strict=True) if not _has_common_words(sentence))
    if total < FEWEST_LETTERS or doubtful < MIXED_SHARE * total:
        return None
    languages = Counter[str]()
    for sentence, size in zip(sentences[:MOST_SENTENCES], sizes, strict=False):
        languages[_judged(sentence, SURE)] += size
    english = languages.pop(ENGLISH, 0)
    text = " ".join(sentences)
    whole = _judged(text, LEAST_SURE if _is_latin(text) else OTHER_ALPHABET)
    if whole in LANGUAGES and whole != ENGLISH and english < MIXED_SHARE * total:
        return Language(LANGUAGES[whole])
    return _other_language(languages, total)


def _other_language(sizes: Counter[str], total: int) -> Language | None:
    """Return the language other than English of a mixed text, given the size of its parts in each language."""
    foreign = Counter({name: size for name, size in sizes.items() if name in LANGUAGES})
    if foreign.total() < max(MIXED_SHARE * total, FEWEST_FOREIGN_LETTERS):
        return None
    return Language(LANGUAGES[foreign.most_common(1)[0][0]], whole=False)


def looks_english(sentences: Sequence[str]) -> bool:
    """Return whether a text may be English; True if it is too short to decide, or mixed.

    Example:
        >>> looks_english(["这只狗在叫。猫看到了狗。"])
        False
    """
    found = foreign_language(sentences)
    return found is None or not found.whole


def _size(sentence: str) -> int:
    """Return the number of letters; a Chinese or Japanese one counts as three."""
    return len("".join(_WORDS.findall(sentence)).encode("utf-8", "surrogatepass"))


def _is_latin(text: str) -> bool:
    letters = "".join(_WORDS.findall(text))
    return 2 * sum(map(str.isascii, letters)) > len(letters)


def _has_common_words(sentence: str) -> bool:
    found = _WORDS.findall(sentence.lower())
    return sum(word in _COMMON for word in found) > COMMON_SHARE * len(found)


def _judged(text: str, least_sure: float) -> str:
    """Return the code of a text's language; an empty string if the identifier is not sure."""
    shares: dict[str, float] = dict(_identifier().rank(text))
    code = max(shares, key=lambda name: shares[name])
    sure = shares[code] >= least_sure and (code == ENGLISH or shares[ENGLISH] <= MOST_ENGLISH)
    return code if sure else ""


@lru_cache(maxsize=1)
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # imported here: `import weft` stays fast

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages([*LANGUAGES, NO_LANGUAGE])
    return identifier
