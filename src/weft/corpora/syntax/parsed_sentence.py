"""What a dependency parser says of a sentence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """One sentence, its words, their tags and how they depend on each other.

    Attributes:
        words: The words and punctuation marks, in order.
        tags: A Penn Treebank tag for each (``NN``, ``VBD``, …).
        heads: The index of the word each depends on; a root has its own index.
        labels: How each depends on its head, in spaCy's English (ClearNLP) labels: ``nsubj``, ``dobj``, ``pobj``, …

    Example:
        >>> sentence = ParsedSentence(("Dogs", "bark"), ("NNS", "VBP"), (1, 1), ("nsubj", "ROOT"))
        >>> sentence.words[sentence.heads[0]], len(sentence)
        ('bark', 2)
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.words)
