"""Sentences as bags of syntactic patterns: productions of their trees, or what stands beside what at some depth.

Reference: A. Louis and A. Nenkova, "A coherence model based on syntactic patterns", EMNLP 2012.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from weft.corpora.syntax.sentence_parser import SentenceParser, parser_remarks
from weft.corpora.syntax.trees import Tree, TreeBank, tree_of_parse
from weft.document import Document
from weft.errors import ConfigError, CorpusError
from weft.models.common.setting_checks import at_least, check_choice, check_text
from weft.progress import Progress, silent

KINDS = ("sequence", "productions")
TREES = ("dependency", "penn")
ALL_THE_WAY = 0  # depth: down to the tags
_START, _END = "<s>", "</s>"
# Tags of words that are grammar rather than content: a production may end in them.
_GRAMMAR = frozenset(
    (
        *("DT", "IN", "PRP", "PRP$", "MD", "TO", "CC", "WDT", "WP", "WP$", "WRB", "EX", "PDT", "RP", "POS"),
        *(",", ".", ":", "``", "''", "-LRB-", "-RRB-", "$"),
    )
)

Patterns = tuple[str, ...]


def productions(tree: Tree) -> Patterns:
    """The productions of a tree: of every phrase, and of the tags of grammatical words.

    Paper: Louis and Nenkova leave out all productions that end in words. Those of closed classes (``IN → about``) are
    grammar too, and say more of a sentence's place than many others.

    Example:
        >>> from weft.corpora.syntax.trees import read_tree
        >>> productions(read_tree("(S (NP (DT The) (NN dog)) (VP (VBZ barks)))"))
        ('S → NP VP', 'NP → DT NN', 'DT → the', 'VP → VBZ')
    """
    found = []
    for label, word, below in zip(tree.labels, tree.words, tree.children(), strict=True):
        if below:
            found.append(f"{label} → {' '.join(tree.labels[node] for node in below)}")
        elif label in _GRAMMAR:
            found.append(f"{label} → {word.lower()}")
    return tuple(found)


def sequence(tree: Tree, depth: int = ALL_THE_WAY) -> Patterns:
    """What stands beside what when a tree is cut at a depth, as in a language model of pairs of labels.

    Above the cut, branches that have ended in a tag stand for themselves; depth 0 cuts below all phrases, so that
    all are tags.

    Example:
        >>> from weft.corpora.syntax.trees import read_tree
        >>> tree = read_tree("(S (NP (DT The) (NN dog)) (VP (VBZ barks)))")
        >>> sequence(tree, 1), sequence(tree)
        (('<s> NP', 'NP VP', 'VP </s>'), ('<s> DT', 'DT NN', 'NN VBZ', 'VBZ </s>'))
    """
    if not tree.labels:
        return ()
    cut = []
    for label, word, level in zip(tree.labels, tree.words, tree.depths(), strict=True):
        if (depth and level == depth) or (word and (not depth or level < depth)):
            cut.append(label)
    return tuple(f"{left} {right}" for left, right in pairwise((_START, *cut, _END)))


class PatternFinder:
    """Finds the patterns of sentences, each distinct one once.

    Args:
        pattern: ``sequence`` or ``productions``.
        depth: Where a sequence cuts the tree; 0 for the tags.
        trees: ``dependency`` (any text, by a parser) or ``penn`` (only sentences that the treebank has).
        parser: A spaCy pipeline by name (`weft.corpora.syntax.parser.find_parser`); loaded when a sentence is parsed.
        treebank: A file with Penn trees, here or below the data folder; read when a sentence is looked up.
    """

    def __init__(
        self,
        *,
        pattern: str = "sequence",
        depth: int = ALL_THE_WAY,
        trees: str = "dependency",
        parser: str = "",
        treebank: str = "",
    ) -> None:
        self.pattern, self.depth, self.trees = pattern, depth, trees
        self.parser, self.treebank = parser, treebank
        self.loaded: SentenceParser | None = None
        self.bank: TreeBank | None = None

    def check(self, model: str) -> None:
        """Refuse settings that make no sense.

        Raises:
            ConfigError: One does not.
        """
        check_choice(model, "pattern", self.pattern, KINDS)
        check_choice(model, "trees", self.trees, TREES)
        at_least(model, "depth", self.depth, 0, 1000)
        check_text(model, "parser", self.parser)
        check_text(model, "treebank", self.treebank)
        if self.trees == "penn" and not self.treebank:
            raise ConfigError(
                f"{model} with Penn trees needs a file that has them",
                seen="no `treebank`",
                allowed="a file with a tree a line, such as barzilay_lapata/corenlp_trees.tar.gz",
                next_step='name it as `treebank`, or leave trees = "dependency"',
            )

    def made(self, training: Mapping[str, Any] | None) -> dict[str, Any]:
        """How a model was made, with the pipeline whose parses it learned from."""
        parsed_by = {"parsed_by": self.loaded.name} if self.loaded is not None else {}
        return {**(training or {}), **parsed_by}

    def find(self, sentences: Sequence[str], *, progress: Progress = silent) -> list[Patterns]:
        """The patterns of each sentence; none of an empty one, or of one that the treebank does not have.

        Raises:
            CorpusError: The treebank has none of them.
        """
        distinct = list(dict.fromkeys(sentences))
        known = dict(zip(distinct, map(self._patterns, self._trees(distinct, progress)), strict=True))
        return [known[sentence] for sentence in sentences]

    def find_documents(self, documents: Iterable[Document], *, progress: Progress = silent) -> list[list[Patterns]]:
        """The patterns of the sentences of each paragraph, which is a text of its own to learn from."""
        texts = [paragraph.sentences for document in documents for paragraph in document.paragraphs()]
        found = iter(self.find([sentence for text in texts for sentence in text], progress=progress))
        return [[next(found) for _ in text] for text in texts]

    def remarks(self, document: Document) -> tuple[str, ...]:
        """Whether a text may be beyond the parser."""
        return parser_remarks(document) if self.trees == "dependency" else ()

    def _patterns(self, tree: Tree | None) -> Patterns:
        if tree is None:
            return ()
        return productions(tree) if self.pattern == "productions" else sequence(tree, self.depth)

    def _trees(self, sentences: Sequence[str], progress: Progress) -> Sequence[Tree | None]:
        if not sentences:
            return []
        if self.trees == "dependency":
            return [tree_of_parse(parse) for parse in self._parser().parse(sentences, progress=progress)]
        if self.bank is None:
            from weft.corpora.data_folder import find_data

            self.bank = TreeBank.read(find_data(self.treebank))
        found = [self.bank.find(sentence) for sentence in sentences]
        if all(tree is None for tree in found):
            raise CorpusError(
                f"the treebank {self.treebank} has no tree of this text",
                seen=sentences[0][:60],
                allowed="texts whose sentences it has",
                next_step='use a model with trees = "dependency", which parses any text',
            )
        return found

    def _parser(self) -> SentenceParser:
        if self.loaded is None:
            from weft.corpora.syntax.parser import find_parser

            self.loaded = find_parser(self.parser)
        return self.loaded
