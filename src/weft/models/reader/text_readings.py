"""What a trained reader says about texts, each read once: a short text as a whole, a long one in windows or groups."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from weft.document import Document
from weft.models.reader.long_texts import ReadingPlan
from weft.models.reader.reader_settings import ReaderSettings, too_many_pairs
from weft.models.reader.text_tables import Sentences, TableReader, TextTables, sorted_tables
from weft.models.reader.window_scores import WindowPlan, WindowScores, window_memory, window_scores
from weft.scoring.text_soundness import sentence_soundness
from weft.scoring.uni_bi_mmi import BoundedCache

REMEMBERED = 64  # texts whose tables are cached, as many as are scored at once
MOST_PAIRED = 5000  # sentences whose pairs all fit into tables: 2.3 GB


class TextReadings:
    """A trained network and what it said about the last texts.

    Args:
        reader: The network with its tokenizer.
        settings: Its settings; weights of a score may differ from call to call.

    Attributes:
        reader: The network with its tokenizer.
        group: Number of sentences of a window or group, that of the longest training windows.
        longest: Number of sentences of the longest text that is read as a whole.
    """

    def __init__(self, reader: TableReader, settings: ReaderSettings) -> None:
        self.reader = reader
        self.group = min(settings.most, settings.slots)
        self.longest = max(settings.slots, self.group)
        self._short: BoundedCache[Sentences, TextTables] = BoundedCache(REMEMBERED)
        self._long: BoundedCache[Sentences, TextTables] = BoundedCache(1)  # large
        self._windows = window_memory()

    def is_long(self, document: Document) -> bool:
        """Return whether a text is read in windows to score it, and in groups to order it."""
        return len(document) > self.longest

    def tables(self, document: Document) -> TextTables:
        """Return what the network says about all pairs of sentences of a text, and about each sentence.

        Raises:
            ConfigError: The text is so long that tables of all pairs do not fit into memory.
        """
        if len(document) > MOST_PAIRED:
            raise too_many_pairs(document, MOST_PAIRED)
        if not self.is_long(document):
            return self._short.get(document.sentences, lambda: self.reader.tables([document.sentences])[0])
        return sorted_tables(self.reader, document.sentences, ReadingPlan(group=self.group), self._long)

    def short_tables(self, documents: Sequence[Document]) -> dict[Sentences, TextTables]:
        """Return the tables of all texts that are read as a whole; the last ones are remembered."""
        short = [document.sentences for document in documents if len(document) > 1 and not self.is_long(document)]
        texts = list(dict.fromkeys(short))
        found = dict(zip(texts, self.reader.tables(texts), strict=True))
        for sentences in texts[-REMEMBERED:]:
            self._short.get(sentences, partial(found.__getitem__, sentences))
        return found

    def windows(self, document: Document, settings: ReaderSettings, *, shuffles: int, seed: int) -> WindowScores:
        """Return what the windows of a long text say about its given order, with the weights of these settings."""
        plan = WindowPlan(self.group, settings.precedence_weight, shuffles, seed)
        beside = settings.neighbour_weight

        def read() -> WindowScores:
            sound = sentence_soundness(document.sentences)

            def weighed(tables: TextTables, place: slice) -> TextTables:
                return tables.with_neighbours(beside).with_soundness(sound[place])

            return window_scores(self.reader, document.sentences, plan, weighed)

        return self._windows.get((document.sentences, plan, beside), read)
