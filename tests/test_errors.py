"""Messages stay short, whatever was seen."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.helpers.command_line import refused

from weft.errors import ConfigError, WeftError

HUGE = "x" * 1_000_000


@pytest.mark.parametrize("seen", [HUGE, HUGE.encode(), [HUGE], {"a": HUGE}, Path(HUGE)])
def test_a_huge_value_is_not_quoted(seen: object) -> None:
    error = WeftError(f"wrong {HUGE}", seen=seen, allowed=HUGE, next_step=HUGE)
    assert len(str(error)) < 2000
    assert error.seen is seen
    assert len(str(ConfigError(HUGE))) <= 300


def test_the_command_line_quotes_little_of_its_input(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("{" + HUGE)
    (tmp_path / "b.jsonl").write_text('{"text": ' + "9" * 100_000 + "}")
    (tmp_path / "c.csv").write_text(",".join(f"column{n}" for n in range(20_000)) + "\n1\n")
    (tmp_path / "d.toml").write_text(f'model.name = "{HUGE}"')
    for file in ("a.jsonl", "b.jsonl", "c.csv"):
        assert len(refused("score", file, cwd=tmp_path)) < 2000
    assert len(refused("train", "d.toml", "--out", "m", cwd=tmp_path)) < 2000
    assert len(refused("score", "a.jsonl", "--model", "y" * 100_000, cwd=tmp_path)) < 2000
