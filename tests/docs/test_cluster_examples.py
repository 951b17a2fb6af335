"""The examples for clusters: their syntax, what has to agree in them, and the commands that they run."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
import yaml
from torch.distributed.run import get_args_parser

import weft
from weft.cli import app
from weft.training.config import RunConfig, read_config

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "cluster"
SLURM = FOLDER / "slurm.sbatch"
# Stand for the programs of Slurm; srun ends when it is asked to, as torchrun does.
STUBS = {
    "scontrol": 'if [ "$1" = show ]; then printf "node1\\nnode2\\n"; else echo "$@" >> scontrol.log; fi',
    "srun": 'printf "%s\\n" "$@" > srun.log; trap "exit 1" TERM; '
    'if [ -n "${LONG:-}" ]; then touch started; while true; do sleep 0.05; done; fi',
}
VARIABLES = {"SLURM_JOB_NODELIST": "node[1-2]", "SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_ID": "17"}


def checked_training(words: Sequence[str]) -> RunConfig:
    """The run of a ``weft train`` command, after its options and its configuration were checked."""
    assert list(words[:2]) == ["weft", "train"]
    command = typer.main.get_command(app)
    assert isinstance(command, typer.core.TyperGroup)
    chosen = command.commands["train"].make_context("train", list(words[2:])).params
    return read_config(ROOT / chosen["config"], [*chosen["setting"], f"run.out={chosen['out']}"])


def checked_torchrun(words: Sequence[str]) -> Any:
    """The options of a ``torchrun`` command that runs ``weft train``."""
    assert words[0] == "torchrun"
    options = get_args_parser().parse_args(list(words[1:]))
    assert options.module
    run = checked_training([options.training_script, *options.training_script_args])
    assert run.model.name == "reader" and run.run.out == "zoo/reader"
    return options


def loaded(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FOLDER / name).read_text(encoding="utf-8")))


def check_pod(pod: dict[str, Any], folder: str) -> dict[str, Any]:
    """Check that a pod has an image, limits and all volumes that it mounts; return its only container."""
    (container,) = pod["containers"]
    volumes = {volume["name"] for volume in pod["volumes"]}
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert set(mounts) == volumes and folder in mounts.values()
    assert container["image"] and {"cpu", "memory"} <= set(container["resources"]["limits"])
    found: dict[str, Any] = container
    return found


# Slurm ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the programs of Slurm are stubs."""
    for name, text in STUBS.items():
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    return tmp_path


def sbatch_options() -> dict[str, str]:
    lines = [line for line in SLURM.read_text(encoding="utf-8").splitlines() if line.startswith("#SBATCH ")]
    pairs = [line.removeprefix("#SBATCH --").partition("=") for line in lines]
    return {name: value for name, _, value in pairs}


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_slurm_script_starts_torchrun_once_a_machine(cluster: Path) -> None:
    assert subprocess.run(["bash", "-n", str(SLURM)], check=False, capture_output=True, text=True).stderr == ""
    subprocess.run(["bash", str(SLURM)], cwd=cluster, check=True)
    torchrun = checked_torchrun((cluster / "srun.log").read_text().splitlines())
    options = sbatch_options()
    assert (torchrun.nnodes, torchrun.nproc_per_node) == (options["nodes"], options["gpus-per-node"])
    assert torchrun.rdzv_endpoint == "node1:29400" and torchrun.rdzv_id == VARIABLES["SLURM_JOB_ID"]
    assert options["ntasks-per-node"] == "1" and options["signal"].startswith("B:TERM@")
    assert {"time", "requeue", "output"} <= set(options)
    assert not (cluster / "scontrol.log").exists()  # a run that has ended is not put into the queue again


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_slurm_script_passes_the_signal_on_and_queues_the_job_again(cluster: Path) -> None:
    with subprocess.Popen(["bash", str(SLURM)], cwd=cluster, env={**os.environ, "LONG": "1"}) as script:
        while not (cluster / "started").exists():
            assert script.poll() is None
            time.sleep(0.02)
        script.send_signal(signal.SIGTERM)
        assert script.wait(timeout=30) != 0
    assert (cluster / "scontrol.log").read_text() == "requeue 17\n"


# Kubernetes -----------------------------------------------------------------------------------------------------------


def test_the_kubernetes_job_starts_torchrun_in_every_pod() -> None:
    service, job = loaded("kubernetes-job.yaml")
    assert (service["apiVersion"], service["kind"]) == ("v1", "Service")
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    name, spec = job["metadata"]["name"], job["spec"]
    pod = spec["template"]["spec"]
    assert service["spec"]["clusterIP"] == "None" and service["spec"]["selector"] == {"job-name": name}
    assert pod["subdomain"] == service["metadata"]["name"] and pod["restartPolicy"] == "Never"
    assert spec["completionMode"] == "Indexed" and spec["completions"] == spec["parallelism"]
    container = check_pod(pod, "/texts")
    (rank,) = container["env"]
    assert rank["valueFrom"]["fieldRef"]["fieldPath"].endswith("['batch.kubernetes.io/job-completion-index']")
    words = [word.replace(f"$({rank['name']})", "1") for word in [*container["command"], *container["args"]]]
    torchrun = checked_torchrun(words)
    assert (torchrun.nnodes, torchrun.node_rank) == (str(spec["completions"]), 1)
    assert torchrun.nproc_per_node == str(container["resources"]["limits"]["nvidia.com/gpu"])
    assert torchrun.master_addr == f"{name}-0.{pod['subdomain']}"  # the first pod


def ray_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("train_with_ray", FOLDER / "train_with_ray.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_kuberay_job_has_a_gpu_for_each_process() -> None:
    (job,) = loaded("kuberay-job.yaml")
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    cluster = job["spec"]["rayClusterSpec"]
    (group,) = cluster["workerGroupSpecs"]
    check_pod(cluster["headGroupSpec"]["template"]["spec"], "/texts")
    container = check_pod(group["template"]["spec"], "/texts")
    assert cluster["rayVersion"] and "rayStartParams" in cluster["headGroupSpec"] and "rayStartParams" in group
    assert group["groupName"] and group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
    python, script, *words = shlex.split(job["spec"]["entrypoint"])
    assert (python, Path(script).name) == ("python", "train_with_ray.py")
    options = ray_script().parser().parse_args(words)
    assert options.gpu
    assert options.workers == group["replicas"] * container["resources"]["limits"]["nvidia.com/gpu"]
    checked_training(["weft", "train", str(options.config), "--out", str(options.out)])


def test_a_worker_of_ray_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tales.jsonl").write_text('{"sentences": ["Once there was a king.", "He ruled."]}')
    (tmp_path / "run.toml").write_text('[model]\nname = "opening"\n[data]\ntrain = ["tales.jsonl"]\n')
    ray_script().train({"folder": str(tmp_path), "config": "run.toml", "out": "m", "command": "train"})
    assert weft.load(tmp_path / "m").score("Once there was a cat. He slept.").value is not None
