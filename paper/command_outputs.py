"""What commands print, for the pages that show it: run when the pages are built, so that no output is typed by hand."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from contextlib import chdir
from functools import cache
from pathlib import Path

from typer.testing import CliRunner

from paper.measured import PageError
from weft.cli import app

ROOT = Path(__file__).parents[1]
LEFT_OUT = "   …\n"
BLOCK = re.compile(r"^```text\n\$ (?:weft|python) .*?^```", re.DOTALL | re.MULTILINE)
DECIMAL = re.compile(r"-?\d+\.\d+")
# The arithmetic of another machine can change the last place of a score.
TOLERANCE = {2: 0.0101, 4: 0.0002}


@cache
def stdout_of(command: str) -> str:
    """Return what a command prints to stdout, in the folder of the repository.

    Example:
        >>> stdout_of("weft score examples/essays/hana.txt --format csv").splitlines()[0][:8]
        'id,sente'

    Raises:
        PageError: It fails.
    """
    with chdir(ROOT):
        done = CliRunner().invoke(app, shlex.split(command)[1:])
    if done.exit_code:
        raise PageError(f"{command}: exit code {done.exit_code}: {done.output}")
    return done.stdout


def program_output(path: str) -> str:
    """Return the command that runs a program of this repository and what it prints, as a block of text.

    Raises:
        PageError: It fails.
    """
    done = subprocess.run([sys.executable, path], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PageError(f"{path}: exit code {done.returncode}: {done.stderr}")
    return f"```text\n$ python {path}\n{done.stdout}```\n"


def output(command: str, first: int = 0, last: int = 0) -> str:
    """Return a command and what it prints, as a block of text.

    Args:
        command: The command, which begins with weft.
        first: Number of the first line to show, from 1; 0 for all lines.
        last: Number of the last line to show. The line of … stands for those that are left out.
    """
    lines = [f"{line.rstrip()}\n" for line in stdout_of(command).splitlines()]
    shown = lines[first - 1 : last] if first else lines
    before = LEFT_OUT if first > 1 else ""
    after = LEFT_OUT if first and last < len(lines) else ""
    return f"```text\n$ {command}\n{before}{''.join(shown)}{after}```\n"


def alike(page: str, text: str) -> bool:
    r"""Return whether a page has a text, up to the last place of the scores that commands print.

    Example:
        >>> shown = "is .95\n```text\n$ weft score a\n{}\n```"
        >>> alike(shown.format("0.1234"), shown.format("0.1235")), alike(shown.format("0.1"), shown.format("0.2"))
        (True, False)
        >>> alike("0.1234", "0.1235")
        False
    """
    blocks = [BLOCK.findall(one) for one in (page, text)]
    without = [BLOCK.sub(lambda found: DECIMAL.sub("N", found[0]), one) for one in (page, text)]
    numbers = [[number for block in found for number in DECIMAL.findall(block)] for found in blocks]
    return without[0] == without[1] and all(map(near, *numbers))


def near(first: str, second: str) -> bool:
    """Return whether two printed numbers have the same number of decimals and differ at most in the last place."""
    places = len(first.split(".")[1])
    return places == len(second.split(".")[1]) and abs(float(first) - float(second)) <= TOLERANCE.get(places, 0)
