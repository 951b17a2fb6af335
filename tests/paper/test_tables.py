from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from paper.adversarial_tables import (
    by_every_evaluator,
    evaluator_accuracies,
    every_evaluator,
    ranked_systems,
    ranking_agreement,
    seed_spread,
    sentence_lengths,
)
from paper.benchmark_tables import benchmark_table, by_genre, is_benchmark
from paper.grid_tables import clear_changes, discriminative_grid, grid_change, grid_changes, grid_means
from paper.measured import PageError, signed
from paper.miniature_tables import PHENOMENA, miniature_scores, miniature_texts, probe_accuracies
from paper.result_tables import domains_ends_fixed, ends_fixed, runs, without_slug
from paper.table_details import models_behind, row_differences
from tests.helpers.published_results import published_results

from weft.evaluation.metrics import paired_bootstrap
from weft.evaluation.result import Key, Result
from weft.report.model_facts import load_facts
from weft.report.paper_numbers import PaperRow, PaperTable

ROOT = Path(__file__).parents[2]
ZOO, RESULTS = ROOT / "zoo", ROOT / "results"


TABLE = PaperTable(
    2, "a table", ("wikipedia",), (("wikipedia-pairs", "accuracy"),),
    (PaperRow("One", (0.9,), "one"), PaperRow("Two", (0.8,), "two"), PaperRow("Three", (0.7,), "three")),
)  # fmt: skip


def result(model: str, wins: list[float], variant: str = "", **changes: Any) -> Result:
    parts = {"accuracy": {"numerators": wins, "denominators": [10.0] * len(wins)}}
    made = Result(
        "wikipedia-pairs", model, variant, {"accuracy": sum(wins) / 10 / len(wins)}, {}, len(wins), 10, 0, 0, 1,
        "exact", "d", "h", "n", "", documents=[f"d{n}" for n in range(len(wins))], per_document=parts,
    )  # fmt: skip
    return replace(made, **changes)


def by_key(*results: Result) -> dict[Key, Result]:
    return {(one.task, one.model, one.variant): one for one in results}


def judged(model: str, variant: str, **adversuc: float) -> Result:
    """A result of Table 4 with the same AdverSuc for one, two and three sentences, by evaluator."""
    metrics = {f"{name}adversuc_{n}": value for name, value in adversuc.items() for n in (1, 2, 3)}
    return replace(result(model, [1.0], variant, task="adversarial"), metrics=metrics)


def test_adversuc_is_shown_by_every_evaluator_and_for_every_way_of_writing() -> None:
    """Also for rows that were not measured, and for evaluators that did not judge a row."""
    results = by_key(
        judged("vlv-gm", "mmi", **{"": 0.3, "second_": 0.2}),
        judged("vlv-gm", "mmi-beam", **{"": 0.02, "outside_": 0.01}),
    )
    lines = by_every_evaluator(results).splitlines()[2:]
    assert len(lines) == 6  # five systems of the paper by beam search, and one by sampling
    beam, sampled = lines[:2]
    assert ".020 / .020 / .020" in beam and ".010 / .010 / .010" in beam and ".200" not in beam
    assert ".300 / .300 / .300" in sampled and ".200 / .200 / .200" in sampled
    assert every_evaluator(results, "vlv-gm.mmi-sampled", "vlv-gm.mmi").count(".300") == 3
    assert every_evaluator(results, "seq2seq.mmi") == "–"


def test_a_row_is_compared_with_the_one_as_in_the_paper_and_with_the_next_model() -> None:
    first, third = [9.0, 8, 10, 4] * 10, [7.0, 8, 7, 4] * 10
    results = by_key(result("one", first, "paper"), result("one", third), result("three", third, "paper-seed-1"))
    lines = row_differences(TABLE, results).splitlines()[2:]
    assert [line.split(" | ")[0].removeprefix("| ")[:3] for line in lines] == ["One"]
    assert row_differences(TABLE, {}) == models_behind({}, []) == ""
    results |= by_key(result("two", first, "paper"))
    found = paired_bootstrap(first, third, [10.0] * 40)
    assert found.interval is not None
    cells = f"**{signed(found.difference)}** | [{signed(found.interval[0])}, {signed(found.interval[1])}] | < .001 |"
    own, same, last = row_differences(TABLE, results).splitlines()[2:]
    assert own.startswith("| One: ")
    assert same == "| One − Two | .000 | [.000, .000] | 1.000 |"
    assert last == f"| Two − Three | {cells}"


def test_rows_with_other_negatives_are_not_compared() -> None:
    wins = [9.0, 8, 10, 4]
    other = result("two", wins, "paper", negatives_sha256="other")
    assert row_differences(TABLE, by_key(result("one", wins, "paper"), other)) == ""


def test_the_models_of_the_tables_are_those_with_the_weights_that_were_measured() -> None:
    known, results = load_facts(RESULTS), published_results()
    lines = [line.split(" | ") for line in models_behind(results, known).splitlines()[2:]]
    names = {line[0].strip("| `"): line[1] for line in lines}
    assert len(names) == len(lines)
    assert names["weft-small"] == names["seq2seq-improved"] == "2, 3, 4"
    assert names["seq2seq-accidents"] == "1"
    trained_again = {key: replace(one, training={"command": "other"}) for key, one in results.items()}
    assert "`seq2seq`" not in models_behind(trained_again, known)


def test_negatives_of_other_tasks_stand_beside_those_of_the_table() -> None:
    for table in (ends_fixed, domains_ends_fixed, without_slug):
        text = table(published_results())
        header, _, *lines = text.splitlines()
        assert "paper," not in header
        assert all("[" in line.rsplit("|", 3)[1] for line in lines), "only rows that were measured"


def test_every_cell_of_the_grid_has_a_line() -> None:
    lines = discriminative_grid(published_results()).splitlines()[2:]
    assert len({line.split(" | ")[0] for line in lines}) == 8


def trainings(variant: str, *wins: float) -> list[Result]:
    """Trainings of a cell of the grid, each with the same number of wins on every document."""
    return [
        result("discriminative", [win] * 8, f"{variant}-seed-{n}", task="accidents") for n, win in enumerate(wins, 1)
    ]


def test_a_change_is_bold_if_neither_documents_nor_seeds_explain_it() -> None:
    """Every document gains in both cases; the seeds of one case overlap."""
    first = trainings("paper-window-4", 4.0, 5.0, 6.0, 5.0)
    clear = by_key(*first, *trainings("paper-window-4-likeness", 8.0, 9.0, 9.0, 8.0))
    found = grid_change(clear, "accidents", "likeness")
    assert found.clear and str(found) == "**+.350** [+.350, +.350] ± .050"
    assert clear_changes(clear, "accidents") == ["likeness of paper-window-4"]
    assert [str(mean) for mean in grid_means(clear, "accidents")] == [".500", ".850"]
    chance = by_key(*first, *trainings("paper-window-4-likeness", 9.0, 4.0, 5.0, 6.0))
    found = grid_change(chance, "accidents", "likeness")
    assert found.documents.significant and not found.clear and str(found).startswith("+.100 [")
    assert clear_changes(chance, "accidents") == []


def test_a_change_is_measured_beside_the_same_other_changes() -> None:
    cells = {"-max": (4.0, 5.0), "-permutation-max": (7.0, 8.0), "-likeness": (1.0, 2.0)}
    results = by_key(*(one for name, wins in cells.items() for one in trainings(f"paper-window-4{name}", *wins)))
    assert str(grid_change(results, "accidents", "permutation", "max")).startswith("+.300")
    lines = grid_changes(results).splitlines()[2:]
    assert len(lines) == 12
    measured = [line for line in lines if "+" in line]
    assert [line.split(" | ")[:2] for line in measured] == [
        ["| permutations instead of replaced centres", "maximum over states, no likeness"]
    ]
    with pytest.raises(PageError, match="no change likeness"):
        grid_change(results, "accidents", "likeness")


def test_trainings_of_one_model_share_a_line_of_the_runs() -> None:
    wins = [9.0, 8, 10, 4]
    _, _, *lines = runs(by_key(*(result("one", wins, f"paper-seed-{n}") for n in (1, 2, 3)))).splitlines()
    assert [line.split(" | ")[1:3] for line in lines] == [["one (paper)", "3"]]


def test_models_on_benchmarks_have_a_row_and_genres_have_a_line() -> None:
    metrics = {"accuracy.genre_mean": 0.5, "accuracy.lowest_genre": 0.4, "accuracy.news": 0.6, "accuracy.tale": 0.4}
    found = by_key(
        result("weft-small", [5.0], "mmi", task="genres-pairs", metrics=metrics),
        result("random", [5.0], task="nips-pairs"),
    )
    table = benchmark_table(found, ("g", "genres-pairs", "accuracy.genre_mean"), ("n", "nips-pairs", "accuracy"))
    assert table.splitlines()[2:] == ["| random | – | .500 |", "| weft-small (mmi) | .500 | – |"]
    assert by_genre(found, "genres-pairs", "accuracy").splitlines()[2:] == ["| news | .600 |", "| tale | .400 |"]


def test_the_page_of_benchmarks_shows_new_sets_and_no_old_ones() -> None:
    names = ("genres-order", "wikipedia-intruder", "cohesentia", "storycloze-2018", "discoeval-dc-chat")
    assert all(map(is_benchmark, names))
    assert not any(map(is_benchmark, ("wikipedia-order", "accidents", "probes", "adversarial")))


@pytest.mark.parametrize(("losses", "told_apart"), [(10, False), (4, True)])
def test_only_what_chance_does_not_explain_is_printed_bold(losses: int, told_apart: bool) -> None:
    """A p of .3 is not told apart, one of .01 is."""
    first = [9.0] * 16 + [5.0] * losses
    second = [5.0] * 16 + [9.0] * losses
    found = paired_bootstrap(first, second, [10.0] * len(first))
    assert (found.p_value < 0.05) is told_apart and found.p_value < 0.5
    text = row_differences(TABLE, by_key(result("one", first, "paper"), result("two", second, "paper")))
    difference = signed(found.difference)
    assert f"| {'**' + difference + '**' if told_apart else difference} |" in text


def adversarial(model: str, first: float, second: float, variant: str = "", **settings: Any) -> Result:
    metrics: dict[str, float | None] = {}
    for n in (1, 2, 3):
        metrics |= {f"adversuc_{n}": first, f"second_adversuc_{n}": second}
    return Result("adversarial", model, variant, metrics, {}, 1, 1, 0, 0, 1, "exact", "", "", "", "", settings)


def test_agreement_of_rankings() -> None:
    other_way = by_key(adversarial("a", 0.1, 0.3), adversarial("b", 0.2, 0.2), adversarial("control-human", 0.0, 0.0))
    assert ranking_agreement(other_way, "second") == "−1.000 / −1.000 / −1.000"
    pairs = [(0.1, 0.2), (0.2, 0.4), (0.3, 0.1), (0.4, 0.3)]
    unrelated = by_key(*(adversarial(name, *pair) for name, pair in zip("abcd", pairs, strict=True)))
    assert ranking_agreement(unrelated, "second") == ".000 / .000 / .000"
    assert ranking_agreement(unrelated, "informed") == "– / – / –"
    apart = adversarial("b", 0.3, 0.1, "apart", evaluator={"apart": True})
    assert len(ranked_systems(by_key(*other_way.values(), apart))) == 2, "no system is counted twice"


def test_speed_lengths_and_spread_over_seeds() -> None:
    seeds = {"1": {"adversuc": [0.2, 0.2]}, "3": {"adversuc": [0.1, 0.3]}}
    found = by_key(
        adversarial("a", 0.1, 0.3, sentences_per_second=1234.4, tokens_a_sentence=[32.3, 22.15], evaluators=seeds)
    )
    assert "| 1,234 |" in evaluator_accuracies(found)
    assert "22.1 (people 32.3)" in sentence_lengths(found)
    median, most, system = seed_spread(found)
    assert (str(median), str(most), system) == (".071", ".141", "a with 3")


def test_every_miniature_and_phenomenon_is_shown() -> None:
    text = miniature_scores(published_results())
    paper = next(line for line in text.splitlines() if line.startswith("| paper"))
    assert "1.79 / 0.84 ✓" in paper and "-1.35" in paper
    ours = next(line for line in text.splitlines() if line.startswith("| foltz-glove"))
    assert f"{ours.count('✓')} of 7" in ours and ours.count("✓") + ours.count("✗") == 7
    assert len(miniature_texts().splitlines()) == 7
    assert all(name in probe_accuracies(published_results()) for name in PHENOMENA)
