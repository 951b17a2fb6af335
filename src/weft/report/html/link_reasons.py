"""Why a link may be weak, in one sentence, as far as the matrix of sentence pairs shows it."""

from __future__ import annotations

import numpy as np

from weft.corpora.text.words import words_only
from weft.document import Document, Score
from weft.markup.scored_text import number_text
from weft.report.html.pair_matrix import PairMatrix, Reals

BETTER = 0.25  # how much higher on the scale another place must be to be named
STRANGE, AT_HOME = (
    0.1,
    0.3,
)  # median place of a sentence that fits nowhere, in a text whose median is the second or more


def link_reasons(score: Score, matrix: PairMatrix | None) -> dict[int, str]:
    """Return a reason for each marked gap for which one is found.

    Example:
        >>> text = Document("d", ("A.", "B.", "C.", "D."))
        >>> shares = np.array([[0, 0.9, 0.2, 0.9], [0.5, 0, 0.1, 0.8], [0.4, 0.4, 0, 0.7], [0.5, 0.3, 0.6, 0]])
        >>> link_reasons(Score(0.1, (0.9, 0.1, 0.7), document=text, breaks=(1,)), PairMatrix(shares, shares))
        {1: 'Sentence 3 fits better after sentence 4 (0.60) than here (0.10).'}
    """
    if score.document is None:
        return {}
    found = {gap: _reason(score.document, gap, matrix) for gap in score.breaks}
    return {gap: reason for gap, reason in found.items() if reason}


def _reason(document: Document, gap: int, matrix: PairMatrix | None) -> str:
    if repeated := _repeated(document, gap + 1):
        return f"The text may start over here: sentence {gap + 2} repeats sentence {repeated}."
    if matrix is None:
        return ""
    for sentence in (gap + 1, gap):
        if _is_strange(matrix.shares, sentence):
            return f"Sentence {sentence + 1} fits few sentences of this text; it may come from another one."
    return _better_place(matrix, gap)


def _repeated(document: Document, place: int) -> int:
    """Return the number of the first sentence with the same words as a later one; 0 if there is none."""
    words = words_only(document.sentences[place])
    for number, sentence in enumerate(document.sentences[:place], start=1):
        if words and words_only(sentence) == words:
            return number
    return 0


def _is_strange(shares: Reals, sentence: int) -> bool:
    """Whether a sentence fits hardly any other one, in a text whose sentences mostly fit each other."""
    others = ~np.eye(len(shares), dtype=bool)
    own = np.concatenate([shares[sentence][others[sentence]], shares[:, sentence][others[:, sentence]]])
    return bool(np.median(own) <= STRANGE and np.median(shares[others]) >= AT_HOME)


def _better_place(matrix: PairMatrix, gap: int) -> str:
    moved = gap + 1
    before = np.where(np.arange(len(matrix.shares)) == moved, -np.inf, matrix.shares[:, moved])
    best = int(before.argmax())
    if before[best] - before[gap] < BETTER:
        return ""
    there, here = number_text(matrix.values[best, moved]), number_text(matrix.values[gap, moved])
    return f"Sentence {moved + 1} fits better after sentence {best + 1} ({there}) than here ({here})."
