"""Years mentioned in sentences."""

from __future__ import annotations

import re

YEAR = re.compile(r"(?<![\d,.])(1[0-9]{3}|20[0-9]{2})(?!\d|[.,]\d)")


def first_year(sentence: str) -> int | None:
    """Return the first year (1000 to 2099) that a sentence mentions, or None.

    Example:
        >>> first_year("Born in 1812, he died in 1870."), first_year("It weighs 1,500 kg.")
        (1812, None)
    """
    found = YEAR.search(sentence)
    return int(found.group(1)) if found else None
