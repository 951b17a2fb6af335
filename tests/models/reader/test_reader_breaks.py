"""Breaks of the reader: nothing is marked before calibration, and the calibration survives saving and export."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.tiny_reader import NAMES, THINGS, trained_reader, untrained_reader

from weft.cli.score import write_scores
from weft.corpora.negatives.damaged_documents import damaged_copies
from weft.document import Document
from weft.evaluation.calibration import calibrate, calibrate_breaks
from weft.loaded_model import Model
from weft.models.reader.reader import Reader
from weft.protocols import BreakModel
from weft.report.terminal import explain_lines
from weft.scoring.break_calibration import BreakCalibration, sigmoid

TEXTS = [
    Document(f"{thing}-{size}-{n}", tuple(f"The {name} {thing} {n}." for name in (NAMES * 3)[:size]))
    for size in (3, 6, 11)
    for thing in THINGS
    for n in range(3)
]


@pytest.fixture(scope="module")
def reader() -> Reader:
    return trained_reader()


def test_a_reader_without_calibration_marks_nothing() -> None:
    inner = untrained_reader()
    assert isinstance(inner, BreakModel)
    score = Model(inner, "tiny").score(TEXTS[30])
    assert score.break_probabilities == inner.break_probabilities(TEXTS[30])
    assert len(score.break_probabilities) == len(score.transitions)
    assert score.breaks == () and score.break_threshold is None
    assert "no break found" not in explain_lines(TEXTS[30], score)[-1].plain  # nothing was looked for
    assert Model(inner, "tiny").score("One sentence.").break_probabilities == ()


def test_gaps_above_the_threshold_are_marked(capsys: pytest.CaptureFixture[str]) -> None:
    inner = untrained_reader()
    text = TEXTS[30]
    odds = inner.break_odds(text)
    highest = int(odds.argmax())
    second = float(sigmoid(np.sort(odds)[-2:-1])[0])
    inner.break_calibration = BreakCalibration(1.0, 0.0, threshold=second)
    model = Model(inner, "tiny")
    score = model.score(text)
    assert score.breaks == (highest,) and score.break_threshold == second
    assert f"break after sentence {highest + 1}" in repr(score)
    lines = [line.plain for line in explain_lines(text, score)]
    assert sum("← break (" in line for line in lines) == 1 and "no break found" not in lines
    page = score._repr_html_()
    assert page.count('weft-mark">break ') == 1 and "weak link" not in page
    write_scores(model.score_stream(iter([text])), form="csv", explain=True)
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [float(row["break_probability"]) for row in rows] == list(score.break_probabilities)
    assert score.to_dict()["break_threshold"] == second and score.rows()[0]["break_probabilities"]
    inner.break_calibration = replace(inner.break_calibration, threshold=1.0)
    none = model.score(text)
    assert none.breaks == () and explain_lines(text, none)[-1].plain.startswith("no break found; the likeliest")
    assert "no break found" in none._repr_html_()
    assert inner.adjusted({"precedence_weight": 0.5}).break_calibration == inner.break_calibration


def test_calibration_finds_breaks_and_spares_sound_texts(reader: Reader) -> None:
    found = calibrate_breaks(reader, TEXTS, name="numbered")
    assert found.error <= found.error_before + 0.02
    marked = [found.marks(found.probabilities(reader.break_odds(text))) for text in TEXTS]
    assert sum(map(bool, marked)) <= 0.05 * len(TEXTS)
    assert found.texts == len(TEXTS) and found.name == "numbered"


def test_calibrating_writes_breaks_that_saving_and_export_keep(reader: Reader, tmp_path: Path) -> None:
    pytest.importorskip("onnx", reason="the extra `train` is not installed")
    from weft.models.reader.export import export

    reader.save(tmp_path / "m")
    calibrate(tmp_path / "m", TEXTS, texts="numbered", device="cpu")
    model = Reader.load(tmp_path / "m")
    assert model.break_calibration is not None and model.reference is not None
    model.save(tmp_path / "again")
    assert Reader.load(tmp_path / "again").break_calibration == model.break_calibration
    exported = Reader.load(export(tmp_path / "m"))
    assert exported.break_calibration == model.break_calibration
    score = Model(model, "m").score(TEXTS[40])
    assert "percentile of numbered; beats" in score.meaning and "of its own shuffles" in score.meaning


def test_damaged_copies_have_the_labels_of_their_gaps() -> None:
    kinds = set()
    for text, damaged in zip(TEXTS, damaged_copies(TEXTS), strict=True):
        sentences = damaged.document.sentences
        assert len(damaged.broken) == len(sentences) - 1
        kinds.add(len(sentences) - len(text))
        following = set(pairwise(text.sentences))
        for pair, label in zip(pairwise(sentences), damaged.broken, strict=True):
            assert label is not False or pair in following
    assert kinds == {0, 1}
    assert list(damaged_copies(TEXTS)) == list(damaged_copies(TEXTS)) != list(damaged_copies(TEXTS, seed=2))
