"""Runs one scorer in an environment of its own, and answers requests on standard input; the driver is `run.py`.

    PYTHON harness.py SCORER.py DATA NAME

``SCORER.py`` has one function, ``load(data, name)``. It returns a function from texts, each a list of sentences, to
pairs: the score of the text, and one value for each pair of neighbouring sentences, or None. Every line of standard
input is a list of texts in JSON, and every line of standard output an answer. Only the standard library is used here.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FIRST = ["The cat slept on the mat.", "It purred in its sleep."]

Scored = list[tuple[float | None, list[float] | None]]
Scorer = Callable[[list[list[str]]], Scored]


def loaded(file: str, data: str, name: str) -> Scorer:
    """Return the function that scores texts."""
    spec = importlib.util.spec_from_file_location("scorer", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    scorer: Scorer = module.load(Path(data), name)
    return scorer


def peak_bytes() -> int:
    """Return the largest amount of memory that this process has used.

    `getrusage` counts the memory of the process that started this one as well.
    """
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def main() -> None:
    """Load the scorer, score a first text, and answer until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no answer

    def answer(record: dict[str, Any]) -> None:
        answers.write(json.dumps(record) + "\n")
        answers.flush()

    score = loaded(*sys.argv[1:4])
    score([FIRST])
    answer({"cpu_seconds": time.process_time(), "peak_bytes": peak_bytes()})
    for line in sys.stdin:
        texts = json.loads(line)
        start = time.process_time()
        found = score(texts)
        seconds = time.process_time() - start
        answer({"scores": found, "cpu_seconds": seconds, "peak_bytes": peak_bytes()})


if __name__ == "__main__":
    main()
