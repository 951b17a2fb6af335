"""Train a model in the workers of a Ray cluster, one process for each GPU: what `torchrun` does without Ray.

    python examples/cluster/train_with_ray.py configs/reader.toml --workers 16 --gpu --out /shared/zoo/reader

The configuration, its data and the output must be in a folder that all machines share. If a worker or a machine fails,
Ray starts all workers again, and the run continues from its last checkpoint; so does the same command.
"""

import argparse
import os
from pathlib import Path


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(description="Train a model in the workers of a Ray cluster.")
    made.add_argument("config", type=Path, help="TOML file, as for weft train")
    made.add_argument("--out", type=Path, required=True, help="model folder to write")
    made.add_argument("--workers", type=int, default=2, help="number of processes")
    made.add_argument("--gpu", action="store_true", help="one GPU for each process")
    made.add_argument("--folder", type=Path, default=Path.cwd(), help="folder that relative paths are in")
    made.add_argument("--failures", type=int, default=10, help="number of times that Ray starts failed workers again")
    return made


def train(job: dict[str, str]) -> None:
    """Train in one worker; Ray has told it its number and connected it with the others."""
    import weft

    os.chdir(job["folder"])
    weft.train(job["config"], out=job["out"], command=job["command"])


def main() -> None:
    """Start the workers and wait for them."""
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    options = parser().parse_args()
    job = {"folder": str(options.folder.resolve()), "config": str(options.config), "out": str(options.out)}
    job["command"] = f"train_with_ray.py {options.config} --out {options.out}"
    TorchTrainer(
        train,
        train_loop_config=job,
        scaling_config=ScalingConfig(num_workers=options.workers, use_gpu=options.gpu),
        # Ray writes its own records beside the model; checkpoints of weft are in its run folder.
        run_config=RunConfig(
            storage_path=str((options.folder / f"{options.out}.ray").resolve()),
            failure_config=FailureConfig(max_failures=options.failures),
        ),
    ).fit()


if __name__ == "__main__":
    main()
