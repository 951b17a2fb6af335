"""`weft samples`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from weft.cli import options
from weft.cli.options import option


def samples(
    work: Annotated[Path, option("Folder in which `weft evaluate adversarial` keeps its texts.", "FOLDER")] = Path(
        "adversarial"
    ),
    out: Annotated[Path, option("Markdown file to write.", "FILE", "--out", "-o")] = Path("docs/samples.md"),
    tokenizer: Annotated[
        str, option("Model that reads texts for the evaluator, or its tokenizer.json.", "NAME|FILE")
    ] = "seq2seq",
    count: Annotated[int, option("Number of contexts to show.", "N", low=1, high=1000)] = 20,
    data: Annotated[str | None, option("Data of the evaluation. [default: the standard data]", "NAME|FILE")] = None,
    data_root: options.DataRoot = None,
    limit: options.Limit = None,
    seed: options.Seed = 1,
    machine_only: Annotated[bool, option("Leave out contexts and human continuations.", "", "--machine-only")] = False,
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
    systems = write_samples(out, chunks, work, reads, count=count, seed=seed, machine_only=machine_only)
    message(f"wrote {out}: {systems} systems")
