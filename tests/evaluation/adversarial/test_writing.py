"""What is written for an adversarial evaluation: contexts, chance, latent variables, controls, and what is kept."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.helpers.guided_models import assembled  # noqa: E402
from tests.helpers.tiny_adversarial import FEW, WORDS, job_of, tiny_options  # noqa: E402
from torch import device as Device  # noqa: E402, N812

from weft.corpora.text.tokenizers import BpeTokenizer, WordTokenizer  # noqa: E402
from weft.evaluation.adversarial import continuations, panel, writing  # noqa: E402
from weft.evaluation.adversarial.chunks import PARTS, Chunks, SelectionSettings, load_chunks  # noqa: E402
from weft.evaluation.adversarial.continuations import WritingJob, load_continuations  # noqa: E402
from weft.evaluation.adversarial.controls import label_control  # noqa: E402
from weft.evaluation.adversarial.evaluators.network_evaluator import network_verdicts  # noqa: E402
from weft.evaluation.adversarial.experiment import estimate_record  # noqa: E402
from weft.evaluation.adversarial.labelled_chunks import LabelledChunks  # noqa: E402
from weft.evaluation.adversarial.token_rows import TokenRows  # noqa: E402
from weft.evaluation.adversarial.writing import write_continuations, write_next_sentences  # noqa: E402
from weft.evaluation.evaluate import evaluate  # noqa: E402
from weft.evaluation.evaluated_models import load_subjects, with_combination  # noqa: E402
from weft.evaluation.sets.data_sets import DATA_SETS  # noqa: E402
from weft.evaluation.task_contract import EvaluateOptions, Subject  # noqa: E402
from weft.evaluation.tasks import is_standard  # noqa: E402
from weft.generation.bulk_writing import BulkWriter, Contexts, Proposals  # noqa: E402
from weft.generation.decoding_settings import Decoding  # noqa: E402
from weft.hub import load_model  # noqa: E402
from weft.models.common.neural.encoder_decoder import Tokens  # noqa: E402
from weft.models.common.neural.guided_decoding import encode_rows  # noqa: E402
from weft.models.common.neural.sentence_predictor import padded  # noqa: E402
from weft.models.seq2seq.seq2seq import Seq2Seq  # noqa: E402
from weft.models.vlv.bulk_writer import ChainWriter  # noqa: E402
from weft.models.vlv.estimators import ESTIMATORS, Estimate  # noqa: E402
from weft.models.vlv.vlv_gm import VlvGm, VlvGmSettings  # noqa: E402
from weft.scoring.uni_bi_mmi import Combine  # noqa: E402

SMALL = SelectionSettings(train=20, dev=6, test=6, shortest=2, longest=14)


def sentences(count: int, seed: int, *, longest: int = 6) -> list[str]:
    generator = np.random.default_rng(seed)
    return [f"{' '.join(generator.choice(WORDS, size))}." for size in generator.integers(3, longest + 1, count)]


def write_pages(path: Path, *, longest: int = 6) -> Path:
    """Sixty pages of three paragraphs, nine sentences each."""
    paragraphs = [[sentences(9, 3 * page + number, longest=longest) for number in range(3)] for page in range(60)]
    records = [{"id": f"page-{page}", "paragraphs": found} for page, found in enumerate(paragraphs)]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture(scope="module")
def chunks(data: Path, tokenizer: BpeTokenizer, tmp_path_factory: pytest.TempPathFactory) -> Chunks:
    return load_chunks(data, tokenizer, SMALL, tmp_path_factory.mktemp("chunks"))


class RecordingWriter:
    """A writer that remembers what it was asked to continue, and with which seed."""

    def __init__(self, writer: BulkWriter) -> None:
        self.writer, self.tokenizer = writer, writer.tokenizer
        self.contexts: list[list[list[list[int]]]] = []
        self.seeds: list[int] = []

    @property
    def device(self) -> Device:
        return self.writer.device

    def propose(self, contexts: Contexts, decoding: Decoding, *, reranked: bool) -> Proposals:
        self.contexts.append(sorted([list(ids) for ids in context] for context in contexts))
        self.seeds.append(decoding.seed)
        return self.writer.propose(contexts, decoding, reranked=reranked)


def ids_of(chunks: Chunks, count: int) -> list[tuple[list[int], ...]]:
    return [tuple(chunks.rows.row(number) for number in row) for row in chunks.context[:count].tolist()]


# Turn by turn ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("combine", ["uni", "mmi"])
def test_a_sentence_is_written_after_those_before_it(model: Seq2Seq, chunks: Chunks, combine: Combine) -> None:
    writer, contexts = RecordingWriter(model.bulk_writer()), ids_of(chunks, 4)
    written = write_continuations(writer, contexts, FEW, combine)
    for turn in range(3):
        added = [writer.tokenizer.encode_batch(list(texts[:turn])) for texts in written]
        assert writer.contexts[turn] == sorted([*one, *more] for one, more in zip(contexts, added, strict=True))


def test_no_two_batches_turns_or_shards_share_their_seed(
    model: Seq2Seq, chunks: Chunks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "CONTEXTS_AT_ONCE", {"cpu": 8})
    monkeypatch.setattr(continuations, "SHARD", 16)
    writer = RecordingWriter(model.bulk_writer())
    load_continuations(writer, job_of(model, chunks), tmp_path)
    assert len(writer.seeds) == len(set(writer.seeds)) == 2 * 3 * 2  # two shards of three turns, two batches each
    again = RecordingWriter(model.bulk_writer())
    for seed in (FEW.seed, FEW.seed + 1):
        write_next_sentences(again, ids_of(chunks, 8), replace(FEW, seed=seed), "uni", seed=(0, 0))
    assert again.seeds[0] == writer.seeds[0] and again.seeds[1] not in writer.seeds


# Latent variables -----------------------------------------------------------------------------------------------------

TEXTS = ["a cat sat on a mat", "a dog ran home", "the cat saw the dog", "home is a mat"]


def chain_writer(search_samples: int = 1) -> ChainWriter:
    tokenizer = WordTokenizer.train(TEXTS, min_count=1)
    made = VlvGm(VlvGmSettings(
        dimensions=12, hidden=12, layers=1, feed=False, latent=3, width=8, search_samples=search_samples,
        precision="float32",
    ))  # fmt: skip
    writer = assembled(made, tokenizer, seed=4).bulk_writer()
    assert isinstance(writer, ChainWriter)
    return writer


def chain_contexts(writer: ChainWriter) -> list[list[list[int]]]:
    return [writer.tokenizer.encode_batch(texts) for texts in (TEXTS[:3], TEXTS[1:], [TEXTS[3], *TEXTS[:2]])]


def test_vlv_gm_writes_after_the_last_sentence_guided_by_every_draw_of_z(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the search adds up is what the decoder says of the candidate after that sentence, with that z."""
    writer, draws, each = chain_writer(), 2, 3
    contexts = chain_contexts(writer)
    noise = torch.randn(len(contexts) * draws, 3, generator=torch.Generator().manual_seed(7))
    monkeypatch.setattr(ChainWriter, "noise", lambda self, rows, generator: noise)
    decoding = Decoding(method="sample", beam=draws * each, draws=draws, min_tokens=1, max_tokens=12, no_repeat=0)
    found = writer.propose(contexts, decoding, reranked=False)
    read = writer.forward.read_tokens(writer.tokens([ids for context in contexts for ids in context]))
    prior = writer.chains[0].predict(writer.state_after(read, len(contexts)))
    checked = 0
    for number, context in enumerate(contexts):
        for place in range(draws * each):
            length = int(found.lengths[number, place])
            if not 1 < length < decoding.max_tokens:  # at the longest the end is forced
                continue
            z = prior.mean[number] + prior.log_std[number].exp() * noise[number * draws + place // each]
            pair = [context[-1], found.ids[number, place, : length - 1].tolist()]
            here = writer.forward.read_tokens(padded(pair, writer.tokenizer.pad_id, writer.device))
            known = writer.forward.log_probs(here, torch.tensor([0]), torch.tensor([1]), z[None])
            assert found.log_probs[number, place] == pytest.approx(float(known), abs=1e-3)
            checked += 1
    assert checked >= 6


def test_more_samples_of_the_same_z_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimate is a mean over samples, so that scores with one and with several can be compared."""
    monkeypatch.setattr(ChainWriter, "noise", lambda self, rows, generator: torch.zeros(rows, 3))
    one, four = chain_writer(1), chain_writer(4)
    assert (one.estimate.samples, four.estimate.samples) == (1, 4)
    found = [writer.propose(chain_contexts(writer), FEW, reranked=True).pairs for writer in (one, four)]
    assert found[0] is not None and found[1] is not None
    for part in ("forward", "backward"):
        assert getattr(found[1], part) == pytest.approx(getattr(found[0], part), abs=1e-4)


# Controls and parts ---------------------------------------------------------------------------------------------------


def plain_chunks(pages: int) -> Chunks:
    """In every part so many pages of one chunk each; no sentence is in two."""
    size = len(PARTS) * pages
    places = np.arange(6 * size).reshape(size, 6)
    names = np.array([f"page-{number}" for number in range(size)])
    rows = TokenRows.of([[3 + number % 7] for number in range(6 * size)])
    return Chunks(rows, places[:, :3], places[:, 3:], names, (pages, pages, pages), "plain")


def test_a_random_sentence_is_one_of_the_same_turn() -> None:
    chunks = plain_chunks(12)
    labelled = label_control(chunks, "random-sentence", 3, seed=1)
    for part in PARTS:
        human = chunks.human[chunks.part(part)]
        for turn in range(3):
            drawn = labelled.machine[part][:, 3 + turn]
            assert set(drawn.tolist()) <= set(human[:, turn].tolist())
            assert len(set(drawn.tolist())) > 6  # not one for all


def test_people_against_people_are_two_halves() -> None:
    chunks = plain_chunks(12)
    labelled = label_control(chunks, "human", 2, seed=1)
    whole = np.concatenate([chunks.context, chunks.human[:, :2]], axis=1)
    for part in PARTS:
        assert len(labelled.human[part]) == len(labelled.machine[part]) == 6
        both = np.concatenate([labelled.human[part], labelled.machine[part]])
        assert sorted(both.tolist()) == whole[chunks.part(part)].tolist()


def test_a_human_sentence_that_is_too_long_is_left_out_and_not_cut(tokenizer: BpeTokenizer, tmp_path: Path) -> None:
    path = write_pages(tmp_path / "long.jsonl", longest=16)
    written = {
        sentence
        for line in path.read_text().splitlines()
        for paragraph in json.loads(line)["paragraphs"]
        for sentence in paragraph
    }
    lengths = [len(ids) for ids in tokenizer.encode_batch(sorted(written))]
    assert max(lengths) > 16
    found = load_chunks(path, tokenizer, replace(SMALL, train=10, dev=2, test=2, longest=16), path.parent)
    assert found.rows.lengths.max() <= 16
    assert {tokenizer.decode(found.rows.row(number)) for number in range(len(found.rows))} <= written


# What is kept ---------------------------------------------------------------------------------------------------------


def other(value: Any) -> Any:
    return not value if isinstance(value, bool) else value / 2 if isinstance(value, float) else value + 1


def test_chunks_of_another_tokenizer_protocol_or_text_are_others(
    data: Path, tokenizer: BpeTokenizer, tmp_path: Path
) -> None:
    second = BpeTokenizer.train(sentences(500, 1), vocabulary_size=300)
    changed = write_pages(tmp_path / data.name, longest=7)
    protocols = [replace(SMALL, **{one.name: other(getattr(SMALL, one.name))}) for one in fields(SelectionSettings)]
    asked: list[tuple[Path, BpeTokenizer, SelectionSettings]] = [
        (data, tokenizer, SMALL), (data, second, SMALL), (changed, tokenizer, SMALL),
        *((data, tokenizer, protocol) for protocol in protocols),
    ]  # fmt: skip
    prints = {load_chunks(*one, folder=tmp_path).fingerprint for one in asked}
    assert len(prints) == len(asked) == len(list(tmp_path.glob("chunks-*.npz")))
    found = load_chunks(data, second, SMALL, folder=tmp_path)  # from its own file, in its own ids
    rows = [found.rows.row(number) for number in range(len(found.rows))]
    assert second.encode_batch([second.decode(ids) for ids in rows]) == rows


def test_all_that_decides_continuations_is_in_their_fingerprint(chunks: Chunks) -> None:
    job = WritingJob("tiny", "weights", chunks, FEW, "uni", {"samples": 1})
    values = {one.name: other(getattr(FEW, one.name)) for one in fields(Decoding) if one.name != "method"}
    changes: list[dict[str, Any]] = [{"method": "beam"}, *({name: value} for name, value in values.items())]
    jobs = [
        job,
        replace(job, weights="others"),
        replace(job, chunks=replace(chunks, fingerprint="others")),
        *(replace(job, further=estimate_record(Estimate(kind, 2))) for kind in ESTIMATORS),
        *(replace(job, further=estimate_record(Estimate(kind, 1))) for kind in ESTIMATORS if kind != "iwae"),
        replace(job, further={}),
        *(replace(job, decoding=replace(FEW, **change)) for change in changes),
    ]
    ways: Sequence[Combine] = ("uni", "bi", "mmi")
    prints = {replace(one, combine=way).fingerprint for one in jobs for way in ways}
    assert len(prints) == len(jobs) * len(ways)
    assert job.fingerprint == replace(job, further=estimate_record(Estimate("iwae", 1))).fingerprint


def test_verdicts_are_used_again_only_where_nothing_has_changed(
    data: Path, readers: tuple[str, str], tmp_path: Path
) -> None:
    work, reader = tmp_path / "work", tmp_path / "reader"
    shutil.copytree(readers[0], reader)
    options = tiny_options(work, reader, limit=3)
    (control,) = load_subjects("adversarial", "control-repeat-last", {})

    def new_verdicts(changed: EvaluateOptions) -> int:
        before = set((work / "verdicts").glob("*"))
        evaluate("adversarial", control, str(data), changed)
        return len(set((work / "verdicts").glob("*")) - before)

    assert new_verdicts(options) >= 3  # for every number of turns
    assert new_verdicts(options) == 0
    assert new_verdicts(replace(options, seed=options.seed + 1)) > 0
    assert new_verdicts(replace(options, limit=4)) > 0  # other chunks
    assert new_verdicts(replace(options, settings={**options.settings, "evaluator.hidden": 7})) > 0
    shutil.rmtree(reader)
    shutil.copytree(readers[1], reader)
    assert new_verdicts(options) > 0  # other weights in a folder of the same name


def test_vectors_stand_at_the_sentences_they_were_made_of(
    model: Seq2Seq, data: Path, readers: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[LabelledChunks, Any]] = []

    real = network_verdicts

    def recorded(labelled: LabelledChunks, inputs: Any, *arguments: Any, **options: Any) -> Any:
        seen.append((labelled, inputs.vectors))
        return real(labelled, inputs, *arguments, **options)

    monkeypatch.setattr(panel, "network_verdicts", recorded)
    evaluate(
        "adversarial",
        with_combination(Subject(model, "tiny"), "uni"),
        str(data),
        tiny_options(tmp_path, readers[0], limit=3),
    )
    reader: Any = load_model(readers[0])
    assert len(seen) >= 3  # for every number of turns
    for labelled, vectors in seen:
        ids, lengths = labelled.rows.padded(np.arange(len(labelled.rows)), reader.tokenizer.pad_id)
        tokens = Tokens(torch.from_numpy(ids), torch.from_numpy(lengths))
        with torch.inference_mode():
            kinds = [encode_rows(reader.networks()[part], tokens)[1] for part in ("forward", "backward")]
        own = torch.cat(kinds, dim=1)  # [sentences, size]
        assert torch.allclose(vectors[:, : own.shape[1]].float(), own, atol=1e-2)
        assert own.std(dim=0).mean() > 0.05  # sentences have vectors of their own


def test_a_small_copy_of_the_experiment_says_so(data: Path, readers: tuple[str, str], tmp_path: Path) -> None:
    """Even on the standard data it is no result to stand beside the paper's."""
    (control,) = load_subjects("adversarial", "control-human", {})
    found = evaluate("adversarial", control, str(data), tiny_options(tmp_path, readers[0], limit=5))
    assert found.settings["limit"] == 5
    standard = replace(found, data_sha256=DATA_SETS["wikipedia-pages"].sha256)
    assert not is_standard(standard)
    whole = {name: value for name, value in found.settings.items() if name != "limit"}
    assert is_standard(replace(standard, settings=whole))
