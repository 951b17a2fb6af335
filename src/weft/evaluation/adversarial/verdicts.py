"""What evaluators say of chunks, on disk and as AdverSuc; where the line between human and machine is drawn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from weft.evaluation.adversarial.opponents import Bout
from weft.evaluation.adversarial.saved_arrays import Arrays, damaged, read_arrays, write_arrays
from weft.evaluation.result import Measure

Side = Literal["human", "machine"]
Shares = npt.NDArray[np.float64]
SIDES: tuple[Side, Side] = ("human", "machine")


@dataclass(frozen=True)
class Verdicts:
    """What an evaluator says of chunks: log-odds of being human, of both sides of a part; and how it was trained."""

    human: Mapping[str, npt.NDArray[np.float32]]
    machine: Mapping[str, npt.NDArray[np.float32]]
    training: Mapping[str, Any]

    def taken(self, side: Side, part: str, *, even: bool = True) -> Shares:
        """For every chunk of a part whether it is taken for human: 1, 0, or a share on the line itself.

        The line is where half of the dev part is taken for human, so that both kinds of errors are equally many.
        At log-odds of 0 one kind may be bought with the other, and is, differently from one training to the next: where
        there is nothing to tell, an evaluator may call nearly everything human.

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
    bout: Bout, panel: Sequence[Verdicts], turns: int, pages: Sequence[str], *, prefix: str = ""
) -> dict[str, Measure]:
    """AdverSuc, accuracy on either side and over both, per page of the test part; and by the odds alone.

    Args:
        bout: Who met whom.
        panel: What evaluators of one kind say, each trained with a seed of its own: the mean of them counts.
        turns: Sentences of a continuation.
        pages: Of the test part, in the order of the measures.
        prefix: Of the names of measures.
    """
    human, machine = _by_page(bout, panel, pages, even=True)
    own_human, own_machine = _by_page(bout, panel, pages, even=False)
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


def _by_page(bout: Bout, panel: Sequence[Verdicts], pages: Sequence[str], *, even: bool) -> tuple[Measure, Measure]:
    """Chunks of each page that were taken for human, of how many; of people and of their opponents."""
    human, machine = (
        _per_page(np.mean([one.taken(side, "test", even=even) for one in panel], axis=0), names, pages)
        for side, names in zip(SIDES, bout.pages["test"], strict=True)
    )
    return human, machine


def _per_page(taken: Shares, names: Sequence[str], pages: Sequence[str]) -> Measure:
    number = {page: place for place, page in enumerate(pages)}
    places = np.array([number[name] for name in names])
    hits = np.bincount(places, weights=taken, minlength=len(pages))
    counts = np.bincount(places, minlength=len(pages)).astype(np.float64)
    return Measure(tuple(hits.tolist()), tuple(counts.tolist()))


def trained(panel: Sequence[Verdicts]) -> dict[str, Any]:
    """How the evaluators of a panel were trained, and how often on the dev part they were right and were fooled."""
    fooled, known = (float(np.mean([one.taken(side, "dev").mean() for one in panel])) for side in SIDES[::-1])
    return {
        "dev_adversuc": fooled,  # what decoding is chosen by
        "dev_accuracy": (known + 1 - fooled) / 2,
        "adversuc": [float(np.mean(one.taken("machine", "test"))) for one in panel],  # how far evaluators differ
        "trainings": [dict(one.training) for one in panel],
    }


def write_verdicts(path: Path, verdicts: Verdicts) -> None:
    """Keep what an evaluator said, so that a run that goes on need not train it again."""
    arrays: Arrays = {
        f"{side}_{part}": getattr(verdicts, side)[part] for side in ("human", "machine") for part in ("dev", "test")
    }
    arrays["note"] = np.frombuffer(json.dumps(dict(verdicts.training)).encode(), dtype=np.uint8)
    write_arrays(path, arrays, compressed=True)


def read_verdicts(path: Path, bout: Bout) -> Verdicts:
    """Read what `write_verdicts` wrote.

    Raises:
        CorpusError: It is damaged, or is not of this bout.
    """
    found = read_arrays(path)
    sides = []
    try:
        for side, chunks in (("human", bout.human), ("machine", bout.machine)):
            sides.append({part: found[f"{side}_{part}"] for part in ("dev", "test")})
            if any(sides[-1][part].shape != (len(chunks[part]),) for part in ("dev", "test")):
                raise ValueError("verdicts of other chunks")
            if not all(odds.dtype.kind == "f" and np.isfinite(odds).all() for odds in sides[-1].values()):
                raise ValueError("log-odds that are no numbers")
        note = json.loads(found["note"].tobytes().decode())
        if not isinstance(note, dict):
            raise ValueError(f"a note that is no record: {type(note).__name__}")
        return Verdicts(sides[0], sides[1], note)
    except (KeyError, ValueError) as error:
        raise damaged(path, str(error)) from error
