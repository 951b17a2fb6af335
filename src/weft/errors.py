"""The errors that weft raises.

Every message has four parts: what was wrong, the value seen, what is allowed and the next step.
The command line prints the message on one line and exits with code 2; the library raises.
"""

from __future__ import annotations

import difflib
import re
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeGuard

MOST_LISTED = 20  # names in a message; more of them hide what was wrong
MOST_CHARACTERS = 300  # of each part of a message: a message may quote a value, and never a whole text
MOST_ALLOWED = 900  # of what is allowed, which may list all names
BEGINNING = 0.7  # share of a shortened part that is its beginning; the end of a path or a message says most


# Messages name a setting as Python does, in backticks; the command line and the service write their own names.
_SETTING = re.compile(r'`([a-z_]+)(?:="([^`"]*)")?`')
OPTIONS = {
    **{name: f"--{name.replace('_', '-')}" for name in (
        "beam", "clean", "column", "combine", "device", "encoding", "id_column", "language", "objective", "search",
    )},
    "format": "--input", "sentences": "--input lines",
}  # fmt: skip


def with_options(message: str) -> str:
    """Return a message in which settings are options of the command line.

    Example:
        >>> with_options('omit `objective`, or use `search="beam"`')
        'omit --objective, or use --search beam'
    """

    def option(match: re.Match[str]) -> str:
        return " ".join(filter(None, (OPTIONS.get(match[1], match[0]), match[2] if match[1] in OPTIONS else "")))

    return _SETTING.sub(option, message)


def with_fields(message: str) -> str:
    """Return a message in which settings are fields of a request in JSON.

    Example:
        >>> with_fields('omit `objective`, or use `search="beam"`')
        'omit `objective`, or use `"search": "beam"`'
    """
    return _SETTING.sub(lambda match: match[0] if match[2] is None else f'`"{match[1]}": "{match[2]}"`', message)


def shortened(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return a text, or its beginning and its end if it is longer than ``most`` characters.

    Example:
        >>> shortened("a cat"), shortened("0123456789" * 100, 12)
        ('a cat', '01234567…789')
    """
    if len(text) <= most:
        return text
    first = int(most * BEGINNING)
    return f"{text[:first]}…{text[len(text) - (most - first - 1) :]}"


def _quoted(value: object) -> str:
    """Return a value as it is quoted in a message."""
    return repr(shortened(value)) if isinstance(value, str) else shortened(repr(value))


class WeftError(Exception):
    """Base class of all errors that weft raises.

    Args:
        what: What was wrong.
        seen: The value that was seen, if there is one.
        allowed: What is accepted.
        next_step: What the user can do.

    Example:
        >>> print(WeftError("unknown task", seen="acidents", allowed="accidents", next_step="weft evaluate --help"))
        unknown task: saw 'acidents'; allowed: accidents; next: weft evaluate --help
    """

    def __init__(
        self, what: str, *, seen: object = None, allowed: str | None = None, next_step: str | None = None
    ) -> None:
        self.what, self.seen, self.allowed, self.next_step = what, seen, allowed, next_step
        super().__init__(self._one_line())

    def _one_line(self) -> str:
        details = [
            f"saw {_quoted(self.seen)}" if self.seen is not None else "",
            f"allowed: {shortened(str(self.allowed), MOST_ALLOWED)}" if self.allowed else "",
            f"next: {shortened(self.next_step)}" if self.next_step else "",
        ]
        tail = "; ".join(part for part in details if part)
        what = shortened(self.what)
        return " ".join(f"{what}: {tail}".split()) if tail else what


class ConfigError(WeftError):
    """A setting, an option or a name does not exist or has a wrong value."""


class CorpusError(WeftError):
    """A text or data file cannot be read or written."""


class ModelError(WeftError):
    """A model folder is damaged, altered or cannot be used."""


# Packages that only some models and commands need: their names for people, and the extra that installs them.
OPTIONAL_PACKAGES = {"torch": ("PyTorch", "train"), "sklearn": ("scikit-learn", "train"), "scipy": ("SciPy", "train")}


def missing_package(error: ModuleNotFoundError) -> ConfigError | None:
    """Return the error for a package of an extra that is not installed; None for other modules.

    Example:
        >>> print(missing_package(ModuleNotFoundError("no module", name="torch.nn")).next_step)
        pip install 'weft-coherence[train]'
    """
    package = (error.name or "").partition(".")[0]
    if package not in OPTIONAL_PACKAGES:
        return None
    title, extra = OPTIONAL_PACKAGES[package]
    return ConfigError(
        f"{title} is not installed",
        seen=f"no package {package}",
        allowed=f"weft-coherence with the extra {extra}",
        next_step=f"pip install 'weft-coherence[{extra}]'",
    )


@contextmanager
def packages_named() -> Iterator[None]:
    """Raise ConfigError with the extra to install if the block imports a package of one that is not installed.

    Example:
        >>> with packages_named():
        ...     import json
    """
    try:
        yield
    except ModuleNotFoundError as error:
        explained = missing_package(error)
        if explained is None:
            raise
        raise explained from error


class Stopped(KeyboardInterrupt):
    """A signal has stopped a run; the command line exits with 128 and the number of the signal.

    Args:
        number: Number of the signal.
        next_step: How to go on.

    Example:
        >>> print(Stopped(signal.SIGTERM, "give the command again"))
        stopped by SIGTERM; next: give the command again
    """

    def __init__(self, number: int, next_step: str) -> None:
        self.number = number
        super().__init__(f"stopped by {signal.Signals(number).name}; next: {next_step}")


def check_known(what: str, name: object, known: Iterable[str], *, next_step: str = "choose one of them") -> None:
    """Raise ConfigError if a name is not one of the known names.

    Args:
        what: The kind of name, for the message, such as ``device``.
        name: The name to check; a value that is not a str is not known.
        known: The known names.
        next_step: The next step in the message.

    Raises:
        ConfigError: The name is not known.

    Example:
        >>> check_known("device", "gpu", ("auto", "cpu", "cuda"))
        Traceback (most recent call last):
        weft.errors.ConfigError: unknown device: saw 'gpu'; allowed: auto, cpu, cuda; next: choose one of them
    """
    names = tuple(known)
    if not isinstance(name, str) or name not in names:  # an array is neither in a tuple nor not in it
        raise ConfigError(f"unknown {what}", seen=name, allowed=", ".join(names), next_step=next_step)


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a finite number that fits a float; booleans are not numbers.

    Example:
        >>> [is_number(value) for value in (1, -0.5, float("nan"), float("inf"), True, "1", 10**400)]
        [True, True, False, False, False, False, False]
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max


def closest_name(name: object, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return the known name closest to a mistyped one; empty if none is close.

    Args:
        name: The name that was given.
        known: The names that exist.
        cutoff: Similarity that a close name has, from 0 to 1.

    Example:
        >>> closest_name("scor", ["score", "order"]), closest_name("x", ["score"])
        ('score', '')
    """
    if not isinstance(name, str):  # what a caller of the library passed
        return ""
    return next(iter(difflib.get_close_matches(name, sorted(known), n=1, cutoff=cutoff)), "")


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return the known name closest to a mistyped one, if one is close, and the known names; many are shortened.

    Example:
        >>> did_you_mean("foltz-glov", ["foltz-glove", "random"])
        'did you mean foltz-glove? (foltz-glove, random)'
        >>> did_you_mean("nope", ["opening", "random"])
        'opening, random'
        >>> did_you_mean("x", map(str, range(10, 40)))
        '10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29 and 10 more'
        >>> did_you_mean("scor", ["score", *map(str, range(40))])
        'did you mean score? (or another of 41 names)'
    """
    names = sorted(known)
    close, more = closest_name(name, names), len(names) - MOST_LISTED
    listing = ", ".join(names[:MOST_LISTED]) + (f" and {more} more" if more > 0 else "")
    if not close:
        return listing
    return f"did you mean {close}? ({f'or another of {len(names)} names' if more > 0 else listing})"
