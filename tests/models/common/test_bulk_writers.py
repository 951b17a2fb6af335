"""Writing in bulk: what it says of candidates is what the scorers say of the same texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.helpers.guided_models import assembled  # noqa: E402

from weft.corpora.text.tokenizers import BpeTokenizer, WordTokenizer  # noqa: E402
from weft.document import Document  # noqa: E402
from weft.errors import ConfigError  # noqa: E402
from weft.evaluation.adversarial.writing import (  # noqa: E402
    closing_tokens,
    rank_candidates,
    write_continuations,
    write_next_sentences,
)
from weft.generation.bulk_writing import BulkWriter, Proposals  # noqa: E402
from weft.generation.decoding import Hypotheses, search  # noqa: E402
from weft.generation.decoding_settings import Decoding  # noqa: E402
from weft.generation.writing_models import writing_model  # noqa: E402
from weft.io.seeded_hash import hash_key  # noqa: E402
from weft.models.common.neural.bulk_decoders import overlaps  # noqa: E402
from weft.models.common.neural.encoder_decoder import Architecture, Seq2SeqNetwork, Tokens  # noqa: E402
from weft.models.common.neural.sentence_predictor import Predictor, PredictorSteps  # noqa: E402
from weft.models.common.token_cache import TokenCache  # noqa: E402
from weft.models.seq2seq.seq2seq import Seq2Seq, Seq2SeqSettings  # noqa: E402
from weft.models.topic.hmm_lda_gm import HmmLdaGm, HmmLdaGmSettings  # noqa: E402
from weft.models.vlv.chain_predictor import VariationalPredictor  # noqa: E402
from weft.models.vlv.vlv_gm import VlvGm, VlvGmSettings  # noqa: E402
from weft.registry import create_model  # noqa: E402
from weft.scoring.uni_bi_mmi import Combine  # noqa: E402

TEXTS = ["a cat sat on a mat", "a dog ran home", "the cat saw the dog", "home is a mat"]
CONTEXTS = [TEXTS[:3], TEXTS[1:], [TEXTS[3], TEXTS[0], TEXTS[1]]]
FEW = Decoding(method="sample", beam=4, top_k=40, min_tokens=2, max_tokens=10, draws=2)
WAYS: tuple[Combine, ...] = ("uni", "bi", "mmi")


@pytest.fixture(scope="module")
def tokenizer() -> WordTokenizer:
    """Of words: every sequence of ids is the ids of its text."""
    return WordTokenizer.train(TEXTS, min_count=1)


@pytest.fixture(scope="module")
def seq2seq(tokenizer: WordTokenizer) -> Seq2Seq:
    made = Seq2Seq(Seq2SeqSettings(dimensions=12, hidden=12, layers=2, feed=True, lexical=True, precision="float32"))
    torch.manual_seed(4)
    return made.assemble({part: made.new_network(part, tokenizer) for part in made.parts}, tokenizer)


@pytest.fixture(scope="module")
def chain(tokenizer: WordTokenizer) -> VlvGm:
    made = VlvGm(
        VlvGmSettings(
            dimensions=12,
            hidden=12,
            layers=1,
            feed=False,
            latent=3,
            width=8,
            estimator="iwae",
            samples=1,
            precision="float32",
        )
    )
    return assembled(made, tokenizer, seed=4)


@pytest.fixture(scope="module")
def topical() -> HmmLdaGm:
    made = HmmLdaGm(
        HmmLdaGmSettings(topic_count=2, dimensions=12, hidden=12, layers=1, feed=False, guide=3, precision="float32")
    )
    made.fit([Document(str(n), tuple(TEXTS[(n + k) % 4] for k in range(4))) for n in range(12)])
    for part in ("forward", "backward"):
        network = made.predictors[part].network
        assert network.words.guides is not None
        torch.nn.init.normal_(network.words.guides.writing.weight)
        torch.nn.init.normal_(network.topics.weight)
    return made


def proposed(writer: BulkWriter, contexts: Sequence[Sequence[str]]) -> Proposals:
    ids = [writer.tokenizer.encode_batch(context) for context in contexts]
    return writer.propose(ids, FEW, reranked=True)


def check_against_texts(model: Seq2Seq | VlvGm | HmmLdaGm) -> None:
    """Every candidate whose text has the ids that were written scores as the text does."""
    writer = model.bulk_writer()
    found, checked = proposed(writer, CONTEXTS), 0
    assert found.pairs is not None
    for number, context in enumerate(CONTEXTS):
        for place in range(found.ids.shape[1]):
            ids = found.ids[number, place, : found.lengths[number, place] - 1].tolist()
            text = writer.tokenizer.decode(ids)
            if writer.tokenizer.encode_batch([text])[0] != ids:
                continue
            checked += 1
            for way in WAYS:
                score = model.combined(way).scorer.score([Document("d", (*context, text))])[0]
                assert found.pairs.combined(way)[number, place] == pytest.approx(score.transitions[-1], abs=1e-4)
    assert checked >= 3


def test_seq2seq_says_what_its_scorer_says(seq2seq: Seq2Seq) -> None:
    check_against_texts(seq2seq)


def test_hmm_lda_gm_says_what_its_scorer_says(topical: HmmLdaGm) -> None:
    check_against_texts(topical)


def test_vlv_gm_says_what_its_scorer_says(chain: VlvGm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both take latent variables at their posteriors' means here, since each draws noise of its own."""
    monkeypatch.setattr(
        VariationalPredictor, "noise", lambda self, read: torch.zeros(len(read.ids), 1, self.network.chain.latent)
    )
    writer = chain.bulk_writer()
    monkeypatch.setattr(type(writer), "noise", lambda self, rows, _: torch.zeros(rows, self.chains[0].latent))
    check_against_texts(chain)


def test_candidates_come_from_several_latent_variables(chain: VlvGm) -> None:
    found = proposed(chain.bulk_writer(), CONTEXTS)
    assert found.ids.shape[:2] == (3, 4)
    assert len({tuple(row) for row in found.ids[0].tolist()}) > 1


def test_every_way_of_reranking_chooses_among_the_same_candidates(seq2seq: Seq2Seq) -> None:
    writer = seq2seq.bulk_writer()
    contexts = [writer.tokenizer.encode_batch(context) for context in CONTEXTS]
    chosen = [write_next_sentences(writer, contexts, FEW, way, seed=(0,)) for way in WAYS]
    drawn = replace(FEW, seed=int.from_bytes(hash_key(FEW.seed, 0, 0)[:4], "big"))
    order = sorted(range(len(contexts)), key=lambda number: (len(contexts[number][-1]), number))
    found = writer.propose([contexts[number] for number in order], drawn, reranked=False)
    for place, number in enumerate(order):
        rows = zip(found.ids[place].tolist(), found.lengths[place].tolist(), strict=True)
        candidates = {writer.tokenizer.decode(ids[: length - 1]).strip() for ids, length in rows}
        assert {texts[number] for texts in chosen} <= candidates | {""}
    written = write_continuations(writer, contexts, FEW, "mmi")
    assert all(len(three) == 3 for three in written)


def test_cut_unfinished_and_copied_candidates_come_last() -> None:
    ids = np.zeros((1, 5, 10), dtype=np.int32)
    lengths = np.array([[3, 10, 3, 3, 3]])
    ids[0, 4, 1] = 1  # its last word does not end a sentence
    values = np.array([[-4.0, -1.0, -2.0, -1.5, -0.9]])
    overlap = np.array([[0.0, 0.0, 0.9, 1.0, 0.0]])
    closing = np.array([True, False])
    ranks = rank_candidates(Proposals(ids, lengths, values, overlap, None), FEW, "uni", closing)
    assert ranks.tolist() == [[0, 1, 4, 2, 3]]


def test_what_ends_a_sentence() -> None:
    tokenizer = BpeTokenizer.train(['He sat. "Go!" (now) a; cat'], vocabulary_size=280)
    closing = closing_tokens(tokenizer)
    for text, ends in ((".", True), ('"', True), (")", True), (";", False), ("a", False), (",", False)):
        assert closing[tokenizer.encode_batch([text])[0][-1]] == ends, text


def test_overlap_is_the_most_that_is_shared_with_a_sentence() -> None:
    written = Hypotheses(torch.tensor([[[5, 6, 2], [7, 8, 2]]]), torch.zeros(1, 2), torch.full((1, 2), 3.0))
    before = Tokens(torch.tensor([[5, 9, 0], [7, 8, 9]]), torch.tensor([2, 3]))
    assert overlaps(written, before, 12).tolist()[0] == pytest.approx([1 / 3, 2 / 3])


def test_rows_put_aside_change_no_probability(monkeypatch: pytest.MonkeyPatch, tokenizer: WordTokenizer) -> None:
    """Sampling drops rows that have ended from time to time; what is left must be what the network says of it."""
    monkeypatch.setattr("weft.generation.decoding.FEW_ROWS", 1)
    monkeypatch.setattr("weft.generation.decoding.CHECK_EVERY", 2)
    torch.manual_seed(3)
    sizes = Architecture(tokenizer.vocabulary_size, 6, 6, 1, dropout=0.0)
    network = Seq2SeqNetwork(sizes, bos=tokenizer.bos_id, eos=tokenizer.eos_id, pad=tokenizer.pad_id).eval()
    predictor = Predictor(network, TokenCache(tokenizer))
    sources = predictor._encode(TEXTS)
    decoding = Decoding(method="sample", beam=6, top_k=12, min_tokens=1, max_tokens=9, no_repeat=0)
    found = search(PredictorSteps(network, sources, 4, tokenizer), 4, decoding, predictor.device)
    lengths = found.lengths.long()
    assert lengths.min() < lengths.max()
    rows = torch.arange(4).repeat_interleave(6)
    ended = lengths.flatten() < 9  # at the longest the end is forced
    targets = Tokens(found.ids.flatten(0, 1)[:, :-1], (lengths.flatten() - 1))
    known = network.log_prob(sources.select(rows), targets)
    assert torch.allclose(known[ended], found.log_probs.flatten()[ended], atol=1e-4)


def test_what_cannot_write_is_told() -> None:
    with pytest.raises(ConfigError, match="cannot write"):
        writing_model(create_model("foltz-glove"), "foltz-glove")
