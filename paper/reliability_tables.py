"""The tables of docs/reliability.md: what the attack counted, and the limits in the code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from weft.corpora.readers.barzilay_lapata import MAX_MEMBER_BYTES
from weft.corpora.readers.formatted.docx_files import MAX_MEMBERS, MAX_UNPACKED_BYTES
from weft.corpora.readers.formatted.office_files import MAX_FILE_BYTES
from weft.corpora.readers.formatted.pdf_files import MOST_CHARACTERS as PDF_CHARACTERS
from weft.corpora.readers.formatted.pdf_files import MOST_PAGES
from weft.corpora.readers.read_options import MAX_LINE_BYTES
from weft.corpora.text.text_limits import MOST_CHARACTERS, PART_BYTES, RUN_ON_BYTES, SENTENCE_BYTES
from weft.corpora.text.tokenizer_files import LARGEST_FILE
from weft.errors import MOST_CHARACTERS as MESSAGE_CHARACTERS
from weft.io.model_folder import LARGEST_MANIFEST
from weft.io.regular_files import LARGEST_TEXT
from weft.models.reader.text_tables import MUCH_CUT
from weft.ordering.order import MOST_ORDERED
from weft.report.table_formats import pipe
from weft.settings import HIGHEST_COUNT
from weft.training.config import LARGEST_CONFIG

MIB = 2**20


def attack_table(by_target: Mapping[str, Mapping[str, int]]) -> str:
    """Return one row per target of the attack, as Markdown.

    Example:
        >>> counts = {"inputs": 1200, "read": 700, "refused": 500, "fault": 0}
        >>> print(attack_table({"Python": counts}).splitlines()[2])
        | Python | 1,200 | 700 | 500 | 0 |
    """
    lines = [pipe(["target", "inputs", "read or run", "refused", "faults"]), pipe(["---"] * 5)]
    keys = ("inputs", "read", "refused", "fault")
    for name, counts in by_target.items():
        lines.append(pipe([name, *(f"{counts[key]:,}" for key in keys)]))
    return "\n".join(lines) + "\n"


def limits_table() -> str:
    """Return the limits of what weft reads, from the code, and what happens above them, as Markdown."""
    lines = [pipe(["of", "limit", "what happens above it"]), pipe(["---"] * 3)]
    return "\n".join([*lines, *(pipe(list(row)) for row in _limits())]) + "\n"


def _limits() -> Iterator[tuple[str, str, str]]:
    refused = "an error"
    yield "a line of text, a JSON line, a field of a table", _mib(MAX_LINE_BYTES), refused
    yield "a file of Markdown, HTML or subtitles", _mib(MAX_LINE_BYTES), refused
    yield (
        "a Word document",
        f"{_mib(MAX_FILE_BYTES)}, {_mib(MAX_UNPACKED_BYTES)} unpacked, {MAX_MEMBERS:,} parts",
        refused,
    )
    yield "a PDF", f"{_mib(MAX_FILE_BYTES)}, {MOST_PAGES:,} pages, {PDF_CHARACTERS:,} characters", refused
    yield "a text of the Barzilay & Lapata layout", _mib(MAX_MEMBER_BYTES), refused
    yield "a sentence", f"{SENTENCE_BYTES:,} bytes", "models read its beginning; warning `long-sentence`"
    yield (
        "text without any mark that ends a sentence", f"{RUN_ON_BYTES:,} bytes",
        f"cut at spaces into parts of {PART_BYTES} bytes; warning `long-sentence`",
    )  # fmt: skip
    yield "the share of a text that a `reader` cuts off", f"{MUCH_CUT:.0%}", "warning `long-sentence`"
    yield "text that is looked at for warnings", f"{MOST_CHARACTERS:,} characters", "the rest gives no warnings"
    yield (
        "a text to order",
        f"{MOST_ORDERED:,} sentences",
        f"{refused}; none for a model that sorts, such as `year-sort`",
    )
    yield "a count, such as `--limit` or `--beam`", f"{HIGHEST_COUNT:,}, some less", refused
    yield "a configuration", _mib(LARGEST_CONFIG), refused
    yield "a tokenizer file", _mib(LARGEST_FILE), refused
    yield "the `model.json` of a model", _mib(LARGEST_MANIFEST), refused
    yield "another file of a model, except its weights", _mib(LARGEST_TEXT), refused
    yield "a part of an error message", f"{MESSAGE_CHARACTERS} characters", "its middle is left out"


def _mib(count: int) -> str:
    return f"{count // MIB:,} MiB"
