"""Scores, orders and results as lines of text for a terminal: pure functions, nothing is printed here."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from weft.document import Document, Score
from weft.ordering.order import Ordering

BAR_WIDTH = 24
WIDTH = 100
NO_SCORE = "no transition"


def score_lines(document: Document, score: Score) -> list[Text]:
    """Return one line: score, number of sentences, name, and the percentiles where there are some."""
    value = f"{score.value:8.4f}" if score.value is not None else f"{'null':>8}"
    size = f"{len(document):4d} {'sentence ' if len(document) == 1 else 'sentences'}"  # names stand below each other
    line = Text.assemble((value, "bold"), f"  {size}  ", (printable(document.id), "cyan"))
    return [line.append(f"  {score.meaning}", "dim") if score.meaning else line]


def explain_lines(document: Document, score: Score) -> list[Text]:
    """Return every sentence with the transition to the next one as a coloured bar; weak links are marked."""
    lines = [_headline(document, score), *([Text(score.meaning, "dim")] if score.meaning else []), Text()]
    for number, sentence in enumerate(document.sentences):
        lines.append(Text.assemble((f"{number + 1:4d}  ", "dim"), shorten(sentence)))
        if number < len(score.transitions):
            lines.append(_bar_line(score.transitions, number, number in score.breaks))
    return lines


def _headline(document: Document, score: Score) -> Text:
    if score.value is None:
        what = f"null: {NO_SCORE} to judge in {sentence_count(len(document))}"
        return Text.assemble((printable(document.id), "bold cyan"), "  coherence ", (what, "bold"))
    return Text.assemble(
        (printable(document.id), "bold cyan"),
        "  coherence ",
        (f"{score.value:.4f}", "bold"),
        f"  {sentence_count(len(document))}",
    )


def sentence_count(count: int) -> str:
    """A number of sentences in words.

    Example:
        >>> sentence_count(0), sentence_count(1), sentence_count(2)
        ('0 sentences', '1 sentence', '2 sentences')
    """
    return f"{count} sentence{'' if count == 1 else 's'}"


def _bar_line(transitions: Sequence[float], number: int, weak: bool) -> Text:
    value, low, high = transitions[number], min(transitions), max(transitions)
    # The bar shows where a transition stands among this text's own; the number beside it is the score itself.
    share = (value - low) / (high - low) if high > low else 1.0
    filled = max(1, round(share * BAR_WIDTH))
    colour = "red" if weak else "yellow" if share < 0.5 else "green"
    return Text.assemble(
        "      ",
        ("█" * filled, colour),
        ("░" * (BAR_WIDTH - filled), "dim"),
        f" {value:7.4f}",
        ("  ← weak link" if weak else "", "bold red"),
    )


def counted(number: int, noun: str) -> str:
    """A number of things.

    Example:
        >>> counted(1, "document"), counted(2, "document")
        ('1 document', '2 documents')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def shorten(sentence: str, width: int = WIDTH) -> str:
    """A sentence cut to fit a line.

    Example:
        >>> shorten("a long sentence", 7)
        'a long…'
    """
    plain = printable(sentence)
    return plain if len(plain) <= width else plain[: width - 1].rstrip() + "…"


def printable(text: str) -> str:
    """A text without the control characters that could move the cursor or change a terminal's colours.

    Example:
        >>> printable("a" + chr(27) + "[31mb")
        'a�[31mb'
    """
    return "".join(character if character.isprintable() or character == " " else "�" for character in text)


def order_lines(document: Document, ordering: Ordering) -> list[Text]:
    """The sentences in their new order, each with the number it had."""
    return [
        Text.assemble((f"{index + 1:4d}  ", "dim"), printable(document.sentences[index])) for index in ordering.order
    ]
