"""The shape of the package: direction of imports, sizes, depth of classes, start-up time, examples in docstrings."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import weft

ROOT = Path(__file__).parents[2]
SOURCE = Path(weft.__file__).parent
PATHS = sorted(SOURCE.rglob("*.py"))
MODULES = sorted(m.name for m in pkgutil.walk_packages([str(SOURCE)], "weft.") if not m.name.endswith("__main__"))
# Each layer may import from itself and from the layers before it.
LAYERS = (
    ("data_frames", "document", "errors", "markup", "version", "progress", "protocols", "settings"),
    ("io",),
    ("registry",),
    ("hub",),
    ("corpora",),
    ("scoring",),
    ("generation", "training"),
    ("models",),
    ("ordering",),
    ("evaluation",),
    ("report",),
    ("call_options", "text_inputs", "loaded_model", "api", "moves", "report_writer"),
    ("integrations", "scale", "service"),
    ("cli",),
)
# Inside models/ a family imports itself and common, never another family. Inside corpora/ a folder imports those before
# it.
FOLDER_ORDER = {"corpora": (("text",), ("negatives",), ("readers",), ("store", "syntax"))}
HEAVY = (
    "torch", "sklearn", "scipy", "tomotopy", "tokenizers", "sentencex", "pyarrow", "mwparserfromhell", "rich", "spacy",
    "py3langid", "onnxruntime", "docx", "pypdf", "markdown_it", "pydantic", "fastapi", "uvicorn", "httpx",
    "ray", "fsspec",
)  # fmt: skip
LONGEST_FILE = 400
LARGEST_FOLDER = 16
LARGE_FOLDERS = {"cli": 23}  # one file per command
# How often an attribute is probed: of errors, streams, the operating system and other libraries' objects; no model.
FOREIGN_PROBES = Counter(
    errors=1, reconfigure=1, format_message=1, seen=1, model=1, label_data=1, errno=2, strerror=1, buffer=1,
    sched_getaffinity=1,
)  # fmt: skip


def layer_of(module: str) -> int:
    part = module.split(".")[1] if "." in module else ""
    return next((n for n, names in enumerate(LAYERS) if part in names), -1)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports_of(path: Path) -> frozenset[str]:
    """What a module imports when it runs; imports for type checkers alone have no direction."""
    found = set()
    tree = tree_of(path)
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return frozenset(found)


# Imports --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_one_way(path: Path) -> None:
    own = "weft." + ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    if own in {"weft.__init__", "weft.__main__"}:
        return
    assert layer_of(own) >= 0, f"{own} has no layer: name its home in LAYERS"
    for imported in imports_of(path):
        if imported.startswith("weft."):
            assert layer_of(imported) <= layer_of(own), f"{own} imports {imported}, which stands above it"


def may_import(part: str, own: str, other: str) -> bool:
    """Whether a folder of models/ or corpora/ may import another folder beside it."""
    if own == other:
        return True
    if part == "models":
        return other == "common"
    order = {name: number for number, names in enumerate(FOLDER_ORDER[part]) for name in names}
    return order[other] < order[own]


@pytest.mark.parametrize("part", ["models", "corpora"])
def test_folders_do_not_import_their_siblings(part: str) -> None:
    folders = {path.name for path in (SOURCE / part).iterdir() if path.is_dir()}
    for path in sorted((SOURCE / part).glob("*/**/*.py")):
        place = path.relative_to(SOURCE)
        for imported in sorted(imports_of(path)):
            names = imported.split(".")
            if names[:2] != ["weft", part] or len(names) < 3 or names[2] not in folders:
                continue
            allowed = may_import(part, place.parts[1], names[2])
            assert allowed, f"{place} imports {imported}, from a folder beside it"


def test_no_test_imports_another() -> None:
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for imported in imports_of(path):
            name = imported.rsplit(".", 1)[-1]
            borrowed = imported.startswith("tests") and name.startswith("test_")
            assert not borrowed, f"{path.name} imports {imported}: move what both need to tests/helpers"


# Sizes ----------------------------------------------------------------------------------------------------------------


def test_files_are_short_and_folders_are_small() -> None:
    for path in PATHS:
        length = len(path.read_text(encoding="utf-8").splitlines())
        assert length <= LONGEST_FILE, f"{path}: {length} lines, at most {LONGEST_FILE}"
    for folder, count in Counter(path.parent for path in PATHS if path.name != "__init__.py").items():
        allowed = LARGE_FOLDERS.get(folder.name, LARGEST_FOLDER)
        assert count <= allowed, f"{folder}: {count} modules, at most {allowed}"


# Classes --------------------------------------------------------------------------------------------------------------


def classes() -> Iterator[tuple[str, list[str]]]:
    """(Name, names of its bases) of every class of the package that is neither a Protocol nor an exception."""
    for path in PATHS:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                bases = [ast.unparse(base).split("[")[0].rsplit(".", 1)[-1] for base in node.bases]
                if "Protocol" not in bases and not node.name.endswith("Error"):
                    yield node.name, bases


def test_no_class_is_more_than_two_levels_deep() -> None:
    bases = dict(classes())

    def depth(name: str) -> int:
        return 1 + max((depth(base) for base in bases[name] if base in bases and base != name), default=0)

    deep = {name for name in bases if depth(name) > 2}
    assert not deep, f"{sorted(deep)} have a base that has a base: compose instead"


def test_attributes_are_not_probed() -> None:
    """Models keep contracts (weft.protocols), so nobody has to look whether an attribute is there."""
    probes = Counter(
        str(node.args[1].value)
        for path in PATHS
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"getattr", "hasattr"}
        and isinstance(node.args[1], ast.Constant)
    )
    more = {name: count for name, count in probes.items() if count > FOREIGN_PROBES[name]}
    assert not more, f"{more}: write a Protocol in weft.protocols and use isinstance"


# Start-up -------------------------------------------------------------------------------------------------------------


def test_import_weft_is_light_and_fast() -> None:
    code = f"import sys, time; t = time.process_time(); import weft; s = time.process_time() - t; \
print(s, [m for m in {HEAVY!r} if m in sys.modules])"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    seconds = min(float(run.stdout.split(" ", 1)[0]) for run in runs)
    assert runs[0].stdout.split(" ", 1)[1].strip() == "[]"
    assert seconds < 0.1


def test_scoring_with_word_vectors_imports_nothing_heavy() -> None:
    code = "import sys, weft; weft.score(weft.Document('d', ('a cat', 'a dog')), model='foltz-sif'); \
print([m for m in ('torch', 'sklearn', 'tomotopy', 'pyarrow', 'transformers') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_commands_that_need_no_network_import_no_torch() -> None:
    essay = ROOT / "examples" / "essay.txt"
    commands = [
        ["score", str(essay)],
        ["score", str(essay), "-m", "foltz-sif"],
        ["order", str(essay), "-m", "foltz-glove"],
        ["config", "foltz-glove"],
        ["config", "foltz-lsa"],
        ["table", "--results", str(ROOT / "results")],
    ]
    code = f"""
import sys
from weft.cli import app
for words in {commands!r}:
    app(words, standalone_mode=False)
    assert "torch" not in sys.modules, words
    assert "pydantic" not in sys.modules or words[0] != "score", words
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# Examples and public names --------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name: str) -> None:
    if name.endswith((".lda", ".embedding")):
        pytest.importorskip("tomotopy")
    if ".syntax." in name:
        pytest.importorskip("spacy")
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.failed == 0


def test_the_package_docstring_runs() -> None:
    assert doctest.testmod(weft).failed == 0


def test_public_names_exist() -> None:
    for name in weft.__all__:
        assert getattr(weft, name) is not None
    assert len(weft.__all__) <= 34


@pytest.mark.parametrize("path", PATHS, ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_pickle_anywhere(path: Path) -> None:
    imported = {name.split(".")[0] for name in imports_of(path)}
    assert not imported & {"pickle", "joblib", "dill", "shelve", "cloudpickle"}
    assert "allow_pickle=True" not in path.read_text(encoding="utf-8")


# The map of the paper -------------------------------------------------------------------------------------------------


def test_the_map_of_the_paper_names_real_places() -> None:
    """docs/paper.md names modules and classes; a rename has to change it too."""
    text = (SOURCE.parents[1] / "docs" / "paper.md").read_text(encoding="utf-8")
    places = re.findall(r"`(weft\.[\w.]+):(\w+)`", text)
    assert len(places) > 30
    for module, name in places:
        assert name in vars(importlib.import_module(module)), f"{module}:{name}"
