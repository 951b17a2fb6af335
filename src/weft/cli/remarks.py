"""What a person should know of the texts that a command was given: why one has no score, what to trust less."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from weft.document import Document
from weft.protocols import RemarkingModel

SHOWN = 3  # texts that are named for each remark; of a thousand, the others are counted
TOO_SHORT = "one sentence, and a score is of transitions between sentences"
NOTHING = "nothing in it that the model can judge"


class Remarks:
    """Tells each remark of the first texts it is true of, and at the end of how many others.

    Args:
        model: What judges; it may have remarks of its own.
        tell: Says something to the person.

    Example:
        >>> told = []
        >>> remarks = Remarks(object(), told.append)
        >>> for number in range(5):
        ...     remarks.on(Document(str(number), ("Hello.",)), None)
        >>> remarks.close()
        >>> told[0], told[-1]
        ('0: no score: one sentence, and a score is of transitions between sentences',
         '2 more texts: no score: one sentence, and a score is of transitions between sentences')
    """

    def __init__(self, model: object, tell: Callable[[str], None]) -> None:
        self.model, self.tell = model, tell
        self.counts: Counter[str] = Counter()

    def on(self, document: Document, value: float | None) -> None:
        """Tell what is to be said of a text and its score."""
        for remark in self._found(document, value):
            self.counts[remark] += 1
            if self.counts[remark] <= SHOWN:
                self.tell(f"{document.id}: {remark}")

    def _found(self, document: Document, value: float | None) -> tuple[str, ...]:
        if len(document) < 2:
            return (f"no score: {TOO_SHORT}",)
        found = self.model.remarks(document) if isinstance(self.model, RemarkingModel) else ()
        if value is not None:
            return found
        reason, *others = found or (NOTHING,)
        return (f"no score: {reason}", *others)

    def close(self) -> None:
        """Tell how many texts were not named."""
        for remark, count in self.counts.items():
            if count > SHOWN:
                self.tell(f"{count - SHOWN} more text{'s' if count > SHOWN + 1 else ''}: {remark}")
