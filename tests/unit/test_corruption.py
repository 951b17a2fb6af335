from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.scorers import synthetic

from weft.corpora.corruption import hash_order, permutations, replacements
from weft.corpora.negatives import corrupt_file
from weft.corpora.readers import read_documents, read_permuted
from weft.document import Document
from weft.errors import CorpusError


def test_permutations_never_change() -> None:
    """Golden: every published result rests on these."""
    assert permutations(Document("d", ("a", "b", "c", "d", "e")), count=3, seed=1) == (
        (0, 4, 2, 1, 3),
        (3, 1, 0, 2, 4),
        (1, 4, 3, 0, 2),
    )


def test_permutations_are_distinct_seeded_and_never_the_original() -> None:
    document = synthetic(1, 10)[0]
    orders = permutations(document, count=20, seed=1)
    assert len(set(orders)) == 20
    assert all(sorted(order) == list(range(10)) for order in orders)
    assert tuple(range(10)) not in orders
    assert orders == permutations(document, count=20, seed=1)
    assert orders != permutations(document, count=20, seed=2)
    assert orders != permutations(Document("other", document.sentences), count=20, seed=1)
    assert orders[:5] == permutations(document, count=5, seed=1)


def test_short_texts_have_fewer_permutations() -> None:
    assert permutations(Document("d", ())) == ()
    assert permutations(Document("d", ("a",))) == ()
    assert len(permutations(Document("d", ("a", "b", "c")))) == 5


def test_equal_sentences_make_no_fake_negatives() -> None:
    assert permutations(Document("d", ("a", "a", "a"))) == ()
    texts = {tuple("aab"[i] for i in order) for order in permutations(Document("d", ("a", "a", "b")))}
    assert texts == {("a", "b", "a"), ("b", "a", "a")}


def test_hash_orders_are_uniform() -> None:
    counts = Counter(hash_order(3, seed) for seed in range(6000))
    assert len(counts) == 6
    assert all(abs(count - 1000) < 120 for count in counts.values())  # four standard deviations


def test_replacements_come_from_elsewhere_or_from_the_same_document() -> None:
    document = synthetic(1, 6)[0]
    pool = ["foreign one", "foreign two", *document.sentences]
    for changed in replacements(document, pool, count=6):
        assert changed.sentence not in document.sentences
        assert changed.document.sentences[changed.position] == changed.sentence
        differing = [a != b for a, b in zip(document.sentences, changed.document.sentences, strict=True)]
        assert sum(differing) == 1
    assert {changed.position for changed in replacements(document, pool, count=6)} == set(range(6))
    for changed in replacements(document, document.sentences, count=6):
        assert changed.sentence in document.sentences
        assert changed.sentence != document.sentences[changed.position]


def test_a_pool_without_another_sentence_is_refused() -> None:
    with pytest.raises(CorpusError, match="no sentence to replace with"):
        replacements(Document("d", ("a",)), ["a"])


def test_corrupt_file_writes_what_the_readers_read(tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_text("One cat sat.\nTwo dogs ran.\nThree birds sang.\n\nFour.\nFive.\n", encoding="utf-8")
    from weft.corpora.readers import ReadOptions

    written = corrupt_file(
        source, tmp_path / "out.jsonl", permutations_each=4, replacements_each=2, options=ReadOptions(format="lines")
    )
    assert written == 6
    items = list(read_permuted(tmp_path / "out.jsonl"))
    assert [len(item.orders) for item in items] == [4, 0, 0, 1, 0, 0]
    originals = list(read_documents(source, ReadOptions(format="lines")))
    assert items[0].document.sentences == originals[0].sentences


def test_a_failed_corruption_leaves_nothing(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"sentences": ["a", "b"]}\n{"oops": 1}\n', encoding="utf-8")
    with pytest.raises(CorpusError):
        corrupt_file(source, tmp_path / "out.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]
