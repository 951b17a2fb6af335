"""Scores and orders as lines of styled text for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from statistics import fmean, median

from rich.text import Text

from weft.document import Document, Score, whole_percent
from weft.markup.link_scale import chance_percent, found_none, likeliest_break, link_shares
from weft.ordering.ordering import Ordering

BAR_WIDTH = 24
LONGEST_GENRE = 12  # characters of the column of genres
WIDTH = 100
NOTHING = "–"
FULL = 3  # sentences of a text that has all values of its model; the shuffles of two sentences are not counted
OWN_SHUFFLES, SHUFFLED = "own shuffles beaten", "shuffled beaten"  # columns; the second, for models without the first


def score_lines(document: Document, score: Score) -> list[Text]:
    """Return one line: score, number of sentences, name, and percentiles if the model has them."""
    value = f"{score.value:8.4f}" if score.value is not None else f"{'–':>8}"
    size = f"{len(document):4d} {'sentence ' if len(document) == 1 else 'sentences'}"  # aligns the names
    line = Text.assemble((value, "bold"), f"  {size}  ", (printable(document.id), "cyan"))
    return [line.append(f"  {score.meaning}", "dim") if score.meaning else line]


def score_table(scores: Iterable[Score]) -> Iterator[Text]:
    """Yield the scores of texts as lines: one line for one text; for several, a table with a header and a summary.

    A row is yielded as soon as its score is known. What the columns mean is said once, below the table.

    Example:
        >>> texts = [Document("a", ("A.", "B.", "C.")), Document("b", ("D.", "E."))]
        >>> scores = [Score(0.5, (0.9, 0.1), document=texts[0], breaks=(1,)), Score(0.25, (0.25,), document=texts[1])]
        >>> for line in score_table(scores):
        ...     print(line.plain.rstrip())
           score  weak links  sentences  name
          0.5000           1          3  a
          0.2500           0          2  b
        2 texts: score 0.3750 on average, median 0.3750; none with warnings
    """
    coming, held = iter(scores), list[Score]()
    for score in coming:
        held.append(score)
        if len(held) > 1 and any(one.value is not None and len(_document(one)) >= FULL for one in held):
            break  # the columns of the model are known
    if len(held) < 2:
        yield from (line for score in held for line in score_lines(_document(score), score))
        return
    columns, summary = score_columns(held), ScoreSummary()
    yield Text("  ".join([*(name.rjust(width) for name, width, _ in columns), "name"]), "dim")
    for score in chain(held, coming):
        summary.add(score)
        yield _row(columns, score)
    yield from (Text(note, "dim") for note in column_notes(held))
    yield summary.line()


Column = tuple[str, int, Callable[[Score], str]]  # its name, its width and its text for a score


def score_columns(scores: Sequence[Score]) -> list[Column]:
    """Return the columns that a model has values for."""
    known = max(scores, key=lambda score: (score.value is not None, len(_document(score)) >= FULL))
    cells: list[tuple[str, Callable[[Score], str]]] = [
        ("score", lambda score: NOTHING if score.value is None else f"{score.value:.4f}")
    ]
    if known.percentile is not None:
        cells.append(("percentile", lambda score: _percent_text(score.percentile)))
    if known.genre:
        cells.append(("genre".rjust(LONGEST_GENRE), lambda score: score.genre or NOTHING))
    if known.shuffles_beaten is not None:
        cells.append((OWN_SHUFFLES, lambda score: _percent_text(score.shuffles_beaten, scale=100)))
    elif known.percentile_shuffled is not None:
        cells.append((SHUFFLED, lambda score: _percent_text(score.percentile_shuffled)))
    if known.fluency is not None:
        cells.append(("fluency", lambda score: NOTHING if score.fluency is None else f"{score.fluency:.2f}"))
    cells.append((f"{known.mark}s", _break_count))
    cells.append(("sentences", lambda score: str(len(_document(score)))))
    return [(name, max(8, len(name)), cell) for name, cell in cells]


def _percent_text(value: float | None, *, scale: float = 1) -> str:
    return NOTHING if value is None else str(whole_percent(scale * value))


def _break_count(score: Score) -> str:
    """Return the number of marked gaps; none is known of a model without transitions or without a threshold."""
    looked = score.break_threshold is not None or not score.break_probabilities
    return str(len(score.breaks)) if score.transitions and looked else NOTHING


def _row(columns: Sequence[Column], score: Score) -> Text:
    cells = [cell(score).rjust(width) for _, width, cell in columns]
    codes = " ".join(dict.fromkeys(warning.code for warning in score.warnings))
    line = Text.assemble((cells[0], "bold"), "  ", "  ".join(cells[1:]), "  ", (printable(_document(score).id), "cyan"))
    return line.append(f"  [{codes}]", "yellow") if codes else line


def column_notes(scores: Sequence[Score]) -> list[str]:
    """Return what the columns of percentiles mean."""
    known = next((score for score in scores if score.percentile is not None), None)
    if known is None:
        return []
    genre = "texts of the same genre (of all genres if it is unclear) and"
    reference = genre if known.genre else f"the texts “{known.reference}”"
    notes = [f"percentile: percentage of {reference} of similar length that score lower"]
    if known.fluency is not None:
        notes.append("fluency: how easy the words of the sentences are to predict, whatever their order")
    if known.shuffles_beaten is None:
        notes.append(f"{SHUFFLED}: percentage of the same texts, shuffled, that score lower")
    return notes


class ScoreSummary:
    """Counts texts and averages their scores, for the last line of a table."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self.texts = self.warned = 0

    def add(self, score: Score) -> None:
        """Count a text."""
        self.texts += 1
        self.warned += bool(score.warnings)
        self.values += [] if score.value is None else [score.value]

    def line(self) -> Text:
        """Return the summary of all texts."""
        none = self.texts - len(self.values)
        mean = f"score {fmean(self.values):.4f} on average, median {median(self.values):.4f}" if self.values else ""
        parts = [mean, f"{none} without a score" if none else ""]
        warned = f"{self.warned or 'none'} with warnings"
        return Text(f"{counted(self.texts, 'text')}: {', '.join(filter(None, parts))}; {warned}", "bold")


def _document(score: Score) -> Document:
    assert score.document is not None  # weft.score and `score_stream` fill it
    return score.document


def explain_all(scores: Iterable[Score]) -> Iterator[Text]:
    """Yield `explain_lines` of each text, with a line between two texts, and a summary of several."""
    summary = ScoreSummary()
    for score in scores:
        if summary.texts:
            yield Text()
        yield from explain_lines(_document(score), score, scale=not summary.texts)
        summary.add(score)
    if summary.texts > 1:
        yield Text()
        yield summary.line()


def explain_lines(document: Document, score: Score, *, scale: bool = True) -> list[Text]:
    """Return every sentence with the transition to the next one as a coloured bar; breaks or weak links are marked.

    The first sentence of each of several paragraphs has the sign ¶ after its number.

    Args:
        document: The text.
        score: Its score.
        scale: Whether to say what the bars show; of many texts, once is enough.
    """
    shares, bars = link_shares(score)
    notes = (score.meaning, bars if scale else "")
    lines = [_headline(document, score), *(Text(note, "dim") for note in notes if note), Text()]
    starts = {*document.paragraph_starts} if len(document.paragraph_starts) > 1 else set()
    for number, sentence in enumerate(document.sentences):
        mark = "¶ " if number in starts else "  "
        lines.append(Text.assemble((f"{number + 1:4d}{mark}", "dim"), shorten(sentence)))
        if number < len(score.transitions):
            lines.append(_bar_line(score, number, shares[number]))
    if none := found_none(score):
        lines += [Text(), Text("; ".join(filter(None, (none, likeliest_break(score)))), "dim")]
    return lines


def _headline(document: Document, score: Score) -> Text:
    size, name = counted(len(document), "sentence"), (printable(document.id), "bold cyan")
    if score.value is None:
        return Text.assemble(name, "  coherence ", (f"–: no transition in {size}", "bold"))
    fluency = "" if score.fluency is None else f"  fluency {score.fluency:.2f}"
    return Text.assemble(name, "  coherence ", (f"{score.value:.2f}", "bold"), f"{fluency}  {size}")


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
        (f"  ← {_marked(score, number)}" if weak else "", "bold red"),
    )


def _marked(score: Score, gap: int) -> str:
    """Return the name of a mark, with its probability if the model estimates it."""
    known = score.break_probabilities
    return f"{score.mark} ({chance_percent(known[gap])})" if known else score.mark


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
