"""What the lines of a text show before it is split into sentences: lists, headings, tables, speakers, timestamps, code.

A line break inside a paragraph is lost when a text is split into sentences, so the readers look at the lines first.
A text that is already split has one line per sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice

LONGEST_LINE = 400  # characters of a line that are looked at
MOST_LINES = 5000  # of a text; later lines are not looked at
HEADING_WORDS = 8  # a heading has no more words
SHORT_LINE_WORDS, SHORT_LINES = 4, 4  # so many lines in a row, each with no more words, are a list without bullets
COLUMN_MARKS, COMMAS = 2, 3  # at the least in the row of a table, and in one of comma-separated values

# A second bracket follows in the numbers of sections: "§ 8 (a) (1)" may be split before its first bracket.
_ITEM = re.compile(r"(?:[-*+•·‣◦▪●○✓✔☐]|\[[ xX]?\]|\(?\d{1,2}[.)]|\(?(?:[a-z]|[ivx]{2,4})\))\s+[^\s(]")
_MARKED_HEADING = re.compile(r"#{1,6}\s+\S|={3,}$|-{3,}$|<h[1-6]")
_INLINE_ITEM = re.compile(r"(?:^|\s)[•·‣◦▪●]\s")  # of a list that was joined into one line
_CODE = re.compile(
    r"import [\w.]+$|from [\w.]+ import \w.*$|(?:def|class|if|elif|for|while|with|except) .*:$|(?:else|try|finally):$"
    r"|[\w.]+\(.*\)[;:]?$|[\w.\[\]]+ [+*/-]?= .*$|.*[=(){}].*[;{}]$|[{}]+;?$|#include\b.*"
    r"|(?:SELECT|INSERT INTO|UPDATE) .*"
)
_GAP = re.compile(r"\S(?: {3,}|\t\s*)(?=\S)")
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d{1,3})?"
_TIME = re.compile(rf"{_CLOCK}(?:\s|$)|.{{0,40}}?[\[(<]{_CLOCK}[\])>]|{_CLOCK} --> ")
_CAPITAL = r"[^\W\d_a-z][\w.'’-]{0,30}"
_SPEAKER = re.compile(
    rf"(?:[\[(<]?{_CLOCK}[\])>]?\s*)?[-–—>*_\s]{{0,4}}"  # a timestamp, a dash or Markdown before the name
    rf"(?:(?P<name>{_CAPITAL}(?: [\w.'’-]{{1,30}}){{0,3}}?)"
    r"(?: ?[(\[][^()\[\]]{1,30}[)\]])?[*_]{0,2}:(?:[*_]{0,2}\s|$)"  # a remark such as (laughs) after it
    r"|<(?P<nick>[\w-]{1,30})>\s)"
)
# The name of a speaker in a play, in capital letters before a full stop; not the number of a section.
_CAST = re.compile(r"(?![IVXLC]+\.)(?P<name>[A-Z][A-Z'’-]{2,}(?: [A-Z][A-Z'’-]*){0,3})\.\s+(?=[^\W\d_a-z]|[\"'“‘(\[])")
_NAME_AND_TIME = re.compile(rf"(?P<name>{_CAPITAL}(?: [A-Z0-9][\w.'’-]{{0,30}}){{0,3}})\s+[\[(]?{_CLOCK}[\])]?$")
# Labels of structured abstracts, answers and asides; nobody speaks after them.
_LABELS = """
abstract aim aims answers background caution conclusion conclusions context design discussion example examples
findings hint important introduction method methods motivation note notes objective objectives ps purpose
result results setting significance step summary tip tips update warning
"""
_NOT_SPEAKERS = frozenset(_LABELS.split())


@dataclass(frozen=True, slots=True)
class LineCounts:
    """What was found in the lines of a text.

    Attributes:
        items: Lines that are list items, headings or rows of tables.
        speakers: How often each speaker label occurs.
        shouted: Labels in capital letters.
        timestamps: Lines with a timestamp at the start or in brackets.
        code: Lines of program code.
    """

    items: int = 0
    speakers: Counter[str] = field(default_factory=Counter)
    shouted: int = 0
    timestamps: int = 0
    code: int = 0


def count_lines(lines: Iterable[str]) -> LineCounts:
    r"""Return what was found in the lines of a text; blank lines separate its paragraphs.

    Example:
        >>> count_lines(["To buy", "", "- eggs", "- milk"]).items
        3
        >>> found = count_lines(["[00:12] ANNA: Hello.", "[00:14] Bob: Hi there."])
        >>> sorted(found.speakers), found.timestamps
        (['anna', 'bob'], 2)
    """
    items = shouted = timestamps = code = 0
    speakers = Counter[str]()
    for block in _blocks(islice(lines, MOST_LINES)):
        items += _items(block)
        timestamps += sum(_TIME.match(line) is not None for line in block)
        code += sum(_CODE.match(line) is not None for line in block)
        speakers.update(found["name"].lower() for line in block if (found := _CAST.match(line)))
        for name in filter(None, map(speaker, block)):
            speakers[name.lower()] += 1
            shouted += name.isupper() and len(name) > 1 and name.split()[0].rstrip(".").isalpha()
    return LineCounts(items, speakers, shouted, timestamps, code)


def speaker(line: str) -> str:
    """Return the speaker label at the start of a line, or an empty string.

    Example:
        >>> speaker("DR SMITH: Please sit down."), speaker("Note: it rains."), speaker("He said: no.")
        ('DR SMITH', '', '')
    """
    found = _SPEAKER.match(line)
    if found is None or found["nick"]:
        return found["nick"] if found else ""
    name: str = found["name"]
    # Every word of a name has a capital letter or is a number ("Speaker 2"): "He said:" is not a label.
    named = all(not word[0].islower() for word in name.split())
    return name if named and name.lower().split(" ")[0].rstrip(".") not in _NOT_SPEAKERS else ""


def split_label(line: str) -> tuple[str, str]:
    """Return the speaker label at the start of a line and the words after it; the label is empty if there is none.

    A line of a name and a time alone is a label too.

    Example:
        >>> split_label("[00:12] ANNA (laughs): Hello."), split_label("Speaker 1   0:07"), split_label("He said: no.")
        (('ANNA', 'Hello.'), ('Speaker 1', ''), ('', 'He said: no.'))
    """
    line = line.strip()
    if alone := _NAME_AND_TIME.match(line):
        return alone["name"], ""
    name, found = speaker(line), _SPEAKER.match(line)
    return (name, line[found.end() :].lstrip()) if name and found else ("", line)


def _blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    cut = (line[:LONGEST_LINE].strip() for line in lines)
    return (list(group) for filled, group in groupby(cut, key=bool) if filled)


def _items(block: Sequence[str]) -> int:
    """Return how many lines of a paragraph are no sentences or parts of sentences."""
    if len(block) >= SHORT_LINES and all(_unfinished(line, SHORT_LINE_WORDS) for line in block):
        return len(block)
    alone = len(block) == 1
    lines = sum(_is_item(line) or (_unfinished(line, HEADING_WORDS) and (alone or line.isupper())) for line in block)
    return lines + sum(max(0, len(_INLINE_ITEM.findall(line)) - 1) for line in block)


def _is_item(line: str) -> bool:
    return _ITEM.match(line) is not None or _MARKED_HEADING.match(line) is not None or _is_row(line)


def _is_row(line: str) -> bool:
    """Whether a line looks like the row of a table."""
    if line.count("|") >= COLUMN_MARKS or len(_GAP.findall(line)) >= COLUMN_MARKS:
        return True
    return line.count(",") >= COMMAS and ", " not in line and len(line.split()) <= line.count(",")


def _unfinished(line: str, words: int) -> bool:
    """Whether a line has few words and does not end in a punctuation mark."""
    return line[-1].isalnum() and len(line.split()) <= words
