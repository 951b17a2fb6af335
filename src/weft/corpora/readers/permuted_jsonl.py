"""JSON lines whose objects carry negatives: ``perms`` and ``replacements``."""

from __future__ import annotations

from collections.abc import Iterator

from weft.corpora.negatives.permuted_document import PermutedDocument, Replacement
from weft.corpora.readers.jsonl import Record, document_of, read_records
from weft.corpora.readers.read_options import DEFAULT_OPTIONS, ReadOptions
from weft.document import Document
from weft.errors import CorpusError
from weft.io.compressed_streams import Source


def read_permuted_jsonl(source: Source, options: ReadOptions = DEFAULT_OPTIONS) -> Iterator[PermutedDocument]:
    """Yield the documents of a JSON lines file with their ``perms``, lists of sentence indices, and ``replacements``.

    Raises:
        CorpusError: A line cannot be read, or its negatives do not fit its sentences.
    """
    for record in read_records(source, options):
        document = document_of(record, options)
        if document.sentences:
            yield PermutedDocument(document, _orders(record, document), _replacements(record, document))


def _orders(record: Record, document: Document) -> tuple[tuple[int, ...], ...]:
    value = record.fields.get("perms")
    if value is None:
        return ()
    if not isinstance(value, list):
        raise _bad_order(record, "perms is not a list", value)
    _check_no_blank_sentences(record, document)
    # A dict removes repeated orders; a pair would count twice otherwise.
    return tuple(dict.fromkeys(_order(record, index, item, len(document)) for index, item in enumerate(value)))


def _order(record: Record, index: int, value: object, length: int) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(type(item) is int for item in value):
        raise _bad_order(record, f"perms[{index}] is not a list of integers", value)
    if not all(0 <= item < length for item in value):
        raise _bad_order(record, f"perms[{index}] points outside the {length} sentences", value)
    if len(set(value)) < len(value):
        raise _bad_order(record, f"perms[{index}] uses a sentence twice", value)
    if value == sorted(value):
        raise _bad_order(record, f"perms[{index}] is the original order", value)
    return tuple(value)


def _replacements(record: Record, document: Document) -> tuple[Replacement, ...]:
    value = record.fields.get("replacements")
    if value is None:
        return ()
    if not isinstance(value, list):
        raise _bad_replacement(record, value)
    _check_no_blank_sentences(record, document)
    return tuple(_replacement(record, item, len(document)) for item in value)


def _replacement(record: Record, value: object, length: int) -> Replacement:
    if not isinstance(value, dict):
        raise _bad_replacement(record, value)
    position, sentence = value.get("position"), value.get("sentence")
    if type(position) is not int or not 0 <= position < length or not isinstance(sentence, str):
        raise _bad_replacement(record, value)
    return Replacement(position, sentence)


def _bad_replacement(record: Record, value: object) -> CorpusError:
    return record.error(
        "replacements cannot be read",
        seen=str(value)[:80],
        allowed='a list of {"position": sentence index, "sentence": text}',
        next_step="correct or remove them",
    )


def _bad_order(record: Record, what: str, value: object) -> CorpusError:
    return record.error(
        what,
        seen=str(value)[:80],
        allowed="lists of distinct sentence indices from 0, none in the original order",
        next_step="correct or remove the order",
    )


def _given_lists(fields: dict[str, object]) -> list[list[object]]:
    lists = fields["paragraphs"] if "paragraphs" in fields else [fields.get("sentences")]
    return [item for item in lists if isinstance(item, list)] if isinstance(lists, list) else []


def _check_no_blank_sentences(record: Record, document: Document) -> None:
    given = sum(map(len, _given_lists(record.fields))) or len(document)
    if blank := given - len(document):
        raise record.error(
            "a blank sentence, which the sentence indices would count",
            seen=f"{given} sentences, {blank} of them blank",
            allowed="no blank sentences in an object with perms or replacements",
            next_step="remove the blank sentences and correct the indices",
        )
