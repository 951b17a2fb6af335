from __future__ import annotations

import errno
import io
import json
import lzma
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from weft.corpora.process_pool import WorkerStoppedError
from weft.corpora.readers.read_options import ReadOptions
from weft.corpora.store.overlap import OverlapIndex
from weft.corpora.store.prepare import prepare
from weft.corpora.store.store_writer import StoreWriter
from weft.corpora.store.token_store import TokenStore
from weft.corpora.text.tokenizers import BpeTokenizer
from weft.document import Document
from weft.errors import ConfigError, CorpusError, ModelError

Article = dict[str, Any]


def _article(number: int) -> Article:
    rng = random.Random(number)
    letters = "abcdefghijklmnopqrstuvwxyz"

    def word() -> str:
        return "".join(rng.choices(letters, k=rng.randint(1, 8)))

    def sentence() -> str:
        return " ".join(word() for _ in range(rng.randint(3, 15))).capitalize() + "."

    paragraphs = [[sentence() for _ in range(rng.randint(2, 5))] for _ in range(rng.randint(1, 4))]
    return {"id": f"article-{number}", "paragraphs": paragraphs}


def _write(path: Path, articles: list[Article]) -> Path:
    text = "".join(json.dumps(article) + "\n" for article in articles)
    path.write_bytes(lzma.compress(text.encode()) if path.suffix == ".xz" else text.encode())
    return path


@pytest.fixture
def inputs(tmp_path: Path) -> list[Path]:
    return _write_inputs(tmp_path)


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    return _write_tokenizer(tmp_path)


def _write_inputs(folder: Path) -> list[Path]:
    return [
        _write(folder / "a.jsonl.xz", [_article(i) for i in range(60)]),
        _write(folder / "b.jsonl", [_article(i) for i in range(60, 100)]),
    ]


def _write_tokenizer(folder: Path) -> Path:
    text = [sentence for i in range(5) for part in _article(i)["paragraphs"] for sentence in part]
    BpeTokenizer.train(text, vocabulary_size=300).save(folder / "given.json")
    return folder / "given.json"


def _bytes(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def _leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("out"))


def test_same_bytes_for_any_number_of_workers_and_chunks(inputs: list[Path], tokenizer: Path) -> None:
    folder = inputs[0].parent
    made = [
        _bytes(
            prepare(
                inputs, folder / f"{workers}-{size}", tokenizer=tokenizer, workers=workers, chunk_characters=size
            ).folder
        )
        for workers, size in [(1, 10**6), (1, 1), (2, 3000), (3, 700)]
    ]
    assert made[0] == made[1] == made[2] == made[3]
    expected = {"store.json", "tokenizer.json", "ids.bin", "sentences.bin", "paragraphs.bin", "articles.bin"}
    assert set(made[0]) == expected


def test_store_holds_every_article_in_order(inputs: list[Path], tokenizer: Path, tmp_path: Path) -> None:
    store = prepare(inputs, tmp_path / "out", tokenizer=tokenizer, workers=2, chunk_characters=2000)
    decode = store.tokenizer().decode
    for number in (0, 59, 60, 99):
        spans = [range(*store.paragraph_offsets[i : i + 2]) for i in range(*store.article_offsets[number : number + 2])]
        texts = [[decode(store.sentence(i).tolist()) for i in span] for span in spans]
        assert texts == _article(number)["paragraphs"]
    assert store.info.counts["articles"] == 100


def test_header_says_what_it_was_made_of(inputs: list[Path], tokenizer: Path, tmp_path: Path) -> None:
    store = prepare(inputs, tmp_path / "out", tokenizer=tokenizer, workers=1)
    body = store.info.body
    assert [entry["name"] for entry in body["inputs"]] == ["a.jsonl.xz", "b.jsonl"]
    assert body["inputs"][1]["size"] == inputs[1].stat().st_size
    assert str(tmp_path) not in (store.folder / "store.json").read_text(encoding="utf-8")
    assert body["options"][0]["format"] == "jsonl"


def test_trained_tokenizer_is_deterministic_and_noted(inputs: list[Path], tmp_path: Path) -> None:
    one = prepare(inputs, tmp_path / "one", vocabulary_size=400, workers=1)
    two = prepare(inputs, tmp_path / "two", vocabulary_size=400, workers=2, chunk_characters=500)
    assert _bytes(one.folder) == _bytes(two.folder)
    assert one.tokenizer().vocabulary_size == 400
    words = prepare(inputs, tmp_path / "words", tokenizer_kind="words", vocabulary_size=50, workers=1)
    assert (words.tokenizer().name, words.info.vocabulary_size) == ("words", 50)


def test_large_vocabulary_is_stored_in_four_bytes(tmp_path: Path) -> None:
    words = [f"w{i}" for i in range(70_000)] * 2
    (tmp_path / "in.jsonl").write_text(json.dumps({"sentences": [" ".join(words)]}), encoding="utf-8")
    store = prepare([tmp_path / "in.jsonl"], tmp_path / "out", tokenizer_kind="words", vocabulary_size=10**6, workers=1)
    assert store.ids.dtype.itemsize == 4
    assert store.tokenizer().decode(store.sentence(0)[69_998:70_001].tolist()) == "w69998 w69999 w0"
    assert int(store.ids.max()) == store.info.vocabulary_size - 1 > 2**16


def test_repeating_it_does_nothing_and_other_inputs_are_refused(inputs: list[Path], tokenizer: Path) -> None:
    out = inputs[0].parent / "out"
    first = prepare(inputs, out, tokenizer=tokenizer, workers=1)
    stamp = (out / "ids.bin").stat().st_mtime_ns
    assert prepare(inputs, out, tokenizer=tokenizer, workers=2).info == first.info
    assert (out / "ids.bin").stat().st_mtime_ns == stamp
    with pytest.raises(CorpusError, match="--overwrite"):
        prepare(inputs[:1], out, tokenizer=tokenizer)
    assert TokenStore(out).info.counts["articles"] == 100
    assert prepare(inputs[:1], out, tokenizer=tokenizer, overwrite=True).info.counts["articles"] == 60
    assert _leftovers(out.parent) == ["out"]


def test_a_folder_that_is_no_store_is_never_replaced(inputs: list[Path], tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("precious", encoding="utf-8")
    with pytest.raises(CorpusError, match="not a token store"):
        prepare(inputs, tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / "thesis.txt").exists()


@pytest.mark.parametrize("workers", [1, 2])
def test_bad_line_names_file_and_line_and_leaves_nothing(inputs: list[Path], tokenizer: Path, workers: int) -> None:
    folder = inputs[0].parent
    lines = inputs[1].read_text(encoding="utf-8").splitlines()
    lines[30] = lines[30][:50]
    inputs[1].write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(CorpusError, match=r"b\.jsonl, line 31: bad JSON") as caught:
        prepare(inputs, folder / "out", tokenizer=tokenizer, workers=workers, chunk_characters=2000)
    assert caught.value.next_step
    assert caught.value.__cause__ is None or workers == 1
    assert _leftovers(folder) == []
    assert multiprocessing.active_children() == []


KILLED = """
import json, multiprocessing, os, signal, sys
from pathlib import Path
from weft.corpora.store.prepare import prepare

folder = Path(sys.argv[1])

def kill(label, done, total=None):
    if done >= 40:
        pids = [child.pid for child in multiprocessing.active_children()]
        (folder / "pids.json").write_text(json.dumps(pids))
        os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    prepare([folder / "a.jsonl.xz", folder / "b.jsonl"], folder / "out", tokenizer=folder / "given.json", workers=2,
            chunk_characters=2000, checkpoint_seconds=0, progress=kill)
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what a run with two workers left when it was killed; tests copy it."""
    folder = tmp_path_factory.mktemp("killed")
    _write_inputs(folder)
    _write_tokenizer(folder)
    (folder / "killed.py").write_text(KILLED, encoding="utf-8")
    run = subprocess.run([sys.executable, str(folder / "killed.py"), str(folder)], check=False)
    assert run.returncode == -signal.SIGKILL
    return folder


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] == "Z")


def test_killed_run_resumes_to_the_same_bytes(inputs: list[Path], tokenizer: Path, killed: Path) -> None:
    folder = inputs[0].parent
    pids: list[int] = json.loads((killed / "pids.json").read_text(encoding="utf-8"))
    shutil.copytree(killed / "out.partial", folder / "out.partial")
    assert _leftovers(folder) == ["out.partial"]
    state = json.loads((folder / "out.partial" / "progress.json").read_text(encoding="utf-8"))["state"]
    assert 0 < state["articles"] < 100
    # What a dying process wrote after its last note must not survive, even if it is more than is still to come.
    with (folder / "out.partial" / "ids.bin").open("ab") as file:
        file.write(b"rubbish!" * 10**5)
    seen: list[int] = []
    store = prepare(
        inputs,
        folder / "out",
        tokenizer=tokenizer,
        workers=1,
        progress=lambda label, done, total=None, note="": seen.append(done),
    )
    whole = prepare(inputs, folder / "whole", tokenizer=tokenizer, workers=1)
    assert _bytes(store.folder) == _bytes(whole.folder)
    assert seen[0] > state["articles"]  # went on, did not begin again
    assert len(pids) == 2
    deadline = time.monotonic() + 10
    while any(map(_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(_alive, pids)), "workers outlived the main process"


def test_resuming_with_other_options_asks_for_restart(inputs: list[Path], tokenizer: Path, killed: Path) -> None:
    folder = inputs[0].parent
    shutil.copytree(killed / "out.partial", folder / "out.partial")
    with pytest.raises(CorpusError, match="--restart") as caught:
        prepare(inputs[:1], folder / "out", tokenizer=tokenizer, workers=1)
    assert "inputs" in str(caught.value.seen)
    assert (folder / "out.partial").is_dir()
    store = prepare(inputs[:1], folder / "out", tokenizer=tokenizer, workers=1, restart=True)
    assert store.info.counts["articles"] == 60
    assert _leftovers(folder) == ["out"]


@pytest.mark.parametrize("workers", [1, 2])
def test_interrupt_leaves_something_to_resume(inputs: list[Path], tokenizer: Path, workers: int) -> None:
    folder = inputs[0].parent

    def interrupt(label: str, done: int, total: int | None = None, note: str = "") -> None:
        if done >= 70:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(
            inputs,
            folder / "out",
            tokenizer=tokenizer,
            workers=workers,
            chunk_characters=2000,
            checkpoint_seconds=999,
            progress=interrupt,
        )
    assert multiprocessing.active_children() == []
    state = json.loads((folder / "out.partial" / "progress.json").read_text(encoding="utf-8"))["state"]
    assert state["source"] == 1
    assert state["articles"] >= 70
    resumed = prepare(inputs, folder / "out", tokenizer=tokenizer, workers=1)
    whole = prepare(inputs, folder / "whole", tokenizer=tokenizer, workers=1)
    assert _bytes(resumed.folder) == _bytes(whole.folder)


def test_dead_worker_is_an_error_and_keeps_the_work(inputs: list[Path], tokenizer: Path) -> None:
    folder = inputs[0].parent

    def shoot(label: str, done: int, total: int | None = None, note: str = "") -> None:
        for child in multiprocessing.active_children():
            if child.pid is not None:
                os.kill(child.pid, signal.SIGKILL)

    with pytest.raises(WorkerStoppedError, match="--workers 1"):
        prepare(inputs, folder / "out", tokenizer=tokenizer, workers=2, chunk_characters=1000, progress=shoot)
    assert _leftovers(folder) == ["out.partial"]
    assert prepare(inputs, folder / "out", tokenizer=tokenizer, workers=1).info.counts["articles"] == 100


def _held_out(folder: Path, sentences: list[str]) -> Path:
    path = folder / "test.paragraphs.jsonl"
    path.write_text(json.dumps({"id": "held-7", "sentences": sentences}) + "\n", encoding="utf-8")
    return path


LONG = [f"Sentence number {i} is certainly long enough to be counted here." for i in range(3)]


@pytest.mark.parametrize("workers", [1, 2])
def test_copied_paragraph_is_refused(inputs: list[Path], tokenizer: Path, workers: int) -> None:
    folder = inputs[0].parent
    paragraph = ["Short start.", LONG[2].upper().replace(".", " !"), "More.", LONG[0]]
    copy = {"id": "copy", "paragraphs": [["Fine words here.", "And here."], paragraph]}
    _write(inputs[1], [_article(60), copy, _article(61)])
    with pytest.raises(CorpusError, match=r"b\.jsonl, line 2.*copy.*held-7.*--drop-overlap"):
        prepare(
            inputs,
            folder / "out",
            tokenizer=tokenizer,
            held_out=[_held_out(folder, LONG)],
            workers=workers,
            chunk_characters=2000,
        )
    assert _leftovers(folder) == []


def test_overlap_can_be_dropped_and_is_counted(inputs: list[Path], tokenizer: Path, tmp_path: Path) -> None:
    copy = {"id": "copy", "paragraphs": [["Fine words here.", "And here."], LONG]}
    _write(inputs[1], [_article(60), copy, {"id": "all", "paragraphs": [LONG]}, _article(61)])
    clean = [_article(60), {"id": "copy", "paragraphs": copy["paragraphs"][:1]}, _article(61)]
    other = _write(tmp_path / "clean.jsonl", clean)
    held_out = [_held_out(tmp_path, LONG)]
    store = prepare(inputs, tmp_path / "out", tokenizer=tokenizer, held_out=held_out, drop_overlap=True, workers=1)
    expected = prepare([inputs[0], other], tmp_path / "clean", tokenizer=tokenizer, workers=1)
    assert store.ids.tolist() == expected.ids.tolist()
    assert store.article_offsets.tolist() == expected.article_offsets.tolist()
    assert store.info.counts["dropped_paragraphs"] == 2
    assert expected.info.counts["dropped_paragraphs"] == 0


def test_what_counts_as_overlap() -> None:
    short = ("He was born here.", "He died there.", "She did too.")
    index = OverlapIndex.of([Document("long", tuple(LONG)), Document("short", short)])
    assert index.match([LONG[0], "Other words."]) is None  # one shared sentence happens
    assert index.match([LONG[0], LONG[0]]) is None  # the same one twice is still one
    assert index.match([LONG[1], LONG[0]]) == "long"
    assert index.match(list(short)) == "short"  # a whole copy, though every sentence is short
    assert index.match(list(short[:2])) is None
    assert OverlapIndex().match(LONG) is None


def test_standard_input(inputs: list[Path], tokenizer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = inputs[0].parent
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(inputs[0].read_bytes())))
    options = ReadOptions(format="jsonl")
    piped = prepare(["-"], folder / "out", tokenizer=tokenizer, options=options, workers=1)
    named = prepare(inputs[:1], folder / "named", tokenizer=tokenizer, workers=1)
    assert piped.ids.tolist() == named.ids.tolist()
    assert piped.info.fingerprint == named.info.fingerprint
    assert _leftovers(folder) == ["out"]


def test_plain_text_is_prepared_too(tmp_path: Path) -> None:
    (tmp_path / "story.txt").write_text("It rained. He slept.\n\nHe woke. She left.", encoding="utf-8")
    one = prepare([tmp_path / "story.txt"], tmp_path / "one", vocabulary_size=280, workers=1)
    two = prepare([tmp_path / "story.txt"], tmp_path / "two", vocabulary_size=280, workers=2)
    assert (one.info.counts["articles"], one.paragraph_count, one.sentence_count) == (1, 2, 4)
    assert _bytes(one.folder) == _bytes(two.folder)


def test_empty_lines_are_passed_over_and_no_text_is_an_error(tokenizer: Path, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('\n{"text": "It rained."}\n  \n{"text": " "}\n', encoding="utf-8")
    assert prepare([tmp_path / "in.jsonl"], tmp_path / "out", tokenizer=tokenizer).info.counts["articles"] == 1
    (tmp_path / "no.jsonl").write_text('{"text": ""}\n\n', encoding="utf-8")
    with pytest.raises(CorpusError, match="no text"):
        prepare([tmp_path / "no.jsonl"], tmp_path / "out2", tokenizer=tokenizer)
    assert not list(tmp_path.glob("out2*"))


def test_options_out_of_range(inputs: list[Path], tokenizer: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="workers"):
        prepare(inputs, tmp_path / "out", tokenizer=tokenizer, workers=0)
    with pytest.raises(ConfigError, match="no inputs"):
        prepare([], tmp_path / "out")
    with pytest.raises(ConfigError, match="2 times"):
        prepare(["-", "-"], tmp_path / "out")
    with pytest.raises(ConfigError, match="kind of tokenizer"):
        prepare(inputs, tmp_path / "out", tokenizer_kind="bp", workers=1)
    with pytest.raises(ModelError, match="cannot read"):
        prepare(inputs, tmp_path / "out", tokenizer=tmp_path / "none.json")
    with pytest.raises(CorpusError, match="cannot open"):
        prepare([tmp_path / "none.jsonl"], tmp_path / "out")
    assert _leftovers(tmp_path) == []


def _broken(folder: Path) -> Path:
    (folder / "broken.jsonl").write_text("{", encoding="utf-8")
    return folder / "broken.jsonl"


@pytest.mark.parametrize("name", ["thesis.txt", "tokenizer.json", "progress.json"])
@pytest.mark.parametrize("restart", [False, True])
def test_a_partial_folder_of_somebody_else_is_left_alone(
    inputs: list[Path], tokenizer: Path, name: str, restart: bool
) -> None:
    folder = inputs[0].parent
    (folder / "out.partial").mkdir()
    (folder / "out.partial" / name).write_text('{"precious": 1}', encoding="utf-8")
    for files in (inputs, [_broken(folder)]):
        with pytest.raises(CorpusError, match=r"out\.partial .*weft did not make.*" + name) as caught:
            prepare(files, folder / "out", tokenizer=tokenizer, workers=1, restart=restart)
        assert caught.value.seen and caught.value.allowed and caught.value.next_step
    assert _bytes(folder / "out.partial") == {name: b'{"precious": 1}'}
    assert _leftovers(folder) == ["out.partial"]


def test_a_file_put_into_an_interrupted_run_does_not_get_lost(
    inputs: list[Path], tokenizer: Path, killed: Path
) -> None:
    folder = inputs[0].parent
    shutil.copytree(killed / "out.partial", folder / "out.partial")
    (folder / "out.partial" / "notes.txt").write_text("precious", encoding="utf-8")
    for files in (inputs, [_broken(folder)]):
        with pytest.raises(CorpusError, match=r"notes\.txt"):
            prepare(files, folder / "out", tokenizer=tokenizer, workers=1, restart=True)
    (folder / "out.partial" / "notes.txt").unlink()
    assert prepare(inputs, folder / "out", tokenizer=tokenizer, workers=1).info.counts["articles"] == 100
    assert len(_bytes(folder / "out")) == 6


@pytest.mark.parametrize("make", [lambda path: path.write_text("precious"), lambda path: path.symlink_to("elsewhere")])
def test_a_partial_name_that_is_not_a_folder_is_left_alone(inputs: list[Path], tokenizer: Path, make: Any) -> None:
    folder = inputs[0].parent
    (folder / "elsewhere").mkdir()
    make(folder / "out.partial")
    with pytest.raises(CorpusError, match="not a folder"):
        prepare(inputs, folder / "out", tokenizer=tokenizer, workers=1)
    assert _leftovers(folder) == ["out.partial"]
    assert not list((folder / "elsewhere").iterdir())


def test_a_run_killed_before_its_marker_does_not_block(inputs: list[Path], tokenizer: Path) -> None:
    folder = inputs[0].parent
    for names in ((), ("progress.json.new",)):
        (folder / "out.partial").mkdir()
        for name in names:
            (folder / "out.partial" / name).write_text("", encoding="utf-8")
        store = prepare(inputs[:1], folder / "out", tokenizer=tokenizer, workers=1)
        assert len(_bytes(store.folder)) == 6
        shutil.rmtree(folder / "out")


def test_overwriting_deletes_the_store_and_nothing_else(inputs: list[Path], tokenizer: Path) -> None:
    folder = inputs[0].parent
    prepare(inputs, folder / "out", tokenizer=tokenizer, workers=1)
    (folder / "out.old").mkdir()
    (folder / "out.old" / "thesis.txt").write_text("precious", encoding="utf-8")
    (folder / "out" / "notes.txt").write_text("precious", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"weft did not make.*notes\.txt"):
        prepare(inputs[:1], folder / "out", tokenizer=tokenizer, workers=1, overwrite=True)
    assert TokenStore(folder / "out").info.counts["articles"] == 100
    (folder / "out" / "notes.txt").unlink()
    assert (
        prepare(inputs[:1], folder / "out", tokenizer=tokenizer, workers=1, overwrite=True).info.counts["articles"]
        == 60
    )
    assert (folder / "out.old" / "thesis.txt").read_text(encoding="utf-8") == "precious"
    assert _leftovers(folder) == ["out", "out.old"]
    assert not list(folder.glob(".out*"))


def test_a_link_to_a_store_stays_a_link(inputs: list[Path], tokenizer: Path) -> None:
    folder = inputs[0].parent
    (folder / "out").symlink_to("real")
    prepare(inputs, folder / "out", tokenizer=tokenizer, workers=1)
    prepare(inputs[:1], folder / "out", tokenizer=tokenizer, workers=1, overwrite=True)
    assert (folder / "out").is_symlink()
    assert TokenStore(folder / "real").info.counts["articles"] == 60


def test_two_runs_at_once_for_one_store(inputs: list[Path], tokenizer: Path) -> None:
    out = inputs[0].parent / "out"
    refused: list[CorpusError] = []

    def again(label: str, done: int, total: int | None = None, note: str = "") -> None:
        with pytest.raises(CorpusError, match="another process is preparing .*out") as caught:
            prepare(inputs, out, tokenizer=tokenizer, workers=1, restart=True)
        refused.append(caught.value)

    store = prepare(inputs, out, tokenizer=tokenizer, workers=1, chunk_characters=10**4, progress=again)
    whole = prepare(inputs, out.with_name("whole"), tokenizer=tokenizer, workers=1)
    assert _bytes(store.folder) == _bytes(whole.folder)
    assert refused[0].seen and refused[0].allowed and refused[0].next_step
    assert _leftovers(out.parent) == ["out"]


RACE = """
import sys
from weft.corpora.store.prepare import prepare
from weft.errors import CorpusError

if __name__ == "__main__":
    folder = sys.argv[1]
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(15):
        try:
            prepare([folder + "/a.jsonl.xz"], f"{folder}/out{number}", tokenizer=folder + "/given.json", workers=1)
        except CorpusError as error:
            assert "another process" in str(error), error
"""


def test_racing_processes_make_one_whole_store(inputs: list[Path], tokenizer: Path) -> None:
    folder = inputs[0].parent
    (folder / "race.py").write_text(RACE, encoding="utf-8")
    command = [sys.executable, str(folder / "race.py"), str(folder)]
    racers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for racer in racers:
        assert racer.stdout is not None and racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    for racer in racers:
        racer.communicate()
    assert [racer.returncode for racer in racers] == [0, 0, 0]
    assert _leftovers(folder) == sorted(f"out{number}" for number in range(15))
    assert len({tuple(sorted(_bytes(folder / f"out{number}").items())) for number in range(15)}) == 1


def test_a_place_that_cannot_be_written_is_told(
    inputs: list[Path], tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("b.jsonl/out", "x" * 300, "x" * 250, "a\0b"):
        for files in (inputs, ["-"]):
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"It rained.")))
            with pytest.raises(CorpusError, match="cannot write") as caught:
                prepare(files, tmp_path / name, tokenizer=tokenizer, workers=1)
            assert caught.value.seen and caught.value.allowed and caught.value.next_step
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl.xz", "b.jsonl", "given.json"]


def test_a_full_disk_is_told_and_keeps_the_work(
    inputs: list[Path], tokenizer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = inputs[0].parent

    def full(self: StoreWriter, packed: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(StoreWriter, "append", full)
        with pytest.raises(CorpusError, match="No space left.*make room"):
            prepare(inputs, folder / "out", tokenizer=tokenizer, workers=1)
    assert _leftovers(folder) == ["out.partial"]
    assert prepare(inputs, folder / "out", tokenizer=tokenizer, workers=1).info.counts["articles"] == 100


def test_a_file_called_like_the_copy_of_standard_input_is_left_alone(
    tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out.stdin").write_text("precious", encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"It rained. He slept.")))
    assert prepare(["-"], tmp_path / "out", tokenizer=tokenizer, workers=1).sentence_count == 2
    assert (tmp_path / "out.stdin").read_text(encoding="utf-8") == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["given.json", "out", "out.stdin"]


def test_closed_standard_input(tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(CorpusError, match="no standard input.*allowed.*next"):
        prepare(["-"], tmp_path / "out", tokenizer=tokenizer)
    assert [path.name for path in tmp_path.iterdir()] == ["given.json"]


def test_held_out_text_is_files(inputs: list[Path], tokenizer: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="held-out text cannot come from standard input"):
        prepare(inputs, tmp_path / "out", tokenizer=tokenizer, held_out=["-"])
    with pytest.raises(CorpusError, match="does not exist") as caught:
        prepare(inputs, tmp_path / "out", tokenizer=tokenizer, held_out=[tmp_path / "none.jsonl"])
    assert caught.value.allowed == "a readable file"


def _wikipedia_held_out(shared_data: Path) -> list[Path]:
    return [shared_data / "wikipedia" / f"{name}.paragraphs.jsonl" for name in ("test", "valid")]


@pytest.mark.shared
def test_dev_does_not_overlap_with_test_and_valid(shared_data: Path, tokenizer: Path, tmp_path: Path) -> None:
    dev, held_out = shared_data / "wikipedia" / "dev.jsonl.xz", _wikipedia_held_out(shared_data)
    store = prepare([dev], tmp_path / "out", tokenizer=tokenizer, held_out=held_out)
    assert store.sentence_count == 45_455
    assert store.info.counts["dropped_paragraphs"] == 0


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "line", "owner"), [("train-01", 18_936, "28687-6"), ("train-02", 21_711, "18383294-5")]
)
def test_the_known_overlaps_of_the_training_text_are_found(
    shared_data: Path, tokenizer: Path, tmp_path: Path, name: str, line: int, owner: str
) -> None:
    with lzma.open(shared_data / "wikipedia" / f"{name}.jsonl.xz", "rb") as lines:
        (tmp_path / "around.jsonl").write_bytes(b"".join(islice(lines, line - 3, line + 2)))
    files, held_out = [tmp_path / "around.jsonl"], _wikipedia_held_out(shared_data)
    with pytest.raises(CorpusError, match=rf"around\.jsonl, line 3: .*held-out paragraph {owner}"):
        prepare(files, tmp_path / "out", tokenizer=tokenizer, held_out=held_out, workers=1)
    store = prepare(files, tmp_path / "out", tokenizer=tokenizer, held_out=held_out, drop_overlap=True, workers=1)
    assert store.info.counts["dropped_paragraphs"] == 1
