"""Inputs that once caused a traceback or a hang, and that the attack notices such faults."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import attack
from benchmarks.attack import report, run_worker, strike_number, summary
from benchmarks.hostile_calls import Done, Fault, check_end, check_finite, check_json, check_message, targets
from tests.helpers.command_line import ESSAY, refused

import weft
from weft.corpora.text.tokenizers import load_tokenizer
from weft.errors import check_known
from weft.evaluation.evaluated_models import variant_of
from weft.io.file_hash import sha256_of
from weft.training.config import read_config

LONG_NAMES = ("x" * 3000, "It rained. He slept. " * 200, "a/" * 3000, "a\0b", "\ud800")


# Faults that were found ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LONG_NAMES, ids=["word", "text", "folders", "NUL", "surrogate"])
@pytest.mark.parametrize(
    "call",
    [
        lambda name: weft.score("It rained. He slept.", model=name),
        weft.load,
        lambda name: list(weft.read_documents(name)),
        lambda name: weft.evaluate("pairs", data=name, model="foltz-sif"),
        lambda name: weft.compare_models(name, name, task="pairs"),
        weft.train,
    ],
    ids=["score", "load", "read_documents", "evaluate", "compare_models", "train"],
)
def test_a_name_that_no_file_can_have_is_refused(call: Callable[[str], Any], name: str) -> None:
    with pytest.raises(weft.WeftError):
        call(name)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "words",
    [
        ("evaluate", "pairs", "--data", "/dev/zero"),
        ("config", "/dev/zero"),
        ("train", "/dev/zero", "--out", "new"),
        ("prepare", "/dev/zero", "--out", "store"),
    ],
    ids=lambda words: words[0],
)
def test_a_device_without_end_is_refused(words: tuple[str, ...], tmp_path: Path) -> None:
    refused(*words, cwd=tmp_path)


def test_a_tokenizer_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.corpora.text.tokenizer_files.LARGEST_FILE", 1000)
    with pytest.raises(weft.ModelError, match="more than 1,000 bytes"):
        load_tokenizer(Path("/dev/zero"))


def test_a_configuration_may_come_from_a_pipe(tmp_path: Path) -> None:
    import os
    import threading

    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=('[model]\nname = "foltz-lsa"\n',))
    writer.start()
    assert read_config(tmp_path / "pipe").model.name == "foltz-lsa"
    writer.join()
    with pytest.raises(weft.CorpusError, match="not a regular file"):
        sha256_of(tmp_path / "pipe")


@pytest.mark.parametrize(
    "field", ["format", "encoding", "language", "column", "id_column", "max_line_bytes", "empty", "speaker", "clean"]
)
@pytest.mark.parametrize("value", [1j, object, np.array([1, 2]), [None], float("nan")], ids=str)
def test_options_of_reading_have_their_types(field: str, value: object) -> None:
    with pytest.raises(weft.ConfigError):
        weft.ReadOptions(**{field: value})  # type: ignore[arg-type]


def test_a_part_to_clean_is_not_a_list_of_letters() -> None:
    with pytest.raises(weft.ConfigError, match="clean is not a list of names"):
        weft.ReadOptions(clean="fillers")  # type: ignore[arg-type]
    assert weft.ReadOptions(clean=["fillers"]).clean == ("fillers",)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [np.array([]), np.array(["cpu"]), [], None, 1j], ids=str)
def test_a_name_that_is_no_text_is_not_known(value: object) -> None:
    with pytest.raises(weft.ConfigError):
        check_known("device", value, ("cpu",))
    with pytest.raises(weft.ConfigError):
        weft.order("It rained. He slept.", model="foltz-sif", objective=value)  # type: ignore[call-overload]
    with pytest.raises(weft.ConfigError):
        weft.compare_models("random", "random", task=value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [np.array([]), np.array(["mmi"]), [], 1j], ids=str)
def test_a_combination_that_is_no_text_is_not_known(value: object) -> None:
    with pytest.raises(weft.ConfigError):
        weft.score("It rained. He slept.", combine=value)  # type: ignore[call-overload]


def test_half_a_character_in_a_text_is_scored() -> None:
    text = weft.Document("d", ("It \ud800 rained.", "He slept.", "The \udfff bus was late."))
    assert weft.score(text).value is not None  # also its genre is guessed
    assert weft.order(text).value is not None
    assert len(variant_of({"trees": "\ud800" * 200})) == 73


def test_a_column_without_a_name_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text\n1,It rained.\n")
    with pytest.raises(weft.CorpusError, match="no column ''"):
        list(weft.read_documents(tmp_path / "a.csv", weft.ReadOptions(column="")))
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    write_table(pyarrow.table({"text": ["It rained."]}), tmp_path / "a.parquet")
    with pytest.raises(weft.CorpusError, match="no column ''"):
        list(weft.read_documents(tmp_path / "a.parquet", weft.ReadOptions(column="")))


def test_counts_have_an_upper_bound(tmp_path: Path) -> None:
    most = str(2**70)
    assert "--limit" in refused("evaluate", "pairs", "--data", ESSAY, "--limit", most, cwd=tmp_path)
    assert "--permutations" in refused("corrupt", ESSAY, "--out", "o", "--permutations", most, cwd=tmp_path)
    with pytest.raises(weft.ConfigError, match="limit is out of range"):
        weft.evaluate("pairs", data=ESSAY, model="foltz-sif", limit=2**70)


# The attack -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [math.nan, {"a": [1.0, math.inf]}, ((-math.inf,),)])
def test_a_number_that_is_not_finite_is_a_fault(value: object) -> None:
    with pytest.raises(Fault):
        check_finite(value)
    check_finite({"a": [1.0, None, "nan"]})


def test_wrong_ends_of_commands_are_faults() -> None:
    error = "weft: error: a: saw 1; next: b\n"
    check_end(2, "", error, as_json=False, what="")
    check_end(0, '{"a": null}\n', "", as_json=True, what="")
    for code, out, err in (
        (1, "", ""), (139, "", ""), (2, "", ""), (2, "", error * 2), (0, '{"a": NaN}', ""), (0, "{", ""),
        (0, "", "Traceback (most recent call last):\n"),
    ):  # fmt: skip
        with pytest.raises(Fault):
            check_end(code, out, err, as_json=True, what="")
    with pytest.raises(Fault):
        check_message("x" * 4000)
    with pytest.raises(Fault):
        check_json("Infinity")


def test_an_input_depends_on_its_number_alone() -> None:
    first, again = (strike_number(3, 7) for _ in range(2))
    assert {**first, "seconds": 0, "grown": 0, "peak": 0} == {**again, "seconds": 0, "grown": 0, "peak": 0}


def test_an_exception_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(*_: object) -> Done:
        raise KeyError("x")

    monkeypatch.setattr(attack, "strike", raises)
    record = strike_number(1, 1)
    assert record["end"] == "fault" and "KeyError" in record["fault"]


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_hang_is_a_fault_and_the_report_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attack, "SECONDS", 0.01)
    (record,) = run_worker(1, range(5, 9))
    assert record["end"] == "fault" and "of the processor" in record["fault"] and record["number"] == 5
    found = report([record], seed=1, seconds=1.0)
    assert found["faults"] == 1 and set(found["by_target"]) == set(targets())
    assert list(summary(found))[-1] == "1 inputs, 1 faults"
    json.dumps(found, allow_nan=False)


def test_a_worker_that_waits_is_a_hang_and_one_that_is_slow_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attack, "SECONDS", 0.3)
    waiter = subprocess.Popen(["sleep", "60"], stdout=subprocess.PIPE)
    slow = subprocess.Popen(["sh", "-c", "sleep 1; echo '{\"number\": 5}'"], stdout=subprocess.PIPE)
    try:
        assert list(attack._answers(slow)) == [{"number": 5}]  # longer than SECONDS, but hardly any of the processor
        monkeypatch.setattr(attack, "PATIENCE", 0.5)
        with pytest.raises(TimeoutError, match=r"no end after 0\.5 seconds"):
            list(attack._answers(waiter))
    finally:
        for process in (waiter, slow):
            process.kill()
            process.communicate()


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_small_attack_finds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for module in ("pandas", "polars", "pyarrow", "docx", "pypdf"):
        pytest.importorskip(module)
    found = attack.attack(150, seed=11)
    assert found["faults"] == 0, found["listed_faults"]
    assert found["inputs"] == 150
