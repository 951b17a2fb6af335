"""Chunks with labels: contexts with human continuations, and the same with those of a system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from weft.corpora.text.tokenizers import Tokenizer
from weft.evaluation.adversarial.chunks import CONTEXT, CONTINUATION, PARTS, Chunks
from weft.evaluation.adversarial.token_rows import Integers, TokenRows, canonical_rows


@dataclass(frozen=True)
class LabelledChunks:
    """Human chunks and machine chunks with continuations of one length."""

    rows: TokenRows  # the sentences of both
    human: Mapping[str, Integers]  # for every part, [chunks, 3 + sentences of a continuation] numbers of sentences
    machine: Mapping[str, Integers]  # the same, of the system
    # For every part, [chunks] the pages of the human chunks and those of the machine chunks.
    pages: Mapping[str, tuple[Sequence[str], Sequence[str]]]


def label_continuations(
    chunks: Chunks, texts: Sequence[Sequence[str]], tokenizer: Tokenizer, longest: int
) -> list[LabelledChunks]:
    """Return human and machine continuations of the same contexts, of one, two and three sentences."""
    own = canonical_rows((text for three in texts for text in three), tokenizer, longest=longest)
    numbers = len(chunks.rows) + np.arange(len(own)).reshape(-1, CONTINUATION)
    rows = TokenRows.joined([chunks.rows, own])  # shared by all three, so that each sentence is encoded once
    return [label_chunks(chunks, rows, numbers[:, :length]) for length in range(1, CONTINUATION + 1)]


def label_chunks(chunks: Chunks, rows: TokenRows, machine: Integers) -> LabelledChunks:
    """Return human chunks and machine chunks with the same contexts.

    ``rows`` has the sentences of both sides; ``machine`` [chunks, length] are numbers of machine sentences.
    """
    places = {name: chunks.part(name) for name in PARTS}
    right = np.concatenate([chunks.context, chunks.human[:, : machine.shape[1]]], axis=1)
    wrong = np.concatenate([chunks.context, machine], axis=1)
    pages = {name: chunks.pages[place].tolist() for name, place in places.items()}
    return LabelledChunks(
        rows,
        {name: right[place] for name, place in places.items()},
        {name: wrong[place] for name, place in places.items()},
        {name: (pages[name], pages[name]) for name in PARTS},
    )


def without_overlap(labelled: LabelledChunks) -> LabelledChunks:
    """Return only those pairs of training chunks that share no sentence with another pair."""
    used: set[int] = set()
    kept = []
    both = zip(labelled.human["train"].tolist(), labelled.machine["train"].tolist(), strict=True)
    for number, (human, machine) in enumerate(both):  # a control's machine chunks are made of human sentences too
        if used.isdisjoint(human) and used.isdisjoint(machine):
            used.update(human, machine)
            kept.append(number)
    sides = [{**side, "train": side["train"][kept]} for side in (labelled.human, labelled.machine)]
    return replace(labelled, human=sides[0], machine=sides[1])


def mean_tokens(labelled: LabelledChunks) -> tuple[float, float]:
    """Return the mean number of tokens of human and of machine continuation sentences in the test part."""
    human, machine = (
        labelled.rows.lengths[side["test"][:, CONTEXT:]].mean() for side in (labelled.human, labelled.machine)
    )
    return float(human), float(machine)


def match_lengths(labelled: LabelledChunks, *, seed: int) -> LabelledChunks:
    """Return a subset of the chunks in which both sides have the same number of continuations of every length.

    Evaluators are also trained on such a subset: evaluators trained on all chunks would have learned that long
    continuations are human.

    Example:
        >>> rows = TokenRows.of([[1], [1] * 9])
        >>> short, long = [0, 0, 0, 0], [0, 0, 0, 1]
        >>> sides = np.array([short, long, long]), np.array([short, short, long])
        >>> pages = ["a", "b", "c"]
        >>> labelled = LabelledChunks(rows, {"test": sides[0]}, {"test": sides[1]}, {"test": (pages, pages)})
        >>> found = match_lengths(labelled, seed=1)
        >>> found.human["test"][:, -1].tolist(), found.machine["test"][:, -1].tolist()
        ([0, 1], [0, 1])
    """
    human, machine, pages = {}, {}, {}
    for part, names in labelled.pages.items():
        sides = labelled.human[part], labelled.machine[part]
        kept = _matched(_lengths(labelled, sides[0]), _lengths(labelled, sides[1]), seed)
        human[part], machine[part] = (side[chosen] for side, chosen in zip(sides, kept, strict=True))
        chosen_pages = [[own[place] for place in chosen] for own, chosen in zip(names, kept, strict=True)]
        pages[part] = chosen_pages[0], chosen_pages[1]
    return replace(labelled, human=human, machine=machine, pages=pages)


def _matched(human: Integers, machine: Integers, seed: int) -> tuple[Integers, Integers]:
    """Return places in two lists of lengths that hold the same number of every length."""
    generator = np.random.default_rng([seed, 3])
    longest = int(max(human.max(initial=0), machine.max(initial=0))) + 1
    room = np.minimum(np.bincount(human, minlength=longest), np.bincount(machine, minlength=longest))  # [lengths]
    found = [_first_of_each(lengths, room, generator.permutation(len(lengths))) for lengths in (human, machine)]
    return found[0], found[1]


def _first_of_each(lengths: Integers, room: Integers, order: Integers) -> Integers:
    """Return the places of the first ``room`` of every length along an order, sorted."""
    by_length = order[np.argsort(lengths[order], kind="stable")]
    known = lengths[by_length]
    rank = np.arange(len(known)) - np.searchsorted(known, known)  # among those of the same length
    found: Integers = np.sort(by_length[rank < room[known]])
    return found


def _lengths(labelled: LabelledChunks, chunks: Integers) -> Integers:
    """Return the number of tokens of continuations: [chunks]."""
    found: Integers = labelled.rows.lengths[chunks[:, CONTEXT:]].sum(axis=1)
    return found
