"""The zoo as an installed package: models by name from any folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
import zlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ZOO = ROOT / "zoo"
FOLDERS = sorted(path.parent for path in ZOO.glob("*/model.json"))
LARGEST_WHEEL = 100_000_000  # bytes: PyPI takes no larger file
TEXT = "The plane took off at noon. The pilot reported smoke. He landed in a field near the runway.\n"


def install(package: Path, target: Path) -> None:
    """Install a package folder offline, without its dependencies."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*command, "--target", str(target), str(package)], check=True, timeout=120)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models of the zoo, one of which shares weights with the other, installed as weft-zoo."""
    if not FOLDERS:
        pytest.skip("zoo/ is not here")
    place = tmp_path_factory.mktemp("zoo")
    package, target = place / "package", place / "installed"
    package.mkdir()
    for name in ("pyproject.toml", "README.md", "__init__.py"):
        shutil.copy(ZOO / name, package)
    for name in ("seq2seq-accidents", "vlv-gm-accidents"):
        shutil.copytree(ZOO / name, package / name)
    install(package, target)
    return target


def weft(installed: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(ROOT / "src"), str(installed)])
    environment = {key: value for key, value in os.environ.items() if key != "WEFT_MODELS"}
    return subprocess.run(
        [sys.executable, "-m", "weft", *words],
        cwd=folder, env={**environment, "PYTHONPATH": paths}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_a_model_of_the_installed_package_scores_by_name(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT)
    done = [
        weft(installed, tmp_path, "score", "text.txt", "-m", name, "--format", "json")
        for name in ("vlv-gm-accidents", str(ZOO / "vlv-gm-accidents"))
    ]
    assert [one.returncode for one in done] == [0, 0], done[0].stderr
    by_name, by_path = (json.loads(one.stdout) for one in done)
    assert by_name["transitions"] == by_path["transitions"]


def test_a_model_that_is_not_in_the_package_is_an_error(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(TEXT)
    done = weft(installed, tmp_path, "score", "text.txt", "-m", "seq2seq")
    assert done.returncode == 2
    assert "no trained seq2seq" in done.stderr
    assert "seq2seq-accidents" in done.stderr


def test_every_file_of_the_zoo_is_in_the_package() -> None:
    settings = tomllib.loads((ZOO / "pyproject.toml").read_text())
    patterns = settings["tool"]["setuptools"]["package-data"]["weft_zoo"]
    packed = {path for pattern in patterns for path in ZOO.glob(pattern)}
    assert packed >= {path for folder in FOLDERS for path in folder.iterdir()}


def test_the_wheel_stays_under_100_megabytes() -> None:
    files = [path for folder in FOLDERS for path in folder.iterdir()]
    packed = sum(len(zlib.compress(path.read_bytes(), 1)) for path in files)  # the wheel is packed tighter
    assert packed < LARGEST_WHEEL, "split the package: name a second one with an entry point in weft.models"
