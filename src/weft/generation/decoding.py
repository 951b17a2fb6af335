"""Decoding the next sentence: beam search, diverse beam search and sampling for every model that predicts words.

The search keeps a fixed number of hypotheses per context and runs all contexts at once. A hypothesis that has ended
stays in its beam with its score, so that no Python loop over hypotheses is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import torch
from torch import Tensor

from weft.generation.decoding_settings import Decoding

CHECK_EVERY = 8  # steps between checks for rows that have ended
FEW_ROWS = 512  # fewer rows are not worth separating


State = TypeVar("State")


class Steps(Protocol[State]):
    """A decoder that advances many rows by one word per step."""

    bos: int
    eos: int
    forbidden: tuple[int, ...]

    def begin(self, rows_each: int) -> State:
        """Return the state before the first word, with each context repeated ``rows_each`` times."""

    def advance(self, state: State, words: Tensor) -> tuple[Tensor, State]:
        """Read the last word of each row, [rows]; return log-probabilities [rows, vocabulary] and the new state."""

    def select(self, state: State, rows: Tensor) -> State:
        """Return the state of some rows, in any order; each row stays with its context."""

    def keep(self, state: State, rows: Tensor) -> State:
        """Return the state of some rows with their contexts; the other rows have ended."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposed sentence."""

    text: str
    log_prob: float  # its log-probability given its context, summed over tokens, the end included
    tokens: int  # number of tokens, the end included


@dataclass(frozen=True, slots=True)
class Hypotheses:
    """The result of a search: ids [contexts, beam, time] (``eos`` from the end on), log-probabilities and lengths."""

    ids: Tensor
    log_probs: Tensor
    lengths: Tensor


@torch.inference_mode()
def search(steps: Steps[State], contexts: int, decoding: Decoding, device: torch.device) -> Hypotheses:
    """Return ``decoding.beam`` sentences for each context, best first."""
    if decoding.method == "sample":
        return _sorted(_sampled(steps, contexts, decoding, device), decoding)
    return _sorted(_beamed(steps, contexts, decoding, device), decoding)


@dataclass(frozen=True, slots=True)
class _Beams:
    """The beams of some contexts during a search."""

    numbers: Tensor  # numbers of the contexts: [contexts]
    sums: Tensor  # log-probabilities: [contexts, beam]
    lengths: Tensor  # [contexts, beam]
    ended: Tensor  # [contexts, beam]
    history: Tensor  # words so far: [contexts, beam, time]

    @staticmethod
    def new(contexts: int, beam: int, device: torch.device) -> _Beams:
        """Return beams without words."""
        zeros = torch.zeros(contexts, beam, device=device)
        history = torch.empty((contexts, beam, 0), dtype=torch.long, device=device)
        return _Beams(torch.arange(contexts, device=device), zeros, zeros, zeros.bool(), history)

    def part(self, rows: Tensor) -> _Beams:
        """Return the beams of some contexts."""
        return _Beams(self.numbers[rows], self.sums[rows], self.lengths[rows], self.ended[rows], self.history[rows])


def _beamed(steps: Steps[State], contexts: int, decoding: Decoding, device: torch.device) -> Hypotheses:
    """Search all beams; contexts whose hypotheses have all ended are removed from time to time."""
    beam, finished = decoding.beam, list[_Beams]()
    state, beams = steps.begin(beam), _Beams.new(contexts, beam, device)
    words = torch.full((contexts * beam,), steps.bos, device=device)
    for step in range(decoding.max_tokens):
        log_probs, state = steps.advance(state, words)  # [contexts · beam, vocabulary]
        beams, rows = _extended(beams, log_probs, steps, decoding, step)
        state, words = steps.select(state, rows), beams.history[:, :, -1].reshape(-1)
        going = ~beams.ended.all(dim=1)  # [contexts]
        if not bool(going.any()):
            break
        left = int(going.sum())
        if step % CHECK_EVERY == CHECK_EVERY - 1 and left * beam >= FEW_ROWS and left < 0.8 * len(going):
            state = steps.keep(state, going.repeat_interleave(beam).nonzero().squeeze(1))
            finished.append(beams.part(~going))
            beams = beams.part(going)
            words = beams.history[:, :, -1].reshape(-1)
    return _collected([*finished, beams], contexts, steps.eos)


def _extended(
    beams: _Beams, log_probs: Tensor, steps: Steps[State], decoding: Decoding, step: int
) -> tuple[_Beams, Tensor]:
    """Return beams with one more word, and the rows that they continue: [contexts · beam]."""
    contexts, beam = beams.sums.shape
    allowed = _allowed(log_probs, beams.history.flatten(0, 1), steps, decoding, step)
    best = _best_diverse if decoding.method == "diverse" else _best
    parents, words, possible = best(allowed, beams, steps.eos, decoding, step)
    rows = (torch.arange(contexts, device=parents.device)[:, None] * beam + parents).reshape(-1)  # [contexts · beam]
    was_ended = beams.ended.gather(1, parents)
    gained = log_probs[rows, words.reshape(-1)].view(contexts, beam)
    sums = beams.sums.gather(1, parents) + gained.masked_fill(was_ended, 0.0).masked_fill(~possible, -torch.inf)
    words = words.masked_fill(was_ended, steps.eos)
    lengths = beams.lengths.gather(1, parents) + (~was_ended)
    before = beams.history.flatten(0, 1)[rows].view(contexts, beam, -1)
    history = torch.cat([before, words[:, :, None]], dim=2)
    return _Beams(beams.numbers, sums, lengths, was_ended | (words == steps.eos), history), rows


def _collected(parts: Sequence[_Beams], contexts: int, eos: int) -> Hypotheses:
    """Return the beams of all contexts in their order."""
    width = parts[-1].history.shape[2]
    order = torch.cat([part.numbers for part in parts]).argsort()
    assert len(order) == contexts
    pad = torch.nn.functional.pad
    ids = [pad(part.history, (0, width - part.history.shape[2]), value=eos) for part in parts]
    sums, lengths = torch.cat([part.sums for part in parts]), torch.cat([part.lengths for part in parts])
    return Hypotheses(torch.cat(ids)[order], sums[order], lengths[order])


def _sampled(steps: Steps[State], contexts: int, decoding: Decoding, device: torch.device) -> Hypotheses:
    """Sample all rows; rows that have ended are removed from time to time, because most are short."""
    rows, eos = contexts * decoding.beam, steps.eos
    generator = torch.Generator(device=device).manual_seed(decoding.seed)
    state = steps.begin(decoding.beam)
    ids = torch.full((rows, decoding.max_tokens), eos, device=device)
    sums, lengths = torch.zeros(rows, device=device), torch.zeros(rows, device=device)
    alive, words = torch.arange(rows, device=device), torch.full((rows,), steps.bos, device=device)  # [alive] each
    ended = torch.zeros(rows, dtype=torch.bool, device=device)  # [alive]
    for step in range(decoding.max_tokens):
        log_probs, state = steps.advance(state, words)  # [alive, vocabulary]
        allowed = _allowed(log_probs, ids[alive, :step], steps, decoding, step)
        words = _draw(allowed, decoding, generator).masked_fill(ended, eos)  # [alive]
        gained = log_probs.gather(1, words[:, None]).squeeze(1)
        sums[alive] += gained.masked_fill(ended, 0.0)
        lengths[alive] += (~ended).float()
        ids[alive, step] = words
        ended = ended | (words == eos)
        if step % CHECK_EVERY == CHECK_EVERY - 1 or len(alive) < FEW_ROWS:
            going = (~ended).nonzero().squeeze(1)  # [still going]
            if not len(going):
                break
            if FEW_ROWS <= len(going) < 0.8 * len(alive):
                state, alive, words, ended = steps.keep(state, going), alive[going], words[going], ended[going]
    width = int(lengths.max())
    shape = contexts, decoding.beam
    return Hypotheses(ids[:, :width].view(*shape, width), sums.view(shape), lengths.view(shape))


def _allowed(log_probs: Tensor, history: Tensor, steps: Steps[State], decoding: Decoding, step: int) -> Tensor:
    """Return log-probabilities with forbidden words at −∞: special ids, early ends, repeated runs."""
    allowed = log_probs.clone()
    allowed[:, list(steps.forbidden)] = -torch.inf
    if step < decoding.min_tokens:
        allowed[:, steps.eos] = -torch.inf
    if step == decoding.max_tokens - 1:
        ends = allowed[:, steps.eos].clone()
        allowed.fill_(-torch.inf)
        allowed[:, steps.eos] = torch.nan_to_num(ends, neginf=-1e4)
        return allowed
    return _without_repeats(allowed, history, decoding.no_repeat, steps.eos)


def _without_repeats(allowed: Tensor, history: Tensor, size: int, eos: int) -> Tensor:
    """Forbid words that would repeat a run of ``size`` tokens of the same row."""
    before = size - 1
    if not size or history.shape[1] < size:
        return allowed
    ends = history[:, -before:] if before else history[:, :0]  # [rows, size − 1]
    runs = history.unfold(1, size, 1)  # [rows, runs, size]
    same = (runs[:, :, :before] == ends[:, None, :]).all(dim=2)  # [rows, runs]
    following = runs[:, :, -1].masked_fill(~same, eos)
    ends = allowed[:, eos].clone()  # in `following`, the end id means that nothing is forbidden
    allowed.scatter_(1, following, -torch.inf)
    allowed[:, eos] = ends
    return allowed


def _best(allowed: Tensor, beams: _Beams, eos: int, decoding: Decoding, step: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the best continuations of each beam: parents, words, and whether one exists; each [contexts, beam].

    Only the best words of each hypothesis are compared: no hypothesis can take more places than the beam has.
    """
    contexts, beam = beams.sums.shape
    gains, choices = allowed.topk(min(beam, allowed.shape[1]), dim=1)  # [contexts · beam, choices] each
    gains, choices = (part.view(contexts, beam, -1) for part in (gains, choices))
    stays = torch.full_like(gains, -torch.inf)
    stays[:, :, 0] = 0.0
    ended = beams.ended[:, :, None]
    gains, choices = torch.where(ended, stays, gains), choices.masked_fill(ended, eos)  # a finished one stays as it is
    norms = (beams.lengths + (~beams.ended)).clamp(min=1) ** decoding.length_power
    values = (beams.sums[:, :, None] + gains) / norms[:, :, None]
    if step == 0:  # all rows are equal before the first word, so only the first continues
        values[:, 1:] = -torch.inf
    value, chosen = values.flatten(1).topk(beam, dim=1)
    parents = torch.div(chosen, choices.shape[2], rounding_mode="floor")
    return parents, choices.flatten(1).gather(1, chosen), value.isfinite()


def _best_diverse(
    allowed: Tensor, beams: _Beams, eos: int, decoding: Decoding, step: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the best continuations of groups of beams that avoid each other's words, as `_best` does."""
    sums, lengths, ended, groups = beams.sums, beams.lengths, beams.ended, decoding.groups
    contexts, beam = sums.shape
    vocabulary = allowed.shape[1]
    gains = allowed.view(contexts, beam, vocabulary)
    stay = torch.full_like(gains, -torch.inf)
    stay[:, :, eos] = 0.0
    gains = torch.where(ended[:, :, None], stay, gains)  # a finished hypothesis does not change
    norms = (lengths + (~ended)).clamp(min=1) ** decoding.length_power
    values = (sums[:, :, None] + gains) / norms[:, :, None]
    if step == 0:
        # All rows of a group are equal before the first word, so only the first continues.
        first_only = torch.arange(beam, device=values.device) % (beam // groups) != 0
        values = values.masked_fill(first_only[None, :, None], -torch.inf)
    width = beam // groups
    parents, words, possible = [], [], []
    penalty = torch.zeros(contexts, vocabulary, device=values.device)
    for group in range(groups):
        part = values[:, group * width : (group + 1) * width] - penalty[:, None, :]  # [contexts, width, vocabulary]
        value, chosen = part.reshape(contexts, -1).topk(width, dim=1)
        possible.append(value.isfinite())  # a beam with more places than choices holds impossible hypotheses
        parents.append(chosen // vocabulary + group * width)
        words.append(chosen % vocabulary)
        if groups > 1:
            penalty.scatter_add_(1, words[-1], torch.full_like(words[-1], decoding.diversity, dtype=penalty.dtype))
            penalty[:, eos] = 0.0
    return torch.cat(parents, dim=1), torch.cat(words, dim=1), torch.cat(possible, dim=1)


def _draw(allowed: Tensor, decoding: Decoding, generator: torch.Generator) -> Tensor:
    """Return one word per row, sampled among the likeliest: [rows]."""
    scores = allowed / decoding.temperature
    if decoding.top_k:  # sorting all words would take longer than the network
        scores, places = scores.topk(min(decoding.top_k, scores.shape[1]), dim=1)  # best first
        ordered = scores.softmax(dim=1)
    else:
        ordered, places = scores.softmax(dim=1).sort(dim=1, descending=True)
    beyond = ordered.cumsum(dim=1) - ordered >= decoding.top_p  # the likeliest word is never beyond
    kept = ordered.masked_fill(beyond, 0.0)
    if decoding.top_k:
        return places.gather(1, torch.multinomial(kept, 1, generator=generator)).squeeze(1)
    in_place = torch.zeros_like(ordered).scatter_(1, places, kept)
    return torch.multinomial(in_place, 1, generator=generator).squeeze(1)


def _sorted(found: Hypotheses, decoding: Decoding) -> Hypotheses:
    values = found.log_probs / found.lengths.clamp(min=1) ** decoding.length_power
    order = values.argsort(dim=1, descending=True, stable=True)
    ids = found.ids.gather(1, order[:, :, None].expand_as(found.ids))
    return Hypotheses(ids, found.log_probs.gather(1, order), found.lengths.gather(1, order))
