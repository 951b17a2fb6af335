"""Wiki markup as plain paragraphs.

Templates, tables, references, files, categories, lists and headings are removed; links and emphasis keep their words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from weft.corpora.readers.unclosed_markup import without_unclosed

# Elements whose content is not running text. The parser returns wiki tables as <table>.
_DROPPED_TAG_NAMES = """
ref references table gallery math chem timeline score syntaxhighlight source pre imagemap hiero templatestyles
mapframe maplink graph indicator noinclude style script
"""
_DROPPED_TAGS = frozenset(_DROPPED_TAG_NAMES.split())
_LIST_TAGS = frozenset(("li", "dt", "dd"))
# [[File:...]], [[Category:...]] and links to other languages ([[de:...]]) are not shown in the text.
# Language links are lower case without a space, unlike [[CSI: Miami]].
_DROPPED_LINK = re.compile(r"\s*((?i:file|image|category|media)\s*:|[a-z]{2,3}(-[a-z-]+)?:\S)")
_SWITCH = re.compile(r"__[A-Z]+__")
# {{convert|5|km|mi}} is shown as "5 km"; without it, the sentence would lose its number. The value is the slice of the
# unnamed parameters that is shown.
_SHOWN_TEMPLATES = {
    "convert": slice(0, 2),
    "cvt": slice(0, 2),
    "nowrap": slice(0, 1),
    "lang": slice(1, 2),
    "transliteration": slice(1, 2),
}
# A private-use character that marks list items until their lines are removed.
_ITEM = "\ue000"


def plain_paragraphs(wikitext: str) -> list[str]:
    r"""Return the paragraphs of running text of an article.

    Returns:
        Its paragraphs as plain text, which may contain single newlines.

    Example:
        >>> plain_paragraphs("{{Infobox|a=1}}'''Rain''' is [[water|wet]].<ref>x</ref>\n== See ==\n* [[Snow]]")
        ['Rain is wet.']
    """
    import mwparserfromhell  # imported here: `import weft` stays fast

    text = _SWITCH.sub("", _render(mwparserfromhell.parse(without_unclosed(wikitext))))
    lines = ("" if _ITEM in line else line for line in text.split("\n"))
    blocks = re.split(r"\n\s*\n", "\n".join(lines))
    return [_punctuated(block) for block in blocks if block.strip()]


def _punctuated(block: str) -> str:
    """Remove the empty brackets and spaces before punctuation that removed templates leave."""
    # Both patterns take linear time: the second begins at the beginning of a run of spaces alone.
    without_brackets = re.sub(r"\([,;:\s]*\)", "", block)
    return re.sub(r"(?<![ \t])[ \t]+([,.;:!?])(?=\s|$)", r"\1", without_brackets).strip()


def _render(code: Any) -> str:
    # One walk over the tree; wikicode.remove() searches the whole page for every node, which takes quadratic time.
    return "".join(map(_render_node, code.nodes))


def _render_node(node: Any) -> str:
    match type(node).__name__:
        case "Text":
            return str(node.value)
        case "Wikilink":
            return _link(node)
        case "Tag":
            return _tag(node)
        case "Template":
            return _template(node)
        case "ExternalLink":
            return _render(node.title) if node.title else ""
        case "HTMLEntity":
            return str(node.normalize())
        case "Heading":
            return "\n\n"
        case _:  # comments and arguments
            return ""


def _link(node: Any) -> str:
    target = str(node.title)
    if _DROPPED_LINK.match(target):
        return ""
    return _render(node.text) if node.text is not None else target.removeprefix(":")


def _tag(node: Any) -> str:
    name = str(node.tag).strip().lower()
    if name in _DROPPED_TAGS:
        return ""
    if name in _LIST_TAGS:
        return _ITEM
    if name in ("br", "hr"):
        return "\n"
    if name in ("p", "div", "blockquote", "center"):
        return f"\n\n{_render(node.contents)}\n\n"
    return _render(node.contents) if node.contents is not None else ""


def _template(node: Any) -> str:
    name = str(node.name).strip().lower()
    shown = _SHOWN_TEMPLATES.get(name)
    if shown is None:
        return ""
    positional = [parameter for parameter in node.params if not parameter.showkey]
    return " ".join(_words(positional[shown]))


def _words(parameters: list[Any]) -> Iterator[str]:
    return (text for parameter in parameters if (text := _render(parameter.value).strip()))
