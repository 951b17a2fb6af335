"""Runs that are not the standard ones get results of their own, and never take the place of a published one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.published_results import published_results
from tests.helpers.scorers import synthetic

from weft.errors import ConfigError
from weft.evaluation.evaluate import evaluate
from weft.evaluation.evaluated_models import load_subjects
from weft.evaluation.result import Result
from weft.evaluation.task_contract import EvaluateOptions, Subject
from weft.evaluation.tasks import find_experiment, is_standard
from weft.registry import create_model
from weft.report.tables import load_results

ROOT = Path(__file__).parents[2]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(json.dumps({"id": d.id, "sentences": d.sentences}) for d in synthetic(8, 6)))
    return path


@pytest.mark.parametrize(
    ("task", "changes", "name"),
    [
        ("wikipedia-pairs", {}, "random.mmi.json"),
        ("wikipedia-pairs", {"limit": 5}, "random.mmi-limit-5.json"),
        ("wikipedia-order", {"limit": 5, "beam": 3}, "random.mmi-limit-5-beam-3.json"),
        ("wikipedia-pairs", {"beam": 3}, "random.mmi.json"),  # which this task has not
        ("wikipedia-pairs", {"permutations": 3}, "random.mmi-permutations-3.json"),
        ("wikipedia-insertion", {"seed": 2}, "random.mmi-seeded-2.json"),
    ],
)
def test_a_run_that_is_not_standard_has_a_file_of_its_own(
    corpus: Path, tmp_path: Path, task: str, changes: dict[str, Any], name: str
) -> None:
    subject = Subject(create_model("random"), "random", "mmi")
    usual = evaluate(task, subject, str(corpus)).save(tmp_path / "results")
    before = usual.read_bytes()
    path = evaluate(task, subject, str(corpus), EvaluateOptions(**changes)).save(tmp_path / "results")
    assert path.name == name
    assert usual.read_bytes() == before


def test_published_permutations_are_as_many_as_they_are() -> None:
    """On the data of these tasks the option does nothing, so that the run is the standard one."""
    assert find_experiment("pairs", "accidents").departures(EvaluateOptions(permutations=3)) == ""


def test_limited_runs_stay_out_of_the_tables() -> None:
    paths = sorted((ROOT / "results" / "adversarial").glob("*-limit-*.json"))
    assert paths
    assert not any(is_standard(Result.load(path)) for path in paths[:3])
    assert not [key for key in published_results() if "-limit-" in key[2]]


def test_a_models_own_permutations_or_beam_are_not_those_of_the_task() -> None:
    """entity-grid has learned from so many permutations, whatever the task is."""
    results = published_results()
    for task in ("miniatures", "probes"):
        assert results[task, "entity-grid", ""].settings["permutations"] != EvaluateOptions().permutations


@pytest.mark.parametrize("variant", ["../evil", "a/b", "..", ".hidden", "a\\b", "/etc/evil"])
def test_a_variant_never_leaves_the_results_folder(variant: str) -> None:
    with pytest.raises(ConfigError, match="file name"):
        load_subjects("pairs", "random", {}, variant=variant)


def test_a_run_on_part_of_the_data_is_in_no_table(tmp_path: Path) -> None:
    published = Path(__file__).parents[2] / "results"
    whole = next(iter(load_results(published).values()))
    whole.save(tmp_path / "whole")
    replace(whole, settings={**whole.settings, "limit": 5}).save(tmp_path / "part")
    assert len(load_results(tmp_path / "whole")) == 1
    assert load_results(tmp_path / "part") == {}


def test_another_training_of_a_class_has_a_file_of_its_own(corpus: Path, tmp_path: Path) -> None:
    """Both are named after their class; the first one in an empty folder has the plain name."""
    paths = []
    for name in ("foltz-lsa", "zoo/foltz-lsa", "discriminative-accidents", "discriminative-earthquakes"):
        (subject,) = load_subjects("pairs", str(ROOT / "zoo" / Path(name).name), {})
        paths.append(evaluate("pairs", subject, str(corpus)).save(tmp_path).name)
    assert paths[:3] == ["foltz-lsa.json", "foltz-lsa.json", "discriminative.json"]
    assert paths[3].startswith("discriminative@discriminative-earthquakes-")


def test_a_result_beside_that_of_another_model_is_in_no_table(tmp_path: Path) -> None:
    whole = next(result for result in published_results().values() if result.training)
    whole.save(tmp_path)
    replace(whole, training={"seed": 99}, model_sha256="2" * 64, metrics={}).save(tmp_path)
    assert len(list(tmp_path.glob("*/*.json"))) == 2
    (found,) = load_results(tmp_path).values()
    assert found.metrics == whole.metrics
