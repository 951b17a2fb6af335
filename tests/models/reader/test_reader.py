"""The reader: nothing depends on batches or on the order of the input, look-ups are scores, and it can learn."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest
import torch

from weft.corpora.store.window_batches import WindowBatch, marked_rows
from weft.corpora.text.tokenizers import BpeTokenizer
from weft.corpora.text.word_pieces import WordPieceTokenizer
from weft.document import Document
from weft.errors import ConfigError, ModelError
from weft.loaded_model import Model
from weft.models.common.token_cache import TokenCache
from weft.models.reader.bert_weights import encoder_folder, load_encoder
from weft.models.reader.cpu_attention import attention_by_text, plain_attention
from weft.models.reader.heads import PairHeads
from weft.models.reader.network import Labels, batch_texts, break_loss, masked_words, near_loss
from weft.models.reader.order_search import best_order, order_value
from weft.models.reader.reader import Reader
from weft.models.reader.reader_settings import PART, ReaderSettings
from weft.models.reader.text_encoder import Texts, pack
from weft.models.reader.text_readings import MOST_PAIRED
from weft.models.reader.text_tables import TextTables
from weft.models.reader.torch_tables import TorchTableReader
from weft.models.reader.window_scores import WindowPlan, window_scores
from weft.protocols import Arranger, NeuralModel, OrderScorer, ShuffleJudge
from weft.report.terminal import explain_lines
from weft.training.fit_documents import fit_documents
from weft.training.settings import TrainingSettings

SENTENCES = (
    "The cat chased a mouse through the garden.",
    "The mouse hid under an old tree.",
    "Later, it came out again.",
    "In 1929 the stock market fell sharply.",
    "Banks closed.",
    "By 1933 the market had begun to recover, and investors, who had lost their money, came back.",
)
TEXT = Document("d", SENTENCES)
SMALL = ReaderSettings(hidden=32, layers=2, local_layers=1, heads=4, feed_forward=64, pair=16, fewest=2, slots=16)


def untrained_reader(settings: ReaderSettings = SMALL) -> Reader:
    torch.manual_seed(1)
    model = Reader(settings)
    tokenizer = BpeTokenizer.train(SENTENCES, vocabulary_size=400)
    return model.assemble({PART: model.new_network(PART, tokenizer)}, tokenizer)


def test_it_keeps_the_contracts_of_training_scoring_and_ordering() -> None:
    model = untrained_reader()
    assert isinstance(model, NeuralModel)
    assert isinstance(model, OrderScorer)
    assert isinstance(model, Arranger)
    assert isinstance(model, ShuffleJudge)


@pytest.mark.parametrize("local_layers", [0, 1, 2])
def test_another_order_of_the_input_only_reorders_the_tables(local_layers: int) -> None:
    model = untrained_reader(replace(SMALL, local_layers=local_layers))
    order = [3, 0, 5, 1, 4, 2]
    whole, other = model.tables(TEXT), model.tables(TEXT.reorder(order))
    assert other.follows == pytest.approx(whole.follows[np.ix_(order, order)], abs=1e-5)
    assert other.precedence == pytest.approx(whole.precedence[np.ix_(order, order)], abs=1e-5)
    assert whole.precedence == pytest.approx(-whole.precedence.T, abs=1e-6)


def test_batches_do_not_change_tables() -> None:
    model = untrained_reader()
    texts = [TEXT.sentences, TEXT.sentences[:2], TEXT.sentences[2:5], ("One.", "Two two two two two two two two.")]
    together = model.reader.tables(texts)
    for text, tables in zip(texts, together, strict=True):
        alone = model.reader.tables([text])[0]
        assert tables.follows == pytest.approx(alone.follows, abs=1e-5)
        assert tables.precedence == pytest.approx(alone.precedence, abs=1e-5)
        assert tables.breaks == pytest.approx(alone.breaks, abs=1e-5)


def test_rows_are_probabilities() -> None:
    follows = untrained_reader().tables(TEXT).follows - np.log(5)
    np.fill_diagonal(follows, -np.inf)
    assert np.exp(follows).sum(axis=1) == pytest.approx(1.0, abs=1e-5)


def test_both_directions_are_the_mean_of_choosing_the_next_and_the_previous_sentence() -> None:
    torch.manual_seed(1)
    vectors, real = torch.randn(2, 4, 64), torch.tensor([[True] * 4, [True] * 3 + [False]])
    one, both = PairHeads(64, 32), PairHeads(64, 32, both=True)
    torch.nn.init.normal_(one.after.weight, std=0.1)
    both.load_state_dict(one.state_dict())
    found = both(vectors, real)[1].detach()
    for text, size in ((0, 4), (1, 3)):
        normed = one.norm(vectors[text, :size]).detach()
        logits = (one.before(normed) @ one.after(normed).T * 32**-0.5).detach()
        for i, j in permutations(range(size), 2):
            to_next = logits[i, j] - torch.stack([logits[i, k] for k in range(size) if k != i]).logsumexp(0)
            to_previous = logits[i, j] - torch.stack([logits[k, j] for k in range(size) if k != j]).logsumexp(0)
            assert float(found[text, i, j]) == pytest.approx(float(to_next + to_previous) / 2, abs=1e-4)


def test_before_training_similar_sentences_follow_each_other() -> None:
    torch.manual_seed(1)
    heads = PairHeads(64, 32)
    vectors = torch.randn(1, 4, 64)
    vectors[0, 2] = vectors[0, 0] + 0.1 * torch.randn(64)
    follows = heads(vectors, torch.ones(1, 4, dtype=torch.bool))[1][0]
    assert int(follows[0].argmax()) == 2
    assert int(follows[2].argmax()) == 0


def test_scores_of_orders_are_look_ups() -> None:
    model = untrained_reader()
    orders = [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [2, 0, 1, 4, 3, 5]]
    expected = [score.value for score in model.score([TEXT.reorder(order) for order in orders])]
    assert model.order_scores(TEXT, orders) == pytest.approx(expected, abs=1e-5)


def test_the_weight_of_neighbours_counts_in_scores_transitions_and_orders() -> None:
    plain = untrained_reader()
    model = plain.adjusted({"neighbour_weight": 0.5})
    odds, order = plain.tables(TEXT).precedence, [2, 0, 1, 4, 3, 5]
    gain = 0.5 * np.array([odds[i, j] for i, j in pairwise(order)])
    (before,), (after,) = plain.score([TEXT.reorder(order)]), model.score([TEXT.reorder(order)])
    assert after.transitions == pytest.approx(np.array(before.transitions) + gain, abs=1e-5)
    assert model.order_scores(TEXT, [order])[0] == pytest.approx(before.value + gain.mean(), abs=1e-5)
    found = [one.arrange(TEXT) for one in (plain, plain.adjusted({"neighbour_weight": 1e6}))]
    without, strong = (sum(odds[i, j] for i, j in pairwise(order)) for order in found)
    assert strong > without


def test_breaks_depend_on_the_given_order() -> None:
    model = untrained_reader()
    own, swapped = model.break_probabilities(TEXT), model.break_probabilities(TEXT.reorder([0, 1, 2, 4, 3, 5]))
    assert len(own) == len(TEXT) - 1
    assert all(0 < one < 1 for one in own)
    assert own != pytest.approx(swapped, abs=1e-5)


def test_the_search_finds_the_best_of_all_orders_of_short_texts() -> None:
    generator = np.random.default_rng(1)
    best = 0
    for _ in range(20):
        follows, drawn = generator.normal(size=(2, 6, 6))
        precedence = (drawn - drawn.T) / 6

        def gain(order: tuple[int, ...], follows: np.ndarray = follows, before: np.ndarray = precedence) -> float:
            steps = sum(follows[i, j] for i, j in pairwise(order))
            return float(steps + np.triu(before[np.ix_(order, order)], 1).sum())

        found = best_order(follows, precedence)
        assert best_order(follows, precedence, first=3)[0] == 3
        best += gain(found) > max(map(gain, permutations(range(6)))) - 1e-9
    assert best >= 10  # a local search: usually, not always


def test_a_text_with_more_sentences_than_slots_is_read_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    model = untrained_reader()
    size = model.settings.slots + 30
    text = Document("long", tuple(f"The {number} cat sat on mat {number % 7}." for number in range(size)))
    shuffled = list(range(size))[::-1]
    sizes: list[int] = []
    read = model.reader.tables

    def counted(texts: Sequence[tuple[str, ...]]) -> list[TextTables]:
        sizes.extend(map(len, texts))
        return read(texts)

    monkeypatch.setattr(model.reader, "tables", counted)
    own, other = model.tables(text), model.tables(text.reorder(shuffled))
    assert max(sizes) <= model.settings.most and len(sizes) < 10 * size / min(model.settings.most, model.settings.slots)
    assert np.allclose(own.follows[np.ix_(shuffled, shuffled)], other.follows)
    assert np.allclose(own.precedence[np.ix_(shuffled, shuffled)], other.precedence)
    (score,) = model.score([text])
    assert score.value == pytest.approx(model.order_scores(text, [range(size)])[0])
    assert len(score.transitions) == len(model.break_probabilities(text)) == size - 1
    assert sorted(model.arrange(text, first=3)) == list(range(size)) and model.arrange(text, first=3)[0] == 3


def test_order_tables_give_the_score_of_an_order() -> None:
    model = untrained_reader()
    follows, precedence = model.order_tables(TEXT)
    order = [2, 0, 1, 4, 3, 5]
    assert order_value(follows, precedence, order) / 5 == pytest.approx(model.order_scores(TEXT, [order])[0])


def test_a_gap_after_a_removed_sentence_does_not_count() -> None:
    labels = Labels(torch.tensor([[0, 0, 0, 0]]), torch.tensor([[0, 1, 2, 3]]), torch.ones(1, 4, dtype=torch.bool))
    own, moved = torch.tensor([[0, 1, 2, 3]]), torch.tensor([[1, 2, 0, 3]])
    sound = torch.tensor([[-20.0, -20.0, -20.0]])
    assert float(break_loss(sound, labels, own)) == pytest.approx(0.0, abs=1e-6)
    assert float(break_loss(torch.tensor([[-20.0, 20.0, 20.0]]), labels, moved)) == pytest.approx(0.0, abs=1e-6)
    skipped = torch.tensor([[0, 2, 3, 1]])  # 1 was taken out between 0 and 2
    assert float(break_loss(torch.tensor([[5.0, -20.0, 20.0]]), labels, skipped)) == pytest.approx(0.0, abs=1e-6)


def test_the_loss_of_neighbours_leaves_other_pairs_out() -> None:
    labels = Labels(torch.tensor([[0, 0, 1, 0]]), torch.tensor([[0, 1, 0, 2]]), torch.ones(1, 4, dtype=torch.bool))
    odds = torch.full((1, 4, 4), -9.0)
    odds[0, 0, 1] = odds[0, 1, 3] = 9.0  # the neighbours of text 0
    assert float(near_loss(odds, labels)) == pytest.approx(0.0, abs=1e-3)


def test_it_learns_the_order_of_a_tiny_corpus() -> None:
    """Numbered sentences: the order is in the words, and a reader that learns must find it."""
    names = ("first", "second", "third", "fourth", "fifth", "sixth")
    things = ("cat", "dog", "house", "river", "tree", "road", "song", "storm")
    corpus = [Document(f"c{n}", tuple(f"The {name} {thing}." for name in names)) for n, thing in enumerate(things)]
    settings = TrainingSettings(steps=150, warmup=10, learning_rate=2e-3, batch_tokens=600, validate_every=0)
    chosen = replace(SMALL, fewest=4, dropout=0.0, masked=0.1)
    model = fit_documents(Reader(chosen), corpus, settings=settings, vocabulary=400)
    text = Document("new", tuple(f"The {name} river." for name in names))
    assert model.arrange(text.reorder([4, 1, 5, 0, 2, 3])) == (3, 1, 4, 5, 0, 2)
    assert model.shuffles_beaten(text) == 1.0
    sound = model.break_probabilities(text)
    intruded = model.break_probabilities(Document("i", (*text.sentences[:3], "The first storm.", *text.sentences[3:])))
    assert max(sound) < 0.5 < min(intruded[2:4])


def test_masked_words_are_where_the_encoder_puts_them() -> None:
    """Reference test: words are found by the layout that the encoder makes of sentences, which sorts on the device."""
    model = untrained_reader()
    tokenizer = model.tokenizer
    assert tokenizer is not None
    rows = TokenCache(tokenizer)(SENTENCES)
    ids, lengths = marked_rows(rows, (tokenizer.bos_id, tokenizer.eos_id), tokenizer.pad_id, 46)
    places = np.array([[0, 1, -1, -1], [2, 3, 4, 5]])
    nothing = np.zeros((2, 4), dtype=np.int64)
    numbers = np.zeros(6, dtype=np.float32)
    inside, generator = np.arange(ids.shape[1]), np.random.default_rng(2)
    hidden = (inside > 0) & (inside < lengths[:, None] - 1) & (generator.random(ids.shape) < 0.5)
    longest = int(max(lengths[:2].sum(), lengths[2:].sum()))
    batch = WindowBatch(
        ids, lengths, places, nothing, nothing, nothing[None], nothing, numbers, numbers[:2], hidden, longest
    )
    masked = masked_words(batch, torch.device("cpu"))
    texts, _ = batch_texts(batch, torch.device("cpu"))
    packed = pack(texts)
    source = packed.source.flatten()  # the token of each word of the joined texts
    assert torch.equal(source[masked.places], masked.tokens)
    assert torch.equal(masked.hidden.flatten().nonzero()[:, 0], masked.tokens)
    assert packed.real.flatten()[masked.places].all()
    assert torch.equal(masked.places // packed.source.shape[1], masked.texts)
    assert len(masked.tokens) > 10


def test_sentences_are_joined_and_parted_again_with_the_gradients_of_plain_look_ups() -> None:
    """Reference test: gradients are collected by the opposite order, those of plain look-ups by adding them up."""
    lengths = torch.tensor([3, 5, 2, 4, 1])
    places = torch.tensor([[3, 0, -1], [1, 2, 4]])
    texts = Texts(torch.zeros(5, 5, dtype=torch.long), lengths, places, places.clamp(min=0), 8)
    packed = pack(texts)
    torch.manual_seed(1)
    states, weights = torch.randn(5, 5, 6, dtype=torch.float64), torch.randn(2, 8, 6, dtype=torch.float64)
    kept = packed.used[:, :, None]
    found, expected = states.clone().requires_grad_(), states.clone().requires_grad_()
    parted = packed.part(packed.join(found).sin())
    plain = expected.flatten(0, 1)[packed.source.flatten()].sin()[packed.back.flatten()].view(5, 5, 6)
    assert torch.equal(torch.where(kept, parted, 0.0), torch.where(kept, plain, 0.0))
    assert torch.equal(torch.where(kept, parted, 0.0), torch.where(kept, states.sin(), 0.0))
    for rows in (parted, plain):
        again = packed.join(torch.where(kept, rows * rows, 0.0))
        torch.where(packed.real[:, :, None], again * weights, 0.0).sum().backward()  # type: ignore[no-untyped-call]
    assert found.grad is not None
    assert expected.grad is not None
    assert torch.allclose(found.grad, expected.grad)
    assert not found.grad[~packed.used].any()


@pytest.mark.parametrize("reduced", [False, True])
def test_every_weight_gets_a_finite_gradient(reduced: bool, tmp_path: Path) -> None:
    """Also in bfloat16, in which a GPU trains."""
    from weft.corpora.store.prepare import prepare

    (tmp_path / "t.txt").write_text("\n\n".join(" ".join(SENTENCES) for _ in range(3)))
    store = prepare([tmp_path / "t.txt"], tmp_path / "s", vocabulary_size=400, workers=1)
    model = Reader(replace(SMALL, masked=0.3, near_weight=0.5, directions="both", changes=2))
    torch.manual_seed(1)
    network = model.new_network(PART, store.tokenizer())
    stream = model.training_batches(PART, store, 0, TrainingSettings(steps=1))
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=reduced):
        loss = model.batch_loss(network, stream.batch(stream.epoch(0)[0]), torch.device("cpu"))
    loss.total.backward()  # type: ignore[no-untyped-call]
    for name, weight in network.named_parameters():
        assert weight.grad is not None and torch.isfinite(weight.grad).all(), name


@pytest.mark.parametrize("precision", ["int8", "float16", "float32"])
def test_saving_does_not_change_scores(precision: str, tmp_path: Path) -> None:
    model = untrained_reader(replace(SMALL, precision=precision))
    model.save(tmp_path / "m")
    assert Reader.load(tmp_path / "m").score([TEXT]) == model.score([TEXT])


# Starting from a trained encoder --------------------------------------------------------------------------------------


def tiny_bert(folder: Path) -> Path:
    """A folder like that of a BERT-like encoder, with random weights."""
    from safetensors.torch import save_file

    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz.,0123456789"]
    vocabulary = {piece: number for number, piece in enumerate([*pieces, *(f"##{one}" for one in pieces[5:])])}
    model = {"type": "WordPiece", "vocab": vocabulary, "unk_token": "[UNK]", "continuing_subword_prefix": "##"}
    body = {
        "model": {**model, "max_input_chars_per_word": 100},
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "truncation": {"max_length": 8, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
    }
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    shapes = {"embeddings.word_embeddings.weight": (len(vocabulary), 32), "embeddings.LayerNorm.weight": (32,)}
    shapes |= {"embeddings.position_embeddings.weight": (64, 32), "embeddings.token_type_embeddings.weight": (2, 32)}
    shapes |= {"embeddings.LayerNorm.bias": (32,)}
    for layer in range(2):
        for name, rows, columns in (
            ("attention.self.query", 32, 32), ("attention.self.key", 32, 32), ("attention.self.value", 32, 32),
            ("attention.output.dense", 32, 32), ("intermediate.dense", 64, 32), ("output.dense", 32, 64),
        ):  # fmt: skip
            shapes |= {f"encoder.layer.{layer}.{name}.weight": (rows, columns)}
            shapes |= {f"encoder.layer.{layer}.{name}.bias": (rows,)}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"encoder.layer.{layer}.{name}.{key}": (32,) for key in ("weight", "bias")}
    torch.manual_seed(1)
    folder.mkdir()
    save_file({name: torch.randn(shape) for name, shape in shapes.items()}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(sizes))
    (folder / "tokenizer.json").write_text(json.dumps(body))
    return folder


def test_it_starts_from_a_trained_encoder(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "bert")
    tokenizer = WordPieceTokenizer((folder / "tokenizer.json").read_text())
    model = Reader(replace(SMALL, encoder=str(folder)))
    model.prepare()
    first, second = (model.new_network(PART, tokenizer).encoder for _ in range(2))
    for name, weight in first.state_dict().items():
        assert name == "slots.weight" or torch.equal(weight, second.state_dict()[name]), name
    model.assemble({PART: model.new_network(PART, tokenizer)}, tokenizer)
    model.save(tmp_path / "m")
    assert Reader.load(tmp_path / "m").score([TEXT]) == model.score([TEXT])


def test_an_encoder_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "bert")
    with pytest.raises(ConfigError, match=r"reader.layers does not fit.*saw 1; allowed: 2"):
        Reader(replace(SMALL, encoder=str(folder), layers=1)).prepare()
    with pytest.raises(ModelError, match="no BERT-like encoder found"):
        encoder_folder(str(tmp_path))
    other = BpeTokenizer.train(SENTENCES, vocabulary_size=400)
    with pytest.raises(ConfigError, match="different tokenizers"):
        load_encoder(Reader(SMALL).empty_network(PART, other).encoder, folder, other)


def test_a_deeper_reader_repeats_the_last_layers_of_the_encoder(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "bert")
    tokenizer = WordPieceTokenizer((folder / "tokenizer.json").read_text())
    model = Reader(replace(SMALL, encoder=str(folder), layers=3))
    model.prepare()
    layers = [layer.state_dict() for layer in model.new_network(PART, tokenizer).encoder.layers]
    assert all(torch.equal(layers[1][name], layers[2][name]) for name in layers[1])
    assert not torch.equal(layers[0]["wide.weight"], layers[1]["wide.weight"])
    with pytest.raises(ConfigError, match="up to 4 with its last layers repeated"):
        Reader(replace(SMALL, encoder=str(folder), layers=5)).prepare()


def test_its_layers_are_those_of_bert(tmp_path: Path) -> None:
    """Reference test: a text of one sentence, local layers only, equals the encoder of the transformers library."""
    transformers = pytest.importorskip("transformers", reason="the extra `hf` is not installed")
    folder = tiny_bert(tmp_path / "bert")
    tokenizer = WordPieceTokenizer((folder / "tokenizer.json").read_text())
    model = Reader(replace(SMALL, encoder=str(folder), local_layers=2))
    network = model.new_network(PART, tokenizer).eval()
    with torch.no_grad():
        network.encoder.slots.weight.zero_()
    model._take({PART: network}, tokenizer)
    assert isinstance(model.reader, TorchTableReader)
    given = model.reader._input([("a cat sat.",)])
    states = network.read(given).states[0]
    config = transformers.BertConfig(
        vocab_size=tokenizer.vocabulary_size, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=64,
    )  # fmt: skip
    from safetensors.torch import load_file

    bert = transformers.BertModel(config, add_pooling_layer=False).eval()
    bert.load_state_dict(load_file(folder / "model.safetensors"), strict=False)
    assert torch.allclose(bert(given.ids).last_hidden_state[0], states, atol=1e-4)


def test_plain_attention_is_that_of_pytorch() -> None:
    """Reference test: result and gradients equal those of PyTorch's fused attention, with hidden tokens."""
    generator = torch.Generator().manual_seed(1)
    parts = torch.randn(3, 2, 4, 9, 8, generator=generator)  # query, key and value: [rows, heads, time, hidden / heads]
    mask = torch.arange(9) < torch.tensor([9, 4])[:, None]
    found = []
    for attend in (plain_attention, torch.nn.functional.scaled_dot_product_attention):
        given = parts.clone().requires_grad_()
        found.append(with_gradient(attend(*given, attn_mask=mask[:, None, None], dropout_p=0.0), given))
    assert torch.allclose(found[0][0], found[1][0], atol=1e-5)
    assert torch.allclose(found[0][1], found[1][1], atol=1e-4)


def with_gradient(mixed: torch.Tensor, given: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A result and the gradient of the sum of its squares."""
    (gradient,) = torch.autograd.grad(mixed.square().sum(), given)
    return mixed, gradient


def test_attention_by_text_is_that_of_pytorch() -> None:
    """Reference test: result and gradients equal those of PyTorch's fused attention over padded texts."""
    parts = torch.randn(2, 9, 3 * 32, generator=torch.Generator().manual_seed(1))  # [texts, longest, 3 · hidden]
    lengths = torch.tensor([9, 4])
    real = torch.arange(9) < lengths[:, None]

    def fused(given: torch.Tensor) -> torch.Tensor:
        divided = given.view(2, 9, 3, 4, 8).permute(2, 0, 3, 1, 4)
        query, key, value = divided
        mixed = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=real[:, None, None])
        return mixed.transpose(1, 2).reshape(2, 9, 32)

    found = []
    for attend in (lambda given: attention_by_text(given, lengths, 4), fused):
        given = parts.clone().requires_grad_()
        found.append(with_gradient(attend(given) * real[:, :, None], given))
    assert torch.allclose(found[0][0], found[1][0], atol=1e-5)
    assert torch.allclose(found[0][1], found[1][1], atol=1e-4)


def test_frozen_layers_keep_their_weights_in_training() -> None:
    weights = []
    for steps in (1, 3):
        settings = TrainingSettings(steps=steps, batch_tokens=200, learning_rate=0.01)
        model = fit_documents(Reader(replace(SMALL, frozen_layers=1)), [TEXT] * 4, settings=settings, vocabulary=400)
        weights.append(model.networks()[PART].state_dict())
    kept = {name for name, value in weights[0].items() if torch.equal(value, weights[1][name])}
    frozen = ("encoder.words.", "encoder.positions.", "encoder.norm.", "encoder.layers.0.")
    assert {name for name in weights[0] if name.startswith(frozen)} <= kept
    assert not any(name.startswith("encoder.layers.1.") and name.endswith("weight") for name in kept)


# What a score says ----------------------------------------------------------------------------------------------------


def test_shuffles_beaten_counts_lower_orders_and_no_ties() -> None:
    model = untrained_reader()
    share = model.shuffles_beaten(TEXT, shuffles=20_000)
    scores = [value for value in model.order_scores(TEXT, list(permutations(range(6)))) if value is not None]
    assert share == pytest.approx(sum(value < scores[0] - 1e-9 for value in scores) / (len(scores) - 1), abs=0.02)
    assert model.shuffles_beaten(TEXT) == model.shuffles_beaten(replace(TEXT, id="other"))
    assert model.shuffles_beaten(Document("two", SENTENCES[:2])) is None
    flat = TextTables(np.zeros((6, 6)), np.zeros((6, 6)), np.zeros(5))
    model.readings._short.get(("tied",) * 6, lambda: flat)
    assert model.shuffles_beaten(Document("tied", ("tied",) * 6)) == 0.0


def test_many_orders_have_the_scores_of_single_ones() -> None:
    tables = untrained_reader().tables(TEXT)
    orders = np.array([[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [2, 0, 1, 4, 3, 5]])
    assert tables.values(orders, 0.7).tolist() == pytest.approx([tables.value(order, 0.7) for order in orders.tolist()])


def test_a_score_says_how_many_shuffles_it_beats_and_reads_each_text_once(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = untrained_reader()
    model = Model(inner, "tiny")
    read: list[tuple[str, ...]] = []
    tables = inner.reader.tables

    def counted(texts: Sequence[tuple[str, ...]]) -> list[TextTables]:
        read.extend(texts)
        return tables(texts)

    monkeypatch.setattr(inner.reader, "tables", counted)
    documents = [Document(f"d{n}", (*SENTENCES, f"Number {n}.")) for n in range(70)]
    scores = model.score([*documents, Document("two", SENTENCES[:2])])
    assert len(read) == 71
    assert [score.shuffles_beaten for score in scores] == [*map(inner.shuffles_beaten, documents), None]
    share = scores[0].shuffles_beaten
    assert share is not None
    assert scores[0].meaning == f"beats {min(99, int(100 * share + 1e-6))}% of its own shuffles"
    assert scores[0].to_dict()["shuffles_beaten"] == scores[0].rows()[0]["shuffles_beaten"] == share
    assert scores[0].meaning in explain_lines(documents[0], scores[0])[1].plain
    assert scores[-1].meaning == ""


def test_long_texts_are_read_in_windows_once(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = untrained_reader()
    size, window = 70, min(inner.settings.most, inner.settings.slots)
    texts = [Document(f"l{k}", tuple(f"The {n} cat sat on mat {k}." for n in range(size))) for k in range(3)]
    read: list[tuple[str, ...]] = []
    tables = inner.reader.tables

    def counted(given: Sequence[tuple[str, ...]]) -> list[TextTables]:
        read.extend(given)
        return tables(given)

    monkeypatch.setattr(inner.reader, "tables", counted)
    scores = Model(inner, "tiny").score(texts)
    starts = WindowPlan(window, 0.1).starts(size)
    assert read == [text.sentences[start : start + window] for text in texts for start in starts]
    assert all(score.shuffles_beaten is not None for score in scores)


def test_windows_that_cover_a_text_once_give_the_parts_of_its_score() -> None:
    model = untrained_reader()
    tables = model.tables(TEXT)
    plan = WindowPlan(len(TEXT), 0.7)
    found = window_scores(model.reader, TEXT.sentences, plan, lambda one, _: one)
    assert found.transitions.tolist() == pytest.approx(tables.transitions(range(len(TEXT)), 0.7).tolist())
    assert found.breaks.tolist() == pytest.approx(tables.breaks.tolist())
    assert len(found.surprises) == 0


@pytest.mark.parametrize(("size", "window"), [(65, 32), (64, 16), (33, 32), (200, 7), (90, 1), (3, 2)])
def test_windows_cover_every_gap(size: int, window: int) -> None:
    starts = WindowPlan(window, 0.1).starts(size)
    ends = [start + window for start in starts]
    assert starts[0] == 0 and ends[-1] == size and starts == sorted(set(starts))
    assert window < 4 or all(left > right for left, right in zip(ends, starts[1:], strict=False))
    assert len(starts) <= 2 + size // max(1, window * 3 // 4)


def test_scores_of_long_texts_take_linear_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    model = untrained_reader()
    text = Document("long", tuple(f"Cat {n} sat." for n in range(MOST_PAIRED + 1)))
    flat = TextTables(np.zeros((16, 16)), np.zeros((16, 16)), np.zeros(15))
    monkeypatch.setattr(model.reader, "tables", lambda given: [flat] * len(given))
    tracemalloc.start()
    (score,) = model.score([text])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(score.transitions) == MOST_PAIRED and peak < 2000 * MOST_PAIRED
    with pytest.raises(ConfigError, match=f"too long to compare.*{MOST_PAIRED + 1:,} sentences"):
        model.arrange(text)
