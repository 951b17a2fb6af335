"""Run the command line as a user does: in another process, in a folder of its own, with captured streams."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.helpers.fork_server import ForkedProcess

ROOT = Path(__file__).parents[2]
ESSAY, REVISED, SHUFFLED = (ROOT / "examples" / f"{name}.txt" for name in ("essay", "essay-revised", "shuffled"))
# For tests that do not depend on the model: this one does not import torch, which is slow.
LIGHT = ["--model", "foltz-sif"]


def weft(
    *arguments: str | Path,
    cwd: Path | None = None,
    stdin: bytes | None = None,
    timeout: float = 120,
    default_model: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run ``weft`` with arguments, and with a light model unless one is named or ``default_model`` is set."""
    words = [*map(str, arguments)]
    if words[:1] and words[0] in {"score", "order", "evaluate"} and not {"-m", "--model", "--help"} & {*words}:
        words += [] if default_model else LIGHT
    return decoded(started(words, cwd=cwd, stdin=stdin or b"", timeout=timeout).wait())


def started(
    words: Sequence[str], *, cwd: Path | None = None, stdin: bytes = b"", timeout: float = 120
) -> ForkedProcess:
    """Start ``weft`` with arguments, and do not wait for its end."""
    environment = {key: value for key, value in os.environ.items() if key not in {"WEFT_DATA", "FORCE_COLOR"}}
    environment["PYTHONUTF8"] = "1"
    return ForkedProcess(words, cwd=cwd, stdin=stdin, environment=environment, timeout=timeout)


def decoded(done: subprocess.CompletedProcess[bytes]) -> subprocess.CompletedProcess[str]:
    """Return a finished process with its output as text."""
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
    )


def ok(*arguments: str | Path, cwd: Path | None = None, stdin: bytes | None = None) -> str:
    """Run a command that must succeed, and return what it writes to stdout."""
    result = weft(*arguments, cwd=cwd, stdin=stdin)
    assert result.returncode == 0, result.stderr
    return result.stdout


def refused(*arguments: str | Path, cwd: Path, stdin: bytes | None = None) -> str:
    """Run a command that must be an error of the user, and return its one line."""
    before = sorted(cwd.rglob("*"))
    result = weft(*arguments, cwd=cwd, stdin=stdin)
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("weft: error: ")
    assert "; allowed: " in lines[0] or "allowed: " in lines[0]
    assert "next: " in lines[0]
    assert sorted(cwd.rglob("*")) == before, "something was half-written"
    return lines[0]
