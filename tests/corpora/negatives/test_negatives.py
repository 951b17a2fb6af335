from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest
from tests.helpers.scorers import synthetic

from weft.corpora.corrupt import corrupt_file
from weft.corpora.negatives.permute import permutations
from weft.corpora.negatives.permuted_document import PermutedDocument, Replacement, fingerprint_orders
from weft.corpora.negatives.replace import replace_sentence, replacements
from weft.corpora.negatives.slug_lines import drop_slug, slug_length
from weft.corpora.readers.formats import read_documents, read_permuted
from weft.document import Document
from weft.errors import CorpusError
from weft.io.seeded_hash import hash_order


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
        text = replace_sentence(document, changed)
        assert text.sentences[changed.position] == changed.sentence
        assert text.id == document.id
        differing = [a != b for a, b in zip(document.sentences, text.sentences, strict=True)]
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
    from weft.corpora.readers.formats import ReadOptions

    written = corrupt_file(
        source, tmp_path / "out.jsonl", permutations_each=4, replacements_each=2, options=ReadOptions(format="lines")
    )
    assert written == 2
    items = list(read_permuted(tmp_path / "out.jsonl"))
    assert [len(item.orders) for item in items] == [4, 1]
    originals = list(read_documents(source, ReadOptions(format="lines")))
    assert [item.document.sentences for item in items] == [document.sentences for document in originals]
    records = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    pool = [sentence for document in originals for sentence in document.sentences]
    for record, document in zip(records, originals, strict=True):
        assert not {"corrupted", "position"} & set(record)
        expected = replacements(document, pool, count=2, seed=1)
        assert record["replacements"] == [{"position": one.position, "sentence": one.sentence} for one in expected]
        assert not {one["sentence"] for one in record["replacements"]} & set(document.sentences)


def test_without_replacements_none_are_written(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"sentences": ["a", "b"]}\n', encoding="utf-8")
    corrupt_file(source, tmp_path / "out.jsonl")
    assert "replacements" not in (tmp_path / "out.jsonl").read_text(encoding="utf-8")


def test_replacements_are_drawn_from_all_of_the_pool() -> None:
    document = synthetic(1, 40)[0]
    pool = [f"foreign {n}" for n in range(50)]
    drawn = [one.sentence for one in replacements(document, pool, count=40)]
    assert set(drawn) <= set(pool)
    assert len(set(drawn)) > 20  # 28 expected
    assert max(Counter(drawn).values()) < 6


def test_a_long_document_is_given_foreign_sentences_too() -> None:
    document = synthetic(1, 1500)[0]
    assert {one.sentence for one in replacements(document, [*document.sentences, "foreign"], count=5)} == {"foreign"}


def test_a_replacement_outside_the_document_is_refused() -> None:
    for position in (-1, 1):
        with pytest.raises(CorpusError, match="points outside document d"):
            replace_sentence(Document("d", ("a",)), Replacement(position, "b"))


def test_the_fingerprint_covers_ids_orders_and_replacements() -> None:
    one = PermutedDocument(Document("a", ("x", "y")), ((1, 0),))
    variants = [
        one,
        PermutedDocument(Document("b", ("x", "y")), ((1, 0),)),
        PermutedDocument(one.document, ()),
        PermutedDocument(one.document, ((1, 0),), (Replacement(0, "z"),)),
        PermutedDocument(one.document, ((1, 0),), (Replacement(1, "z"),)),
        PermutedDocument(one.document, ((1, 0),), (Replacement(0, "w"),)),
        PermutedDocument(one.document, ((1, 0),), (Replacement(0, "z"), Replacement(1, "z"))),
    ]
    assert len({fingerprint_orders([item]) for item in variants}) == len(variants)
    # Golden: published results carry hashes of documents without replacements.
    assert fingerprint_orders([one]) == hashlib.sha256(b'["a", [[1, 0]]]').hexdigest()


def test_a_failed_corruption_leaves_nothing(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"sentences": ["a", "b"]}\n{"oops": 1}\n', encoding="utf-8")
    with pytest.raises(CorpusError):
        corrupt_file(source, tmp_path / "out.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


# Slug lines -----------------------------------------------------------------------------------------------------------


def test_slug_lines_end_at_the_dateline() -> None:
    slug, lead, rest = "BC-Quake|Quake Jolts Rome", "ROME (AP) It shook.", "No one fell."
    assert slug_length(Document("one", (slug, lead, rest))) == 1
    assert slug_length(Document("three", (slug, "No pickup..", "By A. B.", lead, rest))) == 3
    assert slug_length(Document("none", (slug, "It shook.", rest))) == 1
    assert slug_length(Document("joined", (f"{slug} {lead}", rest))) == 1
    assert slug_length(Document("late", (slug, rest, rest, rest, lead))) == 1


def test_a_permutation_that_only_moved_the_slug_is_left_out() -> None:
    report = Document("d", ("BC-Quake|Quake.", "ROME (AP) It shook.", "No one fell.", "The end."))
    short = drop_slug(PermutedDocument(report, ((1, 2, 0, 3), (3, 0, 2, 1), (1, 3, 0))))
    assert short.document == Document("d", report.sentences[1:])
    assert short.orders == ((2, 1, 0),)
