"""A text as blocks: paragraphs, headings, list items and cells, as documents with markup have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from weft.corpora.readers.read_options import DEFAULT_OPTIONS, ReadOptions
from weft.corpora.readers.text_document import is_cleaned, text_document
from weft.corpora.text.sentences import assemble, split_block
from weft.corpora.text.text_warnings import layout_warnings
from weft.document import Document

Kind = Literal["paragraph", "heading", "item", "cell"]
CELL_WORDS = 12  # a cell of a table with fewer words is no running text


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a text.

    Attributes:
        kind: What it is.
        text: Its words; line breaks in it count as spaces.
    """

    kind: Kind
    text: str


def document_of_blocks(
    name: str, blocks: Iterable[Block], options: ReadOptions = DEFAULT_OPTIONS, *, title: str = ""
) -> Document:
    """Return the running text of blocks as a document.

    A heading is no sentence: the first one is the title, if there is no other. The items of a list are one paragraph,
    and every item is split into sentences by itself. Cells of tables are omitted unless they hold running text.

    Example:
        >>> blocks = [Block("heading", "Rain"), Block("paragraph", "It fell. He slept."), Block("item", "eggs")]
        >>> document = document_of_blocks("d", blocks)
        >>> document.title, document.sentences, document.paragraph_starts
        ('Rain', ('It fell.', 'He slept.', 'eggs'), (0, 2))
    """
    filled = [replace(block, text=" ".join(block.text.split())) for block in blocks]
    filled = [block for block in filled if block.text]
    title = title or next((block.text for block in filled if block.kind == "heading"), "")
    if is_cleaned(options):
        shown = (block.text for block in filled if block.kind != "heading" and _is_running(block))
        return text_document(name, "\n\n".join(shown), options, title=title)
    paragraphs = list(_paragraphs(filled))
    split = ([one for text in texts for one in split_block(text, options.language)] for _, texts in paragraphs)
    document = assemble(name, split, title)
    return replace(document, layout_warnings=layout_warnings(_lines(paragraphs), len(document)))


def _paragraphs(blocks: Sequence[Block]) -> Iterator[tuple[str, list[str]]]:
    """Yield paragraphs and lists, each with its kind and the texts in it."""
    for kind, group in groupby(blocks, key=lambda block: block.kind):
        texts = [block.text for block in group if _is_running(block)]
        if kind == "item":
            yield kind, texts
        elif kind != "heading":
            yield from ((kind, [text]) for text in texts)


def _is_running(block: Block) -> bool:
    ended = block.text.endswith((".", "!", "?", "…", "”", '"'))
    return block.kind != "cell" or (ended and len(block.text.split()) >= CELL_WORDS)


def _lines(paragraphs: Iterable[tuple[str, list[str]]]) -> Iterator[str]:
    """Yield the lines that a plain text of these paragraphs has, for warnings."""
    for kind, texts in paragraphs:
        yield from (f"- {text}" if kind == "item" else text for text in texts)
        yield ""
