"""Models with memory that write: z drawn from its prior, topics that are expected, and walks through z."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.helpers.command_line import weft  # noqa: E402

from weft.corpora.text.tokenizers import WordTokenizer  # noqa: E402
from weft.document import Document  # noqa: E402
from weft.errors import ConfigError, CorpusError, ModelError  # noqa: E402
from weft.generation.continuation import best_first, continue_document, rerank  # noqa: E402
from weft.generation.decoding import Candidate  # noqa: E402
from weft.generation.decoding_settings import Decoding  # noqa: E402
from weft.models.topic.hmm_lda import HmmLda, HmmLdaSettings  # noqa: E402
from weft.models.topic.hmm_lda_gm import HmmLdaGm, HmmLdaGmSettings  # noqa: E402
from weft.models.vlv.vlv_gm import VlvGm, VlvGmSettings  # noqa: E402
from weft.models.vlv.writing import prior_sentences, strongest_dimension, traversal  # noqa: E402

TEXT = ("a cat sat here", "the cat slept", "a dog ran away", "it barked")
CONTEXT = TEXT[:2]
DECODING = Decoding(method="beam", beam=3, max_tokens=10)


def loud(model: Any, tokenizer: WordTokenizer) -> Any:
    """A model whose guides matter: they start at zero, where nothing could be seen of them."""
    torch.manual_seed(3)
    networks = {part: model.new_network(part, tokenizer) for part in model.parts}
    for network in networks.values():
        for name, parameter in network.named_parameters():
            if "guides" in name or "topics" in name:
                torch.nn.init.normal_(parameter, std=2.0)
    return model.assemble(networks, tokenizer)


@pytest.fixture(scope="module")
def tokenizer() -> WordTokenizer:
    return WordTokenizer.train(TEXT * 3)


@pytest.fixture(scope="module")
def chain_model(tokenizer: WordTokenizer) -> VlvGm:
    sizes: dict[str, Any] = {"dimensions": 8, "hidden": 12, "layers": 1, "latent": 4, "width": 10, "samples": 2}
    made = loud(VlvGm(VlvGmSettings(**sizes, precision="float32")), tokenizer)
    assert isinstance(made, VlvGm)
    return made


@pytest.fixture(scope="module")
def topic_model(tokenizer: WordTokenizer) -> HmmLdaGm:
    themes = (("cat", "slept", "sat"), ("dog", "ran", "barked"))
    texts = [Document(str(n), tuple(" ".join(np.roll(themes[n % 2], k)) for k in range(3))) for n in range(20)]
    made = HmmLdaGm(HmmLdaGmSettings(dimensions=8, hidden=12, layers=1, guide=3, precision="float32"))
    made._topic_model = HmmLda(HmmLdaSettings(topics=2, drop_top=0, rarest=1, prior_words=1.0)).fit(texts)
    loud(made, tokenizer)
    return made


def test_z_is_drawn_from_its_prior_and_the_seed_decides(chain_model: VlvGm) -> None:
    found = prior_sentences(chain_model, CONTEXT, draws=6, decoding=DECODING)
    again = prior_sentences(chain_model, CONTEXT, draws=6, decoding=DECODING)
    other = prior_sentences(chain_model, CONTEXT, draws=6, decoding=replace(DECODING, seed=2))
    assert found == again
    assert {one.latent for one in found}.isdisjoint(one.latent for one in other)
    assert len({one.latent for one in found}) == 6
    assert len({one.text for one in found}) > 1  # which z it is matters
    fewer = prior_sentences(chain_model, CONTEXT, draws=2, decoding=DECODING)
    assert [one.latent for one in fewer] == [one.latent for one in found[:2]]


def test_draws_have_the_mean_and_spread_of_the_prior(chain_model: VlvGm) -> None:
    chain = chain_model.predictors["forward"]
    prior = chain.next_sentence([CONTEXT]).prior
    drawn = chain.draw(prior, 4000, 1)[0]  # [draws, latent]
    assert torch.allclose(drawn.mean(dim=0), prior.mean[0], atol=0.1)
    assert torch.allclose(drawn.std(dim=0), prior.log_std[0].exp(), rtol=0.1)


def test_the_prior_is_that_of_slow_obvious_code(chain_model: VlvGm) -> None:
    chain = chain_model.predictors["forward"]
    together = chain.next_sentence([CONTEXT, TEXT[:1], TEXT])
    for number, context in enumerate((CONTEXT, TEXT[:1], TEXT)):
        with torch.inference_mode():
            vectors = [chain.network.chain.read(chain.decoder.read([one]).vectors) for one in context]
            state = chain.network.chain.begin(vectors[0])
            for vector in vectors[1:]:
                state = chain.network.chain.step(state, vector, torch.zeros(1, 4)).state
            expected = chain.network.chain.predict(state)
        assert torch.allclose(together.prior.mean[number], expected.mean[0], atol=1e-5)
        assert torch.allclose(together.prior.log_std[number], expected.log_std[0], atol=1e-5)


def test_log_probabilities_are_those_of_the_decoder_given_z(chain_model: VlvGm, tokenizer: WordTokenizer) -> None:
    chain = chain_model.predictors["forward"]
    for written in prior_sentences(chain_model, CONTEXT, draws=8, decoding=DECODING):
        assert len(tokenizer.encode_batch([written.text])[0]) + 1 == written.tokens
        with torch.inference_mode():
            read = chain.decoder.read([CONTEXT[-1], written.text])
            z = torch.tensor([written.latent])
            value = chain.decoder.log_probs(read, torch.tensor([0]), torch.tensor([1]), z).item()
        assert written.log_prob == pytest.approx(value, abs=1e-3)


def test_a_traversal_moves_along_one_dimension(chain_model: VlvGm) -> None:
    chain = chain_model.predictors["forward"]
    prior = chain.next_sentence([CONTEXT]).prior
    found = traversal(chain_model, CONTEXT, dimension=2, points=5, reach=3.0, decoding=DECODING)
    places = np.array([one.latent for one in found])  # [points, latent]
    mean, spread = prior.mean[0].numpy(), prior.log_std[0].exp().numpy()
    assert np.allclose(np.delete(places, 2, axis=1), np.delete(mean, 2), atol=1e-6)
    assert np.allclose((places[:, 2] - mean[2]) / spread[2], [-3, -1.5, 0, 1.5, 3], atol=1e-4)
    assert traversal(chain_model, CONTEXT, dimension=2, points=5, decoding=DECODING) == found
    far = traversal(chain_model, CONTEXT, points=7, reach=30.0, decoding=DECODING)
    assert len({one.text for one in far}) > 1
    moved = np.flatnonzero(np.ptp([one.latent for one in far], axis=0))
    assert moved.tolist() == [strongest_dimension(chain, prior)]


def test_the_strongest_dimension_is_the_one_the_decoder_listens_to(chain_model: VlvGm) -> None:
    chain = chain_model.predictors["forward"]
    prior, guides = chain.next_sentence([CONTEXT]).prior, chain.network.words.guides
    assert guides is not None
    before = guides.writing.weight.detach().clone()
    with torch.no_grad():
        guides.writing.weight[:, 1] += 100.0
        assert strongest_dimension(chain, prior) == 1
        guides.writing.weight.copy_(before)


def test_proposals_are_pooled_over_draws(chain_model: VlvGm) -> None:
    chain = chain_model.predictors["forward"]
    wide = replace(DECODING, beam=8)
    one, two = (chain.propose([CONTEXT, TEXT[:1]], replace(wide, draws=n)) for n in (1, 4))
    assert len(one[0]) == 8
    assert 2 <= len(two[0]) <= 8  # two of each z, and what came twice once
    values = [c.log_prob / c.tokens for c in two[0]]
    assert values == sorted(values, reverse=True)
    best = prior_sentences(chain_model, CONTEXT, draws=4, decoding=DECODING)
    alone = chain.propose([CONTEXT], replace(DECODING, draws=4))[0]
    assert {written.text for written in best} <= {c.text for c in alone}
    assert len({c.text for c in alone}) == len(alone)
    assert chain.propose([[]], DECODING)[0]  # nothing before: an empty sentence


def test_candidates_of_several_searches_are_ranked_and_kept_once() -> None:
    found = [Candidate("b", -4.0, 2), Candidate("a", -3.0, 2), Candidate("b", -2.0, 2), Candidate("c", -9.0, 2)]
    assert [(c.text, c.log_prob) for c in best_first(found, Decoding())] == [("b", -2.0), ("a", -3.0), ("c", -9.0)]


def test_expected_topics_guide_what_is_written(topic_model: HmmLdaGm) -> None:
    chain = topic_model.predictors["forward"]
    contexts = [("cat slept", "it barked"), ("dog ran", "it barked"), ()]
    found = chain.propose(contexts, DECODING)
    # The last sentence, which is all the encoder reads, is the same: topics tell the two apart.
    assert [c.text for c in found[0]] != [c.text for c in found[1]]
    for context, together in zip(contexts, found, strict=True):
        assert [c.text for c in chain.propose([context], DECODING)[0]] == [c.text for c in together]
    with torch.inference_mode():
        topics = topic_model.topic_model.topic_distributions(("cat slept", "it barked", "whatever"))[2:]
        guide = chain.network.guide(torch.from_numpy(topics.astype(np.float32)))
        expected = chain.decoder.write(chain.decoder.read(["it barked"]), torch.tensor([0]), guide, DECODING)[0]
    assert [c.log_prob for c in found[0]] == pytest.approx([c.log_prob for c in expected], abs=1e-4)


@pytest.mark.parametrize("kind", ["chain_model", "topic_model"])
def test_texts_are_continued_and_reranked_with_all_that_came_before(kind: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(kind)
    document = Document("d", TEXT)
    ways: Any = {"scorer": lambda way: model.combined(way).scorer, "combine": "mmi", "decoding": DECODING}
    plain = list(continue_document(model.predictors["forward"], document, sentences=2, decoding=DECODING))
    assert len({*plain, *TEXT}) == 6
    reranked = list(continue_document(model.predictors["forward"], document, sentences=2, **ways))
    assert reranked == list(continue_document(model.predictors["forward"], document, sentences=2, **ways))
    candidates = [Candidate("a cat ran", -1.0, 3), Candidate("it slept", -1.0, 3), Candidate("a dog", -1.0, 3)]
    ranked = rerank(candidates, TEXT, model.combined("mmi").scorer)
    values = [model.combined("mmi").score([Document("r", (*TEXT, c.text))])[0].transitions[-1] for c in ranked]
    assert values == sorted(values, reverse=True)


def test_what_cannot_be_written_is_refused(chain_model: VlvGm) -> None:
    with pytest.raises(CorpusError, match="no text to continue"):
        prior_sentences(chain_model, ())
    with pytest.raises(ModelError):
        traversal(VlvGm(), CONTEXT)
    for write in (prior_sentences, traversal):
        with pytest.raises(CorpusError, match="expected a list of sentences.*saw 'abc'"):
            write(chain_model, "abc")
    for changes in ({"dimension": 4}, {"dimension": -1}, {"points": 1}, {"reach": 0.0}, {"reach": float("nan")}):
        with pytest.raises(ConfigError, match="allowed"):
            traversal(chain_model, CONTEXT, **changes)
    with pytest.raises(ConfigError, match="draws"):
        Decoding(draws=0)
    with pytest.raises(ConfigError, match="draws"):
        prior_sentences(chain_model, CONTEXT, draws=0)


def test_the_command_line_writes_with_both(chain_model: VlvGm, topic_model: HmmLdaGm, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("A cat sat here. The cat slept.")
    for number, model in enumerate((chain_model, topic_model)):
        model.save(tmp_path / f"m{number}")
        arguments = ("generate", "t.txt", "-m", f"m{number}", "--sentences", "2", "--beam", "5", "-f", "json")
        draws = ("--draws", "2") if number == 0 else ()
        one, two = (weft(*arguments, *draws, cwd=tmp_path) for _ in range(2))
        assert one.returncode == 0, one.stderr
        assert one.stdout == two.stdout
        assert len(json.loads(one.stdout)["sentences"]) == 2
    refused = weft("generate", "t.txt", "-m", "m1", "--draws", "5", cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert "hmm-lda-gm has no latent variables to draw" in refused.stderr
    refused = weft("generate", "t.txt", "-m", "vlv-gm", cwd=tmp_path)
    assert refused.returncode == 2
    assert "train" in refused.stderr
