"""`weft table`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli import options
from weft.cli.options import argument, option

MODELS_HELP = "Folder of model folders; their sizes and training times are written to RESULTS/models.json first."


def table(
    number: Annotated[
        list[int] | None,
        argument(
            "Numbers of the paper's tables, 1 to 4. [default: those with results, and all other results]", "NUMBER"
        ),
    ] = None,
    results: options.Results = Path("results"),
    format: Annotated[
        options.TableFormat, option("Format of the tables.", "markdown|csv|latex", "--format", "-f")
    ] = options.TableFormat.markdown,
    models: Annotated[Path | None, option(MODELS_HELP, "FOLDER")] = None,
) -> None:
    """Show Tables 1 to 4 with the numbers of the paper and those of a results folder, then its other results.

    Example: weft table --results my-results

    Example: weft table 1 2 --format latex
    """
    from weft.cli.output import message
    from weft.report.model_facts import record_facts
    from weft.report.other_results import other_tables, others_among
    from weft.report.tables import check_results, measured_tables, read_results, render_tables, standard_results

    everything = read_results(results)
    check_results(results, everything)
    found = standard_results(everything)
    others = others_among(list(everything.values()), found)
    numbers = number or measured_tables(found)
    if missing := sorted({1, 2, 3, 4} - set(numbers)) if not number else []:
        message(
            f"no result for Table {', '.join(map(str, missing))}; `weft table {missing[0]}` shows the paper's numbers"
        )
    if number and not found:
        message(f"no result in {results} is on standard data with standard settings: its numbers are in `weft table`")
    if models is not None:
        message(f"wrote {record_facts(models, results)}")
    further = [] if number else other_tables(others)
    typer.echo(render_tables(found, numbers, format.value, further), nl=False)
