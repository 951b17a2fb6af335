"""Results of adversarial evaluations, as every task writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from weft.errors import ConfigError, check_known
from weft.evaluation.adversarial.chunks import Protocol
from weft.evaluation.adversarial.experiment import AdversarialOptions, Contest, contests
from weft.evaluation.adversarial.opponents import CONTROLS
from weft.evaluation.evaluate import Subject, data_path, sha256_of_data
from weft.evaluation.result import Result, summarize
from weft.evaluation.tasks import EvaluateOptions, find_task
from weft.progress import Progress, silent
from weft.scoring.pairs import checked_combine, estimator_of

TASK, CONTROL = "adversarial", "control-"


def adversarial_options(
    options: EvaluateOptions, settings: Mapping[str, Any], folder: Path
) -> tuple[AdversarialOptions, dict[str, Any]]:
    """Take ``decoding.`` and ``evaluator.`` settings out of a command's; what is left is the model's.

    Raises:
        ConfigError: There is no such setting.

    Example:
        >>> chosen, left = adversarial_options(EvaluateOptions(), {"decoding.beam": 5, "samples": 2}, Path("work"))
        >>> chosen.decoding.beam, left
        (5, {'samples': 2})
    """
    chosen = AdversarialOptions(folder, options.limit, seed=options.seed)
    left = {key: value for key, value in settings.items() if not key.startswith(("decoding.", "evaluator."))}
    _check_length(settings)
    decoding = _changed(chosen.decoding, settings, "decoding.")
    return replace(chosen, decoding=decoding, evaluator=_changed(chosen.evaluator, settings, "evaluator.")), left


def _check_length(settings: Mapping[str, Any]) -> None:
    longest = Protocol().longest + 1  # the end of a sentence is a token too
    asked = settings.get("decoding.max_tokens", longest)
    if isinstance(asked, int) and asked > longest:
        raise ConfigError(
            "evaluators read no sentence that long", seen=f"decoding.max_tokens={asked}", allowed=f"up to {longest}",
            next_step="leave it away",
        )  # fmt: skip


def _changed(old: Any, settings: Mapping[str, Any], section: str) -> Any:
    """Settings of one section put in the place of the old ones."""
    known = {f"{section}{one.name}": type(getattr(old, one.name)) for one in fields(old)}
    changes = {name: value for name, value in settings.items() if name.startswith(section)}
    for name, value in changes.items():
        check_known("setting", name, known)
        fits = type(value) is known[name] or (known[name] is float and type(value) is int)
        if not fits:
            raise ConfigError(
                f"{name} is of the wrong kind", seen=value, allowed=known[name].__name__, next_step="change --set"
            )
    return replace(old, **{name.removeprefix(section): value for name, value in changes.items()})


def evaluate_writers(
    subjects: Sequence[Subject],
    options: EvaluateOptions,
    adversarial: AdversarialOptions,
    *,
    command: str = "",
    progress: Progress = silent,
) -> Iterator[Result]:
    """One result for every subject; subjects of one name are one model in several ways of reranking."""
    data = data_path(find_task(TASK), options)
    sha256 = sha256_of_data(data)
    first = subjects[0]
    ways = [checked_combine(getattr(subject.model, "combine", "mmi")) for subject in subjects]
    found = contests(data, first.model, first.name, ways, adversarial, progress=progress)
    for subject, way in zip(subjects, ways, strict=True):
        made = {
            "estimator": estimator_of(subject.model, searching=True), "training": subject.training or {},
            "settings": {**(subject.settings or {}), "combine": way},
        }  # fmt: skip
        yield _result(subject.name, subject.variant or way, found[way], (data.name, sha256), options, command, made)


def evaluate_control(
    name: str,
    variant: str,
    options: EvaluateOptions,
    adversarial: AdversarialOptions,
    *,
    command: str = "",
    progress: Progress = silent,
) -> Result:
    """The result of a control, such as ``control-human``."""
    check_known("control", name, [CONTROL + one for one in CONTROLS])
    data = data_path(find_task(TASK), options)
    found = contests(data, None, name.removeprefix(CONTROL), (), adversarial, progress=progress)[""]
    return _result(name, variant, found, (data.name, sha256_of_data(data)), options, command, {})


def _result(
    name: str,
    variant: str,
    contest: Contest,
    data: tuple[str, str],
    options: EvaluateOptions,
    command: str,
    made: Mapping[str, Any],
) -> Result:
    metrics, intervals = summarize(contest.measures, seed=options.seed)
    per_page = {
        measure: {"numerators": parts.numerators, "denominators": parts.denominators}
        for measure, parts in contest.measures.items()
    }
    return Result(
        task=TASK, model=name, variant=variant, metrics=metrics, interval=intervals, n_documents=len(contest.pages),
        n_pairs=contest.contexts, ties=0, n_excluded=0, seed=options.seed,
        estimator=str(made.get("estimator", "exact")),
        data_name=find_task(TASK).data if options.data is None else data[0], data_sha256=data[1],
        negatives_sha256=str(contest.settings["chunks"]),
        command=command, settings={**made.get("settings", {}), **contest.settings}, training=made.get("training", {}),
        documents=list(contest.pages), per_document=per_page,
    )  # fmt: skip
