"""How often sound English texts have each warning, by genre.

Every text is looked at in four ways: as sentences, as a text with one line per paragraph, as a text with lines of 72
characters, and in excerpts of five sentences. Prints one line per genre with the share of texts that have each
warning in any of the first three ways, and the share of excerpts; --show names the texts.

    python benchmarks/warning_rates.py $WEFT_DATA/genres/dev.jsonl.xz $WEFT_DATA/wikipedia/dev.jsonl.xz
"""

from __future__ import annotations

import argparse
import textwrap
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from weft.corpora.readers.jsonl import document_of, read_records
from weft.corpora.text.sentences import document_of_text
from weft.corpora.text.text_warnings import text_warnings
from weft.document import Document

CODES = ("not-english", "mixed-languages", "list", "transcript", "repetition", "unknown-words")
EXCERPT, MOST_EXCERPTS, COLUMNS = 5, 4, 72


def main() -> None:
    """Print the rates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="JSON lines with paragraphs, and a genre or none")
    parser.add_argument("--most", type=int, default=2000, help="texts of a genre")
    parser.add_argument("--show", action="store_true", help="name the texts with a warning")
    options = parser.parse_args()
    started, counted = time.perf_counter(), Rates()
    for genre, document in _documents(options.files, options.most):
        counted.add(genre, document, show=options.show)
    counted.write()
    print(f"{sum(counted.texts.values())} texts in {time.perf_counter() - started:.0f} s")


class Rates:
    """Counts warnings by genre."""

    def __init__(self) -> None:
        self.texts: Counter[str] = Counter()
        self.excerpts: Counter[str] = Counter()
        self.found: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.short: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def add(self, genre: str, document: Document, *, show: bool) -> None:
        """Count the warnings about a text and about its excerpts."""
        codes = {warning.code for form in _forms(document) for warning in text_warnings(form)}
        self.texts[genre] += 1
        self.found[genre].update(codes)
        if show and codes & set(CODES):
            print(genre, document.id, *sorted(codes & set(CODES)))
        for excerpt in _excerpts(document):
            self.excerpts[genre] += 1
            self.short[genre].update(warning.code for warning in text_warnings(excerpt))

    def write(self) -> None:
        """Print a line per genre."""
        print(f"{'genre':12}{'texts':>7}{'excerpts':>10}", *(f"{code:>16}" for code in CODES))
        for genre, texts in sorted(self.texts.items()):
            print(f"{genre:12}{texts:7}{self.excerpts[genre]:10}", *(self._cell(genre, code) for code in CODES))

    def _cell(self, genre: str, code: str) -> str:
        whole = self.found[genre][code] / self.texts[genre]
        short = self.short[genre][code] / max(1, self.excerpts[genre])
        return f"{whole:8.1%}{short:8.1%}"


def _documents(files: Iterable[Path], most: int) -> Iterator[tuple[str, Document]]:
    for file in files:
        seen: Counter[str] = Counter()
        for record in read_records(file):
            genre = str(record.fields.get("genre", file.parent.name))
            seen[genre] += 1
            if seen[genre] <= most:
                yield genre, document_of(record)


def _forms(document: Document) -> Iterator[Document]:
    yield document
    paragraphs = [" ".join(paragraph.sentences) for paragraph in document.paragraphs()]
    wrapped = (textwrap.fill(paragraph, COLUMNS) for paragraph in paragraphs)
    yield document_of_text(document.id, "\n\n".join(paragraphs))
    yield document_of_text(document.id, "\n\n".join(wrapped))


def _excerpts(document: Document) -> Iterator[Document]:
    starts: Any = range(0, len(document) - EXCERPT + 1, EXCERPT)
    for start in starts[:MOST_EXCERPTS]:
        yield document.reorder(range(start, start + EXCERPT))


if __name__ == "__main__":
    main()
