"""What weft is built from: locked versions fit the bounds, and the bill of materials names every file inside."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from tools.audit import audit, audited
from tools.lock import LOCK, canonical, constraints
from tools.sbom import BILL, PACKAGE, bill

from weft.io.file_hash import sha256_of
from weft.io.package_files import PRETRAINED, PROBES

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LINES = [line for line in LOCK.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


def requirements() -> list[Requirement]:
    project = PROJECT["project"]
    extras = [text for texts in project["optional-dependencies"].values() for text in texts]
    found = map(Requirement, [*project["dependencies"], *extras])
    return [one for one in found if one.name != project["name"]]


# Versions -------------------------------------------------------------------------------------------------------------


def test_every_dependency_is_locked_within_its_bounds() -> None:
    locked = dict(line.split("==") for line in LINES)
    for one in requirements():
        assert locked[canonical(one.name)] in one.specifier, f"{one}: run python tools/lock.py"


def test_the_lock_has_names_and_versions_alone() -> None:
    """No paths, addresses or tags of local builds, which another machine would not have."""
    assert all(re.fullmatch(r"[a-z0-9-]+==[a-z0-9.]+", line) for line in LINES)
    assert sorted(set(LINES), key=lambda line: line.split("==")[0]) == LINES


def test_local_builds_and_installers_are_not_locked() -> None:
    report = [{"metadata": {"name": name, "version": "2.13.0+cpu"}} for name in ("Torch", "pip", "weft_coherence")]
    assert constraints(report) == ["torch==2.13.0"]


# Vulnerabilities ------------------------------------------------------------------------------------------------------


def answer(text: str, *, to: str = "stdout") -> list[str]:
    return [sys.executable, "-c", f"import sys; sys.{to}.write({text!r})"]


def test_an_audit_without_data_passes_and_says_so() -> None:
    slow = [sys.executable, "-c", "import time; time.sleep(60)"]
    skipped = json.dumps({"dependencies": [{"name": "a", "skip_reason": "not found"}]})
    broken = "Traceback:\nConnectionError: no route to host"
    for command, seconds in ((slow, 0.5), (answer(skipped), 20.0), (answer(broken, to="stderr"), 20.0)):
        found = audit(command, seconds)
        assert not found.vulnerable
        assert found.line.startswith("audit: not done, because the data of pip-audit cannot be reached: ")
        assert "\n" not in found.line
    missing = audit(answer("python: No module named pip_audit", to="stderr"), 20.0)
    assert missing.line.startswith("audit: not done, because pip-audit is not installed") and not missing.vulnerable


def test_a_vulnerability_is_named() -> None:
    good = {"name": "a", "version": "1.0", "vulns": []}
    bad = {"name": "b", "version": "2.0", "vulns": [{"id": "PYSEC-1"}, {"id": "GHSA-2"}]}
    assert audited([good]).line == "audit: no known vulnerability in 1 packages"
    found = audited([good, bad])
    assert found.vulnerable and found.line == "audit: 2 vulnerabilities in 1 package: b 2.0 (PYSEC-1 GHSA-2)"


# What is inside -------------------------------------------------------------------------------------------------------


def files_of(components: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for one in components:
        if one["type"] == "file":
            yield one["name"], one["hashes"][0]["content"]
        yield from files_of(one.get("components", []))


def test_the_bill_of_materials_is_up_to_date() -> None:
    saved = json.loads(BILL.read_text(encoding="utf-8"))
    assert saved == bill(), "run python tools/sbom.py"
    paths = [path for folder in (PRETRAINED, PROBES) for path in folder.rglob("*") if path.suffix != ".pyc"]
    expected = {path.relative_to(PACKAGE).as_posix(): sha256_of(path) for path in paths if path.is_file()}
    assert dict(files_of(saved["components"])) == expected


def test_all_sources_have_a_licence() -> None:
    for model in bill()["components"]:
        for data in model.get("modelCard", {"modelParameters": {"datasets": []}})["modelParameters"]["datasets"]:
            facts = {one["name"]: one["value"] for one in data["contents"]["properties"]}
            assert facts["weft:licence"] and "not known" not in facts["weft:licence"], data["name"]
        assert model["licenses"][0]["license"]["id"]


def test_the_bill_of_materials_keeps_to_the_specification() -> None:
    validation = pytest.importorskip("cyclonedx.validation.json")
    schema = pytest.importorskip("cyclonedx.schema")
    validator = validation.JsonStrictValidator(schema.SchemaVersion.V1_6)
    assert validator.validate_str(BILL.read_text(encoding="utf-8")) is None


def test_the_bill_of_materials_is_in_the_wheel() -> None:
    assert BILL.name in PROJECT["tool"]["setuptools"]["package-data"]["weft"]
