"""Inputs that commands share: folders, patterns, columns, empty texts; and files as output."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.command_line import ESSAY, ok, refused, weft
from tests.helpers.zoo_models import WEFT_SMALL

TEXT = "A cat sat on the mat. The cat slept. It dreamt of mice."
GENERATE = ("generate", "--model", str(WEFT_SMALL), "--max-tokens", "8", "--beam", "1")
TABLE = "key;author;text;value\n7;Ann;A cat sat. It slept.;high\n8;Bob;;low\n9;Cat;Rain fell. It stopped.;\n"


def write(folder: Path, **files: str) -> Path:
    """Write files, named by keywords in which two underscores stand for a dot and a slash for a folder."""
    for name, text in files.items():
        path = folder / name.replace("__", ".").replace("_in_", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def records(*arguments: str | Path, cwd: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ok(*arguments, "-f", "json", cwd=cwd).splitlines()]


def rows(*arguments: str | Path, cwd: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(ok(*arguments, "-f", "csv", cwd=cwd))))


# Folders and patterns -------------------------------------------------------------------------------------------------


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    write(tmp_path, essays_in_b__txt=TEXT, essays_in_a__txt=TEXT, essays_in_old_in_c__txt=TEXT, essays_in_x__png="no")
    (tmp_path / "essays" / "a-2.txt").write_text(TEXT, encoding="utf-8")
    write(tmp_path, essays_in_b__text=TEXT)
    (tmp_path / "essays" / ".hidden.txt").write_text(TEXT, encoding="utf-8")
    result = weft("score", "essays/", "-f", "json", cwd=tmp_path)
    found = [json.loads(line)["id"] for line in result.stdout.splitlines()]
    assert found == ["a", "a-2", "b.text", "b.txt", "old/c"]
    assert "files of unknown formats are not read: 1 (.png)" in result.stderr


def test_a_quoted_pattern(tmp_path: Path) -> None:
    write(tmp_path, essays_in_b__txt=TEXT, essays_in_a__txt=TEXT, essays_in_a__csv="text\nOne.")
    assert [record["id"] for record in records("score", "essays/*.txt", cwd=tmp_path)] == ["a", "b"]
    write(tmp_path, essays_in_deep_in_c__txt=TEXT)
    assert [record["id"] for record in records("score", "**/*.txt", cwd=tmp_path)] == [
        "essays/a",
        "essays/b",
        "essays/deep/c",
    ]
    assert "*.docs" in refused("score", "essays/*.docs", cwd=tmp_path)


def test_the_format_of_the_files_of_a_folder(tmp_path: Path) -> None:
    write(tmp_path, texts_in_a__one="One.\nTwo.\n\nThree.", texts_in_b__two="Four.")
    found = records("score", "texts", "--input", "lines", cwd=tmp_path)
    assert [record["id"] for record in found] == ["a:1", "a:4", "b:1"]


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    write(tmp_path, one_in_essay__txt=TEXT, two_in_essay__txt=TEXT)
    found = records("score", "one/essay.txt", "two/essay.txt", ESSAY.parent / "shuffled.txt", cwd=tmp_path)
    assert [record["id"] for record in found] == ["one/essay.txt", "two/essay.txt", "shuffled"]


def test_a_file_of_a_folder_that_cannot_be_read_keeps_its_place(tmp_path: Path) -> None:
    write(tmp_path, texts_in_a__txt=TEXT, texts_in_c__txt=TEXT, texts_in_d__txt=" \n")
    (tmp_path / "texts" / "b.txt").write_bytes(b"Caf\xe9. It closed.")
    found = records("score", "texts", cwd=tmp_path)
    assert [(record["id"], record["value"] is None) for record in found] == [
        ("a", False), ("b", True), ("c", False), ("d", True),
    ]  # fmt: skip
    assert "wrong encoding" in found[1]["warnings"][0] and "no sentence" in found[3]["warnings"][0]
    assert "wrong encoding" in refused_after("score", "texts", "--strict", cwd=tmp_path)


def refused_after(*arguments: str | Path, cwd: Path) -> str:
    """Run a command that must end with an error after some output."""
    result = weft(*arguments, cwd=cwd)
    assert result.returncode == 2
    return result.stderr.splitlines()[-1]


@pytest.mark.parametrize("source", ["texts", "texts/*.txt"])
def test_other_commands_read_folders_and_patterns(source: str, tmp_path: Path) -> None:
    write(tmp_path, texts_in_a__txt=TEXT, texts_in_b__txt=TEXT, texts_in_empty__txt="")
    assert (
        "wrote 2 documents" in weft("corrupt", source, "--out", "p.jsonl", "--permutations", "1", cwd=tmp_path).stderr
    )
    (tmp_path / "texts" / "empty.txt").unlink()  # for `prepare`, the files that fit a pattern are named one by one
    assert "2 articles" in weft("prepare", source, "--out", "s", "--vocabulary", "300", cwd=tmp_path).stderr


# Columns --------------------------------------------------------------------------------------------------------------


def test_semicolons_ids_and_other_columns(tmp_path: Path) -> None:
    write(tmp_path, t__csv=TABLE)
    found = records("score", "t.csv", "--id-column", "key", cwd=tmp_path)
    assert [record["id"] for record in found] == ["7", "8", "9"]
    assert [record["author"] for record in found] == ["Ann", "Bob", "Cat"]
    assert [record["input_value"] for record in found] == ["high", "low", ""]  # weft has a value of its own
    table = rows("score", "t.csv", "--id-column", "key", cwd=tmp_path)
    assert [(row["id"], row["author"], row["input_value"]) for row in table] == [
        ("7", "Ann", "high"), ("8", "Bob", "low"), ("9", "Cat", ""),
    ]  # fmt: skip
    assert [float(row["value"]) if row["value"] else None for row in table] == [record["value"] for record in found]


def test_other_columns_of_every_command(tmp_path: Path) -> None:
    write(tmp_path, t__csv=TABLE)
    for command in (
        ("order",),
        ("order", "--move-one"),
        GENERATE,
        ("score", "-e"),
    ):
        found = rows(*command, "t.csv", cwd=tmp_path)
        assert list(dict.fromkeys((row["id"], row["author"]) for row in found)) == [
            ("t:2", "Ann"), ("t:3", "Bob"), ("t:4", "Cat"),
        ]  # fmt: skip
        assert [record["author"] for record in records(*command, "t.csv", cwd=tmp_path)] == ["Ann", "Bob", "Cat"]


def test_a_file_of_excel_that_names_its_delimiter(tmp_path: Path) -> None:
    write(tmp_path, t__csv='sep=|\nid|text\n1|"One, two; three. Four."\n')
    (record,) = records("score", "t.csv", cwd=tmp_path)
    assert (record["id"], record["sentences"], record["input_id"]) == ("t:3", 2, "1")


def test_keys_of_json_lines(tmp_path: Path) -> None:
    lines = [
        {"key": 1, "body": "A cat sat. It slept.", "tags": ["a", "b"], "note": None},
        {"key": 2, "body": ["Rain fell.", "It stopped."], "tags": float("nan")},
        {"key": 3, "body": [["One."], ["Two.", "Three."]]},
        {"key": 4, "body": None},
    ]
    write(tmp_path, t__jsonl="\n".join(map(json.dumps, lines)))
    found = records("score", "t.jsonl", "--column", "body", "--id-column", "key", cwd=tmp_path)
    assert [(record["id"], record["sentences"]) for record in found] == [("1", 2), ("2", 2), ("3", 3), ("4", 0)]
    assert found[2]["paragraphs"] == [0, 1, 1]
    assert (found[0]["tags"], found[0]["note"], found[1]["tags"]) == (["a", "b"], None, None)
    table = rows("score", "t.jsonl", "--column", "body", "--id-column", "key", cwd=tmp_path)
    assert (table[0]["tags"], table[0]["note"], table[2]["tags"]) == ('["a", "b"]', "", "")
    assert "with --column" in refused("score", "t.jsonl", "--column", "text2", cwd=tmp_path)
    assert "--id-column" in refused("score", "t.jsonl", "--column", "body", "--id-column", "k", cwd=tmp_path)


def test_columns_of_parquet(tmp_path: Path) -> None:
    import datetime

    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {
        "text": [TEXT, None],
        "day": [datetime.date(2020, 1, 2), None],
        "x": [float("nan"), 2.5],
        "n": ["a", "b"],
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    found = records("score", "t.parquet", "--id-column", "n", cwd=tmp_path)
    assert [(record["id"], record["day"], record["x"]) for record in found] == [
        ("a", "2020-01-02", None),
        ("b", None, 2.5),
    ]
    assert found[1]["value"] is None


def test_a_column_that_only_later_texts_have_is_named(tmp_path: Path) -> None:
    write(tmp_path, a__txt=TEXT, b__csv="text,author\nOne. Two.,Ann\n")
    result = weft("score", "a.txt", "b.csv", "-f", "csv", cwd=tmp_path)
    assert "omitted: author" in result.stderr
    assert len({line.count(",") for line in result.stdout.splitlines()}) == 1


# Empty texts ----------------------------------------------------------------------------------------------------------


def test_an_empty_row_keeps_its_place_and_strict_stops(tmp_path: Path) -> None:
    write(tmp_path, t__csv=TABLE)
    assert [record["value"] is None for record in records("score", "t.csv", cwd=tmp_path)] == [False, True, False]
    assert "t:3" in refused_after("score", "t.csv", "--strict", cwd=tmp_path)
    assert "t:3" in refused_after("order", "t.csv", "--strict", cwd=tmp_path)
    (empty,) = (r for r in records(*GENERATE, "t.csv", cwd=tmp_path) if not r["sentences"])
    assert empty["id"] == "t:3" and "no sentence" in empty["warnings"][0]


# Output ---------------------------------------------------------------------------------------------------------------


def test_out_writes_what_stdout_would_show(tmp_path: Path) -> None:
    write(tmp_path, a__txt=TEXT, b__txt=TEXT.replace("cat", "dog"))
    for command in (("score", "a.txt"), ("order", "a.txt"), ("compare", "a.txt", "b.txt", "-m", "foltz-sif")):
        for name, form in (("o.csv", "csv"), ("o.jsonl", "json"), ("o.txt", "table")):
            expected = ok(*command, "-f", form, cwd=tmp_path)
            assert ok(*command, "--out", name, cwd=tmp_path) == ""
            assert (tmp_path / name).read_text(encoding="utf-8") == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt", "o.csv", "o.jsonl", "o.txt"]


def test_an_error_leaves_the_old_output(tmp_path: Path) -> None:
    write(tmp_path, a__txt=TEXT, scores__csv="old")
    (tmp_path / "b.txt").write_bytes(b"Caf\xe9.")
    refused("score", "a.txt", "b.txt", "--out", "scores.csv", cwd=tmp_path)
    assert (tmp_path / "scores.csv").read_text(encoding="utf-8") == "old"
    refused("score", "a.txt", "--out", ".", cwd=tmp_path)


def test_texts_are_told_apart_in_every_format(tmp_path: Path) -> None:
    write(tmp_path, a__txt=TEXT, b__txt=TEXT)
    for command in (("order",), GENERATE, ("score", "-e")):
        blocks = ok(*command, "a.txt", "b.txt", cwd=tmp_path).split("\n\n")
        assert any(block.startswith("a") for block in blocks) and any(block.startswith("b") for block in blocks)
        assert {row["id"] for row in rows(*command, "a.txt", "b.txt", cwd=tmp_path)} == {"a", "b"}
        lines = ok(*command, "a.txt", "b.txt", "-f", "jsonl", cwd=tmp_path).splitlines()
        assert [json.loads(line)["id"] for line in lines] == ["a", "b"]
    assert not ok("order", "a.txt", cwd=tmp_path).startswith("a")


def test_paragraphs_reach_the_output(tmp_path: Path) -> None:
    write(tmp_path, a__txt="One fell. Two rose.\n\nThree sat. Four ran.")
    (record,) = records("score", "a.txt", cwd=tmp_path)
    assert record["paragraphs"] == [0, 0, 1, 1]
    table = rows("score", "a.txt", "-e", cwd=tmp_path)
    assert [(row["left_paragraph"], row["right_paragraph"]) for row in table] == [("0", "0"), ("0", "1"), ("1", "1")]
    assert "   3¶ Three sat." in ok("score", "a.txt", "-e", cwd=tmp_path)
