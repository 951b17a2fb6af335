from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product

import pytest
import torch

import weft.generation.decoding
from weft.corpora.text.tokenizers import BpeTokenizer, WordTokenizer
from weft.document import Document, Window
from weft.errors import ConfigError
from weft.generation.continuation import continue_document
from weft.generation.decoding import Candidate, search
from weft.generation.decoding_settings import Decoding
from weft.models.common.neural.encoder_decoder import Architecture, Seq2SeqNetwork
from weft.models.common.neural.sentence_predictor import Predictor, PredictorSteps
from weft.models.common.token_cache import TokenCache
from weft.models.seq2seq.seq2seq import Seq2Seq, Seq2SeqSettings

TEXTS = ["a cat sat on a mat", "a dog ran home", "the cat saw the dog", "home is a mat"]


@pytest.fixture(scope="module")
def model() -> Seq2Seq:
    tokenizer = BpeTokenizer.train(TEXTS, vocabulary_size=280)
    made = Seq2Seq(Seq2SeqSettings(dimensions=12, hidden=12, layers=1))
    torch.manual_seed(4)
    return made.assemble({part: made.new_network(part, tokenizer) for part in made.parts}, tokenizer)


@pytest.fixture(scope="module")
def tiny() -> tuple[Seq2SeqNetwork, WordTokenizer]:
    """Five words: every sentence of three can be enumerated."""
    tokenizer = WordTokenizer.train(["x y z"] * 3)
    torch.manual_seed(2)
    network = Seq2SeqNetwork(
        Architecture(tokenizer.vocabulary_size, 6, 6, 1, dropout=0.0),
        bos=tokenizer.bos_id, eos=tokenizer.eos_id, pad=tokenizer.pad_id,
    ).eval()  # fmt: skip
    network.embedding.weight.data *= 3
    return network, tokenizer


def test_a_wide_beam_finds_the_likeliest_sentence(tiny: tuple[Seq2SeqNetwork, WordTokenizer]) -> None:
    predictor = Predictor(tiny[0], TokenCache(tiny[1]))
    decoding = Decoding(method="beam", beam=200, min_tokens=1, max_tokens=4, no_repeat=0, length_power=0.0)
    best = predictor.propose([["x y"]], decoding)[0]
    sentences = [" ".join(words) for size in (1, 2, 3) for words in product("xyz", repeat=size)]
    values = predictor.log_prob([Window(("x y",), sentence) for sentence in sentences])
    ranked = sorted(zip(values, sentences, strict=True), reverse=True)
    assert best[0].text == ranked[0][1]
    assert best[0].log_prob == pytest.approx(ranked[0][0], abs=1e-4)
    assert [c.text for c in best[:5]] == [text for _, text in ranked[:5]]


@pytest.mark.parametrize("method", ["beam", "diverse"])
def test_beams_do_not_depend_on_the_contexts_beside_them(
    model: Seq2Seq, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contexts whose hypotheses have all ended are removed from the search, and come back at their places."""
    predictor, contexts = model.predictors["forward"], [[text] for text in TEXTS]
    longest = Decoding(method=method, beam=4, groups=2, max_tokens=30, min_tokens=1)
    alone = [predictor.propose([context], longest)[0] for context in contexts]
    monkeypatch.setattr(weft.generation.decoding, "FEW_ROWS", 1)
    monkeypatch.setattr(weft.generation.decoding, "CHECK_EVERY", 1)
    for own, together in zip(alone, predictor.propose(contexts, longest), strict=True):
        assert [one.text for one in own] == [one.text for one in together]
        assert [one.log_prob for one in own] == pytest.approx([one.log_prob for one in together], abs=1e-4)


@pytest.mark.parametrize("method", ["beam", "diverse", "sample"])
def test_log_probabilities_are_those_of_the_scorer(model: Seq2Seq, method: str) -> None:
    predictor = model.predictors["forward"]
    for candidate in predictor.propose([["a cat sat"]], Decoding(method=method, max_tokens=12))[0]:
        ids = predictor.tokenizer.encode_batch([candidate.text])[0]
        if len(ids) + 1 == candidate.tokens:  # the text tokenises back to what was written
            again = predictor.log_prob([Window(("a cat sat",), candidate.text)])[0]
            assert candidate.log_prob == pytest.approx(again, abs=1e-3)


@pytest.mark.parametrize("method", ["beam", "diverse", "sample"])
def test_batched_contexts_are_as_alone(model: Seq2Seq, method: str) -> None:
    predictor = model.predictors["forward"]
    if method == "sample":
        pytest.skip("draws depend on the rows before")
    decoding = Decoding(method=method, beam=5, groups=5, max_tokens=10)
    contexts = [["a cat sat"], ["home is a mat and a dog ran"], ["the"]]
    together = predictor.propose(contexts, decoding)
    for context, found in zip(contexts, together, strict=True):
        assert [c.text for c in predictor.propose([context], decoding)[0]] == [c.text for c in found]


def test_nothing_is_repeated_forbidden_or_endless(model: Seq2Seq) -> None:
    predictor = model.predictors["forward"]
    for method in ("beam", "diverse", "sample"):
        decoding = Decoding(method=method, beam=5, min_tokens=6, max_tokens=20, no_repeat=2)
        steps = PredictorSteps(predictor.network, predictor._encode(["a cat"]), 1, predictor.tokenizer)
        found = search(steps, 1, decoding, torch.device("cpu"))
        for row, length in zip(found.ids[0].tolist(), found.lengths[0].tolist(), strict=True):
            words = row[: int(length) - 1]
            assert row[int(length) - 1] == predictor.tokenizer.eos_id
            assert 6 <= len(words) < 20
            assert not set(words) & {predictor.tokenizer.pad_id, predictor.tokenizer.bos_id}
            pairs = list(pairwise(words))
            assert len(pairs) == len(set(pairs))


def test_seeds_decide_samples(model: Seq2Seq) -> None:
    predictor = model.predictors["forward"]
    one, two, other = (
        [c.text for c in predictor.propose([["a cat"]], Decoding(method="sample", seed=seed))[0]] for seed in (1, 1, 2)
    )
    assert one == two != other


def test_the_coldest_sampling_is_greedy(model: Seq2Seq) -> None:
    predictor = model.predictors["forward"]
    greedy = predictor.propose([["a cat"]], Decoding(method="beam", beam=1, max_tokens=12))[0][0].text
    coldest = Decoding(method="sample", beam=1, max_tokens=12)
    for decoding in (replace(coldest, top_k=1), replace(coldest, top_p=1e-6)):
        assert predictor.propose([["a cat"]], decoding)[0][0].text == greedy


def test_groups_differ_in_their_first_word(model: Seq2Seq) -> None:
    predictor = model.predictors["forward"]
    decoding = Decoding(method="diverse", beam=5, groups=5, diversity=100.0, max_tokens=8)
    steps = PredictorSteps(predictor.network, predictor._encode(["a cat"]), 1, predictor.tokenizer)
    found = search(steps, 1, decoding, torch.device("cpu"))
    assert len({row[0] for row in found.ids[0].tolist()}) == 5


def test_sentences_join_the_context_and_reranking_uses_the_scorer(model: Seq2Seq) -> None:
    text = Document("d", ("a cat sat", "the dog saw"))
    forward = model.predictors["forward"]
    decoding = Decoding(method="beam", max_tokens=10)
    plain = list(continue_document(forward, text, sentences=3, decoding=decoding))
    assert len(plain) == 3
    assert len({*plain, *text.sentences}) == 5  # nothing is said twice
    ways = {"scorer": lambda way: model.combined(way).scorer, "combine": "mmi"}
    first = next(continue_document(forward, text, decoding=decoding, **ways))  # type: ignore[arg-type]
    candidates = forward.propose([list(text.sentences)], decoding)[0]
    values = {
        c.text: model.combined("mmi").score([Document("p", (text.sentences[-1], c.text))])[0].value or 0.0
        for c in candidates
        if c.text and c.text not in text.sentences
    }
    assert values[first] == pytest.approx(max(values.values()), abs=1e-5)


@pytest.mark.parametrize(
    "changes",
    [{"method": "best"}, {"beam": 0}, {"method": "diverse", "groups": 3}, {"temperature": 0.0}, {"top_p": 0.0},
     {"top_k": -1}, {"min_tokens": 9, "max_tokens": 5}],
)  # fmt: skip
def test_bad_decoding_is_named(changes: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="allowed"):
        Decoding(**changes)  # type: ignore[arg-type]


def test_the_number_of_groups_follows_the_beam() -> None:
    assert [Decoding(beam=beam).groups for beam in (1, 2, 3, 4, 6, 7, 10, 12)] == [1, 2, 3, 4, 3, 1, 5, 4]
    assert Decoding.from_options({"beam": 3}).groups == 3
    assert Decoding.from_options({"beam": 3}, Decoding(seed=2)).groups == 3
    assert Decoding.from_options({"method": "diverse"}, Decoding(method="sample", beam=3)).groups == 3
    assert Decoding.from_options({"beam": 4}, Decoding(groups=2)).groups == 2
    with pytest.raises(ConfigError, match="groups do not divide the beam: saw 5"):
        Decoding(beam=3, groups=5)


class Wordless:
    """Writes some sentences, then only candidates without words."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    def propose(self, contexts: Sequence[Sequence[str]], decoding: Decoding) -> list[list[Candidate]]:
        return [[Candidate(self.texts.pop(0) if self.texts else "", -1.0, 1)] * decoding.beam for _ in contexts]


def test_a_model_that_writes_no_words_ends_the_continuation() -> None:
    text = Document("d", ("a cat sat",))
    assert list(continue_document(Wordless(), text, sentences=3)) == []
    assert list(continue_document(Wordless("a dog ran"), text, sentences=3)) == ["a dog ran"]
