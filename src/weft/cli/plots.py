"""`weft plots`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from weft.cli import options
from weft.cli.options import option


def plots(
    results: options.Results = Path("results"),
    out: Annotated[Path, option("Folder to write to.", "FOLDER", "--out", "-o")] = Path("pictures"),
) -> None:
    """Draw the plots of a results folder as SVG files.

    A plot without data is left out, with a message.

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
