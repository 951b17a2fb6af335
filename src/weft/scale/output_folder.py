"""The output of a run: shards, side files of bad rows, and a manifest, in a folder on disk or at a URL.

Every file is written under another name and then renamed. A block is done when its receipt exists, which is written
last. So a run that was killed continues with the blocks that have no receipt, or whose files have disappeared since. A
block that is done twice gives the same bytes under the same name. The manifest is written when all blocks are done, and
replaces plan and receipts.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from weft.errors import CorpusError
from weft.io.atomic_files import explain_write_errors, write_atomically
from weft.io.folder_locks import RANDOM_END, try_lock
from weft.io.url_files import explain_url_errors, file_system, is_url, write_url_atomically

PLAN, MANIFEST = "plan.json", "manifest.json"
RECEIPTS = "receipts"
_TEMPORARY = re.compile(rf"\.(part-\d+[a-z.-]*|plan\.json|manifest\.json)\.{RANDOM_END}")

Record = dict[str, Any]


def shard_name(block: int) -> str:
    """Return the name of the output shard of a block.

    Example:
        >>> shard_name(7)
        'part-00007.jsonl'
    """
    return f"part-{block:05d}.jsonl"


def bad_rows_name(block: int) -> str:
    """Return the name of the file with the rows of a block that were not scored."""
    return f"part-{block:05d}.bad.jsonl"


def receipt_name(block: int) -> str:
    """Return the name of the receipt of a block."""
    return f"{RECEIPTS}/part-{block:05d}.json"


class OutputFolder:
    """A folder on disk or at an fsspec URL; it can be sent to other processes.

    Args:
        place: Path or URL.

    Example:
        >>> import tempfile
        >>> folder = OutputFolder(tempfile.mkdtemp())
        >>> with folder.writing("a/b.json") as file:
        ...     _ = file.write(b"{}")
        >>> folder.read("a/b.json"), folder.read("c.json"), folder.names("a")
        (b'{}', None, ['b.json'])
    """

    def __init__(self, place: str) -> None:
        self.place = place.rstrip("/") if is_url(place) else place

    def writing(self, name: str) -> Any:
        """Open a file that appears when the block ends without an error."""
        return write_url_atomically(self._url(name)) if is_url(self.place) else write_atomically(self._path(name))

    def read(self, name: str) -> bytes | None:
        """Return the contents of a file, or None if there is no such file."""
        if not is_url(self.place):
            path = self._path(name)
            return path.read_bytes() if path.is_file() else None
        system, path_there = file_system(self._url(name))
        with explain_url_errors(self._url(name)):
            return bytes(system.cat_file(path_there)) if system.exists(path_there) else None

    def names(self, folder: str = "") -> list[str]:
        """Return the names of the files of a folder in this one, sorted; none if it does not exist."""
        if not is_url(self.place):
            place = self._path(folder)
            with explain_write_errors(place):
                return sorted(os.listdir(place)) if place.exists() else []
        system, path = file_system(self._url(folder))
        with explain_url_errors(self.place):
            found = system.ls(path, detail=False) if system.exists(path) else []
        return sorted(str(one).rstrip("/").rpartition("/")[2] for one in found)

    def sizes(self) -> dict[str, int]:
        """Return the sizes of the files of this folder in bytes; none if it does not exist."""
        if not is_url(self.place):
            place = Path(self.place)
            with explain_write_errors(place):
                return {one.name: one.stat().st_size for one in os.scandir(place)} if place.exists() else {}
        system, path = file_system(self.place)
        with explain_url_errors(self.place):
            system.invalidate_cache()  # workers write without this process
            found = system.ls(path, detail=True) if system.exists(path) else []
        return {str(one["name"]).rstrip("/").rpartition("/")[2]: int(one["size"] or 0) for one in found}

    def delete(self, name: str) -> None:
        """Delete a file."""
        if not is_url(self.place):
            self._path(name).unlink(missing_ok=True)
            return
        system, path = file_system(self._url(name))
        with explain_url_errors(self._url(name)):
            system.rm_file(path)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the folder for this process during the block; folders at URLs have no locks.

        Raises:
            CorpusError: Another process writes to it.
        """
        if is_url(self.place):
            yield
            return
        with explain_write_errors(Path(self.place)):
            Path(self.place).mkdir(parents=True, exist_ok=True)
            lock = try_lock(Path(self.place))
        if lock is None:
            raise CorpusError(
                "another process is writing to this folder",
                seen=self.place,
                allowed="one run at a time for each output folder",
                next_step="wait until it ends, or choose another folder",
            )
        try:
            yield
        finally:
            os.close(lock)

    def sweep(self) -> None:
        """Delete temporary files that killed processes have left."""
        for folder in ("", RECEIPTS):
            for name in self.names(folder):
                if _TEMPORARY.fullmatch(name):
                    self.delete(f"{folder}/{name}" if folder else name)

    def _path(self, name: str) -> Path:
        return Path(self.place, name)

    def _url(self, name: str) -> str:
        return f"{self.place}/{name}" if name else self.place


def write_json(folder: OutputFolder, name: str, record: Mapping[str, Any]) -> None:
    """Write a record as one JSON file; equal records give equal bytes."""
    file: IO[bytes]
    with folder.writing(name) as file:
        file.write((json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())


def read_json(folder: OutputFolder, name: str) -> Record | None:
    """Return the record of a JSON file, or None if there is no such file.

    Raises:
        CorpusError: The file is damaged.
    """
    data = folder.read(name)
    if data is None:
        return None
    try:
        return dict(json.loads(data))
    except (ValueError, TypeError) as error:
        raise CorpusError(
            f"not a file that weft wrote: {folder.place}/{name}",
            seen=str(error),
            allowed="a folder of an earlier run, or a new one",
            next_step="choose another folder",
        ) from error


def is_finished(folder: OutputFolder, recipe: Mapping[str, Any]) -> bool:
    """Return whether a folder has all the output of a recipe; begin it if the folder is new.

    Raises:
        CorpusError: The folder contains something else.
    """
    found = read_json(folder, MANIFEST)
    begun = found["recipe"] if found is not None and "recipe" in found else read_json(folder, PLAN)
    if begun is not None:
        _check_same(folder, begun, recipe)
        return found is not None
    if others := [name for name in folder.names() if not _TEMPORARY.fullmatch(name)]:
        raise CorpusError(
            "the output folder contains other files",
            seen=f"{folder.place}: {', '.join(others[:3])}",
            allowed="a new or empty folder, or that of an earlier run with the same inputs and options",
            next_step="choose another folder with --out",
        )
    write_json(folder, PLAN, recipe)
    return False


def _check_same(folder: OutputFolder, begun: Mapping[str, Any], recipe: Mapping[str, Any]) -> None:
    changed = sorted(key for key in {*begun, *recipe} if begun.get(key) != recipe.get(key))
    if changed:
        raise CorpusError(
            f"the output folder has scores of other inputs or options: {', '.join(changed)} changed",
            seen=folder.place,
            allowed="the inputs, options, model and version of weft of the earlier run",
            next_step="choose another folder with --out, or delete this one",
        )


def finished_blocks(folder: OutputFolder) -> dict[int, Record]:
    """Return the receipts of the blocks that are done, by the number of the block.

    They are in the manifest of a finished run, or in files of their own. A receipt whose files are missing or have
    another size does not count: its block is done again.
    """
    sizes = folder.sizes()
    records = list((read_json(folder, MANIFEST) or {}).get("shards", []))
    for name in folder.names(RECEIPTS):
        record = read_json(folder, f"{RECEIPTS}/{name}") if name.endswith(".json") else None
        if record is not None:
            records.append(record)
    return {int(record["block"]): record for record in records if _is_whole(record, sizes)}


def _is_whole(receipt: Mapping[str, Any], sizes: Mapping[str, int]) -> bool:
    """Return whether the files of a receipt exist and have their sizes."""
    files = {"name": "bytes", "bad_rows_name": "bad_rows_bytes"}
    return all(sizes.get(receipt[name], -1) == receipt.get(size) for name, size in files.items() if name in receipt)


def forget_blocks(folder: OutputFolder) -> None:
    """Delete the receipts, so that all blocks are done again."""
    for name in folder.names(RECEIPTS):
        folder.delete(f"{RECEIPTS}/{name}")


def finish(folder: OutputFolder, recipe: Mapping[str, Any], receipts: Mapping[int, Record]) -> Record:
    """Write the manifest, delete plan and receipts, and return the manifest."""
    shards = [receipts[block] for block in sorted(receipts)]
    totals = {name: sum(shard[name] for shard in shards) for name in ("documents", "without_score", "bad_rows")}
    manifest = {"totals": {"shards": len(shards), **totals}, "recipe": dict(recipe), "shards": shards}
    write_json(folder, MANIFEST, manifest)
    clear(folder)
    return manifest


def clear(folder: OutputFolder) -> None:
    """Delete what a finished run does not need: plan, receipts and temporary files."""
    folder.sweep()
    forget_blocks(folder)
    if not is_url(folder.place) and Path(folder.place, RECEIPTS).is_dir():
        Path(folder.place, RECEIPTS).rmdir()
    if PLAN in folder.names():
        folder.delete(PLAN)
