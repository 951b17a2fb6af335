"""The syntax HMM of Louis & Nenkova (2012): transitions between kinds of sentence structure.

Reference: A. Louis and A. Nenkova, "A coherence model based on syntactic patterns", EMNLP 2012.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from weft.corpora.syntax.sentence_parser import SentenceParser, parsed_by
from weft.document import Document
from weft.models.common.trained_model import TrainedModel
from weft.models.hmm.cluster_hmm import SMOOTHING_HELP, HmmFields, weight_setting
from weft.models.hmm.hmm_model import COMPARABLE, SCORE_RANGE, HmmModel
from weft.models.hmm.syntax_patterns import PatternFields, PatternFinder, Patterns, check_treebank
from weft.progress import Progress, silent
from weft.protocols import ModelCard
from weft.settings import Settings


@dataclass(frozen=True, kw_only=True)
class SyntaxHmmSettings(PatternFields, HmmFields, Settings):
    """Settings of `syntax-hmm`."""

    model_name: ClassVar[str] = "syntax-hmm"
    smoothing: float = weight_setting(0.3, SMOOTHING_HELP)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_treebank(self.model_name, self)


class SyntaxHmm(HmmModel, TrainedModel):
    """A hidden Markov model whose states are clusters of sentences with similar structure.

    A sentence is a bag of patterns of its tree. score = mean over sentences of
    log p(s_n | s_1 … s_{n−1}) − log p(s_n), including the probabilities of the text's beginning and end. This is the
    forward log-probability of the text minus the part that is the same in every order.

    Example:
        >>> from weft.document import Document
        >>> from weft.corpora.syntax.parsed_sentence import ParsedSentence
        >>> class Toy:  # stands for a parser: every other word depends on the first
        ...     name = "toy"
        ...     def parse(self, sentences, *, progress=None):
        ...         found = []
        ...         for words in map(str.split, sentences):
        ...             n = len(words)
        ...             tags = tuple("NNP" if word.istitle() else "VB" for word in words)
        ...             found.append(ParsedSentence(tuple(words), tags, (0,) * n, ("ROOT",) + ("dep",) * (n - 1)))
        ...         return found
        >>> model = SyntaxHmm(SyntaxHmmSettings(clusters=2, members=1, rarest=1)).with_parser(Toy())
        >>> model = model.fit([Document(str(n), ("Ann Lee Smith", "went away", "came back")) for n in range(9)])
        >>> good, bad = model.score([Document("a", ("Bob Ray", "ran off")), Document("b", ("ran off", "Bob Ray"))])
        >>> good.value > bad.value
        True
    """

    card = ModelCard(
        summary="a hidden Markov model over kinds of sentence structure",
        reference="Louis & Nenkova 2012",
        score_range=SCORE_RANGE,
        meaning="log-ratio of the probability of the sentences' structures in this order and in any order",
        comparable=COMPARABLE,
        needs="the extra `parse`; trained weights (pip install ./zoo) or training",
        extra="parse",
    )
    Settings = SyntaxHmmSettings
    settings: SyntaxHmmSettings

    def __init__(self, settings: SyntaxHmmSettings | None = None) -> None:
        super().__init__(settings)
        self.finder = PatternFinder(self.settings)

    def with_parser(self, parser: SentenceParser) -> Self:
        """Use this parser instead of searching for one, and return the model."""
        self.finder.parser = parser
        return self

    def training_record(self) -> dict[str, str]:
        """Return the name of the parser."""
        return parsed_by(self.finder.parser)

    def adjusted(self, changes: Mapping[str, Any]) -> Self:
        """Return the same trained model with another parser."""
        changed = type(self)(self.settings.adjusted(changes))
        changed.committee = self.committee
        return changed

    def remarks(self, document: Document) -> tuple[str, ...]:
        """Return a remark if the parser cannot read the document."""
        return self.finder.remarks(document)

    def patterns(self, sentences: Sequence[str], *, progress: Progress = silent) -> list[Patterns]:
        """Return the syntactic patterns of each sentence."""
        return self.finder.find(sentences, progress=progress)
