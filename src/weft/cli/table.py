"""`weft table`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import Results, TableFormat


def table(
    number: Annotated[
        list[int] | None,
        typer.Argument(metavar="NUMBER", help="Numbers of the paper's tables, 1 to 4. [default: all]"),
    ] = None,
    results: Results = Path("results"),
    format: Annotated[
        TableFormat, typer.Option("--format", "-f", metavar="markdown|csv|latex", help="Format of the tables.")
    ] = TableFormat.markdown,
    models: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder of model folders; their sizes and training times are written to RESULTS/models.json first.",
        ),
    ] = None,
) -> None:
    """Show Tables 1 to 4 with the numbers of the paper and those of a results folder.

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
