"""Files that nobody vouches for: lines come out right, or one clear error does."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from weft.corpora.readers.lines import open_lines
from weft.corpora.readers.read_options import ReadOptions
from weft.errors import ConfigError, CorpusError, WeftError
from weft.io.compressed_streams import name_of, open_bytes, plain_name, stem_of
from weft.io.file_hash import sha256_of

COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}


def write(tmp_path: Path, data: bytes, name: str = "file.txt") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def texts(path: Path | str, **options: object) -> list[str]:
    return [line for _, line in open_lines(path, ReadOptions(**options))]  # type: ignore[arg-type]


def failure(path: Path | str, **options: object) -> WeftError:
    with pytest.raises(WeftError) as caught:
        texts(path, **options)
    error = caught.value
    assert all((error.what, error.seen, error.allowed, error.next_step)), "an error says four things"
    assert "\n" not in str(error)
    return error


@pytest.mark.parametrize("name", COMPRESSORS)
def test_compression_is_known_by_content_not_by_name(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, COMPRESSORS[name]("één\ntwo\n".encode()), "misleading.bz2")
    assert list(open_lines(path)) == [(1, "één"), (2, "two")]


@pytest.mark.parametrize("name", COMPRESSORS)
def test_standard_input_may_be_compressed(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(COMPRESSORS[name](b"one\ntwo"))))
    assert texts("-") == ["one", "two"]


def test_a_pipe_that_hands_over_one_byte_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()

    def trickle() -> None:
        for byte in lzma.compress(b"slow"):
            os.write(writing, bytes([byte]))
        os.close(writing)

    thread = threading.Thread(target=trickle)
    thread.start()
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=pipe))
        assert texts("-") == ["slow"]
    thread.join()


def test_standard_input_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO(b"one")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=buffer))
    texts("-")
    assert not buffer.closed


def test_no_standard_input_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.BytesIO()
    closed.close()
    for stdin in (None, SimpleNamespace(buffer=closed), io.StringIO("text without bytes")):
        monkeypatch.setattr(sys, "stdin", stdin)
        error = failure("-")
        assert "no standard input" in error.what
        assert error.seen and error.allowed and error.next_step


def test_two_compressed_streams_in_a_row_are_one_file(tmp_path: Path) -> None:
    for name, compress in COMPRESSORS.items():
        assert texts(write(tmp_path, compress(b"one\nt") + compress(b"wo"), name)) == ["one", "two"]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a\n\nb", ["a", "", "b"]),
        (b"a\r\nb\r", ["a", "b"]),
        (b"a\rb\r\r\n", ["a\rb\r"]),
        ("a\u2028b\u2029c\x0bd\x0ce\x85f\n".encode(), ["a\u2028b\u2029c\x0bd\x0ce\x85f"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb", ["a", "\ufeffb"]),
    ],
)
def test_only_a_newline_ends_a_line(tmp_path: Path, data: bytes, lines: list[str]) -> None:
    assert texts(write(tmp_path, data)) == lines


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "shift_jis", "utf-8-sig"])
def test_any_encoding_of_a_text_of_many_chunks(tmp_path: Path, encoding: str) -> None:
    lines = ["日本語 テスト", "二行目"] if encoding == "shift_jis" else ["Caf\xe9 \xe0 la", "na\xefve"]
    path = write(tmp_path, "\n".join(lines * 3001).encode(encoding))
    assert texts(path, encoding=encoding) == lines * 3001


def test_a_utf16_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    path = write(tmp_path, b"\xff\xfe" + "a\nb".encode("utf-16-le"))
    assert texts(path, encoding="utf-16") == texts(path, encoding="utf-16-le") == ["a", "b"]


def test_missing_directory_and_odd_paths(tmp_path: Path) -> None:
    assert "does not exist" in failure(tmp_path / "none").what
    assert "does not exist" in failure(write(tmp_path, b"x") / "below-a-file").what
    assert "is a directory" in failure(tmp_path).what
    assert "null" in failure("a\0b").what
    assert "too long" in failure("x" * 5000).what


def test_permission(tmp_path: Path) -> None:
    path = write(tmp_path, b"x")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    assert "permission" in failure(path).what


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\x7fELF\x02\x01\x01" + bytes(50), "NUL byte at offset 7"),
        (bytes(range(1, 32)) * 10, "control bytes"),
        ("text".encode("utf-16"), "UTF-16"),
        (b"PK\x03\x04rest", "zip"),
        (b"%PDF-1.7 rest", "PDF"),
        (b"\x28\xb5\x2f\xfdrest", "zstd"),
        (b"PAR1rest", "Parquet"),
        (gzip.compress(b"a\0b", mtime=0), "NUL"),
    ],
)
def test_binary_files_are_refused(tmp_path: Path, data: bytes, said: str) -> None:
    error = failure(write(tmp_path, data))
    assert said in str(error)
    assert "not a text file" in error.what


def test_utf16_without_its_option_names_the_option(tmp_path: Path) -> None:
    assert failure(write(tmp_path, "text".encode("utf-16"))).next_step == '`encoding="utf-16"`'


@pytest.mark.parametrize("before", [0, 50, 4095, 4096, 2**20])
@pytest.mark.parametrize("compress", COMPRESSORS.values())
def test_a_wrong_byte_is_named_with_its_place(tmp_path: Path, before: int, compress: Callable[[bytes], bytes]) -> None:
    path = write(tmp_path, compress("é".encode() * before + b"caf\xe9 noir"))
    error = failure(path)
    assert error.seen == f"byte 0xe9 at offset {2 * before + 3} is not valid utf-8"
    assert error.next_step == '`encoding="latin-1"`'
    assert texts(path, encoding="latin-1")


def test_a_wrong_byte_beyond_the_first_chunk(tmp_path: Path) -> None:
    path = write(tmp_path, b"0123456789\n" * 200_000 + b"\xff")
    assert failure(path).seen == "byte 0xff at offset 2200000 is not valid utf-8"


def test_a_character_cut_by_the_end_of_the_file(tmp_path: Path) -> None:
    assert failure(write(tmp_path, b"caf\xc3")).seen == "byte 0xc3 at offset 3 is not valid utf-8"


def test_utf16_text_without_a_mark(tmp_path: Path) -> None:
    path = write(tmp_path, b"plain ascii, no mark at all")
    assert "wrong encoding" in failure(path, encoding="utf-16").what


@pytest.mark.parametrize("encoding", ["utf-9", "hex", "rot13", "", "a\0b", "undefined"])
def test_encodings_that_are_none(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(ConfigError, match="unknown encoding"):
        texts(write(tmp_path, b"x"), encoding=encoding)


def test_a_line_at_the_limit_and_one_beyond(tmp_path: Path) -> None:
    path = write(tmp_path, b"short\n" + b"x" * 100 + b"\nlast")
    assert len(texts(path, max_line_bytes=100)) == 3
    assert "line 2 is too long" in failure(path, max_line_bytes=99).what


def test_the_limit_counts_bytes_and_not_characters(tmp_path: Path) -> None:
    path = write(tmp_path, ("é" * 50).encode())
    assert texts(path, max_line_bytes=100)
    assert failure(path, max_line_bytes=99)


def test_an_endless_line_fails_in_little_memory(tmp_path: Path) -> None:
    path = write(tmp_path, gzip.compress(b"x" * 2**27, 1))
    tracemalloc.start()
    error = failure(path, max_line_bytes=2**20)
    assert "in Python, ReadOptions(max_line_bytes=...)" in str(error.next_step), "the command line has no such option"
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "line 1 is too long" in error.what
    assert peak < 16 * 2**20


@pytest.mark.parametrize("name", ["gz", "bz2", "xz"])
def test_truncated_and_corrupt_archives(tmp_path: Path, name: str) -> None:
    whole = COMPRESSORS[name](os.urandom(3000).hex().encode())
    assert "ends too early" in failure(write(tmp_path, whole[:-20])).what
    corrupt = whole[:1000] + bytes(300) + whole[1300:]
    assert "corrupt" in failure(write(tmp_path, corrupt)).what


def test_the_lines_before_the_damage_are_given(tmp_path: Path) -> None:
    whole = lzma.compress(os.urandom(300_000).hex().encode() + b"\n" + os.urandom(300_000).hex().encode())
    lines = open_lines(write(tmp_path, whole[:-1000]))
    assert len(next(lines)[1]) == 600_000
    with pytest.raises(CorpusError, match="ends too early"):
        next(lines)


def test_closing_early_leaves_nothing_open(tmp_path: Path) -> None:
    lines = open_lines(write(tmp_path, b"a\nb"))
    next(lines)
    del lines  # A ResourceWarning would fail the test, see pyproject.toml.


def test_bytes_of_an_empty_file(tmp_path: Path) -> None:
    with open_bytes(write(tmp_path, b"")) as stream:
        assert stream.read() == b""


def test_sha256_is_of_the_bytes_on_disk(tmp_path: Path) -> None:
    path = write(tmp_path, b"abc")
    assert sha256_of(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    with pytest.raises(CorpusError, match="does not exist"):
        sha256_of(tmp_path / "none")


def test_names() -> None:
    assert name_of("-") == "standard input"
    assert stem_of("-") == "stdin"
    assert stem_of(Path("a/b.c.jsonl.XZ")) == "b.c"
    assert plain_name("x.csv.gz") == "x.csv"
    assert plain_name("x.csv") == "x.csv"


@pytest.mark.shared
def test_a_shard_reads_as_lzma_reads_it(shared_data: Path) -> None:
    path = shared_data / "wikipedia" / "dev.jsonl.xz"
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
        assert [line.removesuffix("\n") for line in file] == texts(path)
