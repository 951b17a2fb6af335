"""The heads of the reader: precedence, next sentence, breaks and strays of a given order, and surprise."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from weft.models.reader.network_constants import (
    FEW,
    GAP_LIMIT,
    GAP_SCORES,
    HEAD_NORM_EPSILON,
    RATE,
    SMALLEST_DEVIATION,
    STRAY_SCORES,
)


class FastLinear(nn.Linear):
    """A linear layer that learns `RATE` times as fast: its weights are stored divided by `RATE`.

    Adam moves every weight by about the learning rate, so a weight that is multiplied after it moves further.
    """

    def __init__(self, inputs: int, outputs: int, *, bias: bool = True) -> None:
        super().__init__(inputs, outputs, bias=bias)
        with torch.no_grad():
            self.weight.normal_(std=inputs**-0.5 / RATE)
            if bias:
                self.bias.zero_()

    def forward(self, values: Tensor) -> Tensor:
        """Return the product with the weights."""
        return RATE * super().forward(values)


class PairHeads(nn.Module):
    """Precedence and next sentence of all pairs of sentences of a text.

    With ``both``, sentence i chooses the next one and sentence j the previous one by the same scores, and the mean of
    the two log-probabilities takes the place of log p(j follows i).
    """

    def __init__(self, size: int, pair: int, *, both: bool = False) -> None:
        super().__init__()
        self.scale, self.both = pair**-0.5, both
        self.norm = nn.LayerNorm(size, eps=HEAD_NORM_EPSILON)
        self.earlier, self.later = FastLinear(size, pair, bias=False), FastLinear(size, pair, bias=False)
        self.early = FastLinear(size, 1, bias=False)
        self.before, self.after = FastLinear(size, pair), FastLinear(size, pair)
        # Equal at first: a trained encoder then starts with the similarity of sentences, which tells a text from its
        # permutations far better than random weights do.
        self.after.load_state_dict(self.before.state_dict())

    def forward(self, vectors: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log-odds that i precedes j, antisymmetric, and log p(j follows i): [texts, most, most] each."""
        vectors = self.norm(vectors)
        joint = self.earlier(vectors) @ self.later(vectors).transpose(1, 2) * self.scale + self.early(vectors)
        odds = (joint - joint.transpose(1, 2)).float()
        logits = (self.before(vectors) @ self.after(vectors).transpose(1, 2) * self.scale).float()
        self_or_padding = torch.eye(real.shape[1], dtype=torch.bool, device=real.device) | ~real[:, None]
        if not self.both:
            return odds, logits.masked_fill(self_or_padding, FEW).log_softmax(dim=2)
        logits = logits.masked_fill(self_or_padding | ~real[:, :, None], FEW)
        return odds, (logits.log_softmax(dim=2) + logits.log_softmax(dim=1)) / 2


class BreakHead(nn.Module):
    """Log-odds that an order breaks between two neighbouring sentences.

    The encoder does not know the order. This head reads it: a gap is described by the vectors of both sentences and by
    their precedence and next-sentence scores; two convolutions over the gaps then read the gaps on either side, because
    an intruding sentence makes two breaks and a moved one a weak gap elsewhere.
    """

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(size, eps=HEAD_NORM_EPSILON)
        self.left, self.right = FastLinear(size, width), FastLinear(size, width)
        self.both, self.scores = FastLinear(width, width), FastLinear(GAP_SCORES, width)
        self.mix_first = nn.Conv1d(width, width, 3, padding=1)
        self.mix_second = nn.Conv1d(width, width, 3, padding=1)
        self.output = FastLinear(width, 1)

    def forward(self, vectors: Tensor, scores: Tensor, real: Tensor) -> Tensor:
        """Return log-odds of breaks: [texts, gaps]; `parts` says what is given."""
        return self.odds(self.mixed(self.gaps(*self.parts(vectors), scores), real))

    def parts(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Return what the sentences of an order give to the gaps after them, and to those before them.

        Args:
            vectors: Sentences in the given order: [texts, gaps + 1, size].

        Returns:
            Of all sentences but the last, and of all but the first: [texts, gaps, width] each.
        """
        vectors = self.norm(vectors)
        return self.left(vectors[:, :-1]), self.right(vectors[:, 1:])

    def gaps(self, left: Tensor, right: Tensor, scores: Tensor) -> Tensor:
        """Return what two sentences and their scores, [texts, gaps, GAP_SCORES], say: [texts, gaps, width]."""
        return functional.gelu(left + right + self.both(left * right) + self.scores(scores.to(left.dtype)))

    def mixed(self, gaps: Tensor, real: Tensor) -> Tensor:
        """Return gaps that have read the gaps beside them; those after the end are 0: [texts, gaps, width].

        Args:
            gaps: The gaps of an order: [texts, gaps, width].
            real: Which gaps are between two sentences: [texts, gaps].
        """
        kept = real[:, None].to(gaps.dtype)  # [texts, 1, gaps]
        mixed = gaps.transpose(1, 2) * kept  # [texts, width, gaps]
        for layer in (self.mix_first, self.mix_second):
            mixed = (mixed + functional.gelu(layer(mixed))) * kept
        return mixed.transpose(1, 2)

    def odds(self, mixed: Tensor) -> Tensor:
        """Return log-odds of breaks: [texts, gaps, width] → [texts, gaps]."""
        found: Tensor = self.output(mixed)[:, :, 0].float()
        return found


class StrayHead(nn.Module):
    """Log-odds that a sentence is a stray: that the text is whole without it.

    A sentence is described by its vector, by both gaps beside it as the break head has mixed them, by the gap that
    would be left without it, and by how well it fits anywhere in the text, whatever the order.
    """

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(size, eps=HEAD_NORM_EPSILON)
        self.own, self.scores = FastLinear(size, width), FastLinear(STRAY_SCORES, width)
        self.before, self.after = FastLinear(width, width), FastLinear(width, width)
        self.without = FastLinear(width, width)
        self.inner, self.output = FastLinear(width, width), FastLinear(width, 1)

    def forward(self, vectors: Tensor, gaps: Tensor, closed: Tensor, scores: Tensor) -> Tensor:
        """Return log-odds of strays: [texts, most].

        Args:
            vectors: Sentences in the given order: [texts, most, size].
            gaps: The gaps between them, 0 after the end of a text: [texts, most − 1, width].
            closed: The gap that closes without each sentence but the first and the last: [texts, most − 2, width].
            scores: Scores of each sentence: [texts, most, STRAY_SCORES].
        """
        joined = self.own(self.norm(vectors)) + self.scores(scores.to(vectors.dtype))
        joined = joined + self.before(_placed(gaps, 1, 0)) + self.after(_placed(gaps, 0, 1))
        joined = joined + self.without(_placed(closed, 1, 1))
        found: Tensor = self.output(functional.gelu(self.inner(functional.gelu(joined))))[:, :, 0].float()
        return found


class SurpriseHead(nn.Module):
    """The mean log-likelihood per token of each sentence, as a language model that has read the text before it gives.

    The head learns standardised values. Their mean and standard deviation are those of the first training batch's
    store and part of the weights, so that a trained head returns nats whatever text it reads.
    """

    moments: Tensor  # mean and standard deviation of the values: [2]

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(size, eps=HEAD_NORM_EPSILON)
        self.inner, self.output = FastLinear(size, width), FastLinear(width, 1)
        self.register_buffer("moments", torch.zeros(2))

    def forward(self, vectors: Tensor) -> Tensor:
        """Return standardised log-likelihoods: [texts, most, size] → [texts, most]."""
        found: Tensor = self.output(functional.gelu(self.inner(self.norm(vectors))))[:, :, 0].float()
        return found

    def set_moments(self, moments: Tensor) -> None:
        """Take the mean and standard deviation of the values, unless they are known; zeros stand for unknown ones."""
        self.moments.copy_(torch.where(self.moments[1] > 0, self.moments, moments))

    def standardised(self, values: Tensor) -> Tensor:
        """Return log-likelihoods as the head learns them."""
        return (values - self.moments[0]) / self.moments[1].clamp(min=SMALLEST_DEVIATION)

    def log_likelihoods(self, vectors: Tensor) -> Tensor:
        """Return log-likelihoods in nats per token: [texts, most, size] → [texts, most]."""
        found: Tensor = self(vectors) * self.moments[1].clamp(min=SMALLEST_DEVIATION) + self.moments[0]
        return found


def gap_scores(odds: Tensor, follows: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Return what the pair heads say about gaps: [texts, gaps, GAP_SCORES].

    Args:
        odds: Log-odds that i precedes j: [texts, most, most].
        follows: Log-probability that j follows i: [texts, most, most].
        left: The sentence before each gap: [texts, gaps].
        right: The sentence after each gap: [texts, gaps].
    """
    rows = torch.arange(len(left), device=left.device)[:, None]
    forward, backward = follows[rows, left, right], follows[rows, right, left]
    best = follows.amax(dim=2)[rows, left]
    return torch.stack([odds[rows, left, right], forward, backward, forward - best], dim=2).clamp(-GAP_LIMIT, GAP_LIMIT)


def stray_scores(gaps: Tensor, closed: Tensor, evidence: Tensor, order: Tensor, real: Tensor) -> Tensor:
    """Return the scores of sentences in an order: of the gaps before, after and without each, and its evidence.

    Args:
        gaps: Scores of each gap of the order: [texts, most − 1, GAP_SCORES].
        closed: Scores of the gap that closes without each inner sentence: [texts, most − 2, GAP_SCORES].
        evidence: Evidence of each sentence, in its own numbering: [texts, most, EVIDENCE].
        order: The sentence at each place: [texts, most].
        real: Which places have a sentence: [texts, most].

    Returns:
        [texts, most, STRAY_SCORES]; a gap that is not there has 0.
    """
    gaps, closed = gaps * real[:, 1:, None], closed * real[:, 2:, None]
    own = evidence.gather(1, order[:, :, None].expand(-1, -1, evidence.shape[2]))
    return torch.cat([_placed(gaps, 1, 0), _placed(gaps, 0, 1), _placed(closed, 1, 1), own], dim=2)


def order_free_evidence(odds: Tensor, follows: Tensor, real: Tensor) -> Tensor:
    """Return how well each sentence fits anywhere in its text: [texts, most, EVIDENCE].

    The evidence is the mean and the maximum of log p(next), above chance, out of the sentence and into it, and the mean
    size of the log-odds of precedence; then all five again, compared with their mean over the text.

    Args:
        odds: Log-odds that i precedes j: [texts, most, most].
        follows: Log-probability that j follows i: [texts, most, most].
        real: Which sentences there are: [texts, most].
    """
    pairs = real[:, :, None] & real[:, None] & ~torch.eye(real.shape[1], dtype=torch.bool, device=real.device)
    others = (real.sum(dim=1) - 1).clamp(min=1)[:, None]  # [texts, 1]
    links = follows.clamp(min=-GAP_LIMIT)
    summed, best = links * pairs, links.masked_fill(~pairs, -GAP_LIMIT)
    sizes = (odds.clamp(-GAP_LIMIT, GAP_LIMIT).abs() * pairs).sum(dim=2) / others
    gains = [summed.sum(dim=2) / others, best.amax(dim=2), summed.sum(dim=1) / others, best.amax(dim=1)]
    found = torch.stack([*(gain + others.log() for gain in gains), sizes], dim=2)
    found = found * real[:, :, None]  # [texts, most, 5]
    mean = found.sum(dim=1, keepdim=True) / real.sum(dim=1).clamp(min=1)[:, None, None]
    return torch.cat([found, (found - mean) * real[:, :, None]], dim=2)


def _placed(values: Tensor, before: int, after: int) -> Tensor:
    """Return values, [texts, places, …], with some places of zeros before and after them."""
    return functional.pad(values, (0, 0, before, after))
