"""Benchmarks start by their paths, and say what is not installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WITHOUT_PSUTIL = """
import runpy, sys
sys.modules["psutil"] = None  # imports of it fail
sys.argv = sys.argv[1:] + ["--help"]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def ended(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=folder, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run", "training_curves"])
def test_a_benchmark_starts_by_its_path(name: str, tmp_path: Path) -> None:
    if name == "training_curves":
        pytest.importorskip("torch")
    found = ended(str(ROOT / "benchmarks" / f"{name}.py"), "--help", folder=tmp_path)
    assert found.returncode == 0, found.stderr
    assert "--out" in found.stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scale", "prepare", "service"])
def test_a_benchmark_names_the_extra_of_a_missing_package(name: str, tmp_path: Path) -> None:
    found = ended("-c", WITHOUT_PSUTIL, str(ROOT / "benchmarks" / f"{name}.py"), folder=tmp_path)
    assert found.returncode == 1
    assert found.stderr.splitlines()[-1] == "psutil is not installed; next: pip install '.[dev]'"
