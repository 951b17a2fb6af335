"""`weft order`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

from weft.cli import options
from weft.cli.options import option

if TYPE_CHECKING:
    from weft.cli.output import DocumentTable
    from weft.document import Document
    from weft.ordering.best_move import Move
    from weft.ordering.ordering import Ordering

MOVE_HELP = "Keep the given order and suggest the one move of a sentence that improves it most."


def order(
    files: options.Files,
    model: options.Model = options.DEFAULT_MODEL,
    combine: options.Combine = None,
    device: options.Device = options.DeviceName.auto,
    setting: options.Setting = [],  # noqa: B006
    allow_download: options.AllowDownload = False,
    first_given: Annotated[bool, option("Keep the first sentence of the input first.", "", "--first-given")] = False,
    search: Annotated[
        str, option("auto, exact (up to 16 sentences), beam, or greedy (grows at both ends).", "NAME")
    ] = "auto",
    objective: options.Objective = "auto",
    beam: Annotated[int, option("Beam width.", "N", low=1, high=1000)] = 10,
    move_one: Annotated[bool, option(MOVE_HELP, "", "--move-one")] = False,
    seed: options.Seed = 1,
    out: options.Out = None,
    format: options.FileFormat = None,
    input: options.Input = "auto",
    encoding: options.Encoding = "utf-8",
    language: options.Language = "en",
    column: options.Column = "text",
    id_column: options.IdColumn = None,
    speaker: options.Speaker = "",
    clean: options.Clean = "",
    strict: options.Strict = False,
) -> None:
    """Put shuffled sentences into the most coherent order.

    If the search finds no order with a higher objective than the given one, the given order is kept.

    Example: weft order examples/shuffled.txt --input lines
    """
    from weft.cli.output import DocumentTable, WarningLines, chosen_format, message, output_to, read_options, with_names
    from weft.corpora.readers.formats import read_files
    from weft.loaded_model import load
    from weft.training.config import parse_settings

    loaded = load(
        model, combine=combine, device=device.value, settings=parse_settings(setting, allow_download=allow_download)
    )
    reading = read_options(input, encoding, language, column, id_column, speaker, clean, strict=strict)
    form = chosen_format(format, out)
    table = DocumentTable(["id", "place", "was", *(["gain"] if move_one else []), "sentence"])
    warnings = WarningLines(message)
    with output_to(out):
        for document in with_names(read_files(files, reading), form):
            if move_one:
                move = loaded.best_move(document, first_given=first_given, objective=cast(Any, objective))
                _write_move(document, move, form, table)
                warnings.add(document.id, move.warnings)
                continue
            found = loaded.order(
                document,
                first_given=first_given,
                search=cast(Any, search),
                objective=cast(Any, objective),
                beam=beam,
                seed=seed,
            )
            _write(document, found, form, table)
            warnings.add(document.id, found.warnings)
    warnings.close()


def _write(document: Document, ordering: Ordering, form: str, table: DocumentTable) -> None:
    from weft.cli.output import message, shown, write_lines, write_record
    from weft.report.terminal import counted, order_lines

    if form == "json":
        write_record(document, ordering.to_dict())
    elif form == "csv":
        rows = [[document.id, place, was, document.sentences[was]] for place, was in enumerate(ordering.order)]
        table.write(document, rows or [[document.id, "", "", ""]])
    elif document.sentences:
        write_lines(order_lines(document, ordering))
        if ordering.search == "none":
            message(f"{document.id}: not searched (one sentence); no score")
            return
        how = f"{counted(len(document), 'sentence')}, {ordering.search} search by {ordering.objective}"
        if ordering.kept:
            # Only an exact search has compared all orders.
            none = "no order is" if ordering.search == "exact" else "the search found no order that is"
            message(f"{document.id}: kept the given order: {none} better ({how}, score {shown(ordering.value)})")
            return
        scores = f"score {shown(ordering.input_value)} as given, {shown(ordering.value)} in this order"
        message(f"{document.id}: {how}, {scores}{_why_lower(ordering)}")


def _why_lower(ordering: Ordering) -> str:
    """Return why an order with a higher objective has a lower score; empty if its score is not lower."""
    if ordering.objective == "coherence" or ordering.value is None or ordering.input_value is None:
        return ""
    lower = ordering.value < ordering.input_value
    return "; lower, because the score does not include precedence, which prefers this order" if lower else ""


def _write_move(document: Document, move: Move, form: str, table: DocumentTable) -> None:
    from rich.text import Text

    from weft.cli.output import message, shown, write_lines, write_record
    from weft.report.terminal import printable

    if form == "json":
        write_record(document, move.to_dict())
    elif form == "csv":
        table.write(document, [[move.id, move.place, move.was, move.gain, move.sentence]])
    elif move.was is None or move.place is None:
        message(f"{move.id}: no move of one sentence helps; score {shown(move.input_value)}")
    else:
        write_lines([Text(f"move sentence {move.was + 1} to place {move.place + 1}: {printable(move.sentence)}")])
        message(
            f"{move.id}: {move.objective} gains {move.gain:.4f} per transition, "
            f"score {shown(move.input_value)} as given, {shown(move.value)} after the move"
        )
