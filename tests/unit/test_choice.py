"""The next sentence chosen among all that are left, against slow obvious code."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402

from weft.models.generative.choice import choice_loss  # noqa: E402
from weft.models.generative.latent_chain import ChainState, LatentChain, divergence  # noqa: E402

NATS = 3.0


@pytest.fixture
def chain() -> LatentChain:
    torch.manual_seed(1)
    return LatentChain(6, 5, 4)


def states_of(chain: LatentChain, vectors: Tensor, places: Tensor) -> list[ChainState]:
    """Before every place but the first, as a walk without noise has them."""
    chosen = places.clamp(min=0)
    states = [chain.begin(vectors[chosen[:, 0]])]
    for place in range(1, places.shape[1] - 1):
        states.append(chain.step(states[-1], vectors[chosen[:, place]], torch.zeros(len(places), 4)).state)
    return states


def slowly(chain: LatentChain, vectors: Tensor, text: list[int]) -> float:
    """One text, one sentence, one candidate at a time."""
    total, state = 0.0, chain.begin(vectors[text[:1]])
    for place in range(1, len(text)):
        steps = [chain.step(state, vectors[[one]], torch.zeros(1, 4)) for one in text[place:]]
        weights = [math.exp(-divergence(step.posterior, step.prior).item() / NATS) for step in steps]
        total -= math.log(weights[0] / sum(weights))
        state = steps[0].state
    return total


def test_it_is_what_slow_code_says(chain: LatentChain) -> None:
    vectors = chain.read(2 * torch.randn(9, 6))
    places = torch.tensor([[0, 3, 2, 7], [5, 1, 4, -1], [6, 8, -1, -1]])
    found = choice_loss(chain, vectors, places, states_of(chain, vectors, places), nats=NATS)
    texts = [[n for n in row if n >= 0] for row in places.tolist()]
    assert found.item() == pytest.approx(sum(slowly(chain, vectors, text) for text in texts), rel=1e-4)
    assert slowly(chain, vectors, texts[2]) == 0.0, "the last one is no choice"


def test_it_can_be_learned(chain: LatentChain) -> None:
    """Sentences that count up: the chain learns to expect the next number."""
    vectors = torch.eye(6)
    places = torch.tensor([[0, 1, 2, 3, 4, 5]])
    optimizer = torch.optim.Adam(chain.parameters(), lr=0.02)
    losses = []
    for _ in range(60):
        ready = chain.read(vectors)
        loss = choice_loss(chain, ready, places, states_of(chain, ready, places), nats=NATS)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] == pytest.approx(math.log(math.factorial(5)), rel=0.2), "at first all are alike"
    assert losses[-1] < 0.1 * losses[0]
    assert all(torch.isfinite(parameter.grad).all() for parameter in chain.parameters() if parameter.grad is not None)
