"""Write the versions that `pip install '.[dev]'` gives today to constraints-dev.txt.

    python tools/lock.py

Nothing is installed, and what is installed does not matter: pip resolves all dependencies anew and reports them.
`make test`, `make lint` and `.ci/run` install these versions, so that a new release of a library changes nothing before
this file changes. Names that only other systems need are not in it and not constrained.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from weft.io.atomic_files import write_atomically

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "constraints-dev.txt"
# Not locked: the package itself, and what installs packages, which belongs to the environment.
NOT_LOCKED = {"weft-coherence", "pip", "setuptools"}
HEADER = """\
# The versions with which weft is tested: python tools/lock.py, Python {python}.
# pip install -c constraints-dev.txt '.[dev]'
"""


def resolved() -> dict[str, Any]:
    """Return pip's report of all packages that `.[dev]` needs."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        words = ["install", "--dry-run", "--ignore-installed", "--quiet", "--report", str(report), f"{ROOT}[dev]"]
        subprocess.run([sys.executable, "-m", "pip", *words], check=True)
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
        return found


def constraints(packages: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return one line per package of a report, by name, without the tags of local builds.

    Example:
        >>> torch = {"metadata": {"name": "torch", "version": "2.13.0+cpu"}}
        >>> constraints([torch, {"metadata": {"name": "Jinja2", "version": "3.1.6"}}])
        ['jinja2==3.1.6', 'torch==2.13.0']
    """
    named = {canonical(one["metadata"]["name"]): one["metadata"]["version"] for one in packages}
    # A build for the processor alone has a tag such as +cpu, which other indexes do not have; ==2.13.0 fits every tag.
    public = {name: version.partition("+")[0] for name, version in named.items() if name not in NOT_LOCKED}
    return [f"{name}=={version}" for name, version in sorted(public.items())]


def canonical(name: str) -> str:
    """Return the name of a package as indexes spell it.

    Example:
        >>> canonical("ml_dtypes")
        'ml-dtypes'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> int:
    """Write the file and say how many packages it has."""
    report = resolved()
    lines = constraints(report["install"])
    header = HEADER.format(python=report["environment"]["python_version"])
    with write_atomically(LOCK) as file:
        file.write((header + "\n".join(lines) + "\n").encode())
    print(f"{LOCK.name}: {len(lines)} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
