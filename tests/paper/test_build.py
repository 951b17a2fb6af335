"""The pages are what the templates and the results give, and the check finds what is wrong with a template."""

from __future__ import annotations

import doctest
import importlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from paper.measured import Measured, PageError, paper_value
from tests.helpers.published_results import published_results

from paper import build

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def available() -> Mapping[str, Any]:
    return build.names(Measured(ROOT / "results", published_results()))


def test_the_pages_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert build.main(["--check"]) == 0, capsys.readouterr()


def fill(text: str, available: Mapping[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(build, "TEMPLATES", folder)
    (folder / "page.md.in").write_text(text)
    return build.fill("page.md.in", build.environment(available))


def test_a_template_shows_numbers_of_results(
    available: Mapping[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "{{ value('wikipedia-pairs', 'vlv-gm.mmi') }} {{ value('wikipedia-pairs', 'vlv-gm.mmi').percent }}"
    assert fill(text, available, tmp_path, monkeypatch) == ".947 95%"
    text = "{{ compare('wikipedia-pairs', 'vlv-gm.mmi', 'vlv-gm.bi') }}; {{ paper(2, 'VLV-GM (MMI)') }}"
    assert fill(text, available, tmp_path, monkeypatch) == "**+.014** [+.009, +.018]; .873"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ value('wikipedia-pairs', 'vlv-gm.mmy') }}", "no result wikipedia-pairs/vlv-gm.mmy.json"),
        ("{{ value('wikipedia-pairs', 'vlv-gm.mmi', 'tau') }}", "has no value of tau"),
        ("{{ setting('wikipedia-pairs', 'vlv-gm.mmi', 'no.such') }}", "no entry no.such"),
        ("{{ record('models.jsn', '0') }}", "no file models.jsn"),
        ("{{ paper(2, 'VLV') }}", "no row 'VLV'"),
        ("{{ nothing }}", "'nothing' is undefined"),
        ("An accuracy of .947.", "line 1: .947"),
        ("It is\nright in 95.1% of cases.", "line 2: 95.1%"),
        ("{% do require(value('wikipedia-pairs', 'random') > 0.9, 'random is good') %}", "contradict.*random is good"),
        ("{{ unfinished", "unexpected end of template"),
    ],
)
def test_a_wrong_template_fails(
    text: str, message: str, available: Mapping[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(PageError, match=message):
        fill(text, available, tmp_path, monkeypatch)


def test_a_conclusion_that_the_results_contradict_stops_the_build() -> None:
    """If MMI of one model were below bi, the findings page could not say that MMI gains."""
    mmi, bi = (("wikipedia-pairs", "seq2seq", way) for way in ("mmi", "bi"))
    results = {**published_results(), mmi: published_results()[bi], bi: published_results()[mmi]}
    made = build.environment(build.names(Measured(ROOT / "results", results)))
    with pytest.raises(PageError, match="seq2seq: MMI is above bi"):
        build.fill("findings.md.in", made)


def test_a_changed_page_fails_the_check_and_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "paper" / "sections").mkdir(parents=True)
    (tmp_path / "results" / "wikipedia-pairs").mkdir(parents=True)
    for path in (ROOT / "results" / "wikipedia-pairs").glob("random.*"):
        shutil.copy(path, tmp_path / "results" / "wikipedia-pairs")
    (tmp_path / "paper" / "page.md.in").write_text("{{ value('wikipedia-pairs', 'random') }}\n")
    (tmp_path / "paper" / "sections" / "one.md.in").write_text("random: {{ value('wikipedia-pairs', 'random') }}\n")
    (tmp_path / "docs" / "page.md").write_text(".4\n")
    (tmp_path / "README.md").write_text("# Title\n<!-- paper: one -->\nold\n<!-- end -->\nend\n")
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(build, "TEMPLATES", tmp_path / "paper")
    assert build.main(["--check"]) == 1
    assert "out of date: docs/page.md" in capsys.readouterr().out
    assert (tmp_path / "docs" / "page.md").read_text() == ".4\n"
    assert build.main([]) == 0 and build.main(["--check"]) == 0
    assert (tmp_path / "docs" / "page.md").read_text() == ".495\n"
    assert (tmp_path / "README.md").read_text() == ("# Title\n<!-- paper: one -->\nrandom: .495\n<!-- end -->\nend\n")


def test_columns_of_the_papers_tables() -> None:
    assert str(paper_value(4, "VLV-GM (MMI)", 3)) == ".054"
    with pytest.raises(PageError, match="column 4"):
        paper_value(4, "VLV-GM (MMI)", 4)


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "paper").glob("*.py")))
def test_docstring_examples_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"paper.{name}")).failed == 0
