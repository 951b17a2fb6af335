"""`weft samples`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import DataRoot, Limit, Seed


def samples(
    work: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder in which `weft evaluate adversarial` keeps its texts.")
    ] = Path("adversarial"),
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Markdown file to write.")] = Path(
        "docs/samples.md"
    ),
    tokenizer: Annotated[
        str, typer.Option(help="Model that reads texts for the evaluator, or its tokenizer.json.", metavar="NAME|FILE")
    ] = "seq2seq",
    count: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="Number of contexts to show.")] = 20,
    data: Annotated[
        str | None, typer.Option(metavar="NAME|FILE", help="Data of the evaluation. [default: the standard data]")
    ] = None,
    data_root: DataRoot = None,
    limit: Limit = None,
    seed: Seed = 1,
) -> None:
    """Write a page of random continuations by every system beside those of people.

    Example: weft samples --work adversarial --out docs/samples.md
    """
    from weft.cli.output import message
    from weft.corpora.text.tokenizers import load_tokenizer
    from weft.evaluation.adversarial.chunks import SelectionSettings, load_chunks
    from weft.evaluation.task_contract import EvaluateOptions
    from weft.evaluation.tasks import find_experiment
    from weft.report.samples import check_places, tokenizer_file, write_samples

    file = tokenizer_file(tokenizer)
    check_places(work, file)
    reads = load_tokenizer(file)
    path = find_experiment("adversarial", data).open(EvaluateOptions(data_root)).path
    chunks = load_chunks(path, reads, SelectionSettings.limited(limit), folder=work)
    message(f"wrote {out}: {write_samples(out, chunks, work, reads, count=count, seed=seed)} systems")
