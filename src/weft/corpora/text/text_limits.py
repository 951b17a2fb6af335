"""How much of a long text is looked at for warnings, and how much of a long sentence is read.

The time and the memory of a network with attention grow with the square of the length of a sentence. A limit for each
sentence makes them linear in the length of the text. It is in bytes of UTF-8, because no tokenizer makes more tokens
than bytes; English text has about one token for every four to five.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from weft.document import Document, TextWarning

MOST_CHARACTERS = 100_000  # about 15,000 words; what comes after does not change what is said about a text
SENTENCE_BYTES = 4000  # about 700 English words; models read this much of a sentence
PART_BYTES = 300  # about 55 English words; a stretch of text without any end of a sentence is cut into these
RUN_ON_BYTES = 600  # about 110 English words; so much text without any mark that ends a sentence has no punctuation
END_MARKS = frozenset(".!?…。！？؟।")
WIDEST = 4  # bytes of a character in UTF-8, at most
_LOSSY = "surrogatepass"  # a lone surrogate is no character, but has a length

LONG_SENTENCE = TextWarning(
    "long-sentence", f"a sentence is longer than {SENTENCE_BYTES:,} bytes, and only its beginning is read"
)
NO_SENTENCE_ENDS = TextWarning(
    "long-sentence", f"no sentence ends in a long stretch of text; it is cut into parts of at most {PART_BYTES} bytes"
)


def clipped(sentences: Sequence[str], most: int = MOST_CHARACTERS) -> list[str]:
    """Return the first sentences of a text, at most so many characters together; the last one may be cut.

    Example:
        >>> clipped(["abc", "defg", "h"], most=5)
        ['abc', 'de']
    """
    found: list[str] = []
    for sentence in sentences:
        if most <= 0:
            break
        found.append(sentence[:most])
        most -= len(sentence)
    return found


def is_long(sentence: str) -> bool:
    """Return whether a sentence has more bytes than models read of one.

    Example:
        >>> is_long("It rained."), is_long("and then " * 1000)
        (False, True)
    """
    if len(sentence) * WIDEST <= SENTENCE_BYTES:
        return False
    return len(sentence) > SENTENCE_BYTES or len(sentence.encode("utf-8", _LOSSY)) > SENTENCE_BYTES


def is_run_on(sentence: str) -> bool:
    """Return whether a sentence is too long to be one, or long and without any mark that ends a sentence.

    Example:
        >>> [is_run_on(text) for text in ("and then " * 100, "and then " * 99 + "it rained.", "and then " * 1000 + ".")]
        [True, False, True]
    """
    if len(sentence) * WIDEST <= RUN_ON_BYTES:
        return False
    unmarked = END_MARKS.isdisjoint(sentence) and len(sentence.encode("utf-8", _LOSSY)) > RUN_ON_BYTES
    return unmarked or is_long(sentence)


def readable_sentence(sentence: str) -> str:
    """Return what models read of a sentence: all of it, or its first `SENTENCE_BYTES` bytes up to a space.

    Example:
        >>> readable_sentence("It rained."), len(readable_sentence("and then " * 1000))
        ('It rained.', 3999)
    """
    return sentence if not is_long(sentence) else next(_parts(sentence, SENTENCE_BYTES))


def readable(document: Document) -> Document:
    """Return a document with what models read of its sentences; the same document if no sentence is too long.

    Example:
        >>> document = Document("d", ("It rained.", "and then " * 1000))
        >>> len(readable(document)), len(readable(document).sentences[1])
        (2, 3999)
    """
    if not any(map(is_long, document.sentences)):
        return document
    return replace(document, sentences=tuple(map(readable_sentence, document.sentences)))


def without_run_ons(sentences: Iterable[str]) -> tuple[str, ...]:
    """Return sentences; a run-on, such as a transcript without punctuation, is cut into parts at spaces.

    Example:
        >>> [len(part) for part in without_run_ons(["It rained.", "and then " * 450])][:3]
        [10, 300, 296]
    """
    found: list[str] = []
    for sentence in sentences:
        found.extend(_parts(sentence, PART_BYTES) if is_run_on(sentence) else [sentence])
    return tuple(found)


def _parts(sentence: str, most: int) -> Iterator[str]:
    """Yield parts of at most so many bytes, which end at a space if they have one."""
    place = 0
    while place < len(sentence):
        part = _first_bytes(sentence[place : place + most], most)
        if place + len(part) < len(sentence) and not sentence[place + len(part)].isspace():
            space = part.rfind(" ")
            part = part[:space] if space > 0 else part
        place += len(part)
        if kept := part.strip():
            yield kept


def _first_bytes(text: str, most: int) -> str:
    """Return as many characters as fit into so many bytes."""
    encoded = text.encode("utf-8", _LOSSY)
    if len(encoded) <= most:
        return text
    end = most
    while encoded[end] & 0xC0 == 0x80:  # the middle of a character
        end -= 1
    return encoded[:end].decode("utf-8", _LOSSY)
