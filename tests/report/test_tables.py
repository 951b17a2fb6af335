"""The paper's tables: which results stand in which row, in which order, and with which uncertainty."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.helpers.published_results import published_results

from weft.evaluation.metrics import bootstrap_interval
from weft.evaluation.result import Key, Result
from weft.report.paper_numbers import TABLES, PaperTable
from weft.report.row_groups import Group, groups_of
from weft.report.row_names import ADDED, AS_IN_PAPER, grid_variants
from weft.report.table_formats import Row, render
from weft.report.tables import build_table

PAIRS = "wikipedia-pairs"
SEEDS = (1, 2, 3)


def measured(task: str, model: str, variant: str, wins: Sequence[float] = (9.0, 8.0, 4.0), **facts: str) -> Result:
    parts = {"accuracy": {"numerators": list(wins), "denominators": [10.0] * len(wins)}}
    return Result(
        task, model, variant, {"accuracy": sum(wins) / 10 / len(wins)}, {"accuracy": [0.0, 1.0]}, len(wins), 30, 0, 0,
        1, facts.get("estimator", "exact"), "d", "h", "n", "", documents=[f"d{n}" for n in range(len(wins))],
        per_document=parts,
    )  # fmt: skip


def by_key(*results: Result) -> dict[Key, Result]:
    return {(one.task, one.model, one.variant): one for one in results}


def group(table: PaperTable, results: dict[Key, Result], label: str) -> Group:
    return next(one for one in groups_of(table, results) if one.label == label)


def rows_of(table: PaperTable, results: dict[Key, Result], label: str) -> list[Row]:
    return [row for row in build_table(table, results).rows if row.model == label]


def test_the_row_as_in_the_paper_comes_first_and_has_the_papers_number() -> None:
    variants = [f"mmi-{name}seed-{seed}" for name in ("paper-", "paper-contrast-") for seed in SEEDS]
    results = by_key(*(measured(PAIRS, "seq2seq", variant) for variant in (*variants, "mmi", "bi", "mmi-shards-1")))
    found = group(TABLES[1], results, "Seq2Seq (MMI)")
    assert [line.variant for line in found.lines] == ["mmi-paper", "mmi-paper-contrast", "mmi"]
    assert found.lines[0].name == AS_IN_PAPER
    first, *others = rows_of(TABLES[1], results, "Seq2Seq (MMI)")
    assert first.cells[0].value == found.values[0]
    assert all(row.cells[0].value is None for row in others)
    assert len({row.line for row in (first, *others)}) == 3


def test_weights_without_contrast_are_not_called_those_with_contrast() -> None:
    """A user's own run has the plain variant, as our rows with contrast have, and the weights of today's zoo."""
    ours, users = (
        by_key(replace(measured(PAIRS, "seq2seq", "mmi"), settings={"contrast": weight})) for weight in (4.0, 0.0)
    )
    assert "contrast" in group(TABLES[1], ours, "Seq2Seq (MMI)").lines[-1].name
    assert group(TABLES[1], users, "Seq2Seq (MMI)").lines[-1].name == "other weights"
    written = by_key(*(measured("adversarial", "vlv-gm", variant) for variant in ("mmi", "mmi-beam")))
    assert [line.name for line in group(TABLES[3], written, "VLV-GM (MMI)").lines] == [
        "beam search, trained as in the paper but with fixed encoders", "the best of ten samples",
    ]  # fmt: skip
    trained = {key: replace(one, settings={"contrast": 1.0}) for key, one in written.items()}
    assert group(TABLES[3], trained, "VLV-GM (MMI)").lines[0].name == "beam search"


def test_a_row_that_is_not_measured_yet_has_a_line_of_dashes() -> None:
    for table in TABLES[:3]:
        groups = groups_of(table, {})
        assert [one.label for one in groups] == [row.label for row in table.rows]
        assert all([line.name for line in one.lines] == [AS_IN_PAPER] for one in groups)
        assert all(cell.value is None for row in build_table(table, {}).rows for cell in row.cells[1:2])


def test_an_order_by_the_papers_objective_is_the_row_as_in_the_paper() -> None:
    task = "wikipedia-order"
    for variant in ("mmi-paper-seed-1", "mmi-coherence-paper-seed-1"):
        results = by_key(measured(task, "vlv-gm", variant), measured(task, "vlv-gm", "mmi"))
        lines = group(TABLES[2], results, "VLV-GM (MMI)").lines
        assert [line.variant for line in lines] == [variant.removesuffix("-seed-1"), "mmi"]


def test_models_that_the_table_does_not_have_come_last_by_model_and_combination() -> None:
    results = by_key(
        *(measured("accidents", "hmm-lda-gm", f"{way}-paper-seed-1") for way in ("uni", "mmi")),
        measured("accidents", "hmm-lda-gm", "mmi-paper-contrast-seed-1"),
        measured("accidents", "mine", ""),
    )
    *_, mmi, uni, mine = groups_of(TABLES[0], results)
    wikipedia = {row.way: row.label for row in TABLES[1].rows if row.model == "hmm-lda-gm"}
    assert [one.label for one in (mmi, uni, mine)] == [wikipedia["mmi"], wikipedia["uni"], "mine"]
    assert [line.variant for line in mmi.lines] == ["mmi-paper", "mmi-paper-contrast"]
    assert not mine.values


def test_every_result_of_the_repository_has_one_row_with_a_name_of_its_own() -> None:
    for table in TABLES[:3]:
        groups = groups_of(table, published_results())
        for one in groups:
            assert len({line.name for line in one.lines}) == len(one.lines), one.label
        lines = [(line.model, line.variant, line.domain) for one in groups for line in one.lines]
        assert len(lines) == len(set(lines))


def test_trainings_that_differ_between_domains_have_lines_of_their_own_and_no_average() -> None:
    results = by_key(*(measured(domain, "vlv-gm", "mmi") for domain in ("accidents", "earthquakes")))
    rows = rows_of(TABLES[0], results, "VLV-GM (MMI)")
    measured_cells = [[number for number, cell in enumerate(row.cells) if cell.value is not None] for row in rows]
    assert [len(numbers) for numbers in measured_cells] == [1, 1]
    assert measured_cells[0] != measured_cells[1]


def test_names_are_of_results_that_exist() -> None:
    for table in TABLES[:3]:
        for model, added in ADDED[table.number].items():
            lines = {line.name for one in groups_of(table, published_results()) for line in one.lines}
            assert {one.name for one in added} <= lines, model


def test_the_grid_has_a_table_of_its_own() -> None:
    variants = [*grid_variants(), *grid_variants("paper")]
    assert len(set(variants)) == 16
    results = by_key(*(measured("accidents", "discriminative", f"{variant}-seed-1") for variant in variants))
    lines = [line for one in groups_of(TABLES[0], results) for line in one.lines if line.model == "discriminative"]
    assert [line.variant for line in lines] == ["paper-window-4", "paper"]
    wikipedia = by_key(measured(PAIRS, "discriminative", "paper-likeness-seed-1"))
    assert len(group(TABLES[1], wikipedia, "Discriminative Model").lines) == 2


def test_documents_and_seeds_have_uncertainties_of_their_own() -> None:
    """The interval is of the mean over seeds of each document, as in comparisons."""
    wins = [[9.0, 8.0, 4.0, 10.0], [7.0, 8.0, 6.0, 10.0], [8.0, 5.0, 5.0, 9.0]]
    results = by_key(
        *(measured(PAIRS, "seq2seq", f"uni-paper-seed-{n}", one) for n, one in zip(SEEDS, wins, strict=True))
    )
    cell = rows_of(TABLES[1], results, "Seq2Seq (uni)")[0].cells[1]
    means = np.mean(wins, axis=0).tolist()
    assert cell.interval == pytest.approx(bootstrap_interval(means, [10.0] * 4))
    assert cell.value == pytest.approx(np.mean(wins) / 10)
    assert cell.spread == pytest.approx(np.std([sum(one) / 40 for one in wins], ddof=1))
    assert cell.seeds == 3


def test_one_training_has_no_spread() -> None:
    results = by_key(measured(PAIRS, "seq2seq", "uni-paper-seed-1"), measured(PAIRS, "seq2seq", "uni"))
    for row in rows_of(TABLES[1], results, "Seq2Seq (uni)"):
        assert row.cells[1].spread is None
        assert row.cells[1].value == pytest.approx(0.7)


def test_a_row_names_its_estimator_if_it_is_not_exact() -> None:
    results = by_key(measured(PAIRS, "vlv-gm", "bi-paper-seed-1", estimator="iwae-5"))
    (row,) = rows_of(TABLES[1], results, "VLV-GM (bi)")
    assert row.line.endswith("iwae-5")


def test_every_format_has_all_rows_and_all_numbers() -> None:
    table = build_table(TABLES[0], published_results())
    rows = list(csv.DictReader(io.StringIO(render(table, "csv"))))
    assert len(rows) == len(table.rows)
    assert all(row["model"] for row in rows)
    ours = next(row for row in rows if row["accidents, weft seeds"] == "5")
    assert 0 < float(ours["accidents, weft sd"]) < float(ours["accidents, weft low"]) < float(ours["accidents, weft"])
    markdown = render(table, "markdown").splitlines()
    assert len({line.count("|") for line in markdown}) == 1
    latex = [line for line in render(table, "latex").splitlines() if line.endswith(r"\\")]
    assert len({line.count("&") for line in latex}) == 1
    assert len(latex) == len(markdown) - 1 == len(table.rows) + 1
