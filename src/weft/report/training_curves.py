"""Draw the training curves of a run: the loss of each part over steps, from the training logs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.errors import CorpusError
from weft.report.figure_files import new_figure, picture_format, save_figure

LOG = "log.jsonl"
FEW_POINTS = 20  # points of shorter curves are marked
WIDTH, HEIGHT = 8.0, 4.0  # inches
SMOOTHED = 40  # a point is the mean over 1/40 of the log, because the loss of one step depends on its batch


@dataclass(frozen=True, slots=True)
class Curve:
    """The curve of one part of a run."""

    name: str
    steps: tuple[int, ...]  # steps at which the training loss was logged
    losses: tuple[float, ...]  # smoothed training losses per token
    valid_steps: tuple[int, ...]  # steps at which the part was validated
    valid_losses: tuple[float, ...]  # validation losses per token


def find_logs(place: str | Path) -> dict[str, Path]:
    """Return the logs of a run by the names of its parts.

    Args:
        place: A run's folder, a folder of ``PART.jsonl``, or one log.

    Raises:
        CorpusError: There is no log.
    """
    root = Path(place)
    if root.is_file():
        return {root.parent.name if root.name == LOG else root.stem: root}
    found = {path.parent.name: path for path in sorted(root.glob(f"*/{LOG}"))}
    found = found or {path.stem: path for path in sorted(root.glob("*.jsonl"))}
    if not found:
        raise CorpusError(
            "no training log",
            seen=str(place),
            allowed=f"a run's folder with PART/{LOG}, a folder of PART.jsonl, or one of these files",
            next_step="give the folder that run.folder names in the configuration",
        )
    return found


def read_curve(name: str, path: Path) -> Curve:
    """Return the curve of one log.

    Raises:
        CorpusError: The file is not a training log.
    """
    try:
        records: list[Mapping[str, Any]] = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]
        trained = [(int(r["step"]), float(r["loss"])) for r in records if r["kind"] == "step"]
        valid = [(int(r["step"]), float(r["loss"])) for r in records if r["kind"] == "validation"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CorpusError(
            f"{path} is not a training log",
            seen=str(error)[:200],
            allowed=f"{LOG} as `weft train` writes it",
            next_step="check the path",
        ) from error
    if not trained and not valid:
        raise CorpusError(
            f"{path} holds no loss",
            seen=f"{len(records)} records",
            allowed="a log with steps or validations",
            next_step="train for longer, or validate (training.validate_every)",
        )
    losses = smooth([loss for _, loss in trained])
    return Curve(name, tuple(s for s, _ in trained), losses, tuple(s for s, _ in valid), tuple(v for _, v in valid))


def smooth(values: Sequence[float]) -> tuple[float, ...]:
    """Return means over a window that grows with the length of the series; windows at the ends are shorter.

    Example:
        >>> smooth([1.0, 2.0, 3.0])
        (1.0, 2.0, 3.0)
    """
    reach = len(values) // (2 * SMOOTHED)
    windows = (values[max(0, n - reach) : n + reach + 1] for n in range(len(values)))
    return tuple(sum(window) / len(window) for window in windows)


def draw_curves(place: str | Path, out: str | Path, *, title: str = "") -> Path:
    """Draw all parts of a run in one SVG, PNG or PDF file and return its path.

    Raises:
        CorpusError: There is no log, or matplotlib is not installed.
    """
    picture_format(out)
    curves = [read_curve(name, path) for name, path in find_logs(place).items()]
    return save_figure(_figure(curves, title), out)


def _figure(curves: Sequence[Curve], title: str) -> Any:
    per_token = [curve for curve in curves if curve.name != "precedence"]
    others = [curve for curve in curves if curve.name == "precedence"]
    panels = [(group, label) for group, label in ((per_token, "nats per token"), (others, "nats per pair")) if group]
    figure = new_figure(WIDTH, HEIGHT)
    for number, (group, label) in enumerate(panels, start=1):
        _draw_panel(figure.add_subplot(1, len(panels), number), group, label)
    figure.suptitle(title)
    return figure


def _draw_panel(axes: Any, curves: Sequence[Curve], label: str) -> None:
    """Draw training losses as lines and validation losses as points; the steep beginning is cut off."""
    for curve in curves:
        marker = "." if len(curve.steps) < FEW_POINTS else ""  # a line through one point is invisible
        (line,) = axes.plot(curve.steps, curve.losses, marker=marker, linewidth=1, alpha=0.6)
        final = f" (valid {curve.valid_losses[-1]:.3f})" if curve.valid_losses else ""
        axes.plot(
            curve.valid_steps,
            curve.valid_losses,
            "o-",
            markersize=3,
            color=line.get_color(),
            label=f"{curve.name}{final}",
        )
    late = [loss for curve in curves for loss in curve.losses[len(curve.losses) // 20 :]]
    shown = [loss for loss in (*late, *(v for curve in curves for v in curve.valid_losses)) if math.isfinite(loss)]
    if shown:
        axes.set_ylim(top=max(shown) * 1.02)
    axes.set_xlabel("steps")
    axes.set_ylabel(label)
    axes.legend(fontsize="small")
