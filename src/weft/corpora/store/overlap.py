"""Overlap between training text and held-out text.

Two paragraphs overlap if they share two or more long sentences, or if one is a copy of the other. Sentences are
compared by a hash, without case and punctuation.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from weft.corpora.text.words import words_only
from weft.document import Document

# Sentences of fewer words repeat by chance ("He was born in Paris.").
LONG_WORDS = 8
ENOUGH_SHARED = 2


@dataclass(frozen=True, slots=True)
class OverlapIndex:
    """The long sentences of held-out text.

    Attributes:
        owners: For the key of each sentence or whole paragraph, the held-out paragraphs that contain it.
        names: The id of every held-out paragraph.

    Example:
        >>> line = "The quick brown fox jumps over the lazy dog number {}."
        >>> held_out = Document("test-1", tuple(line.format(i) for i in range(3)))
        >>> index = OverlapIndex.of([held_out])
        >>> index.match([line.format(2).upper(), line.format(1)])
        'test-1'
    """

    owners: dict[bytes, tuple[int, ...]] = field(default_factory=dict)
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, documents: Iterable[Document]) -> OverlapIndex:
        """Return the index of the paragraphs of held-out documents."""
        owners: dict[bytes, tuple[int, ...]] = {}
        names: list[str] = []
        for document in documents:
            for paragraph in document.paragraphs():
                for key in paragraph_keys(paragraph.sentences):
                    owners[key] = (*owners.get(key, ()), len(names))
                names.append(paragraph.id)
        return cls(owners, tuple(names))

    def match(self, sentences: Sequence[str]) -> str | None:
        """Return the id of the held-out paragraph that these sentences overlap with, or None."""
        if not self.owners:
            return None
        shared: Counter[int] = Counter()
        for key, weight in paragraph_keys(sentences).items():
            for owner in self.owners.get(key, ()):
                shared[owner] += weight
        owner, most = max(shared.items(), key=lambda item: (item[1], -item[0]), default=(0, 0))
        return self.names[owner] if most >= ENOUGH_SHARED else None


def paragraph_keys(sentences: Sequence[str]) -> dict[bytes, int]:
    """Return the keys of the long sentences, with weight 1, and of the whole paragraph, with weight 2.

    The key of the paragraph finds copied paragraphs of short sentences.
    """
    cut = [words_only(sentence) for sentence in sentences]
    keys = {_key(sentence): 1 for sentence in cut if len(sentence) >= LONG_WORDS}
    whole = [word for sentence in cut for word in sentence]
    if len(cut) > 1 and len(whole) >= LONG_WORDS:
        keys[_key(whole)] = ENOUGH_SHARED
    return keys


def _key(pieces: list[str]) -> bytes:
    # Eight bytes are enough: a false match needs two collisions in one paragraph.
    text = " ".join(pieces).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=8).digest()
