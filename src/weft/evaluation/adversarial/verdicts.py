"""Verdicts of evaluators: the threshold between human and machine, AdverSuc, and files on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from weft.evaluation.adversarial.labelled_chunks import LabelledChunks
from weft.evaluation.adversarial.saved_arrays import Arrays, explain_damage, read_arrays, write_arrays
from weft.evaluation.result import Measure

Side = Literal["human", "machine"]
Shares = npt.NDArray[np.float64]
SIDES: tuple[Side, Side] = ("human", "machine")


@dataclass(frozen=True)
class Verdicts:
    """The log-odds of being human that an evaluator gives to the chunks of both sides, and facts about its training."""

    human: Mapping[str, npt.NDArray[np.float32]]
    machine: Mapping[str, npt.NDArray[np.float32]]
    training: Mapping[str, Any]

    def of(self, side: Side) -> Mapping[str, npt.NDArray[np.float32]]:
        """Return the log-odds of one side, by part."""
        return self.human if side == "human" else self.machine

    def judged_human(self, side: Side, part: str, *, even: bool = True) -> Shares:
        """Return for every chunk of a part whether it is judged human: 1, 0, or a share exactly at the threshold.

        The threshold is the one at which half of the dev part is judged human, so that both kinds of errors are
        equally frequent. At log-odds of 0 an evaluator may trade one kind for the other, differently in every
        training: where there is no difference to find, it may judge nearly everything human. With ``even`` False the
        threshold is at 0 nevertheless.
        """
        odds = self.of(side)[part]
        line, share = (
            balanced_threshold(np.concatenate([self.human["dev"], self.machine["dev"]])) if even else (0.0, 0.0)
        )
        found: Shares = np.where(odds > line, 1.0, np.where(odds == line, share, 0.0))
        return found


def balanced_threshold(odds: npt.NDArray[np.float32]) -> tuple[float, float]:
    """Return the threshold that half of some log-odds exceed, and the share by which those equal to it count.

    Example:
        >>> balanced_threshold(np.array([0.1, 0.2, 0.3, 0.4], dtype=np.float32))[1]
        0.0
        >>> balanced_threshold(np.array([1.0, 1.0, 1.0, 1.0, 2.0, 0.0], dtype=np.float32))
        (1.0, 0.5)
    """
    line = np.sort(odds)[(len(odds) - 1) // 2]  # the lower of the two in the middle
    above, on = int(np.sum(odds > line)), int(np.sum(odds == line))
    return float(line), (len(odds) / 2 - above) / on


def adversuc_measures(
    labelled: LabelledChunks, panel: Sequence[Verdicts], length: int, pages: Sequence[str], *, prefix: str = ""
) -> dict[str, Measure]:
    """Return AdverSuc and accuracies per page of the test part; ``raw_`` ones with a threshold at log-odds of 0.

    The evaluators of a panel are of one kind, each trained with its own seed; their mean counts.
    """
    human, machine = _by_page(labelled, panel, pages, even=True)
    own_human, own_machine = _by_page(labelled, panel, pages, even=False)
    caught = tuple(d - n for n, d in zip(machine.numerators, machine.denominators, strict=True))
    both = tuple(map(sum, zip(human.numerators, caught, strict=True)))
    all_chunks = tuple(map(sum, zip(human.denominators, machine.denominators, strict=True)))
    return {
        f"{prefix}adversuc_{length}": machine,
        f"{prefix}human_accuracy_{length}": human,
        f"{prefix}machine_accuracy_{length}": Measure(caught, machine.denominators),
        f"{prefix}accuracy_{length}": Measure(both, all_chunks),
        f"{prefix}raw_adversuc_{length}": own_machine,
        f"{prefix}raw_human_accuracy_{length}": own_human,
    }


def _by_page(
    labelled: LabelledChunks, panel: Sequence[Verdicts], pages: Sequence[str], *, even: bool
) -> tuple[Measure, Measure]:
    """Return how many human chunks and how many machine chunks of each page were judged human."""
    human, machine = (
        _per_page(np.mean([one.judged_human(side, "test", even=even) for one in panel], axis=0), names, pages)
        for side, names in zip(SIDES, labelled.pages["test"], strict=True)
    )
    return human, machine


def _per_page(taken: Shares, names: Sequence[str], pages: Sequence[str]) -> Measure:
    number = {page: place for place, page in enumerate(pages)}
    places = np.array([number[name] for name in names])
    hits = np.bincount(places, weights=taken, minlength=len(pages))
    counts = np.bincount(places, minlength=len(pages)).astype(np.float64)
    return Measure(tuple(hits.tolist()), tuple(counts.tolist()))


def training_record(panel: Sequence[Verdicts]) -> dict[str, Any]:
    """Return how evaluators were trained, and their accuracy and AdverSuc on the dev part."""
    fooled, known = (float(np.mean([one.judged_human(side, "dev").mean() for one in panel])) for side in SIDES[::-1])
    return {
        "dev_adversuc": fooled,  # decoding settings are chosen by this
        "dev_accuracy": (known + 1 - fooled) / 2,
        # One value per evaluator shows how much they differ.
        "adversuc": [float(np.mean(one.judged_human("machine", "test"))) for one in panel],
        "trainings": [dict(one.training) for one in panel],
    }


def write_verdicts(path: Path, verdicts: Verdicts) -> None:
    """Write verdicts to a file, from which `read_verdicts` reads them in a later run."""
    arrays: Arrays = {f"{side}_{part}": verdicts.of(side)[part] for side in SIDES for part in ("dev", "test")}
    arrays["note"] = np.frombuffer(json.dumps(dict(verdicts.training)).encode(), dtype=np.uint8)
    write_arrays(path, arrays, compressed=True)


def read_verdicts(path: Path, labelled: LabelledChunks) -> Verdicts:
    """Read a file written by `write_verdicts`.

    Raises:
        CorpusError: It is damaged, or its verdicts are about other chunks.
    """
    found = read_arrays(path)
    sides = []
    with explain_damage(path):
        for side, chunks in (("human", labelled.human), ("machine", labelled.machine)):
            sides.append({part: found[f"{side}_{part}"] for part in ("dev", "test")})
            if any(sides[-1][part].shape != (len(chunks[part]),) for part in ("dev", "test")):
                raise ValueError("verdicts of other chunks")
            if not all(odds.dtype.kind == "f" and np.isfinite(odds).all() for odds in sides[-1].values()):
                raise ValueError("log-odds are not numbers")
        note = json.loads(found["note"].tobytes().decode())
        if not isinstance(note, dict):
            raise ValueError(f"the note is not a record: {type(note).__name__}")
        return Verdicts(sides[0], sides[1], note)
