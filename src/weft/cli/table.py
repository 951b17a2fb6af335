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
        list[int] | None, argument("Numbers of the paper's tables, 1 to 4. [default: all]", "NUMBER")
    ] = None,
    results: options.Results = Path("results"),
    format: Annotated[
        options.TableFormat, option("Format of the tables.", "markdown|csv|latex", "--format", "-f")
    ] = options.TableFormat.markdown,
    models: Annotated[Path | None, option(MODELS_HELP, "FOLDER")] = None,
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
