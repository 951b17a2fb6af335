"""Run the commands of files side by side, in the order of their dependencies.

    python tools/side_by_side.py configs/paper/generative-rows.jobs --slots 14 --minutes 25
    python tools/side_by_side.py configs/paper/generative-rows.jobs --list

Each job of the file is a line ``name: command``, with ``name (after one two): command`` if it needs other jobs first,
and ``name (takes 3): command`` or ``name (after one; takes 3): command`` if it takes the memory of three usual jobs.
A line that ends with a backslash goes on in the next, and lines that begin with # are comments. Jobs that are higher up
in the file start first. The output of each job goes to a file in --logs. Jobs that have not ended after --minutes are
asked to stop: a training then writes a checkpoint, and the same command continues it. One GPU trains many small
networks at once in less time than one after the other.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

JOB = re.compile(
    r"(?P<name>[\w.-]+)(?: \((?:after (?P<after>[^);]+))?(?:; )?(?:takes (?P<slots>\d+))?\))?: (?P<command>.+)",
    re.DOTALL,
)
WAITING, RUNNING, DONE, FAILED, STOPPED = "waiting", "running", "done", "failed", "stopped"
PAUSE = 0.2  # seconds between two looks at the running jobs


@dataclass(slots=True)
class Job:
    """A command and its state."""

    name: str
    command: str
    after: tuple[str, ...] = ()
    slots: int = 1  # of those that run at once
    state: str = WAITING
    began: float = 0.0
    seconds: float = 0.0
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)


def read_jobs(lines: Iterable[str]) -> list[Job]:
    """Return the jobs of a file.

    Raises:
        ValueError: A line cannot be read, a name occurs twice, or a job needs one that is not above it.

    Example:
        >>> [(job.name, job.after) for job in read_jobs(["a: echo 1", "b (after a): echo 2"])]
        [('a', ()), ('b', ('a',))]
        >>> read_jobs(["a (takes 3): echo 1"])[0].slots
        3
    """
    jobs: dict[str, Job] = {}
    text = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines).replace("\\\n", " ")
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        found = JOB.fullmatch(line)
        if found is None:
            raise ValueError(f"not a job: {line!r}; write `name: command` or `name (after other): command`")
        after = tuple((found["after"] or "").split())
        job = Job(found["name"], " ".join(found["command"].split()), after, int(found["slots"] or 1))
        missing = [name for name in job.after if name not in jobs]
        if job.name in jobs or missing:
            raise ValueError(f"job {job.name!r} occurs twice" if job.name in jobs else f"no job {missing[0]!r} above")
        jobs[job.name] = job
    return list(jobs.values())


def run_jobs(jobs: Sequence[Job], *, slots: int, seconds: float, logs: Path) -> bool:
    """Run jobs until all have ended or the time is over; return whether all are done."""
    logs.mkdir(parents=True, exist_ok=True)
    states = {job.name: job for job in jobs}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        running = [job for job in jobs if job.state == RUNNING]
        for job in running:
            _look_at(job)
        ready = [job for job in jobs if job.state == WAITING and all(states[name].state == DONE for name in job.after)]
        running = [job for job in jobs if job.state == RUNNING]
        free = slots - sum(job.slots for job in running)
        for job in ready:
            # A job that is larger than all slots runs alone.
            if job.slots <= free or (not running and job is ready[0]):
                _start(job, logs)
                free -= job.slots
        if not running and not ready:
            break
        time.sleep(PAUSE)
    for job in jobs:
        if job.state == RUNNING and job.process is not None:
            os.killpg(job.process.pid, signal.SIGTERM)
            job.process.wait()
            job.state = STOPPED
            print(f"{job.name}: stopped after {time.monotonic() - job.began:.0f} s", flush=True)
    return all(job.state == DONE for job in jobs)


def _start(job: Job, logs: Path) -> None:
    job.state, job.began = RUNNING, time.monotonic()
    with (logs / f"{job.name}.log").open("wb") as log:
        job.process = subprocess.Popen(
            ["bash", "-c", job.command], stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )


def _look_at(job: Job) -> None:
    """Update the state of a running job, and print a line if it has ended."""
    assert job.process is not None
    code = job.process.poll()
    if code is None:
        return
    job.state, job.seconds = (DONE if code == 0 else FAILED), time.monotonic() - job.began
    print(f"{job.name}: {job.state} after {job.seconds:.0f} s", flush=True)


def main() -> int:
    """Run the jobs of a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="+", help="files of jobs; a job may need one of an earlier file")
    parser.add_argument("--slots", type=int, default=4, help="number of usual jobs at once")
    parser.add_argument("--minutes", type=float, default=24 * 60.0, help="time after which running jobs are stopped")
    parser.add_argument("--logs", type=Path, default=Path("runs/logs"), help="folder for the output of jobs")
    parser.add_argument("--only", nargs="*", default=[], help="names of jobs to run, with those they need")
    parser.add_argument("--list", action="store_true", help="print the jobs instead")
    options = parser.parse_args()
    jobs = read_jobs(line for file in options.files for line in file.read_text(encoding="utf-8").splitlines())
    chosen = needed(jobs, options.only) if options.only else jobs
    if options.list:
        for job in chosen:
            print(f"{job.name}: {job.command}")
        return 0
    return 0 if run_jobs(chosen, slots=options.slots, seconds=60 * options.minutes, logs=options.logs) else 1


def needed(jobs: Sequence[Job], names: Sequence[str]) -> list[Job]:
    """Return the named jobs and all that they need, in the order of the file.

    Example:
        >>> [job.name for job in needed(read_jobs(["a: x", "b: y", "c (after a): z"]), ["c"])]
        ['a', 'c']
    """
    wanted = set(names)
    for job in reversed(jobs):
        if job.name in wanted:
            wanted.update(job.after)
    return [job for job in jobs if job.name in wanted]


if __name__ == "__main__":
    raise SystemExit(main())
