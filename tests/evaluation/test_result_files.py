"""A result on disk: metrics in one file, values per document compressed in a second."""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from weft.errors import CorpusError
from weft.evaluation.result import Result, compare_results, documents_path

PARTS = {"accuracy": {"numerators": [9.0, 8.0, 10.0], "denominators": [10.0, 10.0, 10.0]}}
RESULT = Result(
    "probes", "m", "bi", {"accuracy": 0.9}, {"accuracy": [0.8, 1.0]}, 3, 30, 0, 0, 1, "exact", "d", "h", "n", "weft …",
    documents=["x", "y", "z"], lengths=[3, 4, 5], per_document=PARTS,
)  # fmt: skip


def test_a_result_comes_back_from_its_two_files(tmp_path: Path) -> None:
    path = RESULT.save(tmp_path)
    assert sorted(file.name for file in path.parent.iterdir()) == ["m.bi.documents.json.gz", "m.bi.json"]
    assert asdict(Result.load(path)) == asdict(RESULT)
    assert not {"documents", "lengths", "per_document"} & json.loads(path.read_text()).keys()
    assert compare_results(Result.load(path), RESULT, "accuracy").difference == 0


def test_the_same_result_gives_the_same_bytes(tmp_path: Path) -> None:
    one, other = (RESULT.save(tmp_path / name) for name in ("one", "other"))
    assert one.read_bytes() == other.read_bytes()
    assert documents_path(one).read_bytes() == documents_path(other).read_bytes()
    assert documents_path(one).read_bytes()[4:8] == bytes(4), "no time"


def test_one_file_that_holds_everything_is_read(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    content = {name: value for name, value in asdict(RESULT).items() if name != "lengths"}
    path.write_text(json.dumps(content))
    assert asdict(Result.load(path)) == asdict(replace(RESULT, lengths=()))


def test_without_the_second_file_a_result_is_read_but_not_compared(tmp_path: Path) -> None:
    path = RESULT.save(tmp_path)
    documents_path(path).unlink()
    alone = Result.load(path)
    assert alone.metrics == RESULT.metrics
    with pytest.raises(CorpusError, match="m.bi.documents.json.gz"):
        compare_results(alone, RESULT, "accuracy")
    with pytest.raises(CorpusError, match="m.bi.documents.json.gz"):
        alone.parts("accuracy")


@pytest.mark.parametrize(
    "content", [b"", b"nothing of the kind", gzip.compress(b"{}", mtime=0), gzip.compress(b"{", mtime=0)]
)
def test_a_second_file_that_is_damaged_or_of_another_result_is_refused(content: bytes, tmp_path: Path) -> None:
    path = RESULT.save(tmp_path)
    documents_path(path).write_bytes(content)
    result = Result.load(path)
    assert result.metrics == RESULT.metrics
    for _ in range(2):
        with pytest.raises(CorpusError, match="cannot read a result"):
            result.parts("accuracy")


def test_the_second_file_is_read_on_first_use(tmp_path: Path) -> None:
    path = RESULT.save(tmp_path)
    result = Result.load(path)
    assert "documents" not in vars(result)
    assert asdict(result) == asdict(RESULT)
    documents_path(path).unlink()
    assert result.parts("accuracy") == RESULT.parts("accuracy")
    assert not hasattr(result, "no_such_field")


def test_a_metric_without_parts_is_named() -> None:
    with pytest.raises(CorpusError, match="no such metric"):
        RESULT.parts("tau")


TRAINED = replace(
    RESULT, training={"seed": 1, "data_fingerprint": "a"}, settings={"hidden": 8}, model_name="m", model_sha256="1" * 64
)
OTHER = replace(TRAINED, training={"seed": 1, "data_fingerprint": "b"}, model_name="tiny", model_sha256="2" * 64)


@pytest.mark.parametrize(
    "other",
    [
        OTHER,
        replace(TRAINED, model_sha256="2" * 64),
        replace(TRAINED, settings={"hidden": 9}),
        replace(OTHER, data_sha256="other"),
    ],
)
def test_a_result_never_replaces_that_of_another_training(other: Result, tmp_path: Path) -> None:
    first = TRAINED.save(tmp_path)
    before = first.read_bytes(), documents_path(first).read_bytes()
    replace(TRAINED, model_sha256="3" * 64, data_sha256="other").save(tmp_path)  # takes MODEL@DATA
    second = other.save(tmp_path)
    assert second.name.startswith("m.bi@")
    assert other.save(tmp_path) == second
    assert (first.read_bytes(), documents_path(first).read_bytes()) == before
    assert len(list((tmp_path / "probes").glob("*.json"))) == 3


def test_a_model_replaces_its_own_result(tmp_path: Path) -> None:
    path = TRAINED.save(tmp_path)
    assert replace(TRAINED, command="again", settings={"hidden": 8}).save(tmp_path) == path
    assert Result.load(path).command == "again"


def test_early_results_are_compared_by_their_record_of_the_training(tmp_path: Path) -> None:
    early = replace(TRAINED, model_name="", model_sha256="", training={"data_fingerprint": "a"})
    path = early.save(tmp_path)
    assert OTHER.save(tmp_path) != path
    assert replace(OTHER, training={}).save(tmp_path) != path
    assert replace(TRAINED, metrics={"accuracy": 0.95}).save(tmp_path) != path, "trained again with the same settings"
    assert Result.load(path).metrics == early.metrics
    assert TRAINED.save(tmp_path) == path


def test_a_model_without_training_replaces_its_own_result(tmp_path: Path) -> None:
    path = RESULT.save(tmp_path)
    assert replace(RESULT, metrics={"accuracy": 0.95}).save(tmp_path) == path
