"""Transcripts: the turns of one speaker, and texts without speaker labels, timestamps, fillers and noises."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from weft.corpora.text.line_layout import split_label
from weft.errors import ConfigError, did_you_mean

PARTS = ("labels", "timestamps", "fillers", "noises")
# Sounds without a meaning. Written in capital letters they may be words ("the ER"), and after a number a unit ("5 mm").
FILLERS = {
    "en": "[Uu]h+m*|[Uu]m+|[Ee]r+m*|[Ee]hm+|[Hh]m+|[Mm]m+|[Mm]hm+",
    "de": "[Ää]h+m*|[Öö]h+m*|[Ee]hm+|[Hh]m+|[Mm]hm+",
    "fr": "[Ee]uh+m*|[Hh]eu+|[Hh]m+|[Mm]m+",
    "es": "[Ee]h+m*|[Ee]m+|[Hh]m+|[Mm]m+",
}
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?"
_TIMING = re.compile(rf"^\s*{_CLOCK}\s*-->\s*{_CLOCK}.*$")
_SPAN = rf"{_CLOCK}(?:\s*[-–—]+>?\s*{_CLOCK})?"
_TIMES = re.compile(rf"[\[(<]\s*{_SPAN}\s*[\])>]|^\s*{_SPAN}(?=\s|$)")
_SOUNDS = "applause|breath|clears|cough|cross ?talk|crying|inaudible|laugh|music|noise|pause|sigh|silence|sniff"
_NOISES = re.compile(rf"\[[^\[\]]{{1,40}}\]|\((?:{_SOUNDS})[^()]{{0,30}}\)|[♪♫]+", re.IGNORECASE)


def check_parts(parts: Sequence[str], language: str) -> None:
    """Raise ConfigError if a part of transcripts is unknown, or if the fillers of a language are.

    Example:
        >>> check_parts(("labels", "fillers"), "en-GB")
    """
    unknown = next((part for part in parts if part not in PARTS), None)
    if unknown is not None:
        raise ConfigError(
            "unknown part of a transcript",
            seen=unknown,
            allowed=did_you_mean(unknown, PARTS),
            next_step="choose some of them with `clean`, such as labels and timestamps",
        )
    if "fillers" in parts and _code(language) not in FILLERS:
        raise ConfigError(
            "the fillers of this language are not known",
            seen=language,
            allowed=", ".join(FILLERS),
            next_step="omit fillers from `clean`",
        )


def cleaned_lines(
    lines: Iterable[str], *, speaker: str = "", parts: Sequence[str] = (), language: str = "en"
) -> Iterator[str]:
    """Yield the lines of a transcript that are kept, and an empty line before every turn whose label is removed.

    Args:
        lines: The lines; one without a label belongs to the turn before it.
        speaker: The speaker whose turns are kept, without their labels; by default all are kept.
        parts: What to remove: ``labels``, ``timestamps``, ``fillers``, ``noises``.
        language: The language of the fillers.

    Example:
        >>> lines = ["[00:01] DOCTOR: How are you?", "[00:04] PATIENT: Um, I slept.", "It was, uh, good."]
        >>> list(cleaned_lines(lines, speaker="patient", parts=("fillers",)))
        ['', 'I slept.', 'It was good.']
    """
    wanted = speaker.casefold().strip()
    kept = not wanted
    for line in lines:
        name, rest = split_label(line) if wanted or "labels" in parts else ("", line)
        if name:
            kept = not wanted or name.casefold() == wanted
            if kept:
                yield ""
        text = _cleaned(rest, parts, language) if kept else ""
        if kept and (text or not line.strip()):
            yield text


def speakers_in(lines: Iterable[str]) -> list[str]:
    """Return the speaker labels of a transcript, in the order of their first turns.

    Example:
        >>> speakers_in(["ANNA: Hi.", "BOB: Hello.", "ANNA: Bye."])
        ['ANNA', 'BOB']
    """
    return list(dict.fromkeys(name for line in lines if (name := split_label(line)[0])))


def _cleaned(line: str, parts: Sequence[str], language: str) -> str:
    if "timestamps" in parts:
        line = _TIMES.sub(" ", _TIMING.sub("", line))
    if "noises" in parts:
        line = _NOISES.sub(" ", line)
    if "fillers" in parts:
        line = without_fillers(line, language)
    return _joined(line) if parts else line


def without_fillers(text: str, language: str = "en") -> str:
    """Return a text without sounds such as "um", and without the commas around them.

    Example:
        >>> without_fillers("Um, I went, uh, to the ER. Hmm. It was 5 mm.")
        'I went to the ER. It was 5 mm.'
    """
    filler = rf"(?<![\w'’-])(?<!\d )(?:{FILLERS[_code(language)]})(?![\w'’-])"
    opening = re.compile(rf"(^\s*|[.?!…]\s+)((?:{filler}(?:[.,?!…]+|\s*[-–—]+)?\s*)+)(\w?)")
    text = opening.sub(lambda found: found[1] + (found[3].upper() if found[2][0].isupper() else found[3]), text)
    return _joined(re.sub(rf",?\s+(?:{filler}(?:,|…|\.\.\.)?\s*)+", " ", text))


def _joined(text: str) -> str:
    """Return a text with single spaces, and without spaces before punctuation, that removed words leave."""
    return re.sub(r" +([,.;:!?…])", r"\1", " ".join(text.split())).lstrip(",;: ")


def _code(language: str) -> str:
    return language.replace("_", "-").partition("-")[0].lower()
