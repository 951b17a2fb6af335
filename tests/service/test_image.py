"""The Dockerfile: no engine builds it here, so its instructions are checked and its commands are run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.helpers.running_service import Running
from typer.testing import CliRunner

from weft.cli import app

FILE = Path(__file__).parents[2] / "Dockerfile"
KNOWN = {
    "ARG",
    "FROM",
    "COPY",
    "RUN",
    "USER",
    "WORKDIR",
    "ENV",
    "EXPOSE",
    "STOPSIGNAL",
    "HEALTHCHECK",
    "ENTRYPOINT",
    "CMD",
}


def instructions() -> list[tuple[str, str]]:
    """(Name, arguments) of each instruction; comments are left out and continued lines are joined."""
    lines = [line for line in FILE.read_text(encoding="utf-8").splitlines() if line.strip() and line[0] != "#"]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(name, rest.strip()) for name, _, rest in (line.partition(" ") for line in joined.splitlines())]


def test_the_image_is_built_without_a_network_and_runs_without_rights() -> None:
    found = instructions()
    names = [name for name, _ in found]
    assert set(names) <= KNOWN and names[:2] == ["ARG", "FROM"]
    given = dict(found)
    assert "--no-index" in given["RUN"] and given["COPY"].startswith("dist/*.whl ")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", given["USER"]) and names.index("USER") < names.index("ENTRYPOINT")


def test_its_command_is_one_of_weft() -> None:
    given = dict(instructions())
    program, command, *words = json.loads(given["ENTRYPOINT"]) + json.loads(given["CMD"])
    help_text = CliRunner().invoke(app, [command, "--help"]).output
    assert program == "weft" and all(word in help_text for word in words[::2])
    assert dict(zip(words[::2], words[1::2], strict=True)) == {"--host": "0.0.0.0", "--port": given["EXPOSE"]}


@pytest.mark.parametrize("healthy", [True, False])
def test_its_check_of_health_tells_a_running_service_from_none(service: Running, healthy: bool) -> None:
    command = json.loads(dict(instructions())["HEALTHCHECK"].partition("CMD ")[2])
    assert command[0] == "python"
    address = service.address.removeprefix("http://") if healthy else "127.0.0.1:9"
    code = [word.replace("127.0.0.1:8000", address) for word in command[1:]]
    done = subprocess.run([sys.executable, *code], capture_output=True, check=False, timeout=60)
    assert (done.returncode == 0) is healthy
