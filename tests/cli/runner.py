"""Runs the command line as a user does: another process, its own folder, captured streams."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def weft(
    *arguments: str | Path, cwd: Path | None = None, stdin: bytes | None = None, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run ``weft`` with arguments."""
    environment = {key: value for key, value in os.environ.items() if key not in {"WEFT_DATA", "FORCE_COLOR"}}
    done = subprocess.run(
        [sys.executable, "-m", "weft", *map(str, arguments)],
        cwd=cwd,
        input=stdin if stdin is not None else b"",
        capture_output=True,
        timeout=timeout,
        env={**environment, "PYTHONUTF8": "1"},
        check=False,
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
    )
