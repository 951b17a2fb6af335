"""Scores of many files: the output depends on nothing but the input, and every document is scored exactly once."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import weft
from weft.cli.options import OutputFormat
from weft.cli.score import SortKey, _check_shard_output, score_shards
from weft.corpora.process_pool import WorkerStoppedError
from weft.errors import ConfigError, CorpusError
from weft.scale import ScoredShards, score
from weft.scale.score_blocks import BlockScoring

MODEL = "foltz-glove"
TEXTS = ["The cat slept. It purred. Rates rose.", "Rain fell. The river rose.", "One sentence.", ""]


def line_of(number: int) -> str:
    return json.dumps({"id": f"d{number}", "text": TEXTS[number % len(TEXTS)], "author": "Ann"})


@pytest.fixture
def shards(tmp_path: Path) -> list[str]:
    """Two shards, one of them compressed, with lines that are no documents."""
    bad = ["{broken", "", '{"other": 1}', "[]"]
    plain = tmp_path / "in" / "a.jsonl"
    plain.parent.mkdir()
    plain.write_bytes("\n".join([*map(line_of, range(20)), *bad]).encode() + b'\n{"text": "\xff\xfe"}\n')
    packed = tmp_path / "in" / "b.jsonl.gz"
    packed.write_bytes(gzip.compress("\n".join(map(line_of, range(20, 41))).encode()))
    return [str(plain), str(packed)]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def records(folder: Path, pattern: str = "part-?????.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(folder.glob(pattern)) for line in path.read_text().splitlines()]


def run(shards: list[str], out: Path, workers: int = 1, **how: Any) -> ScoredShards:
    return score(shards, out, model=MODEL, workers=workers, shard_documents=8, **how)


def test_every_document_once_with_the_scores_of_one_process(shards: list[str], tmp_path: Path) -> None:
    found = run(shards, tmp_path / "one")
    assert (found.documents, found.without_score, found.bad_rows) == (41, 20, 4)
    assert [record["id"] for record in records(tmp_path / "one")] == [f"d{number}" for number in range(41)]
    assert [record["value"] for record in records(tmp_path / "one")[:2]] == [
        one.value for one in weft.score(TEXTS[:2], model=MODEL)
    ]
    assert records(tmp_path / "one")[0]["author"] == "Ann"
    bad = records(tmp_path / "one", "*.bad.jsonl")
    assert [one["row"] for one in bad] == [21, 23, 24, 25]
    assert all(one["reason"] for one in bad)

    run(shards, tmp_path / "two", workers=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_a_manifest_has_hashes_and_counts(shards: list[str], tmp_path: Path) -> None:
    from hashlib import sha256

    run(shards, tmp_path / "out")
    files = contents(tmp_path / "out")
    manifest = json.loads(files.pop("manifest.json"))
    listed = {shard["name"]: shard["sha256"] for shard in manifest["shards"]}
    listed |= {one["bad_rows_name"]: one["bad_rows_sha256"] for one in manifest["shards"] if "bad_rows_name" in one}
    assert listed == {name: sha256(data).hexdigest() for name, data in files.items()}
    assert [shard["rows"] for shard in manifest["recipe"]["inputs"]] == [25, 21]


@dataclass(frozen=True, slots=True)
class _DiesOnce(BlockScoring):
    """Kills its process at a block, the first time."""

    def start(self) -> Callable[[int], Any]:
        function, mark = super(_DiesOnce, self).start(), Path(self.out.place + ".died")

        def scored(number: int) -> Any:
            if number == 3 and not mark.exists():
                mark.write_text("")
                os.kill(os.getpid(), signal.SIGKILL)
            return function(number)

        return scored


def test_a_killed_worker_is_replaced(shards: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(shards, tmp_path / "whole")
    monkeypatch.setattr("weft.scale.score_shards.BlockScoring", _DiesOnce)
    run(shards, tmp_path / "killed", workers=2)
    assert (tmp_path / "killed.died").exists()
    assert contents(tmp_path / "whole") == contents(tmp_path / "killed")


def test_workers_that_die_at_once_are_an_error(
    shards: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_engine(task: object, items: object, *, workers: int) -> Any:
        raise WorkerStoppedError("stopped")

    monkeypatch.setattr("weft.scale.score_shards.engine_of", lambda name: no_engine)
    with pytest.raises(WorkerStoppedError):
        run(shards, tmp_path / "out")


def test_a_killed_run_continues_with_the_same_bytes(shards: list[str], tmp_path: Path) -> None:
    run(shards, tmp_path / "whole")
    command = [
        sys.executable, "-m", "weft", "score", *shards, "--model", MODEL, "--workers", "1", "--shard-documents", "8",
        "--out", str(tmp_path / "killed"),
    ]  # fmt: skip
    receipts = tmp_path / "killed" / "receipts"
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as child:
        while not (receipts.is_dir() and any(receipts.glob("part-*.json"))) and child.poll() is None:
            time.sleep(0.005)
        child.kill()
    found = run(shards, tmp_path / "killed")
    assert found.documents == 41
    assert contents(tmp_path / "whole") == contents(tmp_path / "killed")
    assert run(shards, tmp_path / "killed").continued == found.shards


def test_parquet_blocks_are_row_groups(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"key": [f"d{number}" for number in range(10)], "text": (TEXTS * 3)[:10]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=3)
    found = score(
        tmp_path / "a.parquet", tmp_path / "out", model=MODEL, workers=1, shard_documents=5,
        options=weft.ReadOptions(id_column="key", empty="keep"),
    )  # fmt: skip
    assert (found.shards, found.documents) == (2, 10)
    assert [record["id"] for record in records(tmp_path / "out")] == [f"d{number}" for number in range(10)]


def test_urls_give_the_same_bytes(shards: list[str], tmp_path: Path) -> None:
    run(shards, tmp_path / "path")
    pattern = f"file://{Path(shards[0]).parent}/*"
    assert run([pattern], f"file://{tmp_path}/url").documents == 41  # type: ignore[arg-type]
    assert contents(tmp_path / "path") == contents(tmp_path / "url")


def test_other_inputs_or_contents_are_refused(shards: list[str], tmp_path: Path) -> None:
    run(shards, tmp_path / "out")
    with pytest.raises(CorpusError, match="inputs changed"):
        run(shards[:1], tmp_path / "out")
    with pytest.raises(CorpusError, match="contains other files"):
        run(shards, tmp_path / "in")
    with pytest.raises(ConfigError, match="JSONL and Parquet"):
        (tmp_path / "a.txt").write_text("Rain.")
        run([str(tmp_path / "a.txt")], tmp_path / "other")
    with pytest.raises(ConfigError, match="each once"):
        run([shards[0], shards[0]], tmp_path / "other")
    with pytest.raises(ConfigError, match="unknown engine"):
        run(shards, tmp_path / "other", engine="spark")
    with weft_lock(tmp_path / "out"), pytest.raises(CorpusError, match="another process"):
        run(shards, tmp_path / "out")


def weft_lock(folder: Path) -> Any:
    from weft.scale.output_folder import OutputFolder

    return OutputFolder(str(folder)).held()


def test_lines_that_are_too_long_are_bad_rows(shards: list[str], tmp_path: Path) -> None:
    options = weft.ReadOptions(empty="keep", max_line_bytes=80)
    found = run(shards, tmp_path / "out", options=options)
    assert found.bad_rows == 4 + sum(len(line_of(number)) > 80 for number in range(41))
    assert found.documents + found.bad_rows == 41 + 4


def test_a_missing_or_shortened_shard_is_written_again(shards: list[str], tmp_path: Path) -> None:
    run(shards, tmp_path / "whole")
    run(shards, tmp_path / "out")
    whole = contents(tmp_path / "whole")
    manifest = json.loads(whole["manifest.json"])
    (tmp_path / "out" / "part-00000.jsonl").unlink()
    (tmp_path / "out" / "part-00001.jsonl").write_bytes(b"")
    bad = next(one["bad_rows_name"] for one in manifest["shards"][2:] if "bad_rows_name" in one)
    (tmp_path / "out" / bad).unlink()
    assert run(shards, tmp_path / "out").continued == len(manifest["shards"]) - 3
    assert contents(tmp_path / "out") == whole

    (tmp_path / "out" / "manifest.json").unlink()  # a run that was killed: a plan, and receipts
    (tmp_path / "out" / "plan.json").write_text(json.dumps(manifest["recipe"]))
    (tmp_path / "out" / "receipts").mkdir()
    for shard in manifest["shards"]:
        (tmp_path / "out" / "receipts" / f"part-{shard['block']:05d}.json").write_text(json.dumps(shard))
    (tmp_path / "out" / "part-00000.jsonl").unlink()
    assert run(shards, tmp_path / "out").continued == len(manifest["shards"]) - 1
    assert contents(tmp_path / "out") == whole


@pytest.mark.parametrize("change", ["shorter", "other"])
def test_an_input_that_changes_during_the_run_is_an_error(shards: list[str], tmp_path: Path, change: str) -> None:
    source = Path(shards[0])
    before = source.read_bytes()
    after = before[: len(before) // 2] if change == "shorter" else before.replace(b"cat", b"dog")

    def changing(task: str, done: int, total: int) -> None:
        source.write_bytes(after)

    with pytest.raises(CorpusError, match="changed while it was scored"):
        run(shards, tmp_path / "out", progress=changing)
    assert not (tmp_path / "out" / "manifest.json").exists()
    source.write_bytes(before)
    run(shards, tmp_path / "out")
    run(shards, tmp_path / "whole")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_a_block_of_which_rows_are_missing_is_an_error(shards: list[str], tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    from weft.scale.block_rows import BlockReader
    from weft.scale.input_blocks import blocks_of, scan_shard

    options = weft.ReadOptions(empty="keep")
    jsonl, table = Path(shards[0]), tmp_path / "a.parquet"
    for source in (jsonl, table):
        pyarrow.parquet.write_table(pyarrow.table({"text": TEXTS}), table, row_group_size=2)
        shard = scan_shard(str(source), "a", options)
        block = blocks_of([shard], 100)[0]
        rows = list(BlockReader(options).rows(shard, block))
        assert len(rows) == (24 if source == jsonl else len(TEXTS))  # the blank line of the first is omitted
        pyarrow.parquet.write_table(pyarrow.table({"text": TEXTS[:3]}), table, row_group_size=2)
        jsonl.write_text(line_of(0))
        with pytest.raises(CorpusError, match="changed while it was scored"):
            list(BlockReader(options).rows(shard, block))


@pytest.mark.parametrize(
    ("source", "out"),
    [
        ("in", "in/scores"), ("in", "in"), ("in/**/*.jsonl", "in/scores"), ("in/*", "in/scores"),
        ("*/*.jsonl", "scores"), ("i*", "in/scores"), ("memory://a.jsonl", "scores"), ("in/a.jsonl", "memory://scores"),
    ],
)  # fmt: skip
def test_places_that_would_lose_or_mix_texts_are_refused(
    shards: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, out: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"inside the input|memory of this process"):
        run([source], out)  # type: ignore[arg-type]
    assert not Path("in/scores").exists()


def test_an_output_folder_beside_the_files_of_a_pattern(
    shards: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = run(["in/*.jsonl"], "in/scores")  # type: ignore[arg-type]
    assert run(["in/*.jsonl"], "in/scores").continued == first.shards == 4  # type: ignore[arg-type]


def test_a_file_system_that_cannot_be_written_is_an_error_of_weft(shards: list[str], tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    from fsspec.implementations.local import LocalFileSystem

    class ReadOnly(LocalFileSystem):  # type: ignore[misc]
        protocol = "readonly"

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return str(path).removeprefix("readonly://")

        def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
            if mode != "rb":
                raise NotImplementedError  # as the file system of http does
            return super()._open(path, mode, **options)

    fsspec.register_implementation("readonly", ReadOnly, clobber=True)
    with pytest.raises(CorpusError, match="allow reading only"):
        run(shards, f"readonly://{tmp_path}/out")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong", [{"shards": None}, {"shards": 5}, {"shards": [None]}, {"out": None}, {"out": ""}, {"settings": 5},
              {"options": "skip"}, {"workers": 0}, {"workers": "2"}],
)  # fmt: skip
def test_values_of_wrong_types_are_refused(shards: list[str], tmp_path: Path, wrong: dict[str, Any]) -> None:
    values: dict[str, Any] = {"shards": shards, "out": tmp_path / "out", "model": MODEL} | wrong
    with pytest.raises(ConfigError) as found:
        score(values.pop("shards"), values.pop("out"), **values)
    assert all(part is not None for part in (found.value.seen, found.value.allowed, found.value.next_step))


def test_a_dataset_without_documents_is_told(shards: list[str], tmp_path: Path, capsys: Any) -> None:
    options = weft.ReadOptions(column="nope", empty="keep")
    for number, wrong in enumerate((False, True)):
        score_shards(
            shards[1:], str(tmp_path / str(number)), shard_documents=None, model=MODEL, workers=1,
            options=options if wrong else weft.ReadOptions(empty="keep"),
        )  # fmt: skip
        assert ("warning: no row is a document" in capsys.readouterr().err) == wrong


@pytest.mark.parametrize(
    ("out", "sort", "form", "said"),
    [
        (None, SortKey.given, None, "no output folder"),
        ("scores", SortKey.score, None, "--sort score"),
        ("scores", SortKey.given, OutputFormat.csv, "--format csv"),
    ],
)
def test_options_of_a_table_are_refused_with_workers(
    out: str | None, sort: SortKey, form: OutputFormat | None, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        _check_shard_output(out, sort, form)
