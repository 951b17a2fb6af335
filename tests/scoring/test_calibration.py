"""Percentiles: what a score means, and the folder it is kept in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.helpers.zoo_models import WEFT_SMALL

import weft
from weft.document import Document
from weft.errors import ConfigError, CorpusError, ModelError
from weft.evaluation.calibration import FEWEST_TEXTS, LENGTH_CLASSES, UNITS, calibrate
from weft.hub import load_model, model_folder
from weft.io.model_folder import load_artifact
from weft.models.reader.reader import Reader
from weft.models.seq2seq.seq2seq import Seq2Seq, Seq2SeqSettings
from weft.registry import DEFAULT_MODEL
from weft.scoring.percentiles import Group, Reference, make_group, read_reference

LINE = tuple(float(n) for n in range(101))


def reference(*groups: Group) -> Reference:
    return Reference("texts", "mmi", groups or (Group(2, 10, LINE, LINE),))


@pytest.mark.parametrize(
    ("value", "place"), [(-5.0, 0.0), (0.0, 0.0), (50.0, 50.0), (50.25, 50.25), (100.0, 100.0), (1e9, 100.0)]
)
def test_a_value_stands_where_counting_puts_it(value: float, place: float) -> None:
    assert reference().percentiles(value, 5).written == pytest.approx(place)


def test_equal_scores_share_the_middle() -> None:
    flat = (*([1.0] * 50), *([2.0] * 51))
    assert reference(Group(2, 10, flat, flat)).percentiles(1.0, 5).written == pytest.approx(24.5)


def test_percentiles_agree_with_counting_on_real_samples() -> None:
    scores = [((n * 7919) % 1000) / 1000 for n in range(1000)]
    group = make_group(2, scores, [score - 0.2 for score in scores])
    for value in (0.111, 0.5, 0.93):
        found = reference(group).percentiles(value, 9)
        assert found.written == pytest.approx(100 * sum(s < value for s in scores) / 1000, abs=1.0)
        assert found.shuffled == pytest.approx(100 * sum(s - 0.2 < value for s in scores) / 1000, abs=1.0)


def test_a_text_is_compared_with_texts_of_its_length() -> None:
    short, long = Group(3, 10, LINE, LINE), Group(10, 10, tuple(2 * q for q in LINE), LINE)
    chosen = reference(short, long)
    assert [chosen.percentiles(50.0, size).written for size in (2, 3, 9, 10, 500)] == [50, 50, 50, 25, 25]


def test_it_survives_the_disk_and_refuses_what_it_did_not_write() -> None:
    kept = reference()
    assert read_reference(kept.to_text(), source="here") == kept
    for bad in ("{", "[]", "{}", json.dumps({**json.loads(kept.to_text()), "groups": [{"fewest": 1}]}), "[" * 100_000):
        with pytest.raises(ModelError, match="weft calibrate"):
            read_reference(bad, source="here")
    short = json.loads(kept.to_text())
    short["groups"][0]["written"] = [1.0, 2.0]
    with pytest.raises(ModelError, match="quantiles"):
        read_reference(json.dumps(short), source="here")
    for odd in ([*LINE[:-1], float("nan")], list(reversed(LINE))):
        short["groups"][0]["written"] = odd
        with pytest.raises(ModelError, match="do not ascend"):
            read_reference(json.dumps(short), source="here")


def test_the_default_model_is_calibrated() -> None:
    model = load_model(DEFAULT_MODEL)
    assert isinstance(model, Reader)
    assert model.reference is not None and model.break_calibration is not None
    assert [group.fewest for group in model.reference.groups] == list(LENGTH_CLASSES)
    assert {"essay", "news", "fiction", "encyclopedia"} <= set(model.reference.genres)
    for group in model.reference.groups:
        assert list(group.written) == sorted(group.written)
        assert group.written[50] > group.shuffled[50]
    for groups in model.reference.genres.values():
        assert all(group.n >= FEWEST_TEXTS for group in groups)
    assert model.reference.command.startswith("weft calibrate ") and " /" not in model.reference.command


def test_percentiles_belong_to_one_combination() -> None:
    model = Seq2Seq.load(WEFT_SMALL)
    assert model.reference is not None
    assert model.combined("bi").reference is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("calibrate") / "model"
    documents = [Document(str(n), tuple(f"the {w} cat number {n} sat" for w in "abcdef")) for n in range(20)]
    Seq2Seq(Seq2SeqSettings(dimensions=8, hidden=8, layers=1)).fit(documents).save(place, training={"seed": 3})
    return place


def test_calibrating_writes_the_folder_and_keeps_the_rest(folder: Path) -> None:
    texts = [
        Document(f"{size}-{n}", tuple(f"the {w} dog number {n} ran" for w in "abcdefghijkl"[:size]))
        for size in (3, 6, 11)
        for n in range(25)
    ]
    same = Document("same", ("One.", "One.", "One."))  # reads the same in any order
    before = Seq2Seq.load(folder).score(texts[:3])
    found = calibrate(folder, [*texts, same], texts="dogs", seed=4, command="weft calibrate")
    assert [(group.fewest, group.n) for group in found.groups] == [(3, 25), (5, 25), (10, 25)]
    model = Seq2Seq.load(folder)
    assert model.reference == found
    assert model.score(texts[:3]) == before
    assert load_artifact(folder).training["seed"] == 3
    place = found.percentiles(before[0].value or 0.0, 3)
    assert 0 <= place.written <= 100
    # Saved again, it is still there.
    model.save(folder.with_name("again"))
    assert Seq2Seq.load(folder.with_name("again")).reference == found


def test_a_copy_of_the_model_inside_the_package_is_calibrated(tmp_path: Path) -> None:
    """The package itself is not changed."""
    texts = [
        Document(f"{size}-{n}", tuple(f"The {w} dog number {n} ran." for w in "abcdefghijkl"[:size]))
        for size in (3, 6, 11)
        for n in range(20)
    ]
    before = (model_folder(DEFAULT_MODEL) / "model.json").read_bytes()
    found = calibrate(DEFAULT_MODEL, texts, texts="dogs", out=tmp_path / "mine")
    copy = load_model(tmp_path / "mine")
    assert isinstance(copy, Reader)
    assert copy.reference == found
    assert copy.score(texts[:2]) == load_model(DEFAULT_MODEL).score(texts[:2])
    assert (model_folder(DEFAULT_MODEL) / "model.json").read_bytes() == before
    with pytest.raises(ConfigError, match="not empty.*mine.*next: give another --out"):
        calibrate(DEFAULT_MODEL, texts, texts="dogs", out=tmp_path / "mine")
    with pytest.raises(CorpusError, match="too few texts"):
        calibrate(DEFAULT_MODEL, texts[:10], texts="dogs", out=tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_too_few_texts_are_refused_and_nothing_is_written(folder: Path) -> None:
    before = (folder / "model.json").read_bytes()
    few = [Document(str(n), ("A.", "B.", f"C{n}.")) for n in range(FEWEST_TEXTS - 1)]
    for out in (None, folder.with_name("new")):
        with pytest.raises(CorpusError, match="too few texts: saw 19.*--unit paragraph"):
            calibrate(folder, few, texts="t", out=out)
    assert (folder / "model.json").read_bytes() == before
    assert not folder.with_name("new").exists()


def numbered(count: int, sizes: tuple[int, ...], genre: str = "") -> list[Document]:
    return [
        Document(f"{genre}{n}", tuple(f"Cat {i} of {n} sat." for i in range(sizes[n % len(sizes)])), genre=genre)
        for n in range(count)
    ]


def test_thirty_essays_are_enough_for_any_model(tmp_path: Path) -> None:
    essays = numbered(30, (7, 12, 25))
    for name in ("random", "foltz-glove", DEFAULT_MODEL):
        found = calibrate(name, essays, texts="essays", unit="text", out=tmp_path / name)
        assert [(group.fewest, group.n) for group in found.groups] == [(5, 30)]  # classes of ten texts are joined
        score = weft.score(essays[0], model=tmp_path / name)
        assert score.percentile is not None and (score.genre, score.reference) == ("", "essays")
        if name != DEFAULT_MODEL:  # it was exported, and is copied as a folder
            weft.load(tmp_path / name).inner.save(tmp_path / "again")
            assert weft.score(essays[0], model=tmp_path / "again").percentile == score.percentile


def test_what_counts_as_a_text(tmp_path: Path) -> None:
    sentences = tuple(f"Cat {i} sat." for i in range(30))
    documents = [Document(f"d{n}", sentences, paragraph_starts=(0, 4, 5)) for n in range(20)]
    counts = {
        unit: [
            (g.fewest, g.n) for g in calibrate("random", documents, texts="t", unit=unit, out=tmp_path / unit).groups
        ]
        for unit in UNITS
    }
    assert counts["text"] == [(20, 20)]
    assert counts["paragraph"] == [(3, 20), (20, 20)]  # the paragraph of one sentence is left out
    assert counts["excerpt"] == [(3, 20), (5, 20), (10, 20), (20, 20)]
    with pytest.raises(ConfigError, match="unknown unit: saw 'line'; allowed: paragraph, text, excerpt"):
        calibrate("random", documents, texts="t", unit="line", out=tmp_path / "x")


def test_every_genre_has_its_own_scores_and_the_same_weight(tmp_path: Path) -> None:
    many, few, rare = numbered(60, (6,), "news"), numbered(20, (6,), "tale"), numbered(19, (6,), "poem")
    found = calibrate("random", [*many, *few, *rare], texts="all", unit="text", out=tmp_path / "m")
    assert {name: groups[0].n for name, groups in found.genres.items()} == {"news": 60, "tale": 20}  # 19 are too few
    assert found.groups[0].n == 99
    model = weft.load(tmp_path / "m")
    given, labelled = model.score(few[0], genre="news"), model.score(few[0])
    assert (given.genre, labelled.genre) == ("news", "tale")
    assert given.percentile != labelled.percentile
    assert model.score(few[0], genre="all").genre == "all"


def test_excerpts_of_few_documents_make_no_genre(tmp_path: Path) -> None:
    few, enough = numbered(19, (30,), "tale"), numbered(20, (30,), "news")
    found = calibrate("random", [*few, *enough], texts="all", unit="excerpt", out=tmp_path / "m")
    assert list(found.genres) == ["news"]
    assert [group.n for group in found.groups] == [39] * 4


def test_weights_of_texts_move_the_quantiles() -> None:
    low, high = [0.0] * 90, [1.0] * 10
    equal = make_group(3, [*low, *high], [*low, *high])
    fair = make_group(3, [*low, *high], [*low, *high], [1 / 90] * 90 + [1 / 10] * 10)
    assert sum(value == 0 for value in equal.written) == pytest.approx(91, abs=1)
    assert sum(value == 0 for value in fair.written) == pytest.approx(51, abs=1)
    assert len(fair.written) == 101
