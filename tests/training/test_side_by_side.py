"""The tool that runs the commands of a file side by side."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.side_by_side import DONE, FAILED, STOPPED, WAITING, read_jobs, run_jobs

ROWS = Path(__file__).parents[2] / "configs/paper/generative-rows.jobs"


def test_jobs_run_after_those_they_need(tmp_path: Path) -> None:
    out = tmp_path / "order"
    jobs = read_jobs([f"one: sleep 0.3; echo one >> {out}", f"two (after one): echo two >> {out}"])
    assert run_jobs(jobs, slots=2, seconds=30, logs=tmp_path)
    assert out.read_text().split() == ["one", "two"]


def test_a_failed_job_stops_only_those_that_need_it(tmp_path: Path) -> None:
    jobs = read_jobs(["bad: exit 3", "needs (after bad): echo x", "other: echo said"])
    assert not run_jobs(jobs, slots=2, seconds=30, logs=tmp_path)
    assert [job.state for job in jobs] == [FAILED, WAITING, DONE]
    assert (tmp_path / "other.log").read_text() == "said\n"


def test_jobs_are_stopped_when_the_time_is_over(tmp_path: Path) -> None:
    jobs = read_jobs(["long: sleep 60"])
    assert not run_jobs(jobs, slots=1, seconds=0.5, logs=tmp_path)
    assert jobs[0].state == STOPPED


@pytest.mark.parametrize("line", ["no colon", "b (after missing): echo", "a: x\na: y"])
def test_lines_that_cannot_be_read_are_errors(line: str) -> None:
    with pytest.raises(ValueError, match="job"):
        read_jobs(line.splitlines())


def test_the_jobs_of_the_generative_rows_can_be_read() -> None:
    jobs = {job.name: job for job in read_jobs(ROWS.read_text(encoding="utf-8").splitlines())}
    assert jobs["vlv-gm-1"].after == ("vlv-gm-1-forward", "vlv-gm-1-backward")
    assert all(
        Path(ROWS.parents[2] / word).is_file()
        for job in jobs.values()
        for word in job.command.split()
        if word.startswith("configs/")
    )


def test_large_jobs_take_several_slots(tmp_path: Path) -> None:
    mark = f"test ! -e {tmp_path}/busy && touch {tmp_path}/busy && sleep 0.3 && rm {tmp_path}/busy"
    jobs = read_jobs(
        [f"a (takes 2): {mark}", f"b (after a; takes 2): {mark}", f"c (takes 2): {mark}", "d (takes 9): true"]
    )
    assert [(job.after, job.slots) for job in jobs] == [((), 2), (("a",), 2), ((), 2), ((), 9)]
    assert run_jobs(jobs, slots=3, seconds=20, logs=tmp_path / "logs")  # fails if two of them run at once
    assert {job.state for job in jobs} == {DONE}
