"""`weft score`: formats, inputs, and input that cannot be scored."""

from __future__ import annotations

import bz2
import csv
import io
import json
import lzma
from pathlib import Path
from statistics import fmean, median

import pytest
from tests.helpers.command_line import ESSAY, ok, refused, weft


def test_explain_shows_every_sentence_and_the_break() -> None:
    text = ok("score", ESSAY, "--explain")
    lines = text.splitlines()
    assert sum(" █" in line for line in lines) == 9
    uncle = next(number for number, line in enumerate(lines) if "My uncle" in line)
    assert "weak link" in lines[uncle - 1]
    assert "weak link" in lines[uncle + 1]


def test_score_formats_agree() -> None:
    record = json.loads(ok("score", ESSAY, "-f", "json"))
    rows = list(csv.DictReader(io.StringIO(ok("score", ESSAY, "-f", "csv"))))
    assert float(rows[0]["value"]) == record["value"]
    assert int(rows[0]["sentences"]) == record["sentences"] == 10
    transitions = list(csv.DictReader(io.StringIO(ok("score", ESSAY, "-f", "csv", "--explain"))))
    assert [float(row["value"]) for row in transitions] == record["transitions"]
    assert f"{record['value']:.4f}" in ok("score", ESSAY)


def test_own_shuffles_of_a_model_without_a_reader(tmp_path: Path) -> None:
    text = tmp_path / "years.txt"
    text.write_text("He was born in 1812. He wed in 1836. He was rich in 1840. He died in 1870.", encoding="utf-8")
    asked = ("score", text, "--model", "year-sort", "-f", "json")
    assert json.loads(ok(*asked))["shuffles_beaten"] is None
    assert json.loads(ok(*asked, "--own-shuffles"))["shuffles_beaten"] == 1.0
    table = ok("score", text, text, "--model", "year-sort", "--own-shuffles")
    assert "own shuffles" in table.splitlines()[0]


def test_score_reads_stdin_and_compressed_files(tmp_path: Path) -> None:
    expected = json.loads(ok("score", ESSAY, "-f", "json"))["value"]
    assert json.loads(ok("score", "-", "-f", "json", stdin=ESSAY.read_bytes()))["value"] == expected
    (tmp_path / "essay.txt.bz2").write_bytes(bz2.compress(ESSAY.read_bytes()))
    assert json.loads(ok("score", tmp_path / "essay.txt.bz2", "-f", "json"))["value"] == expected


def test_score_many_documents(tmp_path: Path) -> None:
    lines = [json.dumps({"id": f"d{n}", "text": "A cat sat. A dog ran. Rain fell."}) for n in range(150)]
    (tmp_path / "many.jsonl").write_text("\n".join(lines))
    records = [json.loads(line) for line in ok("score", tmp_path / "many.jsonl", ESSAY, "-f", "json").splitlines()]
    assert [record["id"] for record in records] == [*(f"d{n}" for n in range(150)), "essay"]
    assert len({record["value"] for record in records[:150]}) == 1


@pytest.fixture
def four_texts(tmp_path: Path) -> Path:
    """Four texts, one of them without a score."""
    texts = {
        "d": "The cat sat on the mat. The cat slept on the mat. The mat was warm.",
        "b": "The cat sat on the mat. Banks lent money. Rain fell in Peru.",
        "c": "Only one sentence here.",
        "a": "The cat sat on the mat. The dog slept on the mat. Investors sold shares.",
    }
    lines = [json.dumps({"id": name, "text": text}) for name, text in texts.items()]
    (tmp_path / "four.jsonl").write_text("\n".join(lines))
    return tmp_path


def test_several_texts_make_an_aligned_table_with_a_summary(four_texts: Path) -> None:
    """The table has one line per text, no sentence about a text is repeated, and the numbers are those of JSON."""
    command = ("score", "four.jsonl", "--model", "foltz-sif")
    header, *rows, summary = ok(*command, cwd=four_texts).splitlines()
    records = [json.loads(line) for line in ok(*command, "-f", "json", cwd=four_texts).splitlines()]
    assert header.split("  ")[-1] == "name"
    starts = {row.index(f"  {record['id']}") for row, record in zip(rows, records, strict=True)}
    assert starts == {header.index("  name")}
    values = [record["value"] for record in records]
    assert [row.split()[0] for row in rows] == ["–" if value is None else f"{value:.4f}" for value in values]
    known = [value for value in values if value is not None]
    assert summary.startswith(f"4 texts: score {fmean(known):.4f} on average, median {median(known):.4f}, 1 without")
    assert summary.endswith(f"{sum(bool(record['warnings']) for record in records)} with warnings")


def test_percentiles_are_explained_once(four_texts: Path) -> None:
    shown = ok("score", "four.jsonl", "-m", "weft-reader", cwd=four_texts)
    assert shown.count("percentile: ") == 1
    header, *rows = [line.split() for line in shown.splitlines()]
    records = [
        json.loads(line)
        for line in ok("score", "four.jsonl", "-m", "weft-reader", "-f", "json", cwd=four_texts).splitlines()
    ]
    genres = {record["id"]: record["genre"] for record in records}
    place = header.index("genre")
    assert [row[place] for row in rows[:2]] == [genres["d"], genres["b"]]


def test_texts_are_sorted_in_every_format(four_texts: Path) -> None:
    command = ("score", "four.jsonl", "--model", "foltz-sif")
    by_score = sorted("dba", key=lambda name: -json_values(command, four_texts)[name])
    for sort, expected in (("given", "dbca"), ("name", "abcd"), ("score", [*by_score, "c"]), ("percentile", "dbca")):
        rows = list(csv.DictReader(io.StringIO(ok(*command, "--sort", sort, "-f", "csv", cwd=four_texts))))
        assert [row["id"] for row in rows] == list(expected)
        lines = ok(*command, "--sort", sort, cwd=four_texts).splitlines()[1:5]
        assert [line.split("  [")[0].split()[-1] for line in lines] == list(expected)
    assert "has no percentiles" in weft(*command, "--sort", "percentile", cwd=four_texts).stderr
    calibrated = ("score", "four.jsonl", "--model", "weft-reader", "--sort", "percentile", "-f", "json")
    places = [json.loads(line) for line in ok(*calibrated, cwd=four_texts).splitlines()]
    known = [place["percentiles"]["written"] for place in places[:3]]
    assert known == sorted(known, reverse=True)
    assert places[3]["id"] == "c"


def json_values(command: tuple[str, ...], folder: Path) -> dict[str, float]:
    return {one["id"]: one["value"] for one in map(json.loads, ok(*command, "-f", "json", cwd=folder).splitlines())}


def test_a_warning_about_thirty_texts_is_told_once(tmp_path: Path) -> None:
    lines = [json.dumps({"id": f"d{n}", "text": f"A cat sat {n}. It slept."}) for n in range(30)]
    (tmp_path / "many.jsonl").write_text("\n".join(lines))
    for extra in ((), ("--explain",), ("-f", "json"), ("-f", "csv")):
        done = weft("score", "many.jsonl", "-m", "foltz-sif", *extra, cwd=tmp_path)
        assert done.stderr.count("fewer than 3 sentences") == 1
        assert "30 texts (d0, d1, d2 and 27 more): fewer than 3 sentences" in done.stderr
    explained = ok("score", "many.jsonl", "-m", "foltz-sif", "--explain", cwd=tmp_path)
    assert explained.count("bars: ") == 1
    assert explained.splitlines()[-1].endswith("30 with warnings")


def test_one_sentence_is_a_clear_null(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("Only one sentence here.")
    result = weft("score", "one.txt", "--format", "json", cwd=tmp_path)
    assert result.returncode == 0
    record = json.loads(result.stdout)
    assert record["value"] is None
    assert record["transitions"] == []
    shown = weft("score", "one.txt", "--explain", cwd=tmp_path).stdout
    assert "no transition" in shown
    assert "nan" not in shown.lower()
    (tmp_path / "two.txt").write_text("A cat sat here. The cat slept.")
    assert "   1 sentence   one" in weft("score", "one.txt", cwd=tmp_path).stdout
    _, one, two, *_ = weft("score", "one.txt", "two.txt", "-m", "foltz-sif", cwd=tmp_path).stdout.splitlines()
    assert one.split() == ["–", "–", "1", "one", "[no-score]"]
    assert two.split()[1:] == ["0", "2", "two", "[few-sentences]"]
    assert "one: not searched (one sentence)" in weft("order", "one.txt", cwd=tmp_path).stderr


def test_a_text_that_the_entity_graph_cannot_judge_is_told_why(tmp_path: Path) -> None:
    texts = {
        "nouns": "Run! Stop now. Quickly go away.",
        "verbs": "A dog. The cat of the dog.",
        "foreign": "猫看到了狗。狗在叫。",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    files = [f"{name}.txt" for name in texts]
    result = weft(
        "score", *files, "-m", "entity-graph", "--set", "parser=weft-parser", "--format", "json", cwd=tmp_path
    )
    assert result.returncode == 0
    values = {record["id"]: record["value"] for record in map(json.loads, result.stdout.splitlines())}
    assert values["nouns"] is None and values["verbs"] > 0
    assert "nouns: no score: no noun" in result.stderr
    assert "2 texts (verbs, foreign): no subject" in result.stderr
    assert "the text looks Chinese" in result.stderr


def test_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_bytes(b"")
    record = json.loads(ok("score", "empty.txt", "-f", "json", cwd=tmp_path))
    assert (record["id"], record["sentences"], record["value"]) == ("empty", 0, None)
    assert record["warning_codes"] == ["no-score"]
    assert "empty" in refused("score", "empty.txt", "--strict", cwd=tmp_path)


def test_empty_stdin(tmp_path: Path) -> None:
    assert "–     0 sentences  stdin" in ok("score", "-", cwd=tmp_path, stdin=b" \n\n")
    assert "no text" in refused("score", "-", "--strict", cwd=tmp_path, stdin=b" \n\n")


def test_binary_file(tmp_path: Path) -> None:
    (tmp_path / "picture.txt").write_bytes(bytes(range(256)) * 10)
    assert "binary" in refused("score", "picture.txt", cwd=tmp_path)


def test_wrong_encoding_names_the_byte(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("Der Fluß ist lang. Er fließt.".encode("latin-1"))
    line = refused("score", "latin.txt", cwd=tmp_path)
    assert "0xdf" in line
    assert "offset 7" in line
    assert "--encoding" in line
    assert weft("score", "latin.txt", "--encoding", "latin-1", cwd=tmp_path).returncode == 0


def test_unknown_encoding(tmp_path: Path) -> None:
    assert "utf-9" in refused("score", ESSAY, "--encoding", "utf-9", cwd=tmp_path)


def test_two_hundred_megabytes_on_one_line(tmp_path: Path) -> None:
    with (tmp_path / "long.txt").open("wb") as handle:
        for _ in range(200):
            handle.write(b"word " * 209_715)
    assert "line 1" in refused("score", "long.txt", cwd=tmp_path)


def test_truncated_xz(tmp_path: Path) -> None:
    whole = lzma.compress(json.dumps({"text": "A. B. " * 5000}).encode())
    (tmp_path / "cut.jsonl.xz").write_bytes(whole[: len(whole) // 2])
    line = refused("score", "cut.jsonl.xz", cwd=tmp_path)
    assert "cut.jsonl.xz" in line


def test_a_file_of_nulls_and_a_directory(tmp_path: Path) -> None:
    (tmp_path / "zeros.txt").write_bytes(b"\0" * 4096)
    refused("score", "zeros.txt", cwd=tmp_path)
    (tmp_path / "folder").mkdir()
    refused("score", "folder", cwd=tmp_path)


def test_unknown_model_did_you_mean(tmp_path: Path) -> None:
    assert "did you mean foltz-glove?" in refused("score", ESSAY, "--model", "foltz-glov", cwd=tmp_path)


def test_a_model_folder_from_a_newer_format(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "model.json").write_text('{"format": 99, "weft": "7.0"}')
    line = refused("score", ESSAY, "--model", "m", cwd=tmp_path)
    assert "newer weft" in line
    assert "upgrade" in line


def test_a_tampered_model_folder(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('[model]\nname = "foltz-glove"\n[run]\nout = "m"\n')
    assert weft("train", "run.toml", cwd=tmp_path).returncode == 0
    assert weft("score", ESSAY, "--model", "m", cwd=tmp_path).returncode == 0
    weights = tmp_path / "m" / "weights.safetensors"
    content = bytearray(weights.read_bytes())
    content[1000] ^= 255
    weights.write_bytes(content)
    assert "altered" in refused("score", ESSAY, "--model", "m", cwd=tmp_path)


def test_settings_that_do_not_exist(tmp_path: Path) -> None:
    assert "did you mean weighting?" in refused("score", ESSAY, "--set", "weigting=sif", cwd=tmp_path)
    assert "key=value" in refused("score", ESSAY, "--set", "weighting", cwd=tmp_path)


def test_a_folder_that_is_no_encoder(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason="the extra `hf` is not installed")
    line = refused("score", ESSAY, "--model", "foltz-embedding", "--set", f"encoder={tmp_path}", cwd=tmp_path)
    assert "sentence encoder" in line


def test_the_genre_is_guessed_labelled_or_given(tmp_path: Path) -> None:
    texts = ["Heat the oil in a pan.", "Add the onions and stir for 5 minutes.", "Serve with rice."]
    records = [{"id": "a", "sentences": texts}, {"id": "b", "sentences": texts, "genre": "essay"}]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, records)))
    lines = weft("score", "t.jsonl", "-f", "json", cwd=tmp_path, default_model=True).stdout.splitlines()
    guessed, labelled = map(json.loads, lines)
    assert (guessed["genre"], guessed["genre_guessed"], guessed["reference"]) == ("howto", True, "howto texts")
    assert (labelled["genre"], labelled["genre_guessed"]) == ("essay", False)
    given = weft("score", "t.jsonl", "--genre", "news", "--explain", cwd=tmp_path, default_model=True).stdout
    assert given.count("percentile among news texts") == 2
    unknown = weft("score", "t.jsonl", "--genre", "poem", cwd=tmp_path, default_model=True)
    assert unknown.returncode == 2 and "allowed: all, abstract, " in unknown.stderr
    assert "has no reference scores by genre" in refused("score", "t.jsonl", "--genre", "news", cwd=tmp_path)
