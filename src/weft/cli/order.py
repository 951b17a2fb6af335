"""`weft order`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from weft.cli.options import (
    DEFAULT_MODEL,
    Column,
    Combine,
    Device,
    DeviceName,
    Encoding,
    Files,
    Format,
    Input,
    Language,
    Model,
    Objective,
    OutputFormat,
    Seed,
    Setting,
)

if TYPE_CHECKING:
    from weft.document import Document
    from weft.ordering.order import Ordering


def order(
    files: Files,
    model: Model = DEFAULT_MODEL,
    combine: Combine = None,
    device: Device = DeviceName.auto,
    setting: Setting = [],  # noqa: B006
    first: Annotated[
        bool, typer.Option("--first-given", metavar="", help="Keep the first sentence of the input first.")
    ] = False,
    search: Annotated[
        str,
        typer.Option(metavar="NAME", help="auto, exact (up to 16 sentences), beam, or greedy (grows at both ends)."),
    ] = "auto",
    objective: Objective = "auto",
    beam: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="Beam width.")] = 10,
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
    from weft.cli.output import WarningLines, csv_table, documents_in, message, read_options
    from weft.loaded_model import load
    from weft.training.config import parse_settings

    loaded = load(model, combine=combine, device=device.value, settings=parse_settings(setting))
    table = csv_table(format.value, ["id", "place", "was", "sentence"])
    warnings = WarningLines(message)
    for document in documents_in(files, read_options(input, encoding, language, column)):
        found = loaded.order(
            document, first_given=first, search=cast(Any, search), objective=cast(Any, objective), beam=beam, seed=seed
        )
        _write(document, found, format.value, table)
        warnings.add(document.id, found.warnings)
    warnings.close()


def _write(document: Document, ordering: Ordering, form: str, table: Any) -> None:
    from weft.cli.output import message, shown, write_json, write_lines
    from weft.report.terminal import counted, order_lines

    if form == "json":
        write_json(ordering.to_dict())
    elif form == "csv":
        table.writerows([document.id, place, was, document.sentences[was]] for place, was in enumerate(ordering.order))
    else:
        write_lines(order_lines(document, ordering))
        if ordering.search == "none":
            message(f"{document.id}: not searched (one sentence); no score")
            return
        message(
            f"{document.id}: {counted(len(document), 'sentence')}, {ordering.search} search by {ordering.objective}, "
            f"score {shown(ordering.input_value)} as given, {shown(ordering.value)} in this order"
        )
