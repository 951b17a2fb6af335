"""Commands and Python examples of the README and the docs run; links and module paths in them exist."""

from __future__ import annotations

import gzip
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.helpers.running_service import running
from tests.helpers.zoo_models import ZOO
from typer.testing import CliRunner

from weft.cli import app
from weft.service.settings import ServiceSettings

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ADDRESS = "http://127.0.0.1:8000"  # of a service that a page calls; the tests run one on a free port
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[tuple[str, str]]:
    """The fenced blocks of a page in one language: (the words after it, the text)."""
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [(extra.strip(), text) for kind, extra, text in found if kind == language]


def runnable(page: Path) -> list[str]:
    return [text for extra, text in blocks(page, "bash") if not extra]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what a clone has beside the package; commands write there."""
    place = tmp_path_factory.mktemp("docs")
    for name in ("examples", "configs"):
        shutil.copytree(ROOT / name, place / name)
    (place / "benchmarks").mkdir()
    shutil.copy(ROOT / "benchmarks" / "damaged_texts.py", place / "benchmarks")
    (place / "results").mkdir()
    return place


def run(line: str) -> tuple[int, str]:
    """Run a line of a bash block, in this process if it is a plain ``weft`` command: (exit code, output)."""
    words = shlex.split(line, comments=True)
    if words[:1] == ["weft"] and not set("|<>;&$") & set("".join(words)):
        done = CliRunner().invoke(app, words[1:])
        return done.exit_code, done.output + str(done.exception or "")
    weft = f'weft() {{ "{sys.executable}" -m weft "$@"; }}\npython() {{ "{sys.executable}" "$@"; }}\n'
    bash = subprocess.run(["bash", "-euo", "pipefail", "-c", weft + line], capture_output=True, text=True, check=False)
    return bash.returncode, bash.stdout + bash.stderr


@pytest.mark.parametrize("page", [p for p in PAGES if runnable(p)], ids=lambda p: p.stem)
def test_commands_run(page: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workplace)
    monkeypatch.setenv("WEFT_MODELS", str(ZOO))  # as if ./zoo were installed
    with service_for(page) as addressed:
        for line in "".join(runnable(page)).replace("\\\n", " ").splitlines():
            if "curl " in line and shutil.which("curl") is None:
                continue
            code, output = run(addressed(line))
            assert code == 0, f"{line}\n{output}"


@contextmanager
def service_for(page: Path) -> Iterator[Callable[[str], str]]:
    """Run a service if a page calls one; what is yielded puts its address into a text."""
    if ADDRESS not in page.read_text(encoding="utf-8"):
        yield str
        return
    with running(ServiceSettings()) as service:
        yield lambda text: text.replace(ADDRESS, service.address)


def write_files_for(text: str, page: Path) -> None:
    """Run the commands of a page that write files which a block of code reads; their test may run elsewhere."""
    for line in "".join(runnable(page)).replace("\\\n", " ").splitlines():
        written = re.search(r"--out (\S+)", line)
        if written and f'"{written[1]}"' in text and not Path(written[1]).exists():
            code, output = run(line)
            assert code == 0, f"{line}\n{output}"


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.stem)
def test_python_runs(page: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workplace)
    monkeypatch.setenv("WEFT_MODELS", str(ZOO))
    with service_for(page) as addressed:
        for _, text in blocks(page, "python"):
            write_files_for(text, page)
            exec(compile(addressed(text), page.name, "exec", dont_inherit=True), {"__name__": "__main__"})


def test_commands_that_need_data_name_files_that_exist() -> None:
    """A name with a shell variable in it is not checked."""
    for page in PAGES:
        for extra, text in blocks(page, "bash"):
            if extra == "needs-data":
                for path in re.findall(r"(?<![\w/])(?:configs|examples|zoo|benchmarks)/[\w./-]+(?![\w./$-])", text):
                    assert (ROOT / path).exists(), f"{page.name}: {path}"


def test_the_readme_shows_the_real_output(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workplace)
    shown = next(text for _, text in blocks(ROOT / "README.md", "text") if text.startswith("$ weft score"))
    command, expected = shown.split("\n", 1)
    code, output = run(command.removeprefix("$ "))
    assert code == 0, output
    number = re.compile(r"-?\d+\.\d{4}")
    parts = [" ".join(part.split()) for part in expected.split("…")]  # … stands for lines that are left out
    pattern = ".*".join(re.escape(number.sub("N", part)) for part in parts)
    assert re.fullmatch(pattern, number.sub("N", " ".join(output.split())))
    # The last place may differ from one machine's arithmetic to another's.
    values = [[float(value) for value in number.findall(text)] for text in (expected, output)]
    rest = iter(values[1])
    assert all(any(value == pytest.approx(found, abs=2e-4) for found in rest) for value in values[0])


def test_links_lead_somewhere() -> None:
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_results_name_no_machine() -> None:
    for path in (ROOT / "results").rglob("*.json*"):
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8")
        assert not re.search(r'"(/|[A-Z]:\\)', text), path


def test_modules_on_the_architecture_page_exist() -> None:
    """A rename has to change the page that a new reader opens first."""
    package = ROOT / "src" / "weft"
    known = {f"/{path.relative_to(package)}" for path in package.rglob("*.py")}
    named = set(re.findall(r"[\w/]+\.py\b", (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")))
    missing = [
        name for name in named if not any(path.endswith(f"/{name}") for path in known) and not (ROOT / name).exists()
    ]
    assert named and not missing, missing
