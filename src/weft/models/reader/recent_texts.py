"""What a reader says about texts, and what it remembers of recent ones: the tables, and the windows of long texts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from weft.document import Document
from weft.models.reader.long_texts import ReadingPlan
from weft.models.reader.reader_settings import ReaderSettings, too_many_pairs
from weft.models.reader.text_tables import Sentences, TableReader, TextTables, long_memory, sorted_table_steps
from weft.models.reader.window_scores import WindowPlan, WindowScores, window_memory, window_steps
from weft.progress import Steps
from weft.scoring.text_soundness import sentence_soundness
from weft.scoring.uni_bi_mmi import BoundedCache

REMEMBERED = 64  # texts whose tables are cached, as many as are scored at once
MOST_PAIRED = 5000  # sentences whose pairs all fit into tables: 2.3 GB
SHUFFLES = 200  # of a text, that its own order is compared with


class RecentTexts:
    """The tables and windows of texts under the settings of a reader; those of recent texts are read once.

    Args:
        settings: The settings of the reader.
    """

    def __init__(self, settings: ReaderSettings) -> None:
        self.settings = settings
        self.tables: BoundedCache[Sentences, TextTables] = BoundedCache(REMEMBERED)
        self.long_tables = long_memory()
        self.windows = window_memory()

    def adjusted(self, settings: ReaderSettings) -> RecentTexts:
        """Return the same memory under other weights, which change what follows from a table, and no table."""
        other = RecentTexts(settings)
        other.tables, other.long_tables, other.windows = self.tables, self.long_tables, self.windows
        return other

    @property
    def group(self) -> int:
        """The number of sentences of a group, that of the longest training windows."""
        return min(self.settings.most, self.settings.slots)

    def is_long(self, document: Document) -> bool:
        """Return whether a text is read in windows to score it, and in groups to order it."""
        return len(document) > max(self.settings.slots, self.group)

    def table_steps(self, reader: TableReader, document: Document) -> Steps[TextTables]:
        """Return the tables of a text; those of a long one in steps.

        Raises:
            ConfigError: The text is so long that tables of all pairs do not fit into memory.
        """
        if len(document) > MOST_PAIRED:
            raise too_many_pairs(document, MOST_PAIRED)
        if not self.is_long(document):
            return self.tables.get(document.sentences, lambda: reader.tables([document.sentences])[0])
        plan = ReadingPlan(group=self.group)
        return (yield from sorted_table_steps(reader, document.sentences, plan, self.long_tables))

    def short_tables(self, reader: TableReader, documents: Sequence[Document]) -> dict[Sentences, TextTables]:
        """Return the tables of all texts that are not read in windows, read together; the last ones are remembered."""
        short = [document.sentences for document in documents if len(document) > 1 and not self.is_long(document)]
        texts = list(dict.fromkeys(short))
        found = dict(zip(texts, reader.tables(texts), strict=True))
        for sentences in texts[-REMEMBERED:]:
            self.tables.get(sentences, partial(found.__getitem__, sentences))
        return found

    def weighed(self, document: Document, tables: TextTables) -> TextTables:
        """Return tables in which the precedence of neighbours is part of the gain of the next sentence.

        Links of repeated and unreadable sentences count as broken, and their precedence does not count.
        """
        weighed = tables.with_neighbours(self.settings.neighbour_weight)
        return weighed.with_soundness(sentence_soundness(document.sentences))

    def window_steps(
        self, reader: TableReader, document: Document, *, shuffles: int = SHUFFLES, seed: int = 1
    ) -> Steps[WindowScores]:
        """Return what the windows of a long text say about its given order, in steps."""
        plan = WindowPlan(self.group, self.settings.precedence_weight, shuffles, seed)
        beside = self.settings.neighbour_weight

        def read() -> Steps[WindowScores]:
            sound = sentence_soundness(document.sentences)

            def weighed(tables: TextTables, place: slice) -> TextTables:
                return tables.with_neighbours(beside).with_soundness(sound[place])

            return window_steps(reader, document.sentences, plan, weighed)

        return self.windows.get_in_steps((document.sentences, plan, beside), read)
