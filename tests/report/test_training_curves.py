from __future__ import annotations

import json
from pathlib import Path

import pytest

from weft.errors import ConfigError, CorpusError
from weft.report.training_curves import draw_curves, find_logs, read_curve, smooth

ROOT = Path(__file__).parents[2]


def record(kind: str, step: int, loss: float) -> str:
    return json.dumps({"kind": kind, "step": step, "loss": loss})


@pytest.fixture
def run(tmp_path: Path) -> Path:
    for part in ("forward", "precedence"):
        (tmp_path / part).mkdir()
        lines = [record("step", 10 * n, 5 - n / 30) for n in range(1, 100)] + [record("validation", 990, 2.0)]
        (tmp_path / part / "log.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_logs_are_found_in_every_layout(run: Path) -> None:
    assert set(find_logs(run)) == {"forward", "precedence"}
    assert set(find_logs(run / "forward" / "log.jsonl")) == {"forward"}
    assert set(find_logs(ROOT / "results" / "training" / "weft-small")) == {
        "forward",
        "backward",
        "prior",
        "precedence",
    }
    with pytest.raises(CorpusError, match="no training log"):
        find_logs(run / "nowhere")


def test_a_curve_has_every_logged_step(run: Path) -> None:
    curve = read_curve("forward", run / "forward" / "log.jsonl")
    assert len(curve.steps) == len(curve.losses) == 99
    assert (curve.valid_steps, curve.valid_losses) == ((990,), (2.0,))
    (run / "bad.jsonl").write_text('{"kind": "step"}\n')
    with pytest.raises(CorpusError, match="not a training log"):
        read_curve("bad", run / "bad.jsonl")


def test_smoothing_keeps_the_mean_of_a_line() -> None:
    line = [float(n) for n in range(400)]
    assert smooth(line)[200] == pytest.approx(200)
    noisy = [n % 2 for n in range(400)]
    assert all(0.3 < value < 0.7 for value in smooth(noisy)[10:-10])


def test_the_picture_is_written_and_repeatable(run: Path) -> None:
    pytest.importorskip("matplotlib")
    first, second = (draw_curves(run, run / name, title="t").read_bytes() for name in ("a.svg", "b.svg"))
    assert first == second
    assert b"<svg" in first
    assert draw_curves(run, run / "a.png").read_bytes().startswith(b"\x89PNG")


def test_the_pictures_in_the_docs_are_those_of_the_logs(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name, logs in (("seq2seq", "seq2seq-improved"), ("weft-small", "weft-small")):
        text = (ROOT / "docs" / "pictures" / f"{name}.svg").read_text()
        for part, log in find_logs(ROOT / "results" / "training" / logs).items():
            assert f"{part} (valid {read_curve(part, log).valid_losses[-1]:.3f})" in text


def test_what_cannot_be_drawn_is_refused_and_a_short_run_is_drawn(run: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(ConfigError, match="picture format"):
        draw_curves(run, run / "a.xyz")
    (run / "empty.jsonl").write_text("")
    with pytest.raises(CorpusError, match="holds no loss"):
        draw_curves(run / "empty.jsonl", run / "a.svg")
    (run / "short.jsonl").write_text(record("validation", 3, 2.0) + "\n")
    assert draw_curves(run / "short.jsonl", run / "short.svg").stat().st_size > 1000
    assert draw_curves(run, run / "a.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize("steps", [1, 2])
def test_every_point_of_a_short_run_is_drawn(run: Path, steps: int) -> None:
    """A line through one point has no length."""
    pytest.importorskip("matplotlib")
    log = run / "short.jsonl"
    log.write_text("".join(record("step", step, 5.0) + "\n" for step in range(1, steps + 1)))
    drawn = draw_curves(log, run / "short.svg").read_text().splitlines()
    assert sum("<use " in line and "fill-opacity" in line for line in drawn) == steps
