"""Streams that take nothing: data that got lost are an error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.helpers.command_line import ESSAY, refused

COMMANDS = (
    ("score", str(ESSAY), "-m", "foltz-sif"), ("score", str(ESSAY), "-m", "foltz-sif", "-f", "json"),
    ("score", str(ESSAY), "-m", "foltz-sif", "-f", "csv"), ("models",), ("--version",), ("--help",),
)  # fmt: skip


@pytest.mark.parametrize("redirection", [">&-", ">/dev/full"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_data_that_cannot_be_written_are_an_error(command: tuple[str, ...], redirection: str) -> None:
    shell = f'"$@" {redirection}'
    words = ["sh", "-c", shell, "sh", sys.executable, "-m", "weft", *command]
    done = subprocess.run(words, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("weft: error: the operating system reports an error")
    assert len(done.stderr.splitlines()) == 1


def test_a_closed_stderr_is_no_error() -> None:
    words = ["sh", "-c", '"$@" 2>&-', "sh", sys.executable, "-m", "weft", *COMMANDS[0]]
    assert subprocess.run(words, stdout=subprocess.DEVNULL, check=False).returncode == 0


def test_half_a_character_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "seven.txt").write_bytes(b"It rained. +2AA- He slept.\n")
    (tmp_path / "escaped.txt").write_bytes(b"It \\ud800 rained. He slept.\n")
    for name, encoding in (("seven.txt", "utf-7"), ("escaped.txt", "unicode_escape")):
        for form in ("text", "lines", "blocks", "csv"):
            assert "U+D800" in refused("score", name, "--encoding", encoding, "--input", form, cwd=tmp_path)


def test_two_columns_of_one_name_are_an_error(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow.parquet import write_table

    columns = [pyarrow.array(["It rained. He slept."]), pyarrow.array(["x"]), pyarrow.array(["y"])]
    write_table(pyarrow.table(columns, names=["text", "text", "more"]), tmp_path / "two.parquet")
    assert "2 columns" in refused("score", "two.parquet", cwd=tmp_path)


@pytest.mark.parametrize("name", ["", "weft.cli", "weft.errors", "typer"], ids=lambda name: name or "the first")
def test_ctrl_c_while_weft_is_imported_is_no_traceback(name: str) -> None:
    code = """
import __future__, runpy, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name not in {"weft", "weft.__main__"} and sys.argv[1] in {"", name}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
runpy.run_module("weft", run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", code, name], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "weft: stopped\n")
