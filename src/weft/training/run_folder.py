"""The folder of a training run, with the log and the checkpoint from which a stopped run is resumed."""

from __future__ import annotations

import os
import time
from dataclasses import asdict
from pathlib import Path

from weft.errors import ConfigError
from weft.io.atomic_files import explain_write_errors
from weft.io.folder_locks import sweep_files, try_lock
from weft.training.checkpoints import CHECKPOINT, LOG, Recipe, RunLog, load_checkpoint, save_checkpoint
from weft.training.loop import Report, Trainer

LOG_EVERY = 50  # steps
# Shorter runs, up to these lengths in steps, are logged more often, so that they have a curve too.
SHORT_RUNS = {100: 1, 1000: 10}


class RunFolder:
    """Restores a trainer from its last checkpoint, then writes its log and its checkpoints.

    Args:
        trainer: The trainer; it is restored if there is a checkpoint.
        folder: The folder of the run; None writes nothing.
        recipe: Everything that determines the run; a checkpoint of another recipe raises ModelError.
        seconds: Time between checkpoints.

    Raises:
        ConfigError: Another training uses the folder.
    """

    def __init__(self, trainer: Trainer, folder: Path | None, recipe: Recipe, seconds: float) -> None:
        self.trainer, self.recipe, self.seconds = trainer, recipe, seconds
        self.lock: int | None = None
        if folder is not None:
            with explain_write_errors(folder):
                folder.mkdir(parents=True, exist_ok=True)
            if trainer.runtime.is_main:
                self.lock = _locked(folder)
                sweep_files(folder, (CHECKPOINT, LOG))
            self._restore(folder)
        self.log_every = log_every(trainer.settings.steps)
        self.folder = folder if trainer.runtime.is_main else None  # all processes read, one writes
        self.log = RunLog(self.folder, trainer.step) if self.folder else None
        self.saved_at = time.monotonic()

    def _restore(self, folder: Path) -> None:
        try:
            snapshot = load_checkpoint(folder, recipe=self.recipe)
            if snapshot:
                self.trainer.restore(*snapshot)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let another training use the folder."""
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None

    def write(self, report: Report, *, now: bool) -> None:
        """Log a report every few steps and at the end; save a checkpoint when one is due, at the end, or ``now``."""
        regular = report.step % self.log_every == 0 or self.trainer.finished
        if self.log and (report.kind == "validation" or regular):
            self.log.write(asdict(report))
        due = now or self.trainer.finished or time.monotonic() - self.saved_at >= self.seconds
        # A checkpoint before the last report of a step would lose that report: a resumed run starts after the step.
        if self.folder and due and not self.trainer.reports_pending:
            save_checkpoint(self.folder, *self.trainer.snapshot(), recipe=self.recipe)
            self.saved_at = time.monotonic()


def log_every(steps: int) -> int:
    """Return the number of steps between two lines of the log of a run of so many steps; 0 if time decides.

    Example:
        >>> log_every(30), log_every(600), log_every(10_000), log_every(0)
        (1, 10, 50, 50)
    """
    return next((every for longest, every in SHORT_RUNS.items() if 0 < steps <= longest), LOG_EVERY)


def _locked(folder: Path) -> int:
    lock = try_lock(folder)
    if lock is None:
        raise ConfigError(
            "another training is running in this folder",
            seen=str(folder),
            allowed="one training of a part at a time in a run folder",
            next_step="wait until it has finished, or choose another --out or run.folder",
        )
    return lock
