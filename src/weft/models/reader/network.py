"""The network of the reader: the encoder, its heads, and their losses."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from weft.corpora.negatives.damaged_windows import STRANGER
from weft.corpora.store.window_batches import WindowBatch
from weft.models.common.neural.batch_tensors import to_device
from weft.models.reader.heads import (
    BreakHead,
    PairHeads,
    StrayHead,
    SurpriseHead,
    gap_scores,
    order_free_evidence,
    stray_scores,
)
from weft.models.reader.network_constants import LINK_ODDS
from weft.models.reader.text_encoder import (
    EncoderSizes,
    TextEncoder,
    Texts,
    joined_width,
    pack,
    sentence_vectors,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the network says about texts, whatever their order."""

    vectors: Tensor  # of each sentence: [texts, most, 2 · hidden]
    odds: Tensor  # log-odds that i precedes j: [texts, most, most]
    follows: Tensor  # log p(j follows i): [texts, most, most]
    states: Tensor  # of each word: [texts, longest, hidden]


@dataclass(frozen=True, slots=True)
class Gaps:
    """What the break head reads of the gaps of an order."""

    order: Tensor  # the sentence at each place: [texts, most]
    real: Tensor  # which places have a sentence: [texts, most]
    vectors: Tensor  # of the sentence at each place: [texts, most, 2 · hidden]
    parts: tuple[Tensor, Tensor]  # what sentences give to the gaps after and before them: [texts, most − 1, width] each
    scores: Tensor  # [texts, most − 1, GAP_SCORES]
    mixed: Tensor  # [texts, most − 1, width]


@dataclass(frozen=True, slots=True)
class Labels:
    """The truth about windows."""

    texts: Tensor  # text of each sentence: [windows, most]
    positions: Tensor  # place of each sentence in its text: [windows, most]
    real: Tensor  # false after the end of a window: [windows, most]

    @property
    def known(self) -> Tensor:
        """Which sentences belong to a text: [windows, most]."""
        return self.real & (self.texts >= 0)  # neither strangers nor copies

    @property
    def steps(self) -> Tensor:
        """How far after i sentence j stands in the same text, 0 if they are not of one text: [windows, most, most]."""
        same = (self.texts[:, :, None] == self.texts[:, None]) & self.known[:, :, None] & self.known[:, None]
        return (self.positions[:, None] - self.positions[:, :, None]) * same


@dataclass(frozen=True, slots=True)
class MaskedWords:
    """Words that are hidden from the encoder and predicted."""

    hidden: Tensor  # whether a word is one of them: [sentences, time]
    places: Tensor  # of each one among the words of all joined texts, [texts · longest]: [words]
    tokens: Tensor  # of each one among the words of all sentences, [sentences · time]: [words]
    texts: Tensor  # of each one: [words]


class ReaderNetwork(nn.Module):
    """The encoder and its heads; masked words are predicted with the vectors of the words themselves."""

    def __init__(
        self, sizes: EncoderSizes, pair: int, *, both: bool = False, surprise: bool = False, strays: bool = False
    ) -> None:
        super().__init__()
        self.encoder = TextEncoder(sizes)
        self.pairs = PairHeads(2 * sizes.hidden, pair, both=both)
        self.breaks = BreakHead(2 * sizes.hidden, max(8, pair // 2))
        self.surprise = SurpriseHead(2 * sizes.hidden, max(8, pair // 2)) if surprise else None
        self.word = nn.Linear(sizes.hidden, sizes.hidden)
        self.word_norm = nn.LayerNorm(sizes.hidden)
        self.word_bias = nn.Parameter(torch.zeros(sizes.vocabulary))
        # The last to draw random numbers, so that all other weights start as in a network without this head.
        self.strays = StrayHead(2 * sizes.hidden, max(8, pair // 2)) if strays else None

    def read(self, texts: Texts, masked: Tensor | None = None) -> Reading:
        """Read texts without their order; ``masked`` says which words are hidden: [sentences, time]."""
        packed = pack(texts)
        states = self.encoder(texts, packed, masked)
        vectors = sentence_vectors(states, texts, packed)
        odds, follows = self.pairs(vectors, texts.real)
        return Reading(vectors, odds, follows, states)

    def repeated_modules(self) -> list[nn.Module]:
        """Return the layers of the encoder."""
        return list(self.encoder.layers)

    def read_gaps(self, reading: Reading, order: Tensor, real: Tensor) -> Gaps:
        """Return what the break head reads of the gaps of an order of two places or more.

        Args:
            reading: What the network says about the texts.
            order: The sentence at each place; sentences after the end of a text stay there: [texts, most].
            real: Which places have a sentence: [texts, most].
        """
        size = reading.vectors.shape[2]
        vectors = reading.vectors.gather(1, order[:, :, None].expand(-1, -1, size))
        # Detached: the pair heads learn their own tasks and do not serve this one.
        scores = gap_scores(reading.odds.detach(), reading.follows.detach(), order[:, :-1], order[:, 1:])
        parts = self.breaks.parts(vectors)
        mixed = self.breaks.mixed(self.breaks.gaps(*parts, scores), real[:, 1:])
        return Gaps(order, real, vectors, parts, scores, mixed)

    def stray_odds(self, head: StrayHead, reading: Reading, gaps: Gaps) -> Tensor:
        """Return log-odds that the sentence at each place is a stray: [texts, most]."""
        pairs = reading.odds.detach(), reading.follows.detach()
        skipping = gap_scores(*pairs, gaps.order[:, :-2], gaps.order[:, 2:])  # without each inner sentence
        left, right = gaps.parts
        closed = self.breaks.gaps(left[:, :-1], right[:, 1:], skipping)
        closed = closed * gaps.real[:, 2:, None].to(closed.dtype)
        evidence = order_free_evidence(*pairs, gaps.real)
        odds: Tensor = head(
            gaps.vectors, gaps.mixed, closed, stray_scores(gaps.scores, skipping, evidence, gaps.order, gaps.real)
        )
        return odds

    def masked_loss(self, reading: Reading, ids: Tensor, masked: MaskedWords) -> Tensor:
        """Return the summed loss of masked words of each text: [texts]."""
        found = reading.states.flatten(0, 1).index_select(0, masked.places)  # [words, hidden]
        states = self.word_norm(functional.gelu(self.word(found)))
        logits = states @ self.encoder.words.weight.T.to(states.dtype) + self.word_bias.to(states.dtype)
        losses = functional.cross_entropy(logits.float(), ids.flatten()[masked.tokens], reduction="none")
        return torch.zeros(len(reading.states), device=ids.device).index_add(0, masked.texts, losses)


def batch_texts(batch: WindowBatch, device: torch.device) -> tuple[Texts, Labels]:
    """Return a training batch as input of the network, and its labels."""
    longest = batch.longest
    ids, lengths, places, slots, texts, positions = (
        to_device(part, device)
        for part in (batch.sentences, batch.lengths, batch.places, batch.slots, batch.texts, batch.positions)
    )
    return Texts(ids, lengths, places, slots, longest), Labels(texts, positions, places >= 0)


def mean_of(losses: Tensor, counted: Tensor) -> Tensor:
    """Return the mean of the counted losses of each text, 0 if none counts: [texts, …] → [texts]."""
    counted = counted.flatten(1).float()
    return (losses.flatten(1) * counted).sum(dim=1) / counted.sum(dim=1).clamp(min=1)


def precedence_loss(odds: Tensor, labels: Labels) -> Tensor:
    """Return the mean logistic loss over all pairs of one text that stand in order: [texts]."""
    return mean_of(functional.softplus(-odds), labels.steps > 0)


def near_loss(odds: Tensor, labels: Labels) -> Tensor:
    """Return the mean logistic loss of precedence over neighbouring sentences: [texts]."""
    return mean_of(functional.softplus(-odds), labels.steps == 1)


def next_loss(follows: Tensor, labels: Labels) -> Tensor:
    """Return the mean negative log-probability of the true next sentence, and of the previous one: [texts]."""
    return mean_of(-follows, labels.steps == 1)


def exchange_loss(follows: Tensor, odds: Tensor, labels: Labels) -> Tensor:
    """Return the mean logistic loss of the score of a window above that with two neighbours exchanged: [texts].

    The score is the sum of log p(next) and of `LINK_ODDS` times the log-odds of neighbours, as in `weft order`. An
    exchange changes the link of the two and those to the sentences before and after them, if they are of the same text.

    Args:
        follows: Log-probability that j follows i: [texts, most, most].
        odds: Log-odds that i precedes j: [texts, most, most].
        labels: The truth about the windows.
    """
    links = follows + LINK_ODDS * odds
    true, turned, skipped = (links.diagonal(offset, 1, 2) for offset in (1, -1, 2))  # skipped: [texts, most − 2]
    sound = labels.steps.diagonal(1, 1, 2) == 1  # [texts, most − 1]
    gain = (true[:, :-1] - skipped) * sound[:, :-1], (true[:, 1:] - skipped) * sound[:, 1:]
    margins = true - turned + functional.pad(gain[0], (1, 0)) + functional.pad(gain[1], (0, 1))
    return mean_of(functional.softplus(-margins), sound)


def break_loss(odds: Tensor, labels: Labels, order: Tensor) -> Tensor:
    """Return the mean logistic loss of the gaps of an order: [texts].

    A gap is sound if the right sentence follows the left one in its text. A gap where one sentence was taken out does
    not count: such a gap often reads well.
    """
    rows = torch.arange(len(order), device=order.device)[:, None]
    left, right = order[:, :-1], order[:, 1:]
    steps = labels.steps[rows, left, right]  # [texts, gaps]
    counted = labels.real[:, 1:] & (steps != 2)
    return mean_of(functional.binary_cross_entropy_with_logits(odds, (steps != 1).float(), reduction="none"), counted)


def stray_loss(odds: Tensor, labels: Labels) -> Tensor:
    """Return the mean logistic loss of the sentences of windows in their own order: [texts].

    A sentence that was put into the window, from another text or from elsewhere in the same text, is a stray. One that
    follows its left neighbour or is followed by its right one is none. Nothing else counts, because it could be called
    either: copies (which of the two is too much?) and sentences between two strays. The end of another text is no
    stray: its sentences follow each other.
    """
    sound = labels.steps.diagonal(1, 1, 2) == 1  # [texts, most − 1]
    placed = functional.pad(sound, (1, 0)) | functional.pad(sound, (0, 1))
    strays = labels.real & (labels.texts == STRANGER)
    losses = functional.binary_cross_entropy_with_logits(odds, strays.float(), reduction="none")
    return mean_of(losses, strays | placed)


def surprise_loss(found: Tensor, wanted: Tensor, labels: Labels) -> Tensor:
    """Return the mean smooth L1 loss of standardised log-likelihoods, NaN where unknown: [texts, most] → [texts].

    Strangers do not count: the language model has read them after other sentences. The other sentences of a damaged
    window do: their value is that of their own text, as it is in a window that starts in the middle of an article.
    """
    counted = labels.known & wanted.isfinite()
    losses = functional.smooth_l1_loss(found, torch.where(counted, wanted, 0.0), reduction="none")
    return mean_of(losses, counted)


def masked_words(batch: WindowBatch, device: torch.device) -> MaskedWords:
    """Return the hidden words of a batch.

    They are found on the CPU, because a GPU would have to finish all earlier work to say how many they are.
    """
    places, lengths = torch.from_numpy(batch.places), torch.from_numpy(batch.lengths)
    hidden = torch.from_numpy(batch.masked)  # [sentences, time]
    time = hidden.shape[1]
    real = places >= 0
    sizes = lengths[places.clamp(min=0)] * real  # [windows, most]
    rows, starts = torch.zeros_like(lengths), torch.zeros_like(lengths)  # window of each sentence, and where it starts
    rows[places[real]] = real.nonzero()[:, 0]
    starts[places[real]] = (sizes.cumsum(dim=1) - sizes)[real]
    sentence, inside = hidden.nonzero(as_tuple=True)
    width = joined_width(batch.longest, places.shape[1], time)
    joined = rows[sentence] * width + starts[sentence] + inside
    parts = (hidden, joined, sentence * time + inside, rows[sentence])
    return MaskedWords(*(to_device(part.numpy(), device) for part in parts))
