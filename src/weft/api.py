"""The public functions: score, order, generate, compare, compare_models, evaluate and train.

Texts are strings, Documents, or many of them in a list or a Series. One text gives one result, many give a list.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from weft.call_options import OrderOptions, ScoreOptions
from weft.document import Continuation, Document, Score
from weft.errors import ConfigError, packages_named
from weft.io.devices import on_device
from weft.loaded_model import AnyModel, Model, as_model
from weft.models.common.thread_pool import few_threads
from weft.ordering.order import Objective, Search
from weft.ordering.ordering import Ordering
from weft.progress import Progress, silent
from weft.registry import DEFAULT_MODEL, DEFAULT_WRITER
from weft.settings import check_count, check_type

if TYPE_CHECKING:
    from weft.evaluation.model_comparison import Versus
    from weft.evaluation.result import Result
    from weft.evaluation.task_contract import EvaluateOptions, Subject
    from weft.evaluation.text_comparison import Revision
    from weft.generation.decoding_settings import Decoding
    from weft.training.config import RunConfig


@overload  # a str is a text here, never an iterable of letters
def score(  # type: ignore[overload-overlap]
    texts: str | Document, *, model: AnyModel = ..., **options: Unpack[ScoreOptions]
) -> Score: ...


@overload
def score(
    texts: Iterable[str | Document], *, model: AnyModel = ..., **options: Unpack[ScoreOptions]
) -> list[Score]: ...


def score(
    texts: str | Document | Iterable[str | Document],
    *,
    model: AnyModel = DEFAULT_MODEL,
    combine: str | None = None,
    language: str = "en",
    genre: str | None = None,
    own_shuffles: bool = False,
) -> Score | list[Score]:
    """Score how well the sentences of texts fit together; higher is more coherent.

    Args:
        texts: A str (a whole text), a Document, or a list or Series of them.
        model: Name, folder, or what `load` returned; a model given by name is loaded once per process.
        combine: ``uni``, ``bi`` or ``mmi``, for a generative model; the default is the model's own.
        language: Language of the sentence splitter.
        genre: Genre of the reference texts of the percentile, such as ``essay``, or ``all``; guessed by default.
        own_shuffles: Whether to set `shuffles_beaten` with any model; a `reader` always sets it, others take longer.

    Returns:
        One `Score` for one text, a list for many.

    Raises:
        WeftError: There is no such model, combination, language or genre, or something is not a text.

    Example:
        >>> found = score("The cat slept. It purred. Rates rose.", model="foltz-glove")
        >>> [round(value, 1) for value in found.transitions], found.breaks
        ([0.7, 0.5], (1,))
    """
    return as_model(model).score(texts, combine=combine, language=language, genre=genre, own_shuffles=own_shuffles)


@overload
def order(  # type: ignore[overload-overlap]
    texts: str | Document, *, model: AnyModel = ..., **options: Unpack[OrderOptions]
) -> Ordering: ...


@overload
def order(
    texts: Iterable[str | Document], *, model: AnyModel = ..., **options: Unpack[OrderOptions]
) -> list[Ordering]: ...


def order(
    texts: str | Document | Iterable[str | Document],
    *,
    model: AnyModel = DEFAULT_MODEL,
    combine: str | None = None,
    first_given: bool = False,
    search: Search = "auto",
    objective: Objective = "auto",
    beam: int = 10,
    seed: int = 1,
    language: str = "en",
) -> Ordering | list[Ordering]:
    """Put the sentences of texts into the most coherent order.

    Args:
        texts: A str (a whole text), a Document, or a list or Series of them.
        model: Name, folder, or what `load` returned.
        combine: ``uni``, ``bi`` or ``mmi``, for a generative model; the default is the model's own.
        first_given: Whether the first sentence of the input stays first.
        search: ``auto``, ``exact``, ``beam`` or ``greedy``.
        objective: ``auto``, ``coherence``, ``precedence`` or ``both``.
        beam: Beam width.
        seed: Seed of the random choice between equal orders.
        language: Language of the sentence splitter.

    Returns:
        One `Ordering` for one text, a list for many.

    Raises:
        WeftError: There is no such model, search or objective, a number is out of range, or something is not a text.

    Example:
        >>> order("He died in 1870. He was born in 1812.", model="year-sort").sentences
        ('He was born in 1812.', 'He died in 1870.')
    """
    return as_model(model).order(
        texts, combine=combine, first_given=first_given, search=search, objective=objective, beam=beam, seed=seed,
        language=language,
    )  # fmt: skip


@overload
def generate(
    texts: str | Document, *, model: AnyModel = ..., sentences: int = ..., decoding: Decoding | None = ...,
    **options: Any,
) -> Continuation: ...  # fmt: skip


@overload
def generate(
    texts: Iterable[str | Document], *, model: AnyModel = ..., sentences: int = ..., decoding: Decoding | None = ...,
    **options: Any,
) -> list[Continuation]: ...  # fmt: skip


def generate(
    texts: str | Document | Iterable[str | Document],
    *,
    model: AnyModel = DEFAULT_WRITER,
    sentences: int = 1,
    combine: str | None = None,
    rerank: AnyModel | None = None,
    decoding: Decoding | None = None,
    language: str = "en",
    **options: Any,
) -> Continuation | list[Continuation]:
    """Continue texts, sentence by sentence.

    Args:
        texts: A str (a whole text), a Document, or a list or Series of them.
        model: Name, folder, or what `load` returned; a generative model.
        sentences: Number of sentences to write.
        combine: ``uni`` takes the first choice of the search; ``bi`` and ``mmi`` rerank its N-best list. The default
            is the model's own.
        rerank: Another model that chooses among the N-best list: name, folder, or what `load` returned. The default
            is the model itself, and weft-reader for `hf`.
        decoding: How sentences are searched or sampled.
        language: Language of the sentence splitter.
        options: Fields of `weft.Decoding` by name, such as ``method="sample"`` or ``seed=3``; they change ``decoding``.

    Returns:
        One `Continuation` for one text, a list for many.

    Raises:
        ConfigError: The model cannot write, or an option is unknown or has a wrong value.

    Example:
        >>> found = generate("The cat slept. It purred.", sentences=2, beam=4)
        >>> len(found.sentences)
        2
    """
    return as_model(model).generate(
        texts, sentences=sentences, combine=combine, rerank=rerank, decoding=decoding, language=language, **options
    )


def compare(
    first: object, second: object, *, model: AnyModel = DEFAULT_MODEL, combine: str | None = None, language: str = "en"
) -> Revision:
    """Compare two versions of a text: which sentences changed, and how each transition changed.

    Args:
        first: A str (a whole text) or a Document.
        second: The other version.
        model: Name, folder, or what `load` returned.
        combine: ``uni``, ``bi`` or ``mmi``, for a generative model; the default is the model's own.
        language: Language of the sentence splitter.

    Raises:
        WeftError: There is no such model, combination or language, or something is not a text.

    Example:
        >>> found = compare("A cat sat. It slept.", "A cat sat. It slept. Rain fell.", model="foltz-sif")
        >>> [sentence.kind for sentence in found.sentences]
        ['same', 'same', 'added']
    """
    return as_model(model).compare(first, second, combine=combine, language=language)


def compare_models(
    first: str | Path | Result,
    second: str | Path | Result,
    *,
    task: str = "",
    data: str | Path | None = None,
    metric: str = "",
    results: str | Path = "results",
    options: EvaluateOptions | None = None,
    command: str = "",
    progress: Progress = silent,
) -> Versus:
    """Compare two models on a task, by paired bootstrap and document by document.

    Args:
        first: A model's name or folder, such as ``seq2seq.mmi``, a result file, or what `evaluate` returned.
        second: Another of them.
        task: Name of the task; not needed for results.
        data: Name of a standard set or a file of documents; the default is the task's standard data.
        metric: Metric by which documents are compared; the first one of the task by default.
        results: Results folder; a model that has no result there is evaluated, and its result is not written.
        options: All other options of the task.
        command: Command to record in a new result.
        progress: Receives the progress of an evaluation.

    Returns:
        The differences with their intervals, and the documents that differ most.

    Raises:
        ConfigError: A model, the task, the data or the metric is unknown, or the results differ in task or data.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "lives.jsonl"
        >>> _ = file.write_text('{"sentences": ["Born in 1812.", "Rich in 1837.", "Died in 1870."]}')
        >>> found = compare_models("year-sort", "random", task="pairs", data=file, results=file.parent)
        >>> found.comparisons["accuracy"].difference > 0
        True
    """
    from weft.evaluation.model_comparison import compare_models as compare_two
    from weft.evaluation.result import Result
    from weft.evaluation.result_lookup import find_result
    from weft.evaluation.task_contract import checked_options
    from weft.evaluation.tasks import find_experiment

    chosen = checked_options(options)
    name = None if data is None else str(data)
    check_type("task", task, "")
    if task:
        find_experiment(task, name)  # an unknown task is reported before a model is loaded
    one, other = (
        given
        if isinstance(given, Result)
        else find_result(str(given), task, name, Path(results), chosen, command=command, progress=progress)
        for given in (first, second)
    )
    return compare_two(one, other, metric=metric, seed=chosen.seed)


@packages_named()
def evaluate(
    task: str,
    *,
    data: str | Path | None = None,
    model: AnyModel | Subject = DEFAULT_MODEL,
    combine: str | None = None,
    options: EvaluateOptions | None = None,
    limit: int | None = None,
    seed: int | None = None,
    command: str = "",
    progress: Progress = silent,
) -> Result:
    """Evaluate a model on a task.

    Args:
        task: Name of the task, such as ``pairs`` (see `weft evaluate --help`).
        data: Name of a standard set or a file of documents; the default is the task's standard data.
        model: Name, folder, what `load` returned, or a `weft.evaluation.task_contract.Subject`.
        combine: ``uni``, ``bi`` or ``mmi``, for a generative model.
        options: All other options of the task.
        limit: Number of documents; all by default.
        seed: Seed of permutations, searches and intervals; 1 by default.
        command: Command to record in the result.
        progress: Receives the progress of the evaluation.

    Returns:
        The metrics with their intervals, and everything needed to repeat the evaluation.

    Raises:
        ConfigError: The task, the data or the model is unknown, or an option has a wrong value.
        CorpusError: The data cannot be read.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "lives.jsonl"
        >>> _ = file.write_text('{"sentences": ["Born in 1812.", "Rich in 1837.", "Died in 1870."]}')
        >>> evaluate("pairs", data=file, model="year-sort").metrics["accuracy"]
        1.0
    """
    from weft.evaluation.evaluate import evaluate as run
    from weft.evaluation.task_contract import checked_options, data_name
    from weft.evaluation.tasks import find_experiment, find_task

    chosen = checked_options(options)
    # Wrong names and numbers are reported before a model is loaded.
    find_experiment(task, None if data is None else data_name(data))
    limit = chosen.limit if limit is None else limit
    if limit is not None:
        check_count("limit", limit)
    subject = _subject(task, model, combine)
    chosen = replace(
        chosen,
        settings=find_task(task).split_settings(chosen.settings)[1],
        limit=limit,
        seed=chosen.seed if seed is None else seed,
    )
    on_device(subject.model, chosen.device)
    with few_threads():
        return run(task, subject, None if data is None else str(data), chosen, command=command, progress=progress)


def _subject(task: str, model: AnyModel | Subject, combine: str | None) -> Subject:
    from weft.evaluation.evaluated_models import combined_subject, load_subjects, loaded_subject, with_combination
    from weft.evaluation.task_contract import Subject

    if isinstance(model, str | Path):
        (subject,) = load_subjects(task, str(model), {}, combine=[combine] if combine else [])
        return subject
    if not isinstance(model, Subject):
        found = as_model(model)
        if found.source:
            subject = loaded_subject(found.inner, found.source, found.settings)
            return combined_subject(task, subject, combine or found.combination)
        model = Subject(found.inner, found.name)
        combine = combine or found.combination
    return with_combination(model, combine) if combine else model


@packages_named()
def train(
    config: str | Path | Mapping[str, Any] | RunConfig,
    *,
    out: str | Path | None = None,
    parts: Sequence[str] = (),
    data_root: str | None = None,
    command: str = "",
    progress: Progress = silent,
) -> Model:
    """Train a model from a configuration and write its folder; a run that was stopped continues.

    Args:
        config: A TOML file, its content as a mapping, or a parsed configuration.
        out: Model folder to write; the default is ``run.out`` of the configuration.
        parts: Parts of a neural model to train; all by default.
        data_root: Folder of the research data.
        command: Command to record in the model folder.
        progress: Receives the progress of the run.

    Returns:
        The trained model.

    Raises:
        ConfigError: The configuration has an unknown name or a wrong value, or no output folder is given.
        CorpusError: The data cannot be read.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "tales.jsonl"
        >>> _ = file.write_text('{"sentences": ["Once there was a king.", "He ruled."]}')
        >>> config = {"model": {"name": "opening"}, "data": {"train": [str(file)]}}
        >>> train(config, out=file.parent / "model").score("Once there was a cat. He slept.").value > 0
        True
    """
    from weft.training.config import RunConfig, build_config, read_config
    from weft.training.runs import train as run

    if not isinstance(config, str | Path | Mapping | RunConfig):
        raise ConfigError(
            "not a training configuration",
            seen=config,
            allowed="a TOML file, its content as a mapping, or a RunConfig",
            next_step="run `weft config MODEL` to see an example",
        )
    if isinstance(config, Mapping):
        chosen = build_config(config, to_run=True)
    else:
        chosen = read_config(config) if isinstance(config, str | Path) else config
    if out is not None:
        chosen = replace(chosen, run=replace(chosen.run, out=str(out)))
    trained = run(chosen, parts=parts, data_root=data_root, command=command, progress=progress)
    return Model(trained, chosen.model.name, source=str(chosen.run.out))
