"""Laws that hold for every input."""

from __future__ import annotations

import json
import math
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau
from tests.helpers.toy_language_model import CacheBigram

from weft.corpora.corrupt import write_negatives
from weft.corpora.negatives.permute import permutations
from weft.corpora.negatives.permuted_document import PermutedDocument
from weft.corpora.readers.formats import read_permuted
from weft.document import Document, Window
from weft.evaluation.metrics import kendall_tau
from weft.evaluation.result import Result
from weft.io.seeded_hash import hash_order
from weft.scoring.uni_bi_mmi import Scorer

orders = st.integers(2, 25).flatmap(lambda n: st.permutations(range(n)))
words = st.sampled_from(["a", "b", "c", "d", "e"])
sentences = st.lists(words, min_size=1, max_size=6).map(" ".join)
texts = st.lists(sentences, min_size=2, max_size=7).map(lambda s: Document("d", tuple(s)))
# What the readers keep as they are: no surrogates, no line breaks, nothing to strip.
plain = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20)


@given(orders)
def test_tau_is_scipys(order: list[int]) -> None:
    assert kendall_tau(order) == pytest.approx(kendalltau(range(len(order)), order).statistic)


@given(orders)
def test_tau_of_the_reverse_is_the_opposite(order: list[int]) -> None:
    tau, reverse = kendall_tau(order), kendall_tau(order[::-1])
    assert tau is not None
    assert reverse == pytest.approx(-tau)


@given(orders)
def test_reordering_and_undoing_it_gives_the_document_back(order: list[int]) -> None:
    document = Document("d", tuple(f"s{i}" for i in range(len(order))))
    undo = np.argsort(order).tolist()
    assert document.reorder(order).reorder(undo) == document


@given(texts, st.integers(0, 1000))
def test_permutations_keep_the_bag_and_change_the_text(document: Document, seed: int) -> None:
    for order in permutations(document, count=5, seed=seed):
        changed = document.reorder(order)
        assert sorted(changed.sentences) == sorted(document.sentences)
        assert changed.sentences != document.sentences


@given(st.integers(0, 30), st.integers(), st.text(max_size=5))
def test_hash_orders_are_orders(length: int, seed: int, name: str) -> None:
    assert sorted(hash_order(length, seed, name)) == list(range(length))


@settings(max_examples=60, deadline=None)
@given(texts, st.integers(0, 100))
def test_mmi_is_bi_plus_both_ends_plus_a_constant(document: Document, seed: int) -> None:
    """DESIGN trap 3: over permutations of one text, MMI·(N−1) = bi·(N−1) + ℓ(first) + ℓ(last) − 2·Σ ℓ."""
    forward, backward, prior = CacheBigram(["a b"]), CacheBigram(["b c d"]), CacheBigram(["e a"])
    order = hash_order(len(document), seed)
    permuted = document.reorder(order)
    mmi = Scorer(forward, backward, prior, "mmi").score([permuted])[0].value
    bi = Scorer(forward, backward, prior, "bi").score([permuted])[0].value
    per_token = [
        prior.log_prob([Window((), sentence)])[0] / prior.token_counts([sentence])[0] for sentence in permuted.sentences
    ]
    assert mmi is not None
    assert bi is not None
    steps = len(document) - 1
    assert mmi * steps == pytest.approx(bi * steps + per_token[0] + per_token[-1] - 2 * math.fsum(per_token))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(plain, min_size=2, max_size=6), min_size=1, max_size=4))
def test_negatives_survive_the_disk(bags: list[list[str]]) -> None:
    items = [
        PermutedDocument(document, permutations(document, count=3))
        for document in (Document(f"d{n}", tuple(bag), title="t") for n, bag in enumerate(bags))
    ]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "n.jsonl"
        write_negatives(path, items)
        assert list(read_permuted(path)) == items


@settings(max_examples=50, deadline=None)
@given(
    st.dictionaries(st.text(max_size=8), st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False))),
    st.lists(st.floats(-1, 1), max_size=5),
    st.text(max_size=20),
)
def test_results_survive_the_disk(metrics: dict[str, float | None], parts: list[float], command: str) -> None:
    result = Result(
        task="t", model="m", variant="", metrics=metrics, interval={"x": [0.1, 0.2], "y": None}, n_documents=1,
        n_pairs=2, ties=0, n_excluded=0, seed=1, estimator="exact", data_name="d", data_sha256="0", negatives_sha256="",
        command=command, documents=[f"d{n}" for n in range(len(parts))], lengths=[3] * len(parts),
        per_document={"x": {"numerators": parts, "denominators": parts}},
    )  # fmt: skip
    with TemporaryDirectory() as folder:
        path = result.save(folder)
        json.loads(path.read_text(encoding="utf-8"))
        assert Result.load(path) == result
