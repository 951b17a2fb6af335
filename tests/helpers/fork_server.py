"""Runs commands in processes that are forked from one that has imported weft, which saves half a second each.

A command runs in a process of its own, as it does for a user; only the imports are done before. Run as a script, this
file is the server: it reads requests, one JSON object per line, and answers with exit codes.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

PRELOADED = ("weft.cli", "weft.cli.output", "weft.corpora.readers.formats", "weft.loaded_model", "weft.report.terminal")


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


def _serve() -> None:
    for name in PRELOADED:
        __import__(name)
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
