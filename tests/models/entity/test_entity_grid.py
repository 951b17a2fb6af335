"""Entity grids: roles, columns, transitions, the two models and their searches, against slow and obvious code."""

from __future__ import annotations

import random
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.parsers import MarkedParser, marked

from weft.corpora.syntax.parsed_sentence import ParsedSentence
from weft.document import Document
from weft.errors import ConfigError, CorpusError, ModelError
from weft.hub import load_model
from weft.models.common.pairwise_ranker import learn_ranking
from weft.models.entity.entity_grid import EntityGrid
from weft.models.entity.generative_grid import EntityGridGenerative
from weft.models.entity.grid import SparseGrid, build_grid
from weft.models.entity.grid_order_search import GridOrderSearch
from weft.models.entity.mentions import find_mentions
from weft.models.entity.transition_weights import TransitionWeights, has_score
from weft.models.entity.transitions import (
    BASE,
    END,
    FIRST_TIME,
    START,
    Reals,
    WindowOptions,
    count_transitions,
    count_windows,
    find_windows,
    transition_shares,
)
from weft.ordering.order import order_document
from weft.protocols import OrderScorer, SearchableModel
from weft.registry import create_model

CHAIN = ("dog/nsubj", "dog/nsubj cat/dobj", "cat/nsubj bird/pobj", "bird/nsubj", "rain/nsubj")
TEXTS = [Document(f"t{n}", CHAIN) for n in range(6)]


# Mentions -------------------------------------------------------------------------------------------------------------


def test_roles_follow_the_phrase_and_the_highest_wins() -> None:
    words = ("Charles", "Kuykendall", "and", "Smith", "saw", "the", "flight", "plan", "of", "Smith")
    tags = ("NNP", "NNP", "CC", "NNP", "VBD", "DT", "NN", "NN", "IN", "NNP")
    heads = (1, 4, 1, 1, 4, 7, 7, 4, 7, 8)
    labels = ("compound", "nsubj", "cc", "conj", "ROOT", "det", "compound", "dobj", "prep", "pobj")
    parse = ParsedSentence(words, tags, heads, labels)
    assert find_mentions(parse) == {"charles": 3, "kuykendall": 3, "smith": 3, "flight": 2, "plan": 2}
    assert set(find_mentions(parse, syntax=False).values()) == {1}
    assert find_mentions(parse, nouns="heads") == {"kuykendall": 3, "smith": 3, "plan": 2}


def test_passive_subjects_are_subjects_and_predicates_objects() -> None:
    assert find_mentions(marked("report/nsubjpass ended/ROOT/VBN")) == {"report": 3}
    parse = marked("this/nsubj/DT is/ROOT/VBZ information/attr he/pobj/PRP")
    assert find_mentions(parse) == {"information": 2, "he": 1}


@pytest.mark.parametrize(
    ("role", "labels"),
    [
        (3, ("nsubj", "nsubjpass", "csubj")),
        (2, ("dobj", "iobj", "dative", "attr")),
        (1, ("pobj", "appos", "npadvmod", "poss", "ROOT", "dep", "unheard-of")),
    ],
)
def test_every_label_has_its_role(role: int, labels: tuple[str, ...]) -> None:
    for label in labels:
        assert find_mentions(marked(f"dog/{label}")) == {"dog": role}
        for inside in ("compound", "nn", "nmod", "conj"):
            parse = ParsedSentence(("big", "dog"), ("NN", "NN"), (1, 1), (inside, label))
            assert find_mentions(parse) == {"big": role, "dog": role}
            heads = {"big": role, "dog": role} if inside == "conj" else {"dog": role}
            assert find_mentions(parse, nouns="heads") == heads


def test_nouns_and_personal_pronouns_are_entities_and_nothing_else() -> None:
    tags = ("NN", "NNS", "NNP", "NNPS", "PRP", "PRP$", "VB", "JJ", "DT", "CD", "WP")
    parse = ParsedSentence(tags, tags, (0,) * len(tags), ("dobj",) * len(tags))
    assert list(find_mentions(parse)) == ["nn", "nns", "nnp", "nnps", "prp"]


def test_marks_are_no_entities_and_plurals_join_where_asked() -> None:
    parse = marked("--/dobj quakes/dobj/NNS quake/nsubj")
    assert find_mentions(parse) == {"quakes": 2, "quake": 3}
    assert find_mentions(parse, plurals=True) == {"quake": 3}


def test_a_circle_in_a_parse_does_no_harm() -> None:
    assert find_mentions(ParsedSentence(("a", "b"), ("NN", "NN"), (1, 0), ("compound", "compound"))) == {"a": 1, "b": 1}


# Transitions ----------------------------------------------------------------------------------------------------------


def random_mentions(chance: random.Random) -> list[dict[str, int]]:
    return [
        {chance.choice("abcd"): chance.randint(1, 3) for _ in range(chance.randint(0, 3))}
        for _ in range(chance.randint(2, 6))
    ]


def random_options(chance: random.Random) -> WindowOptions:
    return WindowOptions(chance.choice([0, 2, 3]), *(chance.random() < 0.5 for _ in range(3)))


def slow_counts(mentions: list[dict[str, int]], order: list[int], length: int, options: WindowOptions) -> Reals:
    counts = np.zeros((options.classes, BASE**length))
    for entity in {name for found in mentions for name in found}:
        cells, seen = [], False
        for sentence in order:
            role = mentions[sentence].get(entity, 0)
            cells.append(role + FIRST_TIME * (options.first_mentions and role > 0 and not seen))
            seen = seen or role > 0
        cells = [START] * ((length - 1) * options.start) + cells + [END] * ((length - 1) * options.end)
        frequency = sum(entity in found for found in mentions)
        for at in range(len(cells) - length + 1):
            code = sum(cell * BASE ** (length - 1 - place) for place, cell in enumerate(cells[at : at + length]))
            counts[int(options.salience > 1 and frequency >= options.salience), code] += 1
    return counts


@pytest.mark.parametrize("seed", range(60))
def test_both_ways_of_counting_agree_with_slow_code(seed: int) -> None:
    chance = random.Random(seed)
    mentions, options = random_mentions(chance), random_options(chance)
    grid, length = build_grid(mentions), chance.choice([2, 3])
    orders = [chance.sample(range(len(mentions)), len(mentions)) for _ in range(3)]
    expected = [slow_counts(mentions, order, length, options) for order in orders]
    sparse = count_windows(find_windows(grid, orders, length, options), len(orders), length)
    dense, totals = count_transitions(grid, orders, length, options)
    assert (sparse == np.array(expected)).all()
    assert (dense == sparse).all()
    assert totals.tolist() == expected[0].sum(axis=1).tolist()


def random_weights(chance: random.Random, options: WindowOptions, seed: int) -> TransitionWeights:
    numbers = np.random.default_rng(seed)
    lengths = chance.choice([(2,), (3,), (2, 3), (4,)])
    tables = {length: numbers.normal(size=(options.classes, BASE**length)) for length in lengths}
    return TransitionWeights(tables, options, chance.random() < 0.5)


@pytest.mark.parametrize("seed", range(60))
def test_scores_parts_and_searches_agree(seed: int) -> None:
    chance = random.Random(seed)
    mentions, options = random_mentions(chance), random_options(chance)
    grid, weights, size = build_grid(mentions), random_weights(chance, options, seed), len(mentions)
    if not has_score(grid):
        assert weights.score(grid).value is None
        return
    orders = [chance.sample(range(size), size) for _ in range(3)]
    values = weights.values(grid, orders)
    score = weights.score(grid)
    assert score.value == pytest.approx(weights.values(grid, [range(size)])[0])
    assert score.value == pytest.approx(np.mean(score.transitions))
    steps = GridOrderSearch(weights, grid)
    totals = steps.begin([order[0] for order in orders])
    for place in range(1, size):
        nexts = [order[place] for order in orders]
        totals = totals + steps.gains()[range(3), nexts]
        steps.keep(range(3), nexts)
    assert totals + steps.expected.sum() == pytest.approx(values)


def test_an_order_that_leaves_sentences_out_is_a_text_of_its_own() -> None:
    mentions = [{"a": 3}, {"a": 2, "b": 1}, {"b": 3}, {"c": 3}]
    weights = random_weights(random.Random(1), WindowOptions(2, True, True), 1)
    some = weights.order_scores(build_grid(mentions), [(2, 0, 1), (0, 1, 2, 3)])
    alone = weights.score(build_grid([mentions[2], mentions[0], mentions[1]]))
    assert some[0] == pytest.approx(alone.value)
    assert some[1] == pytest.approx(weights.score(build_grid(mentions)).value)


def test_equal_orders_tie_exactly() -> None:
    mentions = [{"a": 3, "b": 1}, {"a": 3, "b": 1}, {"a": 2}, {"c": 3}]
    weights = random_weights(random.Random(2), WindowOptions(2, True, True), 2)
    one, other = weights.values(build_grid(mentions), [(0, 2, 1, 3), (1, 2, 0, 3)])
    assert one == other


# Models ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(params=[EntityGrid, EntityGridGenerative])
def model(request: pytest.FixtureRequest) -> EntityGrid | EntityGridGenerative:
    built: EntityGrid | EntityGridGenerative = request.param()
    return built.with_parser(MarkedParser()).fit(TEXTS)


def test_it_prefers_what_it_learned_from(model: EntityGrid | EntityGridGenerative) -> None:
    assert isinstance(model, OrderScorer) and isinstance(model, SearchableModel)
    whole, shuffled = model.order_scores(TEXTS[0], [range(5), (3, 0, 4, 1, 2)])
    assert whole is not None and shuffled is not None and whole > shuffled
    found = order_document(model, TEXTS[0].reorder([2, 4, 1, 0, 3]), first=3, search="beam")
    assert [TEXTS[0].reorder([2, 4, 1, 0, 3]).sentences[i] for i in found.order][:3] == list(CHAIN[:3])


def test_permutations_parse_a_sentence_once(model: EntityGrid | EntityGridGenerative) -> None:
    parser = MarkedParser()
    model.with_parser(parser)
    model.order_scores(TEXTS[0], [(0, 1, 2, 3, 4)] * 50)
    assert parser.parsed == 5


@pytest.mark.parametrize("sentences", [(), ("dog/nsubj",), ("ran/ROOT/VBD", "sat/ROOT/VBD", "so/advmod/RB")])
def test_nothing_to_judge_is_null(model: EntityGrid | EntityGridGenerative, sentences: tuple[str, ...]) -> None:
    document = Document("d", sentences)
    assert model.score([document])[0].value is None
    assert model.order_scores(document, [range(len(sentences))]) == [None]
    assert sorted(order_document(model, document).order) == list(range(len(sentences)))


def test_a_text_without_verbs_has_a_score(model: EntityGrid | EntityGridGenerative) -> None:
    assert model.score([Document("d", ("dog cat", "cat bird", "bird"))])[0].value is not None


def test_what_cannot_be_learned_from_is_said(model: EntityGrid | EntityGridGenerative) -> None:
    for texts in ([], [Document("d", ("dog/nsubj",))], [Document("d", ("ran/ROOT/VBD",) * 4)]):
        with pytest.raises(CorpusError, match="not enough text to learn from.*saw.*next"):
            model.fit(texts)


def test_texts_that_equal_their_permutations_teach_nothing() -> None:
    with pytest.raises(CorpusError, match="not enough text to learn from"):
        EntityGrid().with_parser(MarkedParser()).fit([Document("d", ("dog/nsubj",) * 4)])


def test_memory_grows_with_the_mentions_and_not_with_the_cells() -> None:
    """10,000 sentences and 20,000 entities: the full table would have 200 million cells."""
    mentions = [{f"rare{n}": 1, f"other{n}": 2, f"often{n % 40}": 3} for n in range(10_000)]
    weights = EntityGrid().with_parser(MarkedParser()).fit(TEXTS)._trained()
    tracemalloc.start()
    grid = build_grid(mentions)
    score = weights.score(grid)
    values = weights.values(grid, [range(10_000)])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(grid.names) == 20_040
    assert score.value == pytest.approx(values[0])
    assert peak < 100 * 2**20


def test_saved_and_loaded(model: EntityGrid | EntityGridGenerative, tmp_path: Path) -> None:
    model.save(tmp_path / "m", training={"seed": 1})
    again = load_model(tmp_path / "m")
    assert isinstance(again, type(model))
    again.with_parser(MarkedParser())
    assert again.score(TEXTS) == model.score(TEXTS)
    other = load_model(tmp_path / "m", {"parser": "weft-parser"})
    assert isinstance(other, type(model)) and other.settings.parser == "weft-parser"
    with pytest.raises(ConfigError, match="fixed"):
        load_model(tmp_path / "m", {"salience": 3})


def test_weights_that_do_not_fit_are_refused(model: EntityGrid | EntityGridGenerative, tmp_path: Path) -> None:
    vars(model)["settings"] = model.settings.changed({"salience": 0})  # one class of entities, and weights for two
    model.save(tmp_path / "m")
    with pytest.raises(ModelError, match="do not fit together"):
        load_model(tmp_path / "m")


def test_first_mentions_are_told_apart() -> None:
    grid = build_grid([{"a": 3}, {"a": 3}, {"a": 2}])
    counts, _ = count_transitions(grid, [(0, 1, 2), (2, 1, 0)], 2, WindowOptions(0, first_mentions=True))
    found = [{divmod(int(code), BASE) for code in row[0].nonzero()[0]} for row in counts]
    assert found == [{(3 + FIRST_TIME, 3), (3, 2)}, {(2 + FIRST_TIME, 3), (3, 3)}]


def test_probabilities_sum_to_one() -> None:
    model = EntityGridGenerative(EntityGridGenerative.Settings(history=2)).with_parser(MarkedParser()).fit(TEXTS)
    assert model.weights is not None
    table = np.exp(model.weights.tables[3]).reshape(2, BASE, BASE, BASE)[:, [0, 1, 2, 3, START]]
    assert table[:, :, :4, :4].sum(axis=-1) == pytest.approx(1.0, abs=1e-5)


def test_a_switch_must_be_one() -> None:
    with pytest.raises(ConfigError, match="boundaries"):
        create_model("entity-grid", {"boundaries": "yes"})


# Ranking --------------------------------------------------------------------------------------------------------------


def test_the_ranker_finds_the_feature_that_decides() -> None:
    numbers = np.random.default_rng(3)
    rows = numbers.normal(size=(200, 5))
    rows[:, 2] = np.abs(rows[:, 2]) + 0.5
    found = learn_ranking(rows, np.repeat(np.arange(20), 10))
    assert int(np.abs(found.weights).argmax()) == 2
    assert found.accuracy is not None and found.accuracy > 0.95
    noise = learn_ranking(numbers.normal(size=(400, 5)), np.repeat(np.arange(40), 10))
    assert noise.accuracy is not None and noise.accuracy < 0.7  # texts that were left out say so


# The authors' own grids -----------------------------------------------------------------------------------------------


@pytest.mark.shared
def test_our_grids_are_like_barzilay_and_lapatas(shared_data: Path) -> None:
    pytest.importorskip("spacy", reason="the extra `parse` is not installed")
    from benchmarks.entity_agreement import agreement, read_grids

    from weft.corpora.readers.formats import read_documents
    from weft.corpora.syntax.parser import find_parser

    folder = shared_data / "barzilay_lapata"
    grids = read_grids(folder / "raw_texts_and_grids.tar.gz")
    documents = list(read_documents(folder / "accidents.train.jsonl"))[:20]
    compared = [(one, grids["ntsb", "train", one.id]) for one in documents]
    found = agreement([(one, grid) for one, grid in compared if len(grid) == len(one)], find_parser("weft-parser"), {})
    assert found["mention_f1"] > 0.92
    assert found["role_accuracy_where_both_have_one"] > 0.84
    assert found["cells_alike"] > 0.96


def test_a_grid_is_written_as_the_authors_do() -> None:
    grid = build_grid([{"dog": 3}, {"cat": 2}])
    assert grid.rows() == ["dog S -", "cat - O"]
    assert isinstance(grid.restricted([1]), SparseGrid) and grid.restricted([1]).rows() == ["cat O"]


# Classes, weights and parts of a grid ---------------------------------------------------------------------------------

GRID = build_grid([{"a": 3, "b": 1}, {"a": 2, "c": 3}, {"d": 1, "a": 1}, {"b": 2}])


@pytest.mark.parametrize(("salience", "classes"), [(0, 1), (1, 1), (2, 2)])
def test_one_class_of_entities_where_all_would_be_salient(salience: int, classes: int) -> None:
    options = WindowOptions(salience)
    assert options.classes == classes
    assert len(set(options.class_of(GRID).tolist())) == classes


def test_shares_are_of_the_transitions_of_a_class() -> None:
    shares = transition_shares(GRID, [range(4)], 2, WindowOptions())
    assert shares.sum(axis=2) == pytest.approx(np.ones((1, 2)))


@pytest.mark.parametrize(("by_class", "value"), [(True, 2.0), (False, 1.0)])
def test_weights_count_for_shares_of_a_class_or_of_all(by_class: bool, value: float) -> None:
    weights = TransitionWeights({2: np.ones((2, BASE**2))}, WindowOptions(), by_class)
    assert weights.values(GRID, [range(4)]) == pytest.approx([value])
    assert weights.score(GRID).value == pytest.approx(value)


def test_the_generative_grid_sees_the_beginning_and_not_the_end() -> None:
    assert EntityGridGenerative(EntityGridGenerative.Settings(salience=3)).options == WindowOptions(
        3, start=True, end=False
    )


def test_without_syntax_two_things_are_possible_in_a_cell() -> None:
    texts = [Document(str(n), ("dog/nsubj", "dog/dobj cat/nsubj", "cat/pobj")) for n in range(3)]
    model = (
        EntityGridGenerative(EntityGridGenerative.Settings(syntax=False, history=1))
        .with_parser(MarkedParser())
        .fit(texts)
    )
    assert model.weights is not None
    table = np.exp(model.weights.tables[2]).reshape(2, BASE, BASE)
    assert table[:, :2, :2].sum(axis=2) == pytest.approx(np.ones((2, 2)), abs=1e-5)


def test_some_sentences_of_a_grid_are_the_grid_of_these_sentences() -> None:
    rows = [{"a": 3, "b": 1}, {"a": 2, "c": 3}, {"d": 1, "a": 1}, {"b": 2}]
    found, alone = GRID.restricted([3, 2, 0]), build_grid([rows[3], rows[2], rows[0]])
    assert sorted(found.rows()) == sorted(alone.rows())
    assert (np.diff(found.entity) >= 0).all()
    assert all(np.all(np.diff(found.sentence[found.entity == entity]) > 0) for entity in range(len(found.names)))
