"""Blocks computed by Ray Data, on one machine or on the machines of a cluster.

Ray sends the numbers of blocks to workers, and gets receipts back. Texts and scores never pass through Ray: workers
read and write the files themselves. A worker that dies is replaced by Ray, which gives its blocks to another one.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Generator, Iterable
from typing import Any

from weft.corpora.process_pool import ONE_THREAD, WorkerTask
from weft.errors import ConfigError, WeftError
from weft.io.cpu_cores import usable_cores
from weft.scale.output_folder import Record

PER_WORKER = 16  # groups of blocks for each worker: small enough to share the work evenly
ADDRESS = "RAY_ADDRESS"


def with_ray(task: WorkerTask[int, Record], items: Iterable[int], *, workers: int) -> Generator[Record, None, None]:
    """Apply a task to numbers in workers of Ray, one core each; a cluster is used if RAY_ADDRESS names one.

    Raises:
        ConfigError: Ray is not installed.
        WeftError: The task raised it.
    """
    numbers = [{"item": number} for number in items]
    data = _ray_data(workers)
    groups = min(len(numbers), PER_WORKER * workers)
    dataset = data.from_items(numbers, override_num_blocks=groups).map_batches(
        _Worker,
        fn_constructor_args=(task,),
        batch_size=1,
        compute=data.ActorPoolStrategy(size=min(workers, groups)),
        num_cpus=1,
        runtime_env={"env_vars": ONE_THREAD},
    )
    for row in dataset.iter_rows():
        found = json.loads(row["result"])
        if "error" in found:
            raise WeftError(**found["error"])
        yield found["record"]


class _Worker:
    """A worker of Ray: the function of a task, made once."""

    def __init__(self, task: WorkerTask[int, Record]) -> None:
        self.function = task.start()

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {"result": [json.dumps(self._result(int(number))) for number in batch["item"]]}

    def _result(self, number: int) -> Record:
        try:
            return {"record": self.function(number)}
        except WeftError as error:
            seen = None if error.seen is None else str(error.seen)
            parts = {"what": error.what, "seen": seen, "allowed": error.allowed, "next_step": error.next_step}
            return {"error": parts}


def _ray_data(workers: int) -> Any:
    """Return the module ray.data, connected to a cluster or started on this machine, without messages of its own."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise ConfigError(
            "Ray is not installed",
            seen=f"engine ray ({error})",
            allowed="engine processes without it",
            next_step="pip install 'weft-coherence[scale]', or use --workers without --engine",
        ) from error
    if not ray.is_initialized():
        cores = {} if os.environ.get(ADDRESS) else {"num_cpus": max(workers, usable_cores())}
        ray.init(log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False, **cores)
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    ray.data.DataContext.get_current().enable_progress_bars = False
    return ray.data
