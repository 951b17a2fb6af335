"""Sentences without end: what models read of them, what is said about them, and that their cost is bounded."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.helpers.command_line import ok
from tests.helpers.tiny_causal_lm import tiny_lm
from tests.helpers.tiny_reader import untrained_reader

import weft
from weft.corpora.text.sentences import STRETCH, document_of_text, split_block
from weft.corpora.text.text_limits import PART_BYTES, SENTENCE_BYTES, is_long, readable, without_run_ons
from weft.document import Document
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
    assert without_run_ons(document.sentences) == document.sentences
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


@pytest.mark.parametrize("name", ["weft-small", "foltz-sif", "foltz-glove"])
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
    assert weft.score(speech(3000), model="foltz-sif").value is None  # one sentence, and short enough to be one
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
