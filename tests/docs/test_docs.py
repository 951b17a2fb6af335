"""Every command in the README and the docs runs, every place the docs name exists, every number is in results/."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from weft.tasks.result import Result
from weft.tasks.results_page import results_page
from weft.tasks.tables import load_results

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[tuple[str, str]]:
    """The fenced blocks of a page in one language: (the words after it, the text)."""
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [(extra.strip(), text) for kind, extra, text in found if kind == language]


def runnable(page: Path) -> list[str]:
    return [text for extra, text in blocks(page, "bash") if not extra]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what a clone has beside the package, so that commands write there and not here."""
    place = tmp_path_factory.mktemp("docs")
    for name in ("examples", "configs"):
        shutil.copytree(ROOT / name, place / name)
    (place / "results").mkdir()
    return place


@pytest.mark.parametrize("page", [p for p in PAGES if runnable(p)], ids=lambda p: p.stem)
def test_commands_run(page: Path, workplace: Path) -> None:
    weft = f'weft() {{ "{sys.executable}" -m weft "$@"; }}\n'
    for text in runnable(page):
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", weft + text], cwd=workplace, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{text}\n{done.stderr}"


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.stem)
def test_python_runs(page: Path, workplace: Path) -> None:
    for _, text in blocks(page, "python"):
        done = subprocess.run([sys.executable, "-c", text], cwd=workplace, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_commands_that_need_data_name_files_that_exist() -> None:
    for page in PAGES:
        for extra, text in blocks(page, "bash"):
            if extra == "needs-data":
                for path in re.findall(r"(?<![\w/])(?:configs|examples|zoo|benchmarks)/[\w./-]+", text):
                    assert (ROOT / path).exists(), f"{page.name}: {path}"


def test_the_readme_shows_the_real_output(workplace: Path) -> None:
    shown = next(text for _, text in blocks(ROOT / "README.md", "text") if text.startswith("$ weft score"))
    command, expected = shown.split("\n", 1)
    done = subprocess.run(
        [sys.executable, "-m", *command.removeprefix("$ ").split()],
        cwd=workplace, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONUTF8": "1"},
    )  # fmt: skip
    assert [line.rstrip() for line in done.stdout.splitlines()] == expected.splitlines()


def test_the_paper_map_names_real_places() -> None:
    text = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    places = re.findall(r"`(weft\.[\w.]+):(\w+)`", text)
    assert len(places) >= 10
    for module, name in places:
        assert hasattr(importlib.import_module(module), name), f"{module}:{name}"


def test_links_lead_somewhere() -> None:
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_results_page_is_what_the_results_say() -> None:
    assert (ROOT / "docs" / "results.md").read_text(encoding="utf-8") == results_page(load_results(ROOT / "results"))


def test_the_readme_table_is_what_the_results_say() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for label, name in (("Foltz-GloVe, weft", "foltz-glove.glove-6b-100d"), ("Foltz-LDA, weft", "foltz-lda")):
        row = next(line for line in text.splitlines() if line.startswith(f"| {label} "))
        cells = [float(cell) for cell in row.split("|")[2:-1]]
        results = [
            Result.load(ROOT / "results" / task / f"{name}.json")
            for task in ("accidents", "earthquakes", "wikipedia-pairs")
        ]
        assert cells == [pytest.approx(result.metrics["accuracy"], abs=0.0005) for result in results]
    default = Result.load(ROOT / "results" / "wikipedia-pairs" / "foltz-sif.json")
    assert f"{default.metrics['accuracy']:.0%} of the time" in text


def test_results_name_no_machine() -> None:
    for path in (ROOT / "results").rglob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r'"(/|[A-Z]:\\)', text), path
