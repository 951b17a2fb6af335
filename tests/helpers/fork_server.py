"""Runs commands in processes that are forked from one that has imported weft, which saves up to two seconds each.

A command runs in a process of its own, as it does for a user; only the imports are done before, and the data of the
package that a few commands need are read. Run as a script, this file is the server: it reads requests, one JSON object
per line, and answers each with a line.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
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

STREAMS = ("stdin", "stdout", "stderr")
EXAMPLES = Path(__file__).parents[2] / "examples"
# Commands that the server runs itself: what they import is what most commands need.
WARM_UP = (
    ("score", str(EXAMPLES / "essay.txt"), "--model", "foltz-sif", "--device", "cpu"),
    ("order", str(EXAMPLES / "shuffled.txt"), "--model", "foltz-sif"),
    ("models", "weft-reader"),
)
# Further modules that take long to import; torch is the slowest of all.
PRELOADED = (
    "torch",
    "tokenizers",
    "weft.evaluation.tasks",
    "weft.evaluation.text_comparison",
    "weft.models.seq2seq.seq2seq",
    "weft.models.reader.reader",
    "weft.report.plots",
    "weft.report.tables",
    "weft.training.runs",
    "weft.training.neural_run",
)


class ForkedProcess:
    """A process that is forked from the server, with its streams in files.

    Args:
        words: The arguments of ``weft``, or a Python script and its arguments.
        cwd: The working folder.
        stdin: What it reads.
        environment: Its environment variables.
        timeout: Seconds after which it is ended.
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        cwd: Path | None = None,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        timeout: float = 120,
    ) -> None:
        self.words, self.place = list(words), tempfile.TemporaryDirectory()
        paths = {name: str(Path(self.place.name) / name) for name in STREAMS}
        Path(paths["stdin"]).write_bytes(stdin)
        request = {"words": self.words, "cwd": str(cwd or Path.cwd()), "timeout": int(timeout), **paths}
        self.pid = int(_answer({**request, "environment": dict(os.environ if environment is None else environment)}))

    def is_running(self) -> bool:
        """Return whether the process has not ended; an ended one can still be waited for."""
        return _answer({"running": self.pid}) == "True"

    def wait(self) -> subprocess.CompletedProcess[bytes]:
        """Wait for the end of the process, and return its exit code and what it wrote."""
        code = int(_answer({"wait": self.pid}))
        out, err = (Path(self.place.name, name).read_bytes() for name in ("stdout", "stderr"))
        self.place.cleanup()
        return subprocess.CompletedProcess(self.words, code, out, err)


def _answer(request: Mapping[str, Any]) -> str:
    """Send a request to the server of this process."""
    server = _server(os.getpid())
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(json.dumps(request).encode() + b"\n")
    server.stdin.flush()
    return server.stdout.readline().decode().strip()


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
    from weft.corpora.text.language_detection import foreign_language

    assert foreign_language(["Der Hund bellt die Katze an."]) is not None  # reads the data of py3langid
    assert threading.active_count() == 1, threading.enumerate()


def _serve() -> None:
    _warm_up()
    answers = os.fdopen(os.dup(1), "w")  # children write to their own stdout
    for line in sys.stdin:
        print(_answered(json.loads(line)), file=answers, flush=True)


def _answered(request: dict[str, Any]) -> int | bool:
    """Return the exit code of a process, whether it runs, or the number of a new one."""
    if "wait" in request:
        return os.waitstatus_to_exitcode(os.waitpid(request["wait"], 0)[1])
    if "running" in request:
        return os.waitid(os.P_PID, request["running"], os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    child = os.fork()
    if child == 0:
        _run(request)
    return child


def _run(request: dict[str, Any]) -> NoReturn:
    signal.alarm(request["timeout"])  # ends the process
    for number, name in enumerate(STREAMS):
        flags = os.O_RDONLY if name == "stdin" else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(request[name], flags), number)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, encoding="utf-8", closefd=False) for number, mode in enumerate("rww")
    )
    code = 0
    try:
        _run_words(request["words"])
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    except BaseException:
        import traceback

        code = 1
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _run_words(words: list[str]) -> None:
    if words and words[0].endswith(".py"):
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")
        return
    from weft.cli import main

    sys.argv = ["weft", *words]
    main()


if __name__ == "__main__":
    _serve()
