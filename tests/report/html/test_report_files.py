"""`weft report` and `weft.write_report`: inputs, output, errors, and what a real browser makes of the file."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.command_line import ESSAY, LIGHT, refused, weft

import weft as library
from weft.errors import CorpusError
from weft.report.html.pdf_files import BROWSERS, find_chromium, write_pdf

HAS_BROWSER = any(map(shutil.which, BROWSERS))


def test_files_folders_and_patterns_are_read(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text("A cat sat. It slept. Rain fell.")
    done = weft("report", tmp_path, str(tmp_path / "*.txt"), ESSAY, *LIGHT, "-o", "out/my.html", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "" and "wrote out/my.html" in done.stderr
    page = (tmp_path / "out/my.html").read_text()
    assert page.count('<article class="text"') == 5


def test_a_report_in_a_folder_that_is_read_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A cat sat. It slept. Rain fell.")
    assert weft("report", "a.txt", *LIGHT, cwd=tmp_path).returncode == 0
    before = (tmp_path / "report.html").read_text()
    for source in (".", "*.html", "report.html"):
        assert "overwrite" in refused("report", source, *LIGHT, cwd=tmp_path)
    assert (tmp_path / "report.html").read_text() == before
    assert weft("report", "a.txt", *LIGHT, "--brief", cwd=tmp_path).returncode == 0
    assert (tmp_path / "report.html").read_text() != before


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--out", "report.pdf"], "ends in .html"),
        (["--genre", "poem"], "genre"),
        (["--combine", "uni"], "combine"),
        (["--pdf"], "Chromium"),
    ],
)
def test_wrong_options_are_one_line_and_write_nothing(
    words: list[str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CHROMIUM", "/no/such/browser")
    line = refused("report", ESSAY, *LIGHT, *words, cwd=tmp_path)
    assert expected in line and all(part in line for part in ("saw", "allowed", "next"))


def test_a_browser_that_fails_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHROMIUM", "false")
    assert find_chromium().endswith("false")
    with pytest.raises(CorpusError, match="did not print"):
        write_pdf(tmp_path / "page.html", tmp_path / "page.pdf")
    assert not any(tmp_path.iterdir())


def test_the_function_takes_what_score_takes(tmp_path: Path) -> None:
    text, documents = "A cat sat. It slept.", [library.Document("<d>", ("A.", "B."))]
    inputs: list[Any] = [text, documents[0], documents, [text, text]]
    for number, texts in enumerate(inputs):
        out = library.write_report(texts, tmp_path / f"{number}.html", model="foltz-sif", title="T")
        assert "<title>T</title>" in out.read_text()
    assert "&lt;d&gt;" in (tmp_path / "2.html").read_text()


@pytest.mark.parametrize(
    "options", [{"out": "."}, {"out": ["a.html"]}, {"out": ""}, {"title": 3}, {"pdf": "yes"}, {"details": None}]
)
def test_wrong_arguments_are_explained(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(library.ConfigError) as found:
        library.write_report("A cat sat. It slept.", **{"model": "foltz-sif", **options})
    assert all(part in str(found.value) for part in ("saw", "allowed", "next")) and not any(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.skipif(not HAS_BROWSER, reason="no Chromium found")
def test_a_browser_shows_hostile_text_and_prints_the_report(tmp_path: Path) -> None:
    evil = "<script>document.title='changed'</script> sat. It <b>slept</b>. שלום עולם."
    out = library.write_report([evil, evil], tmp_path / "r.html", model="foltz-sif", title="Mine", pdf=True)
    assert (tmp_path / "r.pdf").read_bytes().startswith(b"%PDF-")
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    command = [find_chromium(), "--headless", *root, f"--user-data-dir={tmp_path}/profile", "--dump-dom", out.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert "<title>Mine</title>" in shown and "&lt;script&gt;document.title" in shown
