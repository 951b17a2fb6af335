"""Adversarial evaluation: the cut by page, the same treatment on both sides, controls, evaluators, resuming."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.helpers.tiny_adversarial import SMALL, TINY, WORDS, job_of, odds, pages, tiny_options  # noqa: E402

from weft.corpora.text.tokenizers import BpeTokenizer, WordTokenizer  # noqa: E402
from weft.errors import ConfigError, CorpusError  # noqa: E402
from weft.evaluation.adversarial import continuations  # noqa: E402
from weft.evaluation.adversarial.chunks import PARTS, Chunks, SelectionSettings, load_chunks, select_chunks  # noqa: E402
from weft.evaluation.adversarial.continuations import load_continuations  # noqa: E402
from weft.evaluation.adversarial.controls import label_control  # noqa: E402
from weft.evaluation.adversarial.evaluators.network_evaluator import NetworkInputs, network_verdicts  # noqa: E402
from weft.evaluation.adversarial.evaluators.pretrained_evaluator import pretrained_verdicts  # noqa: E402
from weft.evaluation.adversarial.labelled_chunks import LabelledChunks, label_continuations  # noqa: E402
from weft.evaluation.adversarial.options import EvaluatorSettings, adversarial_settings  # noqa: E402
from weft.evaluation.adversarial.saved_arrays import read_arrays, write_arrays  # noqa: E402
from weft.evaluation.adversarial.token_rows import TokenRows, canonical_rows  # noqa: E402
from weft.evaluation.adversarial.verdicts import Verdicts, adversuc_measures  # noqa: E402
from weft.evaluation.adversarial.writing import ADVERSARIAL_DECODING, write_continuations  # noqa: E402
from weft.evaluation.evaluate import evaluate  # noqa: E402
from weft.evaluation.evaluated_models import load_subjects, with_combination  # noqa: E402
from weft.evaluation.result import Result  # noqa: E402
from weft.evaluation.task_contract import Subject  # noqa: E402
from weft.evaluation.tasks import is_standard  # noqa: E402
from weft.models.seq2seq.seq2seq import Seq2Seq  # noqa: E402
from weft.report.samples import write_samples  # noqa: E402
from weft.scoring.uni_bi_mmi import COMBINATIONS  # noqa: E402
from weft.training.devices import Runtime, start_runtime  # noqa: E402

# Chunks ---------------------------------------------------------------------------------------------------------------


def test_no_page_is_in_two_parts_and_held_out_chunks_share_no_sentence(chunks: Chunks) -> None:
    assert chunks.sizes == (40, 8, 8)
    names = [set(chunks.pages[chunks.part(part)].tolist()) for part in PARTS]
    assert not (names[0] & names[1] or names[0] & names[2] or names[1] & names[2])
    for part in ("dev", "test"):
        whole = np.concatenate([chunks.context, chunks.human], axis=1)[chunks.part(part)]
        assert len(np.unique(whole)) == whole.size


def test_a_chunk_is_six_sentences_in_a_row_of_one_paragraph(chunks: Chunks, tokenizer: BpeTokenizer) -> None:
    paragraphs = {page.id: [one.sentences for one in page.paragraphs()] for page in pages()}
    for number in range(len(chunks)):
        places = [*chunks.context[number], *chunks.human[number]]
        texts = tuple(tokenizer.decode(chunks.rows.row(place)) for place in places)
        found = paragraphs[str(chunks.pages[number])]
        assert any(texts == one[start : start + 6] for one in found for start in range(len(one) - 5))


def test_the_selection_is_the_same_whatever_the_order_of_the_pages(chunks: Chunks, tokenizer: BpeTokenizer) -> None:
    again = select_chunks(pages()[::-1], tokenizer, SMALL, "print")
    for part in ("dev", "test"):
        assert again.pages[again.part(part)].tolist() == chunks.pages[chunks.part(part)].tolist()


def test_a_small_copy_is_tuned_on_no_page_that_the_whole_is_measured_on(tokenizer: BpeTokenizer) -> None:
    whole = select_chunks(pages(), tokenizer, SMALL)
    small = select_chunks(pages(), tokenizer, replace(SMALL, train=10, dev=2, test=2))
    for part in PARTS:
        assert set(small.pages[small.part(part)].tolist()) <= set(whole.pages[whole.part(part)].tolist())


def test_chunks_are_kept_and_too_few_are_told(data: Path, tokenizer: BpeTokenizer, tmp_path: Path) -> None:
    first = load_chunks(data, tokenizer, SMALL, folder=tmp_path)
    (kept,) = tmp_path.glob("chunks-*.npz")
    second = load_chunks(data, tokenizer, SMALL, folder=tmp_path)
    assert np.array_equal(first.context, second.context) and first.rows.flat.tolist() == second.rows.flat.tolist()
    kept.write_bytes(b"damaged")
    with pytest.raises(CorpusError, match="cannot use"):
        load_chunks(data, tokenizer, SMALL, folder=tmp_path)
    with pytest.raises(CorpusError, match="too few chunks"):
        load_chunks(data, tokenizer, replace(SMALL, train=10_000), tmp_path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("flat", lambda flat: flat + 10**6),
        ("flat", lambda flat: flat.astype(float)),
        ("flat", lambda flat: flat[:-1]),
        ("offsets", lambda offsets: offsets[::-1]),
        ("offsets", lambda offsets: offsets[:0]),
        ("context", lambda context: context[:-1]),
        ("context", lambda context: context + 10**6),
        ("human", lambda human: -1 - human),
        ("pages", lambda pages: pages[1:]),
        ("sizes", lambda sizes: sizes[:2]),
    ],
)
def test_chunks_that_do_not_belong_together_are_told(
    name: str, change: Callable[[Any], Any], data: Path, tokenizer: BpeTokenizer, tmp_path: Path
) -> None:
    load_chunks(data, tokenizer, SMALL, folder=tmp_path)
    (kept,) = tmp_path.glob("chunks-*.npz")
    found = read_arrays(kept)
    write_arrays(kept, {**found, name: change(found[name])})
    with pytest.raises(CorpusError, match="cannot use .*chunks-"):
        load_chunks(data, tokenizer, SMALL, folder=tmp_path)


# The same on both sides -----------------------------------------------------------------------------------------------


def test_human_and_machine_sentences_take_the_same_way(chunks: Chunks, tokenizer: BpeTokenizer) -> None:
    """A system that copies the human sentences, oddly spaced, is read as the human sentences are."""
    copied = [
        tuple("  " + tokenizer.decode(chunks.rows.row(place)).replace(" ", "\u00a0 ") + "\n" for place in row)
        for row in chunks.human.tolist()
    ]
    labelled = label_continuations(chunks, copied, tokenizer, SMALL.longest)[2]
    for part in PARTS:
        for human, machine in zip(
            labelled.human[part].ravel().tolist(), labelled.machine[part].ravel().tolist(), strict=True
        ):
            assert labelled.rows.row(human) == labelled.rows.row(machine)


def test_canonical_rows_are_those_of_the_text_they_stand_for(tokenizer: BpeTokenizer) -> None:
    texts = ["a cat sat", "café \u2014 naïve 東京 " * 4, "", "x" * 90]
    rows = canonical_rows(texts, tokenizer, longest=10)
    assert rows.lengths.max() <= 10
    again = canonical_rows([tokenizer.decode(rows.row(n)) for n in range(len(rows))], tokenizer, longest=10)
    assert [again.row(n) for n in range(4)] == [rows.row(n) for n in range(4)]
    assert not any("\ufffd" in tokenizer.decode(rows.row(n)) for n in range(4))


def test_no_human_sentence_is_longer_or_shorter_than_a_machine_may_write(chunks: Chunks) -> None:
    lengths = chunks.rows.lengths
    assert lengths.min() >= SMALL.shortest and lengths.max() <= SMALL.longest
    assert SelectionSettings().shortest == ADVERSARIAL_DECODING.min_tokens
    assert SelectionSettings().longest == ADVERSARIAL_DECODING.max_tokens - 1  # the end is a token too


# Writing --------------------------------------------------------------------------------------------------------------


def test_a_run_that_was_stopped_goes_on_to_the_same_end(
    model: Seq2Seq, chunks: Chunks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(continuations, "SHARD", 20)
    writer, job = model.bulk_writer(), job_of(model, chunks, "mmi")
    whole = load_continuations(writer, job, tmp_path / "whole")
    calls = 0

    def stops(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        return write_continuations(*arguments, **options)

    monkeypatch.setattr(continuations, "write_continuations", stops)
    with pytest.raises(KeyboardInterrupt):
        load_continuations(writer, job, tmp_path / "parts")
    again = load_continuations(writer, job, tmp_path / "parts")
    assert calls == 4  # one shard, one that was stopped, and the two that were left
    assert again.texts == whole.texts
    assert len(list((tmp_path / "parts").iterdir())) == 1  # the shards are gone
    load_continuations(writer, job, tmp_path / "parts")
    assert calls == 4  # the finished file is used


def test_a_damaged_file_of_continuations_is_refused(model: Seq2Seq, chunks: Chunks, tmp_path: Path) -> None:
    job = job_of(model, chunks)
    job.path(tmp_path).write_bytes(b"nothing of the kind")
    with pytest.raises(CorpusError, match="cannot use"):
        load_continuations(model.bulk_writer(), job, tmp_path)


# Controls -------------------------------------------------------------------------------------------------------------


def test_controls_are_what_they_say(chunks: Chunks) -> None:
    bouts = {
        name: label_control(chunks, name, 3, 1) for name in ("human", "random-sentence", "wrong-order", "repeat-last")
    }
    test = chunks.part("test")
    assert (bouts["repeat-last"].machine["test"][:, 3:] == chunks.context[test, 2:]).all()
    mixed = bouts["wrong-order"].machine["test"][:, 3:]
    assert (np.sort(mixed, axis=1) == np.sort(chunks.human[test], axis=1)).all()
    assert (mixed != chunks.human[test]).any(axis=1).all()
    assert (label_control(chunks, "wrong-order", 1, 1).machine["test"][:, 3] == chunks.human[test, 2]).all()
    page_of = {n: page for row, page in zip(chunks.human.tolist(), chunks.pages.tolist(), strict=True) for n in row}
    for part in PARTS:
        random = bouts["random-sentence"].machine[part]
        for row, page in zip(random.tolist(), chunks.pages[chunks.part(part)].tolist(), strict=True):
            assert all(page_of[number] != page for number in row[3:])
        human = bouts["human"]
        assert not set(human.pages[part][0]) & set(human.pages[part][1])
        assert len(human.human[part]) == len(human.machine[part]) > 0


# Evaluators -----------------------------------------------------------------------------------------------------------


def synthetic(seed: int, *, told_by: int | None) -> LabelledChunks:
    """Chunks of random tokens; with ``told_by``, the last sentence of every machine chunk holds that token."""
    generator = np.random.default_rng(seed)
    size, vocabulary = 360, 30
    sentences = [generator.integers(3, vocabulary, 5).tolist() for _ in range(8 * size)]
    human = np.arange(4 * size).reshape(size, 4)
    machine = 4 * size + human
    if told_by is not None:
        for number in machine[:, -1].tolist():
            sentences[number][2] = told_by
    cuts = {"train": slice(0, 240), "dev": slice(240, 300), "test": slice(300, 360)}
    names = {part: [str(n) for n in range(size)][cut] for part, cut in cuts.items()}
    return LabelledChunks(
        TokenRows.of(sentences),
        {part: human[cut] for part, cut in cuts.items()},
        {part: machine[cut] for part, cut in cuts.items()},
        {part: (names[part], names[part]) for part in cuts},
    )


def accuracy(labelled: LabelledChunks, settings: EvaluatorSettings) -> float:
    torch.manual_seed(0)
    with start_runtime("cpu") as runtime:
        embedding = torch.randn(31, 8) * 8**-0.5
        inputs = NetworkInputs(embedding, torch.zeros(len(labelled.rows), 0))
        found = network_verdicts(labelled, inputs, 0, settings, runtime, seed=1)
    return float(np.mean(np.concatenate([found.human["test"] > 0, found.machine["test"] <= 0])))


def test_the_evaluator_learns_an_obvious_difference_and_cannot_tell_what_has_none() -> None:
    settings = replace(TINY, hidden=16, width=16, epochs=6, learning_rate=1e-2, patience=12)
    assert accuracy(synthetic(1, told_by=30), settings) >= 0.95
    assert 0.35 <= accuracy(synthetic(1, told_by=None), settings) <= 0.65


def test_evaluators_learn_in_reduced_precision_too() -> None:
    """A GPU runs them so; the kinds of numbers must fit together."""
    labelled, settings = synthetic(1, told_by=30), replace(TINY, epochs=1)
    runtime = Runtime(torch.device("cpu"), bf16=True)
    vectors = torch.randn(len(labelled.rows), 12).half()
    sides = {"human": labelled.human, "machine": labelled.machine}
    surface = {
        (side, part): np.ones((len(chunks), chunks.shape[1] - 3, 5), dtype=np.float32)
        for side, parts in sides.items()
        for part, chunks in parts.items()
    }
    inputs = NetworkInputs(torch.randn(31, 8), vectors, (4, 4, 4))
    for one in (inputs, replace(inputs, surface=surface)):
        found = network_verdicts(labelled, one, 0, settings, runtime, seed=1)
        assert np.isfinite(found.human["test"]).all() and found.training["steps"] == 8


def test_the_outside_evaluator_learns_in_reduced_precision_too(tmp_path: Path) -> None:
    """It reads the texts, whatever tokenizer they come from."""
    labelled, tokenizer = synthetic(1, told_by=30), WordTokenizer.train([" ".join(WORDS)] * 2)
    runtime, settings = Runtime(torch.device("cpu"), bf16=True), replace(TINY, outside_epochs=1)
    rows = TokenRows.of([[1 + token % 20 for token in labelled.rows.row(n)] for n in range(len(labelled.rows))])
    found = pretrained_verdicts(
        [replace(labelled, rows=rows)], tiny_bert(tmp_path / "bert"), tokenizer, settings, runtime, seed=1
    )
    assert len(found) == 1 and np.isfinite(found[0].human["test"]).all() and found[0].training["steps"] > 0


def test_the_same_seed_gives_the_same_verdicts() -> None:
    labelled = synthetic(2, told_by=30)
    assert accuracy(labelled, TINY) == accuracy(labelled, TINY)


@pytest.mark.parametrize("shift", [-5.0, 0.0, 3.0])
def test_an_evaluator_that_leans_to_one_side_is_not_easier_to_fool(shift: float) -> None:
    """Only the order of the log-odds decides, and half of dev is always taken for human, equal odds by shares."""
    human, machine = odds(2, 1, 0.5, -1) + np.float32(shift), odds(1, 0, -1, -2) + np.float32(shift)
    verdicts = Verdicts({"dev": human, "test": human}, {"dev": machine, "test": machine}, {})
    assert verdicts.judged_human("human", "dev").sum() + verdicts.judged_human("machine", "dev").sum() == 4
    assert verdicts.judged_human("machine", "test").tolist() == [1, 0, 0, 0]
    same = Verdicts({"dev": odds(shift, shift), "test": human}, {"dev": odds(shift, shift), "test": machine}, {})
    assert same.judged_human("human", "dev").tolist() == [0.5, 0.5]
    assert same.judged_human("machine", "test", even=False).tolist() == (machine > 0).tolist()


def test_measures_count_each_page_for_itself() -> None:
    human, machine = odds(3, 2, -3), odds(1, -1, -2)
    verdicts = Verdicts({"dev": human, "test": human}, {"dev": machine, "test": machine}, {})
    places = np.zeros((3, 4), dtype=np.int64)
    labelled = LabelledChunks(
        TokenRows.of([[1]]), {"test": places}, {"test": places}, {"test": (["a", "a", "b"], ["b", "a", "a"])}
    )
    found = adversuc_measures(labelled, [verdicts], 2, ["a", "b"])
    assert found["human_accuracy_2"].numerators == (2, 0) and found["human_accuracy_2"].denominators == (2, 1)
    assert found["adversuc_2"].numerators == (0, 1) and found["machine_accuracy_2"].numerators == (2, 0)
    assert found["accuracy_2"].numerators == (4, 0) and found["accuracy_2"].denominators == (4, 2)
    assert found["raw_adversuc_2"].numerators == (0, 1) and found["raw_human_accuracy_2"].numerators == (2, 0)


# Pages ----------------------------------------------------------------------------------------------------------------


def test_samples_are_drawn_by_the_seed_and_stand_beside_what_people_wrote(
    model: Seq2Seq, chunks: Chunks, tokenizer: BpeTokenizer, tmp_path: Path
) -> None:
    for combine in COMBINATIONS[::2]:
        load_continuations(model.bulk_writer(), job_of(model, chunks, combine), tmp_path)
    other = replace(job_of(model, chunks), name="stranger", chunks=replace(chunks, fingerprint="others"))
    load_continuations(model.bulk_writer(), other, tmp_path)
    out = tmp_path / "samples.md"
    assert write_samples(out, chunks, tmp_path, tokenizer, count=3, seed=2) == 2
    page = out.read_text()
    assert page.count("## ") == page.count("- **people**") == page.count("- **tiny (mmi), ") == 3
    assert page.count("top_p=0.9") == 6, "how it wrote, where that is not the usual way"
    assert "stranger" not in page  # wrote after other contexts
    again, more = tmp_path / "again.md", tmp_path / "more.md"
    write_samples(again, chunks, tmp_path, tokenizer, count=3, seed=2)
    write_samples(more, chunks, tmp_path, tokenizer, count=100, seed=1)
    assert again.read_text() == page and more.read_text().count("## ") == 8  # all of the test part
    own = tmp_path / "own.md"
    write_samples(own, chunks, tmp_path, tokenizer, count=3, seed=2, machine_only=True)
    kept = [line for line in page.splitlines() if line.startswith(("## ", "- **tiny"))]
    assert [line for line in own.read_text().splitlines() if line.startswith(("## ", "- ", "> "))] == kept
    test = set(chunks.pages[chunks.part("test")].tolist())
    assert all(line.split("Page ")[1] in test for line in page.splitlines() if line.startswith("## "))


def test_samples_say_what_is_missing_or_damaged(chunks: Chunks, tokenizer: BpeTokenizer, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no continuations"):
        write_samples(tmp_path / "samples.md", chunks, tmp_path, tokenizer)
    (tmp_path / "bad.mmi-0.jsonl.xz").write_bytes(b"nothing of the kind")
    with pytest.raises(CorpusError, match="cannot use"):
        write_samples(tmp_path / "samples.md", chunks, tmp_path, tokenizer)
    head = {"chunks": chunks.fingerprint, "model": "m", "combine": "mmi", "decoding": ["sample"]}
    lines = [head, *({"sentences": ["A.", "B.", "C."]} for _ in range(len(chunks)))]
    (tmp_path / "bad.mmi-0.jsonl.xz").write_bytes(lzma.compress("\n".join(map(json.dumps, lines)).encode()))
    with pytest.raises(CorpusError, match="cannot use"):  # how it wrote is no list
        write_samples(tmp_path / "samples.md", chunks, tmp_path, tokenizer)
    assert not (tmp_path / "samples.md").exists()


# All of it ------------------------------------------------------------------------------------------------------------


def test_models_and_controls_from_data_to_result(model: Seq2Seq, folder: Path, data: Path, tmp_path: Path) -> None:
    options = tiny_options(tmp_path / "work", folder, second=True, informed=True, seeds=2)
    subject = with_combination(Subject(model, "seq2seq"), "mmi")
    mmi = evaluate("adversarial", subject, str(data), options, command="weft evaluate")
    again = Result.load(mmi.save(tmp_path / "results"))
    assert again.metrics == mmi.metrics and not is_standard(again)
    assert (mmi.variant, mmi.settings["combine"], mmi.n_pairs) == ("mmi-limit-5", "mmi", 5)
    for n in (1, 2, 3):
        for prefix in ("", "second_", "informed_", "lengths_"):
            metrics = mmi.metrics
            fooled, caught = metrics[f"{prefix}adversuc_{n}"], metrics[f"{prefix}machine_accuracy_{n}"]
            assert fooled is not None and caught is not None and fooled + caught == pytest.approx(1.0)
            assert sum(mmi.per_document[f"{prefix}adversuc_{n}"]["denominators"]) == 5
    verdicts = sorted((tmp_path / "work" / "verdicts").iterdir())
    alike = [f"matched_adversuc_{n}" in mmi.metrics for n in (1, 2, 3)]  # not where no lengths are alike
    assert any(alike)
    # Three numbers of turns, two seeds of the first evaluator, three of trees and those of like lengths.
    assert len(verdicts) == 15 + sum(alike)
    stamps = [path.stat().st_mtime_ns for path in verdicts]
    once_more = evaluate("adversarial", subject, str(data), options)
    assert once_more.metrics == mmi.metrics and [path.stat().st_mtime_ns for path in verdicts] == stamps
    (control,) = load_subjects("adversarial", "control-repeat-last", {})
    found = evaluate("adversarial", control, str(data), options)
    assert found.model == "control-repeat-last" and found.n_pairs == 5 and found.estimator == "exact"


def test_every_kind_of_evaluator_can_be_chosen(folder: Path, data: Path, tmp_path: Path) -> None:
    """Each has measures of its own, and a later run that adds one keeps the verdicts of the others."""
    options = tiny_options(tmp_path / "work", folder)
    (control,) = load_subjects("adversarial", "control-repeat-last", {})
    evaluate("adversarial", control, str(data), options)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "work" / "verdicts").iterdir()}
    more = {"evaluator.plain": True, "evaluator.surface": True, "evaluator.outside": str(tiny_bert(tmp_path / "bert"))}
    found = evaluate("adversarial", control, str(data), replace(options, settings={**options.settings, **more}))
    for prefix in ("", "plain_", "surface_", "outside_"):
        assert all(found.metrics[f"{prefix}adversuc_{n}"] is not None for n in (1, 2, 3))
        assert found.settings["evaluators"][f"{prefix}3"]["trainings"][0]["steps"] > 0
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in before.items())
    none = evaluate(
        "adversarial", control, str(data), replace(options, settings={**options.settings, "evaluator.seeds": 0})
    )
    assert "adversuc_1" not in none.metrics and "lengths_adversuc_1" in none.metrics
    alone = {"evaluator.first": False, "evaluator.plain": True}  # one kind in a process of its own
    plain = evaluate("adversarial", control, str(data), replace(options, settings={**options.settings, **alone}))
    assert "adversuc_1" not in plain.metrics and plain.metrics["plain_adversuc_1"] == found.metrics["plain_adversuc_1"]


def tiny_bert(folder: Path) -> Path:
    """A folder with an untrained BERT whose tokenizer knows the words of the pages."""
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers

    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS]
    pieces = Tokenizer(models.WordLevel({name: number for number, name in enumerate(names)}, unk_token="[UNK]"))
    pieces.pre_tokenizer = pre_tokenizers.Whitespace()
    config = transformers.BertConfig(
        vocab_size=len(names), hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8
    )
    transformers.BertModel(config).save_pretrained(str(folder))
    pieces.save(str(folder / "tokenizer.json"))
    return folder


def test_an_outside_evaluator_that_is_not_there_is_told(folder: Path, data: Path, tmp_path: Path) -> None:
    (control,) = load_subjects("adversarial", "control-repeat-last", {})
    options = tiny_options(tmp_path / "work", folder, outside=str(tmp_path / "nowhere"))
    with pytest.raises(ConfigError, match="no pretrained model"):
        evaluate("adversarial", control, str(data), options)


def test_controls_of_another_seed_get_verdicts_of_their_own(folder: Path, data: Path, tmp_path: Path) -> None:
    options = tiny_options(tmp_path / "work", folder)
    (control,) = load_subjects("adversarial", "control-random-sentence", {})
    seen: set[Path] = set()
    for seed in (1, 2):  # other sentences, though seeds of evaluators come again
        evaluate("adversarial", control, str(data), replace(options, seed=seed))
        new = set((tmp_path / "work" / "verdicts").iterdir()) - seen
        assert len(new) == 3 * (1 + 1)
        seen |= new


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"decoding.bean": 3}, "unknown setting"),
        ({"evaluator.sead": 1}, "evaluator.sead.*evaluator.seeds"),
        ({"evaluator.hidden": "many"}, "wrong type"),
        ({"decoding.beam": True}, "wrong type"),
        ({"decoding.max_tokens": 82}, "sentences that long"),
        ({"evaluator.seeds": -1}, "out of range"),
        ({"decoding.alike": float("nan")}, "alike is not a finite number"),
        ({"decoding.length_power": -3.0}, "length_power out of range"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        adversarial_settings(settings)


def test_wrong_subjects_are_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown control"):
        load_subjects("adversarial", "control-nothing", {})
    with pytest.raises(ConfigError, match="no such option"):
        load_subjects("adversarial", "control-human", {"decoding.beam": 3})
    with pytest.raises(ConfigError, match="no encoders"):
        (control,) = load_subjects("adversarial", "control-human", {})
        evaluate("adversarial", control, str(data), tiny_options(tmp_path, "foltz-glove"))
