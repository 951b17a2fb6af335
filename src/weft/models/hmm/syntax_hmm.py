"""The syntax HMM of Louis & Nenkova (2012): texts move from one kind of sentence structure to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from weft.corpora.syntax.sentence_parser import SentenceParser
from weft.document import Document
from weft.models.hmm.hmm_model import COMPARABLE, SCORE_RANGE, HmmModel
from weft.models.hmm.syntax_patterns import PatternFinder, Patterns
from weft.progress import Progress, silent
from weft.protocols import ModelCard


class SyntaxHmm(HmmModel):
    """A hidden Markov model over clusters of sentences of like structure: the forward probability of a text.

    A sentence is a bag of patterns of its tree. The score is the mean gain of its sentences,
    log p(s_n | s_1 … s_{n−1}) − log p(s_n), the text's beginning and end counted in: the forward log-probability of
    the text, less that of its sentences in any order.

    Args:
        pattern: ``sequence`` (d-sequences: labels side by side at some depth of the tree) or ``productions``.
        depth: Of a sequence's cut through the tree; 0 for the tags of the words.
        trees: ``dependency``, by a parser, or ``penn``, from a file.
        parser: A spaCy pipeline by name; empty for what is there.
        treebank: The file of Penn trees.
        clusters: How many states.
        members: How many models, of different clusterings, are averaged.
        smoothing: How much every pattern counts in every state beforehand, on the average.
        move_smoothing: The same for every move from state to state.
        power: Of the likelihoods of sentences, below 1 since their patterns depend on each other.
        iterations: Of re-estimation.
        reassign: ``expected`` (expectation maximisation) or ``best`` (the likeliest path).
        rarest: Patterns of fewer sentences are left out.
        vocabulary: How many patterns are kept at most.

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
        >>> model = SyntaxHmm(clusters=2, members=1, rarest=1).with_parser(Toy())
        >>> model = model.fit([Document(str(n), ("Ann Lee Smith", "went away", "came back")) for n in range(9)])
        >>> good, bad = model.score([Document("a", ("Bob Ray", "ran off")), Document("b", ("ran off", "Bob Ray"))])
        >>> good.value > bad.value
        True
    """

    name = "syntax-hmm"
    adjustable = ("parser",)
    card = ModelCard(
        summary="a hidden Markov model over kinds of sentence structure",
        reference="Louis & Nenkova 2012",
        score_range=SCORE_RANGE,
        meaning="how much likelier the sentences' structures are in this order than in any",
        comparable=COMPARABLE,
        needs="the extra `parse`; zoo/syntax-hmm-accidents, or training (weft train configs/syntax-hmm.toml)",
    )

    def __init__(
        self,
        pattern: str = "sequence",
        depth: int = 0,
        trees: str = "dependency",
        parser: str = "",
        treebank: str = "",
        clusters: int = 24,
        members: int = 8,
        smoothing: float = 0.3,
        move_smoothing: float = 0.1,
        power: float = 0.3,
        iterations: int = 10,
        reassign: str = "expected",
        rarest: int = 2,
        vocabulary: int = 2000,
    ) -> None:
        super().__init__({name: value for name, value in locals().items() if name not in {"self", "__class__"}})
        self.finder = PatternFinder(pattern=pattern, depth=depth, trees=trees, parser=parser, treebank=treebank)
        self.finder.check(self.name)

    def with_parser(self, parser: SentenceParser) -> Self:
        """The same model, given its parser instead of finding one: another tool's parses, or a test's."""
        self.finder.loaded = parser
        return self

    def made(self, training: Mapping[str, Any] | None) -> dict[str, Any]:
        """How it was made, and the pipeline whose parses it learned from."""
        return self.finder.made(training)

    @property
    def parser(self) -> str:
        """The spaCy pipeline by name."""
        return self.finder.parser

    def adjusted(self, settings: Mapping[str, Any]) -> Self:
        """The same model with another parser."""
        changed = type(self)(**{**self.settings, **settings})
        changed.committee = self.committee
        return changed

    def remarks(self, document: Document) -> tuple[str, ...]:
        """Whether it may be beyond the parser."""
        return self.finder.remarks(document)

    def patterns(self, sentences: Sequence[str], *, progress: Progress = silent) -> list[Patterns]:
        """The patterns of each sentence's tree."""
        return self.finder.find(sentences, progress=progress)
