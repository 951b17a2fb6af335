"""Options of the readers."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from weft.errors import ConfigError, check_known
from weft.settings import check_count, check_type

Empty = Literal["skip", "keep", "refuse"]
EMPTY: tuple[str, ...] = get_args(Empty)
MAX_LINE_BYTES = 32 * 2**20
# Options that stores made by earlier versions do not record; a store records them only if they are set.
LATER_OPTIONS = ("empty", "speaker", "clean")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read a corpus file.

    Attributes:
        format: A key of :data:`weft.corpora.readers.formats.FORMATS`, or ``auto`` to detect it from the file's name.
        encoding: Any text encoding of Python.
        language: The language for sentence splitting.
        column: The text column of a table, or the key of the text in JSON lines.
        id_column: The column of document ids in a table, or their key in JSON lines (by default ``id``).
        max_line_bytes: Longest line allowed, so that a damaged file cannot fill the memory.
        min_sentences: Smallest number of sentences of a paragraph of a Wikipedia dump.
        empty: What to do with an empty file or row, and with a file of a folder that cannot be read: ``skip`` the empty
            ones and raise an error for the others, ``keep`` them as documents without sentences, or ``refuse`` both.
        speaker: The speaker of a transcript whose turns are read; by default all.
        clean: What to remove from transcripts: ``labels``, ``timestamps``, ``fillers``, ``noises``.

    Raises:
        ConfigError: A value has the wrong type.

    Example:
        >>> ReadOptions(column="body", id_column="key").column
        'body'
    """

    format: str = "auto"
    encoding: str = "utf-8"
    language: str = "en"
    column: str = "text"
    id_column: str | None = None
    max_line_bytes: int = MAX_LINE_BYTES
    min_sentences: int = 3
    empty: Empty = "skip"
    speaker: str = ""
    clean: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name == "clean":
                object.__setattr__(self, one.name, _parts(value))  # a store records a list
            elif one.name != "id_column" or value is not None:
                check_type(one.name, value, one.default if one.default is not None else "")
        check_count("max_line_bytes", self.max_line_bytes)
        check_known("value of empty", self.empty, EMPTY)

    def recorded(self) -> dict[str, Any]:
        """Return the options as a store records them: those of earlier versions, and later ones that are set."""
        values, default = asdict(self), asdict(DEFAULT_OPTIONS)
        return {key: value for key, value in values.items() if key not in LATER_OPTIONS or value != default[key]}


def _parts(value: object) -> tuple[str, ...]:
    """Return the parts of transcripts to remove; a str would otherwise become a list of letters."""
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise ConfigError(
        "clean is not a list of names",
        seen=value,
        allowed='names of parts, such as ("labels", "fillers")',
        next_step="pass a tuple",
    )


DEFAULT_OPTIONS = ReadOptions()
