"""Metrics for every genre of a set, their mean and the lowest of them.

A set has genres if the lines of its file have the key ``genre``. The mean over genres gives each genre the same weight,
however many texts it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from weft.corpora.readers.formats import detect_format
from weft.corpora.readers.jsonl import read_records
from weft.evaluation.metrics import ratio
from weft.evaluation.result import Measure
from weft.evaluation.sets.records import id_of
from weft.evaluation.task_contract import DataFile, Outcome

MEAN, LOWEST = "genre_mean", "lowest_genre"
LEAST_TEXTS = 10  # texts of the smallest genre that counts in the mean and in the lowest, if any genre has as many


def genres_of(data: DataFile) -> dict[str, str]:
    """Return the genre of each document by its id; empty if the first line of the file has none."""
    found: dict[str, str] = {}
    name = detect_format(data.path) if data.read.format == "auto" else data.read.format
    for record in read_records(data.path, data.read) if name == "jsonl" else ():
        genre = record.fields.get("genre")
        if not isinstance(genre, str) or not genre:
            if not found:
                break  # a set without genres is not read to its end
            continue
        found[id_of(record)] = genre
    return found


def add_genres(outcome: Outcome, genres: Mapping[str, str], headline: Sequence[str]) -> Outcome:
    """Return an outcome with measures by genre; unchanged if the texts have fewer than two genres.

    Every measure M gets ``M.genre_mean``. The headline measures, which come first, also get ``M.lowest_genre`` and one
    measure for each genre, such as ``M.news``. The setting ``lowest_genre`` names the lowest genre of each. Genres of
    fewer than `LEAST_TEXTS` measured texts do not count in the mean and in the lowest, unless all genres are so small;
    the setting ``small_genres`` names those that do not count, by measure.

    Example:
        >>> outcome = Outcome({"accuracy": Measure((1.0, 0.0, 0.0), (1.0, 1.0, 1.0))}, ["a", "b", "c"])
        >>> found = add_genres(outcome, {"a": "news", "b": "tale", "c": "tale"}, ["accuracy"])
        >>> {name: _value(measure) for name, measure in found.measures.items()}  # doctest: +NORMALIZE_WHITESPACE
        {'accuracy.genre_mean': 0.5, 'accuracy.lowest_genre': 0.0, 'accuracy': 0.3333333333333333,
         'accuracy.news': 1.0, 'accuracy.tale': 0.0}
        >>> found.settings
        {'lowest_genre': {'accuracy': 'tale'}}
    """
    names = [genres.get(document, "") for document in outcome.documents]
    kinds = sorted(set(names) - {""})
    if len(kinds) < 2:
        return outcome
    first: dict[str, Measure] = {}
    rest: dict[str, Measure] = {}
    lowest: dict[str, str] = {}
    small: dict[str, list[str]] = {}
    for name, measure in outcome.measures.items():
        parts = {kind: _inside(measure, names, kind) for kind in kinds}
        measured = {kind: part for kind, part in parts.items() if any(part.denominators)}
        if not measured:
            continue
        counted = {kind: part for kind, part in measured.items() if _texts(part) >= LEAST_TEXTS} or measured
        first[f"{name}.{MEAN}"] = _mean(measure, names, counted)
        if name in headline:
            lowest[name] = min(counted, key=lambda kind: _value(counted[kind]))
            first[f"{name}.{LOWEST}"] = measured[lowest[name]]
            small |= {name: left} if (left := [kind for kind in measured if kind not in counted]) else {}
            rest |= {f"{name}.{kind}": part for kind, part in measured.items()}
    leading = {f"{name}.{one}": first[f"{name}.{one}"] for name in headline if name in lowest for one in (MEAN, LOWEST)}
    measures = {**leading, **first, **outcome.measures, **rest}
    left_out = {"small_genres": small} if small else {}
    return replace(outcome, measures=measures, settings={**outcome.settings, LOWEST: lowest, **left_out})


def _inside(measure: Measure, names: Sequence[str], kind: str) -> Measure:
    """Return the parts of the documents of one genre; the others have the denominator 0."""
    inside = [name == kind for name in names]
    numerators, denominators = (
        tuple(value if there else 0.0 for value, there in zip(column, inside, strict=True))
        for column in (measure.numerators, measure.denominators)
    )
    return Measure(numerators, denominators)


def _mean(measure: Measure, names: Sequence[str], parts: Mapping[str, Measure]) -> Measure:
    """Return a measure whose value is the mean over genres: each document counts less, the larger its genre is."""
    weights = {kind: 1 / (len(parts) * sum(part.denominators)) for kind, part in parts.items()}
    scaled = [weights.get(name, 0.0) for name in names]
    numerators, denominators = (
        tuple(value * weight for value, weight in zip(column, scaled, strict=True))
        for column in (measure.numerators, measure.denominators)
    )
    return Measure(numerators, denominators)


def _texts(measure: Measure) -> int:
    return sum(denominator > 0 for denominator in measure.denominators)


def _value(measure: Measure) -> float:
    found = ratio(measure.numerators, measure.denominators)
    return float("inf") if found is None else found
