"""The command line: one file per command, each a thin call of the library function of the same name.

Data go to stdout, messages and progress to stderr. An error that a user can fix is one line and exit code 2.
"""

from __future__ import annotations

import atexit
import errno
import gc
import io
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, NoReturn

import typer

from weft.cli.calibrate import calibrate
from weft.cli.compare import compare
from weft.cli.config import config
from weft.cli.corrupt import corrupt
from weft.cli.curves import curves
from weft.cli.evaluate import evaluate
from weft.cli.export import export
from weft.cli.generate import generate
from weft.cli.models import models
from weft.cli.order import order
from weft.cli.picture import picture
from weft.cli.plain_commands import PlainCommand, PlainGroup
from weft.cli.plots import plots
from weft.cli.prepare import prepare
from weft.cli.report import report
from weft.cli.samples import samples
from weft.cli.score import score
from weft.cli.serve import serve
from weft.cli.table import table
from weft.cli.train import train
from weft.cli.usage_errors import usage_error
from weft.errors import WeftError, missing_package, with_options
from weft.version import VERSION

PANELS: Mapping[str, tuple[Callable[..., None], ...]] = {
    "Texts": (score, order, generate, compare, report, picture, serve),
    "Models": (models, config, prepare, train, curves, calibrate, export),
    "Experiments": (evaluate, corrupt, table, plots, samples),
}
CLOSED_PIPE = 141  # 128 + SIGPIPE
# Commands whose work is scoring texts.
SCORING = ("score", "order", "generate", "evaluate", "calibrate", "compare", "report", "serve")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"weft {VERSION}")
        raise typer.Exit


def start(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001  its callback does the work
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Measure, restore and write coherent discourse.

    Example: weft score essay.txt --explain
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _app_of(panels: Mapping[str, Iterable[Callable[..., None]]]) -> typer.Typer:
    """Return the application with these commands, by their sections in --help."""
    built = typer.Typer(
        name="weft",
        cls=PlainGroup,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    built.callback(invoke_without_command=True)(start)
    for panel, commands in panels.items():
        for command in commands:
            built.command(cls=PlainCommand, rich_help_panel=panel)(command)
    return built


app = _app_of(PANELS)


def _called_app() -> typer.Typer:
    """Return the application with the one command that is called, because typer takes long to build all of them."""
    called = [command for commands in PANELS.values() for command in commands if command.__name__ in sys.argv[1:2]]
    return _app_of({"": called}) if called else app


def main() -> None:
    """Run the command line: one line and exit code 2 for an error of the user, code 141 for a closed pipe."""
    # Idle threads sleep. By default they spin between the steps of an LSTM: an ordering that takes a second takes ten
    # if another process needs the cores. Must be set before torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if sys.argv[1:2] in ([name] for name in SCORING):
        # Matrix products stay on the thread that calls them: weft spreads whole texts over the cores itself
        # (weft.models.common.thread_pool). Must be set before numpy is imported.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # By default the garbage collector walks through all imported modules many times, which takes a tenth of a second;
    # hardly anything here makes cycles.
    gc.set_threshold(100_000)
    atexit.register(gc.freeze)
    _make_streams_safe()
    try:
        _check_arguments(sys.argv[1:])
        code = _called_app()(standalone_mode=False, prog_name="weft")
        sys.stdout.flush()
    except WeftError as error:
        _fail(with_options(str(error)))
    except ModuleNotFoundError as error:
        if (explained := missing_package(error)) is None:
            raise
        _fail(str(explained))
    except (BrokenPipeError, SystemExit) as error:
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            raise
        # The reader (head, less) has closed the pipe. That is no mistake and needs no message, but not all was written:
        # the code is that of other programs, which SIGPIPE ends. stdout must not be flushed again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(CLOSED_PIPE)
    except UnicodeEncodeError as error:  # the name of a file in a folder, for example
        _fail(str(_not_text(repr(error.object)[:60])))
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        _fail(str(_system_error(error)))
    except (KeyboardInterrupt, typer.Abort):
        print("weft: stopped", file=sys.stderr)  # noqa: T201
        sys.exit(130)
    except Exception as error:
        # A mistake in the command line; the class is in click or in typer, depending on typer's version.
        if not hasattr(error, "format_message"):
            raise
        _fail(str(usage_error(error, _help_command())))
    sys.exit(code if isinstance(code, int) else 0)


def _check_arguments(arguments: Sequence[str]) -> None:
    """Raise WeftError for an argument whose bytes are no text, unless it is the path of a file or folder."""
    for argument in arguments:
        undecoded = any("\ud800" <= character <= "\udfff" for character in argument)
        if undecoded and not os.path.exists(argument):
            raise _not_text(repr(argument))


def _not_text(seen: str) -> WeftError:
    return WeftError(
        "a name or a value cannot be written as text",
        seen=seen,
        allowed="names and values in UTF-8",
        next_step="rename the file, or correct the value",
    )


def _system_error(error: OSError) -> WeftError:
    where = f"{error.filename}: " if error.filename else ""
    return WeftError(
        "the operating system reports an error",
        seen=f"{where}{error.strerror or error}",
        allowed="files and folders that can be read and written, and a device with free space",
        next_step="check the path, the permissions and the free space",
    )


def _help_command() -> str:
    """Return the command that shows the help of the command in use, or of weft."""
    names = {command.__name__ for commands in PANELS.values() for command in commands}
    return f"weft {sys.argv[1]} --help" if sys.argv[1:] and sys.argv[1] in names else "weft --help"


def _fail(message: str) -> NoReturn:
    print(f"weft: error: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201
    sys.exit(2)


class _ClosedStream(io.TextIOBase):
    """Stands for a stdout that was closed before the command began."""

    def write(self, text: str) -> int:
        """Raise OSError if there is something to write."""
        if text:
            raise OSError(errno.EBADF, "standard output is closed")
        return 0


def _make_streams_safe() -> None:
    """Make writing to a closed stdout an error, to a closed stderr nothing, and write unknown characters as escapes."""
    # A stream that was closed before the start is None. Data must not get lost silently; messages may.
    if sys.stdout is None:
        sys.stdout = _ClosedStream()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  it lives as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
