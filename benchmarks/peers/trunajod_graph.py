"""TRUNAJOD: local coherence of its entity graph (the projection weighted by roles and distance).

It needs parses. The dependency parser inside weft makes them, and its time counts, as the time of any parser would.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

POS = {"NN": "NOUN", "NNS": "NOUN", "NNP": "PROPN", "NNPS": "PROPN", "PRP": "PRON"}
WEIGHTED_BY_DISTANCE = 5  # place of this variant among the six of get_local_coherence


def load(data: Path, name: str) -> Callable[[list[list[str]]], list[Any]]:  # noqa: ARG001  all scorers have both
    """Return the scorer."""
    from spacy.tokens import Doc
    from spacy.vocab import Vocab
    from TRUNAJOD.entity_grid import EntityGrid, get_local_coherence

    from weft.corpora.syntax.parser import find_parser

    parser, vocab = find_parser("weft-parser"), Vocab()

    def document_of(text: list[str]) -> Any:
        words: list[str] = []
        labels: list[str] = []
        tags, heads, starts = [], [], []
        for parse in parser.parse(tuple(text)):
            heads += [head + len(words) for head in parse.heads]
            words += parse.words
            tags += [POS.get(tag, "X") for tag in parse.tags]
            labels += parse.labels
            starts += [place == 0 for place in range(len(parse))]
        return Doc(vocab, words=words, pos=tags, deps=labels, heads=heads, sent_starts=starts)

    def one(text: list[str]) -> tuple[float | None, None]:
        if len(text) < 2:
            return None, None
        return float(get_local_coherence(EntityGrid(document_of(text)))[WEIGHTED_BY_DISTANCE]), None

    return lambda texts: [one(text) for text in texts]
