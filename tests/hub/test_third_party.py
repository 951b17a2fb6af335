"""Models, readers and tasks of other installed packages."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from weft.corpora.readers.formats import ReadOptions, read_documents
from weft.errors import ConfigError
from weft.evaluation.tasks import TASKS, find_task, task_names
from weft.hub import find_model, known_models, load_model
from weft.registry import added_names, create_model, is_registered, load_added, model_class, model_names

ROOT = Path(__file__).parents[2]
POEM = """The river is cold
A cold river sings
The river sings low

One old oak stands
That oak stands tall
Tall winds sing
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package that CONTRIBUTING.md shows, written down and installed."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    package, target = tmp_path_factory.mktemp("package"), tmp_path_factory.mktemp("installed")
    for name in ("pyproject.toml", "weft_example.py"):
        found = re.search(rf"^```\w+\n# {re.escape(name)}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        assert found, name
        (package / name).write_text(found.group(1), encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation",
         "--target", str(target), str(package)],
        check=True, timeout=120,
    )  # fmt: skip
    return target


def weft(installed: Path, folder: Path, *words: str) -> str:
    """Run the command line with the package installed; return what it writes."""
    paths = os.pathsep.join([str(ROOT / "src"), str(installed)])
    done = subprocess.run(
        [sys.executable, "-m", "weft", *words],
        cwd=folder, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_model_a_reader_and_a_task_are_used_from_the_command_line(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "poem.txt").write_text(POEM)
    command = ["score", "poem.txt", "-m", "overlap", "--input", "stanzas", "--set", "shortest=3", "-f", "json"]
    scores = [json.loads(line) for line in weft(installed, tmp_path, *command).splitlines()]
    assert [score["id"] for score in scores] == ["stanza-0", "stanza-1"]
    assert scores[0]["transitions"] == [pytest.approx(2 / 4), pytest.approx(2 / 5)]
    weft(
        installed, tmp_path, "evaluate", "--task", "moved", "--data", "poem.txt", "--input", "stanzas", "-m", "overlap"
    )
    result = json.loads((tmp_path / "results/moved/overlap.json").read_text())
    assert (result["metrics"]["accuracy"], result["n_pairs"]) == (1.0, 2)
    assert "shortest = 4" in weft(installed, tmp_path, "config", "overlap")


def add_package(place: Path, name: str, entries: str, code: str = "") -> None:
    """Write the metadata of an installed package, and a module of the same name."""
    about = place / f"{name}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(entries)
    (place / f"{name}.py").write_text(code)


def test_names_of_weft_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = (
        "[weft.models]\nrandom = grabby:Model\n[weft.readers]\ntext = grabby:read\n[weft.tasks]\npairs = grabby:TASK\n"
    )
    add_package(tmp_path, "grabby", entries, "raise SystemError('never imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert added_names("weft.models") == ["random"]
    assert model_names().count("random") == 1
    assert model_class("random").__module__ == "weft.models.trivial"
    assert find_model("random").source == "weft"
    assert find_task("pairs") is TASKS["pairs"]
    assert task_names().count("pairs") == 1
    (tmp_path / "a.txt").write_text("It rained. He slept.")
    assert len(list(read_documents(tmp_path / "a.txt", ReadOptions(format="text")))) == 1


def test_a_broken_package_is_an_error_where_its_own_name_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = (
        "[weft.models]\nbroken = faulty:Model\n[weft.readers]\nbroken = faulty:read\n[weft.tasks]\nbroken = faulty:T\n"
    )
    add_package(tmp_path, "faulty", entries, "raise RuntimeError('half installed')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert load_model("foltz-sif")
    assert is_registered("broken")
    row = next(row for row in known_models() if row.name == "broken")
    assert row.summary.startswith("cannot be used")
    for use in (
        lambda: load_model("broken"),
        lambda: find_task("broken"),
        lambda: list(read_documents("a.txt", ReadOptions(format="broken"))),
    ):
        with pytest.raises(ConfigError, match=r"faulty.*RuntimeError: half installed.*pip uninstall faulty"):
            use()


def test_two_packages_with_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("first", "second"):
        add_package(tmp_path, name, f"[weft.models]\ntwin = {name}:Model\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=r"several installed packages add twin.*first, second"):
        load_model("twin")


def test_what_is_not_a_model_a_reader_or_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = "[weft.models]\nodd = oddity:ODD\n[weft.readers]\nodd = oddity:ODD\n[weft.tasks]\nodd = oddity:ODD\n"
    add_package(tmp_path, "oddity", entries, "ODD = 3")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="not a model class.*without Settings, card"):
        create_model("odd")
    with pytest.raises(ConfigError, match="not a task"):
        find_task("odd")
    with pytest.raises(ConfigError, match="not a reader"):
        list(read_documents("a.txt", ReadOptions(format="odd")))
    assert load_added("weft.models", "nothing-of-that-name") is None


def test_a_package_of_model_folders_is_searched_and_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from weft.models.trivial import RandomModel, RandomSettings

    add_package(tmp_path, "some_zoo", "[weft.models]\nsome-zoo = some_zoo\ngone-zoo = package_that_is_gone\n")
    (tmp_path / "some_zoo.py").unlink()
    RandomModel(RandomSettings(seed=6)).save(tmp_path / "some_zoo" / "dice")
    (tmp_path / "some_zoo" / "__init__.py").write_text("raise SystemError('never imported')")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    found = find_model("dice")
    assert (found.model, found.source) == ("random", "some_zoo")
    assert load_model("dice").settings.seed == 6  # type: ignore[attr-defined]
    assert not is_registered("some-zoo")
    assert "some_zoo" not in sys.modules
