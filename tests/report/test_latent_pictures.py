"""Pictures of topics and of latent variables: their numbers are the model's, their bytes are always the same."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.helpers.command_line import weft

from weft.document import Document
from weft.errors import ConfigError, CorpusError, ModelError
from weft.models.topic.hmm_lda import HmmLda, HmmLdaSettings
from weft.models.trivial import RandomModel
from weft.report.latent_pictures import (
    draw_latent,
    first_sentences,
    latent_path,
    project,
    read_path,
    read_topics,
    topic_strip,
)

ROOT = Path(__file__).parents[2]
THEMES = (("cat", "dog", "fox", "paw"), ("stock", "bond", "share", "fund"), ("rain", "snow", "wind", "cloud"))
TEXT = Document(
    "t", ("a cat and a dog", "the fox", "a stock fell", "nothing", "rain & <snow> $5$ \x1b 日本"), "", (0, 2)
)


@pytest.fixture(scope="module")
def model() -> HmmLda:
    rows = [Document(str(n), tuple(" ".join(np.roll(THEMES[n % 3], k)) for k in range(4))) for n in range(30)]
    return HmmLda(HmmLdaSettings(topics=4, drop_top=0, rarest=1, prior_words=1.0)).fit(rows)


@pytest.fixture(scope="module")
def chain() -> Any:
    torch = pytest.importorskip("torch")
    from weft.corpora.text.tokenizers import BpeTokenizer
    from weft.models.vlv.vlv_gm import VlvGm, VlvGmSettings

    tokenizer = BpeTokenizer.train(TEXT.sentences * 3, vocabulary_size=300)
    made = VlvGm(VlvGmSettings(dimensions=8, hidden=12, layers=1, latent=4, width=10, precision="float32"))
    torch.manual_seed(1)
    return made.assemble({part: made.new_network(part, tokenizer) for part in made.parts}, tokenizer)


def test_the_strip_holds_the_topics_of_the_model(model: HmmLda) -> None:
    for kind in ("filtered", "predicted", "smoothed"):
        strip = read_topics(model, TEXT, kind=kind)
        expected = model.topic_distributions(TEXT.sentences, kind=kind)
        assert np.allclose(strip.shares, expected[:, strip.topics])
        assert np.allclose(strip.shares.sum(axis=1) + strip.others, 1.0)
        left = [topic for topic in range(4) if topic not in strip.topics]
        assert np.all(expected[:, left] < 0.1)
    strip = read_topics(model, TEXT)
    for topic, label in zip(strip.topics, strip.labels, strict=True):
        assert label == f"{', '.join(model.top_words(topic, 4))}  ({topic})"
    peaks = strip.shares.argmax(axis=0)
    assert peaks.tolist() == sorted(peaks)
    assert strip.starts == (0, 2)


def test_few_topics_are_shown_and_the_rest_is_counted_together(model: HmmLda) -> None:
    strip = read_topics(model, TEXT, most=1)
    assert len(strip.topics) == 1
    assert strip.others.max() > 0.5
    flat = read_topics(model, Document("u", ("unheard", "of")), most=4)
    assert flat.shares.shape[1] >= 1


def test_the_path_holds_the_means_of_the_chain(chain: Any) -> None:
    torch = pytest.importorskip("torch")
    path = read_path(chain, TEXT)
    network, decoder = chain.predictors["forward"].network, chain.predictors["forward"].decoder
    with torch.inference_mode():
        vectors = [network.chain.read(decoder.read([sentence]).vectors) for sentence in TEXT.sentences]
        state, expected = network.chain.begin(vectors[0]), []
        for vector in vectors[1:]:
            step = network.chain.step(state, vector, torch.zeros(1, 4))
            expected.append(step.posterior.mean[0].numpy())
            state = step.state
    assert np.allclose(path.means, expected, atol=1e-5)
    centred = path.means - path.means.mean(axis=0)
    assert np.allclose((path.points**2).sum(), (centred**2).sum() * sum(path.explained), rtol=1e-6)


def test_the_projection_keeps_most_of_the_variance_and_its_signs() -> None:
    generator = np.random.default_rng(0)
    values = generator.normal(size=(9, 5)) * [20.0, 0.1, 3.0, 0.2, 0.1]
    points, explained = project(values)
    assert explained[0] > explained[1] > 0
    assert sum(explained) > 0.98
    flat, full = (np.linalg.norm(x[:, None] - x[None], axis=2) for x in (points, values))
    assert np.allclose(flat, full, atol=1.0)
    assert np.allclose(project(-values)[0], -points)  # the directions are the same, whatever the sign of the data
    assert np.corrcoef(points[:, 0], values[:, 0])[0, 1] > 0.9
    one, share = project(np.array([[1.0], [3.0]]))
    assert one.tolist() == [[-1.0, 0.0], [1.0, 0.0]]
    assert share == (1.0, 0.0)
    assert project(np.ones((3, 4)))[1] == (0.0, 0.0)


def test_pictures_are_repeatable_and_show_what_was_read(model: HmmLda, chain: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for number, drawn in enumerate((model, chain)):
        one, two = (draw_latent(drawn, TEXT, tmp_path / name, title="a $b") for name in ("a.svg", "b.svg"))
        assert one.read_bytes() == two.read_bytes()
        words = " ".join(ElementTree.fromstring(one.read_text("utf-8")).itertext())
        assert "a $b" in words
        assert "rain & <snow> $5$ � 日本" in words
        assert ("other topics" in words) == (number == 0)
        assert ("(start)" in words) == (number == 1)
        assert draw_latent(drawn, TEXT, tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
        assert draw_latent(drawn, TEXT, tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    strip = read_topics(model, TEXT)
    text = draw_latent(model, TEXT, tmp_path / "c.svg").read_text("utf-8")
    for share in strip.shares[strip.shares >= 0.1]:
        assert f">{share:.0%}<" in text
    assert topic_strip(model, TEXT).axes[0].get_yticklabels()[0].get_text() == "a cat and a dog  1"
    assert len(latent_path(chain, TEXT).axes) == 2


def test_no_label_is_cut_at_the_edge(model: HmmLda, chain: Any, tmp_path: Path) -> None:
    """Long sentences on the left leave little room for the slanted labels on the right."""
    image = pytest.importorskip("matplotlib.image")
    wide = Document("wide", tuple("WWWW " * 14 + words for words in ("cat dog", "stock fund", "rain snow")))
    for drawn, title in ((model, "t"), (chain, "t"), (model, "WIDE TITLE " * 20)):
        pixels = image.imread(draw_latent(drawn, wide, tmp_path / "a.png", title=title))
        edges = (pixels[:, :2], pixels[:, -2:], pixels[:2], pixels[-2:])
        assert all((edge[..., :3] == 1.0).all() for edge in edges)


def test_long_texts_are_drawn_up_to_a_bound(model: HmmLda, chain: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    long = Document("l", tuple(f"cat {n}" for n in range(201)), "", (0, 100, 200))
    for drawn in (model, chain):
        with pytest.raises(CorpusError, match="too long.*--sentences"):
            draw_latent(drawn, long, tmp_path / "l.svg")
    short = first_sentences(long, 60)
    assert (len(short), short.paragraph_starts) == (60, (0,))
    assert len(latent_path(chain, short).axes) == 1  # too many to list beside the path
    assert draw_latent(model, short, tmp_path / "l.svg").stat().st_size > 1000


def test_what_cannot_be_drawn_is_refused(model: HmmLda, chain: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for count, drawn in ((0, model), (1, model), (0, chain), (1, chain), (2, chain)):
        with pytest.raises(CorpusError, match="too short"):
            draw_latent(drawn, first_sentences(TEXT, count), tmp_path / "a.svg")
    with pytest.raises(ConfigError, match="neither topics nor latent variables"):
        draw_latent(RandomModel(), TEXT, tmp_path / "a.svg")
    with pytest.raises(ConfigError, match="picture format"):
        draw_latent(model, TEXT, tmp_path / "a.xyz")
    with pytest.raises(ModelError, match="trained"):
        draw_latent(type(chain)(), TEXT, tmp_path / "a.svg")
    with pytest.raises(ModelError, match="trained"):
        draw_latent(HmmLda(), TEXT, tmp_path / "a.svg")
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(CorpusError, match="folder"):
        draw_latent(model, TEXT, tmp_path / "folder.svg")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.svg"]


def test_without_matplotlib_it_says_what_to_install(model: HmmLda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(CorpusError, match="weft-coherence\\[plot\\]"):
        topic_strip(model, TEXT)


def test_topics_inside_another_model_are_drawn(model: HmmLda, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("torch")
    from weft.models.topic.hmm_lda_gm import HmmLdaGm

    around = HmmLdaGm()
    around._topic_model = model
    one, two = (draw_latent(each, TEXT, tmp_path / f"{n}.svg") for n, each in enumerate((model, around)))
    assert one.read_bytes() == two.read_bytes()


def test_the_command_draws_one_text(model: HmmLda, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    model.save(tmp_path / "m")
    (tmp_path / "two.jsonl").write_text('{"sentences": ["a cat", "a dog"]}\n{"sentences": ["rain", "snow", "wind"]}\n')
    arguments = ("picture", "two.jsonl", "-m", "m", "-o", "a.svg")
    refused = weft(*arguments, cwd=tmp_path)
    assert refused.returncode == 2
    assert "--document" in refused.stderr
    assert not (tmp_path / "a.svg").exists()
    done = weft(*arguments, "--document", "2", "--sentences", "2", cwd=tmp_path)
    assert (done.returncode, done.stderr.strip()) == (0, "wrote a.svg")
    words = " ".join(ElementTree.fromstring((tmp_path / "a.svg").read_text("utf-8")).itertext())
    assert "rain" in words and "snow  2" in words and "  3" not in words
    assert weft(*arguments, "--document", "3", cwd=tmp_path).returncode == 2
    assert (
        weft("picture", "two.jsonl", "-m", "foltz-sif", "-o", "b.svg", "--document", "1", cwd=tmp_path).returncode == 2
    )


def test_the_picture_in_the_docs_is_that_of_the_model() -> None:
    if not (ROOT / "zoo" / "hmm-lda" / "model.json").exists():
        pytest.skip("zoo/hmm-lda is not here")
    from weft.corpora.readers.formats import ReadOptions, read_documents

    essay = next(iter(read_documents(str(ROOT / "examples" / "essay.txt"), ReadOptions())))
    strip = read_topics(HmmLda.load(ROOT / "zoo" / "hmm-lda"), essay)
    text = (ROOT / "docs" / "pictures" / "essay-topics.svg").read_text("utf-8")
    words = " ".join(ElementTree.fromstring(text).itertext())
    for shown in (*strip.labels, *(f"{one}  {n}" for n, one in enumerate(strip.sentences, start=1))):
        assert shown in words
    for share in (*strip.shares.flat, *strip.others):
        assert share < 0.1 or f">{share:.0%}<" in text
