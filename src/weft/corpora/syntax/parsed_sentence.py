"""A sentence with its dependency parse."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """The words of a sentence, their tags and their dependencies.

    Attributes:
        words: The words and punctuation marks, in order.
        tags: The Penn Treebank tag of each word (``NN``, ``VBD``, …).
        heads: The index of the head of each word; the head of a root is itself.
        labels: The dependency label of each word, as in spaCy's English pipelines: ``nsubj``, ``dobj``, ``pobj``, …
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.words)

    def dependents(self) -> tuple[list[int], list[list[int]]]:
        """Return the roots, and the dependents of each word, from left to right."""
        roots: list[int] = []
        below: list[list[int]] = [[] for _ in self.words]
        for word, head in enumerate(self.heads):
            (roots if head == word else below[head]).append(word)
        return roots, below
