"""The command line: each command is a few lines that call the library function of the same name.

Data go to stdout, messages and progress to stderr. An error a user can mend is one line and exit code 2.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from typing import Annotated, NoReturn

import typer

from weft.cli.building import config, curves, models, prepare, train
from weft.cli.comparing import compare
from weft.cli.experiments import calibrate, corrupt, evaluate, plots, samples, table
from weft.cli.texts import generate, order, picture, score
from weft.errors import WeftError
from weft.version import VERSION

SCORING = ("score", "order", "generate", "evaluate", "calibrate", "compare")  # commands whose work is scoring texts

app = typer.Typer(
    name="weft",
    help="Measure, restore and write coherent discourse.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS = (
    score, order, generate, picture, compare, corrupt, evaluate, samples, calibrate, table, plots, models, config,
    prepare, train, curves,
)  # fmt: skip
for command in COMMANDS:
    app.command()(command)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"weft {VERSION}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it and stop.")
    ] = False,
) -> None:
    """Measure, restore and write coherent discourse."""


def main() -> None:
    """Run the command line: one line and exit code 2 for what a user can mend, nothing for a closed pipe."""
    # Idle threads sleep: by default they spin between the steps of an LSTM, and where another process wants the cores
    # an ordering that takes a second takes ten. Must be set before torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if sys.argv[1:2] in ([name] for name in SCORING):
        # Matrix products keep to the thread that asks for them: weft spreads whole texts over the cores itself, which
        # leaves nobody waiting (weft.models.common.thread_pool). Must be set before numpy is imported.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # By default the collector walks all that was imported, again and again while modules load and once more at the end:
    # a tenth of a second, and hardly anything here makes cycles.
    gc.set_threshold(100_000)
    atexit.register(gc.freeze)
    _make_streams_safe()
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except WeftError as error:
        _fail(str(error))
    except (BrokenPipeError, SystemExit) as error:
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            raise
        # The reader (head, less) has what it wanted, which is no error (click makes it exit code 1); stdout must not be
        # flushed again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(0)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        where = f" {error.filename!r}" if error.filename else ""
        _fail(
            f"the system refused:{where} {error.strerror or error}; next: check the path, the rights and the space left"
        )
    except (KeyboardInterrupt, typer.Abort):
        print("weft: stopped", file=sys.stderr)  # noqa: T201
        sys.exit(130)
    except Exception as error:
        # Mistakes in the command's own words; the class lives in click or in typer, depending on typer's version.
        if not hasattr(error, "format_message"):
            raise
        _fail(f"{error.format_message()}{_seen(error)}; next: weft {' '.join(sys.argv[1:2])} --help")
    sys.exit(code if isinstance(code, int) else 0)


def _seen(error: Exception) -> str:
    """The value of an option that was refused, where the message does not show it: typer's newer versions do not."""
    details = getattr(error.__cause__, "errors", None)
    value = details()[0].get("input") if callable(details) else None
    return "" if value is None or repr(value) in str(error) else f": saw {value!r}"


def _fail(message: str) -> NoReturn:
    print(f"weft: error: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201
    sys.exit(2)


def _make_streams_safe() -> None:
    """A closed stream swallows what is written; one that cannot show a character shows its number instead."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  lives as long as the process
        elif hasattr(getattr(sys, name), "reconfigure"):
            getattr(sys, name).reconfigure(errors="backslashreplace")
