"""How much of a long text is looked at for warnings."""

from __future__ import annotations

from collections.abc import Sequence

MOST_CHARACTERS = 100_000  # about 15,000 words; what comes after does not change what is said about a text


def clipped(sentences: Sequence[str], most: int = MOST_CHARACTERS) -> list[str]:
    """Return the first sentences of a text, at most so many characters together; the last one may be cut.

    Example:
        >>> clipped(["abc", "defg", "h"], most=5)
        ['abc', 'de']
    """
    found: list[str] = []
    for sentence in sentences:
        if most <= 0:
            break
        found.append(sentence[:most])
        most -= len(sentence)
    return found
