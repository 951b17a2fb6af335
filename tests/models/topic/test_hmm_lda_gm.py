"""HMM-LDA-GM: topics that guide, what they have seen, and ordering with memory."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from weft.document import Document  # noqa: E402
from weft.errors import ConfigError, WeftError  # noqa: E402
from weft.hub import load_model  # noqa: E402
from weft.models.topic.hmm_lda_gm import HmmLdaGm, HmmLdaGmSettings  # noqa: E402
from weft.models.topic.topic_network import TopicNetwork  # noqa: E402
from weft.ordering.order import found_orders, order_document  # noqa: E402
from weft.scoring.uni_bi_mmi import order_values  # noqa: E402
from weft.training import fit_documents  # noqa: E402
from weft.training.config import build_config, config_of, read_config  # noqa: E402
from weft.training.runs import train  # noqa: E402

THEMES = (("cat", "dog", "fox"), ("stock", "bond", "share"))
TEXT = ("a cat and a dog", "the fox ran", "a stock fell", "the bond rose")


@pytest.fixture(scope="module")
def model() -> HmmLdaGm:
    documents = [
        Document(str(n), tuple(f"the {THEMES[n % 2][(n + k) % 3]} is a {THEMES[n % 2][k % 3]}" for k in range(4)))
        for n in range(30)
    ]
    made = HmmLdaGm(HmmLdaGmSettings(topic_count=2, dimensions=12, hidden=12, layers=1, guide=3, precision="float32"))
    made.fit(documents)
    for network in made.networks().values():
        if isinstance(network, TopicNetwork):  # a few steps move them little, and topics must be seen to matter
            assert network.words.guides is not None
            torch.nn.init.normal_(network.words.guides.writing.weight)
            torch.nn.init.normal_(network.topics.weight)
    return made


def test_the_guide_is_the_expected_topic_vector(model: HmmLdaGm) -> None:
    network = model.networks()["forward"]
    assert isinstance(network, TopicNetwork)
    topics = torch.tensor([[0.25, 0.75]])
    expected = 0.25 * network.topics.weight[:, 0] + 0.75 * network.topics.weight[:, 1]
    assert torch.allclose(network.guide(topics)[0], expected, atol=1e-6)


def test_nothing_of_a_sentence_leaks_into_its_own_topics(model: HmmLdaGm) -> None:
    forward = model.predictors["forward"]
    with torch.inference_mode():
        found = [forward.model.topics_of_orders(TEXT, [order])[0] for order in ([0, 1, 2], [0, 1, 3])]
    assert np.allclose(found[0], found[1])  # another third sentence, the same prediction of it
    peeking = [forward.model.topics_of_orders(TEXT, [order], kind="filtered")[0] for order in ([0, 1], [0, 2])]
    assert not np.allclose(peeking[0][1], peeking[1][1])


def test_peeking_is_a_variant_of_its_own(model: HmmLdaGm) -> None:
    peeking = HmmLdaGm(model.settings.changed({"peek": True}))
    peeking._topic_model = model.topic_model
    assert model.tokenizer is not None
    peeking.assemble(model.networks(), model.tokenizer)
    one, two = (each.score([Document("t", TEXT)])[0].value for each in (model, peeking))
    assert one != pytest.approx(two, abs=1e-4)


def test_topics_remember_more_than_the_last_sentence(model: HmmLdaGm) -> None:
    one, two = model.predictors["forward"].log_probs(TEXT, [[0, 1, 2], [3, 1, 2]])
    assert one[1] != pytest.approx(two[1], abs=1e-5)


def test_orders_are_scored_as_texts_and_search_finds_the_best(model: HmmLdaGm) -> None:
    document = Document("t", TEXT)
    orders = [(0, 1, 2, 3), (3, 1, 0, 2), (2, 0), (1,), ()]
    for combine in ("uni", "bi", "mmi"):
        way = model.combined(combine)
        expected = [score.value for score in way.score([document.reorder(order) for order in orders])]
        assert order_values(way, document, orders)[:3] == pytest.approx(expected[:3], abs=1e-5)
        assert expected[3:] == [None, None]
    uni = model.combined("uni")
    every = [(1, *rest) for rest in itertools.permutations((0, 2, 3))]
    values = order_values(uni, document, every)
    best = max(range(len(every)), key=lambda number: values[number] or -np.inf)
    assert order_document(uni, document, first=1, beam=30).order == every[best]
    texts = [document, Document("e", document.sentences[:1]), Document("f", document.sentences[1:])]
    alone = [order_document(model, one, objective="coherence", beam=3).order for one in texts]
    assert found_orders(model, texts, objective="coherence", beam=3) == alone  # searched together


def test_a_saved_model_brings_its_topics(model: HmmLdaGm, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    text = [Document("t", TEXT)]
    assert again.score(text)[0].value == pytest.approx(model.score(text)[0].value, abs=1e-6)
    assert isinstance(again, HmmLdaGm)
    assert again.topic_model.vocabulary == model.topic_model.vocabulary


NEEDS_TOPICS = "hmm-lda-gm needs a topic model: saw .*; allowed: .*; next: run `weft train configs/hmm-lda.toml`"


def test_without_topics_it_says_what_to_do() -> None:
    with pytest.raises(ConfigError, match=NEEDS_TOPICS):
        _ = HmmLdaGm().topic_model
    with pytest.raises(ConfigError):
        HmmLdaGm(HmmLdaGmSettings(guide=0))


def test_a_run_without_topics_is_refused_before_anything_is_prepared(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("A cat sat here. The cat slept.\n\nA dog ran. It barked.")
    run = {"out": str(tmp_path / "m"), "folder": str(tmp_path / "run")}
    told: list[str] = []

    def progress(label: str, done: int, total: int | None = None, note: str = "") -> None:
        told.append(label)

    for topics, message in (("", NEEDS_TOPICS), (str(tmp_path / "none"), "none")):
        content = {"model": {"name": "hmm-lda-gm", "topics": topics}, "data": {"train": [str(tmp_path / "t.txt")]}}
        with pytest.raises(WeftError, match=message):
            train(build_config({**content, "run": run, "training": {"steps": 1}}), progress=progress)
    assert told == []
    assert [path.name for path in tmp_path.iterdir()] == ["t.txt"]
    (tmp_path / "run.toml").write_text('[model]\nname = "hmm-lda-gm"\n')
    with pytest.raises(ConfigError, match=NEEDS_TOPICS):
        read_config(tmp_path / "run.toml")  # what `weft config FILE` and `weft train FILE` begin with
    assert read_config(tmp_path / "run.toml", ["model.topics=zoo/hmm-lda"]).model.settings["topics"] == "zoo/hmm-lda"
    assert config_of("hmm-lda-gm").model.settings["topics"] == ""  # the defaults can still be shown


def test_as_few_topics_as_hmm_lda_refuses_are_refused() -> None:
    for count in (1, 0, 2**15):
        with pytest.raises(ConfigError, match="topic_count is out of range.*at least 2"):
            HmmLdaGm(HmmLdaGmSettings(topic_count=count))
    assert HmmLdaGm(HmmLdaGmSettings(topic_count=2)).settings.topic_count == 2


def test_frozen_names_what_it_takes_visibly() -> None:
    with pytest.raises(ConfigError, match='allowed: "", encoder, words'):
        HmmLdaGm(HmmLdaGmSettings(frozen="all"))


def test_a_second_fit_learns_its_topics_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit_documents, "SHORT", replace(fit_documents.SHORT, steps=20, warmup=2))

    def new() -> HmmLdaGm:
        return HmmLdaGm(HmmLdaGmSettings(topic_count=2, dimensions=8, hidden=8, layers=1, guide=3, precision="float32"))

    words = ("cat", "dog", "fox")
    texts = [Document(str(n), tuple(f"the {words[(n + k) % 3]} is a {words[k]}" for k in range(3))) for n in range(12)]
    model = new().fit(texts)
    first = model.topic_model
    model.fit(texts, seed=5)  # the same store, other topics: those of its sentences are found again, too
    fresh = new().fit(texts, seed=5)
    assert model.score(texts) == fresh.score(texts)
    known = [one.topic_distributions(texts[0].sentences) for one in (model.topic_model, fresh.topic_model, first)]
    assert np.array_equal(known[0], known[1])
    assert not np.allclose(known[0], known[2], atol=1e-4)
