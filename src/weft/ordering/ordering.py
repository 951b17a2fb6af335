"""The result of a search for an order."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from weft.data_frames import Tabular
from weft.document import TextWarning
from weft.markup.notebook import ordering_html, shown


@dataclass(frozen=True, slots=True, repr=False)
class Ordering(Tabular):
    """A proposed order.

    Attributes:
        order: Indices into the input, in the proposed order.
        value: The score of that order.
        input_value: The score of the order of the input.
        search: The search used: ``exact``, ``beam-10``, ``greedy``, or ``rule`` for a model that sorts.
        objective: The objective used: ``coherence``, ``precedence`` or ``both``.
        kept: Whether the order is that of the input because the search found no order with a higher objective.
        id: Name of the text.
        sentences: The sentences in the proposed order.
        warnings: Reasons to distrust the order, as in `weft.document.Score`.
        label: Label of the text in the index that it came with, which `weft.to_frame` keeps.

    `order_document` fills the fields up to ``objective``; `weft.order` fills the others.

    Example:
        >>> Ordering((1, 0), 0.75, 0.5, "exact", id="d")
        Ordering('d', order (1, 0), score 0.5000 → 0.7500, exact)
    """

    order: tuple[int, ...]
    value: float | None
    input_value: float | None
    search: str
    objective: str = "coherence"
    kept: bool = False
    id: str = ""
    sentences: tuple[str, ...] = ()
    warnings: tuple[TextWarning, ...] = ()
    label: Any = field(default=None, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the ordering as plain data, ready for JSON."""
        record = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        del record["label"]
        codes = [warning.code for warning in self.warnings]
        return record | {"warnings": list(map(str, self.warnings)), "warning_codes": codes}

    def rows(self) -> list[dict[str, Any]]:
        """Return one row: the order, its score and the sentences."""
        return [self.to_dict()]

    def row_label(self) -> Any:
        """Return the label of the text in the index that it came with."""
        return self.label

    def __repr__(self) -> str:
        values = f"score {shown(self.input_value)} → {shown(self.value)}"
        return f"Ordering({', '.join([repr(self.id), f'order {self.order}', values, self.search, *self.warnings])})"

    def _repr_html_(self) -> str:
        """Return the sentences in their new order as HTML, for a notebook."""
        return ordering_html(self)
