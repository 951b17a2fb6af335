"""Adversarial evaluation: damaged files are told, nothing stale is used, training chunks that share no sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

pytest.importorskip("torch")

from tests.helpers.tiny_adversarial import FEW, SMALL, job_of, odds, pages, tiny_options

from weft.corpora.text.tokenizers import BpeTokenizer
from weft.errors import CorpusError
from weft.evaluation.adversarial import continuations
from weft.evaluation.adversarial.chunks import Chunks, select_chunks
from weft.evaluation.adversarial.continuations import load_continuations, weights_hash
from weft.evaluation.adversarial.controls import label_control
from weft.evaluation.adversarial.labelled_chunks import LabelledChunks, without_overlap
from weft.evaluation.adversarial.saved_arrays import read_arrays, write_arrays
from weft.evaluation.adversarial.token_rows import TokenRows
from weft.evaluation.adversarial.verdicts import (
    Verdicts,
    adversuc_measures,
    read_verdicts,
    training_record,
    write_verdicts,
)
from weft.evaluation.evaluate import evaluate
from weft.evaluation.evaluated_models import with_combination
from weft.evaluation.task_contract import Subject
from weft.models.seq2seq.seq2seq import Seq2Seq
from weft.report.samples import write_samples

PLACES = np.zeros((3, 4), dtype=np.int64)
CHUNKS = LabelledChunks(
    TokenRows.of([[1]]), {"dev": PLACES, "test": PLACES}, {"dev": PLACES, "test": PLACES},
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
    again = read_verdicts(path, CHUNKS)
    assert again.machine["test"].tolist() == [0, -1, -2] and again.training == {"steps": 3}
    write_verdicts(path, said([1, 2], [0, -1]))
    with pytest.raises(CorpusError, match="other chunks"):
        read_verdicts(path, CHUNKS)
    write_arrays(path, {"note": np.zeros(1)})
    with pytest.raises(CorpusError, match="cannot use"):
        read_verdicts(path, CHUNKS)
    write_verdicts(path, said([1, 2, 3], [0, float("nan"), -2]))
    with pytest.raises(CorpusError, match="not numbers"):
        read_verdicts(path, CHUNKS)
    write_verdicts(path, said([1, 2, 3], [0, -1, -2]))
    write_arrays(path, {**read_arrays(path), "note": np.frombuffer(b"[1]", dtype=np.uint8)})
    with pytest.raises(CorpusError, match="not a record: list"):
        read_verdicts(path, CHUNKS)


def test_the_mean_of_evaluators_counts() -> None:
    panel = [said([3, 2, 1], [0, -1, -2]), said([3, -1, -2], [2, 1, 0])]
    found = adversuc_measures(CHUNKS, panel, 1, ["a", "b"])
    assert found["adversuc_1"].numerators == (1.0, 0.0)  # none by the first, two of page a by the second
    assert found["human_accuracy_1"].numerators == (1.5, 0.5)
    record = training_record(panel)
    assert record["adversuc"] == pytest.approx([0, 2 / 3]) and len(record["trainings"]) == 2
    assert record["dev_adversuc"] == pytest.approx(1 / 3) and record["dev_accuracy"] == pytest.approx(2 / 3)


def test_nobody_can_change_the_rows_that_all_read() -> None:
    rows = TokenRows.of([[5, 3], [4]])
    with pytest.raises(ValueError, match="read-only"):
        rows.flat.sort()
    assert rows.row(0) == [5, 3]


def test_what_is_counted_is_the_training_part(chunks: Chunks) -> None:
    part = chunks.part("train")
    assert set(chunks.training_sentences.tolist()) == {
        *chunks.context[part].ravel().tolist(),
        *chunks.human[part].ravel().tolist(),
    }
    held = chunks.human[chunks.part("test")].ravel().tolist()
    assert not set(held) & set(chunks.training_sentences.tolist())


def test_training_chunks_that_share_no_sentence(tokenizer: BpeTokenizer) -> None:
    labelled = label_control(select_chunks(pages(), tokenizer, replace(SMALL, train=120)), "random-sentence", 3, 1)
    thin = without_overlap(labelled)
    kept = thin.human["train"]
    assert len(np.unique(kept)) == kept.size and len(kept) == len(thin.machine["train"]) < len(labelled.human["train"])
    for human, machine in zip(kept.tolist(), thin.machine["train"].tolist(), strict=True):
        assert human[:3] == machine[:3]  # still each with its opponent
    sides = np.concatenate([labelled.human["train"], labelled.machine["train"]], axis=1).tolist()
    chosen = np.concatenate([kept, thin.machine["train"]], axis=1)
    assert sum(len(set(pair)) for pair in chosen.tolist()) == len(np.unique(chosen))  # nor do opponents share any
    left = [pair for pair in sides if pair not in chosen.tolist()]
    assert all(set(pair) & set(chosen.ravel().tolist()) for pair in left)  # none was left out without need
    assert thin.human["test"] is labelled.human["test"]


@pytest.mark.parametrize("damage", [b"", b"{}\n", b"garbage\n", b'{"seconds": 1}\n{"sentences": []}\n'], ids=str)
def test_a_damaged_shard_is_told_and_kept(
    damage: bytes, model: Seq2Seq, chunks: Chunks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(continuations, "SHARD", 28)
    job = job_of(model, chunks)
    path = job.shard_path(tmp_path, 0)
    path.parent.mkdir(parents=True)
    path.write_bytes(damage)
    with pytest.raises(CorpusError, match="cannot use .*0000.jsonl"):
        load_continuations(model.bulk_writer(), job, tmp_path)
    assert path.exists()


def test_a_model_that_wrote_twice_is_shown_twice(
    model: Seq2Seq, chunks: Chunks, tokenizer: BpeTokenizer, tmp_path: Path
) -> None:
    for seed in (1, 2):
        load_continuations(model.bulk_writer(), job_of(model, chunks, "uni", replace(FEW, seed=seed)), tmp_path)
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

    hashes = [weights_hash(cast(Any, Guided(value))) for value in (1.0, 1.0, 2.0)]
    assert hashes[0] == hashes[1] != hashes[2]


def test_only_the_informed_evaluator_asks_the_networks(
    tmp_path: Path, data: Path, folder: Path, model: Seq2Seq, monkeypatch: pytest.MonkeyPatch
) -> None:
    from weft.evaluation.adversarial.evaluators.features import SentenceScores

    subject = with_combination(Subject(model, "seq2seq"), "uni")

    def asked(*_: object) -> None:
        raise AssertionError("asked")

    monkeypatch.setattr(SentenceScores, "alone", asked)
    result = evaluate("adversarial", subject, str(data), tiny_options(tmp_path, folder, second=True))
    assert "second_adversuc_1" in result.metrics and "informed_adversuc_1" not in result.metrics
    assert result.negatives_sha256 == result.settings["chunks"]  # other chunks are not compared with these
    with pytest.raises(AssertionError, match="asked"):
        evaluate("adversarial", subject, str(data), tiny_options(tmp_path, folder, informed=True))
