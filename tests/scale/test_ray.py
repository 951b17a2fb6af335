"""Ray gives the bytes of one process. One test, because Ray takes seconds to start."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

import weft
from weft.corpora.process_pool import ONE_THREAD, WorkerStoppedError
from weft.corpora.store.prepare import prepare
from weft.errors import ConfigError
from weft.scale import score, score_dataset

TEXTS = ["The cat slept. It purred. Rates rose.", "Rain fell. The river rose.", ""]


def test_only_a_dataset_of_ray_is_scored_as_one() -> None:
    with pytest.raises(ConfigError, match="not a dataset of Ray"):
        score_dataset(TEXTS)


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
