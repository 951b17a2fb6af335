"""Sentences without end: what models read of them, what is said about them, and that their cost is bounded."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.helpers.command_line import ok
from tests.helpers.tiny_causal_lm import tiny_lm
from tests.helpers.tiny_reader import untrained_reader

import weft
from weft.corpora.text.sentences import STRETCH, document_of_text, split_block
from weft.corpora.text.text_limits import PART_BYTES, RUN_ON_BYTES, SENTENCE_BYTES, is_long, readable, without_run_ons
from weft.document import Document, Score
from weft.evaluation.evaluate import evaluate
from weft.evaluation.task_contract import Subject
from weft.loaded_model import Model, as_model
from weft.models.causal_lm.causal_lm import Hf, HfSettings

WORDS = "so we went to the market and then she said that it was raining and we all took the late bus home".split()


def speech(characters: int, seed: int = 1) -> str:
    """Words without punctuation."""
    drawn = random.Random(seed)
    return " ".join(drawn.choice(WORDS) for _ in range(characters // 4))[:characters]


def long_document(characters: int = 1_000_000) -> Document:
    return Document("d", (speech(characters), speech(characters, 2), "It rained.", "We took the bus."))


def codes(score: weft.Score) -> list[str]:
    return [warning.code for warning in score.warnings]


@pytest.mark.parametrize(
    "text", ["a" * 9000, "word " * 2000, "中文" * 3000, "😀" * 3000, "é a " * 3000, "\ud800" * 3000]
)
def test_what_is_read_of_a_sentence_is_bounded_in_bytes(text: str) -> None:
    (read,) = readable(Document("d", (text,))).sentences
    assert text.startswith(read)
    assert SENTENCE_BYTES - 10 <= len(read.encode("utf-8", "surrogatepass")) <= SENTENCE_BYTES
    parts = without_run_ons([text])
    assert all(len(part.encode("utf-8", "surrogatepass")) <= PART_BYTES for part in parts)
    assert "".join(parts).replace(" ", "") == text.replace(" ", "")


def test_other_sentences_are_left_alone() -> None:
    document = Document("d", ("It rained.", "x" * SENTENCE_BYTES, "é" * (SENTENCE_BYTES // 2)))
    assert readable(document) is document
    sentences = ("It rained.", "x" * (SENTENCE_BYTES - 1) + ".", "é" * (RUN_ON_BYTES // 2))
    assert without_run_ons(sentences) == sentences
    assert not is_long("é" * (SENTENCE_BYTES // 2)) and is_long("é" * (SENTENCE_BYTES // 2 + 1))


def test_a_long_paragraph_is_split_as_a_short_one() -> None:
    drawn = random.Random(3)
    kinds = ("It rained on us.", "Dr. Smith said (to all) that 3.5 is odd.", 'He said: "Yes, we can." Then he left.')
    sentences = [drawn.choice(kinds) for _ in range(STRETCH // 10)]
    text = " ".join(sentences)
    assert len(text) > 3 * STRETCH
    expected = [part for sentence in sentences for part in split_block(sentence)]
    assert list(split_block(text)) == expected


@pytest.mark.timeout(60)
def test_splitting_is_linear_where_quotations_never_end() -> None:
    assert len(split_block("“a. " * 250_000)) > 200_000  # 100 seconds in one stretch


@pytest.mark.parametrize("name", ["weft-reader", "foltz-sif", "foltz-glove"])
@pytest.mark.timeout(60)
def test_a_megabyte_in_a_sentence_is_scored_with_a_warning(name: str) -> None:
    document, model = long_document(), as_model(name)
    score = model.score(document)
    assert "long-sentence" in codes(score)
    assert score.document is document
    assert score.value == model.score(readable(document)).value
    assert "long-sentence" in [warning.code for warning in model.order(document).warnings]


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_parsers_read_the_beginning_alone() -> None:
    pytest.importorskip("spacy")
    document = long_document(2_000_000)  # spaCy refuses more than a million characters
    score = weft.score(document, model="entity-graph")
    assert score.value is not None and "long-sentence" in codes(score)


@pytest.mark.timeout(60)
def test_a_reader_is_bounded() -> None:
    score = Model(untrained_reader(), "reader").score(long_document())
    assert score.value is not None and "long-sentence" in codes(score)


def test_a_reader_that_reads_little_of_a_text_says_so() -> None:
    model = Model(untrained_reader(), "reader")
    short, long = "The first cat was seen there.", "The first cat was seen there again, " * 12
    for sentences, warned in (((short,) * 4, False), ((*(short,) * 20, long), False), ((long, long, short), True)):
        document = Document("d", sentences)
        for result in (model.score(document), model.order(document)):
            assert any("word pieces" in one and one.code == "long-sentence" for one in result.warnings) == warned


class Recorder:
    """A model that keeps the length of the longest sentence that it gets."""

    def __init__(self) -> None:
        self.longest = 0

    def score(self, documents: Sequence[Document]) -> list[Score]:
        sentences = [sentence for document in documents for sentence in document.sentences]
        self.longest = max(self.longest, *(len(sentence.encode()) for sentence in sentences))
        return [Score(float(len(document.sentences[0]))) for document in documents]


def test_models_under_evaluation_get_no_more_than_others(tmp_path: Path) -> None:
    longer = [speech(20_000), "It rained.", "We took the bus."]
    document = {"sentences": longer, "replacements": [{"position": 1, "sentence": speech(9000, 3)}]}
    pair = {"id": "p", "phenomenon": "order", "better": longer, "worse": longer[::-1]}
    story = {"id": "s", "context": longer, "endings": [speech(9000, 4), "x."], "label": 0}
    for task, fields in (("pairs", document), ("insertion", document), ("probes", pair), ("endings", story)):
        path = tmp_path / f"{task}.jsonl"
        path.write_text(json.dumps(fields))
        model = Recorder()
        evaluate(task, Subject(model, "recorder"), str(path))
        assert 0 < model.longest <= SENTENCE_BYTES, task


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_causal_model_is_bounded(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    inner = Hf(HfSettings(model=str(tiny_lm(tmp_path))))
    score = Model(inner, "hf").score(long_document())
    assert score.value is not None and "long-sentence" in codes(score)
    assert max(map(len, inner.network.predictor.ids.cache.values())) <= SENTENCE_BYTES + 1


def test_a_transcript_without_punctuation_is_scored_in_parts(tmp_path: Path) -> None:
    (tmp_path / "talk.txt").write_text(speech(20_000))
    score = weft.score(document_of_text("talk", speech(20_000)), model="foltz-sif")
    assert score.value is not None and "long-sentence" in codes(score)
    short, ended = weft.score([speech(3000), speech(3000).strip() + "."], model="foltz-sif")
    assert short.value is not None and "long-sentence" in codes(short)
    assert ended.value is None  # one sentence, which ends, and short enough to be one
    assert weft.score(speech(500), model="foltz-sif").value is None
    out = ok("score", "talk.txt", "--format", "json", cwd=tmp_path)
    assert "long-sentence" in out
    blocks = ok("score", "talk.txt", "--input", "blocks", "--format", "json", cwd=tmp_path)
    assert "long-sentence" in blocks


def test_a_line_without_end_is_refused_in_bounded_memory(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        "from weft.cli import main; import sys; sys.argv = ['weft', 'score', '-', '-m', 'foltz-sif']; main()"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", "import sys\nfor _ in range(1024): sys.stdout.write('word ' * 209716)"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    with writer:
        done = subprocess.run(
            [sys.executable, "-c", code], stdin=writer.stdout, capture_output=True, text=True, timeout=60, cwd=tmp_path
        )
        assert writer.stdout is not None
        writer.stdout.close()
    assert done.returncode == 2, done.stderr
    assert "line 1 is too long" in done.stderr
