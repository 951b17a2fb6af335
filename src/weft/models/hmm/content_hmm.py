"""The content model of Barzilay & Lee (2004): texts of a domain move from topic to topic in like ways."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from weft.corpora.text.words import words_only
from weft.models.common.setting_checks import at_least, check_choice
from weft.models.hmm.hmm_model import COMPARABLE, SCORE_RANGE, HmmModel
from weft.models.hmm.syntax_patterns import Patterns
from weft.progress import Progress, silent
from weft.protocols import ModelCard

NUMBER = "0"
UNITS = ("words", "pairs")


def content(sentence: str, units: str = "words") -> Patterns:
    """The words of a sentence, all numbers as one; or what stands beside what.

    Example:
        >>> content("It was 7 then."), content("It was 7 then.", "pairs")
        (('it', 'was', '0', 'then'), ('<s> it', 'it was', 'was 0', '0 then', 'then </s>'))
    """
    words = tuple(NUMBER if word.isdigit() else word for word in words_only(sentence))
    if units == "words" or not words:
        return words
    return tuple(f"{left} {right}" for left, right in pairwise(("<s>", *words, "</s>")))


class ContentHmm(HmmModel):
    """A hidden Markov model over clusters of sentences of like content: the forward probability of a text.

    Paper: Barzilay and Lee cluster by complete link and emit pairs of words (``units = "pairs"``); k-means and words
    alone did better in cross-validation.

    Args:
        units: ``words``, or ``pairs`` of words that stand side by side.
        clusters: How many states.
        members: How many models, of different clusterings, are averaged.
        smoothing: How much every word counts in every state beforehand, on the average.
        move_smoothing: The same for every move from state to state.
        power: Of the likelihoods of sentences.
        iterations: Of re-estimation.
        reassign: ``expected`` (expectation maximisation) or ``best`` (the likeliest path, as in the paper).
        smallest: Clusters of fewer sentences go into one state for all the rest, which emits what the others do not;
            0 for no such state.
        rarest: Words of fewer sentences are left out.
        vocabulary: How many words are kept at most.

    Example:
        >>> from weft.document import Document
        >>> texts = [Document(str(n), ("a quake shook the town", "many people died", "help came")) for n in range(9)]
        >>> model = ContentHmm(clusters=3, members=1).fit(texts)
        >>> good, bad = model.order_scores(Document("d", ("a quake shook us", "help came")), [(0, 1), (1, 0)])
        >>> good > bad
        True
    """

    name = "content-hmm"
    card = ModelCard(
        summary="a hidden Markov model over what sentences of a domain are about",
        reference="Barzilay & Lee 2004",
        score_range=SCORE_RANGE,
        meaning="how much likelier the sentences' words are in this order than in any",
        comparable=COMPARABLE,
        needs="zoo/content-hmm-accidents, or training (weft train configs/content-hmm.toml)",
    )

    def __init__(
        self,
        units: str = "words",
        clusters: int = 24,
        members: int = 8,
        smoothing: float = 0.1,
        move_smoothing: float = 0.1,
        power: float = 0.5,
        iterations: int = 10,
        reassign: str = "expected",
        smallest: int = 0,
        rarest: int = 4,
        vocabulary: int = 2000,
    ) -> None:
        super().__init__({name: value for name, value in locals().items() if name not in {"self", "__class__"}})
        check_choice(self.name, "units", units, UNITS)
        at_least(self.name, "smallest", smallest, 0)

    def patterns(self, sentences: Sequence[str], *, progress: Progress = silent) -> list[Patterns]:  # noqa: ARG002
        """The words of each sentence."""
        return [content(sentence, self.settings["units"]) for sentence in sentences]
