"""Transcripts: one speaker, and texts without labels, timestamps, fillers and noises."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from weft.corpora.readers.formats import ReadOptions, read_documents
from weft.corpora.text.transcripts import cleaned_lines, without_fillers
from weft.document import Document
from weft.errors import ConfigError

TALK = """Interview 12

[00:00:01] DOCTOR: How did you sleep?
[00:00:04] PATIENT: Um, I slept well. I had, uh, a dream
about a river.
DOCTOR (writes): Go on.
PATIENT: [laughs] It was cold (pause) and wide.
"""


def read(path: Path, **options: object) -> Document:
    (document,) = read_documents(path, ReadOptions(**options))  # type: ignore[arg-type]
    return document


def test_the_turns_of_one_speaker(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TALK, encoding="utf-8")
    document = read(path, speaker="Patient", clean=("fillers", "noises"))
    assert document.sentences == ("I slept well.", "I had a dream about a river.", "It was cold and wide.")
    assert document.paragraph_starts == (0, 2)
    assert not document.layout_warnings
    assert [warning.code for warning in read(path).layout_warnings] == ["transcript"]


def test_a_speaker_who_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TALK, encoding="utf-8")
    document = read(path, speaker="NURSE", empty="keep")
    assert document.sentences == () and "the text has DOCTOR, PATIENT" in document.layout_warnings[0]


def test_labels_and_timestamps_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    talk = "Speaker 1  00:01\nHello there\n\nSpeaker 2  00:05\nHello. At 10:30 I left. (00:07)\n"
    path.write_text(talk, encoding="utf-8")
    assert read(path, clean=("labels", "timestamps")).sentences == ("Hello there", "Hello.", "At 10:30 I left.")
    lines = ["00:00:01,000 --> 00:00:02,000", "[0:07] ANNA: Hi.", "12:30 Lunch."]
    assert list(cleaned_lines(lines, parts=("timestamps",))) == ["ANNA: Hi.", "Lunch."]


def test_rows_and_sentences_are_cleaned_too(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"sentences": ["A: Hi.", "B: Um, hello.", "It rains.", "A: Bye."]}), encoding="utf-8")
    assert read(path, speaker="B", clean=("fillers",)).sentences == ("Hello.", "It rains.")
    (tmp_path / "a.csv").write_text('text\n"ANN: One.\nBOB: Two."\n', encoding="utf-8")
    assert read(tmp_path / "a.csv", speaker="BOB").sentences == ("Two.",)
    (tmp_path / "b.txt").write_text("ANN: One.\nBOB: Two.\n", encoding="utf-8")
    assert read(tmp_path / "b.txt", format="lines", clean=("labels",)).sentences == ("One.", "Two.")
    (tmp_path / "a.md").write_text("**ANN:** One.\n\n**BOB:** Two.\n", encoding="utf-8")
    assert read(tmp_path / "a.md", speaker="ann").sentences == ("One.",)


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Um... well, er, yes.", "en", "Well yes."),
        ("It hurts, um, um, here. Uh, there.", "en", "It hurts here. There."),
        ("The ER took her; the summer hummed.", "en", "The ER took her; the summer hummed."),
        ("Er kam, ähm, spät.", "de", "Er kam spät."),
        ("It was, um.", "en", "It was."),
        ("Uh-huh, I did.", "en", "Uh-huh, I did."),
    ],
)
def test_fillers(text: str, language: str, expected: str) -> None:
    assert without_fillers(text, language) == expected


def test_wrong_parts_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(TALK, encoding="utf-8")
    with pytest.raises(ConfigError, match="did you mean labels"):
        read(path, clean=("label",))
    with pytest.raises(ConfigError, match="fillers of this language"):
        read(path, clean=("fillers",), language="hi")
