"""The single best move: which sentence of a text to move, and where to."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from weft.data_frames import Tabular
from weft.document import Document
from weft.errors import ConfigError
from weft.markup.notebook import shown, table_html
from weft.ordering.order import MOST_ORDERED, Objective, check_objective, precedence_of, search_tables
from weft.protocols import Arranger, DocumentScorer, PairwiseModel, TabledModel
from weft.scoring.uni_bi_mmi import Table, check_numbers, order_values

LEAST_GAIN = 1e-9  # smaller gains are rounding errors
MOST_MOVED = 40  # sentences, for a model without tables: it reads n (n − 1) texts of n sentences


@dataclass(frozen=True, slots=True, repr=False)
class Move(Tabular):
    """The move of one sentence that improves a text most.

    Attributes:
        was: Index of the sentence in the input; None if no move improves the text.
        place: Its index after the move; None if no move improves the text.
        sentence: The sentence.
        gain: How much the objective rises, per transition; 0 if no move improves the text. For ``coherence``, it is
            the difference of the scores.
        value: The score after the move.
        input_value: The score of the text as given; None if it has none.
        objective: The objective used: ``coherence``, ``precedence`` or ``both``.
        id: Name of the text.
        warnings: Reasons to distrust the move, as in `weft.document.Score`.

    Example:
        >>> Move(3, 1, "He was born.", 0.25, 0.75, 0.5, id="d")
        Move('d', sentence 3 to place 1, gain 0.2500, score 0.5000 → 0.7500)
    """

    was: int | None
    place: int | None
    sentence: str
    gain: float
    value: float | None
    input_value: float | None
    objective: str = "coherence"
    id: str = ""
    warnings: tuple[str, ...] = ()

    def order(self, size: int) -> tuple[int, ...]:
        """Return the order of a text of ``size`` sentences after the move.

        Example:
            >>> Move(3, 1, "He was born.", 0.25, 0.75, 0.5).order(5)
            (0, 3, 1, 2, 4)
        """
        return tuple(range(size)) if self.was is None or self.place is None else _moved(size, self.was, self.place)

    def to_dict(self) -> dict[str, Any]:
        """Return the move as plain data, ready for JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def rows(self) -> list[dict[str, Any]]:
        """Return one row."""
        return [self.to_dict()]

    def __repr__(self) -> str:
        what = (
            "no move helps" if self.was is None else f"sentence {self.was} to place {self.place}, gain {self.gain:.4f}"
        )
        return f"Move({self.id!r}, {what}, score {shown(self.input_value)} → {shown(self.value)})"

    def _repr_html_(self) -> str:
        """Return the move as a table, for a notebook."""
        return table_html(repr(self), self.rows())


def best_move(
    model: DocumentScorer, document: Document, *, first_given: bool = False, objective: Objective = "auto"
) -> Move:
    """Return the move of one sentence that raises the objective most; of equal moves, the first.

    Args:
        model: The model that scores orders.
        document: The text in its own order.
        first_given: Whether the first sentence stays first.
        objective: ``coherence``, ``precedence``, ``both`` or ``auto``, as in `order_document`.

    Raises:
        ConfigError: The text is too long, or the objective needs precedence, which the model has not learned.

    Example:
        >>> from weft.registry import create_model
        >>> years = Document("d", ("Born in 1812.", "Died in 1870.", "Wed in 1836.", "Rich in 1840."))
        >>> best_move(create_model("year-sort"), years).order(4)
        (0, 2, 3, 1)
    """
    check_objective(objective)
    size, given = len(document), tuple(range(len(document)))
    gains, chosen = _gains(model, document, objective)  # [sentences, places]
    np.fill_diagonal(gains, 0.0)
    if first_given:
        gains[:1] = gains[:, :1] = -np.inf
    if size < 2 or gains.max() <= LEAST_GAIN:
        (value,) = order_values(model, document, [given]) if size > 1 else (None,)
        return Move(None, None, "", 0.0, value, value, chosen, document.id)
    was, place = divmod(int(gains.argmax()), size)
    value, input_value = order_values(model, document, [_moved(size, was, place), given])
    return Move(
        was, place, document.sentences[was], float(gains[was, place]), value, input_value, chosen, document.id
    )  # fmt: skip


def _gains(model: DocumentScorer, document: Document, objective: Objective) -> tuple[Table, str]:
    """Return the gain per transition of moving each sentence to each place, and the objective."""
    size = len(document)
    tabled = isinstance(model, PairwiseModel) and not isinstance(model, Arranger)
    most = MOST_ORDERED if tabled or isinstance(model, TabledModel) else MOST_MOVED
    if size > most:
        raise _too_long(document, most)
    if size < 2:
        return np.zeros((size, size)), "coherence" if objective == "auto" else objective
    if isinstance(model, TabledModel) and objective in ("auto", "coherence"):
        return table_gains(*model.order_tables(document)), "coherence"
    if isinstance(model, PairwiseModel) and not isinstance(model, Arranger):
        table, precedence, chosen = search_tables(model, document, objective)
        check_numbers(table)
    else:
        table, (precedence, chosen) = np.zeros((size, size)), precedence_of(model, document, objective)
    before = np.zeros((size, size)) if precedence is None else precedence
    if tabled or chosen == "precedence":
        return table_gains(np.zeros_like(table) if chosen == "precedence" else table, before), chosen
    return _score_gains(model, document) + table_gains(table, before), chosen


def table_gains(follows: Table, precedence: Table) -> Table:
    """Return the gain per transition of each move, by running sums of tables: [sentences, places]; diagonal unused.

    Example:
        >>> import numpy as np
        >>> table_gains(np.array([[0, 1], [3, 0]]), np.zeros((2, 2))).tolist()
        [[-1.0, 2.0], [2.0, -1.0]]
    """
    size = len(follows)
    places = np.arange(size)
    links = np.zeros(size + 1)  # of gaps
    links[1:-1] = follows[places[:-1], places[1:]]
    padded = np.zeros((size + 1, size + 1))  # [sentence before + 1, sentence after]
    padded[1:, :-1] = follows
    passed = np.zeros((size, size + 1))  # precedence over the sentences before a gap
    passed[:, 1:] = precedence.cumsum(axis=1)
    gains = padded[:, places].T + padded[places + 1] - links - 2.0 * passed  # [sentences, gaps]
    gains += (2.0 * passed[places, places] + padded[places, places + 1] - links[:-1] - links[1:])[:, None]
    # A sentence that moves to the right leaves its place, so gap t becomes place t − 1.
    found: Table = np.where(places < places[:, None], gains[:, :-1], gains[:, 1:]) / (size - 1)
    return found


def _score_gains(model: DocumentScorer, document: Document) -> Table:
    """Return the difference of scores after each move: [sentences, places]."""
    size = len(document)
    cells = [(was, place) for was in range(size) for place in range(size) if was != place]
    orders = list(dict.fromkeys(_moved(size, was, place) for was, place in cells))
    values = dict(zip(orders, order_values(model, document, orders), strict=True))
    (given,) = order_values(model, document, [range(size)])
    gains = np.full((size, size), -np.inf)
    for was, place in cells:
        value = values[_moved(size, was, place)]
        if value is not None and given is not None:
            gains[was, place] = value - given
    return gains


def _moved(size: int, was: int, place: int) -> tuple[int, ...]:
    rest = [number for number in range(size) if number != was]
    return (*rest[:place], was, *rest[place:])


def _too_long(document: Document, most: int) -> ConfigError:
    return ConfigError(
        "the text is too long to try all moves of one sentence",
        seen=f"{len(document)} sentences in {document.id}",
        allowed=f"up to {most} sentences with this model; up to {MOST_ORDERED} with a model that has a table of pairs",
        next_step='use weft-reader or foltz-sif, or look at its sections one by one (`format="blocks"`)',
    )
