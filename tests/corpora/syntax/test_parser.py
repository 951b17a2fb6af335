"""Parsing: each sentence once, whatever it holds, from memory, a file or a pipeline."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.corpora.syntax.parse_cache import ParseCache
from weft.corpora.syntax.parser import (
    LONGEST_PIECE,
    ParsedSentence,
    Parser,
    clean_sentence,
    cut_text,
    join_parses,
)
from weft.corpora.syntax.spacy_pipelines import Pipeline, load_pipeline
from weft.errors import CorpusError

BARK = ParsedSentence(("Bark", "!"), ("VB", "."), (0, 0), ("ROOT", "punct"))


class Counting:
    """Cuts at spaces, hangs every word on the first, and counts what it was asked."""

    name = "counting"

    def __init__(self, fingerprint: str = "0") -> None:
        self.fingerprint = fingerprint
        self.texts: list[str] = []

    def annotate(self, texts: Sequence[str]) -> list[ParsedSentence]:
        self.texts += texts
        return [flat(text) for text in texts]


def flat(text: str) -> ParsedSentence:
    words = tuple(text.split())
    n = len(words)
    return ParsedSentence(words, ("NN",) * n, (0,) * n, ("ROOT", *["dep"] * (n - 1)))


def test_a_sentence_is_parsed_once() -> None:
    counting = Counting()
    parser = Parser(counting)
    first = parser.parse(["It rained.", "He slept.", "It  rained."])
    assert counting.texts == ["It rained.", "He slept."]
    assert parser.parse(["He slept.", "It rained."]) == [first[1], first[0]]
    assert len(counting.texts) == 2
    assert first[0] == first[2] == flat("It rained.")


def test_memory_forgets_what_was_asked_for_longest_ago() -> None:
    counting = Counting()
    parser = Parser(counting, remembered_words=4)
    for sentence in ("a b", "c d", "a b", "e f", "a b", "c d"):
        parser.parse([sentence])
    assert counting.texts == ["a b", "c d", "e f", "c d"]


def test_a_sentence_longer_than_memory_is_still_parsed() -> None:
    assert Parser(Counting(), remembered_words=1).parse(["a b c"]) == [flat("a b c")]


def test_nothing_and_blanks_have_no_words() -> None:
    counting = Counting()
    assert Parser(counting).parse([]) == []
    assert Parser(counting).parse(["", " \n\t", "\x00\x07"]) == [ParsedSentence((), (), (), ())] * 3
    assert counting.texts == []


def test_progress_counts_distinct_new_sentences() -> None:
    seen: list[tuple[str, int, int | None]] = []

    def listen(label: str, done: int, total: int | None = None, note: str = "") -> None:
        seen.append((label, done, total))

    parser = Parser(Counting())
    parser.parse([f"sentence {number % 1500}" for number in range(3000)], progress=listen)
    assert seen == [("parse", 1024, 1500), ("parse", 1500, 1500)]
    parser.parse(["sentence 1"], progress=listen)
    assert len(seen) == 2


def test_a_long_text_is_parsed_in_pieces_and_put_together() -> None:
    counting = Counting()
    text = " ".join(f"word{number}" for number in range(2000))
    (parse,) = Parser(counting).parse([text])
    assert parse.words == tuple(text.split())
    assert max(map(len, counting.texts)) <= LONGEST_PIECE
    assert len(counting.texts) == sum(head == place for place, head in enumerate(parse.heads)) > 1
    assert all(parse.labels[head] == "ROOT" for head in parse.heads)


@given(st.text(alphabet="ab.; ", max_size=80), st.integers(1, 20))
def test_pieces_keep_every_character(text: str, longest: int) -> None:
    text = clean_sentence(text)
    pieces = cut_text(text, longest)
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "")
    assert all(len(piece) <= longest for piece in pieces)


@given(st.text())
def test_tidied_text_can_be_encoded_and_is_stable(text: str) -> None:
    tidied = clean_sentence(text)
    assert tidied.encode("utf-8").decode("utf-8") == tidied == clean_sentence(tidied)


def test_joined_pieces_keep_their_own_heads() -> None:
    assert join_parses([BARK, BARK, BARK]).heads == (0, 0, 2, 2, 4, 4)
    assert join_parses([BARK]) is BARK


def test_the_cache_outlives_the_parser(tmp_path: Path) -> None:
    path = tmp_path / "new" / "parses.sqlite"
    first = Parser(Counting(), cache=path).parse(["It rained.", "Über 😀 \u2028 x"])
    counting = Counting()
    assert Parser(counting, cache=path).parse(["It rained.", "Über 😀 \u2028 x"]) == first
    assert counting.texts == []


def test_another_pipeline_does_not_see_the_parses_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "parses.sqlite"
    for fingerprint in ("a", "b", "a", "b"):
        counting = Counting(fingerprint)
        Parser(counting, cache=path).parse(["It rained."])
    assert counting.texts == []
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT count(*) FROM parses").fetchone() == (2,)


@pytest.mark.parametrize(
    "change",
    [
        ("[0,0]", "[0,7]"),
        ("[0,0]", "[0,-1]"),
        ("[0,0]", "[0,true]"),
        ("[0,0]", "[0]"),
        ('["VB","."]', '["VB",1]'),
        ('["VB","."]', "null"),
        ('["Bark","!"]', '"Bark!"'),
        ("]]", "]"),
    ],
)
def test_a_row_that_makes_no_sense_counts_as_not_there(tmp_path: Path, change: tuple[str, str]) -> None:
    path = tmp_path / "parses.sqlite"
    ParseCache(path, "0").add({"Bark!": BARK})
    assert ParseCache(path, "0").find(["Bark!"]) == {"Bark!": BARK}
    with closing(sqlite3.connect(path)) as database, database:
        assert database.execute("SELECT instr(parse, ?) FROM parses", change[:1]).fetchone() > (0,)
        database.execute("UPDATE parses SET parse = replace(parse, ?, ?)", change)
    assert ParseCache(path, "0").find(["Bark!"]) == {}


def test_two_that_write_at_once_see_the_parses_of_each_other(tmp_path: Path) -> None:
    path = tmp_path / "parses.sqlite"
    one, other = ParseCache(path, "0"), ParseCache(path, "0")
    one.add({"Bark!": BARK})
    other.add({"Other": flat("Other"), "Bark!": BARK})
    assert one.find(["Bark!", "Other", "Third"]) == {"Bark!": BARK, "Other": flat("Other")}


def test_the_cache_touches_no_file_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "essay.txt"
    path.write_text("An essay.\n")
    with pytest.raises(CorpusError, match="cannot be used as a cache of parses: saw 'file is not a database'"):
        Parser(Counting(), cache=path)
    assert path.read_text() == "An essay.\n"
    with pytest.raises(CorpusError, match="cache of parses"):
        Parser(Counting(), cache=tmp_path)
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as database, database:
        database.execute("CREATE TABLE other (x)")
    with pytest.raises(CorpusError, match="another kind"):
        Parser(Counting(), cache=tmp_path / "other.sqlite")


def test_a_cache_that_cannot_be_written_or_vanishes_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CorpusError, match="file"):
        Parser(Counting(), cache=tmp_path / "file" / "parses.sqlite").parse(["It rained."])
    path = tmp_path / "parses.sqlite"
    cache = ParseCache(path, "0")
    path.unlink()
    with pytest.raises(CorpusError, match="parses.sqlite cannot be used as a cache of parses: saw 'no such table"):
        cache.find(["Bark!"])


def test_import_weft_and_its_parsing_do_not_import_spacy() -> None:
    code = "import sys, weft, weft.corpora.syntax.parser; print([m for m in ('spacy', 'thinc') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# From here on, the pipeline inside weft.


@pytest.fixture(scope="module")
def pipeline() -> Pipeline:
    pytest.importorskip("spacy")
    return load_pipeline("weft-parser")


@pytest.fixture(scope="module")
def parser(pipeline: Pipeline) -> Parser:
    return Parser(pipeline)


def arc(parse: ParsedSentence, word: str) -> tuple[str, str, str]:
    """A word's tag, its label and the word it hangs on."""
    place = parse.words.index(word)
    return parse.tags[place], parse.labels[place], parse.words[parse.heads[place]]


@pytest.mark.parametrize(
    ("sentence", "arcs"),
    [
        ("The dog chased the cat.", {"dog": ("NN", "nsubj", "chased"), "cat": ("NN", "dobj", "chased")}),
        ("She gave him a book.", {"She": ("PRP", "nsubj", "gave"), "book": ("NN", "dobj", "gave")}),
        (
            "The bridge was destroyed by the flood in 1953.",
            {
                "bridge": ("NN", "nsubjpass", "destroyed"),
                "flood": ("NN", "pobj", "by"),
                "by": ("IN", "agent", "destroyed"),
                "1953": ("CD", "pobj", "in"),
            },
        ),
        (
            "The pilot, who had little experience, landed the airplane safely.",
            {
                "pilot": ("NN", "nsubj", "landed"),
                "airplane": ("NN", "dobj", "landed"),
                "had": ("VBD", "relcl", "pilot"),
            },
        ),
    ],
)
def test_small_sentences(parser: Parser, sentence: str, arcs: dict[str, tuple[str, str, str]]) -> None:
    (parse,) = parser.parse([sentence])
    assert {word: arc(parse, word) for word in arcs} == arcs


def test_a_sentence_stays_one_sentence(parser: Parser) -> None:
    text = "It rained. He slept! Did she wake? They left."
    (parse,) = parser.parse([text])
    assert "".join(parse.words) == text.replace(" ", "")
    assert sum(head == place for place, head in enumerate(parse.heads)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "!",
        "😀😀 👩‍👩‍👧 ok",
        "\x00It\x07 rained\x1b.",
        "\ud83d half",
        "x" * 100_000,
        "((((" * 1000,
        "日本語のテキスト",
        "\u202e \ufeff",
    ],
)
def test_odd_input(parser: Parser, text: str) -> None:
    (parse,) = parser.parse([text])
    assert "".join(parse.words) == clean_sentence(text).replace(" ", "")
    assert all(0 <= head < len(parse) for head in parse.heads)
    assert {len(parse.words), len(parse.tags), len(parse.heads), len(parse.labels)} == {len(parse)}
    assert all(parse.tags) and all(parse.labels)


@settings(max_examples=50, deadline=None)
@given(text=st.text(max_size=60))
def test_every_character_is_in_some_word(parser: Parser, text: str) -> None:
    (parse,) = parser.parse([text])
    assert "".join(parse.words) == clean_sentence(text).replace(" ", "")


def test_a_hundred_thousand_characters_take_little_memory(parser: Parser) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    text = "The dog chased the cat and it ran, " * 2900
    (parse,) = parser.parse([text])
    assert len(parse) == 9 * 2900
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / (
        2**20 if sys.platform == "darwin" else 2**10
    )
    assert grown < 300  # MiB; parsed at one go it would be 600 and more


def test_the_same_sentence_is_parsed_alike_in_any_company(pipeline: Pipeline) -> None:
    texts = ["The dog chased the cat.", "It was late when the last guests, tired and hungry, went home.", "Why?"]
    together = Parser(pipeline).parse(texts)
    assert (
        [Parser(pipeline).parse([text])[0] for text in texts] == together == Parser(pipeline).parse(texts[::-1])[::-1]
    )


def test_threads_may_share_a_parser(parser: Parser) -> None:
    texts = [f"The dog chased {number} cats." for number in range(40)]
    with ThreadPoolExecutor(4) as pool:
        parses = list(pool.map(lambda text: parser.parse([text])[0], texts))
    assert parses == parser.parse(texts)
