"""Messages stay short, whatever was seen."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from tests.helpers.command_line import refused

import weft
from weft import cli
from weft.errors import OPTIONS, ConfigError, WeftError

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


def test_settings_are_named_as_the_reader_of_the_message_gives_them(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A cat sat. It slept.")
    with pytest.raises(ConfigError, match=r'use `language="en"`'):
        weft.score("A cat sat. It slept.", language="klingon")
    assert "use --language en" in refused("score", "a.txt", "--language", "klingon", cwd=tmp_path)
    with pytest.raises(ConfigError, match="omit `objective`"):
        weft.order("A cat sat. It slept.", model="foltz-sif", objective="precedence")
    command = ("order", "a.txt", "-m", "foltz-sif", "--objective", "precedence")
    assert "omit --objective" in refused(*command, cwd=tmp_path)


def test_the_options_in_messages_exist() -> None:
    commands = typer.main.get_command(cli.app).commands.values()  # type: ignore[attr-defined]
    known = {name for command in commands for parameter in command.params for name in parameter.opts}
    assert {option.split()[0] for option in OPTIONS.values()} <= known
