"""Tokenizer files, read with full checks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.errors import ModelError

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Backend

PAD, BOS, EOS, UNK = "<pad>", "<s>", "</s>", "<unk>"
LARGEST_FILE = 256 * 2**20


def load_backend(text: str, source: str) -> Backend:
    """Return the `tokenizers` object of a file."""
    from tokenizers import Tokenizer as Backend

    try:
        return Backend.from_str(text)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # the library's panics are not Exceptions
        raise not_a_tokenizer(source, str(error)) from None


def check_bpe(body: dict[str, Any], source: str) -> None:
    """Raise ModelError if a file is not a byte-level BPE as weft writes it."""
    model, before = body.get("model"), body.get("pre_tokenizer")
    if not isinstance(model, dict) or model.get("type") != "BPE" or not isinstance(before, dict):
        raise not_a_tokenizer(source, "no byte-level BPE model")
    if before.get("type") != "ByteLevel" or before.get("add_prefix_space") is not True:
        raise not_a_tokenizer(source, "another pre-tokenizer")
    changed = [part for part in ("normalizer", "truncation", "padding", "post_processor") if body.get(part)]
    if changed or model.get("dropout"):
        raise not_a_tokenizer(source, f"extra steps: {', '.join(changed) or 'dropout'}")
    _check_bpe_ids(model.get("vocab"), source)


def _check_bpe_ids(vocabulary: object, source: str) -> None:
    if not isinstance(vocabulary, dict) or [vocabulary.get(name) for name in (PAD, BOS, EOS)] != [0, 1, 2]:
        raise not_a_tokenizer(source, f"no {PAD}, {BOS}, {EOS} at ids 0, 1, 2")
    if set(vocabulary.values()) != set(range(len(vocabulary))):
        raise not_a_tokenizer(source, "ids with gaps or repeats")


def piece_bytes(names: Sequence[str]) -> list[bytes]:
    r"""Return the bytes of byte-level pieces; each letter of a piece stands for one byte.

    Printable bytes stand for themselves, the others have letters from U+0100 on. A piece with other letters stands for
    itself, as in the `tokenizers` library. Reference: Radford et al. 2019, GPT-2.

    Example:
        >>> piece_bytes(["Ġcat", "Ã©", "日"])
        [b' cat', b'\xc3\xa9', b'\xe6\x97\xa5']
    """
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [number for number in range(256) if number not in printable]
    letters = {chr(number): number for number in printable}
    letters |= {chr(256 + place): number for place, number in enumerate(others)}
    return [bytes(letters[a] for a in name) if all(a in letters for a in name) else name.encode() for name in names]


def word_counts(body: dict[str, Any], source: str) -> list[tuple[str, int]]:
    """Return the words and counts of a word-level file."""
    if body.get("version") != 1:
        raise ModelError(
            f"{source} was written by a newer weft",
            seen=body.get("version"),
            allowed="version 1",
            next_step="update weft",
        )
    pieces, counts = body.get("words"), body.get("counts")
    if not isinstance(pieces, list) or not isinstance(counts, list) or len(pieces) != len(counts):
        raise not_a_tokenizer(source, "words and counts that do not match")
    if not all(isinstance(piece, str) for piece in pieces) or not all(type(count) is int for count in counts):
        raise not_a_tokenizer(source, "words that are not text or counts that are not numbers")
    if len({PAD, BOS, EOS, UNK, *pieces}) != len(pieces) + 4:
        raise not_a_tokenizer(source, "a word twice")
    return list(zip(pieces, counts, strict=True))


def parse_json(text: str, source: str) -> dict[str, Any]:
    """Return the JSON object of a tokenizer file."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise not_a_tokenizer(source, text[:40]) from None
    if not isinstance(body, dict):
        raise not_a_tokenizer(source, f"a JSON {type(body).__name__}")
    return body


def read_text(path: Path) -> str:
    """Return the text of a tokenizer file."""
    try:
        with path.open("rb") as file:  # a device has no size, and no end
            content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise not_a_tokenizer(str(path), f"more than {LARGEST_FILE:,} bytes")
        return content.decode("utf-8")
    except OSError as error:
        raise ModelError(
            f"cannot read the tokenizer {path}",
            seen=error.strerror,
            allowed="a tokenizer.json of weft",
            next_step="check the path, or omit the tokenizer to train one",
        ) from None
    except UnicodeDecodeError:
        raise not_a_tokenizer(str(path), "bytes that are not UTF-8") from None


def not_a_tokenizer(source: str, seen: str) -> ModelError:
    """Return the error of a file that is not a tokenizer."""
    return ModelError(
        f"{source} is not a tokenizer of weft",
        seen=seen,
        allowed="a tokenizer.json that weft wrote (byte-level BPE or words), or word pieces of a BERT-like encoder",
        next_step="check the path, or omit the tokenizer to train one",
    )


def without_surrogates(sentence: str) -> str:
    """Return the sentence with lone surrogates replaced by U+FFFD."""
    try:
        sentence.encode("utf-8")
        return sentence
    except UnicodeEncodeError:
        return sentence.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
