"""How VLV-GM trains: what is random and what is not, what the cures charge; and the estimate over a longer chain."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402

from weft.corpora.text.tokenizers import BpeTokenizer  # noqa: E402
from weft.models.common.neural.encoder_decoder import Architecture, Tokens  # noqa: E402
from weft.models.common.token_cache import TokenCache  # noqa: E402
from weft.models.vlv.chain_predictor import VariationalPredictor  # noqa: E402
from weft.models.vlv.estimators import Estimate  # noqa: E402
from weft.models.vlv.latent_chain import ChainStep, divergence  # noqa: E402
from weft.models.vlv.network import Bound, LossWeights, Texts, VariationalNetwork  # noqa: E402

WEIGHTS = LossWeights(annealing=0.3, free_nats=3.0, bag_weight=0.1, contrast=0.0)
SIZES = Architecture(20, dimensions=8, hidden=12, layers=2, dropout=0.0, feed=True, lexical=True, guide=4)
PLACES, SHUFFLED = [[0, 1, 2], [3, 4, -1]], [[2, 0, 1], [4, 3, -1]]


def network(weights: LossWeights) -> VariationalNetwork:
    torch.manual_seed(0)
    made = VariationalNetwork(SIZES, 10, bos=1, eos=2, pad=0, weights=weights)
    _make_loud(made)
    return made.train()


def _make_loud(made: VariationalNetwork) -> None:
    """Guides start at zero, where nothing could be seen of them."""
    for name, parameter in made.named_parameters():
        if "guides" in name or "lexical.mix" in name:
            torch.nn.init.normal_(parameter)


def texts(*, contrasted: bool = False) -> Texts:
    ids = torch.randint(3, 20, (5, 6), generator=torch.Generator().manual_seed(0))
    shuffled = torch.tensor(SHUFFLED) if contrasted else None
    return Texts(Tokens(ids, torch.tensor([6, 3, 4, 5, 2])), torch.tensor(PLACES), shuffled)


class Walks:
    """Writes down where every chain went: by sentence, its noise, recovered from z, and its divergence."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.noise: list[dict[int, Tensor]] = []  # of every walk
        self.nats: list[dict[int, Tensor]] = []
        walk = VariationalNetwork.walk

        def watched(
            net: VariationalNetwork, vectors: Tensor, places: Tensor, noise: Tensor, *, from_prior: bool = False
        ) -> list[ChainStep]:
            steps = walk(net, vectors, places, noise, from_prior=from_prior)
            self._note(steps, places.tolist())
            return steps

        monkeypatch.setattr(VariationalNetwork, "walk", watched)

    def _note(self, steps: list[ChainStep], places: list[list[int]]) -> None:
        noise, nats = {}, {}
        for number, step in enumerate(steps, start=1):
            away = (step.latent - step.proposal.mean) / step.proposal.log_std.exp()  # [texts, latent]
            for row, places_of_text in enumerate(places):
                if places_of_text[number] >= 0:
                    noise[places_of_text[number]] = away[row].detach()
                    nats[places_of_text[number]] = divergence(step.posterior, step.prior)[row]
        self.noise.append(noise)
        self.nats.append(nats)


# What is random ------------------------------------------------------------------------------------------------------


def test_training_samples_every_latent_variable_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    net, walks = network(WEIGHTS), Walks(monkeypatch)
    torch.manual_seed(11)
    with torch.no_grad():
        for _ in range(300):
            net.bound(texts())
    drawn = torch.stack([torch.stack([noise[n] for n in (1, 2, 4)]) for noise in walks.noise])  # [300, 3, latent]
    flat = drawn.flatten(1)  # [300, 12]
    assert flat.mean(dim=0).abs().max().item() < 0.25  # each is the mean of 300: a spread of .06
    assert flat.std(dim=0).sub(1).abs().max().item() < 0.2
    correlations = torch.corrcoef(flat.T) - torch.eye(12)
    assert correlations.abs().max().item() < 0.3, "one sentence's noise, or one dimension's, is not another's"
    walks.noise.clear()
    net.eval()
    net.bound(texts())
    assert all(noise.abs().max().item() < 1e-5 for noise in walks.noise[0].values()), "evaluation takes the means"


def test_the_loss_has_the_gradient_of_the_sample_it_drew(monkeypatch: pytest.MonkeyPatch) -> None:
    """How far the posterior spreads is learned through the words, too, which zeros for noise would not teach."""
    net = network(WEIGHTS)
    torch.manual_seed(11)
    bound = net.bound(texts())
    assert net.chain.posterior is not None
    head = net.chain.posterior.layers[-1]
    assert isinstance(head, torch.nn.Linear)
    assert head.weight.grad is None
    (gradient,) = torch.autograd.grad(bound.words, [head.weight])
    spreads = gradient[SIZES.guide :]  # rows of log σ
    assert spreads.abs().max().item() > 1e-4


def test_a_sentence_has_the_same_noise_in_its_text_and_in_the_shuffled_one(monkeypatch: pytest.MonkeyPatch) -> None:
    net, walks = network(replace(WEIGHTS, contrast=1.0)), Walks(monkeypatch)
    torch.manual_seed(11)
    net.bound(texts(contrasted=True))
    _, plain, shuffled = walks.noise  # the first walk draws z from the posterior, the other two from the prior
    both = sorted(set(plain) & set(shuffled))
    assert both == [1]
    # A longer text, so that more than one sentence stands in both.
    ids = torch.randint(3, 20, (6, 5), generator=torch.Generator().manual_seed(1))
    longer = Texts(
        Tokens(ids, torch.full((6,), 5)), torch.tensor([[0, 1, 2, 3, 4, 5]]), torch.tensor([[0, 4, 2, 5, 1, 3]])
    )
    net.bound(longer)
    _, plain, shuffled = walks.noise[3:]
    assert sorted(plain) == sorted(shuffled) == [1, 2, 3, 4, 5]
    for number, noise in plain.items():
        torch.testing.assert_close(noise, shuffled[number], rtol=1e-4, atol=1e-4)
        assert noise.abs().max().item() > 0.1
    assert not torch.allclose(plain[1], plain[2], atol=0.1)


# What the cures charge -----------------------------------------------------------------------------------------------


def test_free_nats_are_those_of_each_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    walks = Walks(monkeypatch)
    net = network(WEIGHTS)
    torch.manual_seed(11)
    with torch.no_grad():
        net.bound(texts())
    sizes = sorted(nats.item() for nats in walks.nats[0].values())
    assert sizes[0] < 0.99 * sizes[1], "sentences must differ for this to be a test"
    free = (sizes[0] + sizes[1]) / 2  # above the least of the three, below the others
    net.weights = replace(WEIGHTS, free_nats=free)
    torch.manual_seed(11)
    bound = net.bound(texts())
    nats = list(walks.nats[1].values())
    assert bound.divergence.item() == pytest.approx(sum(sizes), rel=1e-4)
    assert bound.charged.item() == pytest.approx(free + sizes[1] + sizes[2], rel=1e-5)
    assert bound.charged.item() > max(sum(sizes), 3 * free) * (1 + 1e-4), "a batch that is over pays for its sentences"
    parameters = list(net.chain.parameters())
    found = torch.autograd.grad(bound.charged, parameters, retain_graph=True, allow_unused=True)
    dear = torch.stack([one for one in nats if one.item() > free]).sum()
    expected = torch.autograd.grad(dear, parameters, allow_unused=True)  # what is free teaches nothing
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)
    net.eval()
    whole = net.bound(texts())
    assert whole.charged.item() == pytest.approx(whole.divergence.item(), rel=1e-5), "nothing is free in evaluation"


@pytest.mark.parametrize(
    ("annealing", "share", "weight"),
    [(0.3, 0.0, 0.0), (0.3, 0.15, 0.5), (0.3, 0.3, 1.0), (0.3, 0.301, 1.0), (0.3, 0.9, 1.0), (0.3, 1.0, 1.0),
     (1.0, 0.25, 0.25), (1.0, 1.0, 1.0), (0.0, 0.0, 1.0), (0.0, 0.5, 1.0)],
)  # fmt: skip
def test_the_weight_of_the_divergence_rises_to_one_and_stays(annealing: float, share: float, weight: float) -> None:
    net = network(replace(WEIGHTS, annealing=annealing, bag_weight=0.25, contrast=2.0))
    net.share = share
    words, nats, charged, bag, contrast = map(torch.tensor, (100.0, 7.0, 9.0, 40.0, 3.0))
    bound = Bound(words, nats, charged, bag, 3, contrast)
    assert net.total_loss(bound).item() == pytest.approx(100.0 + weight * 9.0 + 0.25 * 40.0 + 2.0 * 3.0)
    net.eval()  # the bound itself, whatever the training has reached
    assert net.total_loss(bound).item() == pytest.approx(100.0 + 7.0 + 2.0 * 3.0)


# The estimate over a chain -------------------------------------------------------------------------------------------

TEXT = ("a cat sat here", "the cat slept", "a dog ran away")


@pytest.fixture(scope="module")
def tokenizer() -> BpeTokenizer:
    return BpeTokenizer.train(TEXT, vocabulary_size=290)


def predictor(tokenizer: BpeTokenizer, estimate: Estimate) -> VariationalPredictor:
    sizes = replace(SIZES, vocabulary=tokenizer.vocabulary_size, guide=1)
    torch.manual_seed(0)
    net = VariationalNetwork(
        sizes, 10, bos=tokenizer.bos_id, eos=tokenizer.eos_id, pad=tokenizer.pad_id, weights=WEIGHTS
    )
    _make_loud(net)
    with torch.no_grad():
        net.chain.memory.weight_ih[:, -1] *= 8.0  # what z_2 was must matter for z_3
        net.chain.prior.layers[-1].weight.mul_(4.0)  # type: ignore[operator]
    return VariationalPredictor(net, TokenCache(tokenizer), estimate)


def row(ids: list[int], rows: int) -> Tokens:
    return Tokens(torch.tensor([ids]).expand(rows, -1), torch.full((rows,), len(ids)))


def integrated(exact: VariationalPredictor) -> tuple[float, float]:
    """log p(s_2 | s_1) and log p(s_3 | s_1, s_2), z_2 and z_3 integrated out on a grid of two dimensions."""
    with torch.inference_mode():
        return _integrated(exact)


def _integrated(exact: VariationalPredictor) -> tuple[float, float]:
    net, points, reach = exact.network, 801, 12.0
    ids = exact.ids(TEXT)
    grid = torch.linspace(-reach, reach, points)[:, None]  # [points, 1]
    cell = math.log(2 * reach / (points - 1))
    memories, vectors = zip(*(net.read(row(one, 1)) for one in ids), strict=True)
    zeros = torch.zeros(points, dtype=torch.long)
    second, third = (
        net.words.log_prob(memories[place - 1].select(zeros), row(ids[place], points), grid) for place in (1, 2)
    )  # [points] each: log p(s_n | z_n, s_{n−1}), of every z_n
    state = net.chain.begin(vectors[0])
    first_prior = net.chain.predict(state).log_prob(grid)  # [points]
    # Whatever the posterior is: the state after s_2 with every z_2.
    spread = state.select(zeros)
    moved = net.chain._after(spread, vectors[1].expand(points, -1), grid)
    prior = net.chain.predict(moved)  # [points of z_2, 1]
    onward = -0.5 * ((grid.T - prior.mean) / prior.log_std.exp()).square() - prior.log_std - 0.5 * math.log(2 * math.pi)
    joint = (first_prior + second)[:, None].double() + onward + third  # [points of z_2, points of z_3]
    one = float((first_prior + second).double().logsumexp(0)) + cell
    both = float(joint.flatten().logsumexp(0)) + 2 * cell
    return one, both - one


def test_importance_sampling_over_a_chain_rises_to_the_integral(tokenizer: BpeTokenizer) -> None:
    exact = integrated(predictor(tokenizer, Estimate("iwae")))
    whole = sum(exact)

    def found(kind: str, samples: int, seed: int) -> Any:
        return predictor(tokenizer, Estimate(kind, samples, seed)).log_probs(TEXT, [[0, 1, 2]])[0]

    def mean(kind: str, samples: int, seeds: int) -> float:
        return sum(float(found(kind, samples, seed).sum()) for seed in range(seeds)) / seeds

    bound, few, some = mean("elbo", 1000, 1), mean("iwae", 2, 60), mean("iwae", 20, 20)
    many = found("iwae", 4000, 1)
    assert bound < few < some < whole + 0.02
    assert whole - bound > 0.1, "a bound that is tight would hide what samples do"
    assert list(many) == pytest.approx(exact, abs=0.02)
