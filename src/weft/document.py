"""Document, Window, Score, Continuation and the warnings about texts: the values that every part of weft passes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from weft.data_frames import SCORE_COLUMNS, Tabular
from weft.errors import CorpusError
from weft.markup.notebook import continuation_html, score_html

ALL_GENRES = "all"  # the genre of a score whose percentile is among texts of all genres


class TextWarning(str):
    """A reason to distrust a score: a string of one plain sentence, with a code that programs can test.

    Args:
        code: Stable name of the reason, such as ``few-sentences``.
        sentence: What is shown to a person.

    Example:
        >>> warning = TextWarning("few-sentences", "fewer than 3 sentences")
        >>> print(warning, warning.code)
        fewer than 3 sentences few-sentences
    """

    __slots__ = ("code",)
    code: str

    def __new__(cls, code: str, sentence: str) -> TextWarning:
        """Return the sentence with its code."""
        warning = super().__new__(cls, sentence)
        warning.code = code
        return warning

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]  # copies and pickles keep the code
        return self.code, str(self)


@dataclass(frozen=True, slots=True)
class Document:
    """A text as a list of sentences.

    Attributes:
        id: Name of the text, unique in its corpus.
        sentences: The sentences, in order; a list is stored as a tuple.
        title: A title, or the empty string.
        paragraph_starts: Index of the first sentence of every paragraph; a text of one paragraph has ``(0,)``.
        layout_warnings: What its lines showed before they were split into sentences, such as a list. This
            field and the next three do not count when documents are compared.
        columns: The other columns of its row in a table, by name.
        genre: Its genre, if the source of the text names it.
        label: Its label in the index of a pandas Series, which `weft.to_frame` keeps.

    Raises:
        CorpusError: ``sentences`` is one string, or holds something that is not a string or has no characters; or the
            name or the title is not a string.

    Example:
        >>> document = Document("d", ("A cat sat.", "It slept.", "Rain fell."))
        >>> document.reorder([2, 0, 1]).sentences
        ('Rain fell.', 'A cat sat.', 'It slept.')
    """

    id: str
    sentences: tuple[str, ...]
    title: str = ""
    paragraph_starts: tuple[int, ...] = (0,)
    layout_warnings: tuple[TextWarning, ...] = field(default=(), compare=False, repr=False)
    columns: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    genre: str = field(default="", compare=False, repr=False)
    label: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not isinstance(self.title, str):
            raise _not_a_name(self.id, self.title)
        if not self.id.isascii():  # the name of a file can have bytes that are no text, and could not be written
            object.__setattr__(self, "id", self.id.encode("utf-8", "replace").decode("utf-8"))
        if not isinstance(self.sentences, tuple):
            object.__setattr__(self, "sentences", _as_tuple(self.id, self.sentences))
        for sentence in self.sentences:
            if not isinstance(sentence, str):
                raise _not_sentences(self.id, sentence)
            if not sentence or sentence.isspace():
                raise CorpusError(
                    f"document {self.id!r} holds an empty sentence",
                    seen=sentence,
                    allowed="sentences of at least one character that is not a space",
                    next_step="leave it out, such as [sentence for sentence in sentences if sentence.strip()]",
                )

    def __len__(self) -> int:
        return len(self.sentences)

    def reorder(self, order: Sequence[int]) -> Document:
        """Return the document with its sentences in another order; a subset of the indices is allowed.

        The result has one paragraph, because paragraph boundaries are lost when sentences are reordered.
        """
        return replace(self, sentences=tuple(self.sentences[i] for i in order), paragraph_starts=(0,))

    def sentence_paragraphs(self) -> list[int]:
        """Return the number of the paragraph of every sentence, from 0.

        Example:
            >>> Document("d", ("A cat sat.", "It slept.", "Rain fell."), paragraph_starts=(0, 2)).sentence_paragraphs()
            [0, 0, 1]
        """
        ends = (*self.paragraph_starts[1:], len(self.sentences))
        sizes = (end - start for start, end in zip(self.paragraph_starts, ends, strict=True))
        return [number for number, size in enumerate(sizes) for _ in range(size)]

    def paragraphs(self) -> list[Document]:
        """Return one document per paragraph, named ``id#0``, ``id#1`` and so on; a single paragraph keeps its id."""
        if len(self.paragraph_starts) <= 1:
            return [self]
        ends = (*self.paragraph_starts[1:], len(self.sentences))
        return [
            Document(f"{self.id}#{number}", self.sentences[start:end], self.title, genre=self.genre)
            for number, (start, end) in enumerate(zip(self.paragraph_starts, ends, strict=True))
        ]


def _not_a_name(name: object, title: object) -> CorpusError:
    what, seen = ("title", title) if isinstance(name, str) else ("name", name)
    return CorpusError(
        f"the {what} of a document is not a string",
        seen=f"{type(seen).__name__} {_cut(repr(seen))}",
        allowed="a str, such as Document('essay-1', sentences)",
        next_step="convert it with str()",
    )


def _as_tuple(name: str, sentences: object) -> tuple[str, ...]:
    """Return a list as a tuple; a single string would otherwise become a list of letters."""
    if isinstance(sentences, str):
        raise CorpusError(
            f"the sentences of document {name!r} are one string",
            seen=_cut(sentences),
            allowed="a list of sentences",
            next_step=f"pass the text itself to weft.score, or Document({name!r}, weft.split_sentences(text))",
        )
    if not isinstance(sentences, Sequence) or isinstance(sentences, bytes | bytearray):
        raise _not_sentences(name, sentences)
    return tuple(sentences)


def _not_sentences(name: str, seen: object) -> CorpusError:
    return CorpusError(
        f"document {name!r} holds something that is not a sentence",
        seen=f"{type(seen).__name__} {_cut(repr(seen))}",
        allowed="a list of strings, one per sentence",
        next_step="decode bytes with .decode() and convert numbers with str()",
    )


def _cut(text: str, width: int = 60) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


@dataclass(frozen=True, slots=True)
class Window:
    """A target sentence and the sentences it is predicted from; an empty context makes it a language model."""

    context: tuple[str, ...]
    target: str


@dataclass(frozen=True, slots=True, repr=False)
class Score(Tabular):
    """How coherent a model finds a document; higher is always more coherent.

    A model fills the first three fields; `weft.score` fills the others.

    Attributes:
        value: Score of the document, or None where the model cannot judge it (fewer than two sentences).
        transitions: Score of each pair of neighbouring sentences, for models that have them.
        estimator: ``exact``, or the name of the bound or sampling estimate behind the value.
        document: The text that was scored.
        model: Name of the model.
        breaks: Indices of the breaks, or of the weak links for a model without break probabilities: i is the gap
            between sentence i and sentence i + 1.
        break_probabilities: Probability of a break at each gap, for models that estimate it.
        break_threshold: A gap is among the breaks if its probability is higher; None for a model that has no threshold.
        percentile: Percentage of the reference texts of similar length that score lower, for calibrated models.
        percentile_shuffled: The same percentage among the shuffled reference texts.
        shuffles_beaten: Share of random orders of the text that score lower than its own order, from 0 to 1, for models
            that compare orders quickly; None for other models and for fewer than three sentences.
        fluency: How predictable the sentences are, whatever their order: the mean log-likelihood per token, in nats, of
            a language model. It agrees with people's ratings of generated texts more than the value does. None for
            models without it.
        reference: Name of the reference texts, such as ``news texts``.
        genre: Genre of the reference texts, for models with reference scores by genre: the genre that was given, or
            guessed; ``all`` for the texts of all genres.
        genre_guessed: Whether the genre was guessed. An unsure guess gives the genre ``all``.
        genre_probability: Probability of the guess.
        bar_range: Values of a transition whose bars are empty and full, for models without reference texts.
        link_percentiles: For each transition, percentage of the shortest reference texts, of all genres, that score
            lower.
        link_reference: Name of these texts.
        warnings: Reasons to distrust the score, or why there is none; each is a sentence with a ``code``.

    Example:
        >>> Score(0.5, (0.9, 0.1), breaks=(1,))
        Score(0.5000, 2 transitions, weak link after sentence 2)
    """

    value: float | None
    transitions: tuple[float, ...] = ()
    estimator: str = "exact"
    document: Document | None = None
    model: str = ""
    breaks: tuple[int, ...] = ()
    break_probabilities: tuple[float, ...] = ()
    break_threshold: float | None = None
    percentile: float | None = None
    percentile_shuffled: float | None = None
    shuffles_beaten: float | None = None
    fluency: float | None = None
    reference: str = ""
    genre: str = ""
    genre_guessed: bool = False
    genre_probability: float | None = None
    bar_range: tuple[float, float] = (-3.0, 3.0)
    link_percentiles: tuple[float, ...] = ()
    link_reference: str = ""
    warnings: tuple[TextWarning, ...] = ()

    @property
    def meaning(self) -> str:
        """Return the percentiles and the shuffles beaten in words, or an empty string for a model without them.

        Example:
            >>> Score(0.6, percentile=71.9, percentile_shuffled=100.0, reference="essays").meaning
            '71st percentile of essays; beats 99% of shuffled ones'
            >>> Score(0.6, percentile=71.9, shuffles_beaten=0.965, reference="essays").meaning
            '71st percentile of essays; beats 96% of its own shuffles'
            >>> Score(0.6, percentile=71.9, reference="news texts", genre="news", genre_guessed=True).meaning
            '71st percentile among news texts (genre guessed)'
        """
        parts = []
        if self.percentile is not None:
            place, among = ordinal(whole_percent(self.percentile)), "among" if self.genre else "of"
            parts.append(f"{place} percentile {among} {self.reference}{self._genre_remark()}")
        if self.shuffles_beaten is not None:
            parts.append(f"beats {whole_percent(100 * self.shuffles_beaten)}% of its own shuffles")
        elif self.percentile_shuffled is not None:
            parts.append(f"beats {whole_percent(self.percentile_shuffled)}% of shuffled ones")
        return "; ".join(parts)

    def _genre_remark(self) -> str:
        if not self.genre_guessed:
            return ""
        return " (genre unclear)" if self.genre == ALL_GENRES else " (genre guessed)"

    @property
    def mark(self) -> str:
        """Return what `breaks` are: a ``break`` if the model estimates their probability, else a ``weak link``."""
        return "break" if self.break_probabilities else "weak link"

    def to_dict(self) -> dict[str, Any]:
        """Return the score as plain data, ready for JSON; the sentences themselves are not included."""
        placed = self.percentile is not None
        return {
            "id": self.document.id if self.document is not None else "",
            "sentences": len(self.document) if self.document is not None else None,
            "paragraphs": self.document.sentence_paragraphs() if self.document is not None else None,
            "value": self.value,
            "transitions": list(self.transitions),
            "breaks": list(self.breaks),
            "break_probabilities": list(self.break_probabilities),
            "break_threshold": self.break_threshold,
            "estimator": self.estimator,
            "percentiles": {"written": self.percentile, "shuffled": self.percentile_shuffled} if placed else None,
            "reference": self.reference or None,
            "genre": self.genre or None,
            "genre_guessed": self.genre_guessed,
            "genre_probability": self.genre_probability,
            "shuffles_beaten": self.shuffles_beaten,
            "fluency": self.fluency,
            "model": self.model,
            "warnings": list(map(str, self.warnings)),
            "warning_codes": [warning.code for warning in self.warnings],
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return one row: the score, its percentiles, the shuffles that it beats and its transitions."""
        places = {"percentile": self.percentile, "percentile_shuffled": self.percentile_shuffled}
        record = {**self.to_dict(), **places}
        return [{name: record[name] for name in SCORE_COLUMNS}]

    def row_label(self) -> Any:
        """Return the label of the text in the index that it came with."""
        return None if self.document is None else self.document.label

    def __repr__(self) -> str:
        value = "None" if self.value is None else f"{self.value:.4f}"
        after = ", ".join(str(place + 1) for place in self.breaks)
        plural = "s" if len(self.breaks) > 1 else ""
        links = f"{self.mark}{plural} after sentence{plural}"
        parts = [
            value,
            self.meaning,
            f"{len(self.transitions)} transition{'' if len(self.transitions) == 1 else 's'}",
            f"{links} {after}" if after else "",
            *self.warnings,
        ]
        return f"Score({', '.join(part for part in parts if part)})"

    def _repr_html_(self) -> str:
        """Return the text as HTML with a coloured link between neighbouring sentences, for a notebook."""
        return score_html(self)


@dataclass(frozen=True, slots=True, repr=False)
class Continuation(Tabular):
    """Sentences that a model wrote after a text.

    Attributes:
        document: The text that was continued.
        sentences: The new sentences, in order.
        model: Name of the model.

    Example:
        >>> Continuation(Document("d", ("A cat sat.",)), ("It slept.",), "weft-small")
        Continuation('d', 1 sentence by weft-small: 'It slept.')
    """

    document: Document
    sentences: tuple[str, ...]
    model: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the new sentences as plain data, ready for JSON."""
        return {"id": self.document.id, "sentences": list(self.sentences), "model": self.model}

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per new sentence."""
        names = {"id": self.document.id, "model": self.model}
        return [{**names, "number": number, "sentence": text} for number, text in enumerate(self.sentences)]

    def row_label(self) -> Any:
        """Return the label of the text in the index that it came with."""
        return self.document.label

    def __repr__(self) -> str:
        count = f"{len(self.sentences)} sentence{'' if len(self.sentences) == 1 else 's'}"
        return f"Continuation({self.document.id!r}, {count} by {self.model or 'a model'}: {_cut(str(self))!r})"

    def __str__(self) -> str:
        return " ".join(self.sentences)

    def _repr_html_(self) -> str:
        """Return the text and its continuation as HTML, for a notebook."""
        return continuation_html(self)


def weak_links(transitions: Sequence[float]) -> tuple[int, ...]:
    """Return the indices of the lowest transition and of all that lie a standard deviation below the text's mean.

    Example:
        >>> weak_links([0.8, 0.9, 0.1, 0.85])
        (2,)
    """
    if len(transitions) < 2 or min(transitions) == max(transitions):
        return ()
    mean = sum(transitions) / len(transitions)
    spread = (sum((value - mean) ** 2 for value in transitions) / len(transitions)) ** 0.5
    lowest = min(range(len(transitions)), key=lambda number: transitions[number])
    return tuple(number for number, value in enumerate(transitions) if value < mean - spread or number == lowest)


def whole_percent(value: float) -> int:
    """Return a percentage rounded down, and never 100: a sample of texts or orders cannot show that all score lower.

    Example:
        >>> whole_percent(71.9), whole_percent(100.0)
        (71, 99)
    """
    return min(99, int(round(value, 6)))  # 100 * 0.57 is a little less than 57


def ordinal(number: int) -> str:
    """Return a whole number with its English ending.

    Example:
        >>> [ordinal(number) for number in (1, 2, 3, 11, 22, 71)]
        ['1st', '2nd', '3rd', '11th', '22nd', '71st']
    """
    ending = "th" if number % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
