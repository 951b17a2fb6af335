"""Mistakes in the command line, as errors with four parts: what is wrong, the value seen, what is allowed, next step.

typer reports a mistake as an exception of click, or of its own copy of click: the class depends on typer's version, so
that it is told by its name here.
"""

from __future__ import annotations

import re
import shlex
import sys
from typing import Any

from weft.errors import ConfigError, closest_name, did_you_mean

NOTHING = "nothing"
NO_COMMAND = r"No such command '(.*?)'"  # how typer begins this message


def usage_error(error: Any, next_step: str) -> ConfigError:
    """Return a mistake in the command line as an error of weft.

    Args:
        error: What typer has raised.
        next_step: What the user can do.
    """
    make = {
        "MissingParameter": _missing,
        "NoSuchOption": _no_option,
        "BadOptionUsage": _option_use,
        "BadParameter": _bad_value,
    }.get(type(error).__name__, _other)
    what, seen, allowed = make(error)
    return ConfigError(what, seen=seen, allowed=allowed, next_step=_corrected_command(error) or next_step)


def _corrected_command(error: Any) -> str:
    """Return the command line with the name of the command corrected; empty if no name is close."""
    match = re.match(NO_COMMAND, error.format_message())
    close = closest_name(match[1], error.ctx.command.list_commands(error.ctx)) if match else ""
    return shlex.join(["weft", close, *sys.argv[2:]]) if close else ""


def _missing(error: Any) -> tuple[str, str, str]:
    parameter = error.param
    if parameter.param_type_name == "argument":
        return f"missing argument {parameter.metavar}", NOTHING, _usage(error)
    return f"missing option {parameter.opts[0]}", NOTHING, f"{parameter.opts[0]} {parameter.metavar}"


def _no_option(error: Any) -> tuple[str, str, str]:
    shown = [one for one in error.ctx.command.get_params(error.ctx) if not one.hidden] if error.ctx else []
    known = [name.lstrip("-") for one in shown for name in one.opts if name.startswith("--")]
    close = closest_name(error.option_name.lstrip("-"), known)  # dashes make no name similar
    return "unknown option", error.option_name, did_you_mean(f"--{close}" if close else "", [f"--{n}" for n in known])


def _option_use(error: Any) -> tuple[str, str, str]:
    if "does not take a value" in error.format_message():
        return "this option takes no value", f"{error.option_name}=…", f"{error.option_name} alone"
    return f"missing value of {error.option_name}", NOTHING, f"{error.option_name} VALUE"


def _bad_value(error: Any) -> tuple[str, str, str]:
    problem = error.format_message().replace("Value error, ", "").rstrip(".")
    where, _, detail = problem.partition(": ")
    what = where.replace("Invalid value for", "wrong value of").replace("'", "").replace(" / ", ", ")
    if match := re.fullmatch(r"'(.*)' is not one of (.*)", detail):
        return what, match[1], match[2].replace("'", "")
    return what, _value(error, detail), _allowed_number(error.param) or detail


def _value(error: Any, detail: str) -> str:
    """Return the refused value, which stands in the cause of the error or in its text, depending on the version."""
    details = getattr(error.__cause__, "errors", None)
    if callable(details):
        return str(details()[0].get("input"))
    match = re.match(r"'?(.*?)'? is not ", detail)
    return match[1] if match else detail


def _allowed_number(parameter: Any) -> str:
    """Return which numbers an option takes; the empty string if it takes none."""
    kinds = {"N": "a whole number", "X": "a number", "P": "a number"}
    if parameter is None or parameter.metavar not in kinds:
        return ""
    own = vars(parameter)
    limits = own if "min" in own else vars(own["type"])  # in older versions the type has the limits
    bounds = [(f"at {word}", limits.get(name)) for word, name in (("least", "min"), ("most", "max"))]
    return ", ".join([kinds[parameter.metavar], *(f"{word} {value}" for word, value in bounds if value is not None)])


def _other(error: Any) -> tuple[str, str, str]:
    problem = error.format_message()
    if match := re.match(NO_COMMAND, problem):
        return "unknown command", match[1], did_you_mean(match[1], error.ctx.command.list_commands(error.ctx))
    if match := re.match(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", problem):
        return "too many arguments", match[1], _usage(error)
    return problem.rstrip("."), " ".join(sys.argv[1:]), _usage(error)


def _usage(error: Any) -> str:
    usage = " ".join(error.ctx.get_usage().split()) if error.ctx else "weft COMMAND [OPTIONS]"
    return usage.removeprefix("Usage: ")
