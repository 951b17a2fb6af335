"""The continuations of a system, on disk: shards during writing, one compressed file of JSON lines at the end."""

from __future__ import annotations

import hashlib
import json
import lzma
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from weft.evaluation.adversarial.chunks import CONTINUATION, Chunks
from weft.evaluation.adversarial.saved_arrays import explain_damage
from weft.evaluation.adversarial.writing import write_continuations
from weft.generation.bulk_writing import BulkWriter
from weft.generation.decoding_settings import Decoding
from weft.io.atomic_files import write_atomically
from weft.progress import Progress, silent
from weft.protocols import NetworkModel
from weft.scoring.uni_bi_mmi import Combine

SHARD = 4096  # contexts per shard: the most that an interrupted run loses
FORMAT = 2  # changes when continuations are written in another way


@dataclass(frozen=True)
class Continuations:
    """The continuations of one system."""

    texts: Sequence[tuple[str, ...]]  # [contexts], three sentences each, in the order of the chunks
    fingerprint: str  # hash of everything that determines them
    seconds: float  # time of writing them

    @property
    def speed(self) -> float:
        """Sentences per second."""
        return CONTINUATION * len(self.texts) / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class WritingJob:
    """The continuations to write."""

    name: str  # name of the model, for the files
    weights: str  # hash of its weights
    chunks: Chunks  # the contexts
    decoding: Decoding  # how candidates are searched
    combine: Combine  # how candidates are reranked
    further: Mapping[str, Any]  # other settings that determine the text, such as the number of samples of the reranker

    @property
    def fingerprint(self) -> str:
        """Hash of everything that determines the continuations."""
        content = [
            FORMAT, self.weights, self.chunks.fingerprint, asdict(self.decoding), dict(self.further), self.combine,
            SHARD,
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def path(self, folder: Path) -> Path:
        """Return the path of the finished file."""
        return folder / f"{self.name}.{self.combine}-{self.fingerprint[:12]}.jsonl.xz"

    def shard_path(self, folder: Path, number: int) -> Path:
        """Return the path of a shard."""
        return self.path(folder).with_suffix("").with_suffix(".shards") / f"{number:04d}.jsonl"


def weights_hash(model: NetworkModel) -> str:
    """Return a hash of a model's weights and of the models that guide it."""
    digest = hashlib.sha256()
    for part, network in sorted(model.networks().items()):
        for name, value in sorted(network.state_dict().items()):
            digest.update(f"{part}/{name}".encode())
            digest.update(value.detach().float().cpu().contiguous().numpy().tobytes())
    for part, artifact in sorted(model.companions().items()):
        for name, tensor in sorted(artifact.tensors.items()):
            digest.update(f"{part}/{name}".encode())
            digest.update(np.ascontiguousarray(tensor).tobytes())
    return digest.hexdigest()


def load_continuations(
    writer: BulkWriter, job: WritingJob, folder: Path, *, progress: Progress = silent
) -> Continuations:
    """Write the shards that are missing, and return all continuations."""
    if not job.path(folder).is_file():
        shards = range(0, len(job.chunks), SHARD)
        for number, start in enumerate(shards):
            if not job.shard_path(folder, number).is_file():
                _write_shard(writer, job, folder, number)
            progress(f"writing {job.name}", min(start + SHARD, len(job.chunks)), len(job.chunks))
        _join_shards(job, folder, len(shards))
    path = job.path(folder)
    head, texts = read_continuations(path, job.chunks)
    with explain_damage(path):
        if head["fingerprint"] != job.fingerprint:
            raise ValueError(f"continuations of {head['fingerprint'][:12]}, not {job.fingerprint[:12]}")
        return Continuations(texts, job.fingerprint, float(head["seconds"]))


def _write_shard(writer: BulkWriter, job: WritingJob, folder: Path, number: int) -> None:
    chunks, began = job.chunks, time.monotonic()
    numbers = chunks.context[number * SHARD : (number + 1) * SHARD].tolist()
    contexts = [tuple(chunks.rows.row(sentence) for sentence in row) for row in numbers]
    found = write_continuations(writer, contexts, job.decoding, job.combine, seed=(number,))
    seconds = time.monotonic() - began
    lines: list[Mapping[str, Any]] = [{"seconds": seconds}, *({"sentences": sentences} for sentences in found)]
    with write_atomically(job.shard_path(folder, number)) as handle:
        handle.writelines(_line(line) for line in lines)


def _line(record: Mapping[str, Any]) -> bytes:
    return (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8")


def _join_shards(job: WritingJob, folder: Path, shards: int) -> None:
    """Join the shards into one file, then remove them."""
    lines: list[bytes] = []
    seconds = 0.0
    for number in range(shards):
        path = job.shard_path(folder, number)
        with explain_damage(path):
            first, *body = path.read_bytes().splitlines(keepends=True)
            _check_count(body, min(SHARD, len(job.chunks) - number * SHARD))
            seconds += float(json.loads(first)["seconds"])
        lines += body
    head = {
        "fingerprint": job.fingerprint, "model": job.name, "combine": job.combine, "seconds": seconds,
        "decoding": asdict(job.decoding), "chunks": job.chunks.fingerprint,
    }  # fmt: skip
    with write_atomically(job.path(folder)) as handle:
        handle.write(lzma.compress(b"".join([_line(head), *lines]), preset=2))
    shutil.rmtree(job.shard_path(folder, 0).parent)


def _check_count(found: Sequence[object], count: int) -> None:
    if len(found) != count:
        raise ValueError(f"{len(found)} continuations, not {count}")


def read_continuations(path: Path, chunks: Chunks) -> tuple[dict[str, Any], list[tuple[str, ...]]]:
    """Return the head of a finished file, and three sentences per context; no sentences if it is about other chunks.

    Raises:
        CorpusError: The file is damaged.
    """
    with explain_damage(path), lzma.open(path, "rt", encoding="utf-8") as handle:
        head = json.loads(next(handle))
        if head["chunks"] != chunks.fingerprint:
            return head, []
        texts = [_three_sentences(line) for line in handle]
        _check_count(texts, len(chunks))
        return head, texts


def _three_sentences(line: str) -> tuple[str, ...]:
    sentences = json.loads(line)["sentences"]
    if len(sentences) != CONTINUATION or not all(isinstance(sentence, str) for sentence in sentences):
        raise ValueError("not three sentences")
    return tuple(sentences)
