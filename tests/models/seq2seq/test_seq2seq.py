from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.helpers.zoo_models import WEFT_SMALL  # noqa: E402
from torch import Tensor  # noqa: E402

from weft.document import Document, Window  # noqa: E402
from weft.errors import ConfigError, CorpusError, ModelError  # noqa: E402
from weft.hub import load_model  # noqa: E402
from weft.io.model_folder import Artifact  # noqa: E402
from weft.models.common.network_parts import saved_weights  # noqa: E402
from weft.models.common.neural.contrastive_loss import contrast_loss  # noqa: E402
from weft.models.common.neural.encoder_decoder import Architecture, Seq2SeqNetwork, Tokens  # noqa: E402
from weft.models.common.neural.layers import FeedingDecoder, chunked_cross_entropy, token_log_probs  # noqa: E402
from weft.models.common.neural.pretrained_vectors import vectors_of_tokens  # noqa: E402
from weft.models.common.neural.source_memory import Memory, Sources  # noqa: E402
from weft.models.seq2seq.seq2seq import Seq2Seq, Seq2SeqSettings  # noqa: E402
from weft.training.fit_documents import fit_documents  # noqa: E402
from weft.training.settings import TrainingSettings  # noqa: E402


def network(**changes: object) -> Seq2SeqNetwork:
    torch.manual_seed(0)
    sizes = {"vocabulary": 30, "dimensions": 8, "hidden": 12, "layers": 2, "dropout": 0.0, **changes}
    made = Seq2SeqNetwork(Architecture(**sizes), bos=1, eos=2, pad=0)  # type: ignore[arg-type]
    if made.lexical is not None:
        torch.nn.init.normal_(made.lexical.mix.weight)  # starts at zero, where nothing could be seen of it
    return made


def tokens(*rows: list[int], width: int = 0) -> Tokens:
    longest = max(width, max(map(len, rows)))
    ids = torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])
    return Tokens(ids, torch.tensor([len(row) for row in rows]))


@pytest.mark.parametrize(
    "changes", [{}, {"attention": False}, {"feed": True}, {"feed": True, "layers": 3}, {"lexical": True}]
)
def test_log_probabilities_do_not_depend_on_padding_or_neighbours(changes: dict[str, object]) -> None:
    net = network(**changes).eval()
    source, target = tokens([5, 6, 7], [8, 9, 10, 11, 12, 13], [4]), tokens([3, 4], [5, 6, 7, 8, 9], [6])
    together = net.log_prob(net.encode(source), target)
    alone = net.log_prob(net.encode(tokens([5, 6, 7])), tokens([3, 4]))
    padded = net.log_prob(net.encode(tokens([5, 6, 7], width=40)), tokens([3, 4], width=33))
    assert together[0].item() == pytest.approx(alone.item(), abs=1e-5)
    assert padded.item() == pytest.approx(alone.item(), abs=1e-5)


@pytest.mark.parametrize("changes", [{}, {"feed": True}, {"feed": True, "layers": 3}, {"feed": True, "lexical": True}])
def test_log_probability_is_the_sum_of_the_steps(changes: dict[str, object]) -> None:
    """Against one step at a time, with the state carried."""
    net = network(**changes).eval()
    memory = net.encode(tokens([5, 6, 7]))
    state, total, word = None, 0.0, 1
    for following in [3, 4, 9, 2]:
        outputs, state = net.decode(torch.tensor([[word]]), memory, state)
        logits = outputs[0, 0] @ net.embedding.weight.T
        total += logits.log_softmax(dim=0)[following].item()
        word = following
    assert net.log_prob(memory, tokens([3, 4, 9])).item() == pytest.approx(total, abs=1e-5)


def test_probabilities_of_all_continuations_sum_to_one() -> None:
    net = network(vocabulary=6).eval()
    memory = net.encode(tokens([5, 3]))
    outputs, _ = net.decode(torch.tensor([[1]]), memory)
    log_probs = token_log_probs(outputs[0].expand(6, -1), net.embedding.weight, torch.arange(6))
    assert log_probs.exp().sum().item() == pytest.approx(1.0, abs=1e-5)


def test_the_loss_is_the_negative_log_probability() -> None:
    net = network().eval()
    source, target = tokens([5, 6, 7], [8]), tokens([3, 4], [5, 6, 7])
    assert net.loss(source, target).item() == pytest.approx(
        -net.log_prob(net.encode(source), target).sum().item(), abs=1e-4
    )


def test_the_source_matters_and_a_language_model_has_none() -> None:
    net = network().eval()
    one, other = (net.log_prob(net.encode(tokens(row)), tokens([3, 4])).item() for row in ([5, 6], [7, 8]))
    assert one != pytest.approx(other, abs=1e-6)
    prior = network(encoder=False)
    assert not [name for name, _ in prior.named_parameters() if name.startswith(("encoder", "attention"))]
    assert prior.encode(tokens([5])) == Memory()


@pytest.mark.parametrize("changes", [{}, {"feed": True}, {"lexical": True}])
def test_every_parameter_gets_a_gradient(changes: dict[str, object]) -> None:
    net = network(**changes)
    net.loss(tokens([5, 6, 7], [8, 9]), tokens([3, 4], [5])).backward()  # type: ignore[no-untyped-call]
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_chunked_cross_entropy_equals_the_plain_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.models.common.neural.layers.CHUNK_ROWS", 7)
    generator = torch.Generator().manual_seed(1)
    hidden = torch.randn(20, 6, generator=generator, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(11, 6, generator=generator, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(0, 11, (20,), generator=generator)
    plain = torch.nn.functional.cross_entropy(hidden @ weight.T, targets, reduction="sum")
    expected = torch.autograd.grad(plain * 3, [hidden, weight])
    chunked = chunked_cross_entropy(hidden, weight, targets)
    found = torch.autograd.grad(chunked * 3, [hidden, weight])
    assert chunked.item() == pytest.approx(plain.item(), rel=1e-5)
    for one, two in zip(expected, found, strict=True):
        assert torch.allclose(one, two, atol=1e-4)


def test_contrast_is_bayes_rule_for_two_sources() -> None:
    net = network().train()
    source, other = tokens([3, 4, 5], [6]), tokens([7, 8], [9, 3])
    target = tokens([4, 5], [6, 7, 8])
    places = torch.tensor([0, 1, 2, 4, 5, 6, 7])
    weight = 3.0

    def reference() -> Tensor:
        """The same by whole logits and torch's own gradients."""
        values = []
        for one in (source, other):
            inputs, predicted, real = net._shifted(target)
            outputs, _ = net.decode(inputs, net.encode(one))
            picked = (outputs @ net.embedding.weight.T).log_softmax(-1).gather(2, predicted[:, :, None]).squeeze(2)
            values.append((picked * real).sum(dim=1))
        right, wrong = values
        chosen = right.exp() / (right.exp() + wrong.exp())
        return -right.sum() - weight * chosen.log().sum()

    expected = reference()
    wanted = torch.autograd.grad(expected, list(net.parameters()))
    loss = contrast_loss(net, (source, other), target, places, weight, len(places))
    parts = loss.parts or {}
    torch.testing.assert_close(loss.total, expected)
    torch.testing.assert_close(parts["likelihood"] + weight * parts["contrast"], expected)
    for found, gradient in zip(torch.autograd.grad(loss.total, list(net.parameters())), wanted, strict=True):
        torch.testing.assert_close(found, gradient, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("setting", ["feed", "lexical"])
def test_what_looks_at_the_source_needs_attention(setting: str) -> None:
    with pytest.raises(ConfigError, match="need attention"):
        Seq2Seq(Seq2SeqSettings(attention=False, **{setting: True}))  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [-1.0, 1e30, float("nan"), "much"])
def test_contrast_is_a_weight(value: object) -> None:
    with pytest.raises(ConfigError, match="contrast"):
        Seq2Seq(Seq2SeqSettings(contrast=value))  # type: ignore[arg-type]


def test_contrast_hides_words_as_likelihood_does() -> None:
    net = network(word_dropout=0.9).train()
    source, target = tokens([3, 4, 5]), tokens([4, 5, 6, 7])
    places = torch.arange(5)
    plain = network(word_dropout=0.0).train()
    plain.load_state_dict(net.state_dict())
    torch.manual_seed(0)
    hidden, shown = (contrast_loss(one, (source, source), target, places, 0.0, 5).total for one in (net, plain))
    assert not torch.isclose(hidden, shown)


def test_contrast_teaches_which_sentence_was_the_source() -> None:
    """The targets are equally likely after either source at first; only the contrast can tell them apart."""
    torch.manual_seed(0)
    net = network(dropout=0.0).train()
    source, other, target = tokens([3, 4], [5, 6]), tokens([5, 6], [3, 4]), tokens([7, 8], [8, 7])
    places = torch.tensor([0, 1, 2, 3, 4, 5])
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        loss = contrast_loss(net, (source, other), target, places, 1.0, 6)
        loss.total.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert float((loss.parts or {})["contrast"]) < 0.1  # 2 log 2 = 1.39 at chance


def test_a_scorer_of_predictors_is_a_table(tmp_path: object) -> None:
    from weft.corpora.text.tokenizers import BpeTokenizer
    from weft.models.seq2seq.seq2seq import Seq2Seq, Seq2SeqSettings

    tokenizer = BpeTokenizer.train(["a cat sat on a mat", "a dog ran"], vocabulary_size=270)
    model = Seq2Seq(Seq2SeqSettings(dimensions=8, hidden=8, layers=1))
    torch.manual_seed(3)
    model.assemble({part: model.new_network(part, tokenizer) for part in model.parts}, tokenizer)
    text = Document("d", ("a cat sat.", "a dog ran away.", "on a mat", "cats"))
    table = model.pair_table(text)
    forward = model.predictors["forward"].log_prob([Window((text.sentences[2],), text.sentences[0])])[0]
    assert model.combined("uni").pair_table(text)[2, 0] == pytest.approx(
        forward / (len(tokenizer.encode_batch(["a cat sat."])[0]) + 1)
    )
    for combine in ("uni", "bi", "mmi"):
        way = model.combined(combine)
        score = way.score([text])[0]
        looked_up = way.pair_table(text)[np.arange(3), np.arange(1, 4)]
        assert score.transitions == pytest.approx(looked_up.tolist(), abs=1e-5)
    assert np.diagonal(table).tolist() == [0.0] * 4


def test_a_fed_decoder_without_a_source_runs_on_nothing() -> None:
    net = network(feed=True).eval()
    assert net.log_prob(Memory(), tokens([3, 4])).isfinite().all()
    assert not any(name.startswith("decoder.upper") for name, _ in network(feed=True, layers=1).named_parameters())


@pytest.mark.parametrize("changes", [{}, {"feed": True}, {"lexical": True}])
def test_sentences_encoded_apart_are_found_again(changes: dict[str, object]) -> None:
    net = network(**changes).eval()
    rows = [[5, 6, 7], [8], [9, 10, 11, 12], [4, 3]]
    parts = [net.encode(tokens(rows[1], rows[3])), net.encode(tokens(rows[0], rows[2]))]
    sources = Sources.of(parts, torch.tensor([1, 3, 0, 2]))
    target = tokens([3, 4], [5], [6, 7], [8, 9], [5])
    chosen = [2, 0, 3, 1, 2]
    whole = net.encode(tokens(*(rows[row] for row in chosen)))
    found = net.log_prob(sources.select(torch.tensor(chosen)), target)
    assert torch.allclose(net.log_prob(whole, target), found, atol=1e-5)


@pytest.mark.parametrize("changes", [{}, {"feed": True}, {"lexical": True}])
def test_attention_is_a_weighted_mean_word_by_word(changes: dict[str, object]) -> None:
    """The output layer against slow obvious code: one state, one source position at a time."""
    net = network(**changes).eval()
    source = [5, 6, 7]
    memory = net.encode(tokens(source))
    states = _decoder_states(net, torch.tensor([[1, 4]]), memory)  # [1, 2, hidden]
    outputs, _ = net.decode(torch.tensor([[1, 4]]), memory)
    assert net.encoder is not None
    read, words, _ = net.encoder(net.embedding(torch.tensor([source])), torch.tensor([3]))
    for step in range(2):
        state = states[0, step]
        expected = net.output(state)
        assert net.attention is not None
        weights = torch.stack([state @ net.attention.key(read[0, place]) for place in range(3)]).softmax(0)
        expected = expected + sum(weights[place] * net.attention.value(read[0, place]) for place in range(3))
        if net.lexical is not None:
            weights = torch.stack([state @ net.lexical.key(read[0, place]) for place in range(3)]).softmax(0)
            around = [torch.zeros_like(words[0, 0]), *words[0], torch.zeros_like(words[0, 0])]
            mixed = [net.lexical.mix(torch.cat(around[place : place + 3])) for place in range(3)]
            expected = expected + sum(weights[place] * mixed[place] for place in range(3))
        assert torch.allclose(outputs[0, step], expected, atol=1e-5)


def _decoder_states(net: Seq2SeqNetwork, inputs: Tensor, memory: Memory) -> Tensor:
    embedded = net.embedding(inputs)
    if isinstance(net.decoder, FeedingDecoder):
        states, _ = net.decoder(embedded, memory.start, memory.keys_values["feed"], memory.lengths)
    else:
        states, _ = net.decoder(embedded, memory.start)
    assert isinstance(states, Tensor)
    return states


def test_given_vectors_stay_as_they_are(tmp_path: Path) -> None:
    documents = [
        Document(str(n), tuple(f"the {w} cat sat on the mat" for w in ("old", "red", "new"))) for n in range(12)
    ]
    model = Seq2Seq(Seq2SeqSettings(dimensions=100, hidden=8, layers=1, vectors="glove", precision="float32"))
    fit_documents(model, documents, settings=TrainingSettings(steps=5, warmup=1, batch_tokens=200), vocabulary=300)
    net = model.predictors["forward"].network
    assert net.given is not None
    expected = vectors_of_tokens("glove", model.predictors["forward"].tokenizer, 100)
    assert torch.equal(net.given, expected)
    assert expected.square().mean().item() < 1.2
    model.save(tmp_path / "m")
    again = Seq2Seq.load(tmp_path / "m")  # needs no table of vectors: the folder brings them
    assert again.score(documents[:2]) == model.score(documents[:2])
    with pytest.raises(ConfigError, match="different sizes"):
        fit_documents(Seq2Seq(Seq2SeqSettings(dimensions=16, hidden=8, vectors="glove")), documents, vocabulary=300)
    with pytest.raises(CorpusError):
        fit_documents(
            Seq2Seq(Seq2SeqSettings(dimensions=100, hidden=8, vectors="nowhere.txt")), documents, vocabulary=300
        )


def test_lexical_attention_starts_as_nothing_and_learns_to_copy() -> None:
    """Targets repeat a random word of their source: what a decoder without it learns slowly."""
    torch.manual_seed(1)
    plain = network(lexical=False, layers=1, hidden=16)
    made = Seq2SeqNetwork(Architecture(30, 8, 16, 1, dropout=0.0, lexical=True), bos=1, eos=2, pad=0)
    made.load_state_dict(plain.state_dict(), strict=False)
    source, target = tokens([5, 6, 7], [8]), tokens([3, 4], [5, 6, 7])
    assert torch.allclose(plain.loss(source, target), made.loss(source, target), atol=1e-4)
    losses = {"plain": 0.0, "lexical": 0.0}
    for name, net in (("plain", plain), ("lexical", made)):
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        generator = torch.Generator().manual_seed(0)
        for _ in range(80):
            words = torch.randint(3, 30, (32, 4), generator=generator)
            lengths = torch.full((32,), 4)
            loss = net.loss(Tokens(words, lengths), Tokens(words[:, 1:3], torch.full((32,), 2))) / 96
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses[name] += loss.item() / 80
    assert losses["lexical"] < 0.9 * losses["plain"], losses


def test_a_saved_model_takes_settings_that_leave_its_weights_alone(tmp_path: Path) -> None:
    documents = [Document(str(n), ("a cat sat", "the cat slept", "a dog ran")) for n in range(8)]
    model = Seq2Seq(Seq2SeqSettings(dimensions=8, hidden=8, layers=1))
    settings = TrainingSettings(steps=3, warmup=1, batch_tokens=200, validate_every=0)
    fit_documents(model, documents, settings=settings, vocabulary=280).save(tmp_path / "m")
    changed = load_model(tmp_path / "m", {"combine": "bi", "precedence_weight": 1})
    expected = model.combined("bi").score(documents[:1])[0].value
    assert changed.score(documents[:1])[0].value == pytest.approx(expected, abs=1e-6)
    with pytest.raises(ConfigError, match="no precedence part"):
        load_model(tmp_path / "m", {"precedence_weight": 2.0})
    with pytest.raises(ConfigError, match="fixed"):
        load_model(tmp_path / "m", {"hidden": 9})
    with pytest.raises(ConfigError):
        load_model(tmp_path / "m", {"combine": "tri"})
    with pytest.raises(ConfigError):
        load_model(tmp_path / "m", {"precedence_weight": "much"})


def test_weights_from_before_attention_had_keys_and_values() -> None:
    """The old network, written out: (Q h) · s weighs the source, and one layer merges what was found with the state."""
    random = np.random.default_rng(0)
    query, merge, output = random.random((4, 4)), random.random((4, 8)), random.random((3, 4))
    old = {"attention.query.weight": query, "attention.merge.weight": merge, "output.weight": output}
    packed = {f"forward/{name}": value.astype(np.float32) for name, value in old.items()}
    new = saved_weights(Artifact("seq2seq", {}, packed, {}, {}), "forward")
    state, source = random.random(4), random.random((5, 4))
    weights = np.exp(source @ (query @ state))
    found = weights @ source / weights.sum()
    expected = output @ merge @ np.concatenate([found, state])
    weights = np.exp((source @ new["attention.key.weight"].T) @ state)
    found = weights @ (source @ new["attention.value.weight"].T) / weights.sum()
    assert np.allclose(found + new["output.weight"] @ state, expected, atol=1e-5)
    assert set(new) == {"attention.key.weight", "attention.value.weight", "output.weight"}


def test_weights_that_are_no_numbers_give_no_score() -> None:
    documents = [Document(str(n), ("a cat sat", "the cat slept", "a dog ran")) for n in range(8)]
    model = Seq2Seq(Seq2SeqSettings(dimensions=8, hidden=8, layers=1))
    fit_documents(model, documents, settings=TrainingSettings(steps=2, warmup=1, batch_tokens=200), vocabulary=280)
    with torch.no_grad():
        model.predictors["forward"].network.output.weight.fill_(float("nan"))
    with pytest.raises(ModelError, match="not all finite"):
        model.score(documents[:1])


def test_the_weight_of_precedence_counts_with_torch_too() -> None:
    model = Seq2Seq.load(WEFT_SMALL)
    text = Document("t", ("Mary ate some apples.", "She likes apples.", "The senate adjourned in 1952."))
    once, more = model.precedence_table(text), model.adjusted({"precedence_weight": -2.5}).precedence_table(text)
    assert once is not None
    assert more is not None
    assert np.abs(once).max() > 0.1
    assert more == pytest.approx(-2.5 * once, abs=1e-6)


def test_a_fed_decoder_from_before_attention_had_keys_is_read() -> None:
    """Its first layer asked the source with a query of its state, (Q h) · s; now the source has keys, h · (Qᵀ s)."""
    torch.manual_seed(0)
    network = Seq2SeqNetwork(Architecture(9, 4, 6, layers=2, dropout=0.0, feed=True), bos=1, eos=2, pad=0)
    new = {name: value.numpy() for name, value in network.state_dict().items()}
    old = {name: value for name, value in new.items() if name != "decoder.key.weight"}
    old["decoder.query.weight"] = new["decoder.key.weight"].T.copy()
    tensors = {f"forward/{name}": value for name, value in old.items()}
    read = saved_weights(Artifact("seq2seq", {}, tensors), "forward")
    assert set(read) == set(new)
    for name, value in new.items():
        assert np.array_equal(read[name], value), name
