"""The estimates of log-probabilities side by side: scores, searches, and the benchmark of bounds."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from benchmarks.bounds import bounds, estimates, higher, report_of  # noqa: E402
from tests.helpers.guided_models import assembled  # noqa: E402

from weft.corpora.negatives.permuted_document import PermutedDocument  # noqa: E402
from weft.corpora.text.tokenizers import BpeTokenizer  # noqa: E402
from weft.document import Document  # noqa: E402
from weft.models.vlv.vlv_gm import VlvGm, VlvGmSettings  # noqa: E402
from weft.scoring.uni_bi_mmi import estimator_of  # noqa: E402

TEXTS = (
    ("a cat sat here", "the cat slept", "a dog ran away", "it barked"),
    ("the dog slept", "it ran here", "a cat barked"),
)
ORDERS = (((1, 0, 2, 3), (3, 2, 1, 0)), ((2, 1, 0),))


@pytest.fixture(scope="module")
def model() -> VlvGm:
    settings = VlvGmSettings(dimensions=8, hidden=12, layers=1, latent=3, width=10, samples=2, search_samples=3)
    tokenizer = BpeTokenizer.train([sentence for text in TEXTS for sentence in text], vocabulary_size=290)
    return assembled(VlvGm(settings), tokenizer, seed=2)


@pytest.fixture(scope="module")
def documents() -> list[PermutedDocument]:
    return [
        PermutedDocument(Document(str(number), text), orders)
        for number, (text, orders) in enumerate(zip(TEXTS, ORDERS, strict=True))
    ]


def test_a_bound_is_the_mean_over_sentences_and_both_directions(
    model: VlvGm, documents: list[PermutedDocument]
) -> None:
    found = bounds(model, documents)
    assert [len(one) for one in found] == [3, 2]  # the original and its permutations
    text, order = documents[0].document.sentences, [3, 2, 1, 0]
    (forward,) = model.predictors["forward"].log_probs(text, [order])
    (backward,) = model.predictors["backward"].log_probs(text, [order[::-1]])
    assert found[0][2] == pytest.approx((forward.mean() + backward.mean()) / 2)


def test_the_report_has_the_means_of_the_bounds_and_an_accuracy_for_each_combination(
    model: VlvGm, documents: list[PermutedDocument]
) -> None:
    reports, found = {}, {}
    for one in estimates(2, 3):
        chosen = model.adjusted({"estimator": one.kind, "samples": one.samples})
        reports[one.name], found[one.name] = report_of(chosen, documents, seed=1)
        values = found[one.name]
        assert reports[one.name]["originals"] == pytest.approx(np.mean([row[0] for row in values]))
        assert reports[one.name]["permutations"] == pytest.approx(np.mean([row[1:].mean() for row in values]))
        for combine in ("uni", "bi", "mmi"):
            low, high = reports[one.name][combine]["interval"]
            assert low <= reports[one.name][combine]["accuracy"] <= high
    assert len({report["originals"] for report in reports.values()}) == len(reports)
    for parts in zip(found["tighter-2"], found["prior-2"], found["iwae-2"], strict=True):
        tighter, prior, iwae = parts
        assert (tighter >= np.maximum(prior, iwae) - 1e-6).all()  # the higher one in each direction
    shares = higher(found["prior-2"], found["iwae-2"])
    assert all(0 <= share <= 1 for share in shares.values())


def test_a_search_with_the_tighter_estimate_is_one_with_the_prior(model: VlvGm) -> None:
    document = Document("d", TEXTS[0])
    tighter, prior = (model.adjusted({"estimator": kind}).combined("uni") for kind in ("tighter", "prior"))
    assert estimator_of(tighter) == "tighter-2"
    assert estimator_of(tighter, searching=True) == estimator_of(prior, searching=True) == "prior-3"
    one, other = (each.order_search(document) for each in (tighter, prior))
    for search in (one, other):
        search.begin([0, 2])
    assert one.gains() == pytest.approx(other.gains())
