"""What evaluators say of chunks, on disk and as AdverSuc; where the line between human and machine is drawn."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from weft.tasks.adversarial.opponents import Bout
from weft.tasks.result import Measure
from weft.writing import write_atomically

Side = Literal["human", "machine"]
Shares = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Verdicts:
    """What an evaluator says of chunks: log-odds of being human, of both sides of a part; and how it was trained."""

    human: Mapping[str, npt.NDArray[np.float32]]
    machine: Mapping[str, npt.NDArray[np.float32]]
    training: Mapping[str, Any]

    def taken(self, side: Side, part: str, *, even: bool = True) -> Shares:
        """For every chunk of a part whether it is taken for human: 1, 0, or a share on the line itself.

        Half of all chunks are human, and an evaluator may know it: its line is where it takes half of the dev part for
        human. Log-odds of 0 are another place from one training to the next, wherever it happened to stop: they may
        leave it all but calling everything human, which says nothing of the system it was asked about.

        Args:
            side: Whose chunks.
            part: ``dev`` or ``test``.
            even: False to draw the line at log-odds of 0.

        Returns:
            [chunks].
        """
        odds = getattr(self, side)[part]
        line, share = half_line(np.concatenate([self.human["dev"], self.machine["dev"]])) if even else (0.0, 0.0)
        found: Shares = np.where(odds > line, 1.0, np.where(odds == line, share, 0.0))
        return found


def half_line(odds: npt.NDArray[np.float32]) -> tuple[float, float]:
    """Where half of some log-odds are above, those on the line itself counting by a share.

    Example:
        >>> half_line(np.array([0.1, 0.2, 0.3, 0.4], dtype=np.float32))[1]
        0.0
        >>> half_line(np.array([1.0, 1.0, 1.0, 1.0, 2.0, 0.0], dtype=np.float32))
        (1.0, 0.5)
    """
    line = np.sort(odds)[(len(odds) - 1) // 2]  # the lower of the two in the middle
    above, on = int(np.sum(odds > line)), int(np.sum(odds == line))
    return float(line), (len(odds) / 2 - above) / on


def measured(
    bout: Bout, verdicts: Verdicts, turns: int, pages: Sequence[str], *, prefix: str = ""
) -> dict[str, Measure]:
    """AdverSuc, accuracy on either side and over both, per page of the test part; and by the odds alone."""
    human, machine = _by_page(bout, verdicts, pages, even=True)
    own_human, own_machine = _by_page(bout, verdicts, pages, even=False)
    caught = tuple(d - n for n, d in zip(machine.numerators, machine.denominators, strict=True))
    both = tuple(map(sum, zip(human.numerators, caught, strict=True)))
    all_chunks = tuple(map(sum, zip(human.denominators, machine.denominators, strict=True)))
    return {
        f"{prefix}adversuc_{turns}": machine,
        f"{prefix}human_accuracy_{turns}": human,
        f"{prefix}machine_accuracy_{turns}": Measure(caught, machine.denominators),
        f"{prefix}accuracy_{turns}": Measure(both, all_chunks),
        f"{prefix}raw_adversuc_{turns}": own_machine,
        f"{prefix}raw_human_accuracy_{turns}": own_human,
    }


def _by_page(bout: Bout, verdicts: Verdicts, pages: Sequence[str], *, even: bool) -> tuple[Measure, Measure]:
    """Chunks of each page that were taken for human, of how many; of people and of their opponents."""
    sides: tuple[Side, Side] = ("human", "machine")
    human, machine = (
        _per_page(verdicts.taken(side, "test", even=even), names, pages)
        for side, names in zip(sides, bout.pages["test"], strict=True)
    )
    return human, machine


def _per_page(taken: Shares, names: Sequence[str], pages: Sequence[str]) -> Measure:
    number = {page: place for place, page in enumerate(pages)}
    places = np.array([number[name] for name in names])
    hits = np.bincount(places, weights=taken, minlength=len(pages))
    counts = np.bincount(places, minlength=len(pages)).astype(np.float64)
    return Measure(tuple(hits.tolist()), tuple(counts.tolist()))


def write_verdicts(path: Path, verdicts: Verdicts) -> None:
    """Keep what an evaluator said, so that a run that goes on need not train it again."""
    content = io.BytesIO()
    arrays = {
        f"{side}_{part}": getattr(verdicts, side)[part] for side in ("human", "machine") for part in ("dev", "test")
    }
    note = np.frombuffer(json.dumps(dict(verdicts.training)).encode(), dtype=np.uint8)
    np.savez_compressed(content, note=note, **arrays)
    with write_atomically(path) as handle:
        handle.write(content.getvalue())


def read_verdicts(path: Path) -> Verdicts:
    """Read what `write_verdicts` wrote."""
    with np.load(path, allow_pickle=False) as found:
        sides = [{part: found[f"{side}_{part}"] for part in ("dev", "test")} for side in ("human", "machine")]
        return Verdicts(sides[0], sides[1], json.loads(found["note"].tobytes().decode()))
