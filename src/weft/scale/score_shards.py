"""Scores of a dataset of many files, by several workers, exactly once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from weft.corpora.process_pool import WorkerStoppedError
from weft.corpora.readers.read_options import ReadOptions
from weft.errors import ConfigError, WeftError
from weft.hub import PACKAGE_FOLDERS, find_model
from weft.io.cpu_cores import usable_cores
from weft.io.file_hash import sha256_of
from weft.io.model_folder import MANIFEST as MODEL_MANIFEST
from weft.io.package_files import PRETRAINED
from weft.io.url_files import is_url
from weft.progress import Progress, silent
from weft.registry import DEFAULT_MODEL
from weft.scale.engines import Engine, engine_of
from weft.scale.input_blocks import (
    Block,
    ChangedInputError,
    InputShard,
    ShardScan,
    blocks_of,
    changed_input,
    check_places,
    find_shards,
    stamp_of,
)
from weft.scale.output_folder import (
    MANIFEST,
    OutputFolder,
    Record,
    clear,
    finish,
    finished_blocks,
    forget_blocks,
    is_finished,
    read_json,
)
from weft.scale.score_blocks import BlockScoring, ScoringOptions
from weft.settings import check_count
from weft.version import VERSION

SHARD_DOCUMENTS = 2000  # of an output shard; a worker that is killed loses at most so much work
MOST_FAILURES = 3  # times in a row that workers die before any of them has finished a block
READING = ReadOptions(empty="keep")


@dataclass(frozen=True, slots=True)
class ScoredShards:
    """What a run has written.

    Attributes:
        out: The folder.
        shards: Number of output shards.
        documents: Number of documents in them.
        without_score: Number of these documents that have no score, such as empty ones.
        bad_rows: Number of rows that are not documents; side files have the reasons.
        continued: Number of shards that an earlier run had written.
    """

    out: str
    shards: int
    documents: int
    without_score: int
    bad_rows: int
    continued: int


def score(
    shards: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    model: str | Path = DEFAULT_MODEL,
    combine: str | None = None,
    device: str = "auto",
    settings: Mapping[str, Any] | None = None,
    genre: str | None = None,
    own_shuffles: bool = False,
    text: bool = False,
    options: ReadOptions = READING,
    workers: int | None = None,
    engine: str = "processes",
    shard_documents: int = SHARD_DOCUMENTS,
    progress: Progress = silent,
) -> ScoredShards:
    """Score the documents of JSONL and Parquet files with several workers.

    The output does not depend on the number of workers or on the engine. A run that was stopped, or a worker of which
    was killed, is continued by the same call: no document is lost or scored twice. A finished folder is left as it is,
    unless files of it are missing or have another size; these are written again.

    Args:
        shards: Files, folders or patterns, on disk or at fsspec URLs.
        out: Folder to write, on disk or at an fsspec URL.
        model: Name or folder of a model.
        combine: ``uni``, ``bi`` or ``mmi``, for a generative model.
        device: As for `weft.load`.
        settings: Other settings of the model.
        genre: Genre of the percentiles; by default guessed for each text.
        own_shuffles: Whether each text is compared with its own random orders.
        text: Whether the output includes the sentences.
        options: How to read the files.
        workers: Number of workers, each with a model and one thread; by default one per core.
        engine: ``processes`` of this machine, or ``ray``.
        shard_documents: Number of rows of the input that make one output shard.
        progress: Receives the number of documents done.

    Returns:
        Counts of what was written.

    Raises:
        ConfigError: An option has a wrong value.
        CorpusError: A file cannot be read or has changed during the run, or the folder has other contents.
        WorkerStoppedError: Workers died three times in a row before any of them had finished a block.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     line = '{"id": "a", "text": "The cat slept. It purred."}'
        ...     _ = Path(folder, "cats.jsonl").write_text(line)
        ...     score(folder + "/cats.jsonl", folder + "/scores", model="foltz-glove", workers=1).documents
        1
    """
    sources = _sources(shards)
    check_places(sources, _place(out))
    check_count("shard_documents", shard_documents)
    if workers is not None:
        check_count("workers", workers)
    _check_kind("settings", settings, (Mapping, type(None)), "a mapping of names to values")
    _check_kind("options", options, (ReadOptions,), "weft.ReadOptions")
    scoring = ScoringOptions(str(model), combine, device, dict(settings or {}), genre, own_shuffles, text)
    scoring.load()  # an error in the options is raised here, and not in every worker
    run = _Run(engine_of(engine), workers or usable_cores(), scoring, options, OutputFolder(str(out)), progress)
    return run.score(find_shards(sources), shard_documents)


def _sources(shards: object) -> list[str]:
    """Return the names of shards; raise ConfigError if they are something else."""
    found = list(shards) if isinstance(shards, Iterable) and not isinstance(shards, str) else [shards]
    for one in found:
        _check_kind("shards", one, (str, Path), "a path or URL, or a list of them")
    return list(map(str, found))


def _place(out: object) -> str:
    """Return the name of the output folder; raise ConfigError if it is none."""
    _check_kind("out", out, (str, Path), "a folder: a path or URL")
    if not str(out):
        raise ConfigError("out is empty", seen=out, allowed="a folder: a path or URL", next_step="name a folder")
    return str(out)


def _check_kind(name: str, value: object, kinds: tuple[type, ...], allowed: str) -> None:
    if not isinstance(value, kinds):
        raise ConfigError(
            f"{name} has the wrong type", seen=repr(value), allowed=allowed, next_step="correct the value in the call"
        )


@dataclass(frozen=True, slots=True)
class _Run:
    engine: Engine
    workers: int
    scoring: ScoringOptions
    reading: ReadOptions
    out: OutputFolder
    progress: Progress

    def score(self, sources: Sequence[str], size: int) -> ScoredShards:
        with self.out.held():
            stamps = {source: stamp_of(source) for source in sources}
            shards = self._scan(sources)
            recipe, blocks = self._recipe(shards, size), blocks_of(shards, size)
            finished = is_finished(self.out, recipe)
            self.out.sweep()
            receipts = finished_blocks(self.out)
            continued = len(receipts)
            if finished and continued == len(blocks):
                clear(self.out)
                return self._result(read_json(self.out, MANIFEST) or {}, continued=continued)
            with self._unchanged(stamps):
                self._fill(shards, blocks, receipts)
            return self._result(finish(self.out, recipe, receipts), continued=continued)

    @contextmanager
    def _unchanged(self, stamps: Mapping[str, Any]) -> Iterator[None]:
        """Raise an error, also instead of another one, if an input has changed since its stamp was taken.

        Nobody can say which blocks were read after the change, so all of them are forgotten.

        Raises:
            ChangedInputError: An input has changed.
        """
        cause: WeftError | None = None
        try:
            yield
        except WeftError as error:
            cause = error
        changed = next((source for source, stamp in stamps.items() if stamp_of(source) != stamp), None)
        if changed is not None or isinstance(cause, ChangedInputError):
            forget_blocks(self.out)
        if changed is not None:
            raise changed_input(changed) from cause
        if cause is not None:
            raise cause

    def _scan(self, sources: Sequence[str]) -> list[InputShard]:
        """Count and hash the inputs; in this process if there are few."""
        task = ShardScan(tuple(sources), self.reading)
        if len(sources) <= self.workers:
            return [InputShard.from_record(record) for record in map(task.start(), range(len(sources)))]
        found = []
        with closing(self.engine(task, range(len(sources)), workers=self.workers)) as results:
            for record in results:
                found.append(InputShard.from_record(record))
                self.progress("reading", len(found), len(sources))
        places = {source: place for place, source in enumerate(sources)}
        return sorted(found, key=lambda shard: places[shard.source])

    def _recipe(self, shards: Sequence[InputShard], size: int) -> Record:
        """Return everything that determines the output."""
        return {
            "format": 1,
            "weft": VERSION,
            "model": {"name": Path(self.scoring.model).name, "sha256": _model_hash(self.scoring.model)},
            "combine": self.scoring.combine,
            "settings": dict(self.scoring.settings),
            "genre": self.scoring.genre,
            "own_shuffles": self.scoring.own_shuffles,
            "text": self.scoring.text,
            "reading": _as_json(self.reading.recorded()),
            "shard_documents": size,
            "inputs": [shard.identity() for shard in shards],
        }

    def _fill(self, shards: Sequence[InputShard], blocks: Sequence[Block], receipts: dict[int, Record]) -> None:
        """Score the blocks that have no receipt; if a worker dies, go on as long as blocks are finished."""
        found = tuple(replace(shard, source=_absolute(shard.source)) for shard in shards)
        task = BlockScoring(found, tuple(blocks), self.reading, self.scoring, OutputFolder(_absolute(self.out.place)))
        total, failures = sum(map(len, blocks)), 0
        done = sum(len(blocks[number]) for number in receipts)
        while len(receipts) < len(blocks):
            before = len(receipts)
            missing = [number for number in range(len(blocks)) if number not in receipts]
            try:
                with closing(self.engine(task, missing, workers=min(self.workers, len(missing)))) as results:
                    for receipt in results:
                        receipts[receipt["block"]] = receipt
                        done += len(blocks[receipt["block"]])
                        self.progress("scoring", done, total)
            except WorkerStoppedError:
                receipts |= finished_blocks(self.out)
                failures = failures + 1 if len(receipts) == before else 0
                if failures == MOST_FAILURES:
                    raise

    def _result(self, manifest: Record, *, continued: int) -> ScoredShards:
        return ScoredShards(self.out.place, **manifest["totals"], continued=continued)


def _absolute(place: str) -> str:
    """Return a place that is the same for workers, which may have another working folder."""
    return place if is_url(place) else os.path.abspath(place)


def _as_json(values: Mapping[str, Any]) -> Record:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


def _model_hash(name: str) -> str:
    """Return the hash of the manifest of a model, which has the hashes of its files; empty for a model without one."""
    found = find_model(name)
    folder = found.folder or PRETRAINED / PACKAGE_FOLDERS.get(name, name)
    manifest = Path(str(folder)) / MODEL_MANIFEST
    return sha256_of(manifest) if manifest.is_file() else ""
