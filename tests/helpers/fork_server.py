"""Runs commands in processes that are forked from one that has imported weft, which saves up to two seconds each.

A command runs in a process of its own, as it does for a user; only the imports are done before, and the data of the
package that a few commands need are read. Run as a script, this file is the server: it reads requests, one JSON object
per line, and answers with exit codes.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

EXAMPLES = Path(__file__).parents[2] / "examples"
# Commands that the server runs itself: what they import is what most commands need.
WARM_UP = (
    ("score", str(EXAMPLES / "essay.txt"), "--model", "foltz-sif", "--device", "cpu"),
    ("order", str(EXAMPLES / "shuffled.txt"), "--model", "foltz-sif"),
    ("models", "weft-small"),
)
# Further modules that take long to import; torch is the slowest of all.
PRELOADED = (
    "torch",
    "tokenizers",
    "weft.evaluation.tasks",
    "weft.evaluation.text_comparison",
    "weft.models.seq2seq.seq2seq",
    "weft.models.seq2seq.weft_small",
    "weft.report.plots",
    "weft.report.tables",
    "weft.training.runs",
    "weft.training.neural_run",
)


def run_forked(
    words: Sequence[str], *, cwd: Path | None, stdin: bytes, environment: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[bytes]:
    """Run ``weft`` with these words in a process that is forked from the server."""
    with tempfile.TemporaryDirectory() as place:
        paths = {name: str(Path(place) / name) for name in ("stdin", "stdout", "stderr")}
        Path(paths["stdin"]).write_bytes(stdin)
        request: dict[str, Any] = {
            "words": list(words),
            "cwd": str(cwd or Path.cwd()),
            "environment": dict(environment),
            **paths,
        }
        request["timeout"] = int(timeout)
        server = _server(os.getpid())
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(json.dumps(request).encode() + b"\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        out, err = (Path(paths[name]).read_bytes() for name in ("stdout", "stderr"))
    return subprocess.CompletedProcess(list(words), code, out, err)


@cache
def _server(_owner: int) -> subprocess.Popen[bytes]:
    """Return the server of this process, which ends with it."""
    # One thread, as `weft.cli.main` sets it: threads are not forked.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONUTF8": "1"}
    server = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    atexit.register(server.kill)
    return server


def _warm_up() -> None:
    """Import what commands need; no thread may be left, because threads are not forked."""
    from weft.cli import app

    with open(os.devnull, "w") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
        for words in WARM_UP:
            app(words, standalone_mode=False)
    for name in PRELOADED:
        __import__(name)
    assert threading.active_count() == 1, threading.enumerate()


def _serve() -> None:
    _warm_up()
    answers = os.fdopen(os.dup(1), "w")  # children write to their own stdout
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _run(json.loads(line))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(code, file=answers, flush=True)


def _run(request: dict[str, Any]) -> NoReturn:
    signal.alarm(request["timeout"])  # ends the process
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        flags = os.O_RDONLY if name == "stdin" else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(request[name], flags), number)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, encoding="utf-8", closefd=False) for number, mode in enumerate("rww")
    )
    sys.argv = ["weft", *request["words"]]
    code = 1
    try:
        from weft.cli import main

        main()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
