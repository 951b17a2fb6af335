"""The scale of links: how full and of which colour the bar of a link is, the same for all texts.

The palette runs from vermilion (weak) over grey to blue (strong), which people with any common colour vision deficiency
tell apart. Every colour has a contrast of at least 3 to white and to the dark background of the pages, so that one
palette serves both. The length of the bar says the same as the colour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.document import Score

COLOURS = ("#c83c00", "#d9772b", "#8a8a8a", "#4a8db8", "#0072b2")  # weakest to strongest
LIGHT_BACKGROUND, DARK_BACKGROUND = "#ffffff", "#16181c"
WIDTHS = 20  # lengths of a bar


def link_shares(score: Score) -> tuple[list[float], str]:
    """Return the length of each link's bar, from 0 to 1, and what the bars are measured against.

    The scale is the same for all texts, so that bars of different texts can be compared: percentiles for a calibrated
    model, a fixed range of values for any other.
    """
    if score.link_percentiles:
        return [
            share / 100 for share in score.link_percentiles
        ], f"bars: percentile of {score.link_reference or score.reference}"
    low, high = score.bar_range
    shares = [range_share(value, score.bar_range) for value in score.transitions]
    return shares, f"bars: from {low:g} to {high:g}" if shares else ""


def range_share(value: float, bar_range: tuple[float, float]) -> float:
    """Return the place of a value in a range, from 0 to 1; values outside of it have the place of its ends.

    Example:
        >>> range_share(0.0, (-3.0, 3.0)), range_share(9.0, (-3.0, 3.0))
        (0.5, 1.0)
    """
    low, high = bar_range
    return min(1.0, max(0.0, (value - low) / (high - low)))


def found_none(score: Score) -> str:
    """Return that no gap is marked, if gaps were looked at; a model that has no threshold yet marks none.

    Example:
        >>> from weft.document import Score
        >>> found_none(Score(0.1, (0.1,))), found_none(Score(0.1, (0.1,), break_probabilities=(0.2,)))
        ('no weak link found', '')
    """
    looked = score.break_threshold is not None or not score.break_probabilities
    return f"no {score.mark} found" if score.transitions and looked and not score.breaks else ""


def likeliest_break(score: Score) -> str:
    """Return the gap with the highest probability of a break, if gaps were looked at and none is marked.

    Example:
        >>> from weft.document import Score
        >>> likeliest_break(Score(0.1, (0.2, 0.1), break_probabilities=(0.1, 0.414), break_threshold=0.518))
        'the likeliest place is between sentences 2 and 3 (41%; marked above 52%)'
    """
    if not found_none(score) or not score.break_probabilities or score.break_threshold is None:
        return ""
    gap = max(range(len(score.break_probabilities)), key=score.break_probabilities.__getitem__)
    return (
        f"the likeliest place is between sentences {gap + 1} and {gap + 2} "
        f"({chance_percent(score.break_probabilities[gap])}; marked above {chance_percent(score.break_threshold)})"
    )


def chance_percent(probability: float) -> str:
    """Return a probability as a rounded percentage, never 0% or 100%, since nothing that is estimated is certain.

    Rounding keeps the order of two values, so a marked gap is never shown below the threshold.

    Example:
        >>> chance_percent(0.974), chance_percent(0.706), chance_percent(0.999)
        ('97%', '71%', '99%')
    """
    return f"{min(99, max(1, int(100 * probability + 0.5)))}%"


def colour_step(share: float) -> int:
    """Return the number of a colour, from 1 (weakest fifth of the scale) to 5 (strongest).

    Example:
        >>> [colour_step(share) for share in (0.0, 0.19, 0.5, 1.0)]
        [1, 1, 3, 5]
    """
    return min(len(COLOURS), int(share * len(COLOURS)) + 1)


def width_step(share: float) -> int:
    """Return the length of a bar in steps; the shortest is 1, so that it can be seen.

    Example:
        >>> [width_step(share) for share in (0.0, 0.5, 1.0)]
        [1, 10, 20]
    """
    return max(1, round(share * WIDTHS))
