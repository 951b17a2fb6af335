"""Tables with a text column: CSV, TSV and Parquet. One row is one document."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from weft.corpora.readers.lines import open_lines
from weft.corpora.readers.read_options import DEFAULT_OPTIONS, ReadOptions
from weft.corpora.text.sentences import document_of_text
from weft.document import Document
from weft.errors import ConfigError, CorpusError, did_you_mean
from weft.io.compressed_streams import STDIN, Source, name_of, open_bytes, stem_of

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

_BATCH_ROWS = 1024


def read_csv(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    r"""Yield the documents of a CSV file with a header; quoted fields may contain newlines.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.csv"
        >>> _ = path.write_text('id,text\n7,"It rained. He slept."\n')
        >>> next(read_csv(path, ReadOptions(id_column="id")))
        Document(id='7', sentences=('It rained.', 'He slept.'), title='', paragraph_starts=(0,))
    """
    return _read_delimited(source, options, ",")


def read_tsv(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    """Yield the documents of a TSV file with a header; see :func:`read_csv`."""
    return _read_delimited(source, options, "\t")


def _read_delimited(source: Source, options: ReadOptions, delimiter: str) -> Iterator[Document]:
    rows = _rows(source, options, delimiter)
    _, header = next(rows, (0, []))
    if not header:
        return
    text_at, id_at = _positions(header, source, options)
    for number, row in rows:
        if len(row) != len(header):
            raise _ragged(source, number, row, header)
        name = row[id_at] if id_at is not None else ""
        yield from _document(name or f"{stem_of(source)}:{number}", row[text_at], options.language)


def _rows(source: Source, options: ReadOptions, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, each with the number of its first line."""
    lines = open_lines(source, options)
    # strict: a quote that is never closed is an error; otherwise the rest of the file would be one field.
    reader = csv.reader((line + "\n" for _, line in lines), delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            row = _next_row(reader, options.max_line_bytes)
        except csv.Error as error:
            raise _bad_row(source, number, error, options.max_line_bytes) from error
        if row is None:
            return
        if any(field.strip() for field in row):
            yield number, row


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
        next_step="look for a quote that is never closed, or use --input lines",
    )


def _ragged(source: Source, number: int, row: list[str], header: list[str]) -> CorpusError:
    return CorpusError(
        f"{name_of(source)}, row at line {number}: {len(row)} fields under a header of {len(header)}",
        seen="|".join(row)[:80],
        allowed="as many fields as the header has",
        next_step="quote the fields that contain the delimiter or a newline",
    )


def _positions(header: list[str], source: Source, options: ReadOptions) -> tuple[int, int | None]:
    names = [name.strip() for name in header]
    _check_columns(names, source, options)
    return names.index(options.column), names.index(options.id_column) if options.id_column else None


def _check_columns(names: list[str], source: Source, options: ReadOptions) -> None:
    # The command line has no option for the id column.
    steps = (("--column NAME", options.column), ("ReadOptions(id_column=NAME)", options.id_column))
    for next_step, wanted in steps:
        if wanted and wanted not in names:
            raise CorpusError(
                f"no column {wanted!r} in {name_of(source)}",
                seen=f"columns {', '.join(names)}"[:200],
                allowed=did_you_mean(wanted, names),
                next_step=next_step,
            )


def _document(name: str, text: str, language: str) -> Iterator[Document]:
    document = document_of_text(name, text, language)
    if document.sentences:
        yield document


def read_parquet(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    """Yield the documents of a Parquet file, read in batches; rows without text are skipped.

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
    columns = [options.column, *([options.id_column] if options.id_column else [])]
    for number, row in enumerate(_parquet_rows(source, options, columns), start=1):
        name = row.get(options.id_column) if options.id_column else None
        name = f"{stem_of(source)}:{number}" if name in (None, "") else str(name)
        yield from _document(name, row[options.column] or "", options.language)


def _parquet_rows(source: Source, options: ReadOptions, columns: list[str]) -> Iterator[dict[str, Any]]:
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
        with ParquetFile(source) as file:
            _check_schema(file, source, options)
            for batch in file.iter_batches(_BATCH_ROWS, columns=columns):
                yield from batch.to_pylist()
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
    for wanted in filter(None, (options.column, options.id_column)):
        if schema.names.count(wanted) > 1:
            raise CorpusError(
                f"{schema.names.count(wanted)} columns of {name_of(source)} have the same name",
                seen=wanted,
                allowed="one column of that name",
                next_step="rename one of them, or choose another with --column NAME",
            )
    kind = str(schema.field(options.column).type)
    if kind not in ("string", "large_string", "string_view") and "values=string" not in kind:
        raise CorpusError(
            f"column {options.column!r} of {name_of(source)} does not hold text",
            seen=kind,
            allowed="a column of strings",
            next_step="--column NAME",
        )


def _corrupt(source: Source, detail: str) -> CorpusError:
    return CorpusError(
        f"not a readable Parquet file: {name_of(source)}",
        seen=detail[:200],
        allowed="a whole Parquet file",
        next_step="write or download it again",
    )
