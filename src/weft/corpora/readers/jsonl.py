"""JSON lines: one object per line.

``{"sentences": [...]}`` and ``{"paragraphs": [[...], ...]}`` are used as they are; ``{"text": "..."}`` is split.
Another key can hold any of the three; the other keys of the object are the columns of the document.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from weft.corpora.readers.lines import open_lines
from weft.corpora.readers.read_options import DEFAULT_OPTIONS, ReadOptions
from weft.corpora.readers.text_document import cleaned_paragraphs, kept, text_document
from weft.corpora.text.sentences import assemble, tidy_sentence
from weft.document import Document
from weft.errors import CorpusError
from weft.io.compressed_streams import Source, name_of, stem_of

# Keys that weft reads; `title` is a column as well. Others are passed on.
_KEYS = frozenset(("paragraphs", "sentences", "text", "id", "genre", "perms", "replacements"))
_ALLOWED = 'one JSON object per line with "paragraphs", "sentences" or "text"'


@dataclass(frozen=True, slots=True)
class Record:
    """One line of a JSON lines file: where it is, and the parsed object."""

    source: Source
    number: int
    fields: dict[str, object] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """The file and the line number, for messages."""
        return f"{name_of(self.source)}, line {self.number}"

    @property
    def default_id(self) -> str:
        """The id of a document without an ``id``."""
        return f"{stem_of(self.source)}:{self.number}"

    def error(self, what: str, *, seen: object, allowed: str = _ALLOWED, next_step: str) -> CorpusError:
        """Return an error with the file and the line number."""
        return CorpusError(f"{self.place}: {what}", seen=seen, allowed=allowed, next_step=next_step)


def read_jsonl(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[Document]:
    r"""Yield the documents of a JSON lines file; blank lines are skipped.

    Documents without sentences are skipped too, unless ``options.empty`` keeps them.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.jsonl"
        >>> _ = path.write_text('{"text": "It rained. He slept."}\n{"id": "x", "sentences": ["He woke."]}')
        >>> [(document.id, document.sentences) for document in read_jsonl(path)]
        [('a:1', ('It rained.', 'He slept.')), ('x', ('He woke.',))]
    """
    for record in read_records(source, options):
        yield from kept(document_of(record, options), options)


def read_records(
    source: Source, options: ReadOptions = DEFAULT_OPTIONS, *, allowed: str = _ALLOWED
) -> Iterator[Record]:
    """Yield the objects of a JSON lines file, with any keys.

    ``allowed`` is what the error message of a bad line says is allowed.
    """
    return parse_records(source, open_lines(source, options), allowed=allowed)


def parse_records(source: Source, lines: Iterable[tuple[int, str]], *, allowed: str = _ALLOWED) -> Iterator[Record]:
    """Yield the objects of numbered lines; the source is used in messages and ids."""
    for number, line in lines:
        if line and not line.isspace():
            yield _parse(line, Record(source, number), allowed)


def document_of(record: Record, options: ReadOptions = DEFAULT_OPTIONS) -> Document:
    """Return the document of a record; it has no sentences if its text is empty."""
    genre = record.fields.get("genre")
    document = _without_genre(record, options)
    return replace(document, genre=genre) if isinstance(genre, str) and genre else document


def _without_genre(record: Record, options: ReadOptions) -> Document:
    key = _text_key(record, options)
    value, name, title = record.fields[key], _id(record, options.id_column), _title(record)
    used = {key, options.id_column or "id"}
    columns = {other: item for other, item in record.fields.items() if other not in used | _KEYS}
    if value is None and options.empty != "skip":
        value = ""
    if isinstance(value, str) and key not in ("paragraphs", "sentences"):
        return text_document(name, value, options, title=title, columns=columns)
    paragraphs = cleaned_paragraphs(_given_paragraphs(record, key, value), options)
    return replace(assemble(name, paragraphs, title), columns=columns)


def _text_key(record: Record, options: ReadOptions) -> str:
    """Return the key of the text: the one that was chosen, else the first one of the usual keys."""
    fields = record.fields
    known = ("paragraphs", "sentences", "text") if options.column == DEFAULT_OPTIONS.column else (options.column,)
    found = next((key for key in known if key in fields), None)
    if found is not None:
        return found
    raise record.error(
        f"no key {options.column!r} in the object",
        seen=f"keys {_clip(', '.join(fields)) or 'none at all'}",
        allowed=_ALLOWED if options.column == DEFAULT_OPTIONS.column else "an object with this key on every line",
        next_step="name the key that holds the text with `column`",
    )


def _given_paragraphs(record: Record, key: str, value: object) -> Iterable[list[str]]:
    """Return the sentences of a value that is a list of sentences, or a list of paragraphs of them."""
    if key == "text":
        raise _wrong_type(record, key, value, "a string")
    nested = isinstance(value, list) and any(isinstance(item, list) for item in value)
    if key == "paragraphs" or (key != "sentences" and nested):
        return _paragraphs(record, key, value)
    return [_sentences(record, value, key)]


def _parse(line: str, record: Record, allowed: str) -> Record:
    """Return the record with the object of its line."""
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise _bad_json(line, record, error, allowed) from error
    except (RecursionError, ValueError) as error:  # ValueError: an integer with thousands of digits
        problem = "nested too deeply" if isinstance(error, RecursionError) else _clip(str(error))
        raise record.error(
            "unreadable JSON", seen=problem, allowed=allowed, next_step="remove the line or simplify it"
        ) from error
    if not isinstance(value, dict):
        otherwise = 'write it as {"text": ...}' if allowed == _ALLOWED else "correct or remove the line"
        raise record.error(
            f"expected a JSON object, got {_kind(value)}",
            seen=_clip(line),
            allowed=allowed,
            next_step="write each object on one line: jq -c '.[]'" if isinstance(value, list) else otherwise,
        )
    # The line was decoded strictly, so surrogates can only come from escapes; few lines have any.
    if "\\ud" in line or "\\uD" in line:
        _check_surrogates(record, value)
    return replace(record, fields=value)


def _bad_json(line: str, record: Record, error: json.JSONDecodeError, allowed: str) -> CorpusError:
    if record.number == 1 and line.strip() in ("[", "{"):
        next_step = "write each object on one line: jq -c . (or jq -c '.[]' for a list)"
    else:
        next_step = "correct or remove the line" + (
            '; for plain text use `format="text"`' if allowed == _ALLOWED else ""
        )
    return record.error(
        f"bad JSON at column {error.colno} ({error.msg})",
        seen=line[max(0, error.pos - 20) : error.pos + 20],
        allowed=allowed,
        next_step=next_step,
    )


def _check_surrogates(record: Record, value: object) -> None:
    for text in _strings(value):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise record.error(
                "a lone surrogate, which is not a character",
                seen=f"\\u{ord(text[error.start]):04x}",
                allowed="Unicode text; \\ud800-\\udfff only in pairs",
                next_step="correct the program that wrote the line",
            ) from error


def _strings(value: object) -> Iterator[str]:
    # A stack instead of recursion: json.loads accepts deeper nesting than Python code can recurse.
    stack: list[object] = [value]
    while stack:
        match stack.pop():
            case str() as text:
                yield text
            case list() as items:
                stack.extend(items)
            case dict() as fields:
                stack.extend(fields.keys())
                stack.extend(fields.values())


def _id(record: Record, key: str | None) -> str:
    if key is not None and key not in record.fields:
        raise record.error(
            f"no key {key!r} in the object",
            seen=f"keys {_clip(', '.join(record.fields))}",
            allowed="an object with this key on every line",
            next_step="name the key that holds the ids with `id_column`, or omit it",
        )
    value = record.fields.get(key or "id")
    if value is None or value == "":
        return record.default_id
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value)
    raise _wrong_type(record, key or "id", value, "a string or an integer")


def _title(record: Record) -> str:
    value = record.fields.get("title")
    if value is None or isinstance(value, str):
        return tidy_sentence(value or "")
    raise _wrong_type(record, "title", value, "a string")


def _paragraphs(record: Record, key: str, value: object) -> Iterable[list[str]]:
    if not isinstance(value, list):
        raise _wrong_type(record, key, value, "a list of lists of strings")
    return [_sentences(record, item, f"{key}[{index}]") for index, item in enumerate(value)]


def _sentences(record: Record, value: object, key: str) -> list[str]:
    if not isinstance(value, list):
        raise _wrong_type(record, key, value, "a list of strings")
    sentences = []
    for index, item in enumerate(value):
        if not isinstance(item, str):
            raise _wrong_type(record, f"{key}[{index}]", item, "a string")
        if sentence := tidy_sentence(item):
            sentences.append(sentence)
    return sentences


def _wrong_type(record: Record, key: str, value: object, allowed: str) -> CorpusError:
    what, next_step = f"{key} is {_kind(value)}", "correct the line"
    if key == "sentences" and isinstance(value, str):
        next_step = 'rename the key to "text", which is split into sentences'
    return record.error(what, seen=_clip(json.dumps(value)), allowed=allowed, next_step=next_step)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _clip(text: str, width: int = 80) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
