"""Batches of windows of consecutive sentences from a token store, across the paragraphs of an article."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from weft.corpora.negatives.damaged_windows import (
    CHANGE_SHARES,
    CHANGES,
    KIND_BOUNDS,
    KINDS,
    STRANGER,
    Surroundings,
    Window,
    changed_order,
    damaged,
)
from weft.corpora.store.token_store import TokenStore
from weft.errors import ConfigError, CorpusError

Whole = npt.NDArray[np.int64]
# Named mixtures, and the parts of the names of files that `tools/split_by_licence.py` writes.
OPEN, ALL, RESTRICTED = "open", "all", "restricted"


@dataclass(frozen=True, slots=True)
class WindowBatch:
    """Windows, each with its sentences in reading order.

    Attributes:
        sentences: [sentences, time] token ids with the marks of start and end, padded on the right.
        lengths: [sentences]
        places: [windows, longest] the sentence at each place; −1 after the end of a window.
        texts: [windows, longest] the text of each sentence; `STRANGER` or `REPEATED` if it does not belong there.
        positions: [windows, longest] the place of each sentence in its text.
        changed: [changes, windows, longest] other orders of the places; places after the end stay.
        slots: [windows, longest] a random number for each sentence, different within a window.
        surprise: [sentences] mean log-likelihood per token under a language model; NaN where it is unknown.
        moments: [2] mean and standard deviation of these values in the store; zeros if it has none.
        masked: [sentences, time] whether a token is hidden from the reader, which has to predict it.
        longest: Number of tokens of the longest window; for a share of a batch, that of the whole batch, so that losses
            are the same in one process and in many.
    """

    sentences: Whole
    lengths: Whole
    places: Whole
    texts: Whole
    positions: Whole
    changed: Whole
    slots: Whole
    surprise: npt.NDArray[np.float32]
    moments: npt.NDArray[np.float32]
    masked: npt.NDArray[np.bool_]
    longest: int

    def __len__(self) -> int:
        return len(self.places)

    def rows(self, start: int, step: int) -> WindowBatch:
        """Return every ``step``-th window from ``start``: the share of one process of a distributed run."""
        share = replace(
            self, places=self.places[start::step], texts=self.texts[start::step], slots=self.slots[start::step],
            positions=self.positions[start::step], changed=self.changed[:, start::step],
        )  # fmt: skip
        used = share.places[share.places >= 0]  # [sentences of the share]
        new = np.full(len(self.lengths) + 1, -1)  # the last entry is for −1, no sentence
        new[used] = np.arange(len(used))
        return replace(
            share, sentences=self.sentences[used], lengths=self.lengths[used], places=new[share.places],
            surprise=self.surprise[used], masked=self.masked[used],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class WindowOptions:
    """How windows are drawn.

    Attributes:
        fewest: Smallest number of sentences of a window.
        most: Largest number of sentences of a window.
        window_tokens: Largest number of tokens of a window, marks included.
        sentence_tokens: Longer sentences are cut.
        at_paragraphs: Share of windows that start with a paragraph; others start anywhere.
        damaged: Share of windows with intruding or repeated sentences or with the end of another text.
        strangers: Largest number of damages of such a window.
        changes: Number of changed orders of each window.
        slots: Number of slots.
        mixture: How often the windows of an input are drawn in an epoch, by a part of its name.
        taught: How often the windows of articles with surprise values are drawn, compared with those of others.
        masked: Share of tokens that are hidden, without the marks of start and end.
    """

    fewest: int = 5
    most: int = 32
    window_tokens: int = 640
    sentence_tokens: int = 46
    at_paragraphs: float = 0.7
    damaged: float = 0.4
    strangers: int = 1
    changes: int = 1
    slots: int = 64
    mixture: str = ""
    taught: float = 1.0
    masked: float = 0.0


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """The windows of one batch: first sentences and sizes, and the seed of their damage."""

    starts: Whole  # [windows]
    sizes: Whole  # [windows]
    seed: tuple[int, ...]


class WindowStream:
    """Training batches of windows of a store.

    Args:
        store: The prepared corpus.
        batch_tokens: Tokens per batch, without padding.
        seed: Seed of windows, damage and order.
        options: How windows are drawn.

    Raises:
        CorpusError: No article has enough sentences.
        ConfigError: The mixture cannot be read.
    """

    def __init__(self, store: TokenStore, *, batch_tokens: int, seed: int, options: WindowOptions) -> None:
        self.store, self.batch_tokens, self.seed, self.options = store, batch_tokens, seed, options
        tokenizer = store.tokenizer()
        self.pad, self.marks = tokenizer.pad_id, (tokenizer.bos_id, tokenizer.eos_id)
        taught = store.surprise_info
        self.moments = np.array([taught.mean, taught.deviation] if taught is not None else [0, 0], dtype=np.float32)
        self.paragraphs = np.asarray(store.paragraph_offsets)
        self.articles = self.paragraphs[np.asarray(store.article_offsets)]  # [articles + 1]
        self.lengths = np.minimum(store.lengths() + 2, options.sentence_tokens)  # [sentences] with both marks
        self.ends = np.concatenate([[0], np.cumsum(self.lengths)])  # [sentences + 1]
        self.groups = self.articles[group_bounds(store.article_inputs())]  # [groups + 1]
        sizes = np.diff(self.articles)
        weights = mixture_weights(store.article_inputs(), options.mixture) * (sizes >= options.fewest)
        if taught is not None and options.taught != 1:
            firsts = self.articles[:-1][sizes > 0]  # an article is read by the language model as a whole
            weights[sizes > 0] *= np.where(np.isfinite(store.surprise(firsts)), options.taught, 1.0)
        mean_size = (
            options.fewest + min(options.most, options.window_tokens / max(1.0, float(self.lengths.mean())))
        ) / 2
        self.draws = weights * np.maximum(1.0, sizes / mean_size)  # [articles] expected windows in an epoch
        if not self.draws.sum():
            raise CorpusError(
                "the store has no article for training",
                seen=f"{len(sizes)} articles",
                allowed=f"articles of {options.fewest} sentences or more",
                next_step="prepare a corpus with longer articles, or lower model.fewest",
            )

    def epoch(self, number: int) -> list[WindowPlan]:
        """Return the batches of an epoch; windows of a batch have about the same number of tokens."""
        generator = np.random.default_rng([self.seed, number])
        counts = np.floor(self.draws + generator.random(len(self.draws))).astype(np.int64)
        owners = np.repeat(np.arange(len(counts)), counts)  # [windows] article of each
        starts = self._starts(owners, generator)
        sizes = self._sizes(starts, self.articles[owners + 1], generator)
        kept = sizes >= 2  # of one sentence there is nothing to learn
        starts, sizes = starts[kept], sizes[kept]
        tokens = self.ends[starts + sizes] - self.ends[starts]  # [windows]
        order = np.lexsort((generator.random(len(tokens)), tokens // 16))
        filled = np.cumsum(tokens[order]) // self.batch_tokens
        groups = np.split(order, np.flatnonzero(np.diff(filled)) + 1)
        generator.shuffle(groups)
        return [
            WindowPlan(starts[group], sizes[group], (self.seed, number, place)) for place, group in enumerate(groups)
        ]

    def _starts(self, owners: Whole, generator: np.random.Generator) -> Whole:
        """Return the first sentence of each window: a start of a paragraph, or any sentence of its article."""
        low, high = self.articles[owners], self.articles[owners + 1]
        first, last = np.asarray(self.store.article_offsets)[[owners, owners + 1]]
        drawn = generator.random((2, len(owners)))
        paragraph = self.paragraphs[first + (drawn[0] * (last - first)).astype(np.int64)]
        anywhere = low + (drawn[1] * (high - low)).astype(np.int64)
        chosen = np.where(generator.random(len(owners)) < self.options.at_paragraphs, paragraph, anywhere)
        # A window that would be too short starts earlier.
        starts: Whole = np.minimum(chosen, high - self.options.fewest)
        return starts

    def _sizes(self, starts: Whole, ends: Whole, generator: np.random.Generator) -> Whole:
        """Return the number of sentences of each window, within its article and the largest number of tokens."""
        options = self.options
        wanted = generator.integers(options.fewest, options.most + 1, len(starts))
        fitting = np.searchsorted(self.ends, self.ends[starts] + options.window_tokens, side="right") - 1 - starts
        sizes: Whole = np.minimum(np.minimum(wanted, ends - starts), fitting)
        return sizes

    def batch(self, pairs: WindowPlan) -> WindowBatch:
        """Return a batch of windows, some of them damaged, read from the store."""
        generator = np.random.default_rng(pairs.seed)
        # A damaged window is not longer than the longest one as planned: windows of a batch are of similar length, and
        # one long window would make padding of all others.
        room = int((self.ends[pairs.starts + pairs.sizes] - self.ends[pairs.starts]).max())
        windows = [
            self._window(start, size, room, generator)
            for start, size in zip(pairs.starts.tolist(), pairs.sizes.tolist(), strict=True)
        ]
        sizes = np.array([len(window) for window in windows])
        real = np.arange(sizes.max()) < sizes[:, None]  # [windows, longest]
        places = np.full(real.shape, -1)
        places[real] = np.arange(int(sizes.sum()))
        texts, positions = np.full(real.shape, STRANGER), np.zeros(real.shape, dtype=np.int64)
        texts[real] = np.concatenate([window.texts for window in windows])
        positions[real] = np.concatenate([window.positions for window in windows])
        changed = np.stack([self._changed(sizes, real, generator) for _ in range(self.options.changes)])
        most = max(self.options.slots, int(sizes.max()))
        slots = np.argsort(generator.random((len(windows), most)), axis=1)[:, : sizes.max()] % self.options.slots
        numbers = np.concatenate([window.numbers for window in windows])
        surprise = self.store.surprise(numbers)
        sentences, lengths = self._tokens(numbers)
        longest = int((lengths[np.maximum(places, 0)] * real).sum(axis=1).max())
        masked = self._masked(lengths, sentences.shape[1], generator)
        return WindowBatch(
            sentences, lengths, places, texts, positions, changed, slots, surprise, self.moments.copy(), masked, longest
        )

    def _window(self, start: int, size: int, room: int, generator: np.random.Generator) -> Window:
        """Return a window, damaged or not; one that damage made longer than ``room`` tokens loses its end."""
        window = Window.plain(start, size)
        if generator.random() >= self.options.damaged:
            return window
        article = int(np.searchsorted(self.articles, start, side="right")) - 1
        group = int(np.searchsorted(self.groups, start, side="right")) - 1
        around = Surroundings(
            (int(self.articles[article]), int(self.articles[article + 1])),
            (int(self.groups[group]), int(self.groups[group + 1])),
        )
        count = int(generator.integers(1, self.options.strangers + 1))
        for kind in np.searchsorted(KIND_BOUNDS, generator.random(count), side="right").tolist():
            window = damaged(window, KINDS[kind], around, generator)
        tokens = np.cumsum(self.lengths[window.numbers])
        return window.first(max(2, int(np.searchsorted(tokens, room, side="right"))))

    def _changed(self, sizes: Whole, real: npt.NDArray[np.bool_], generator: np.random.Generator) -> Whole:
        """Return a changed order of each window: [windows, longest]."""
        changed = np.broadcast_to(np.arange(real.shape[1]), real.shape).copy()
        changes = generator.choice(CHANGES, len(sizes), p=CHANGE_SHARES).tolist()
        changed[real] = np.concatenate(
            [changed_order(size, change, generator) for size, change in zip(sizes.tolist(), changes, strict=True)]
        )
        return changed

    def _masked(self, lengths: Whole, time: int, generator: np.random.Generator) -> npt.NDArray[np.bool_]:
        """Return which tokens of a batch are hidden, none of them a mark of start or end: [sentences, time].

        They are drawn with the batch, so that they do not depend on the number of processes that share it.
        """
        if not self.options.masked:
            return np.zeros((len(lengths), time), dtype=bool)
        inside = np.arange(time)
        inner = (inside > 0) & (inside < lengths[:, None] - 1)  # [sentences, time]
        return inner & (generator.random(inner.shape) < self.options.masked)

    def _tokens(self, numbers: Whole) -> tuple[Whole, Whole]:
        """Return the marked ids of sentences, [sentences, time], and their lengths, [sentences]."""
        flat, offsets = self.store.gather(numbers)
        return marked_matrix(flat, offsets, self.marks, self.pad, self.options.sentence_tokens)


def group_bounds(inputs: Sequence[tuple[str, int]]) -> list[int]:
    """Return where groups of articles begin, and the end: texts of one file, or of neighbouring files of one text each.

    A stranger in a text comes from its own group: a text of the same kind, and of the same class of licences.

    Args:
        inputs: Name and number of articles of each input.

    Example:
        >>> group_bounds([("a.txt", 1), ("b.txt", 1), ("news.jsonl", 9), ("tale.jsonl", 5)])
        [0, 2, 11, 16]
    """
    bounds, single = [0], False
    for _, count in inputs:
        if single and count <= 1:
            bounds[-1] += count
        elif count:
            bounds.append(bounds[-1] + count)
            single = count == 1
    return bounds


def marked_rows(rows: Sequence[npt.ArrayLike], marks: tuple[int, int], pad: int, longest: int) -> tuple[Whole, Whole]:
    """Return sentences with marks of start and end as a padded matrix, [rows, time], and their lengths, [rows].

    Example:
        >>> marked_rows([[5, 6, 7], [8]], (1, 2), 0, 4)[0].tolist()
        [[1, 5, 6, 2], [1, 8, 2, 0]]
    """
    whole = [np.asarray(row, dtype=np.int64) for row in rows]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in whole])]).astype(np.int64)
    return marked_matrix(np.concatenate(whole), offsets, marks, pad, longest)


def marked_matrix(
    flat: npt.NDArray[np.integer], offsets: Whole, marks: tuple[int, int], pad: int, longest: int
) -> tuple[Whole, Whole]:
    """Return the result of `marked_rows` for joined sentences, [tokens], that begin at ``offsets``, [rows + 1]."""
    lengths = np.minimum(np.diff(offsets), longest - 2) + 2  # [rows]
    inside = np.arange(int(lengths.max()))
    matrix = np.full((len(lengths), len(inside)), pad, dtype=np.int64)
    own = (inside > 0) & (inside < lengths[:, None] - 1)  # [rows, time]
    matrix[own] = flat[(offsets[:-1, None] + inside - 1)[own]]
    matrix[:, 0] = marks[0]
    matrix[np.arange(len(lengths)), lengths - 1] = marks[1]
    return matrix, lengths


def mixture_weights(inputs: Sequence[tuple[str, int]], mixture: str) -> npt.NDArray[np.float64]:
    """Return how often the windows of each article are drawn in an epoch: [articles].

    Args:
        inputs: Name and number of articles of each input.
        mixture: Parts of names with numbers, such as ``train.=2 story5=0.5``; the last that fits counts, others have 1.
            Commas may stand for spaces.
            Names that no input has are ignored, because validation data have other names. ``open`` leaves out all
            files of texts with restricted licences (`tools/split_by_licence.py`), wherever it stands; ``all`` does not.

    Raises:
        ConfigError: The mixture cannot be read.

    Example:
        >>> mixture_weights([("train-00.jsonl", 2), ("train.news.jsonl", 1)], "news=3").tolist()
        [1.0, 1.0, 3.0]
        >>> mixture_weights([("news.open.jsonl", 1), ("news.restricted.jsonl", 1)], "open,news=2").tolist()
        [2.0, 0.0]
    """
    weights = np.ones(len(inputs))
    items = mixture.replace(",", " ").split()
    if OPEN in items:
        items.append(f".{RESTRICTED}.=0")
    for item in items:
        if item in (OPEN, ALL):
            continue
        part, equals, value = item.partition("=")
        fitting = [number for number, (name, _) in enumerate(inputs) if part in name]
        try:
            weight = float(value)
        except ValueError:
            weight = -1.0
        if not (equals and part and np.isfinite(weight) and weight >= 0):
            raise ConfigError(
                "cannot read the mixture",
                seen=item,
                allowed=f"{OPEN}, {ALL}, or NAME=NUMBER, such as story5=0.5",
                next_step="correct model.mixture",
            )
        weights[fitting] = weight
    return np.repeat(weights, [count for _, count in inputs])
