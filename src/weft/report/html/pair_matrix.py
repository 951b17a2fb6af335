"""How well each sentence of a text would follow each other one: the table of a first-order model, and its picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from weft.corpora.text.text_limits import readable
from weft.document import Document, Score
from weft.markup.link_scale import colour_step, range_share
from weft.markup.scored_text import number_text
from weft.protocols import CalibratedModel, CoherenceModel, PairwiseModel, TabledModel
from weft.scoring.percentiles import SHORTEST

Reals = npt.NDArray[np.float64]
MOST_SENTENCES = 60  # longer texts have no matrix: it would not fit a screen, and its time grows with the square
MOST_NUMBERS = 14  # more columns have colours alone


@dataclass(frozen=True)
class PairMatrix:
    """How well sentence j follows sentence i, as ``[i, j]``; the diagonal means nothing.

    Attributes:
        values: In the unit of the model's transitions.
        shares: Places on the scale of links, from 0 to 1.
    """

    values: Reals  # [sentences, sentences]
    shares: Reals  # [sentences, sentences]


def read_matrix(model: CoherenceModel, score: Score) -> PairMatrix | None:
    """Return the matrix of a scored text; None for a model without one, and for a text that is too short or too long.

    Example:
        >>> from weft.registry import create_model
        >>> model, text = create_model("foltz-sif"), Document("d", ("A cat sat.", "A cat slept.", "Rates rose."))
        >>> matrix = read_matrix(model, Score(0.5, (0.6, 0.4), document=text))
        >>> bool(matrix.values[0, 1] > matrix.values[0, 2])
        True
    """
    document = score.document
    if document is None or score.value is None or not 2 < len(document) <= MOST_SENTENCES:
        return None
    table = _table(model, readable(document))
    if table is None or not np.isfinite(table[~np.eye(len(table), dtype=bool)]).all():
        return None
    return PairMatrix(table, _shares(model, score, table))


def _table(model: CoherenceModel, document: Document) -> Reals | None:
    if isinstance(model, TabledModel):
        return model.order_tables(document)[0]
    return model.pair_table(document) if isinstance(model, PairwiseModel) else None


def _shares(model: CoherenceModel, score: Score, table: Reals) -> Reals:
    """Return the places of all values on the scale that the links of the text have."""
    reference = model.reference if isinstance(model, CalibratedModel) and score.link_percentiles else None

    def share(value: float) -> float:
        if reference is None:
            return range_share(value, score.bar_range)
        return reference.percentiles(value, SHORTEST).written / 100

    found = np.zeros_like(table)
    for (row, column), value in np.ndenumerate(table):
        found[row, column] = 0.0 if row == column else share(float(value))
    return found


def matrix_html(matrix: PairMatrix) -> str:
    """Return a matrix as a table with a colour in every cell; the pairs that the text has are framed."""
    size = len(matrix.values)
    head = "".join(f'<th scope="col">{number}</th>' for number in range(1, size + 1))
    rows = "".join(f'<tr><th scope="row">{row + 1}</th>{_cells(matrix, row)}</tr>' for row in range(size))
    numbers = "" if size <= MOST_NUMBERS else " plain"
    corner = '<td><span class="hidden">sentence</span></td>'
    return (
        '<div class="wide" tabindex="0" role="group" aria-label="Matrix of sentence pairs">'
        f'<table class="matrix{numbers}">'
        f"<thead><tr>{corner}{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _cells(matrix: PairMatrix, row: int) -> str:
    cells = []
    for column, value in enumerate(matrix.values[row]):
        if column == row:
            cells.append("<td></td>")
            continue
        framed = " own" if column == row + 1 else ""
        cells.append(
            f'<td class="t{colour_step(matrix.shares[row, column])}{framed}"><span>{number_text(value, 1)}</span></td>'
        )
    return "".join(cells)
