"""Controls: human sentences in place of a system's continuations, to show how strong the evaluators are."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from weft.errors import CorpusError
from weft.evaluation.adversarial.chunks import CONTEXT, PARTS, Chunks
from weft.evaluation.adversarial.labelled_chunks import LabelledChunks, label_chunks
from weft.evaluation.adversarial.token_rows import Integers
from weft.io.seeded_hash import hash_key

ORDERS = ((0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))  # all wrong orders of three sentences


def label_control(chunks: Chunks, name: str, length: int, seed: int) -> LabelledChunks:
    """Return human continuations of some length, labelled, and those of a control."""
    if name == "human":
        return _halves(chunks, length)
    return label_chunks(chunks, chunks.rows, _CONTROLS[name](chunks, length, seed))


def _halves(chunks: Chunks, length: int) -> LabelledChunks:
    """Label the human chunks of half of the pages as machine chunks; nothing distinguishes the two halves."""
    whole = np.concatenate([chunks.context, chunks.human[:, :length]], axis=1)
    human, machine, pages = {}, {}, {}
    for name in PARTS:
        part, names = whole[chunks.part(name)], chunks.pages[chunks.part(name)]
        shuffled = sorted(set(names.tolist()), key=lambda page: hash_key("half", page))
        side = {page: place % 2 for place, page in enumerate(shuffled)}
        sides = np.array([side[page] for page in names.tolist()])
        one, other = np.flatnonzero(sides == 0), np.flatnonzero(sides == 1)
        size = min(len(one), len(other))
        if not size:
            raise CorpusError(
                f"the {name} part has too few pages for two halves",
                seen=len(side),
                allowed="chunks of several pages",
                next_step="use more text, or a larger --limit",
            )
        human[name], machine[name] = part[one[:size]], part[other[:size]]
        pages[name] = names[one[:size]].tolist(), names[other[:size]].tolist()
    return LabelledChunks(chunks.rows, human, machine, pages)


def _random_sentences(chunks: Chunks, length: int, seed: int) -> Integers:
    """Return at every place the human sentence at that place in a chunk of another page."""
    found = np.empty((len(chunks), length), dtype=np.int64)
    generator = np.random.default_rng([seed, 1])
    for name in PARTS:
        part = chunks.part(name)
        for place in range(length):
            other = _of_other_pages(chunks.pages[part], generator)
            found[part, place] = chunks.human[part][other, place]
    return found


def _of_other_pages(pages: np.ndarray[tuple[int], np.dtype[np.str_]], generator: np.random.Generator) -> Integers:
    """Return for every chunk another one, of another page if there is one: [chunks]."""
    size = len(pages)
    other = generator.permutation(size)
    for _ in range(100):
        same = np.flatnonzero(pages[other] == pages)
        if not len(same):
            break
        other[same] = generator.integers(0, size, len(same))
    return other


def _wrong_order(chunks: Chunks, length: int, seed: int) -> Integers:
    """Return the human sentences in another order; for one sentence, the third instead of the first."""
    if length == 1:
        return chunks.human[:, 2:3]
    if length == 2:
        return chunks.human[:, [1, 0]]
    chosen = np.random.default_rng([seed, 2]).integers(0, len(ORDERS), len(chunks))
    found: Integers = np.take_along_axis(chunks.human, np.array(ORDERS)[chosen], axis=1)
    return found


def _repeated(chunks: Chunks, length: int, seed: int) -> Integers:  # noqa: ARG001  nothing here is random
    """Return the last sentence of the context again."""
    return np.repeat(chunks.context[:, CONTEXT - 1 :], length, axis=1)


_CONTROLS: Mapping[str, Callable[[Chunks, int, int], Integers]] = {
    "random-sentence": _random_sentences,
    "wrong-order": _wrong_order,
    "repeat-last": _repeated,
}
