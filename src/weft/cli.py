"""The command line: each command is a few lines that call the library function of the same name.

Data go to stdout, messages and progress to stderr. An error a user can mend is one line and exit code 2.
"""

from __future__ import annotations

import os
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn, cast

import typer

from weft.errors import WeftError
from weft.version import VERSION

DEFAULT_MODEL = "foltz-sif"  # a literal, so that --help need not import the models; a test keeps it right
GENERATIVE_MODEL = "weft-small"

app = typer.Typer(
    name="weft",
    help="Measure, restore and write coherent discourse.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class OutputFormat(StrEnum):
    """How data are written to stdout."""

    table = "table"
    json = "json"
    csv = "csv"


class TableFormat(StrEnum):
    """How the paper's tables are written."""

    markdown = "markdown"
    csv = "csv"
    latex = "latex"


INPUT_HELP = (
    "auto, text (one document a file), blocks (blank line between documents), lines (one sentence a line), "
    "jsonl, csv, tsv, parquet, wikipedia-dump, wikiextractor, barzilay-lapata"
)
Files = Annotated[
    list[str], typer.Argument(help="Files to read; - for stdin. .gz, .bz2 and .xz are opened as they are.")
]
Model = Annotated[str, typer.Option("--model", "-m", help="A built-in name (see `weft models`) or a model folder.")]
Setting = Annotated[list[str], typer.Option("--set", help="A setting, key=value; repeat for more.")]
Format = Annotated[OutputFormat, typer.Option("--format", "-f", help="How to write the output.")]
Input = Annotated[str, typer.Option("--input", "-i", help=INPUT_HELP)]
Encoding = Annotated[str, typer.Option(help="Encoding of text files.")]
Language = Annotated[str, typer.Option(help="Language of the sentence splitter, such as en, de, hi.")]
Column = Annotated[str, typer.Option(help="The column (CSV, TSV, Parquet) that holds the text.")]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of everything random.")]
OBJECTIVE_HELP = (
    "coherence (transitions, as in the paper), precedence (which of two comes first, for all pairs), both; "
    "auto takes both where the model has learned precedence."
)
Objective = Annotated[str, typer.Option(help=OBJECTIVE_HELP)]
DataRoot = Annotated[str | None, typer.Option(help="Folder of the research data; else $WEFT_DATA, else ./data.")]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"weft {VERSION}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it and stop.")
    ] = False,
) -> None:
    """Measure, restore and write coherent discourse."""


@app.command()
def score(
    files: Files,
    model: Model = DEFAULT_MODEL,
    setting: Setting = [],  # noqa: B006  typer copies it
    explain: Annotated[
        bool, typer.Option("--explain", "-e", help="Show every transition and where the text breaks.")
    ] = False,
    format: Format = OutputFormat.table,
    input: Input = "auto",
    encoding: Encoding = "utf-8",
    language: Language = "en",
    column: Column = "text",
) -> None:
    """Score how well the sentences of texts hang together; higher is more coherent.

    Example: weft score examples/essay.txt --explain
    """
    from weft.cli_output import read_options, write_scores
    from weft.config import parse_settings
    from weft.models import load_model

    reading = read_options(input, encoding, language, column)
    write_scores(load_model(model, parse_settings(setting)), files, reading, form=format.value, explain=explain)


@app.command()
def order(
    files: Files,
    model: Model = DEFAULT_MODEL,
    setting: Setting = [],  # noqa: B006
    first: Annotated[
        bool, typer.Option("--first-given", help="The first sentence of the input is known to come first.")
    ] = False,
    search: Annotated[
        str, typer.Option(help="auto, exact (up to 16 sentences), beam, greedy (grows at both ends).")
    ] = "auto",
    objective: Objective = "auto",
    beam: Annotated[int, typer.Option(min=1, max=1000, help="Beam width.")] = 10,
    seed: Seed = 1,
    format: Format = OutputFormat.table,
    input: Input = "auto",
    encoding: Encoding = "utf-8",
    language: Language = "en",
    column: Column = "text",
) -> None:
    """Put shuffled sentences into the most coherent order.

    Example: weft order examples/shuffled.txt --input lines
    """
    from weft.cli_output import OrderOptions, read_options, write_orders
    from weft.config import parse_settings
    from weft.models import load_model

    reading = read_options(input, encoding, language, column)
    chosen = OrderOptions(first_given=first, search=search, objective=objective, beam=beam, seed=seed)
    write_orders(load_model(model, parse_settings(setting)), files, reading, chosen, form=format.value)


@app.command()
def generate(
    files: Files,
    model: Annotated[str, typer.Option("--model", "-m", help="A folder with a generative model.")] = GENERATIVE_MODEL,
    sentences: Annotated[int, typer.Option(min=1, max=100, help="Sentences to write, each joining the context.")] = 1,
    rerank: Annotated[
        str, typer.Option(help="uni (the search's own choice), bi or mmi (its N-best list reranked).")
    ] = "mmi",
    method: Annotated[str, typer.Option(help="beam, diverse or sample.")] = "diverse",
    beam: Annotated[int, typer.Option(min=1, max=1000, help="Size of the N-best list.")] = 10,
    temperature: Annotated[float, typer.Option(help="Of sampling.")] = 1.0,
    top_k: Annotated[int, typer.Option(help="Sample among the k likeliest words; 0 for all.")] = 0,
    top_p: Annotated[float, typer.Option(help="Sample among the likeliest words that make up this probability.")] = 0.9,
    max_tokens: Annotated[int, typer.Option(min=5, max=500, help="Longest sentence.")] = 60,
    seed: Seed = 1,
    format: Format = OutputFormat.table,
    input: Input = "auto",
    encoding: Encoding = "utf-8",
    language: Language = "en",
    column: Column = "text",
) -> None:
    """Continue texts, sentence by sentence; each sentence is shown as soon as it is written.

    Example: weft generate examples/essay.txt --sentences 3 --rerank mmi
    """
    from weft.cli_output import read_options, write_continuations
    from weft.generation import Decoding

    decoding = Decoding(
        method=method, beam=beam, temperature=temperature, top_k=top_k, top_p=top_p, max_tokens=max_tokens, seed=seed
    )
    reading = read_options(input, encoding, language, column)
    write_continuations(model, files, reading, decoding, sentences=sentences, combine=rerank, form=format.value)


@app.command()
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
    from weft.cli_output import message, read_options
    from weft.corpora.negatives import corrupt_file

    written = corrupt_file(
        source,
        out,
        permutations_each=permutations,
        replacements_each=replacements,
        seed=seed,
        options=read_options(input, encoding, language, column),
    )
    message(f"wrote {written} documents to {out}")


@app.command()
def evaluate(
    task: Annotated[
        list[str],
        typer.Option(
            "--task",
            "-t",
            help="accidents, earthquakes, wikipedia-pairs, wikipedia-order, wikipedia-insertion; repeat for more.",
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
    format: Format = OutputFormat.table,
    input: Input = "auto",
    encoding: Encoding = "utf-8",
    language: Language = "en",
    column: Column = "text",
) -> None:
    """Run an experiment and write results/TASK/MODEL.json: metrics, intervals, ties, seed, hashes, this command.

    Example: weft evaluate --task wikipedia-pairs --model foltz-glove --data mine.jsonl
    """
    from weft.cli_output import message, progress_bar, read_options, subjects_of, write_result
    from weft.config import parse_settings
    from weft.tasks import EvaluateOptions, evaluate

    reading = read_options(input, encoding, language, column)
    chosen = EvaluateOptions(data, data_root, reading, seed, permutations, beam, limit, cast(Any, objective))
    # Another objective is another experiment: its result must not take the place of the default one's.
    named = "-".join(name for name in (objective.replace("auto", ""), variant) if name)
    subjects = subjects_of(model, parse_settings(setting), named, combine)
    for name in task:
        for subject in subjects:
            with progress_bar() as progress:
                result = evaluate(name, subject, chosen, command=_command(), progress=progress)
            message(f"wrote {result.save(out)}")
            write_result(result, form=format.value)


@app.command()
def table(
    number: Annotated[
        list[int] | None, typer.Argument(help="Numbers of the paper's tables, 1 to 4; all if none is given.")
    ] = None,
    results: Annotated[Path, typer.Option(help="The results folder.")] = Path("results"),
    format: Annotated[
        TableFormat, typer.Option("--format", "-f", help="How to write the tables.")
    ] = TableFormat.markdown,
    write: Annotated[
        Path | None, typer.Option(help="Write the whole results page (Markdown) to this file instead.")
    ] = None,
) -> None:
    """Render the paper's Tables 1 to 4 from the results folder, the paper's numbers beside ours.

    Example: weft table 1 2 --format latex
    """
    from weft.cli_output import message
    from weft.tasks.results_page import write_page
    from weft.tasks.tables import load_results, render_tables

    found = load_results(results)
    if write is not None:
        write_page(found, write)
        message(f"wrote {write}")
        return
    typer.echo(render_tables(found, number or (), format.value), nl=False)


@app.command()
def models(format: Format = OutputFormat.table) -> None:
    """List the built-in models and what each one's score means."""
    from weft.cli_output import write_models

    write_models(format.value)


@app.command()
def config(
    name: Annotated[str, typer.Argument(help="A model's name, or a TOML file.")],
    setting: Annotated[list[str], typer.Option("--set", help="An override, section.key=value; repeat for more.")] = [],  # noqa: B006
) -> None:
    """Show a model's settings with their defaults, or check a configuration file and write it out whole.

    Example: weft config foltz-lda
    """
    from weft.config import config_of, render_config

    typer.echo(render_config(config_of(name, setting)), nl=False)


@app.command()
def prepare(
    files: Files,
    out: Annotated[Path, typer.Option("--out", "-o", help="The store folder to write.")],
    tokenizer: Annotated[
        Path | None, typer.Option(help="A saved tokenizer; without it one is trained on the input.")
    ] = None,
    kind: Annotated[str, typer.Option("--kind", help="The tokenizer to train: bpe or words.")] = "bpe",
    vocabulary: Annotated[int, typer.Option(help="Size of the vocabulary to train.")] = 16384,
    held_out: Annotated[list[Path], typer.Option(help="Texts that must not be in the store; repeat for more.")] = [],  # noqa: B006
    drop_overlap: Annotated[
        bool, typer.Option(help="Leave out paragraphs found in held-out texts instead of refusing.")
    ] = False,
    workers: Annotated[int | None, typer.Option(help="Processes; one a core by default.")] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace a store made of other inputs.")] = False,
    restart: Annotated[bool, typer.Option(help="Forget an interrupted run instead of going on with it.")] = False,
    input: Input = "auto",
    encoding: Encoding = "utf-8",
    language: Language = "en",
    column: Column = "text",
) -> None:
    """Turn text into a memory-mapped token store for training; goes on where an interrupted run stopped.

    Example: weft prepare train-*.jsonl.xz --out store --held-out test.paragraphs.jsonl
    """
    from weft.cli_output import message, progress_bar, read_options
    from weft.corpora.prepare import prepare

    with progress_bar() as progress:
        store = prepare(
            files,
            out,
            tokenizer=tokenizer,
            tokenizer_kind=kind,
            vocabulary_size=vocabulary,
            held_out=held_out,
            drop_overlap=drop_overlap,
            workers=workers,
            overwrite=overwrite,
            restart=restart,
            options=read_options(input, encoding, language, column),
            progress=progress,
        )
    counts = store.info.counts
    message(f"wrote {out}: {counts['articles']} articles, {counts['sentences']} sentences, {counts['tokens']} tokens")


@app.command()
def train(
    config: Annotated[Path, typer.Argument(help="A TOML file, such as configs/foltz-lda.toml.")],
    setting: Annotated[list[str], typer.Option("--set", help="An override, section.key=value; repeat for more.")] = [],  # noqa: B006
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", help="The model folder to write; run.out of the file otherwise."),
    ] = None,
    part: Annotated[
        list[str], typer.Option(help="Of a neural model, only this part (forward, backward, prior); repeat for more.")
    ] = [],  # noqa: B006
    minutes: Annotated[float | None, typer.Option(help="Minutes of training a part.")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda.")] = None,
    data_root: DataRoot = None,
) -> None:
    """Train a model from a configuration file and write its folder; a run that was stopped goes on.

    Example: weft train configs/foltz-lda.toml --set model.topics=100 --out my-topics
    """
    from weft.cli_output import message, progress_bar
    from weft.config import read_config
    from weft.runs import train

    named = {"run.out": out, "training.minutes": minutes, "run.device": device}
    overrides = [*setting, *(f"{key}={value}" for key, value in named.items() if value is not None)]
    chosen = read_config(config, overrides)
    with progress_bar() as progress:
        train(chosen, parts=part, data_root=data_root, command=_command(), progress=progress)
    message(f"wrote {chosen.run.out}")


def _command() -> str:
    """The command as typed, for the record; a program that embeds weft shows as ``weft`` too."""
    return shlex.join(["weft", *sys.argv[1:]])


def main() -> None:
    """Run the command line: one line and exit code 2 for what a user can mend, nothing for a closed pipe."""
    _make_streams_safe()
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except WeftError as error:
        _fail(str(error))
    except (BrokenPipeError, SystemExit) as error:
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            raise
        # The reader (head, less) has what it wanted, which is no error (click makes it exit code 1); stdout must not be
        # flushed again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(0)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        where = f" {error.filename!r}" if error.filename else ""
        _fail(
            f"the system refused:{where} {error.strerror or error}; next: check the path, the rights and the space left"
        )
    except (KeyboardInterrupt, typer.Abort):
        print("weft: stopped", file=sys.stderr)  # noqa: T201
        sys.exit(130)
    except Exception as error:
        # Mistakes in the command's own words; the class lives in click or in typer, depending on typer's version.
        if not hasattr(error, "format_message"):
            raise
        _fail(f"{error.format_message()}; next: weft {' '.join(sys.argv[1:2])} --help")
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str) -> NoReturn:
    print(f"weft: error: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201
    sys.exit(2)


def _make_streams_safe() -> None:
    """A closed stream swallows what is written; one that cannot show a character shows its number instead."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  lives as long as the process
        elif hasattr(getattr(sys, name), "reconfigure"):
            getattr(sys, name).reconfigure(errors="backslashreplace")
