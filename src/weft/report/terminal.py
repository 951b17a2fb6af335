"""Scores and orders as lines of styled text for a terminal."""

from __future__ import annotations

from rich.text import Text

from weft.document import Document, Score
from weft.notebook import found_none, link_shares
from weft.ordering.ordering import Ordering

BAR_WIDTH = 24
WIDTH = 100


def score_lines(document: Document, score: Score) -> list[Text]:
    """Return one line: score, number of sentences, name, and percentiles if the model has them."""
    value = f"{score.value:8.4f}" if score.value is not None else f"{'–':>8}"
    size = f"{len(document):4d} {'sentence ' if len(document) == 1 else 'sentences'}"  # aligns the names
    line = Text.assemble((value, "bold"), f"  {size}  ", (printable(document.id), "cyan"))
    return [line.append(f"  {score.meaning}", "dim") if score.meaning else line]


def explain_lines(document: Document, score: Score) -> list[Text]:
    """Return every sentence with the transition to the next one as a coloured bar; breaks or weak links are marked.

    The first sentence of each of several paragraphs has the sign ¶ after its number.
    """
    shares, scale = link_shares(score)
    lines = [_headline(document, score), *(Text(note, "dim") for note in (score.meaning, scale) if note), Text()]
    starts = {*document.paragraph_starts} if len(document.paragraph_starts) > 1 else set()
    for number, sentence in enumerate(document.sentences):
        mark = "¶ " if number in starts else "  "
        lines.append(Text.assemble((f"{number + 1:4d}{mark}", "dim"), shorten(sentence)))
        if number < len(score.transitions):
            lines.append(_bar_line(score, number, shares[number]))
    if none := found_none(score):
        lines += [Text(), Text(none, "dim")]
    return lines


def _headline(document: Document, score: Score) -> Text:
    size, name = counted(len(document), "sentence"), (printable(document.id), "bold cyan")
    if score.value is None:
        return Text.assemble(name, "  coherence ", (f"–: no transition in {size}", "bold"))
    return Text.assemble(name, "  coherence ", (f"{score.value:.2f}", "bold"), f"  {size}")


def _bar_line(score: Score, number: int, share: float) -> Text:
    """Return the bar of a gap, between its two sentences, and the score of the transition."""
    weak = number in score.breaks
    filled = max(1, round(share * BAR_WIDTH))
    colour = "red" if weak else "yellow" if share < 0.5 else "green"
    return Text.assemble(
        ("   │  ", "dim"),
        ("█" * filled, colour),
        ("░" * (BAR_WIDTH - filled), "dim"),
        f" {score.transitions[number]:6.2f}",
        (f"  ← {score.mark}" if weak else "", "bold red"),
    )


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    Example:
        >>> counted(1, "document"), counted(2, "document")
        ('1 document', '2 documents')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def shorten(sentence: str, width: int = WIDTH) -> str:
    """Return a sentence, cut to fit a line.

    Example:
        >>> shorten("a long sentence", 7)
        'a long…'
    """
    plain = printable(sentence)
    return plain if len(plain) <= width else plain[: width - 1].rstrip() + "…"


def printable(text: str) -> str:
    """Return a text without control characters, which could move the cursor or change the colours of a terminal.

    Example:
        >>> printable("a" + chr(27) + "[31mb")
        'a�[31mb'
    """
    return "".join(character if character.isprintable() or character == " " else "�" for character in text)


def order_lines(document: Document, ordering: Ordering) -> list[Text]:
    """Return the sentences in their new order, each with its original number."""
    return [
        Text.assemble((f"{index + 1:4d}  ", "dim"), printable(document.sentences[index])) for index in ordering.order
    ]
