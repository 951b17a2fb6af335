"""Commands with plain help and a quick start.

``--help`` has one section per group of options, with placeholders a person can read. Values that need no conversion
are used as they are given: from version 0.29 on, typer converts every value with pydantic, also a text and a default,
and importing pydantic takes as long as scoring a text.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup

OPTIONS = "Options"
ARGUMENTS = "Arguments"


class PlainCommand(TyperCommand):
    """A command with plain help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words after the command."""
        convert_few(self.get_params(ctx))
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line, such as ``[OPTIONS]``, ``[TASK]...`` and ``FILE``."""
        arguments = [one for one in self.get_params(ctx) if one.param_type_name == "argument"]
        return ["[OPTIONS]", *(_argument(argument) for argument in arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options."""
        _write_sections(formatter, _parameter_sections(self.get_params(ctx)))


class PlainGroup(TyperGroup):
    """A group of commands with plain help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words after the name of the program."""
        convert_few(self.get_params(ctx))
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by group, then the options."""
        commands: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            commands.setdefault(command.rich_help_panel, []).append((name, _first_paragraph(command.help)))
        _write_sections(formatter, {**commands, **_parameter_sections(self.get_params(ctx))})


def convert_few(parameters: Iterable[Any]) -> None:
    """Let typer convert only values that change: numbers, paths and choices. Older versions are not affected."""
    for parameter in parameters:
        parameter.get_runtime_param = partial(_Conversion, type(parameter))


class _Conversion:
    """Takes the place of typer's ``RuntimeParam``.

    Args:
        kind: The class of the parameter, whose conversion is used for values that change.
    """

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def coerce(self, value: Any, *, param: Any, ctx: Any) -> Any:
        """Return the value that the command gets."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        is_given = type(value) in (str, list, tuple)  # a default has the type of the option, such as an Enum
        if not is_given or param.type_descriptor.annotation in (str, list[str]):
            return value
        return self.kind.get_runtime_param(param).coerce(value, param=param, ctx=ctx)


def _write_sections(formatter: Any, sections: dict[str, list[tuple[str, str]]]) -> None:
    for title, rows in sections.items():
        with formatter.section(title):
            formatter.write_dl(rows)


def _parameter_sections(parameters: list[Any]) -> dict[str, list[tuple[str, str]]]:
    """Return the rows of all visible parameters by section: arguments first, sections of their own last."""
    sections: dict[str, list[tuple[str, str]]] = {ARGUMENTS: [], OPTIONS: []}
    for parameter in parameters:
        if parameter.hidden:
            continue
        sections.setdefault(_section(parameter), []).append((_names(parameter), _description(parameter)))
    return {title: rows for title, rows in sections.items() if rows}


def _section(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return ARGUMENTS
    panel: str | None = vars(parameter).get("rich_help_panel")  # older versions of typer take --help from click
    return panel or OPTIONS


def _argument(argument: Any) -> str:
    name = argument.metavar if argument.required else f"[{argument.metavar}]"
    return name if argument.nargs == 1 else f"{name}..."


def _names(parameter: Any) -> str:
    """Return how a parameter is written, such as ``-m, --model NAME``."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar)
    names = ", ".join(sorted(parameter.opts, key=len))
    return names if parameter.is_flag else f"{names} {parameter.metavar}"


def _description(parameter: Any) -> str:
    """Return what a parameter does, and its default."""
    default = parameter.default
    if isinstance(default, Enum):
        default = default.value
    if parameter.required and parameter.param_type_name == "option":
        return f"{parameter.help} [required]"
    if isinstance(default, bool) or not isinstance(default, str | int | float | Path) or default == "":
        return str(parameter.help)
    return f"{parameter.help} [default: {default}]"


def _first_paragraph(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split())
