"""The documentation site is built without a warning and loads nothing from elsewhere; the notebooks run."""

from __future__ import annotations

import doctest
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools import site_hooks

import weft

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def build_site(folder: Path) -> None:
    """Build the site as `make docs` does: a page without a place in the navigation or a broken link is an error."""
    words = ["-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def pages_without_search(site: Path) -> set[str]:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    pages |= {name.replace(".md", ".html") for name in site_hooks.OUTSIDE}
    assert all((site / page).exists() for page in pages)
    entries = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    return pages - {entry["location"].split("#")[0] for entry in entries}


def loaded_from_other_hosts(site: Path) -> list[str]:
    tags = re.compile(r"<(?:script|img|iframe|source|link)\b[^>]*\b(?:src|href)=[\"']?(?:https?:)?//[^\s>]*")
    return [found for page in site.rglob("*.html") for found in tags.findall(page.read_text(encoding="utf-8"))]


def names_without_reference(site: Path) -> list[str]:
    text = (site / "api.html").read_text(encoding="utf-8")
    assert "model given by name is loaded once per process" in text  # of the docstring of weft.score
    return [name for name in weft.__all__ if name != "__version__" and f'id="weft.{name}"' not in text]


@pytest.mark.slow
def test_the_site(tmp_path: Path) -> None:
    """One test, so that the site is built once."""
    pytest.importorskip("material")
    build_site(tmp_path)
    assert not pages_without_search(tmp_path)
    assert not loaded_from_other_hosts(tmp_path)
    assert not names_without_reference(tmp_path), "add `::: weft.NAME` to docs/api.md"
    assert not re.findall(r"<[^>]*role=.?dialog(?![^>]*aria-label)[^>]*>", (tmp_path / "index.html").read_text())


def test_links_between_the_repository_and_the_site() -> None:
    assert doctest.testmod(site_hooks).failed == 0


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_from_top_to_bottom(path: Path) -> None:
    pytest.importorskip("nbclient")
    code = f"from nbclient.cli import main; main(argv=[{path.name!r}])"
    done = subprocess.run([sys.executable, "-c", code], cwd=path.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_hold_no_outputs(path: Path) -> None:
    """Outputs would show the numbers of another model or machine."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
