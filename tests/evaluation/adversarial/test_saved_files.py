"""Adversarial evaluation: damaged files are told, nothing stale is used, training chunks that share no sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from tests.helpers.tiny_adversarial import FEW, SMALL, odds, order_of, pages, tiny_options

from weft.corpora.text.tokenizers import BpeTokenizer
from weft.errors import CorpusError
from weft.evaluation.adversarial import continuations
from weft.evaluation.adversarial.chunks import Chunks, select_chunks
from weft.evaluation.adversarial.continuations import _shard, weights_hash, write_all
from weft.evaluation.adversarial.opponents import Bout, control_bout, without_overlap
from weft.evaluation.adversarial.saved_arrays import read_arrays, write_arrays
from weft.evaluation.adversarial.token_rows import IdRows
from weft.evaluation.adversarial.verdicts import Verdicts, measured, read_verdicts, trained, write_verdicts
from weft.evaluation.evaluate import Subject, evaluate
from weft.evaluation.subjects import in_way
from weft.generation.bulk import bulk_writer
from weft.models.seq2seq.seq2seq import Seq2Seq
from weft.report.samples import write_samples

PLACES = np.zeros((3, 4), dtype=np.int64)
BOUT = Bout(
    IdRows.of([[1]]), {"dev": PLACES, "test": PLACES}, {"dev": PLACES, "test": PLACES},
    {"test": (["a", "a", "b"], ["a", "a", "b"])},
)  # fmt: skip


def said(human: list[float], machine: list[float]) -> Verdicts:
    sides = [{"dev": odds(*side), "test": odds(*side)} for side in (human, machine)]
    return Verdicts(sides[0], sides[1], {"steps": 3})


@pytest.mark.parametrize("damage", [b"", b"PK", b"no arrays", "half"], ids=str)
def test_a_damaged_file_of_arrays_is_told(damage: bytes | str, tmp_path: Path) -> None:
    path = tmp_path / "kept.npz"
    write_arrays(path, {"a": np.arange(50)}, compressed=True)
    assert read_arrays(path)["a"].tolist() == list(range(50))
    path.write_bytes(path.read_bytes()[:150] if isinstance(damage, str) else damage)
    with pytest.raises(CorpusError, match="cannot use .*delete it"):
        read_arrays(path)


def test_verdicts_come_back_and_those_of_other_chunks_are_told(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.npz"
    write_verdicts(path, said([1, 2, 3], [0, -1, -2]))
    again = read_verdicts(path, BOUT)
    assert again.machine["test"].tolist() == [0, -1, -2] and again.training == {"steps": 3}
    write_verdicts(path, said([1, 2], [0, -1]))
    with pytest.raises(CorpusError, match="other chunks"):
        read_verdicts(path, BOUT)
    write_arrays(path, {"note": np.zeros(1)})
    with pytest.raises(CorpusError, match="cannot use"):
        read_verdicts(path, BOUT)
    write_verdicts(path, said([1, 2, 3], [0, float("nan"), -2]))
    with pytest.raises(CorpusError, match="no numbers"):
        read_verdicts(path, BOUT)
    write_verdicts(path, said([1, 2, 3], [0, -1, -2]))
    write_arrays(path, {**read_arrays(path), "note": np.frombuffer(b"[1]", dtype=np.uint8)})
    with pytest.raises(CorpusError, match="no record: list"):
        read_verdicts(path, BOUT)


def test_the_mean_of_evaluators_counts() -> None:
    panel = [said([3, 2, 1], [0, -1, -2]), said([3, -1, -2], [2, 1, 0])]
    found = measured(BOUT, panel, 1, ["a", "b"])
    assert found["adversuc_1"].numerators == (1.0, 0.0)  # none by the first, two of page a by the second
    assert found["human_accuracy_1"].numerators == (1.5, 0.5)
    record = trained(panel)
    assert record["adversuc"] == pytest.approx([0, 2 / 3]) and len(record["trainings"]) == 2
    assert record["dev_adversuc"] == pytest.approx(1 / 3) and record["dev_accuracy"] == pytest.approx(2 / 3)


def test_nobody_can_change_the_rows_that_all_read() -> None:
    rows = IdRows.of([[5, 3], [4]])
    with pytest.raises(ValueError, match="read-only"):
        rows.flat.sort()
    assert rows.row(0) == [5, 3]


def test_what_is_counted_is_the_training_part(chunks: Chunks) -> None:
    part = chunks.part("train")
    assert set(chunks.learned.tolist()) == {
        *chunks.context[part].ravel().tolist(),
        *chunks.human[part].ravel().tolist(),
    }
    held = chunks.human[chunks.part("test")].ravel().tolist()
    assert not set(held) & set(chunks.learned.tolist())


def test_training_chunks_that_share_no_sentence(tokenizer: BpeTokenizer) -> None:
    bout = control_bout(select_chunks(pages(), tokenizer, replace(SMALL, train=120)), "random-sentence", 3, 1)
    thin = without_overlap(bout)
    kept = thin.human["train"]
    assert len(np.unique(kept)) == kept.size and len(kept) == len(thin.machine["train"]) < len(bout.human["train"])
    for human, machine in zip(kept.tolist(), thin.machine["train"].tolist(), strict=True):
        assert human[:3] == machine[:3]  # still each with its opponent
    sides = np.concatenate([bout.human["train"], bout.machine["train"]], axis=1).tolist()
    chosen = np.concatenate([kept, thin.machine["train"]], axis=1)
    assert sum(len(set(pair)) for pair in chosen.tolist()) == len(np.unique(chosen))  # nor do opponents share any
    left = [pair for pair in sides if pair not in chosen.tolist()]
    assert all(set(pair) & set(chosen.ravel().tolist()) for pair in left)  # none was left out without need
    assert thin.human["test"] is bout.human["test"]


@pytest.mark.parametrize("damage", [b"", b"{}\n", b"garbage\n", b'{"seconds": 1}\n{"sentences": []}\n'], ids=str)
def test_a_damaged_shard_is_told_and_kept(
    damage: bytes, model: Seq2Seq, chunks: Chunks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(continuations, "SHARD", 28)
    order = order_of(model, chunks)
    path = _shard(order, tmp_path, "uni", 0)
    path.parent.mkdir(parents=True)
    path.write_bytes(damage)
    with pytest.raises(CorpusError, match="cannot use .*0000.jsonl"):
        write_all(bulk_writer(model, "tiny"), order, ["uni"], tmp_path)
    assert path.exists()


def test_a_model_that_wrote_twice_is_shown_twice(
    model: Seq2Seq, chunks: Chunks, tokenizer: BpeTokenizer, tmp_path: Path
) -> None:
    for seed in (1, 2):
        write_all(bulk_writer(model, "tiny"), order_of(model, chunks, replace(FEW, seed=seed)), ["uni"], tmp_path)
    assert write_samples(tmp_path / "samples.md", chunks, tmp_path, tokenizer, count=1) == 2


def test_topics_that_guide_are_among_the_weights(tmp_path: Path) -> None:
    from weft.io.model_folder import Artifact

    class Guided:
        def __init__(self, value: float) -> None:
            self.value = value

        def networks(self) -> dict[str, Any]:
            return {}

        def companions(self) -> dict[str, Artifact]:
            return {"topics": Artifact("hmm-lda", {}, {"words": np.full(2, self.value, dtype=np.float32)})}

    assert weights_hash(Guided(1.0)) == weights_hash(Guided(1.0)) != weights_hash(Guided(2.0))


def test_only_the_informed_evaluator_asks_the_networks(
    tmp_path: Path, data: Path, folder: Path, model: Seq2Seq, monkeypatch: pytest.MonkeyPatch
) -> None:
    from weft.evaluation.adversarial.features import SentenceScores

    subject = in_way(Subject(model, "seq2seq"), "uni")

    def asked(*_: object) -> None:
        raise AssertionError("asked")

    monkeypatch.setattr(SentenceScores, "alone", asked)
    result = evaluate("adversarial", subject, str(data), tiny_options(tmp_path, folder, second=True))
    assert "second_adversuc_1" in result.metrics and "informed_adversuc_1" not in result.metrics
    assert result.negatives_sha256 == result.settings["chunks"]  # other chunks are not compared with these
    with pytest.raises(AssertionError, match="asked"):
        evaluate("adversarial", subject, str(data), tiny_options(tmp_path, folder, informed=True))
