"""What systems have written, on disk: shards while they write, one compressed file of JSON lines at the end."""

from __future__ import annotations

import hashlib
import json
import lzma
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from weft.errors import CorpusError
from weft.evaluation.adversarial.chunks import TURNS, Chunks
from weft.evaluation.adversarial.saved_arrays import NO_LINES, damaged
from weft.evaluation.adversarial.turns import continued
from weft.generation.bulk import BulkWriter
from weft.generation.decoding import Decoding
from weft.io.atomic_files import write_atomically
from weft.progress import Progress, silent
from weft.scoring.pairs import Combine

SHARD = 4096  # contexts a shard: what a killed run loses at most
FORMAT = 2  # rises when the way of writing changes


@dataclass(frozen=True)
class Written:
    """The continuations of one system.

    Attributes:
        texts: [contexts], three sentences each, in the order of the chunks.
        fingerprint: Of all that decided them.
        seconds: What writing them took; where several were written together, an equal share of it.
    """

    texts: Sequence[tuple[str, ...]]
    fingerprint: str
    seconds: float

    @property
    def speed(self) -> float:
        """Sentences a second."""
        return TURNS * len(self.texts) / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Order:
    """What is to be written.

    Attributes:
        name: Of the model, for the files.
        weights: The hash of its networks.
        chunks: The contexts.
        decoding: How.
        further: Whatever else of the model decides what it writes, such as how many samples rerank.
    """

    name: str
    weights: str
    chunks: Chunks
    decoding: Decoding
    further: Mapping[str, Any]

    def fingerprint(self, way: Combine) -> str:
        """A hash of all that decides the continuations."""
        content = [FORMAT, self.weights, self.chunks.fingerprint, asdict(self.decoding), dict(self.further), way, SHARD]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def path(self, folder: Path, way: Combine) -> Path:
        """Where the finished file stands."""
        return folder / f"{self.name}.{way}-{self.fingerprint(way)[:12]}.jsonl.xz"


def weights_hash(model: Any) -> str:
    """A hash of a model's weights: the same wherever its folder lies."""
    digest = hashlib.sha256()
    for part, network in sorted(model.networks().items()):
        for name, value in sorted(network.state_dict().items()):
            digest.update(f"{part}/{name}".encode())
            digest.update(value.detach().float().cpu().contiguous().numpy().tobytes())
    for part, artifact in sorted(model.companions().items()):  # such as the topics that guide
        for name, tensor in sorted(artifact.tensors.items()):
            digest.update(f"{part}/{name}".encode())
            digest.update(np.ascontiguousarray(tensor).tobytes())
    return digest.hexdigest()


def write_all(
    writer: BulkWriter, order: Order, ways: Sequence[Combine], folder: Path, *, progress: Progress = silent
) -> dict[Combine, Written]:
    """Write what is not there yet, and read all of it; ways of reranking that are missing are written together."""
    missing = [way for way in ways if not order.path(folder, way).is_file()]
    shards = range(0, len(order.chunks), SHARD)
    for number, start in enumerate(shards):
        absent = [way for way in missing if not _shard(order, folder, way, number).is_file()]
        if absent:
            _write_shard(writer, order, absent, folder, number)
        if missing:
            progress(f"writing {order.name}", min(start + SHARD, len(order.chunks)), len(order.chunks))
    for way in missing:
        _finish(order, folder, way, len(shards))
    return {way: read_written(order.path(folder, way), order.fingerprint(way), len(order.chunks)) for way in ways}


def _shard(order: Order, folder: Path, way: Combine, number: int) -> Path:
    return order.path(folder, way).with_suffix("").with_suffix(".shards") / f"{number:04d}.jsonl"


def _write_shard(writer: BulkWriter, order: Order, ways: Sequence[Combine], folder: Path, number: int) -> None:
    chunks, began = order.chunks, time.monotonic()
    numbers = chunks.context[number * SHARD : (number + 1) * SHARD].tolist()
    contexts = [tuple(chunks.rows.row(sentence) for sentence in row) for row in numbers]
    found = continued(writer, contexts, order.decoding, ways, seed=(number,))
    share = (time.monotonic() - began) / len(ways)
    for way in ways:
        lines: list[Mapping[str, Any]] = [{"seconds": share}, *({"sentences": sentences} for sentences in found[way])]
        with write_atomically(_shard(order, folder, way, number)) as handle:
            handle.writelines(_line(line) for line in lines)


def _line(record: Mapping[str, Any]) -> bytes:
    return (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8")


def _finish(order: Order, folder: Path, way: Combine, shards: int) -> None:
    """Put the shards together into one file, then remove them."""
    lines: list[bytes] = []
    seconds = 0.0
    for number in range(shards):
        path = _shard(order, folder, way, number)
        count = min(SHARD, len(order.chunks) - number * SHARD)
        try:
            head, *body = path.read_bytes().splitlines(keepends=True)
            seconds += float(json.loads(head)["seconds"])
            if len(body) != count:
                raise ValueError(f"{len(body)} continuations, not {count}")
            lines += body
        except (ValueError, KeyError, TypeError) as error:
            raise damaged(path, str(error)) from error
    first = {
        "fingerprint": order.fingerprint(way), "model": order.name, "combine": way, "seconds": seconds,
        "decoding": asdict(order.decoding), "chunks": order.chunks.fingerprint,
    }  # fmt: skip
    path = order.path(folder, way)
    with write_atomically(path) as handle:
        handle.write(lzma.compress(b"".join([_line(first), *lines]), preset=2))
    shutil.rmtree(_shard(order, folder, way, 0).parent)


def read_written(path: Path, fingerprint: str, count: int) -> Written:
    """Read a finished file.

    Raises:
        CorpusError: It is damaged, or was made of something else.
    """
    try:
        with lzma.open(path, "rt", encoding="utf-8") as handle:
            head = json.loads(next(handle))
            texts = list(_texts(handle))
        if head["fingerprint"] != fingerprint or len(texts) != count:
            raise ValueError(f"{len(texts)} continuations of {head['fingerprint'][:12]}")
        return Written(texts, fingerprint, float(head["seconds"]))
    except NO_LINES as error:
        raise CorpusError(
            f"cannot use {path}: {error}",
            allowed=f"{count} continuations of {fingerprint[:12]}",
            next_step="delete it, and it is written again",
        ) from error


def _texts(lines: Iterator[str]) -> Iterator[tuple[str, ...]]:
    for line in lines:
        sentences = json.loads(line)["sentences"]
        if len(sentences) != TURNS or not all(isinstance(sentence, str) for sentence in sentences):
            raise ValueError("not three sentences")
        yield tuple(sentences)
