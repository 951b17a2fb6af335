"""`weft models`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli import options
from weft.cli.options import argument, option

if TYPE_CHECKING:
    from rich.text import Text

    from weft.hub import KnownModel, ModelDescription


def models(
    name: Annotated[str | None, argument("Model to describe: its name or folder.", "NAME")] = None,
    format: options.Format = options.OutputFormat.table,
    card: Annotated[bool, option("Write the card of the model as Markdown.", "", "--card")] = False,
    results: Annotated[Path, option("Results folder of the card.", "FOLDER")] = Path("results"),
) -> None:
    """List the models, or describe one of them.

    A description says what the model does, what its score means, how it was trained and, if it is not installed, how
    to get it.

    Example: weft models

    Example: weft models seq2seq

    Example: weft models seq2seq --card > CARD.md
    """
    from weft.cli.output import chosen_format
    from weft.hub import describe_model, known_models

    if card:
        _write_card(name, results)
    elif name is None:
        _write_list(known_models(), chosen_format(format))
    else:
        _write_description(describe_model(name), chosen_format(format))


def _write_card(name: str | None, results: Path) -> None:
    from weft.errors import ConfigError
    from weft.report.model_card import model_card

    if name is None:
        raise ConfigError(
            "a card is of one model", seen="no name", allowed="weft models NAME --card", next_step="name a model"
        )
    typer.echo(model_card(name, results), nl=False)


def _write_list(found: list[KnownModel], form: str) -> None:
    from weft.cli.output import csv_table, message, write_json, write_lines

    records = [asdict(known) for known in found]
    if form == "json":
        for record in records:
            write_json(record)
    elif form == "csv":
        csv_table(form, list(records[0])).writerows(record.values() for record in records)
    else:
        widths = [max(map(len, column)) for column in zip(*map(_columns, found), strict=True)]
        write_lines(_line(known, widths) for known in found)
        message("* the default model; texts/s: texts of 15 sentences scored per second by one core, – if not measured")
        if not all(known.source for known in found):
            message("`weft models NAME` describes a model, and says how to get one that is not installed")


def _line(known: KnownModel, widths: list[int]) -> Text:
    from rich.text import Text

    speed = f"{known.speed:g} texts/s" if known.speed else "–"
    _, where, size = _columns(known)
    return Text.assemble(
        ("* " if known.default else "  ", "bold green"),
        (f"{known.name:<{widths[0]}}", "bold cyan" if known.source else "dim"),
        f"  {where:<{widths[1]}}  {size:<{widths[2]}}  {speed:>11}  ",
        (known.summary, "" if known.source else "dim"),
    )


def _columns(known: KnownModel) -> tuple[str, str, str]:
    """Return the name of a model, where it is and its size."""
    return known.name, _where(known), _size_with_shared(known)


def _where(known: KnownModel) -> str:
    if known.extra and known.source:
        return f"needs [{known.extra}]"
    return known.source or "not installed"


def _size_with_shared(known: KnownModel) -> str:
    """Return the size of a model, with the folders it shares weights with, such as ``0.4 MB + seq2seq``."""
    return " + ".join([f"{_size(known.size):>6}", *known.shared])


def _size(size: int | None) -> str:
    """Return a number of bytes in MB.

    Example:
        >>> _size(12_582_739), _size(1_200), _size(None)
        ('13 MB', '0.1 MB', '')
    """
    if size is None:
        return ""
    return f"{size / 1e6:.0f} MB" if size >= 1e7 else f"{max(0.1, size / 1e6):.1f} MB"


def _write_description(found: ModelDescription, form: str) -> None:
    from weft.cli.output import csv_table, write_json, write_lines

    card = {"name": found.known.name, **asdict(found.card), "source": found.known.source, "size": found.known.size}
    if form == "json":
        write_json({**card, "settings": dict(found.config), "training": dict(found.training)})
    elif form == "csv":
        csv_table(form, list(card)).writerow(card.values())
    else:
        write_lines(_card_lines(found))


def _card_lines(found: ModelDescription) -> list[Text]:
    from rich.text import Text

    known, card = found.known, found.card
    settings = ", ".join(f"{key} {value}" for key, value in found.config.items() if value not in ("", [], {}))
    facts: tuple[tuple[str, Any], ...] = (
        ("score", f"{card.score_range}; higher is more coherent"),
        ("a high score", card.meaning),
        ("comparable", card.comparable),
        ("needs", _still_needed(card.needs) if known.source else card.needs),
        ("reference", card.reference),
        ("found in", known.source or f"not installed: {known.missing}"),
        ("not installed", f"pip install 'weft-coherence[{known.extra}]'" if known.extra else ""),
        ("size", _size_with_shared(known).strip()),
        ("speed", f"{known.speed:g} texts of 15 sentences per second and core" if known.speed else "not measured"),
        ("settings", settings),
        ("trained by", found.training.get("command", "")),
    )
    head = Text.assemble(
        (known.name, "bold cyan"), f"  {card.summary}", " (the default model)" if known.default else ""
    )
    return [head, *(Text.assemble("  ", (f"{name:<14}", "dim"), str(value)) for name, value in facts if value)]


def _still_needed(needs: str) -> str:
    """Return what a model that was found needs: all but its training.

    Example:
        >>> _still_needed("the extra `parse`; trained weights (pip install ./zoo) or training")
        'the extra `parse`'
    """
    return "; ".join(need for need in needs.split("; ") if "training" not in need)
