"""The card of a model as Markdown: what it is, how it was trained, what it has read, with licences, and its results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.corpora.data_licences import ENCODERS, licence_of, training_files
from weft.evaluation.result import Key, Result
from weft.hub import PACKAGE_FOLDERS, describe_model, find_model
from weft.io.file_hash import sha256_of
from weft.io.model_folder import MANIFEST, load_artifact, read_manifest
from weft.io.package_files import PRETRAINED
from weft.models.common.saved_reference import saved_reference
from weft.models.reader.export import NOTICE
from weft.report.tables import load_results
from weft.scoring.percentiles import Reference

HASH = 12  # characters of a hash that are shown


def model_card(name: str, results: str | Path | Mapping[Key, Result] = "results") -> str:
    """Return the card of a model.

    Args:
        name: Name or folder of a model.
        results: Results folder, or the results in it where they have been loaded before; the card has no results if the
            folder does not exist.

    Raises:
        ConfigError: There is no model of that name.
        ModelError: It has to be trained first, or its folder is damaged.

    Example:
        >>> "## What it has read" in model_card("weft-reader", "no-such-folder")
        True
    """
    found = find_model(name)
    folder = found.folder or (PRETRAINED / PACKAGE_FOLDERS[found.model] if found.model in PACKAGE_FOLDERS else None)
    manifest = read_manifest(folder) if folder is not None else {}
    training = manifest.get("training", {})
    reference = saved_reference(load_artifact(folder), folder) if folder is not None else None
    sections = [
        *_about(name),
        *_training_lines(training, manifest),
        *_data_lines(training, manifest.get("config", {})),
        *_notice_lines(folder),
        *_reference_lines(reference),
        *_result_lines(_results_of(Path(name).name, folder, results)),
    ]
    return "\n".join(sections) + "\n"


def _about(name: str) -> Iterator[str]:
    described = describe_model(name)
    card = described.card
    yield f"# {described.known.name}"
    yield ""
    yield f"{card.summary[0].upper()}{card.summary[1:]}."
    yield ""
    yield f"- **Score**: {card.score_range}; higher is more coherent."
    yield f"- **A high score**: {card.meaning}."
    yield f"- **Comparable**: {card.comparable}."
    yield f"- **Publication**: {card.reference}."
    if described.known.size:
        yield f"- **Size**: {described.known.size / 1e6:.1f} MB."


def _training_lines(training: Mapping[str, Any], manifest: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", "## How it was trained", "")
    if not training:
        yield "Not trained, or without a record of its training."
        return
    facts = {
        "Command": _code(training.get("command")),
        "Seed": training.get("seed"),
        "Fingerprint of the data": _code(training.get("data_fingerprint")),
        "Sentences": f"{training['sentences']:,}" if training.get("sentences") else None,
        "Documents, at most": training.get("limit") or None,
        "Hash of the folder": _code(manifest.get("sha256")),
        "weft": manifest.get("weft"),
    }
    yield from (f"- **{key}**: {value}" for key, value in facts.items() if value not in (None, ""))
    for kind, before in _built_on(training):
        made = _code(before["training"].get("command")) or "a command that is not recorded"
        yield f"- **{kind}**: {before['folder']}, hash {_code(before['sha256'][:HASH])}, made by {made}"


def _built_on(training: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the models that a model was built on, nearest first."""
    for key, kind in (("start", "Started from"), ("base", "With parts of")):
        if isinstance(before := training.get(key), Mapping):
            yield kind, before
            yield from _built_on(before["training"])


def _data_lines(training: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[str]:
    files = training_files(training.get("data") or {})
    encoder = ENCODERS.get(str(config.get("encoder", "")))
    yield from ("", "## What it has read", "")
    if not files and encoder is None:
        yield "No training texts are recorded."
        return
    yield from ("| file | SHA-256 | sources | licences of the texts |", "|---|---|---|---|")
    if encoder is not None:
        yield f"| – | – | {encoder.sources} | {encoder.licence} |"
    licences = {name: licence_of(name) for name in files}
    for name, digest in files.items():
        yield f"| {name} | {_code(digest[:HASH]) or '–'} | {licences[name].sources} | {licences[name].licence} |"
    closed = [name for name, licence in licences.items() if not licence.open]
    yield ""
    if closed:
        yield f"Not all sources have an open licence: {', '.join(closed)}."
    else:
        yield "All sources have an open licence; some texts of mixed sources may have a non-commercial one."
    if any(True for _ in _built_on(training)):
        yield "It was built on other models. Their cards list the data of these models."


def _notice_lines(folder: Path | None) -> Iterator[str]:
    """Yield the licence of the weights, as the notice in the folder of a model states it."""
    if folder is None or not (folder / NOTICE).is_file():
        return
    yield from ("", "## Licence of the weights", "")
    yield from (folder / NOTICE).read_text(encoding="utf-8").strip().splitlines()


def _reference_lines(reference: Reference | None) -> Iterator[str]:
    if reference is None:
        return
    yield from ("", "## Reference scores", "")
    groups = ", ".join(f"{group.n} of {group.fewest} sentences or more" for group in reference.groups)
    yield f"Percentiles are among {reference.texts} (unit: {reference.unit}; {groups})."
    if reference.genres:
        counts = (f"{name} {sum(group.n for group in groups)}" for name, groups in reference.genres.items())
        yield f"Texts of each genre: {', '.join(counts)}."
    if reference.command:
        yield f"Command: {_code(reference.command)}, seed {reference.seed}."


def _results_of(name: str, folder: Path | None, results: str | Path | Mapping[Key, Result]) -> list[Result]:
    """Return the results of a model on standard data: of its folder, or by its name where no hash was recorded."""
    if not isinstance(results, Mapping):
        results = load_results(results) if Path(results).is_dir() else {}
    digest = sha256_of(folder / MANIFEST) if folder is not None else ""
    command = read_manifest(folder).get("training", {}).get("command") if folder is not None else None
    return [result for result in results.values() if _is_of(result, name, digest, command)]


def _is_of(result: Result, name: str, digest: str, command: str | None) -> bool:
    """Return whether a result is of a model: by the hash of its folder, the command that trained it, or its name."""
    if result.model_sha256 and digest:
        return result.model_sha256 == digest
    if command and result.training.get("command"):
        return bool(result.training["command"] == command)
    return result.model == name


def _result_lines(results: Sequence[Result]) -> Iterator[str]:
    yield from ("", "## Results", "")
    if not results:
        yield "No result of this model was found."
        return
    yield from ("| task | variant | metric | value | 95% interval | documents |", "|---|---|---|---|---|---|")
    for result in sorted(results, key=lambda one: (one.task, one.variant)):
        metric, value = next(((name, value) for name, value in result.metrics.items() if value is not None), ("", None))
        if value is None:
            continue
        bounds = result.bounds(metric)
        interval = f"{bounds[0]:.3f} to {bounds[1]:.3f}" if bounds else "–"
        cells = (result.task, result.variant or "–", metric, f"{value:.3f}", interval, str(result.n_documents))
        yield f"| {' | '.join(cells)} |"


def _code(text: object) -> str:
    return f"`{text}`" if text else ""
