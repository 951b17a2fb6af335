"""Tables with a text column: CSV, TSV and Parquet. One row is one document."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any

from weft.corpora.readers.lines import open_lines
from weft.corpora.readers.read_options import DEFAULT_OPTIONS, ReadOptions
from weft.corpora.readers.text_document import kept, text_document
from weft.document import Document
from weft.errors import ConfigError, CorpusError, did_you_mean
from weft.io.compressed_streams import STDIN, Source, name_of, open_bytes, stem_of
from weft.io.url_files import is_url, open_url

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

_BATCH_ROWS = 1024
DELIMITERS = ",;\t|"  # of a CSV file; the first one with which the header has the text column
_NAMED_DELIMITER = re.compile(r"sep=(.)$", re.IGNORECASE)


def read_csv(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    r"""Yield the documents of a CSV file with a header; quoted fields may contain newlines.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.csv"
        >>> _ = path.write_text('id,text\n7,"It rained. He slept."\n')
        >>> next(read_csv(path, ReadOptions(id_column="id")))
        Document(id='7', sentences=('It rained.', 'He slept.'), title='', paragraph_starts=(0,))
    """
    return _read_delimited(source, options, DELIMITERS)


def read_tsv(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    """Yield the documents of a TSV file with a header; see :func:`read_csv`."""
    return _read_delimited(source, options, "\t")


def _read_delimited(source: Source, options: ReadOptions, delimiters: str) -> Iterator[Document]:
    rows = _rows(source, options, delimiters)
    _, header = next(rows, (0, []))
    if not header:
        return
    names = [name.strip() for name in header]
    _check_columns(names, source, options)
    text_at, id_at = names.index(options.column), names.index(options.id_column) if options.id_column else None
    for number, row in rows:
        if len(row) != len(header):
            raise _ragged(source, number, row, header)
        name = row[id_at] if id_at is not None else ""
        columns = {names[at]: field for at, field in enumerate(row) if at not in (text_at, id_at)}
        document = text_document(name or f"{stem_of(source)}:{number}", row[text_at], options, columns=columns)
        yield from kept(document, options)


def _rows(source: Source, options: ReadOptions, delimiters: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank lines, each with the number of its first line."""
    lines = open_lines(source, options)
    number, first = next(lines, (0, ""))
    named = _NAMED_DELIMITER.match(first)  # a line that Excel writes and reads
    if named:
        number, first = next(lines, (0, ""))
    delimiter = named[1] if named else _delimiter(first, options.column, delimiters)
    # strict: a quote that is never closed is an error; otherwise the rest of the file would be one field.
    whole = chain([(number, first)] if number else [], lines)
    reader = csv.reader((line + "\n" for _, line in whole), delimiter=delimiter, strict=True)
    skipped = 1 if named else 0
    while True:
        number = skipped + reader.line_num + 1
        try:
            row = _next_row(reader, options.max_line_bytes)
        except csv.Error as error:
            raise _bad_row(source, number, error, options.max_line_bytes) from error
        if row is None:
            return
        if any(field.strip() for field in row) or (row and options.empty != "skip"):
            yield number, row


def _delimiter(header: str, column: str, delimiters: str) -> str:
    """Return the first delimiter with which the header has the text column, else the one that gives most columns.

    Example:
        >>> _delimiter("id;text", "text", DELIMITERS), _delimiter("id,text", "text", DELIMITERS)
        (';', ',')
    """
    names = {delimiter: _split_header(header, delimiter) for delimiter in delimiters}
    found = next((delimiter for delimiter in delimiters if column in names[delimiter]), None)
    return found or max(delimiters, key=lambda delimiter: len(names[delimiter]))


def _split_header(header: str, delimiter: str) -> list[str]:
    try:
        return [name.strip() for name in next(csv.reader([header], delimiter=delimiter), [])]
    except csv.Error:  # a field that is too long; the error is raised when the rows are read
        return []


def _next_row(reader: Iterator[list[str]], limit: int) -> list[str] | None:
    # The csv module's limit of 131,072 characters is too small for a document. The limit holds for the whole process,
    # so it is raised for this call only.
    previous = csv.field_size_limit(limit)
    try:
        return next(reader, None)
    finally:
        csv.field_size_limit(previous)


def _bad_row(source: Source, number: int, error: csv.Error, limit: int) -> CorpusError:
    too_long = "field larger than" in str(error)
    return CorpusError(
        f"{name_of(source)}, row at line {number}: " + ("a field is too long" if too_long else "bad quoting"),
        seen=str(error),
        allowed=f'fields of at most {limit} characters; a quote inside a quoted field is written ""',
        next_step='look for a quote that is never closed, or use `format="lines"`',
    )


def _ragged(source: Source, number: int, row: list[str], header: list[str]) -> CorpusError:
    return CorpusError(
        f"{name_of(source)}, row at line {number}: {len(row)} fields under a header of {len(header)}",
        seen="|".join(row)[:80],
        allowed="as many fields as the header has",
        next_step="quote the fields that contain the delimiter or a newline",
    )


def _check_columns(names: list[str], source: Source, options: ReadOptions) -> None:
    steps = [("name another with `column`", options.column)]
    if options.id_column:
        steps.append(("name another with `id_column`", options.id_column))
    for next_step, wanted in steps:
        if wanted not in names:
            raise CorpusError(
                f"no column {wanted!r} in {name_of(source)}",
                seen=f"columns {', '.join(names)}"[:200],
                allowed=did_you_mean(wanted, names),
                next_step=next_step,
            )


def read_parquet(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    """Yield the documents of a Parquet file, read in batches.

    Rows without text are skipped, unless ``options.empty`` keeps them.

    Raises:
        ConfigError: pyarrow is not installed.
        CorpusError: The file is not Parquet, or has no text column of that name.

    Example:
        >>> import tempfile, pathlib, pyarrow, pyarrow.parquet
        >>> path = str(pathlib.Path(tempfile.mkdtemp()) / "a.parquet")
        >>> pyarrow.parquet.write_table(pyarrow.table({"text": ["It rained. He slept."]}), path)
        >>> next(read_parquet(path)).sentences
        ('It rained.', 'He slept.')
    """
    return read_row_groups(source, options)


def read_row_groups(
    source: Source, options: ReadOptions = DEFAULT_OPTIONS, groups: Sequence[int] | None = None, *, first: int = 1
) -> Iterator[Document]:
    """Yield the documents of some row groups of a Parquet file, by default of all; ``first`` numbers their rows."""
    for number, row in enumerate(_parquet_rows(source, options, groups), start=first):
        text = row.pop(options.column) or ""
        name = row.pop(options.id_column, None) if options.id_column else None
        name = f"{stem_of(source)}:{number}" if name in (None, "") else str(name)
        yield from kept(text_document(name, text, options, columns=row), options)


def row_group_sizes(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> list[int]:
    """Return the number of rows of every row group of a Parquet file.

    Raises:
        ConfigError: pyarrow is not installed.
        CorpusError: The file is not Parquet, or has no text column of that name.
    """
    with _open_parquet(source, options) as file:
        return [file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups)]


def _parquet_rows(source: Source, options: ReadOptions, groups: Sequence[int] | None) -> Iterator[dict[str, Any]]:
    with _open_parquet(source, options) as file:
        for batch in file.iter_batches(_BATCH_ROWS, row_groups=groups):
            yield from batch.to_pylist()


@contextmanager
def _open_parquet(source: Source, options: ReadOptions) -> Iterator[ParquetFile]:
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ConfigError(
            "Parquet needs pyarrow, which is not installed",
            seen=name_of(source),
            allowed="any other format without it",
            next_step="pip install 'weft-coherence[parquet]'",
        ) from error
    _check_parquet_source(source)
    try:
        with ExitStack() as opened:
            stream = opened.enter_context(open_url(str(source))) if is_url(source) else source
            file = opened.enter_context(ParquetFile(stream))
            _check_schema(file, source, options)
            yield file
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _corrupt(source, str(error)) from error


def _check_parquet_source(source: Source) -> None:
    if str(source) == STDIN:
        raise ConfigError(
            "Parquet cannot be read from standard input",
            seen="-",
            allowed="a Parquet file on disk, as its index is at its end",
            next_step="save it to a file first",
        )
    with open_bytes(source) as stream:  # gives the usual error if the file does not exist
        if stream.read(4) != b"PAR1":
            raise _corrupt(source, "the first bytes are not PAR1")


def _check_schema(file: ParquetFile, source: Source, options: ReadOptions) -> None:
    schema = file.schema_arrow
    _check_columns(list(schema.names), source, options)
    for wanted in (options.column, options.id_column):
        if wanted is not None and schema.names.count(wanted) > 1:
            raise CorpusError(
                f"{schema.names.count(wanted)} columns of {name_of(source)} have the same name",
                seen=wanted,
                allowed="one column of that name",
                next_step="rename one of them, or choose another with `column`",
            )
    kind = str(schema.field(options.column).type)
    if kind not in ("string", "large_string", "string_view") and "values=string" not in kind:
        raise CorpusError(
            f"column {options.column!r} of {name_of(source)} does not hold text",
            seen=kind,
            allowed="a column of strings",
            next_step="name another with `column`",
        )


def _corrupt(source: Source, detail: str) -> CorpusError:
    return CorpusError(
        f"not a readable Parquet file: {name_of(source)}",
        seen=detail[:200],
        allowed="a whole Parquet file",
        next_step="write or download it again",
    )
