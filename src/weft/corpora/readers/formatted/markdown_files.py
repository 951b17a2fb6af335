"""Markdown: its running text as blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from weft.corpora.readers.formatted.blocks import Block, Kind, document_of_blocks
from weft.corpora.readers.formatted.html_pages import html_blocks
from weft.corpora.readers.lines import read_all
from weft.corpora.readers.read_options import DEFAULT_OPTIONS, ReadOptions
from weft.corpora.readers.text_document import kept
from weft.document import Document
from weft.io.compressed_streams import Source, stem_of

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MOST_MARKS = 2000  # of a paragraph; the time of the parser grows with their square
_MARKS = re.compile(r"[\[\]*_`<>!~]")
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.{0,20000}?\n)(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_TITLE = re.compile(r"^title:[ \t]*(.{1,500})$", re.MULTILINE)


def read_markdown(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    r"""Yield a Markdown file as one document; its title is that of the front matter, else its first heading.

    Code, tables and images are omitted; links and emphasis keep their words.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.md"
        >>> _ = path.write_text("# Rain\nIt *fell*. [He](x.html)\nslept.\n\n- eggs\n- milk\n")
        >>> document = next(read_markdown(path))
        >>> document.title, document.sentences, document.paragraph_starts
        ('Rain', ('It fell.', 'He slept.', 'eggs', 'milk'), (0, 2))
    """
    text = read_all(source, options)
    title = ""
    if front := _FRONT_MATTER.match(text):
        named = _TITLE.search(front[1])
        title, text = named[1].strip(" \"'") if named else "", text[front.end() :]
    document = document_of_blocks(stem_of(source), markdown_blocks(text), options, title=title)
    yield from kept(document, options)


def markdown_blocks(text: str) -> list[Block]:
    r"""Return the blocks of a text in Markdown.

    Example:
        >>> markdown_blocks("> One\n\n1. Two `x`\n")
        [Block(kind='paragraph', text='One'), Block(kind='item', text='Two x')]
    """
    from markdown_it import MarkdownIt  # imported here: `import weft` stays fast

    parser = MarkdownIt("commonmark").enable("table").disable("inline")
    found, heading, item, cell = list[Block](), 0, 0, 0
    for token in parser.parse(text):
        heading += token.nesting * (token.type.startswith("heading"))
        item += token.nesting * (token.type.startswith("list_item"))
        cell += token.nesting * (token.type.startswith(("th_", "td_")))
        if token.type == "inline":
            kind: Kind = "heading" if heading else "item" if item else "cell" if cell else "paragraph"
            found.append(Block(kind, _words(parser, token.content)))
        elif token.type == "html_block":
            found += html_blocks(token.content)
    return found


def _words(parser: MarkdownIt, content: str) -> str:
    """Return the words of a paragraph without its marks."""
    if len(_MARKS.findall(content)) > MOST_MARKS:
        return _MARKS.sub("", content)
    tokens: list[Token] = []
    parser.inline.parse(content, parser, {}, tokens)
    breaks = ("softbreak", "hardbreak")
    return "".join("\n" if one.type in breaks else one.content for one in tokens if _is_shown(one))


def _is_shown(token: Token) -> bool:
    return token.type in ("text", "text_special", "code_inline", "softbreak", "hardbreak")
