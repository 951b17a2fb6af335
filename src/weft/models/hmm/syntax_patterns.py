"""Sentences as bags of syntactic patterns: productions of their trees, or bigrams of labels at some depth.

Reference: A. Louis and A. Nenkova, "A coherence model based on syntactic patterns", EMNLP 2012.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from weft.corpora.data_folder import find_data
from weft.corpora.syntax.sentence_parser import LazyParser, SentenceParser, parser_remarks
from weft.corpora.syntax.trees import Tree, TreeBank, tree_of_parse
from weft.document import Document
from weft.errors import ConfigError, CorpusError
from weft.progress import Progress, silent
from weft.settings import setting

KINDS = ("sequence", "productions")
TREES = ("dependency", "penn")
TAGS = 0  # the depth at which all labels are tags of words
_START, _END = "<s>", "</s>"
# Tags of grammatical words, whose productions are kept.
_GRAMMAR = frozenset(
    (
        *("DT", "IN", "PRP", "PRP$", "MD", "TO", "CC", "WDT", "WP", "WP$", "WRB", "EX", "PDT", "RP", "POS"),
        *(",", ".", ":", "``", "''", "-LRB-", "-RRB-", "$"),
    )
)

Patterns = tuple[str, ...]


def productions(tree: Tree) -> Patterns:
    """Return the productions of a tree: those of phrases, and those of the tags of grammatical words.

    Paper: Louis and Nenkova omit all productions that end in words. Those of closed word classes (``IN → about``) are
    kept here, because they depend strongly on the position of a sentence.

    Example:
        >>> from weft.corpora.syntax.trees import read_tree
        >>> productions(read_tree("(S (NP (DT The) (NN dog)) (VP (VBZ barks)))"))
        ('S → NP VP', 'NP → DT NN', 'DT → the', 'VP → VBZ')
    """
    found = []
    for label, word, children in zip(tree.labels, tree.words, tree.children(), strict=True):
        if children:
            found.append(f"{label} → {' '.join(tree.labels[node] for node in children)}")
        elif label in _GRAMMAR:
            found.append(f"{label} → {word.lower()}")
    return tuple(found)


def sequence(tree: Tree, depth: int = TAGS) -> Patterns:
    """Return the bigrams of labels of a tree that is cut at a depth (d-sequences).

    Words above the cut are represented by their tags. At depth 0 all labels are tags.

    Example:
        >>> from weft.corpora.syntax.trees import read_tree
        >>> tree = read_tree("(S (NP (DT The) (NN dog)) (VP (VBZ barks)))")
        >>> sequence(tree, 1), sequence(tree)
        (('<s> NP', 'NP VP', 'VP </s>'), ('<s> DT', 'DT NN', 'NN VBZ', 'VBZ </s>'))
    """
    if not tree.labels:
        return ()
    labels = []
    for label, word, level in zip(tree.labels, tree.words, tree.depths(), strict=True):
        if (depth and level == depth) or (word and (not depth or level < depth)):
            labels.append(label)
    return tuple(f"{left} {right}" for left, right in pairwise((_START, *labels, _END)))


def pattern_setting(default: str) -> str:
    """Declare the setting `pattern`, whose default differs between models."""
    chosen: str = setting(default, "sequence (bigrams of labels at a depth of the tree) or productions.", choices=KINDS)
    return chosen


@dataclass(frozen=True, kw_only=True)
class PatternFields:
    """Settings of models that read syntactic patterns."""

    pattern: str = pattern_setting("sequence")
    depth: int = setting(0, "Depth at which sequence cuts the tree; 0: tags of the words.", minimum=0, maximum=1000)
    trees: str = setting("dependency", "dependency (from a parser) or penn (from a treebank file).", choices=TREES)
    parser: str = setting("", "Name of a spaCy pipeline; empty: the best one installed.", adjustable=True)
    treebank: str = setting("", "File with Penn trees, here or in the data folder; needed with trees = penn.")


def check_treebank(model: str, settings: PatternFields) -> None:
    """Raise ConfigError if Penn trees are chosen without a treebank."""
    if settings.trees == "penn" and not settings.treebank:
        raise ConfigError(
            f"{model} with Penn trees needs a treebank",
            seen="no `treebank`",
            allowed="a file with one tree per line, such as barzilay_lapata/corenlp_trees.tar.gz",
            next_step='set `treebank`, or use trees = "dependency"',
        )


class PatternFinder:
    """Finds the patterns of sentences; each distinct sentence is parsed once."""

    def __init__(self, settings: PatternFields) -> None:
        self.settings = settings
        self.parser: SentenceParser = LazyParser(settings.parser)

    @cached_property
    def bank(self) -> TreeBank:
        """The treebank, read when the first sentence is looked up."""
        return TreeBank.read(find_data(self.settings.treebank))

    def find(self, sentences: Sequence[str], *, progress: Progress = silent) -> list[Patterns]:
        """Return the patterns of each sentence; an empty sentence and one that is not in the treebank have none.

        Raises:
            CorpusError: The treebank contains none of the sentences.
        """
        distinct = list(dict.fromkeys(sentences))
        found = dict(zip(distinct, map(self._patterns, self._trees(distinct, progress)), strict=True))
        return [found[sentence] for sentence in sentences]

    def find_documents(self, documents: Iterable[Document], *, progress: Progress = silent) -> list[list[Patterns]]:
        """Return the patterns of the sentences of each paragraph; a paragraph is one training text."""
        texts = [paragraph.sentences for document in documents for paragraph in document.paragraphs()]
        found = iter(self.find([sentence for text in texts for sentence in text], progress=progress))
        return [[next(found) for _ in text] for text in texts]

    def remarks(self, document: Document) -> tuple[str, ...]:
        """Return a remark if the parser cannot read the document."""
        return parser_remarks(document) if self.settings.trees == "dependency" else ()

    def _patterns(self, tree: Tree | None) -> Patterns:
        if tree is None:
            return ()
        if self.settings.pattern == "productions":
            return productions(tree)
        return sequence(tree, self.settings.depth)

    def _trees(self, sentences: Sequence[str], progress: Progress) -> Sequence[Tree | None]:
        if not sentences:
            return []
        if self.settings.trees == "dependency":
            return [tree_of_parse(parse) for parse in self.parser.parse(sentences, progress=progress)]
        found = [self.bank.find(sentence) for sentence in sentences]
        if all(tree is None for tree in found):
            raise CorpusError(
                f"the treebank {self.settings.treebank} has no tree of this text",
                seen=sentences[0][:60],
                allowed="texts whose sentences are in the treebank",
                next_step='use a model with trees = "dependency", which parses any text',
            )
        return found
