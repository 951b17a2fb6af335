"""Look for known vulnerabilities of the versions in constraints-dev.txt with pip-audit.

    python tools/audit.py

Writes one line. Exits with 1 if a version has a known vulnerability, and with 0 if none has or if this cannot be known
here: pip-audit is not installed, or its data cannot be reached within `SECONDS`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOCK = Path(__file__).parents[1] / "constraints-dev.txt"
SECONDS, SOCKET_SECONDS = 120, 10
COMMAND = (
    sys.executable, "-m", "pip_audit", "--requirement", str(LOCK), "--no-deps", "--disable-pip", "--format", "json",
    "--progress-spinner", "off", "--timeout", str(SOCKET_SECONDS),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Audit:
    """What is known about the versions.

    Attributes:
        line: One line for people.
        vulnerable: Whether a version has a known vulnerability.
    """

    line: str
    vulnerable: bool = False


def audited(packages: Sequence[Mapping[str, Any]]) -> Audit:
    """Return what pip-audit found; packages that its data do not have are skipped and counted.

    Example:
        >>> audited([{"name": "a", "version": "1", "vulns": [{"id": "X-1"}]}, {"name": "b", "skip_reason": "no data"}])
        Audit(line='audit: 1 vulnerability in 1 package: a 1 (X-1)', vulnerable=True)
        >>> audited([{"name": "b", "skip_reason": "no data"}]).line
        'audit: not done, because the data of pip-audit cannot be reached: none of 1 packages is known'
    """
    known = [one for one in packages if "skip_reason" not in one]
    bad = [one for one in known if one["vulns"]]
    if not known:
        return _not_done(f"none of {len(packages)} packages is known")
    if not bad:
        skipped = f"; {len(packages) - len(known)} are not known" if len(known) < len(packages) else ""
        return Audit(f"audit: no known vulnerability in {len(known)} packages{skipped}")
    names = ", ".join(f"{one['name']} {one['version']} ({' '.join(v['id'] for v in one['vulns'])})" for one in bad)
    count = sum(len(one["vulns"]) for one in bad)
    return Audit(
        f"audit: {_number(count, 'vulnerabilit', 'y', 'ies')} in {_number(len(bad), 'package')}: {names}", True
    )


def _number(count: int, word: str, one: str = "", many: str = "s") -> str:
    return f"{count} {word}{one if count == 1 else many}"


def _not_done(why: str) -> Audit:
    return Audit(f"audit: not done, because the data of pip-audit cannot be reached: {why}")


def audit(command: Sequence[str] = COMMAND, seconds: float = SECONDS) -> Audit:
    """Run pip-audit and return what it found, or why it found nothing."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return _not_done(f"no answer within {seconds:g} seconds")
    if "No module named pip_audit" in done.stderr:
        return Audit("audit: not done, because pip-audit is not installed: pip install pip-audit")
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        return _not_done((done.stderr.strip().splitlines() or ["no answer"])[-1][:200])
    return audited(packages)


def main() -> int:
    """Write the line and return the exit code."""
    found = audit()
    print(found.line)
    return int(found.vulnerable)


if __name__ == "__main__":
    sys.exit(main())
