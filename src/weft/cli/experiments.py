"""Commands of experiments: corrupt, evaluate, samples, calibrate, table, plots."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from weft.cli.options import (
    DEFAULT_MODEL,
    Column,
    DataRoot,
    Encoding,
    Format,
    Input,
    Language,
    Model,
    Objective,
    OutputFormat,
    Seed,
    Setting,
    TableFormat,
    command_line,
)


def corrupt(
    source: Annotated[str, typer.Argument(help="A file of documents.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The JSONL file to write.")],
    permutations: Annotated[int, typer.Option(min=0, help="Permutations per document.")] = 20,
    replacements: Annotated[
        int,
        typer.Option(min=0, help="Sentence replacements per document."),
    ] = 0,
    seed: Seed = 1,
    input: Input = "auto",
    encoding: Encoding = "utf-8",
    language: Language = "en",
    column: Column = "text",
) -> None:
    """Write documents with seeded negatives, once, so that all models see the same.

    Example: weft corrupt mine.jsonl --out mine.pairs.jsonl --permutations 20
    """
    from weft.cli.output import message, read_options
    from weft.corpora.corrupt import corrupt_file

    written = corrupt_file(
        source,
        out,
        permutations_each=permutations,
        replacements_each=replacements,
        seed=seed,
        options=read_options(input, encoding, language, column),
    )
    message(f"wrote {written} documents to {out}")


def evaluate(
    task: Annotated[
        list[str],
        typer.Option(
            "--task",
            "-t",
            help="accidents, earthquakes, wikipedia-pairs, wikipedia-pairs-inner, wikipedia-swaps, wikipedia-order, "
            "wikipedia-insertion, adversarial, miniatures, probes; repeat for more.",
        ),
    ],
    model: Model = DEFAULT_MODEL,
    setting: Setting = [],  # noqa: B006
    data: Annotated[str | None, typer.Option(help="A file of documents instead of the task's standard data.")] = None,
    data_root: DataRoot = None,
    combine: Annotated[
        list[str], typer.Option(help="Of a generative model: uni, bi or mmi, the variant's name; repeat for more.")
    ] = [],  # noqa: B006
    variant: Annotated[str, typer.Option(help="A name for these settings, part of the result's file name.")] = "",
    seed: Seed = 1,
    permutations: Annotated[int, typer.Option(min=1, help="Permutations per document where the data bring none.")] = 20,
    beam: Annotated[int, typer.Option(min=1, max=1000, help="Beam width of wikipedia-order.")] = 10,
    objective: Objective = "auto",
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first so many documents, for a quick look.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The results folder.")] = Path("results"),
    work: Annotated[
        Path, typer.Option(help="Where adversarial keeps what was written and judged; a run goes on from there.")
    ] = Path("adversarial"),
    format: Format = OutputFormat.table,
    input: Input = "auto",
    encoding: Encoding = "utf-8",
    language: Language = "en",
    column: Column = "text",
) -> None:
    """Run an experiment and write results/TASK/MODEL.json: metrics, intervals, ties, seed, hashes, this command.

    Example: weft evaluate --task wikipedia-pairs --model foltz-glove --data mine.jsonl
    """
    from weft.cli.evaluating import Given, write_results
    from weft.cli.output import read_options
    from weft.evaluation.subjects import load_subjects
    from weft.evaluation.task import EvaluateOptions
    from weft.evaluation.tasks import find_experiment, joined
    from weft.ordering.order import check_objective
    from weft.training.config import parse_settings

    for name in task:  # all names are checked before the first task runs
        find_experiment(name, data)
    check_objective(objective)
    chosen = EvaluateOptions(
        data_root, read_options(input, encoding, language, column), seed, permutations, beam, limit,
        cast(Any, objective), parse_settings(setting), work,
    )  # fmt: skip
    # Another objective is another experiment: its result must not take the place of the default one's.
    named = joined(objective.replace("auto", ""), variant)
    subjects = {
        name: load_subjects(name, model, chosen.settings, variant=named, combine=combine) for name in task
    }  # all of them before the first task runs
    for name in task:
        write_results(name, subjects[name], chosen, out, given=Given(data, command_line(), format.value))


def samples(
    work: Annotated[Path, typer.Option(help="Where an adversarial evaluation keeps what was written.")] = Path(
        "adversarial"
    ),
    out: Annotated[Path, typer.Option("--out", "-o", help="The Markdown file to write.")] = Path("docs/samples.md"),
    tokenizer: Annotated[
        str, typer.Option(help="The evaluator's reader, or its tokenizer.json.", metavar="MODEL")
    ] = "seq2seq",
    count: Annotated[int, typer.Option(min=1, max=1000, help="Contexts to show.")] = 20,
    data: Annotated[str | None, typer.Option(help="A file of documents instead of the task's standard data.")] = None,
    data_root: DataRoot = None,
    limit: Annotated[int | None, typer.Option(min=1, help="As it was in the evaluation.")] = None,
    seed: Seed = 1,
) -> None:
    """Write a page of continuations by every system beside the human ones, drawn by a seed and not picked.

    Example: weft samples --work adversarial --out docs/samples.md
    """
    from weft.cli.output import message
    from weft.corpora.text.tokenizers import load_tokenizer
    from weft.evaluation.adversarial.chunks import SelectionSettings, load_chunks
    from weft.evaluation.task import EvaluateOptions
    from weft.evaluation.tasks import find_experiment
    from weft.report.samples import check_places, tokenizer_file, write_samples

    file = tokenizer_file(tokenizer)
    check_places(work, file)
    reads = load_tokenizer(file)
    path = find_experiment("adversarial", data).open(EvaluateOptions(data_root)).path
    chunks = load_chunks(path, reads, SelectionSettings.limited(limit), folder=work)
    message(f"wrote {out}: {write_samples(out, chunks, work, reads, count=count, seed=seed)} systems")


def calibrate(
    folder: Annotated[Path, typer.Argument(help="A model folder; its reference scores are written into it.")],
    data: Annotated[str, typer.Option(help="Texts the model has not learned from; every paragraph counts as one.")],
    texts: Annotated[str, typer.Option(help="What these texts are, for the reader of a score.")] = "texts",
    data_root: DataRoot = None,
    seed: Seed = 1,
    input: Input = "auto",
    encoding: Encoding = "utf-8",
    language: Language = "en",
    column: Column = "text",
) -> None:
    """Measure how a model scores texts as written and shuffled, so that its scores come with percentiles.

    Example: weft calibrate my-model --data essays.jsonl --texts "student essays"
    """
    from weft.cli.output import message, progress_bar, read_options
    from weft.corpora.data_folder import find_data
    from weft.corpora.readers.formats import read_documents
    from weft.evaluation.calibration import calibrate

    documents = read_documents(find_data(data, data_root), read_options(input, encoding, language, column))
    with progress_bar() as progress:
        found = calibrate(folder, documents, texts=texts, seed=seed, command=command_line(), progress=progress)
    counts = ", ".join(f"{group.n} of {group.fewest} sentences or more" for group in found.groups)
    message(f"wrote the scores of {texts} ({counts}) into {folder}")


def table(
    number: Annotated[
        list[int] | None, typer.Argument(help="Numbers of the paper's tables, 1 to 4; all if none is given.")
    ] = None,
    results: Annotated[Path, typer.Option(help="The results folder.")] = Path("results"),
    format: Annotated[
        TableFormat, typer.Option("--format", "-f", help="How to write the tables.")
    ] = TableFormat.markdown,
    models: Annotated[
        Path | None,
        typer.Option(
            help="First record size and training time of the model folders in this folder in RESULTS/models.json."
        ),
    ] = None,
) -> None:
    """Render the paper's Tables 1 to 4 from the results folder, the paper's numbers beside ours.

    Example: weft table 1 2 --format latex
    """
    from weft.cli.output import message
    from weft.report.model_facts import record_facts
    from weft.report.tables import check_results, load_results, render_tables

    found = load_results(results)
    if not found:
        check_results(results)
        message(
            f"no result in {results} is on standard data with standard settings: only the paper's numbers are shown"
        )
    if models is not None:
        message(f"wrote {record_facts(models, results)}")
    typer.echo(render_tables(found, number or (), format.value), nl=False)


def plots(
    results: Annotated[Path, typer.Option(help="The results folder.")] = Path("results"),
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write the pictures to.")] = Path("pictures"),
) -> None:
    """Draw the plots of the results page as SVG files; a plot without data is left out, with a message.

    Example: weft plots --out docs/pictures
    """
    from weft.cli.output import message
    from weft.report.model_facts import load_facts
    from weft.report.plot_data import make_plots
    from weft.report.plots import draw_plots
    from weft.report.tables import load_results

    made, missing = make_plots(load_results(results), load_facts(results))
    for path in draw_plots(made, out):
        message(f"wrote {path}")
    for name, needs in missing.items():
        message(f"left out {name}: it needs {needs}")
