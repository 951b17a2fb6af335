"""The content model of Barzilay & Lee (2004): transitions between the topics of a domain.

Reference: R. Barzilay and L. Lee, "Catching the drift: probabilistic content models", NAACL 2004.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from weft.corpora.text.words import words_only
from weft.models.common.trained_model import TrainedModel
from weft.models.hmm.cluster_hmm import POWER_HELP, RAREST_HELP, HmmFields, weight_setting
from weft.models.hmm.hmm_model import COMPARABLE, SCORE_RANGE, HmmModel
from weft.models.hmm.syntax_patterns import Patterns
from weft.progress import Progress, silent
from weft.protocols import ModelCard
from weft.settings import Settings, setting

NUMBER = "0"
UNITS = ("words", "pairs")


def content_patterns(sentence: str, units: str = "words") -> Patterns:
    """Return the words of a sentence, or its bigrams; all numbers count as one word.

    Example:
        >>> content_patterns("It was 7 then."), content_patterns("It was 7 then.", "pairs")
        (('it', 'was', '0', 'then'), ('<s> it', 'it was', 'was 0', '0 then', 'then </s>'))
    """
    words = tuple(NUMBER if word.isdigit() else word for word in words_only(sentence))
    if units == "words" or not words:
        return words
    return tuple(f"{left} {right}" for left, right in pairwise(("<s>", *words, "</s>")))


@dataclass(frozen=True, kw_only=True)
class ContentHmmSettings(HmmFields, Settings):
    """Settings of `content-hmm`."""

    model_name: ClassVar[str] = "content-hmm"
    units: str = setting("words", "words, or pairs of adjacent words as in Barzilay and Lee.", choices=UNITS)
    power: float = weight_setting(0.5, POWER_HELP)
    smallest: int = setting(
        0,
        "Number of sentences below which a cluster joins one state for all small clusters, which emits what the other "
        "states do not; 0: no such state.",
        minimum=0,
    )
    rarest: int = setting(4, RAREST_HELP, minimum=1)


class ContentHmm(HmmModel, TrainedModel):
    """A hidden Markov model whose states are clusters of sentences with similar content.

    score = mean over sentences of log p(s_n | s_1 … s_{n−1}) − log p(s_n), as in `syntax-hmm`.

    Paper: Barzilay and Lee cluster by complete link and emit pairs of words (``units = "pairs"``); k-means and single
    words did better in cross-validation.

    Example:
        >>> from weft.document import Document
        >>> texts = [Document(str(n), ("a quake shook the town", "many people died", "help came")) for n in range(9)]
        >>> model = ContentHmm(ContentHmmSettings(clusters=3, members=1)).fit(texts)
        >>> good, bad = model.order_scores(Document("d", ("a quake shook us", "help came")), [(0, 1), (1, 0)])
        >>> good > bad
        True
    """

    card = ModelCard(
        summary="a hidden Markov model over the topics of a domain's sentences",
        reference="Barzilay & Lee 2004",
        score_range=SCORE_RANGE,
        meaning="log-ratio of the probability of the sentences' words in this order and in any order",
        comparable=COMPARABLE,
        needs="trained weights (pip install ./zoo) or training",
    )
    Settings = ContentHmmSettings
    settings: ContentHmmSettings

    @property
    def smallest(self) -> int:
        """The number of sentences below which clusters are merged."""
        return self.settings.smallest

    def patterns(self, sentences: Sequence[str], *, progress: Progress = silent) -> list[Patterns]:  # noqa: ARG002
        """Return the words or word pairs of each sentence."""
        return [content_patterns(sentence, self.settings.units) for sentence in sentences]
