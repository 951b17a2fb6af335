"""Evaluators of continuations: which part of the data may decide what, and what they look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402

from weft.corpora.text.tokenizers import WordTokenizer  # noqa: E402
from weft.document import Document  # noqa: E402
from weft.evaluation.adversarial.evaluators import tree_evaluator  # noqa: E402
from weft.evaluation.adversarial.evaluators.features import Floats, SentenceFeatures, SentenceScores  # noqa: E402
from weft.evaluation.adversarial.evaluators.network_evaluator import NetworkInputs, _previous, network_verdicts  # noqa: E402
from weft.evaluation.adversarial.evaluators.sentence_encoder import SentenceEncoder  # noqa: E402
from weft.evaluation.adversarial.evaluators.surface_tables import surface_tables  # noqa: E402
from weft.evaluation.adversarial.evaluators.tree_evaluator import tree_verdicts  # noqa: E402
from weft.evaluation.adversarial.labelled_chunks import LabelledChunks  # noqa: E402
from weft.evaluation.adversarial.options import EvaluatorSettings  # noqa: E402
from weft.evaluation.adversarial.token_rows import Integers, TokenRows  # noqa: E402
from weft.evaluation.adversarial.verdicts import Verdicts, adversuc_measures  # noqa: E402
from weft.models.seq2seq.seq2seq import Seq2Seq, Seq2SeqSettings  # noqa: E402
from weft.training.devices import start_runtime  # noqa: E402

SIDES = ("human", "machine")
SIZES = {"train": 128, "dev": 40, "test": 40}
WORDS = [f"w{number}" for number in range(26)]
TOLD = "told"  # what the last sentence of every machine chunk ends in, where something tells it
QUICK = EvaluatorSettings(
    reader="",
    hidden=16,
    width=16,
    dropout=0.0,
    pairs=32,
    epochs=6,
    patience=1000,
    learning_rate=2e-2,
    second=False,
    informed=False,
)


@pytest.fixture(scope="module")
def tokenizer() -> WordTokenizer:
    return WordTokenizer.train([" ".join([*WORDS, TOLD])], min_count=1)


@pytest.fixture(scope="module")
def reader(tokenizer: WordTokenizer) -> Seq2Seq:
    made = Seq2Seq(Seq2SeqSettings(dimensions=8, hidden=8, layers=1, precision="float32"))
    torch.manual_seed(4)
    return made.assemble({part: made.new_network(part, tokenizer) for part in made.parts}, tokenizer)


def make_chunks(tokenizer: WordTokenizer, *, flipped: str = "", told: bool = True, seed: int = 1) -> LabelledChunks:
    """Four random sentences a chunk; those of machines end in `TOLD`, in the flipped part those of people do."""
    generator = np.random.default_rng(seed)
    (ids,), ((sign,),) = tokenizer.encode_batch([" ".join(WORDS)]), tokenizer.encode_batch([TOLD])
    count = sum(SIZES.values())
    sentences = [generator.choice(ids, generator.integers(3, 7)).tolist() for _ in range(8 * count)]
    human = np.arange(4 * count).reshape(count, 4)
    machine = 4 * count + human
    ends = np.cumsum([0, *SIZES.values()])
    cuts = {part: slice(*ends[place : place + 2]) for place, part in enumerate(SIZES)}
    for part, cut in cuts.items() if told else ():
        for number in (human if part == flipped else machine)[cut, -1].tolist():
            sentences[number].append(sign)
    names = {part: [f"{part}-{number}" for number in range(size)] for part, size in SIZES.items()}
    return LabelledChunks(
        TokenRows.of(sentences),
        {part: human[cut] for part, cut in cuts.items()},
        {part: machine[cut] for part, cut in cuts.items()},
        {part: (names[part], names[part]) for part in cuts},
    )


def embedding_of(tokenizer: WordTokenizer, seed: int = 1) -> Tensor:
    found: Tensor = torch.randn(tokenizer.vocabulary_size, 8, generator=torch.Generator().manual_seed(seed))
    return found * 8**-0.5


def by_network(
    labelled: LabelledChunks,
    tokenizer: WordTokenizer,
    settings: EvaluatorSettings = QUICK,
    embedding: Tensor | None = None,
) -> Verdicts:
    chosen = embedding_of(tokenizer) if embedding is None else embedding
    with start_runtime("cpu") as runtime:
        inputs = NetworkInputs(chosen, torch.zeros(len(labelled.rows), 0))
        return network_verdicts(labelled, inputs, tokenizer.pad_id, settings, runtime, seed=1)


@pytest.fixture(scope="module", autouse=True)
def enough_trees(few_trees: None) -> Iterator[None]:
    """More trees than other tests have, as much as they need to learn."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree_evaluator, "ROUNDS", 40)
        yield


def by_trees(labelled: LabelledChunks, reader: Seq2Seq, scores: SentenceScores | None = None) -> Verdicts:
    tokenizer, human = reader.tokenizer, len(labelled.rows) // 2
    assert tokenizer is not None
    frozen = torch.ones(len(labelled.rows), 2)
    seen = np.bincount(labelled.rows.flat, minlength=tokenizer.vocabulary_size)
    known = SentenceFeatures(labelled.rows, tokenizer, (frozen, (2,)), seen)
    scored = None if scores is None else (scores, scores.alone(labelled.rows, human))
    return tree_verdicts(labelled, known, scored, seed=1)


def plain_scores(reader: Seq2Seq) -> SentenceScores:
    assert reader.tokenizer is not None
    return SentenceScores(reader, reader.tokenizer.pad_id, torch.device("cpu"))


def lead(verdicts: Verdicts) -> float:
    """How much more human the human side of the test part looks, in log-odds."""
    return float(verdicts.human["test"].mean() - verdicts.machine["test"].mean())


# Which part may decide what -------------------------------------------------------------------------------------------


def odds(*values: float) -> Floats:
    return np.array(values, dtype=np.float32)


def test_the_line_is_drawn_on_dev_and_nowhere_else() -> None:
    """All of the test part may lie on one side of it."""
    human, machine = {"dev": odds(1, 2), "test": odds(5, 6)}, {"dev": odds(-1, 0), "test": odds(3, -4)}
    verdicts = Verdicts(human, machine, {})
    assert verdicts.judged_human("human", "test").tolist() == [1, 1]
    assert verdicts.judged_human("machine", "test").tolist() == [1, 0]
    high = Verdicts({**human, "dev": odds(8, 9)}, {**machine, "dev": odds(7, 8.5)}, {})
    assert high.judged_human("human", "test").tolist() == high.judged_human("machine", "test").tolist() == [0, 0]
    places = np.zeros((2, 4), dtype=np.int64)
    labelled = LabelledChunks(
        TokenRows.of([[1]]), {"test": places}, {"test": places}, {"test": (["a", "b"], ["a", "b"])}
    )
    assert adversuc_measures(labelled, [verdicts], 1, ["a", "b"])["adversuc_1"].numerators == (1, 0)
    assert adversuc_measures(labelled, [high], 1, ["a", "b"])["human_accuracy_1"].numerators == (0, 0)


@dataclass(frozen=True)
class Leads:
    """Of one kind of evaluator, by the part in which what tells the sides apart is turned round."""

    nowhere: float
    dev: float
    test: float


@pytest.fixture(scope="module", params=["network", "trees"])
def leads(request: pytest.FixtureRequest, tokenizer: WordTokenizer, reader: Seq2Seq) -> Leads:
    def found(flipped: str) -> float:
        labelled = make_chunks(tokenizer, flipped=flipped)
        return lead(by_network(labelled, tokenizer) if request.param == "network" else by_trees(labelled, reader))

    return Leads(found(""), found("dev"), found("test"))


def test_what_is_learned_is_that_human_chunks_are_human(leads: Leads) -> None:
    assert leads.nowhere > 2


def test_the_test_part_decides_nothing(leads: Leads) -> None:
    """Neither what is learned nor when to stop: an evaluator is as sure as before, and wrong."""
    assert leads.test < -0.8 * leads.nowhere


def test_the_dev_part_decides_which_state_is_kept(leads: Leads) -> None:
    """The more is learned the worse dev becomes: the best state is the first, though training goes on to the end."""
    assert abs(leads.dev) < 0.2 * leads.nowhere


# The network ----------------------------------------------------------------------------------------------------------


def test_nothing_is_dropped_when_verdicts_are_given(tokenizer: WordTokenizer) -> None:
    """The same chunk has the same log-odds, wherever it stands."""
    labelled = make_chunks(tokenizer)
    again = {**labelled.human, "test": np.repeat(labelled.human["test"][:5], 8, axis=0)}
    found = by_network(replace(labelled, human=again), tokenizer, replace(QUICK, dropout=0.5, epochs=2))
    verdicts = found.human["test"].reshape(5, 8)
    assert np.ptp(verdicts, axis=1).max() < 1e-5
    assert np.ptp(verdicts, axis=0).max() > 1e-3  # of different chunks they differ


def test_a_long_sentence_beside_a_chunk_changes_nothing(tokenizer: WordTokenizer) -> None:
    """All sentences of a batch are filled up to the longest."""
    labelled = make_chunks(tokenizer)
    ((word,),) = tokenizer.encode_batch([WORDS[0]])
    rows = TokenRows.joined([labelled.rows, TokenRows.of([[word] * 60])])
    long = np.full((1, 4), len(rows) - 1)
    settings = replace(QUICK, epochs=3)
    alone = by_network(replace(labelled, rows=rows), tokenizer, settings)
    more = {
        side: {**getattr(labelled, side), "test": np.concatenate([getattr(labelled, side)["test"], long])}
        for side in SIDES
    }
    beside = by_network(replace(labelled, rows=rows, **more), tokenizer, settings)
    for side in SIDES:
        one, other = getattr(alone, side), getattr(beside, side)
        assert other["test"][:-1] == pytest.approx(one["test"], abs=1e-4)
        assert np.array_equal(other["dev"], one["dev"])  # the same training


def test_training_starts_from_the_word_vectors_that_are_given(tokenizer: WordTokenizer) -> None:
    """Words that nobody could tell apart at the start, all with the vector of the padding, tell nothing yet."""
    labelled, settings = make_chunks(tokenizer), replace(QUICK, epochs=1, learning_rate=1e-9)
    same = by_network(labelled, tokenizer, settings, torch.ones(tokenizer.vocabulary_size, 8))
    lengths = labelled.rows.lengths[labelled.human["test"]]  # [chunks, sentences]
    alike = [np.flatnonzero((lengths == one).all(axis=1)) for one in np.unique(lengths, axis=0)]
    assert max(map(len, alike)) > 1
    for chunks in alike:
        assert np.ptp(same.human["test"][chunks]) < 1e-5  # only lengths are left to differ by
    first, second = (by_network(labelled, tokenizer, settings, embedding_of(tokenizer, seed)) for seed in (1, 2))
    assert np.abs(first.human["test"] - second.human["test"]).max() > 1e-3


def test_a_sentence_is_compared_with_the_one_before_and_the_mean_of_all_before() -> None:
    vectors = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [8.0, 1.0], [5.0, 5.0]]])  # [1 chunk, 4 sentences, 2]
    before, mean = _previous(vectors)
    assert before.tolist() == [[[0, 0], [1, 2], [3, 6], [8, 1]]]
    assert mean.tolist() == [[[0, 0], [1, 2], [2, 4], [4, 3]]]


def test_a_network_learns_from_surface_features_what_words_do_not_show(tokenizer: WordTokenizer) -> None:
    labelled = make_chunks(tokenizer, told=False)
    generator = np.random.default_rng(3)
    surface = {
        (side, part): (generator.normal(size=(size, 1, 3)) + (2.0 if side == "human" else -2.0)).astype(np.float32)
        for side in SIDES
        for part, size in SIZES.items()
    }
    inputs = NetworkInputs(embedding_of(tokenizer), torch.zeros(len(labelled.rows), 0))
    with start_runtime("cpu") as runtime:
        found = [
            lead(network_verdicts(labelled, one, tokenizer.pad_id, QUICK, runtime, seed=1))
            for one in (inputs, replace(inputs, surface=surface), replace(inputs, likeness=False))
        ]
    assert found[1] > 2 and abs(found[0]) < 1 and abs(found[2]) < 1


def test_surface_features_are_scaled_by_the_training_part(tokenizer: WordTokenizer) -> None:
    labelled = make_chunks(tokenizer)
    seen = np.bincount(labelled.rows.flat, minlength=tokenizer.vocabulary_size)
    known = SentenceFeatures(labelled.rows, tokenizer, (torch.randn(len(labelled.rows), 2), (2,)), seen)
    tables = surface_tables(labelled, known)
    both = np.concatenate([tables[side, "train"] for side in SIDES])[:, 0]  # [chunks, 2 · features]
    half = both.shape[1] // 2
    assert np.abs(both[:, :half].mean(axis=0)).max() < 0.1 and np.abs(both[:, half:]).max() <= 1
    assert np.abs(both[:, half:].mean(axis=0)).max() < 0.05  # ranks lie around the middle
    flipped = surface_tables(replace(labelled, human={**labelled.human, "dev": labelled.human["test"]}), known)
    assert np.array_equal(flipped["human", "train"], tables["human", "train"])


# What trees look at ---------------------------------------------------------------------------------------------------


class PlantedScores(SentenceScores):
    """A reader that finds the last sentence of a machine chunk unlikely, and only after the sentence before it."""

    def __init__(self, reader: Seq2Seq, labelled: LabelledChunks) -> None:
        super().__init__(reader, 0, torch.device("cpu"))
        self.unlikely = {tuple(row[-2:]) for part in labelled.machine.values() for row in part.tolist()}

    def alone(self, rows: TokenRows, human: int) -> Floats:
        return np.full(len(rows), -3.0, dtype=np.float32)

    def after(self, rows: TokenRows, pairs: Integers) -> Floats:
        return odds(*(-9.0 if tuple(pair) in self.unlikely else -1.0 for pair in pairs.tolist()))


def test_trees_see_what_the_reader_says_of_a_sentence_after_the_one_before(
    tokenizer: WordTokenizer, reader: Seq2Seq
) -> None:
    labelled = make_chunks(tokenizer, told=False)
    assert lead(by_trees(labelled, reader, PlantedScores(reader, labelled))) > 4
    for scores in (None, plain_scores(reader)):  # nothing else tells the sides apart
        assert abs(lead(by_trees(labelled, reader, scores))) < 1


def test_scores_are_per_token_and_in_the_order_of_the_text(tokenizer: WordTokenizer, reader: Seq2Seq) -> None:
    texts = ["w1 w2 w3", "w4 w5", "w6 w7 w8 w9 w1 w2 w3"]
    rows, scores = TokenRows.of(tokenizer.encode_batch(texts)), plain_scores(reader)

    def said(way: str, *sentences: str) -> float:
        found: float = reader.combined(way).scorer.score([Document("d", sentences)])[0].transitions[-1]
        return found

    pairs = np.array([[0, 1], [1, 0], [2, 0], [0, 2], [0, 1]])
    after = scores.after(rows, pairs).tolist()
    assert after == pytest.approx([said("uni", texts[one], texts[other]) for one, other in pairs.tolist()], abs=1e-4)
    # Of a pair, MMI takes from bi what the language model says of either sentence, per token.
    alone = [(said("bi", text, text) - said("mmi", text, text)) / 2 for text in texts]
    assert scores.alone(rows, 2).tolist() == pytest.approx(alone, abs=1e-4)


def test_looking_at_sentences_does_not_change_them(tokenizer: WordTokenizer) -> None:
    """They are read again after it: by the language model, and by the evaluators of the next length."""
    sentences = [[7, 5, 7, 6], [11, 10, 9], [8, 8, 4]]
    rows = TokenRows.of(sentences)
    SentenceFeatures(rows, tokenizer, (torch.ones(3, 2), (2,)), np.ones(tokenizer.vocabulary_size, dtype=np.int64))
    assert [rows.row(number) for number in range(3)] == sentences


def test_a_rare_word_ties_sentences_together_more_than_a_frequent_one(
    tokenizer: WordTokenizer, reader: Seq2Seq
) -> None:
    (often, seldom, other, another) = (ids[0] for ids in tokenizer.encode_batch(["w1", "w2", "w3", "w4"]))
    seen = np.zeros(tokenizer.vocabulary_size, dtype=np.int64)
    seen[[often, seldom, other, another]] = 500, 1, 20, 20
    frozen = SentenceEncoder(reader, seen, tokenizer, torch.device("cpu"))
    rows = TokenRows.of([[often, other], [often, another], [seldom, other], [seldom, another]])
    sketches = frozen(rows)[:, -frozen.groups[-1] :].float()
    cosines = (sketches @ sketches.T).tolist()  # they are of length 1
    assert cosines[0][1] < 0.2 < 0.6 < cosines[2][3]  # without rarity, a half each
