"""`weft score`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from weft.cli import options
from weft.cli.options import option

if TYPE_CHECKING:
    from weft.document import Document, Score
    from weft.loaded_model import Model as LoadedModel

COLUMNS = ["id", "sentences", "value", "percentile_written", "percentile_shuffled", "shuffles_beaten", "warning_codes"]
LINK_COLUMNS = ["id", "left", "right", "value", "break_probability", "left_paragraph", "right_paragraph"]


def score(
    files: options.Files,
    model: options.Model = options.DEFAULT_MODEL,
    combine: options.Combine = None,
    device: options.Device = options.DeviceName.auto,
    setting: options.Setting = [],  # noqa: B006  typer copies it
    explain: Annotated[
        bool, option("Show the score of every transition and mark the weak links.", "", "--explain", "-e")
    ] = False,
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
    """Score how well the sentences of texts fit together; higher is more coherent.

    Example: weft score examples/essay.txt --explain
    """
    from weft.cli.output import chosen_format, output_to, read_options
    from weft.corpora.readers.formats import read_files
    from weft.loaded_model import load
    from weft.training.config import parse_settings

    loaded = load(model, combine=combine, device=device.value, settings=parse_settings(setting))
    reading = read_options(input, encoding, language, column, id_column, speaker, clean, strict=strict)
    with output_to(out):
        write_scores(loaded, read_files(files, reading), form=chosen_format(format, out), explain=explain)


def write_scores(model: LoadedModel, documents: Any, *, form: str, explain: bool) -> None:
    """Score documents as they are read, and write each score as soon as it is known."""
    from weft.cli.output import DocumentTable, WarningLines, message, write_lines, write_record
    from weft.report.terminal import explain_lines, score_lines

    table = DocumentTable(LINK_COLUMNS if explain else COLUMNS)
    warnings = WarningLines(message)
    for number, score in enumerate(model.score_stream(documents)):
        document = score.document
        assert document is not None
        if form == "json":
            write_record(document, score.to_dict() | ({"text": list(document.sentences)} if explain else {}))
        elif form == "csv":
            table.write(document, _link_rows(document, score) if explain else [_row(document, score)])
        elif explain:
            write_lines(explain_lines(document, score), blank_before=number > 0)
        else:
            write_lines(score_lines(document, score))
        warnings.add(document.id, score.warnings)
    warnings.close()


def _row(document: Document, score: Score) -> list[Any]:
    cells = (score.value, score.percentile, score.percentile_shuffled, score.shuffles_beaten)
    codes = " ".join(warning.code for warning in score.warnings)
    return [document.id, len(document), *("" if cell is None else cell for cell in cells), codes]


def _link_rows(document: Document, score: Score) -> list[list[Any]]:
    chances: tuple[float | str, ...] = score.break_probabilities or ("",) * len(score.transitions)
    places = document.sentence_paragraphs()
    gaps = zip(document.sentences, document.sentences[1:], score.transitions, chances, places, places[1:], strict=False)
    rows: list[list[Any]] = [[document.id, *gap] for gap in gaps]
    return rows or [[document.id, " ".join(document.sentences), *[""] * (len(LINK_COLUMNS) - 2)]]
