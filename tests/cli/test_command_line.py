"""What holds for every command: help, mistakes, streams, threads."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from tests.helpers.command_line import ESSAY, ok, refused, weft

from weft.cli import app
from weft.cli.options import DEFAULT_MODEL, command_line
from weft.cli.usage_errors import usage_error
from weft.registry import DEFAULT_MODEL as REGISTERED
from weft.version import VERSION

COMMANDS = (
    "prepare", "train", "score", "order", "generate", "picture", "compare", "corrupt", "evaluate", "calibrate", "table",
    "plots", "samples", "models", "config", "curves", "export", "report", "serve",
)  # fmt: skip


def test_version_and_help() -> None:
    assert ok("--version") == f"weft {VERSION}\n"
    text = ok("--help")
    for command in COMMANDS:
        assert command in text
    assert "--install-completion" in text


def test_recorded_commands_name_the_data_folder_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_DATA", "/home/me/my data/")
    monkeypatch.setattr(sys, "argv", ["weft", "evaluate", "--data", "/home/me/my data/a b.jsonl", "x y", "/home/me/my"])
    assert command_line() == "weft evaluate --data $WEFT_DATA/'a b.jsonl' 'x y' /home/me/my"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    text = " ".join(ok(command, "--help").split())
    assert f"Usage: weft {command} " in text
    assert f"Example: weft {command}" in text


def test_help_has_placeholders_and_defaults() -> None:
    assert ok("score", "-h") == ok("score", "--help")
    text = ok("score", "--help")
    assert (
        "-m, --model NAME" in text and "[default: weft-reader]" in text and "-f, --format table|json|jsonl|csv" in text
    )
    assert "FILE..." in text and "-e, --explain  " in text


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_that_takes_a_value_has_a_placeholder(command: str) -> None:
    page = typer.main.get_command(app).commands[command]  # type: ignore[attr-defined]
    for parameter in page.params:
        assert parameter.hidden or (parameter.metavar and parameter.help) or parameter.is_flag, parameter.name


@pytest.mark.parametrize("model", ["foltz-sif", DEFAULT_MODEL])
@pytest.mark.parametrize("command", ["score", "order"])
def test_a_gpu_that_is_not_there(command: str, model: str, tmp_path: Path) -> None:
    if model == DEFAULT_MODEL and torch_sees_a_gpu():
        pytest.skip("there is a GPU here")
    assert "--device cpu" in refused(command, ESSAY, "-m", model, "--device", "cuda", cwd=tmp_path)


def torch_sees_a_gpu() -> bool:
    torch = pytest.importorskip("torch")
    return bool(torch.cuda.is_available())


def test_weft_alone_shows_its_help() -> None:
    assert "score" in ok()


def test_help_comes_at_once() -> None:
    best = min(_processor_seconds("--help") for _ in range(3))
    assert best < 1.0


def _processor_seconds(*arguments: str) -> float:
    """Processor time of a command, which does not depend on what else the machine does."""
    before = os.times()
    ok(*arguments)
    after = os.times()
    return (after.children_user + after.children_system) - (before.children_user + before.children_system)


def test_the_default_model_is_the_registered_one() -> None:
    assert DEFAULT_MODEL == REGISTERED


def test_a_mistake_names_the_help_of_the_command() -> None:
    assert weft("xyzzy").stderr.endswith("next: weft --help\n")
    assert weft("score", "--foo", "x").stderr.endswith("next: weft score --help\n")


def test_a_mistyped_command_is_corrected() -> None:
    for arguments in (("x",), ("my text.txt", "-m", "a b")):
        line = weft("scor", *arguments).stderr
        assert line.endswith(f"next: {shlex.join(['weft', 'score', *arguments])}\n")
        assert "scor --help" not in line


def test_a_long_list_of_names_does_not_hide_the_nearest_one() -> None:
    line = weft("score", "x", "-m", "foltz-glov").stderr
    assert "allowed: did you mean foltz-glove?" in line
    assert len(line) < 300


def test_mistakes_in_the_command_are_one_line() -> None:
    for arguments in (("xyzzy",), ("score",), ("score", "--foo", "x"), ("evaluate", "-t", "accidents", "--seed", "-1")):
        result = weft(*arguments)
        assert result.returncode == 2
        assert result.stdout == ""
        assert len(result.stderr.splitlines()) == 1, result.stderr
        assert result.stderr.startswith("weft: error: ")
        assert "--help" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("score",), "missing argument FILE: saw 'nothing'; allowed: weft score [OPTIONS] FILE...; next: "),
        (("calibrate", "m"), "missing option --data: saw 'nothing'; allowed: --data FILE; next: "),
        (
            ("score", "x", "--mode", "y"),
            "unknown option: saw '--mode'; allowed: did you mean --model? (",
        ),
        (("xyzzy",), "unknown command: saw 'xyzzy'; allowed: calibrate, "),
        (("score", "x", "-f"), "missing value of -f: saw 'nothing'; allowed: -f VALUE; next: weft score --help"),
        (("score", "x", "--explain=3"), "this option takes no value: saw '--explain=…'; allowed: --explain alone; "),
        (("order", "x", "--beam", "0"), "wrong value of --beam: saw '0'; allowed: a whole number, at least 1"),
        (("order", "x", "--beam", "x"), "wrong value of --beam: saw 'x'; allowed: a whole number, at least 1"),
        (("generate", "x", "--top-p", "x"), "wrong value of --top-p: saw 'x'; allowed: a number; next: "),
        (("score", "x", "-f", "y"), "wrong value of --format, -f: saw 'y'; allowed: table, json, jsonl, csv; next: "),
        (("config", "a", "b"), "too many arguments: saw 'b'; allowed: weft config [OPTIONS] [NAME|FILE]; next: "),
    ],
)
def test_a_mistake_in_the_command_has_four_parts(arguments: tuple[str, ...], line: str) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011  the class depends on typer's version
        app(arguments, standalone_mode=False, prog_name="weft")
    found = str(usage_error(caught.value, "weft score --help"))
    assert found.startswith(line)
    assert found.endswith("; next: weft score --help")


def test_a_closed_pipe_needs_no_message_and_is_not_done(tmp_path: Path) -> None:
    lines = [json.dumps({"id": f"d{n}", "text": "A cat sat. A dog ran. It rained."}) for n in range(20_000)]
    (tmp_path / "many.jsonl").write_text("\n".join(lines))
    command = f"{sys.executable} -m weft score many.jsonl -f json | head -1"
    done = subprocess.run(
        ["bash", "-c", command + "; exit ${PIPESTATUS[0]}"], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.stderr == b""
    assert done.returncode == 141
    assert json.loads(done.stdout)["id"] == "d0"


@pytest.mark.parametrize("redirect", [">/dev/full", ">&-"])
def test_a_full_or_closed_output(redirect: str) -> None:
    if redirect == ">/dev/full" and not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    command = f"{sys.executable} -m weft score {ESSAY} {redirect}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode == 2
    if "full" in redirect:
        assert all(part in done.stderr for part in ("saw ", "allowed: ", "next: "))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_cannot_show_everything(encoding: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "weft", "score", str(ESSAY), "--explain"],
        env=environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "evil.txt").write_text("A cat \x1b[31msat. It \x07slept.")
    shown = ok("score", tmp_path / "evil.txt", "--explain")
    assert "\x1b" not in shown
    assert "\x07" not in shown


WATCH = """
import os, sys
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            print(os.environ.get("OPENBLAS_NUM_THREADS"), os.environ.get("OMP_WAIT_POLICY"), file=sys.stderr)
sys.meta_path.insert(0, Watch())
from weft.cli import main
sys.argv = ["weft", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize(
    ("command", "given", "seen"),
    [
        ("score", {}, "1 PASSIVE"),
        ("order", {}, "1 PASSIVE"),
        ("order", {"OPENBLAS_NUM_THREADS": "3", "OMP_WAIT_POLICY": "ACTIVE"}, "3 ACTIVE"),
        ("config", {}, "None PASSIVE"),
    ],
)
def test_threads_of_matrix_products_are_settled_before_numpy_comes(
    command: str, given: dict[str, str], seen: str, tmp_path: Path
) -> None:
    """Too late it would change nothing: the library of matrix products reads the environment once."""
    text = tmp_path / "text.txt"
    text.write_text("A cat sat. A cat slept.")
    words = ["foltz-sif"] if command == "config" else [str(text), "--model", "foltz-sif"]
    inherited = {k: v for k, v in os.environ.items() if k not in {"OPENBLAS_NUM_THREADS", "OMP_WAIT_POLICY"}}
    done = subprocess.run(
        [sys.executable, "-c", WATCH, command, *words],
        capture_output=True, text=True, check=True, env={**inherited, **given},
    )  # fmt: skip
    assert done.stderr.splitlines()[0] == seen  # numpy is looked for once; messages of the command follow


@pytest.mark.parametrize(
    ("option", "value", "allowed"), [("--device", "tpu", "auto, cpu"), ("-f", "xml", "table, json")]
)
def test_a_refused_choice_shows_the_value_and_the_allowed_ones(
    option: str, value: str, allowed: str, tmp_path: Path
) -> None:
    line = refused("score", ESSAY, option, value, cwd=tmp_path)
    assert f"saw '{value}'" in line and f"allowed: {allowed}" in line


def test_names_whose_bytes_are_no_text(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "essay.txt").write_bytes(ESSAY.read_bytes())
    (folder / os.fsdecode(b"\xff.txt")).write_bytes(ESSAY.read_bytes())
    light = ("--model", "foltz-glove")
    names = [json.loads(line)["id"] for line in ok("score", folder, *light, "-f", "jsonl").splitlines()]
    assert sorted(names) == ["?", "essay"]
    ok("corrupt", folder, "--out", tmp_path / "negatives.jsonl")
    ok("prepare", folder, "--out", tmp_path / "store", "--vocabulary", "300")
    ok("evaluate", "pairs", "--data", folder, *light, "--out", tmp_path / "results")
    variant = os.fsdecode(b"\xff")
    message = refused("evaluate", "pairs", "--data", folder, *light, "--variant", variant, cwd=tmp_path)
    assert "UTF-8" in message
