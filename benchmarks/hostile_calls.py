"""Hostile uses of weft, each drawn from a seed: its readers, its command line, its Python API and model folders.

A use ends with `Done` or raises `Fault`; any other exception is a fault too.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
from benchmarks.hostile_files import (
    ENCODINGS,
    FORMATS,
    NASTY,
    damaged,
    hostile_file,
    hostile_folder,
    json_value,
    sentence,
    text,
)

ALLOWED_CODES = (0, 2, 130, 141, 143)
READ, REFUSED = "read", "refused"
MOST_DOCUMENTS, MOST_SENTENCES, MOST_BYTES = 3, 12, 20_000  # that are scored; the readers read all
LONGEST_MESSAGE = 3000  # characters of an error: its four parts, each of them shortened
SCORED = 0.2  # share of read files whose first texts are scored
PROCESS_SECONDS = 50  # of the processor, for a command in a process of its own
PROCESS_PATIENCE = 500  # seconds on the clock, for the same
LANGUAGES = ("de", "hi", "zh", "xx", "", "\0", "EN", "en\ud800")


class Fault(Exception):  # noqa: N818  what is raised is the finding, not an error of this program
    """Something that must not happen."""


@dataclass(frozen=True, slots=True)
class Done:
    """How a use ended.

    Attributes:
        end: ``read`` or ``refused``.
        code: The exit code of a command.
        what: What was done, for people.
    """

    end: str
    code: int | None = None
    what: str = ""


def usually(rng: random.Random, usual: Any, *others: Any) -> Any:
    """Return the first value in most cases, else one of the others."""
    return usual if rng.random() < 0.93 else rng.choice(others)


# Checks ---------------------------------------------------------------------------------------------------------------


def check_finite(value: object, where: str = "result") -> None:
    """Raise Fault if a number in a result is not finite."""
    if isinstance(value, float) and not math.isfinite(value):
        raise Fault(f"{where} is {value}")
    inner: Iterable[tuple[object, object]] = value.items() if isinstance(value, Mapping) else ()
    if isinstance(value, list | tuple):
        inner = enumerate(value)
    for key, one in inner:
        check_finite(one, f"{where}.{key}"[:200])


def check_result(value: object) -> None:
    """Raise Fault if a result of the API, or one of a list, has a number that is not finite or cannot be shown."""
    if isinstance(value, list):
        for one in value:
            check_result(one)
    elif to_dict := getattr(value, "to_dict", None):
        found = to_dict()
        check_finite(found)
        json.dumps(found)
        repr(value)
        if shown := getattr(value, "_repr_html_", None):
            shown()
    else:
        check_finite(value)


def check_message(message: str) -> None:
    """Raise Fault if an error is not one short line with its next step."""
    if len(message) > LONGEST_MESSAGE or "\n" in message:
        raise Fault(f"a message of {len(message)} characters and {message.count(chr(10)) + 1} lines: {message[:200]}")


def check_json(output: str) -> None:
    """Raise Fault if a line of output is not JSON, or has a number that JSON does not have."""

    def refuse(constant: str) -> None:
        raise Fault(f"the output has {constant}")

    for line in output.split("\n"):
        if line.strip():
            try:
                json.loads(line, parse_constant=refuse)
            except ValueError as error:
                raise Fault(f"the output is not JSON: {error}: {line[:200]!r}") from error


# Readers --------------------------------------------------------------------------------------------------------------


def read(form: str, rng: random.Random, place: Path) -> Done:
    """Read a hostile file with options drawn at random, and score some of what is read."""
    from weft import ReadOptions, WeftError, read_documents

    path = hostile_folder(rng, place) if form == "folder" else hostile_file(rng, place, form)
    options = ReadOptions(
        format=usually(rng, "auto", form),
        encoding=usually(rng, "utf-8", *ENCODINGS, "no-such"),
        language=usually(rng, "en", *LANGUAGES),
        column=usually(rng, "text", "id", ""),
        id_column=usually(rng, None, "id", "\ud800"),
        speaker=usually(rng, "", "DOCTOR", "\0"),
        clean=usually(rng, (), ("fillers", "noises"), ("labels",), ("x",)),
        empty=rng.choice(("skip", "keep")),
    )
    what = f"{form}, {path.name[:80]}"
    try:
        documents = list(islice(read_documents(path, options), 20_000))
    except WeftError as error:
        check_message(str(error))
        return Done(REFUSED, what=what)
    for document in documents:
        if not all(isinstance(one, str) and one.strip() for one in document.sentences):
            raise Fault("an empty sentence")
    if rng.random() < SCORED:
        _score(documents)
    return Done(READ, what=what)


def _score(documents: Sequence[Any]) -> None:
    """Score the first documents, without what would take long."""
    import weft

    few = [one.reorder(range(min(len(one), MOST_SENTENCES))) for one in documents[:MOST_DOCUMENTS]]
    small = [one for one in few if sum(map(len, one.sentences)) < MOST_BYTES]
    check_result(weft.score(small))


# Command line ---------------------------------------------------------------------------------------------------------

NUMBERS = ("-1", "0", "1", "2", "1.5", "1e9", "nan", "", "x", "99999999999999999999999", "٣")
READING = {
    "--input": ("auto", "text", "lines", "jsonl", "csv", "html", "pdf", "xyz"), "--encoding": (*ENCODINGS, "x"),
    "--language": ("en", "de", "xx"), "--column": ("text", "", "\ud800"), "--id-column": ("id", "x"),
    "--speaker": ("DOCTOR", ""), "--clean": ("fillers", "labels,noises", "x", ","),
}  # fmt: skip
SHOWN = {"--format": ("table", "json", "jsonl", "csv", "xml"), "--out": ("o.json", "o.csv", "no/o", ".", "")}
CHOSEN = {
    "--combine": ("uni", "bi", "mmi", "x"), "--device": ("cpu", "auto", "gpu", "cuda"),
    "--set": ("combine=uni", "x=1", "=", "a", "precedence_weight=nan"), "--model": ("foltz-sif", "no", ".", ""),
}  # fmt: skip
COMMANDS: dict[str, tuple[dict[str, Sequence[str]], Sequence[str]]] = {
    "score": ({**READING, **SHOWN, **CHOSEN, "--sort": ("score", "name", "x"), "--genre": ("essay", "all", "x")},
              ("--explain", "--strict")),
    "order": ({**READING, **SHOWN, **CHOSEN, "--search": ("greedy", "beam", "exact", "x"), "--beam": NUMBERS,
               "--seed": NUMBERS, "--objective": ("both", "coherence", "x")}, ("--first-given", "--move-one")),
    "compare": ({**READING, **SHOWN, **CHOSEN, "--limit": NUMBERS}, ("--changes-only",)),
    "corrupt": ({**READING, "--out": ("o.jsonl", "no/o", "."), "--permutations": NUMBERS[:5], "--seed": NUMBERS}, ()),
    "evaluate": ({**READING, **CHOSEN, "--out": ("results", "f"), "--limit": NUMBERS, "--permutations": NUMBERS[:5],
                  "--seed": NUMBERS, "--variant": ("x", "../x", "\0")}, ()),
    "models": ({"--format": ("json", "table", "csv", "x")}, ("--card",)),
    "config": ({"--set": ("model.x=1", "training.steps=nan", "=", "x")}, ()),
    "table": ({"--results": ("results", ".", ""), "--format": ("csv", "latex", "x")}, ()),
    "calibrate": ({**READING, "--data": ("f", "no"), "--out": ("m", "."), "--unit": ("text", "x")}, ()),
    "generate": ({**SHOWN, "--sentences": ("1", "0", "x"), "--beam": ("2", "0", "x"), "--max-tokens": ("5", "0"),
                  "--method": ("beam", "x"), "--top-p": NUMBERS[:7], "--temperature": NUMBERS[:7]}, ()),
}  # fmt: skip
SHARES = {"score": 10, "order": 4, "compare": 4, "corrupt": 3, "evaluate": 3, "models": 1, "config": 1, "table": 1,
          "calibrate": 1, "generate": 0.3}  # fmt: skip
ODD_PATHS = ("no-such-file", "*.x", "", "x" * 3000, "/dev/zero", "/dev/null", "[", "a/" * 3000, "~")
TASKS = ("pairs", "order", "insertion", "probes", "swaps", "endings", "ratings", "sp", "intruder", "no-such")


def small_file(rng: random.Random, place: Path) -> Path:
    """Return a hostile file that is not large, because a model reads it."""
    while True:
        path = hostile_file(
            rng, place, rng.choice((*FORMATS, *("text", "lines", "jsonl", "csv", "html") * 4)), harm=0.1
        )
        if path.stat().st_size < MOST_BYTES:
            return path


def words_of(rng: random.Random, place: Path) -> tuple[list[str], bytes]:
    """Return the words of a command, and what it gets on stdin."""
    name = rng.choices(list(SHARES), list(SHARES.values()))[0]
    options, flags = COMMANDS[name]
    words = [name]
    files = [str(small_file(rng, place)) for _ in range(2 if name == "compare" else rng.choice((1, 1, 1, 2)))]
    if name == "evaluate":
        words += [rng.choice(TASKS), "--data", usually(rng, files[0], *ODD_PATHS)]
    elif name in {"models", "config", "table"}:
        words += rng.choice(
            ([], ["weft-reader"], [files[0]], ["4"], ["no-such"], ["foltz-lsa"], [rng.choice(ODD_PATHS)])
        )
    elif name == "calibrate":
        words += ["foltz-sif", "--data", files[0]]
    else:
        words += [usually(rng, file, "-", "-", "-", *ODD_PATHS) for file in files]
    for key in rng.sample(sorted(options), min(len(options), rng.choice((0, 0, 1, 1, 2)))):
        words += [key, rng.choice(options[key])]
    if name in {"corrupt", "calibrate"} and "--out" not in words:
        words += usually(rng, ["--out", "new"], [])
    words += [flag for flag in (*flags, "--nonsense") if rng.random() < (0.2 if flag in flags else 0.02)]
    return [word.replace("\0", "\\0") for word in words], Path(files[0]).read_bytes()


class _Stream(io.TextIOWrapper):
    """A standard stream in memory."""

    def __init__(self, content: bytes = b"") -> None:
        super().__init__(io.BytesIO(content), encoding="utf-8", write_through=True)

    def text(self) -> str:
        """Return what was written."""
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode("utf-8")


def run_command(words: Sequence[str], stdin: bytes) -> tuple[int, str, str]:
    """Run a command in this process, as `python -m weft` does: exit code, stdout and stderr."""
    from weft.cli import main

    kept = sys.argv, sys.stdin, sys.stdout, sys.stderr
    out, err = _Stream(), _Stream()
    sys.argv, sys.stdin, sys.stdout, sys.stderr = ["weft", *words], _Stream(stdin), out, err
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.argv, sys.stdin, sys.stdout, sys.stderr = kept
    return code, out.text(), err.text()


def command(rng: random.Random, place: Path) -> Done:
    """Run a command with hostile files and options."""
    words, stdin = words_of(rng, place)
    what = " ".join(words).replace(f"{place}/", "")[:300]
    code, out, err = run_command(words, stdin)
    check_end(code, out, err, as_json=bool({"json", "jsonl"} & {*words}) and "--out" not in words, what=what)
    return Done(REFUSED if code == 2 else READ, code, what)


def check_end(code: int, out: str, err: str, *, as_json: bool, what: str) -> None:
    """Raise Fault for an exit code that must not be, a traceback, output that is not JSON, or an error that is long."""
    if code not in ALLOWED_CODES:
        raise Fault(f"exit code {code}: {what}: {err[-300:]}")
    if "Traceback (most recent call last)" in err:
        raise Fault(f"a traceback: {what}: {err[-500:]}")
    if code == 2:
        lines = [line for line in err.splitlines() if line.startswith("weft: error: ")]
        if len(lines) != 1:
            raise Fault(f"exit code 2 with {len(lines)} errors: {what}: {err[-300:]}")
        check_message(lines[0])
    if code == 0 and as_json:
        check_json(out)


# Processes ------------------------------------------------------------------------------------------------------------


def process(rng: random.Random, place: Path) -> Done:
    """Run a command in a process of its own, perhaps with a signal, a closed pipe or a full device."""
    words, stdin = words_of(rng, place)
    words = [word.encode("utf-8", "replace").decode() for word in words]
    way = rng.choice(("plain", "plain", "SIGINT", "SIGTERM", "closed", "full"))
    what = f"{way}: {' '.join(words)}".replace(f"{place}/", "")[:300]
    out = subprocess.PIPE if way != "full" else os.open("/dev/full", os.O_WRONLY)
    running = subprocess.Popen(
        [sys.executable, "-m", "weft", *words], stdin=subprocess.PIPE, stdout=out, stderr=subprocess.PIPE, cwd=place
    )
    if isinstance(out, int) and out >= 0:
        os.close(out)
    if way == "closed" and running.stdout is not None:
        running.stdout.close()
        running.stdout = None
    resource.prlimit(running.pid, resource.RLIMIT_CPU, (PROCESS_SECONDS, PROCESS_SECONDS))
    if way.startswith("SIG"):
        _await_work(running, rng.uniform(0.15, 1.2))  # before, Python itself has not started
        running.send_signal(getattr(signal, way))
    try:
        shown, err = running.communicate(stdin, timeout=PROCESS_PATIENCE)
    except subprocess.TimeoutExpired as error:
        running.kill()
        raise Fault(f"no end after {PROCESS_PATIENCE} seconds: {what}") from error
    code = running.returncode if running.returncode >= 0 else 128 - running.returncode
    as_json = bool({"json", "jsonl"} & {*words}) and "--out" not in words
    check_end(code, (shown or b"").decode("utf-8"), err.decode("utf-8"), as_json=as_json, what=what)
    return Done(REFUSED if code == 2 else READ, code, what)


def _await_work(running: subprocess.Popen[bytes], seconds: float) -> None:
    """Return when a process has used so many seconds of the processor, has ended, or waits for something."""
    process, end = psutil.Process(running.pid), time.monotonic() + 20
    while running.poll() is None and time.monotonic() < end:
        times = process.cpu_times()
        if times.user + times.system >= seconds:
            return
        time.sleep(0.01)


# Python ---------------------------------------------------------------------------------------------------------------


def odd_value(rng: random.Random) -> Any:
    """Return a value that a caller might pass by mistake, or on purpose."""
    import numpy as np

    pick: list[Callable[[], Any]] = [
        lambda: rng.choice(
            (None, True, 0, -1, 2**70, 1.5, float("nan"), float("inf"), 1j, b"", b"A. B.", object(), print)
        ),
        lambda: rng.choice(
            ("", "\0", "en", "uni", "x" * 3000, Path(), ..., range(3), Ellipsis, int, {1, 2}, frozenset())
        ),
        lambda: [odd_value(rng) for _ in range(rng.randint(0, 3))],
        lambda: {rng.choice(NASTY): odd_value(rng)},
        lambda: np.array(rng.choice(([1.0, 2.0], [["a"]], ["A. B. C."], [None], [])), dtype=object),
        lambda: (one for one in (odd_value(rng),)),
        lambda: series(rng),
        lambda: json_value(rng),
    ]
    return rng.choice(pick)()


def series(rng: random.Random) -> Any:
    """Return a Series or a data frame with texts, and with values that are none."""
    import pandas  # type: ignore[import-untyped]
    import polars

    values = rng.choice((["A. B. C.", "It rained."], ["A. B.", None], [float("nan")], [], [1, 2]))
    library = rng.choice((pandas, polars))
    return library.Series(values) if rng.random() < 0.7 else library.DataFrame({"text": values})


def some_text(rng: random.Random) -> Any:
    """Return a text or texts, in any form; in one of four cases something else."""
    from weft import Document

    if rng.random() < 0.25:
        return odd_value(rng)
    sentences = [one for one in (sentence(rng) for _ in range(rng.randint(0, 7))) if one.strip()]
    one = Document(rng.choice(("d", "", "\0", "\ud800", "x" * 400)), tuple(sentences))
    return rng.choice((one, [one, one], text(rng), [text(rng) for _ in range(rng.randint(0, 3))], sentences, "\n\n"))


def or_odd(rng: random.Random, *good: Any) -> Any:
    """Return one of several values, or in one of ten cases something else."""
    return rng.choice(good) if rng.random() < 0.9 else odd_value(rng)


def api_calls(rng: random.Random, place: Path) -> dict[str, Callable[[], Any]]:
    """Return calls of the public functions with hostile arguments, by name."""
    import weft

    spoken = usually(rng, "en", *LANGUAGES, odd_value(rng))
    combine = usually(rng, None, "uni", "bi", "mmi", "x", odd_value(rng))
    few: dict[str, Any] = {"beam": or_odd(rng, 2, 4), "max_tokens": or_odd(rng, 5, 8), "sentences": or_odd(rng, 1)}
    for key in rng.sample(
        ("method", "top_p", "temperature", "seed", "groups", "no_repeat", "nonsense"), rng.randint(0, 2)
    ):
        few[key] = or_odd(rng, 1, 0.5, "sample")
    some, other = some_text(rng), some_text(rng)

    def read_all() -> Any:
        return list(
            islice(
                weft.read_documents(or_odd(rng, place, some, rng.choice(ODD_PATHS)), or_odd(rng, weft.ReadOptions())),
                100,
            )
        )

    return {
        "score": lambda: weft.score(some, combine=combine, language=spoken, genre=or_odd(rng, None, "essay", "x")),
        "order": lambda: weft.order(
            some, combine=combine, search=or_odd(rng, "auto", "greedy", "beam", "exact"), beam=or_odd(rng, 1, 3),
            objective=or_odd(rng, "auto", "coherence"), seed=or_odd(rng, 1, 0), first_given=or_odd(rng, True, False),
        ),
        "compare": lambda: weft.compare(some, other, combine=combine, language=spoken),
        "best_move": lambda: weft.best_move(some, combine=combine, objective=or_odd(rng, "auto", "both")),
        "generate": lambda: weft.generate(some, **few),
        "load": lambda: weft.load(
            or_odd(rng, "foltz-sif", "", "no", place), combine=combine, device=or_odd(rng, "cpu"),
            settings=or_odd(rng, None, {"x": 1}, {"weighting": odd_value(rng)}),
        ),
        "model": lambda: weft.score(some, model=or_odd(rng, "foltz-sif", place, rng.choice(ODD_PATHS))),
        "Document": lambda: weft.Document(or_odd(rng, "d"), some, or_odd(rng, "t")),
        "ReadOptions": lambda: list(weft.read_documents(
            small_file(rng, place), weft.ReadOptions(**{rng.choice(READ_FIELDS): odd_value(rng) for _ in range(2)})
        )),
        "Decoding": lambda: weft.Decoding(**{key: few[key] for key in few if key not in {"sentences", "nonsense"}}),
        "read_documents": read_all,
        "split_sentences": lambda: weft.split_sentences(some, spoken),
        "to_frame": lambda: weft.to_frame(some, library=or_odd(rng, "pandas", "polars")).shape,
        "evaluate": lambda: weft.evaluate(
            or_odd(rng, *TASKS), data=or_odd(rng, small_file(rng, place), rng.choice(ODD_PATHS)), combine=combine,
            model=or_odd(rng, "foltz-sif"), limit=or_odd(rng, 1, None), seed=or_odd(rng, 1), options=or_odd(rng, None),
        ),
        "train": lambda: weft.train(or_odd(rng, small_file(rng, place), {"model": json_value(rng)})),
        "compare_models": lambda: weft.compare_models(some, other, task=or_odd(rng, "pairs", "no"), results=place),
    }  # fmt: skip


READ_FIELDS = (
    "format", "encoding", "language", "column", "id_column", "max_line_bytes", "min_sentences", "empty", "speaker",
    "clean",
)  # fmt: skip
API_SHARES = {"score": 8, "order": 4, "compare": 4, "generate": 0.3}  # the others: 1


def api(rng: random.Random, place: Path) -> Done:
    """Call a function of the public API with hostile arguments."""
    from weft import WeftError

    calls = api_calls(rng, place)
    name = rng.choices(list(calls), [API_SHARES.get(one, 1) for one in calls])[0]
    try:
        check_result(calls[name]())
    except WeftError as error:
        check_message(str(error))
        return Done(REFUSED, what=name)
    return Done(READ, what=name)


# Model folders --------------------------------------------------------------------------------------------------------


def model_folder(rng: random.Random, place: Path) -> Done:
    """Load a damaged copy of a model folder inside the package and score a text with it."""
    import weft
    from weft.hub import PACKAGE_FOLDERS
    from weft.hub import model_folder as model_folder_of
    from weft.io.package_files import PRETRAINED
    from weft.registry import DEFAULT_MODEL, model_class

    name = rng.choice((DEFAULT_MODEL, DEFAULT_MODEL, "foltz-glove"))
    source = PRETRAINED / PACKAGE_FOLDERS[name] if name in PACKAGE_FOLDERS else model_folder_of(name)
    folder = place / "model"
    shutil.copytree(source, folder)
    what = f"{source.name}: {damage_folder(rng, folder)}"
    by_class = (
        rng.random() < 0.5
    )  # a folder inside the package is loaded by its class, one by path through its manifest
    try:
        model = weft.Model(model_class(name).load(folder), name) if by_class else weft.load(folder)
        check_result(model.score(" ".join(rng.sample(("It rained.", "He slept.", "It was late."), 3))))
    except weft.WeftError as error:
        check_message(str(error))
        return Done(REFUSED, what=what)
    return Done(READ, what=what)


def damage_folder(rng: random.Random, folder: Path) -> str:
    """Damage a file of a model folder, with a manifest that fits in half of the cases; return what was done."""
    path = rng.choice(sorted(folder.iterdir()))
    manifest = json.loads((folder / "model.json").read_bytes())
    kinds = (
        "bytes",
        "bytes",
        "cut",
        "empty",
        "missing",
        "pipe",
        "link",
        "folder",
        "header",
        "json",
        "config",
        "config",
    )
    kind = rng.choice(kinds)
    if kind == "bytes":
        path.write_bytes(damaged(rng, path.read_bytes()))
    elif kind == "cut":
        path.write_bytes(path.read_bytes()[: rng.randint(0, 2000)])
    elif kind in {"empty", "header", "json"}:
        contents = {"empty": b"", "header": (2**62).to_bytes(8, "little") + b"{}", "json": _odd_json(rng)}
        path.write_bytes(contents[kind])
    elif kind == "config":
        path = folder / "model.json"
        key = rng.choice((*manifest["config"], "x"))
        manifest["config"][key] = rng.choice((json_value(rng), 10**9, -1, "", None, [], 0.5, 2**40))
    else:
        path.unlink()
        _replace(kind, path, folder)
    if path.name in manifest.get("files", {}) and path.is_file() and kind != "link":
        manifest["files"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    if rng.random() < 0.7 and (path.name != "model.json" or kind == "config"):
        content = {key: value for key, value in manifest.items() if key != "sha256"}
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        (folder / "model.json").write_text(json.dumps({**content, "sha256": digest}))
    return f"{kind} {path.name}"


def _replace(kind: str, path: Path, folder: Path) -> None:
    """Put a pipe, a link or a folder in the place of a file, or nothing."""
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to(folder.parent)
    elif kind == "folder":
        path.mkdir()


def _odd_json(rng: random.Random) -> bytes:
    return json.dumps(json_value(rng, 5)).encode() if rng.random() < 0.8 else b"[" * 100_000


# All ------------------------------------------------------------------------------------------------------------------

OTHER_SHARES: dict[str, tuple[float, Callable[[random.Random, Path], Done]]] = {
    "command line": (0.22, command),
    "Python": (0.22, api),
    "model folder": (0.04, model_folder),
    "process": (0.006, process),
}


def targets() -> Iterator[str]:
    """Yield the names of all targets: the readers by format, and the others."""
    yield from (f"reader {name}" for name in (*FORMATS, "folder"))
    yield from OTHER_SHARES


def target_of(rng: random.Random) -> str:
    """Return the name of a target, drawn by its share; the readers share what is left."""
    names = list(targets())
    rest = (1 - sum(share for share, _ in OTHER_SHARES.values())) / (len(names) - len(OTHER_SHARES))
    return rng.choices(names, [OTHER_SHARES[name][0] if name in OTHER_SHARES else rest for name in names])[0]


def strike(target: str, rng: random.Random, place: Path) -> Done:
    """Use a target once, in an empty folder."""
    if target in OTHER_SHARES:
        return OTHER_SHARES[target][1](rng, place)
    return read(target.removeprefix("reader "), rng, place)
