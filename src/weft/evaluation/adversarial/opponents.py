"""What stands against human continuations: those of a system, or controls made of human sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from weft.corpora.text.tokenizers import Tokenizer
from weft.errors import CorpusError
from weft.evaluation.adversarial.chunks import CONTEXT, PARTS, TURNS, Chunks
from weft.evaluation.adversarial.token_rows import IdRows, Whole, canonical_rows
from weft.io.seeded_hash import hash_key

ORDERS = ((0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))  # of three sentences, all but the right one


@dataclass(frozen=True)
class Bout:
    """Human chunks and their opponents with a number of turns.

    Attributes:
        rows: The sentences of both.
        human: Of every part, [chunks, 3 + turns] numbers of sentences.
        machine: Of every part, as many.
        pages: Of every part, [chunks] the page of the human chunk and that of its opponent.
    """

    rows: IdRows
    human: Mapping[str, Whole]
    machine: Mapping[str, Whole]
    pages: Mapping[str, tuple[Sequence[str], Sequence[str]]]


def written_bouts(chunks: Chunks, texts: Sequence[Sequence[str]], tokenizer: Tokenizer, longest: int) -> list[Bout]:
    """A system's continuations against the human ones, each after the same context; for every number of turns."""
    own = canonical_rows((text for three in texts for text in three), tokenizer, longest=longest)
    numbers = len(chunks.rows) + np.arange(len(own)).reshape(-1, TURNS)
    rows = IdRows.joined([chunks.rows, own])  # the same for all, so that what is known of sentences is found once
    return [_bout(chunks, rows, numbers[:, :turns], turns) for turns in range(1, TURNS + 1)]


def control_bout(chunks: Chunks, name: str, turns: int, seed: int) -> Bout:
    """One of `CONTROLS` against the human continuations."""
    if name == "human":
        return _halves(chunks, turns)
    return _bout(chunks, chunks.rows, _CONTROLS[name](chunks, turns, seed), turns)


def _bout(chunks: Chunks, rows: IdRows, machine: Whole, turns: int) -> Bout:
    places = {name: chunks.part(name) for name in PARTS}
    right = np.concatenate([chunks.context, chunks.human[:, :turns]], axis=1)
    wrong = np.concatenate([chunks.context, machine], axis=1)
    pages = {name: chunks.pages[place].tolist() for name, place in places.items()}
    return Bout(
        rows,
        {name: right[place] for name, place in places.items()},
        {name: wrong[place] for name, place in places.items()},
        {name: (pages[name], pages[name]) for name in PARTS},
    )


def _halves(chunks: Chunks, turns: int) -> Bout:
    """Human chunks against other human chunks: those of half the pages are called machine, and nothing tells which."""
    whole = np.concatenate([chunks.context, chunks.human[:, :turns]], axis=1)
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
                f"the {name} part has too few pages for two sides", seen=len(side), allowed="chunks of several pages",
                next_step="use more text, or a larger --limit",
            )  # fmt: skip
        human[name], machine[name] = part[one[:size]], part[other[:size]]
        pages[name] = names[one[:size]].tolist(), names[other[:size]].tolist()
    return Bout(chunks.rows, human, machine, pages)


def without_overlap(bout: Bout) -> Bout:
    """The same with only those training chunks, and their opponents, that share no sentence with another pair."""
    used: set[int] = set()
    kept = []
    both = zip(bout.human["train"].tolist(), bout.machine["train"].tolist(), strict=True)
    for number, (chunk, opponent) in enumerate(both):  # an opponent may be made of human sentences too
        if used.isdisjoint(chunk) and used.isdisjoint(opponent):
            used.update(chunk, opponent)
            kept.append(number)
    human, machine = ({**side, "train": side["train"][kept]} for side in (bout.human, bout.machine))
    return replace(bout, human=human, machine=machine)


def _random_sentences(chunks: Chunks, turns: int, seed: int) -> Whole:
    """At every turn the sentence that people wrote at that turn in a chunk of another page."""
    found = np.empty((len(chunks), turns), dtype=np.int64)
    generator = np.random.default_rng([seed, 1])
    for name in PARTS:
        place = chunks.part(name)
        for turn in range(turns):
            other = _elsewhere(chunks.pages[place], generator)
            found[place, turn] = chunks.human[place][other, turn]
    return found


def _elsewhere(pages: np.ndarray[tuple[int], np.dtype[np.str_]], generator: np.random.Generator) -> Whole:
    """For every chunk another one, of another page where there is one: [chunks]."""
    size = len(pages)
    other = generator.permutation(size)
    for _ in range(100):
        same = np.flatnonzero(pages[other] == pages)
        if not len(same):
            break
        other[same] = generator.integers(0, size, len(same))
    return other


def _wrong_order(chunks: Chunks, turns: int, seed: int) -> Whole:
    """The sentences that follow, in another order; for one turn, the third sentence instead of the next."""
    if turns == 1:
        return chunks.human[:, 2:3]
    if turns == 2:
        return chunks.human[:, [1, 0]]
    chosen = np.random.default_rng([seed, 2]).integers(0, len(ORDERS), len(chunks))
    found: Whole = np.take_along_axis(chunks.human, np.array(ORDERS)[chosen], axis=1)
    return found


def _repeated(chunks: Chunks, turns: int, seed: int) -> Whole:  # noqa: ARG001  nothing here is random
    """The last sentence of the context again."""
    return np.repeat(chunks.context[:, CONTEXT - 1 :], turns, axis=1)


_CONTROLS: Mapping[str, Callable[[Chunks, int, int], Whole]] = {
    "random-sentence": _random_sentences,
    "wrong-order": _wrong_order,
    "repeat-last": _repeated,
}
CONTROLS = ("human", *_CONTROLS)
