"""Wiki markup that is opened and never closed.

The parser reads to the end of the page for every link, template or tag that is not closed, and then begins again after
it: quadratic time. A page has a few of them by mistake; where there are very many, they are removed before parsing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST = 100  # unclosed openings of a page that the parser gets as they are
_CLOSINGS = {"]]": "[[", "}}": "{{", "-->": "<!--", "]": "["}
_MARK = re.compile(
    r"\[\[|\]\]|\{\{|\}\}|<!--|-->|\[(?=[\w+.-]{1,20}:|//)|\]|<(?P<end>/?)(?P<name>[A-Za-z][\w-]{0,40})(?P<rest>[^<>]*)(?P<close>>?)"
)


@dataclass(frozen=True, slots=True)
class _Opening:
    kind: str  # the mark, or the name of the tag
    begin: int
    end: int


def without_unclosed(wikitext: str) -> str:
    """Return a page without its unclosed openings of links, templates, comments and tags if there are very many.

    Takes linear time.

    Example:
        >>> without_unclosed("[[Rain]] is [[wet")
        '[[Rain]] is [[wet'
        >>> without_unclosed("[[Rain]] " + "[[a " * 1000)[:20]
        '[[Rain]] a a a a a a'
    """
    unclosed = _unclosed(wikitext)
    if len(unclosed) <= MOST:
        return wikitext
    parts, place = [], 0
    for opening in sorted(unclosed, key=lambda one: one.begin):
        parts.append(wikitext[place : opening.begin])
        place = opening.end
    return "".join([*parts, wikitext[place:]])


def _unclosed(wikitext: str) -> list[_Opening]:
    """Return the openings without a closing; one that ends after the end of what it stands in counts as unclosed."""
    from mwparserfromhell.definitions import is_single

    stack: list[_Opening] = []
    waiting: dict[str, int] = {}  # number of openings of each kind on the stack
    unclosed: list[_Opening] = []
    for found in _MARK.finditer(wikitext):
        mark, name = found.group(), (found["name"] or "").lower()
        if name and not found["close"]:
            unclosed.append(_Opening(name, found.start(), found.start() + 1))  # a tag without its end
        elif name and not found["end"] and (found["rest"].endswith("/") or is_single(name)):
            continue
        elif found["end"] or mark in _CLOSINGS:
            _close(name or _CLOSINGS[mark], stack, waiting, unclosed)
        else:
            kind = name or mark
            stack.append(_Opening(kind, *found.span()))
            waiting[kind] = waiting.get(kind, 0) + 1
    return unclosed + stack


def _close(kind: str, stack: list[_Opening], waiting: dict[str, int], unclosed: list[_Opening]) -> None:
    """Take the last opening of a kind from the stack; those after it are unclosed."""
    if not waiting.get(kind):
        return
    while stack:
        opening = stack.pop()
        waiting[opening.kind] -= 1
        if opening.kind == kind:
            return
        unclosed.append(opening)
