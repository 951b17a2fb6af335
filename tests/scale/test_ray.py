"""Ray gives the bytes of one process. Few tests start Ray, because it takes seconds."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import weft
from weft.corpora.process_pool import ONE_THREAD, WorkerStoppedError
from weft.corpora.store.prepare import prepare
from weft.errors import ConfigError
from weft.scale import score, score_dataset
from weft.scale.ray_dataset import cores_of_worker

TEXTS = ["The cat slept. It purred. Rates rose.", "Rain fell. The river rose.", ""]


def test_only_a_dataset_of_ray_is_scored_as_one() -> None:
    with pytest.raises(ConfigError, match="not a dataset of Ray"):
        score_dataset(TEXTS)


@pytest.mark.parametrize("machines", [[1.0], [2.0], [16.0], [1.0] * 10, [0.0, 2.0, 4.0], [2.0, 2.0]])
@pytest.mark.parametrize("workers", [1, 2, 3, 16, 100])
def test_a_core_is_left_for_the_other_steps(machines: list[float], workers: int) -> None:
    share = cores_of_worker(workers, machines)
    usable = [cores for cores in machines if cores]
    # At worst every machine has just less than one core left.
    assert sum(usable) - share * workers >= len(usable)
    assert share == 1 or share * (workers + 1) > sum(usable) - len(usable) or share == 0


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.timeout(120)
def test_as_many_workers_as_cores_leave_room_for_reading(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"text": TEXTS}), tmp_path / "a.parquet")
    try:
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        dataset = ray.data.read_parquet(str(tmp_path / "a.parquet"))
        assert len(score_dataset(dataset, model="foltz-glove", workers=2).take_all()) == len(TEXTS)
        wrongs: list[dict[str, Any]] = [{"column": "nope"}, {"column": 5}, {"workers": 0}]
        for wrong in wrongs:
            with pytest.raises(ConfigError):
                score_dataset(dataset, model="foltz-glove", **wrong)
    finally:
        ray.shutdown()


@pytest.mark.slow
@pytest.mark.ray
def test_ray_gives_the_bytes_of_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    lines = [json.dumps({"id": f"d{number}", "text": TEXTS[number % 3]}) for number in range(12)]
    source = tmp_path / "a.jsonl"
    source.write_text("\n".join(lines))
    folders = [tmp_path / "processes", tmp_path / "ray"]
    stores = [tmp_path / "one", tmp_path / "other"]
    try:
        for engine, folder in zip(("processes", "ray"), folders, strict=True):
            score(source, folder, model="foltz-glove", workers=1, shard_documents=5, engine=engine)
        from weft.scale.ray_engine import in_order_with_ray

        prepare([source], stores[0], vocabulary_size=300, workers=1)
        prepare([source], stores[1], vocabulary_size=300, workers=1, apply=in_order_with_ray, chunk_characters=50)
        dataset = ray.data.from_items([{"text": text} for text in TEXTS])
        rows = score_dataset(dataset, model="foltz-glove").take_all()
        check_killed_workers(tmp_path / "died", monkeypatch)
    finally:
        ray.shutdown()
    assert contents(folders[0]) == contents(folders[1])
    assert contents(stores[0]) == contents(stores[1])
    expected = weft.score(TEXTS, model="foltz-glove")
    assert [row["coherence"] for row in rows[:2]] == pytest.approx([one.value for one in expected[:2]])
    assert rows[2]["coherence"] != rows[2]["coherence"]  # NaN: an empty text has no score


def check_killed_workers(died: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that a worker which is killed is replaced, and that one which is killed every time is an error."""
    from weft.scale.ray_engine import with_ray

    class KilledAtItem2:  # in a function, so that its code is sent to the workers
        def start(self) -> Callable[[int], tuple[int, str]]:
            def apply(item: int) -> tuple[int, str]:
                if item == 2 and not died.exists():
                    died.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                return item, os.environ["OMP_NUM_THREADS"]

            return apply

    found = sorted(with_ray(KilledAtItem2(), range(5), workers=2))
    assert found == [(item, ONE_THREAD["OMP_NUM_THREADS"]) for item in range(5)]
    died.unlink()
    monkeypatch.setattr("weft.scale.ray_engine.MOST_DEATHS", 0)
    with pytest.raises(WorkerStoppedError, match="stopped several times"):
        list(with_ray(KilledAtItem2(), [2], workers=1))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
