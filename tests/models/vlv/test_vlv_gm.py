"""VLV-GM: divergences and densities against torch.distributions, the chain, and the bound."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from benchmarks.latent import MisguidedPredictor, latent_use, with_shuffled_latents  # noqa: E402
from tests.helpers.guided_models import assembled  # noqa: E402
from torch import Tensor  # noqa: E402

from weft.corpora.store.paragraph_batches import ParagraphStream  # noqa: E402
from weft.corpora.store.prepare import prepare  # noqa: E402
from weft.corpora.text.tokenizers import BpeTokenizer  # noqa: E402
from weft.document import Document  # noqa: E402
from weft.errors import ConfigError  # noqa: E402
from weft.models.common.neural.encoder_decoder import Architecture, Seq2SeqNetwork, Tokens  # noqa: E402
from weft.models.common.token_cache import TokenCache  # noqa: E402
from weft.models.seq2seq.seq2seq import Seq2Seq  # noqa: E402
from weft.models.vlv.chain_predictor import VariationalPredictor  # noqa: E402
from weft.models.vlv.estimators import Estimate  # noqa: E402
from weft.models.vlv.latent_chain import Gaussian, LatentChain, divergence  # noqa: E402
from weft.models.vlv.network import LossWeights, Texts, VariationalNetwork  # noqa: E402
from weft.models.vlv.prefix_chains import PrefixChains  # noqa: E402
from weft.models.vlv.vlv_gm import VlvGm, VlvGmSettings  # noqa: E402
from weft.ordering.order import found_orders, order_document  # noqa: E402
from weft.scoring.uni_bi_mmi import estimator_of, order_values  # noqa: E402
from weft.training.config import build_config  # noqa: E402
from weft.training.runs import train  # noqa: E402
from weft.training.settings import TrainingSettings  # noqa: E402

WEIGHTS = LossWeights(annealing=0.3, free_nats=3.0, bag_weight=0.1, contrast=0.0)
SIZES = Architecture(20, dimensions=8, hidden=12, layers=2, dropout=0.0, feed=True, lexical=True, guide=4)
PLACES = [[0, 1, 2], [3, 4, -1]]


def network(sizes: Architecture = SIZES, weights: LossWeights = WEIGHTS) -> VariationalNetwork:
    torch.manual_seed(0)
    made = VariationalNetwork(sizes, 10, bos=1, eos=2, pad=0, weights=weights)
    for name, parameter in made.named_parameters():
        if "guides" in name or "lexical.mix" in name:  # they start at zero, where nothing could be seen of them
            torch.nn.init.normal_(parameter)
    return made


def texts(seed: int = 0) -> Texts:
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(3, 20, (5, 6), generator=generator)
    return Texts(Tokens(ids, torch.tensor([6, 3, 4, 5, 2])), torch.tensor(PLACES))


def gaussian(seed: int, *shape: int) -> Gaussian:
    generator = torch.Generator().manual_seed(seed)
    return Gaussian(torch.randn(shape, generator=generator), torch.randn(shape, generator=generator) / 2)


def test_divergence_and_density_are_those_of_torch() -> None:
    one, other = gaussian(1, 5, 3), gaussian(2, 5, 3)
    known = [torch.distributions.Normal(each.mean, each.log_std.exp()) for each in (one, other)]
    expected = torch.distributions.kl_divergence(known[0], known[1]).sum(-1)
    assert torch.allclose(divergence(one, other), expected, atol=1e-5)
    assert (divergence(one, other) > 0).all()
    value = torch.randn(5, 3)
    assert torch.allclose(one.log_prob(value), known[0].log_prob(value).sum(-1), atol=1e-5)
    assert torch.equal(one.sample(torch.zeros(5, 3)), one.mean)


def test_the_prior_does_not_see_its_sentence_and_the_posterior_does() -> None:
    torch.manual_seed(1)
    chain = LatentChain(6, 8, 3)
    first, second, other = (chain.read(torch.randn(2, 6)) for _ in range(3))
    state = chain.begin(first)
    one, two = (chain.step(state, sentence, torch.zeros(2, 3)) for sentence in (second, other))
    assert torch.equal(one.prior.mean, two.prior.mean)
    assert not torch.allclose(one.posterior.mean, two.posterior.mean)
    assert not torch.allclose(chain.predict(one.state).mean, chain.predict(two.state).mean)  # the next one knows it


def test_the_latent_variable_is_carried_along_the_chain() -> None:
    torch.manual_seed(1)
    chain = LatentChain(6, 8, 3)
    first, second = (chain.read(torch.randn(2, 6)) for _ in range(2))
    steps = [chain.step(chain.begin(first), second, noise) for noise in (torch.zeros(2, 3), torch.ones(2, 3))]
    assert torch.equal(steps[0].posterior.mean, steps[1].posterior.mean)
    assert not torch.allclose(*(chain.predict(step.state).mean for step in steps))


def test_the_bound_is_that_of_slow_obvious_code() -> None:
    net = network().eval()
    batch = texts()
    bound = net.bound(batch)
    words = kl = 0.0
    for row in PLACES:
        row = [place for place in row if place >= 0]
        vectors = [net.read(sentence(batch, place))[1] for place in row]
        state = net.chain.begin(vectors[0])
        for before, place, vector in zip(row[:-1], row[1:], vectors[1:], strict=True):
            step = net.chain.step(state, vector, torch.zeros(1, 4))
            memory, _ = net.read(sentence(batch, before))
            words -= net.words.log_prob(memory, sentence(batch, place), step.latent).item()
            kl += divergence(step.posterior, step.prior).item()
            state = step.state
    assert bound.words.item() == pytest.approx(words, rel=1e-4)
    assert bound.divergence.item() == pytest.approx(kl, rel=1e-4)
    assert bound.sentences == 3
    assert net.total_loss(bound).item() == pytest.approx(words + kl, rel=1e-4)


def test_contrast_compares_a_sentence_in_its_text_and_in_a_shuffled_one() -> None:
    net = network(weights=replace(WEIGHTS, contrast=2.5)).eval()
    plain = texts()
    shuffled = [sorted((p for p in row if p >= 0), reverse=True) + [-1] * row.count(-1) for row in PLACES]

    def values(rows: list[list[int]], *, from_prior: bool) -> dict[int, Tensor]:
        """Of every sentence but the first, by its number: slow, obvious, and with torch's own gradients."""
        found = {}
        for row in ([place for place in row if place >= 0] for row in rows):
            vectors = [net.read(sentence(plain, place))[1] for place in row]
            state = net.chain.begin(vectors[0])
            for before, place, vector in zip(row[:-1], row[1:], vectors[1:], strict=True):
                step = net.chain.step(state, vector, torch.zeros(1, 4), from_prior=from_prior)
                memory, _ = net.read(sentence(plain, before))
                words = net.words.target_loss(memory, sentence(plain, place), guide=step.latent)
                found[place] = -words if from_prior else -words - divergence(step.posterior, step.prior).sum()
                state = step.state
        return found

    right, wrong = values(PLACES, from_prior=True), values(shuffled, from_prior=True)
    both = sorted(set(right) & set(wrong))
    assert both
    bounds = values(PLACES, from_prior=False)
    expected = -sum(bounds.values()) + 2.5 * sum(torch.nn.functional.softplus(wrong[n] - right[n]) for n in both)
    bound = net.bound(Texts(plain.sentences, plain.places, torch.tensor(shuffled)))
    parameters = [p for name, p in net.named_parameters() if not name.startswith("bag")]
    torch.testing.assert_close(net.total_loss(bound), expected, rtol=1e-4, atol=1e-4)
    gradients = torch.autograd.grad(net.total_loss(bound), parameters, allow_unused=True)
    wanted = torch.autograd.grad(expected, parameters, allow_unused=True)
    for one, other in zip(gradients, wanted, strict=True):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)


def sentence(batch: Texts, place: int) -> Tokens:
    length = int(batch.sentences.lengths[place])
    return Tokens(batch.sentences.ids[place : place + 1, :length], batch.sentences.lengths[place : place + 1])


def test_texts_do_not_touch_each_other() -> None:
    net = network().eval()
    batch = texts()
    alone = Texts(batch.sentences, batch.places[:1])
    changed = Tokens(batch.sentences.ids.clone(), batch.sentences.lengths)
    changed.ids[3:] = 7
    together = net.bound(batch)
    other = net.bound(Texts(changed, batch.places))
    first = net.bound(alone).words
    rest = net.bound(Texts(batch.sentences, batch.places[1:])).words
    assert (first + rest).item() == pytest.approx(together.words.item(), rel=1e-5)
    assert other.words.item() != pytest.approx(together.words.item(), rel=1e-3)


def test_every_parameter_gets_a_gradient_and_cures_are_charged() -> None:
    net = network()
    net.share = 0.15
    bound = net.bound(texts())
    weight = 0.15 / 0.3
    expected = bound.words + weight * bound.charged + 0.1 * bound.bag
    assert net.total_loss(bound).item() == pytest.approx(expected.item())
    assert bound.charged.item() >= 3 * 3.0 - 1e-4  # three sentences, three free nats each
    net.weights = replace(WEIGHTS, free_nats=0.0)
    net.share = 1.0
    torch.manual_seed(3)
    net.total_loss(net.bound(texts())).backward()  # type: ignore[no-untyped-call]
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_without_a_trained_guide_it_is_the_seq2seq_it_started_from() -> None:
    plain = Seq2SeqNetwork(replace(SIZES, guide=0), bos=1, eos=2, pad=0).eval()
    net = VariationalNetwork(SIZES, 10, bos=1, eos=2, pad=0, weights=WEIGHTS).eval()
    missing, unexpected = net.words.load_state_dict(plain.state_dict(), strict=False)
    assert not unexpected
    assert all("guides" in name for name in missing)
    batch = texts()
    bound = net.bound(batch)
    expected = sum(
        plain.log_prob(plain.encode(sentence(batch, before)), sentence(batch, place)).item()
        for before, place in ((0, 1), (1, 2), (3, 4))
    )
    assert -bound.words.item() == pytest.approx(expected, rel=1e-4)


def test_the_bag_of_words_ignores_order() -> None:
    net = network().eval()
    batch = texts()
    latent = torch.randn(1, 4)
    ids = batch.sentences.ids[:1]
    one = net._bag(latent, Tokens(ids, torch.tensor([6])), torch.tensor([0]))
    two = net._bag(latent, Tokens(ids.flip(1), torch.tensor([6])), torch.tensor([0]))
    assert one.item() == pytest.approx(two.item(), rel=1e-5)
    likely = (net.bag(latent) @ net.words.embedding.weight.T).log_softmax(-1)[0]  # [vocabulary]
    assert one.item() == pytest.approx(-sum(likely[word].item() for word in ids[0]), rel=1e-5)
    short = net._bag(latent, Tokens(ids, torch.tensor([4])), torch.tensor([0]))
    assert short.item() == pytest.approx(-sum(likely[word].item() for word in ids[0, :4]), rel=1e-5)


TEXT = ("a cat sat here", "the cat slept", "a dog ran away", "it barked")


@pytest.fixture(scope="module")
def tokenizer() -> BpeTokenizer:
    return BpeTokenizer.train(TEXT, vocabulary_size=290)


def predictor(tokenizer: BpeTokenizer, estimate: Estimate, latent: int = 1) -> VariationalPredictor:
    sizes = replace(SIZES, vocabulary=tokenizer.vocabulary_size, guide=latent)
    torch.manual_seed(0)
    net = VariationalNetwork(
        sizes, 10, bos=tokenizer.bos_id, eos=tokenizer.eos_id, pad=tokenizer.pad_id, weights=WEIGHTS
    )
    for name, parameter in net.named_parameters():
        if "guides" in name or "lexical.mix" in name:
            torch.nn.init.normal_(parameter)
    return VariationalPredictor(net, TokenCache(tokenizer), estimate)


def integrated(exact: VariationalPredictor) -> float:
    """log p(s_2 | s_1) with z integrated out on a fine grid."""
    net, ids = exact.network, exact.ids
    with torch.inference_mode():
        memory, vectors = net.read(_row(ids(TEXT[:1])[0]))
        prior = net.chain.predict(net.chain.begin(vectors))
        grid = torch.linspace(-12, 12, 4001)[:, None]  # [points, 1]
        target = ids(TEXT[1:2])[0]
        rows = Tokens(torch.tensor([target]).expand(len(grid), -1), torch.full((len(grid),), len(target)))
        words = net.words.log_prob(memory.select(torch.zeros(len(grid), dtype=torch.long)), rows, grid)
        density = prior.log_prob(grid)
        return float((words + density).double().logsumexp(0) + torch.tensor(24 / 4000).log())


def _row(ids: list[int]) -> Tokens:
    return Tokens(torch.tensor([ids]), torch.tensor([len(ids)]))


def test_the_bound_lies_below_and_importance_sampling_rises_to_the_integral(tokenizer: BpeTokenizer) -> None:
    exact = integrated(predictor(tokenizer, Estimate("iwae")))

    def mean(kind: str, samples: int, seeds: int) -> float:
        found = [
            predictor(tokenizer, Estimate(kind, samples, seed)).log_probs(TEXT[:2], [[0, 1]])[0][0]
            for seed in range(seeds)
        ]
        return float(sum(found) / len(found))

    bound = mean("elbo", 200, 2)
    few, some, many = mean("iwae", 1, 60), mean("iwae", 5, 40), mean("iwae", 2000, 1)
    prior = mean("prior", 1, 60), mean("prior", 5, 40), mean("prior", 4000, 1)
    assert bound < exact
    assert few == pytest.approx(bound, abs=0.15)  # one sample is the bound
    assert bound < some < exact + 0.02
    assert many == pytest.approx(exact, abs=0.02)
    assert prior[0] < prior[1] < exact + 0.02
    assert prior[2] == pytest.approx(exact, abs=0.05)


def test_the_tighter_estimate_is_for_each_order_the_higher_of_prior_and_posterior(tokenizer: BpeTokenizer) -> None:
    orders = list(itertools.permutations(range(len(TEXT))))
    prior, iwae, tighter = (
        predictor(tokenizer, Estimate(kind, 2), latent=4).log_probs(TEXT, orders)
        for kind in ("prior", "iwae", "tighter")
    )
    higher = [one.sum() >= other.sum() for one, other in zip(prior, iwae, strict=True)]
    assert True in higher and False in higher
    for chosen, one, other, by_prior in zip(tighter, prior, iwae, higher, strict=True):
        assert chosen == pytest.approx(one if by_prior else other)


def test_a_chain_without_noise_is_exact(tokenizer: BpeTokenizer) -> None:
    """Its z is the mean that the text before predicts, so the seed and the number of samples have no effect."""
    model = VlvGm(VlvGmSettings(dimensions=8, hidden=12, layers=1, latent=3, width=10, noisy=False, combine="uni"))
    torch.manual_seed(3)
    model.assemble({part: model.new_network(part, tokenizer) for part in model.parts}, tokenizer)
    other = model.adjusted({"noise_seed": 7, "samples": 9})
    document = Document("d", TEXT)
    assert model.score([document])[0].estimator == model.search_estimate.name == "exact"
    assert other.score([document])[0].value == model.score([document])[0].value
    net = model.predictors["forward"].network
    steps = net.walk(torch.randn(4, 10), torch.arange(4)[None], torch.randn(4, 1, 3))
    assert all(torch.equal(step.latent, step.prior.mean) for step in steps)
    assert not any("posterior" in name for name in net.state_dict())


def test_orders_of_a_text_are_scored_as_texts(tokenizer: BpeTokenizer) -> None:
    model = VlvGm(VlvGmSettings(dimensions=8, hidden=12, layers=1, latent=3, width=10, samples=3))
    torch.manual_seed(2)
    model.assemble({part: model.new_network(part, tokenizer) for part in model.parts}, tokenizer)
    document = Document("d", TEXT)
    orders = [(0, 1, 2, 3), (3, 1, 0, 2), (2, 0), (1,), ()]
    for combine in ("uni", "bi", "mmi"):
        way = model.combined(combine)
        found = order_values(way, document, orders)
        expected = [score.value for score in way.score([document.reorder(order) for order in orders])]
        assert found[:3] == pytest.approx(expected[:3], abs=1e-5)
        assert found[3:] == expected[3:] == [None, None]
    assert model.score([document])[0].estimator == "prior-3"
    assert len(model.score([document])[0].transitions) == 3


def test_all_that_came_before_matters_not_only_the_last_sentence(tokenizer: BpeTokenizer) -> None:
    chain = predictor(tokenizer, Estimate("elbo", 2), latent=4)
    one, other = chain.log_probs(TEXT, [[0, 1, 2], [3, 1, 2]])
    assert one[1] != pytest.approx(other[1], abs=1e-4)


def test_what_is_known_of_orders_serves_all_combinations_but_no_other_estimate(
    zoo_model: VlvGm, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[object] = []
    plain = VariationalPredictor.log_probs

    def counted(self: VariationalPredictor, sentences: Any, orders: Any) -> Any:
        calls.append(self)
        return plain(self, sentences, orders)

    monkeypatch.setattr(VariationalPredictor, "log_probs", counted)
    document = Document("d", tuple(TEXT[:3]))
    orders = [[0, 1, 2], [2, 1, 0]]
    found = {way: zoo_model.combined(way).order_scores(document, orders) for way in ("uni", "bi", "mmi")}
    assert len(calls) == 2, "once forward, once backward"
    assert estimator_of(zoo_model) == "prior-2"
    assert len({tuple(values) for values in found.values()}) == 3
    more = zoo_model.adjusted({"samples": 7}).order_scores(document, orders)
    assert len(calls) == 4
    assert more != found["mmi"]
    assert with_shuffled_latents(zoo_model).order_scores(document, orders) != found["mmi"]


@pytest.fixture
def zoo_model(tokenizer: BpeTokenizer) -> VlvGm:
    model = VlvGm(VlvGmSettings(dimensions=8, hidden=12, layers=2, latent=3, width=10, samples=2, precision="float32"))
    return assembled(model, tokenizer, seed=0)


def test_with_shuffled_latents_a_sentence_is_decoded_with_another_z(tokenizer: BpeTokenizer) -> None:
    plain = predictor(tokenizer, Estimate("elbo", 2), latent=3)
    wrong = MisguidedPredictor(plain, whole=False)
    orders = [[0, 1, 2], [0, 1]]
    one, other = (each.log_probs(TEXT[:3], orders) for each in (plain, wrong))
    assert abs(one[0] - other[0]).max() > 1e-3
    assert abs(one[1] - other[1]).max() < 1e-5, "two sentences have one z, which cannot be exchanged"
    with torch.no_grad():
        for way in (plain.network.words.guides.reading, plain.network.words.guides.writing):  # type: ignore[union-attr]
            way.weight.zero_()
    same, too = (each.log_probs(TEXT, [[0, 1, 2, 3]])[0] for each in (plain, wrong))
    assert same == pytest.approx(too, abs=1e-5), "a z that does nothing is missed by nobody"


def test_an_exchanged_z_must_be_expected_where_it_is_put(tokenizer: BpeTokenizer) -> None:
    plain = predictor(tokenizer, Estimate("elbo", 1), latent=3)
    chain = plain.network.chain
    state = chain.begin(torch.randn(1, chain.memory.hidden_size))
    one = chain.step(state, torch.randn(1, chain.memory.hidden_size), torch.randn(1, 3))
    two = chain.step(one.state, torch.randn(1, chain.memory.hidden_size), torch.randn(1, 3))
    latent, densities = MisguidedPredictor(plain, whole=True).sampled([one, two])  # two places: they change theirs
    assert torch.equal(latent, torch.stack([two.latent, one.latent]))
    first = one.prior.log_prob(two.latent) - two.posterior.log_prob(two.latent)
    second = two.prior.log_prob(one.latent) - one.posterior.log_prob(one.latent)
    assert torch.allclose(densities, torch.stack([first, second]))
    kept = MisguidedPredictor(plain, whole=False).sampled([one, two])[1]
    assert torch.equal(kept, plain.sampled([one, two])[1])


def test_a_collapsed_chain_has_no_active_dimension() -> None:
    net = network()
    chain, width = net.chain, net.chain.memory.hidden_size
    with torch.no_grad():  # the posterior is the prior: the sentence is not looked at
        prior = {name: value.clone() for name, value in chain.prior.state_dict().items()}
        assert chain.posterior is not None
        first = torch.zeros_like(chain.posterior.state_dict()["layers.0.weight"])
        first[:, :width] = prior["layers.0.weight"]
        chain.posterior.load_state_dict({**prior, "layers.0.weight": first})
    found = latent_use(net, [texts()])
    assert found.divergence == pytest.approx(0.0, abs=1e-5)
    assert found.active == 0.0


def test_scores_do_not_depend_on_other_orders_asked_for(tokenizer: BpeTokenizer) -> None:
    chain = predictor(tokenizer, Estimate("iwae", 4), latent=4)
    alone = chain.log_probs(TEXT, [[2, 0, 3, 1]])[0]
    among = chain.log_probs(TEXT, [[0, 1, 2, 3], [2, 0, 3, 1], [1, 0]])[1]
    assert alone == pytest.approx(among, abs=1e-4)


def test_a_chain_starts_from_the_networks_of_a_seq2seq(tmp_path: Path) -> None:
    lines = [{"sentences": [f"the {w} cat number {n} sat" for w in ("old", "red", "new", "big")]} for n in range(20)]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)))
    store = prepare([tmp_path / "t.jsonl"], tmp_path / "store", vocabulary_size=300, workers=1)
    sizes: dict[str, Any] = {"dimensions": 8, "hidden": 12, "layers": 1, "dropout": 0.0}
    run = {"seed": 1, "folder": str(tmp_path / "run")}
    training = {"steps": 3, "warmup": 1, "batch_tokens": 200, "validate_every": 2, "learning_rate": 1e-6}
    data = {"store": str(tmp_path / "store"), "valid_store": str(tmp_path / "store")}
    first = {"model": {"name": "seq2seq", **sizes}, "data": data, "training": training}
    train(build_config({**first, "run": {**run, "out": str(tmp_path / "s")}}))
    model = {"name": "vlv-gm", **sizes, "feed": False, "lexical": False, "latent": 3, "width": 8, "word_dropout": 0.0}
    more = {**run, "out": str(tmp_path / "v"), "start": str(tmp_path / "s"), "folder": str(tmp_path / "run2")}
    train(build_config({"model": model, "data": data, "training": training, "run": more}))
    began, found = Seq2Seq.load(tmp_path / "s"), VlvGm.load(tmp_path / "v")
    for part in ("forward", "backward"):
        old, new = began.networks()[part].state_dict(), found.networks()[part].state_dict()
        for name, value in old.items():
            assert torch.allclose(value, new[f"words.{name}"], atol=0.02), name  # int8 twice, and three tiny steps
    log = [json.loads(line) for line in (tmp_path / "run2" / "forward" / "log.jsonl").read_text().splitlines()]
    assert store.sentence_count == 80
    assert any(entry["kind"] == "validation" for entry in log)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_shuffled_texts_keep_their_ends_as_often_as_asked(tmp_path: Path, share: float) -> None:
    lines = [{"sentences": [f"sentence {n} of {size}" for n in range(size)]} for size in [3] + 80 * [8]]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)))
    store = prepare([tmp_path / "t.jsonl"], tmp_path / "store", tokenizer_kind="words", vocabulary_size=60, workers=1)
    model = VlvGm(VlvGmSettings(contrast=1.0, kept_ends=share))
    stream = model.training_batches("backward", store, 0, TrainingSettings(steps=1, batch_tokens=10**6))
    batch = stream.batch(stream.epoch(0)[0])
    sizes = (batch.places >= 0).sum(axis=1)
    rows = [(plain[:n], other[:n]) for plain, other, n in zip(batch.places, batch.shuffled, sizes, strict=True)]
    assert all(sorted(plain) == sorted(other) for plain, other in rows)
    kept = [plain[0] == other[0] and plain[-1] == other[-1] for plain, other in rows if len(plain) > 3]
    assert len(kept) == 80
    assert sum(kept) / 80 == pytest.approx(share + (1 - share) / 56, abs=0.12), "by chance 1 in 56 keep them"
    assert sum((plain != other).any() for plain, other in rows) > 76, "what is between them is shuffled"
    assert (batch.shuffled == stream.batch(stream.epoch(0)[0]).shuffled).all(), "the same when the batch comes again"


def test_windows_hold_every_sentence_once_as_a_target(tmp_path: Path) -> None:
    sizes = (1, 2, 3, 13, 30)
    lines = [{"sentences": [f"sentence {n} of {size}" for n in range(size)]} for size in sizes]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)))
    store = prepare([tmp_path / "t.jsonl"], tmp_path / "store", tokenizer_kind="words", vocabulary_size=60, workers=1)
    starts = {int(start) for start in store.paragraph_offsets[:-1]}
    for part in ("forward", "backward"):
        stream = VlvGm().training_batches(part, store, 0, TrainingSettings(steps=1, batch_tokens=60))
        assert isinstance(stream, ParagraphStream)
        targets: list[tuple[int, ...]] = []
        for planned in stream.epoch(0):
            batch = stream.batch(planned)
            rows = [
                [tuple(batch.sentences[place][: batch.lengths[place]]) for place in row if place >= 0]
                for row in batch.places
            ]
            targets += [sentence for row in rows for sentence in row[1:]]
            assert batch.predicted_tokens == sum(len(sentence) + 1 for row in rows for sentence in row[1:])
            assert all(2 <= len(row) <= 12 for row in rows)
        given = starts if part == "forward" else {int(end) - 1 for end in store.paragraph_offsets[1:]}
        expected = [n for n in range(store.sentence_count) if n not in given]
        assert sorted(targets) == sorted(tuple(store.sentence(n)) for n in expected)


def test_diagnostics_see_whether_the_latent_variable_is_used() -> None:
    net = network(weights=LossWeights(0.0, 0.0, 0.0, 0.0))
    optimizer = torch.optim.Adam(net.parameters(), 5e-3)
    for _ in range(60):
        optimizer.zero_grad()
        net.total_loss(net.bound(texts())).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    found = latent_use(net, [texts()])
    assert found.sentences == 3
    assert found.divergence == pytest.approx(net.eval().bound(texts()).divergence.item() / 3, rel=1e-4)
    assert found.loss == pytest.approx(net.bound(texts()).words.item() / 3, rel=1e-4)
    assert 0.0 <= found.active <= 1.0
    with torch.no_grad():
        for way in (net.words.guides.reading, net.words.guides.writing):  # type: ignore[union-attr]
            way.weight.zero_()
    blind = latent_use(net, [texts()])
    assert blind.shuffled_loss == pytest.approx(blind.loss, rel=1e-5)  # z does nothing
    assert found.shuffled_loss != pytest.approx(found.loss, rel=1e-5)


def test_bad_settings_are_refused() -> None:
    bad: list[dict[str, object]] = [
        {"latent": 0}, {"samples": 0}, {"estimator": "exact"}, {"dropout": 1.0}, {"annealing": 1.5},
        {"free_nats": -1.0}, {"bag_weight": float("nan")}, {"combine": "tri"},
    ]  # fmt: skip
    for changes in bad:
        with pytest.raises(ConfigError):
            VlvGm(VlvGmSettings(**changes))  # type: ignore[arg-type]
    with pytest.raises(ConfigError):
        Estimate("iwae", 0)


def test_carried_chains_are_the_chains_run_anew(tokenizer: BpeTokenizer) -> None:
    for kind in ("iwae", "elbo", "prior"):
        chain = predictor(tokenizer, Estimate(kind, 3), latent=4)
        carried = PrefixChains(chain, [TEXT[:2], TEXT])
        carried.begin([[1], [0, 2]])
        other, found = carried.log_probs()
        assert other[0, 0] == pytest.approx(chain.log_probs(TEXT, [[1, 0]])[0][-1], abs=1e-4)
        orders = [[0, 1], [0, 3], [2, 1], [2, 3]]
        anew = [values[-1] for values in chain.log_probs(TEXT, orders)]
        assert [found[0, 1], found[0, 3], found[1, 1], found[1, 3]] == pytest.approx(anew, abs=1e-4)
        carried.keep([[], [1, 0, 1]], [[], [3, 1, 1]])  # 2-3, 0-1, 2-1; the first text is finished
        _, found = carried.log_probs()
        anew = [values[-1] for values in chain.log_probs(TEXT, [[2, 3, 0], [0, 1, 3], [2, 1, 3]])]
        assert [found[0, 0], found[1, 3], found[2, 3]] == pytest.approx(anew, abs=1e-4)


def test_a_sentence_has_the_same_noise_wherever_it_stands(tokenizer: BpeTokenizer) -> None:
    chain = predictor(tokenizer, Estimate("iwae", 3), latent=4)
    noise = chain.noise(chain.decoder.read(TEXT))  # [sentences, samples, latent]
    moved = chain.noise(chain.decoder.read([TEXT[2], TEXT[0]]))
    assert torch.equal(moved, noise[[2, 0]])
    assert not torch.equal(noise[0], noise[1])
    fewer = predictor(tokenizer, Estimate("iwae", 1), latent=4)
    assert torch.equal(fewer.noise(fewer.decoder.read(TEXT)), noise[:, :1])


def test_ordering_with_memory_finds_what_slow_search_finds(tokenizer: BpeTokenizer) -> None:
    model = VlvGm(
        VlvGmSettings(combine="uni", dimensions=8, hidden=12, layers=1, latent=3, width=10, samples=2, search_samples=2)
    )
    torch.manual_seed(4)
    model.assemble({part: model.new_network(part, tokenizer) for part in model.parts}, tokenizer)
    document = Document("d", TEXT)
    found = order_document(model, document, first=1, beam=30)
    best = max(
        (value, order)
        for order in ((1, *rest) for rest in itertools.permutations((0, 2, 3)))
        if (value := order_values(model, document, [order])[0]) is not None
    )
    assert found.order == best[1]
    assert found.value == pytest.approx(best[0], abs=1e-4)
    assert sorted(order_document(model.combined("mmi"), document).order) == [0, 1, 2, 3]
    mmi, texts = model.combined("mmi"), [document, Document("e", TEXT[:1]), Document("f", TEXT[1:])]
    alone = [order_document(mmi, one, objective="coherence", beam=3).order for one in texts]
    assert found_orders(mmi, texts, objective="coherence", beam=3) == alone  # searched together
