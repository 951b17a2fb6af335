"""The lexical baselines against slow, obvious code and against the libraries they stand on."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from weft.corpora.text.words import words_only
from weft.corpora.text.years import first_year
from weft.document import Document
from weft.errors import ConfigError, CorpusError, ModelError
from weft.models.common.word_vectors import WordVectors, read_glove
from weft.models.lexical.cosine import cosine_table
from weft.models.lexical.glove import FoltzGlove, WordVectorModel
from weft.models.lexical.lda import FoltzLda, fold_in
from weft.models.lexical.lsa import FoltzLsa, entropy_weights
from weft.models.trivial import YearSort
from weft.registry import create_model

TEXT = Document(
    "d", ("The cat chased the mouse.", "A mouse, unlike a cat, is small.", "Interest rates rose.", "Zzxqy?")
)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    lengths = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(y * y for y in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths else 0.0


def test_glove_is_the_cosine_of_plain_means() -> None:
    model = FoltzGlove()
    means = []
    for sentence in TEXT.sentences:
        rows = [model.table.rows([model.table.index[w]])[0] for w in words_only(sentence) if w in model.table.index]
        means.append(sum(rows) / len(rows) if rows else np.zeros(100))
    expected = [cosine(means[i], means[i + 1]) for i in range(3)]
    assert model.score([TEXT])[0].transitions == pytest.approx(expected, abs=1e-5)
    assert expected[2] == 0.0  # a sentence without a known word


def test_sif_weighs_by_inverse_frequency() -> None:
    model = create_model("foltz-sif")
    assert isinstance(model, WordVectorModel)
    ranks = range(1, len(model.table.vocabulary) + 1)
    total = sum(1 / rank for rank in ranks)
    sums = []
    for sentence in TEXT.sentences[:3]:
        vector = np.zeros(100)
        for word in words_only(sentence):
            if word not in model.table.index:
                continue
            row = model.table.index[word]
            vector += 1e-3 / (1e-3 + (1 / (row + 1)) / total) * model.table.rows([row])[0]
        sums.append(vector)
    expected = [cosine(sums[0], sums[1]), cosine(sums[1], sums[2])]
    assert model.score([TEXT.reorder([0, 1, 2])])[0].transitions == pytest.approx(expected, abs=1e-5)


def test_content_weighting_ignores_function_words() -> None:
    model = FoltzGlove(FoltzGlove.Settings(weighting="content"))
    with_words = model.sentence_vectors(["the cat and the mouse"])
    without = model.sentence_vectors(["cat mouse"])
    assert with_words == pytest.approx(without)


def test_the_embedded_table_is_what_it_should_be() -> None:
    table = FoltzGlove().table
    assert table.stored.shape == (30_000, 100)
    assert table.stored.dtype == np.int8
    folder = Path(__file__).parents[3] / "src" / "weft" / "pretrained" / "glove"
    assert sum(path.stat().st_size for path in folder.iterdir()) < 4 * 2**20


def test_int8_loses_almost_nothing() -> None:
    generator = np.random.default_rng(0)
    table = WordVectors(tuple("abcdefgh"), generator.normal(size=(8, 50)).astype(np.float32))
    small = table.quantized()
    full, rounded = table.rows(range(8)), small.rows(range(8))
    assert np.abs(full - rounded).max() <= np.abs(full).max() * 0.005
    assert small.quantized().rows(range(8)) == pytest.approx(rounded, abs=1e-3)


@pytest.mark.shared
def test_the_embedded_table_is_the_head_of_the_full_one(shared_data: Path) -> None:
    full = read_glove(shared_data / "glove", limit=30_000)
    embedded = FoltzGlove().table
    assert embedded.vocabulary == full.vocabulary
    some = [0, 17, 4_000, 29_999]
    assert embedded.rows(some) == pytest.approx(full.rows(some), abs=0.05)


def test_a_standard_glove_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text("the 0.5 -1.0\ncat 1.0 2.5e-1\n", encoding="utf-8")
    table = read_glove(path)
    assert table.vocabulary == ("the", "cat")
    assert table.rows([1])[0].tolist() == [1.0, 0.25]
    assert FoltzGlove(FoltzGlove.Settings(vectors=str(path))).score([Document("d", ("the", "the"))])[
        0
    ].value == pytest.approx(1.0)


@pytest.mark.parametrize("text", ["", "the 0.5 x\n", "the 0.5\ncat 1 2\n", "the\n"])
def test_a_broken_glove_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "glove.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CorpusError, match="cannot read word vectors from .*glove.txt"):
        read_glove(path)


def test_missing_vectors_and_unknown_weighting() -> None:
    with pytest.raises(CorpusError, match="data not found.*nowhere"):
        FoltzGlove(FoltzGlove.Settings(vectors="nowhere")).score([TEXT])
    with pytest.raises(ConfigError, match="unknown weighting.*'tfidf'.*mean, sif, content"):
        FoltzGlove(FoltzGlove.Settings(weighting="tfidf"))


def test_the_cosine_table_is_symmetric_to_the_last_bit() -> None:
    table = cosine_table(np.random.default_rng(5).normal(size=(30, 70)).astype(np.float32))
    assert (table == table.T).all()
    assert np.diagonal(table) == pytest.approx(np.ones(30))


# LSA --------------------------------------------------------------------------------------------------------------


def test_entropy_weights_by_hand() -> None:
    from scipy.sparse import csr_matrix

    counts = np.array([[2, 1, 0], [2, 0, 0], [2, 0, 3], [2, 0, 1]], dtype=np.float64)
    expected = []
    for word in range(3):
        shares = [n / counts[:, word].sum() for n in counts[:, word] if n]
        expected.append(1 + sum(p * math.log(p) for p in shares) / math.log(4))
    assert entropy_weights(csr_matrix(counts)) == pytest.approx(expected)
    assert expected[0] == pytest.approx(0.0)
    assert expected[1] == 1.0


def test_lsa_with_all_dimensions_is_the_weighted_cosine() -> None:
    """With nothing cut off, the latent space keeps the cosines between weighted paragraphs."""
    texts = ["cat dog", "dog bird bird", "stock bond", "bond market stock stock", "cat bird", "market cat"]
    corpus = [Document(str(n), (text,)) for n, text in enumerate(texts)]
    model = FoltzLsa(FoltzLsa.Settings(dimensions=5)).fit(corpus)
    words = sorted({word for text in texts for word in text.split()})
    counts = np.array([[Counter(text.split())[w] for w in words] for text in texts], dtype=np.float64)
    from scipy.sparse import csr_matrix

    weighted = np.log1p(counts) * entropy_weights(csr_matrix(counts))
    _, _, axes = np.linalg.svd(weighted)
    folded = weighted @ axes[:5].T
    pair = Document("p", (texts[0], texts[4]))
    assert model.score([pair])[0].value == pytest.approx(cosine(folded[0], folded[4]), abs=0.02)


def test_lsa_on_too_little_text() -> None:
    with pytest.raises(CorpusError, match="not enough text"):
        FoltzLsa().fit([])
    with pytest.raises(CorpusError, match="not enough text"):
        FoltzLsa().fit([Document("d", ("word word",))])


# LDA --------------------------------------------------------------------------------------------------------------


def slow_fold_in(rows: np.ndarray, alpha: np.ndarray, iterations: int) -> np.ndarray:
    theta: np.ndarray = alpha / alpha.sum()
    for _ in range(iterations):
        expected = alpha.astype(np.float64).copy()
        for likelihood in rows:
            posterior = likelihood * theta
            expected += posterior / posterior.sum()
        theta = expected / expected.sum()
    return theta


def test_folding_in_equals_the_slow_loop() -> None:
    generator = np.random.default_rng(2)
    likelihood = generator.dirichlet(np.ones(6), size=9).astype(np.float32)
    owner = np.array([0, 0, 0, 2, 2, 2, 2, 2, 3])
    alpha = generator.uniform(0.05, 0.5, size=6).astype(np.float32)
    found = fold_in(likelihood, owner, 4, alpha, 7)
    for sentence in (0, 2, 3):
        assert found[sentence] == pytest.approx(slow_fold_in(likelihood[owner == sentence], alpha, 7), abs=1e-5)
    assert found[1] == pytest.approx(alpha / alpha.sum(), abs=1e-6)
    assert found.sum(axis=1) == pytest.approx(np.ones(4), abs=1e-5)


@pytest.fixture(scope="module")
def animals_and_money() -> FoltzLda:
    pytest.importorskip("tomotopy", reason="the extra `topics` is not installed")
    animals, money = "cat dog bird horse mouse sheep".split(), "bank money stock bond market price".split()
    generator = np.random.default_rng(4)
    corpus = [
        Document(str(n), (" ".join(generator.choice(pool, size=12)),)) for n in range(60) for pool in (animals, money)
    ]
    return FoltzLda(FoltzLda.Settings(topics=2, iterations=100, drop_top=0)).fit(corpus, seed=1)


def test_lda_finds_two_planted_topics(animals_and_money: FoltzLda) -> None:
    vectors = animals_and_money.sentence_vectors(["cat dog horse", "bank bond price", "sheep bird"])
    assert vectors[0].argmax() == vectors[2].argmax() != vectors[1].argmax()
    assert vectors.max(axis=1).min() > 0.9


def test_topic_counts_are_conserved(animals_and_money: FoltzLda) -> None:
    assert animals_and_money.learned is not None
    assert int(animals_and_money.learned.counts.sum()) == 120 * 12


def test_folding_in_agrees_with_tomotopys_sampler() -> None:
    tomotopy = pytest.importorskip("tomotopy", reason="the extra `topics` is not installed")
    generator = np.random.default_rng(9)
    pools = [[f"w{topic}_{i}" for i in range(15)] for topic in range(5)]
    corpus = [
        [str(w) for pool in generator.permutation(5)[:2] for w in generator.choice(pools[pool], 10)] for _ in range(300)
    ]
    model = FoltzLda(FoltzLda.Settings(topics=5, iterations=150, drop_top=0)).fit(
        [Document(str(n), (" ".join(tokens),)) for n, tokens in enumerate(corpus)], seed=1
    )
    sampler = tomotopy.LDAModel(k=5, min_cf=2, rm_top=0, seed=1)
    for tokens in corpus:
        sampler.add_doc(words_only(" ".join(tokens)))
    for _ in range(15):
        sampler.train(10, workers=1)
    fresh = [
        [str(w) for pool in generator.permutation(5)[:2] for w in generator.choice(pools[pool], 6)] for _ in range(40)
    ]
    documents = [sampler.make_doc(words_only(" ".join(tokens))) for tokens in fresh]
    sampled, _ = sampler.infer(documents, iterations=300)
    ours = model.sentence_vectors([" ".join(tokens) for tokens in fresh])
    assert np.abs(ours - np.array(sampled)).mean() < 0.03


def test_damaged_topics_are_refused(animals_and_money: FoltzLda, tmp_path: Path) -> None:
    from dataclasses import replace

    assert animals_and_money.learned is not None
    broken = FoltzLda(FoltzLda.Settings(topics=2))
    broken.learned = replace(animals_and_money.learned, word_ends=animals_and_money.learned.word_ends[:-1])
    broken.save(tmp_path / "m")
    with pytest.raises(ModelError, match="do not fit together"):
        FoltzLda.load(tmp_path / "m")


# Years ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "year"),
    [
        ("In 1812 war came.", 1812),
        ("From 1999 to 2004.", 1999),
        ("It cost $1,500.", None),
        ("Route 12345 closed.", None),
        ("The year 2150.", None),
        ("Founded 1066.", 1066),
        ("(1901–1910)", 1901),
        ("No year here.", None),
        ("It weighs 1500.5 kg.", None),
    ],
)
def test_first_year(sentence: str, year: int | None) -> None:
    assert first_year(sentence) == year


def test_undated_sentences_go_in_the_middle() -> None:
    text = Document("d", ("Nobody knows when.", "In 1990.", "In 1910.", "In 1950."))
    order = YearSort().arrange(text)
    assert [i for i in order if i] == [2, 3, 1]
    assert order.index(0) in {1, 2}


def test_the_year_score_is_the_share_of_ascending_pairs() -> None:
    scores = YearSort().score(
        [
            Document("up", ("In 1900.", "x", "In 1910.", "In 1920.")),
            Document("mixed", ("In 1910.", "In 1900.", "In 1920.")),
            Document("same", ("In 1910.", "In 1910.")),
        ]
    )
    assert [score.value for score in scores] == [1.0, pytest.approx(2 / 3), 0.0]
