"""The entity graph against slow and obvious code."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.helpers.parsers import MarkedParser

from weft.corpora.syntax.parsed_sentence import ParsedSentence
from weft.document import Document
from weft.hub import load_model
from weft.models.entity import entity_graph
from weft.models.entity.entity_graph import PROJECTIONS, EntityGraph, GraphOrderSearch, graph_scores
from weft.models.entity.grid import build_grid
from weft.models.entity.mentions import find_mentions, find_shared
from weft.ordering.order import order_document

CHAIN = Document("d", ("dog/nsubj", "dog/nsubj cat/dobj", "cat/nsubj bird/pobj", "bird/nsubj"))


def slow_score(mentions: list[dict[str, int]], projection: str, distance: bool) -> float:
    total = 0.0
    for i, one in enumerate(mentions):
        for j in range(i + 1, len(mentions)):
            shared = one.keys() & mentions[j].keys()
            weight = {
                "p_u": float(bool(shared)),
                "p_w": float(len(shared)),
                "p_acc": float(sum(one[name] * mentions[j][name] for name in shared)),
            }[projection]
            total += weight / (j - i) if distance else weight
    return total / len(mentions)


def random_mentions(seed: int) -> list[dict[str, int]]:
    chance = random.Random(seed)
    size = chance.randint(2, 7)
    found = [{chance.choice("abcde"): chance.randint(1, 3) for _ in range(chance.randint(0, 3))} for _ in range(size)]
    return [{"a": 1}, *found]


@pytest.mark.parametrize("cells", [4, 2**20])
@pytest.mark.parametrize("seed", range(20))
def test_all_projections_agree_with_slow_code(seed: int, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entity_graph, "CELLS_AT_ONCE", cells)  # few: sparse, and a sentence at a time
    mentions = random_mentions(seed)
    grid = build_grid(mentions)
    six = graph_scores(grid.shared(), grid.size)
    for projection in PROJECTIONS:
        for distance in (False, True):
            score = EntityGraph(EntityGraph.Settings(projection=projection, distance=distance)).score_grid(grid)
            assert score.value == pytest.approx(slow_score(mentions, projection, distance))
            assert score.value == pytest.approx(np.mean(score.transitions))
            assert six[projection + "_dist" * distance] == pytest.approx(score.value)


@pytest.mark.parametrize("options", [{}, {"syntax": False}, {"nouns": "heads"}, {"plurals": True}])
@pytest.mark.parametrize("seed", range(10))
def test_what_is_shared_is_what_the_grid_has_more_than_once(seed: int, options: dict[str, Any]) -> None:
    chance = random.Random(seed)
    words = ("dog", "Dog", "dogs", "cat", "--", "3rd", "ran/ROOT/VBD", "he/nsubj/PRP")
    labels = ("nsubj", "dobj", "pobj", "compound", "conj")
    parses = []
    for _ in range(chance.randint(1, 6)):
        chosen = [chance.choice(words) for _ in range(chance.randint(0, 6))]
        marked = [word if "/" in word else f"{word}/{chance.choice(labels)}/NNS" for word in chosen]
        [parse] = MarkedParser().parse([" ".join(marked)])
        heads = tuple(chance.randrange(len(parse)) for _ in parse.heads)
        parses.append(ParsedSentence(parse.words, parse.tags, heads, parse.labels))
    grid = build_grid([find_mentions(parse, **options) for parse in parses])
    assert sorted(find_shared(parses, **options)) == sorted(grid.shared())


def test_six_scores_of_a_text() -> None:
    model = EntityGraph(EntityGraph.Settings(nouns="heads")).with_parser(MarkedParser())
    six = model.six_scores(CHAIN)
    for projection in PROJECTIONS:
        for distance in (False, True):
            one = EntityGraph(
                EntityGraph.Settings(nouns="heads", projection=projection, distance=distance)
            ).with_parser(MarkedParser())
            assert six[projection + "_dist" * distance] == pytest.approx(one.score([CHAIN])[0].value)
    assert set(model.six_scores(Document("d", ())).values()) == {0.0}


@pytest.mark.parametrize("projection", PROJECTIONS)
@pytest.mark.parametrize("seed", range(10))
def test_orders_and_searches_agree_with_the_score(seed: int, projection: str) -> None:
    mentions = random_mentions(seed)
    size, chance = len(mentions), random.Random(seed)
    orders = [chance.sample(range(size), size) for _ in range(3)]
    model = EntityGraph(EntityGraph.Settings(projection=projection))
    values = model._order_values(build_grid(mentions), orders)
    assert values == pytest.approx([slow_score([mentions[i] for i in order], projection, True) for order in orders])
    steps = GraphOrderSearch(build_grid(mentions), projection, True)
    totals = steps.begin([order[0] for order in orders])
    for place in range(1, size):
        nexts = [order[place] for order in orders]
        totals = totals + steps.gains()[range(3), nexts]
        steps.keep(range(3), nexts)
    assert totals == pytest.approx(values)


def test_without_distance_every_order_is_worth_the_same() -> None:
    model = EntityGraph(EntityGraph.Settings(distance=False)).with_parser(MarkedParser())
    values = model.order_scores(CHAIN, [(0, 1, 2, 3), (3, 0, 2, 1), (1, 3, 0, 2)])
    assert len(set(values)) == 1


def test_a_text_and_its_reverse_tie_exactly() -> None:
    model = EntityGraph().with_parser(MarkedParser())
    one, other, third = model.order_scores(CHAIN, [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
    assert one == other
    assert one is not None and third is not None and one > third


def test_an_order_that_leaves_sentences_out_is_a_text_of_its_own() -> None:
    model = EntityGraph().with_parser(MarkedParser())
    assert model.order_scores(CHAIN, [(0, 1, 2)]) == [model.score([CHAIN.reorder([0, 1, 2])])[0].value]


@pytest.mark.parametrize("sentences", [(), ("dog/nsubj",), ("ran/ROOT/VBD", "sat/ROOT/VBD")])
def test_nothing_to_judge_is_null(sentences: tuple[str, ...]) -> None:
    model, document = EntityGraph().with_parser(MarkedParser()), Document("d", sentences)
    assert model.score([document])[0].value is None
    assert model.order_scores(document, [range(len(sentences))]) == [None]
    assert sorted(order_document(model, document).order) == list(range(len(sentences)))


def test_neighbours_are_put_together() -> None:
    found = order_document(EntityGraph().with_parser(MarkedParser()), CHAIN.reorder([2, 0, 3, 1]), first=1)
    assert found.order == (1, 3, 0, 2)


def test_memory_stays_far_below_a_table_of_all_pairs() -> None:
    """10,000 sentences: a table of all pairs would take 800 MB."""
    mentions = [{f"rare{n}": 1, f"often{n % 400}": 3} for n in range(10_000)]
    tracemalloc.start()
    grid = build_grid(mentions)
    score = EntityGraph().score_grid(grid)
    six = graph_scores(grid.shared(), grid.size)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert score.value is not None and score.value > 0
    assert six["p_w_dist"] == pytest.approx(score.value)
    assert peak < 100 * 2**20


def test_saved_and_loaded(tmp_path: Path) -> None:
    EntityGraph(EntityGraph.Settings(projection="p_acc", distance=False)).save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert isinstance(again, EntityGraph)
    assert (again.settings.projection, again.settings.distance) == ("p_acc", False)
