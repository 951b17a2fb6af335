"""Negatives that change less than a permutation does: both ends kept, or a few sentences exchanged."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from itertools import permutations as all_orders
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.scorers import OracleTable, synthetic
from tests.helpers.zoo_models import WEFT_SMALL

from weft.corpora.negatives.permute import inner_permutations, permutations
from weft.corpora.negatives.permuted_document import PermutedDocument
from weft.corpora.negatives.swap import NEIGHBOURS, swapped_orders, swaps_name
from weft.document import Document
from weft.evaluation.discrimination import discriminate
from weft.evaluation.evaluate import evaluate
from weft.evaluation.task_contract import Subject
from weft.hub import load_model


def test_the_ends_stay_and_the_rest_is_permuted() -> None:
    (document,) = synthetic(1, 9)
    orders = inner_permutations(document, count=20, seed=3)
    assert len(set(orders)) == 20
    assert all(order[0] == 0 and order[-1] == 8 and sorted(order) == list(range(9)) for order in orders)
    assert orders == inner_permutations(document, count=20, seed=3) != inner_permutations(document, count=20, seed=4)
    assert all(order != tuple(range(9)) for order in orders)


@pytest.mark.parametrize(("size", "count"), [(0, 0), (1, 0), (3, 0), (4, 1), (5, 5)])
def test_short_texts_have_as_many_as_there_are(size: int, count: int) -> None:
    (document,) = synthetic(1, size)
    assert len(inner_permutations(document, count=20)) == count


def fewest_exchanges(order: tuple[int, ...]) -> int:
    """By trying: each exchange that puts a sentence where it belongs."""
    places, count = list(order), 0
    for place in range(len(places)):
        if places[place] != place:
            other = places.index(place)
            places[place], places[other] = places[other], places[place]
            count += 1
    return count


def test_swaps_are_counted_right() -> None:
    for order in all_orders(range(5)):
        if order == tuple(range(5)):
            continue
        moved = [place for place in range(5) if order[place] != place]
        beside = len(moved) == 2 and moved[1] == moved[0] + 1
        assert swaps_name(order) == (NEIGHBOURS if beside else f"swaps_{fewest_exchanges(order)}")


def test_every_kind_of_swap_gets_its_share() -> None:
    for document in synthetic(5, 16):
        orders = swapped_orders(document, count=20, seed=1)
        assert Counter(map(swaps_name, orders)) == dict.fromkeys(
            (NEIGHBOURS, "swaps_1", "swaps_2", "swaps_4", "swaps_8"), 4
        )
        assert len(set(orders)) == 20
        assert all(sorted(order) == list(range(16)) for order in orders)
    spread = Counter(
        place for d in synthetic(300, 16) for place, was in enumerate(swapped_orders(d)[4]) if place != was
    )
    assert len(spread) == 16  # every place takes part


def test_short_and_repetitive_texts_have_fewer_swaps() -> None:
    assert swapped_orders(Document("d", ())) == ()
    assert swapped_orders(Document("d", ("a",))) == ()
    assert swapped_orders(Document("d", ("a", "a", "a"))) == ()
    assert swapped_orders(Document("d", ("a", "b"))) == ((1, 0),)


def test_swaps_never_change() -> None:
    """Golden: published results rest on these."""
    document = Document("d", tuple("abcdefgh"))
    assert swapped_orders(document, count=5)[:3] == (
        (0, 1, 2, 4, 3, 5, 6, 7),
        (0, 1, 6, 3, 4, 5, 2, 7),
        (6, 1, 2, 3, 0, 5, 4, 7),
    )
    assert inner_permutations(Document("d", tuple("abcdef")), count=2) == ((0, 1, 3, 2, 4, 5), (0, 4, 2, 1, 3, 5))


def test_each_kind_is_a_measure_of_its_own() -> None:
    (document,) = synthetic(1, 16)
    items = [PermutedDocument(document, swapped_orders(document))]
    found = discriminate(OracleTable(), items, kind=swaps_name)
    assert {name: m.denominators for name, m in found.measures.items()} == {
        "accuracy": (20.0,), **dict.fromkeys((NEIGHBOURS, "swaps_1", "swaps_2", "swaps_4", "swaps_8"), (4.0,)),
    }  # fmt: skip
    assert all(m.numerators == m.denominators for m in found.measures.values())


@pytest.fixture
def texts(tmp_path: Path) -> str:
    """Texts that bring permutations of their own."""
    rows = [{"id": d.id, "sentences": list(d.sentences), "perms": [[2, 1, 0, 3, 4, 5]]} for d in synthetic(3, 6)]
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


def test_the_tasks_make_their_own_negatives(texts: str) -> None:
    subject = Subject(OracleTable(), "oracle")
    hashes = set()
    for task, pairs in (("wikipedia-pairs", 3), ("wikipedia-pairs-inner", 60), ("wikipedia-swaps", 48)):
        result = evaluate(task, subject, texts)
        assert result.n_pairs == pairs
        assert result.lengths == [6, 6, 6]
        hashes.add(result.negatives_sha256)
    assert len(hashes) == 3


def test_mmi_and_bi_agree_where_the_ends_stay() -> None:
    """What MMI adds to bi on a permutation is what a language model says of the two ends."""
    essay = (Path(__file__).parents[2] / "examples" / "essay.txt").read_text(encoding="utf-8")
    document = Document("essay", tuple(essay.replace("\n", " ").strip().split(". ")))
    model: Any = load_model(WEFT_SMALL)
    inner = [PermutedDocument(document, inner_permutations(document))]
    whole = [PermutedDocument(document, permutations(document))]
    gaps = []
    for items in (inner, whole):
        orders = [tuple(range(len(document))), *items[0].orders]
        ways = []
        for way in ("bi", "mmi"):
            table = model.combined(way).pair_table(document)
            ways.append([sum(table[a, b] for a, b in pairwise(order)) for order in orders])
        differences = [m - b for b, m in zip(*ways, strict=True)]
        gaps.append(max(differences) - min(differences))
    assert gaps[0] == pytest.approx(0, abs=1e-6)
    assert gaps[1] > 1
