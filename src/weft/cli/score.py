"""`weft score`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from weft.cli import options
from weft.cli.options import option

if TYPE_CHECKING:
    from collections.abc import Iterable

    from weft.document import Document, Score

COLUMNS = [
    "id", "sentences", "value", "percentile_written", "percentile_shuffled", "genre", "shuffles_beaten",
    "fluency", "warning_codes",
]  # fmt: skip
GENRE_HELP = "Genre of the reference texts of the percentile, such as essay, or all. [default: guessed from the text]"
SHUFFLES_HELP = (
    "Show the share of random orders of its own sentences that score lower than each text. A reader always shows it; "
    "other models score all pairs of sentences for it, which takes longer."
)
LINK_COLUMNS = ["id", "left", "right", "value", "break_probability", "left_paragraph", "right_paragraph"]
SORT_HELP = "Order of the texts: as given, by score or percentile (highest first), or by name."


MANY = "Many texts: JSONL and Parquet files, or fsspec URLs, with several workers"
OUT_HELP = f"{options.OUT_HELP} With several workers, a folder of shards, or its URL."
WORKERS_HELP = "Number of workers, each with a model and one thread. [default with --engine: one per core]"
ENGINE_HELP = "Where workers run: processes of this machine, or ray. [default with --workers: processes]"
SHARD_HELP = "Number of rows of the input that make one shard of the output. [default: 2000]"


class SortKey(StrEnum):
    """Orders of scored texts."""

    given = "given"
    score = "score"
    percentile = "percentile"
    name = "name"


def score(
    files: options.Files,
    model: options.Model = options.DEFAULT_MODEL,
    combine: options.Combine = None,
    device: options.Device = options.DeviceName.auto,
    setting: options.Setting = [],  # noqa: B006  typer copies it
    genre: Annotated[str | None, option(GENRE_HELP, "NAME")] = None,
    allow_download: options.AllowDownload = False,
    explain: Annotated[
        bool, option("Show the score of every transition and mark the weak links.", "", "--explain", "-e")
    ] = False,
    own_shuffles: Annotated[bool, option(SHUFFLES_HELP, "", "--own-shuffles")] = False,
    sort: Annotated[SortKey, option(SORT_HELP, "given|score|percentile|name")] = SortKey.given,
    workers: Annotated[int | None, option(WORKERS_HELP, "N", low=1, section=MANY)] = None,
    engine: Annotated[options.EngineName | None, option(ENGINE_HELP, "processes|ray", section=MANY)] = None,
    shard_documents: Annotated[int | None, option(SHARD_HELP, "N", low=1, section=MANY)] = None,
    out: Annotated[str | None, option(OUT_HELP, "FILE", "--out", "-o")] = None,
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

    Several texts make a table, with a summary below.

    Example: weft score examples/essay.txt --explain

    Example: weft score essays/*.txt --sort score

    Example: weft score 'crawl/*.jsonl' --workers 4 --out scores
    """
    from weft.cli.output import chosen_format, output_to, read_options
    from weft.corpora.readers.formats import read_files
    from weft.loaded_model import load
    from weft.training.config import parse_settings

    settings = parse_settings(setting, allow_download=allow_download)
    reading = read_options(input, encoding, language, column, id_column, speaker, clean, strict=strict)
    if workers is not None or engine is not None or shard_documents is not None:
        _check_shard_output(out, sort, format)
        score_shards(
            files, str(out), model=model, combine=combine, device=device.value, settings=settings, genre=genre,
            own_shuffles=own_shuffles, text=explain, options=reading, workers=workers,
            engine=(engine or options.EngineName.processes).value, shard_documents=shard_documents,
        )  # fmt: skip
        return
    loaded = load(model, combine=combine, device=device.value, settings=settings)
    file = None if out is None else Path(out)
    with output_to(file):
        found = loaded.score_stream(read_files(files, reading), genre=genre, own_shuffles=own_shuffles)
        write_scores(in_order(found, sort), form=chosen_format(format, file), explain=explain)


def score_shards(files: list[str], out: str, *, shard_documents: int | None, **how: Any) -> None:
    """Score a dataset with several workers, and tell what was written."""
    from weft.cli.output import message, progress_bar
    from weft.scale.score_shards import SHARD_DOCUMENTS
    from weft.scale.score_shards import score as score_dataset

    with progress_bar() as progress:
        found = score_dataset(files, out, shard_documents=shard_documents or SHARD_DOCUMENTS, progress=progress, **how)
    counts = f"{found.documents} documents ({found.without_score} without a score), {found.bad_rows} bad rows"
    earlier = f", {found.continued} of them by an earlier run" if found.continued else ""
    message(f"wrote {found.out}: {counts}, in {found.shards} shards{earlier}")
    if found.bad_rows and not found.documents:
        message(
            f"warning: no row is a document. The reasons are in the files {found.out}/part-*.bad.jsonl; "
            "name the column of the text with --column"
        )


def _check_shard_output(out: str | None, sort: SortKey, form: options.OutputFormat | None) -> None:
    """Raise ConfigError if the options of the output are not those of shards."""
    from weft.errors import ConfigError

    if out is None:
        raise ConfigError(
            "several workers write shards, and no output folder is given",
            seen="no --out",
            allowed="a folder, on disk or at a URL",
            next_step="add --out FOLDER",
        )
    if sort != SortKey.given or form not in (None, options.OutputFormat.json, options.OutputFormat.jsonl):
        raise ConfigError(
            "several workers write JSONL in the order of the input",
            seen=f"--sort {sort.value}" if sort != SortKey.given else f"--format {form.value if form else ''}",
            allowed="--format jsonl, and no --sort",
            next_step="omit --sort and --format",
        )


def in_order(scores: Iterable[Score], sort: SortKey) -> Iterable[Score]:
    """Return scores in an order; as given, each one as soon as it is known, else all at the end.

    Texts without a score, or without a percentile, come last.
    """
    if sort == SortKey.given:
        return scores
    if sort == SortKey.name:
        return sorted(scores, key=lambda score: score.document.id if score.document is not None else "")

    known = list(scores)
    if sort == SortKey.percentile and all(score.percentile is None for score in known):
        _tell_that_no_percentile_is_known()

    def place(score: Score) -> tuple[bool, float]:
        value = score.value if sort == SortKey.score else score.percentile
        return value is None, -(value or 0.0)

    return sorted(known, key=place)


def _tell_that_no_percentile_is_known() -> None:
    from weft.cli.output import message

    message("the model has no percentiles (see weft calibrate --help): the texts are in the given order")


def write_scores(scores: Iterable[Score], *, form: str, explain: bool) -> None:
    """Write scores as they come, then what is to be said about the texts, each warning once."""
    from weft.cli.output import DocumentTable, WarningLines, message, write_json, write_lines
    from weft.report.terminal import explain_all, score_table
    from weft.scoring.score_records import score_record

    warnings = WarningLines(message)
    noted = warnings.noted(scores)
    if form == "table":
        write_lines(explain_all(noted) if explain else score_table(noted))
    else:
        table = DocumentTable(LINK_COLUMNS if explain else COLUMNS)
        for score in noted:
            document = score.document
            assert document is not None
            if form == "json":
                write_json(score_record(document, score, text=explain))
            else:
                table.write(document, _link_rows(document, score) if explain else [_row(document, score)])
    warnings.close()


def _row(document: Document, score: Score) -> list[Any]:
    cells = (
        score.value,
        score.percentile,
        score.percentile_shuffled,
        score.genre,
        score.shuffles_beaten,
        score.fluency,
    )
    codes = " ".join(warning.code for warning in score.warnings)
    return [document.id, len(document), *("" if cell is None else cell for cell in cells), codes]


def _link_rows(document: Document, score: Score) -> list[list[Any]]:
    chances: tuple[float | str, ...] = score.break_probabilities or ("",) * len(score.transitions)
    places = document.sentence_paragraphs()
    gaps = zip(document.sentences, document.sentences[1:], score.transitions, chances, places, places[1:], strict=False)
    rows: list[list[Any]] = [[document.id, *gap] for gap in gaps]
    return rows or [[document.id, " ".join(document.sentences), *[""] * (len(LINK_COLUMNS) - 2)]]
