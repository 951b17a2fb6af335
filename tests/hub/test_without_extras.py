"""Without the extras, the default model works, and what needs PyTorch or scikit-learn names the extra."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
ZOO = Path(__file__).parents[2] / "zoo"
# Runs commands one after the other as if the packages of the extra `train` were not installed.
SCRIPT = """
import contextlib, io, json, sys

sys.modules.update(dict.fromkeys(("torch", "sklearn", "scipy", "onnx")))
from weft.cli import main

found = []
for command in json.loads(sys.argv[1]):
    sys.argv = ["weft", *command]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            found.append([end.code or 0, out.getvalue(), err.getvalue()])
print(json.dumps(found))
"""
ESSAY = str(EXAMPLES / "essay.txt")


def run(*commands: list[str]) -> list[tuple[int, str, str]]:
    """Run commands in a process without these packages: exit code, stdout and stderr of each."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(commands)], capture_output=True, text=True, timeout=120, check=True
    )
    return [tuple(one) for one in json.loads(done.stdout.splitlines()[-1])]


def test_the_default_model_needs_no_extra(tmp_path: Path) -> None:
    found = run(
        ["score", ESSAY, "--explain"],
        ["order", str(EXAMPLES / "shuffled.txt"), "--input", "lines"],
        ["compare", ESSAY, str(EXAMPLES / "essay-revised.txt")],
        ["report", ESSAY, "--out", str(tmp_path / "report.html")],
        ["evaluate", "probes", "--model", "foltz-glove", "--out", str(tmp_path / "results")],
        ["score", ESSAY, "--model", str(ZOO / "foltz-lsa")],
    )
    assert [code for code, _, _ in found] == [0] * 6, found


@pytest.mark.parametrize("model", ["seq2seq", "discriminative"])
def test_the_list_of_models_knows_those_that_run_in_pytorch(model: str) -> None:
    ((code, listed, _),) = run(["models"])
    assert code == 0
    line = next(line for line in listed.splitlines() if line.split()[:1] == [model])
    assert "not installed" in line or "[train]" in line


def test_what_needs_an_extra_names_it(tmp_path: Path) -> None:
    config = tmp_path / "lsa.toml"
    config.write_text(f'[model]\nname = "foltz-lsa"\n[data]\ntrain = ["{ESSAY}"]\n[run]\nout = "{tmp_path}/model"\n')
    found = run(
        ["generate", ESSAY],
        ["score", ESSAY, "--model", str(ZOO / "seq2seq")],
        ["models", "vlv-gm"],
        ["config", "seq2seq"],
        ["train", str(config)],
    )
    for code, _, message in found:
        assert code == 2 and "pip install 'weft-coherence[train]'" in message, message
        assert "Traceback" not in message and message.count("\n") == 1


def test_the_default_model_leaves_nothing_in_the_home_of_its_user(tmp_path: Path) -> None:
    """The telemetry of onnxruntime would keep a device id and a data base there; it is off in CI anyway."""
    known = {name: value for name, value in os.environ.items() if name not in ("CI", "XDG_CACHE_HOME", "HOME")}
    code = "import weft; assert weft.score('It rained. He slept.').value is not None"
    subprocess.run([sys.executable, "-c", code], env={**known, "HOME": str(tmp_path)}, check=True, timeout=120)
    assert list(tmp_path.rglob("*")) == []
