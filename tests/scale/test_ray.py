"""Ray gives the bytes of one process. One test, because Ray takes seconds to start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import weft
from weft.corpora.store.prepare import prepare
from weft.errors import ConfigError
from weft.scale import score, score_dataset

TEXTS = ["The cat slept. It purred. Rates rose.", "Rain fell. The river rose.", ""]


def test_only_a_dataset_of_ray_is_scored_as_one() -> None:
    with pytest.raises(ConfigError, match="not a dataset of Ray"):
        score_dataset(TEXTS)


@pytest.mark.slow
@pytest.mark.ray
def test_ray_gives_the_bytes_of_one_process(tmp_path: Path) -> None:
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
    finally:
        ray.shutdown()
    assert contents(folders[0]) == contents(folders[1])
    assert contents(stores[0]) == contents(stores[1])
    expected = weft.score(TEXTS, model="foltz-glove")
    assert [row["coherence"] for row in rows[:2]] == pytest.approx([one.value for one in expected[:2]])
    assert rows[2]["coherence"] != rows[2]["coherence"]  # NaN: an empty text has no score


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
