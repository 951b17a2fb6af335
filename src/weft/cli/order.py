"""`weft order`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

from weft.cli import options
from weft.cli.options import option

if TYPE_CHECKING:
    from weft.document import Document
    from weft.ordering.order import Ordering


def order(
    files: options.Files,
    model: options.Model = options.DEFAULT_MODEL,
    combine: options.Combine = None,
    device: options.Device = options.DeviceName.auto,
    setting: options.Setting = [],  # noqa: B006
    first_given: Annotated[bool, option("Keep the first sentence of the input first.", "", "--first-given")] = False,
    search: Annotated[
        str, option("auto, exact (up to 16 sentences), beam, or greedy (grows at both ends).", "NAME")
    ] = "auto",
    objective: options.Objective = "auto",
    beam: Annotated[int, option("Beam width.", "N", low=1, high=1000)] = 10,
    seed: options.Seed = 1,
    format: options.Format = options.OutputFormat.table,
    input: options.Input = "auto",
    encoding: options.Encoding = "utf-8",
    language: options.Language = "en",
    column: options.Column = "text",
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
            document,
            first_given=first_given,
            search=cast(Any, search),
            objective=cast(Any, objective),
            beam=beam,
            seed=seed,
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
