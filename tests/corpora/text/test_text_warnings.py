"""What is said about texts whose score means little, and that it is not said about sound ones."""

from __future__ import annotations

import copy
import json
import pickle
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.corpora.text.language_detection import foreign_language
from weft.corpora.text.line_layout import count_lines, speaker
from weft.corpora.text.sentences import document_of_text
from weft.corpora.text.text_warnings import layout_warnings, text_warnings
from weft.document import Document, Score, TextWarning

SOUND = {
    "story": "The dog barks in the night and the cat looks at him. Then the cat sleeps outside. At dawn they eat.",
    "title": "My Trip\n\nI went to the sea last week. The water was cold. We swam anyway, and then we ate on the pier.",
    "verse": "The boats are sleeping in the bay,\nTheir masts are writing on the sky,\nAnd what the evening has\n"
    "To say it says to none but you and I.\nWe stay. We watch the water rise.\nThe tide has come to close our eyes.",
    "times": "At 12:03 the train left. At 12:30 it stopped in a tunnel. Nobody knew why. The lights went out at 12:41.",
    "names": "Maria Sanchez met Giovanni Rossi in Guadalajara. Pedro Almeida came from Lisbon. Nakamura was late.",
    "science": "Phosphorylated kinases enter the nucleus of the cell. Knockdown of the enzyme stopped chemotaxis. "
    "These findings point to a role of metalloproteinases in the growth of tumours.",
    "dialogue": '"Are you coming?" she asked.\n\n"No," he said.\n\n"Why not?"\n\n"It is raining, and I have no coat."',
    "law": "Sec. 12. The tenant shall pay the rent. The landlord shall keep the roof. (a) A fee of 2% is due monthly.",
    "semicolons": "The ice lay on the bay;\nThe masts were white and still;\nif nobody would sail that day:\n"
    "The wind was on the hill;\nthe boats (and men) would stay.\n\nThe gulls had left. It was far from May.",
    "abbreviations": "NASA. That was the word he wrote.\nHe closed the book and went.\nUSA. That was the next one.",
    "figures": "In 1969 it cost 12.5 million. By 1975 it cost 31 million (see p. 7). In 1980 it cost 44 million.",
    "chat": "yeah we went there lol. it was so cool omg. then mike fell in the pond haha.",
    "old": "Ay, thou art a knave. Wherefore dost thou weep? 'Tis but a scratch, quoth he.",
    "loans": "The word Schadenfreude is German. So is Zeitgeist. English borrowed both, and nobody complained.",
    "capitals": "THE CAT SLEPT ON THE MAT. IT PURRED LOUDLY. THEN IT WOKE AND ATE.",
    "abstract": "Background: sleep is short. Methods: we asked forty people. Results: they slept six hours. "
    "Conclusion: more sleep is needed.",
    "recipe": "Preheat the oven to 180 degrees. Mix flour, sugar and two eggs in a bowl. Bake it for half an hour.",
}
WARNED = [
    ("not-english", "Der Hund bellt. Die Katze schläft. Der Mann liest ein Buch."),
    ("not-english", "Le chat dort. Il ronronne. Le chien aboie dans la cour."),
    ("not-english", "El gato duerme. Ronronea. El perro ladra en el patio."),
    ("not-english", "Собака лает. Кошка спит. Идёт дождь."),
    ("not-english", "这只狗在叫。猫看到了狗。天在下雨。"),
    ("not-english", "القط نائم. الكلب ينبح. المطر يهطل."),
    ("mixed-languages", "The meeting is at nine. La réunion commence à neuf heures du matin. Bring the report."),
    ("mixed-languages", "We went to the market. 我们去了市场。 It was closed. 市场关门了。"),
    ("few-sentences", "The cat slept on the mat. Then it woke."),
    ("list", "To buy\n\n- milk\n- eggs\n- bread"),
    ("list", "1. Preheat the oven to 180 C.\n2. Mix flour and sugar.\n3. Add the eggs.\n4. Bake it."),
    ("list", "Name | Age | City\nAnna | 31 | Oslo\nBob | 29 | Rome"),
    ("list", "name,age,city,job\nAnna,31,Oslo,cook\nBob,29,Rome,pilot"),
    ("list", "milk\neggs\nbread\nbutter"),
    ("list", "Introduction\n\nCats are small. They sleep much.\n\nHabits\n\nThey hunt.\n\nFood\n\nThey eat meat."),
    ("list", "# Title\n\nSome text is here. It is short.\n\n## Part one\n\nMore text.\n\n## Part two\n\nThe end."),
    ("transcript", "DR SMITH: How do you feel today?\nPATIENT: Not so well.\nDR SMITH: Since when?"),
    ("transcript", "Anna: Hello. How are you? Bob: I am fine. Thank you. Anna: It rains again. Bob: It does."),
    ("transcript", "Speaker 1: Let us begin.\nSpeaker 2: Yes, please.\nSpeaker 1: The first point is money."),
    ("transcript", "[00:01:23] Welcome to the show.\n[00:01:30] Today we talk about bees.\n[00:01:41] They are rare."),
    ("transcript", "12:03 are you there\n12:04 yes I am\n12:05 good, then we can start"),
    ("transcript", "1\n00:00:01,000 --> 00:00:04,000\nWelcome back.\n\n2\n00:00:04,500 --> 00:00:08,000\nBees again."),
    ("transcript", "WEBVTT\n\n00:01.000 --> 00:04.000\nNever drink it cold.\n\n00:05.000 --> 00:09.000\nIt will hurt."),
    ("transcript", "<anna> hi all\n<bob> hello there\n<anna> the house is cold again"),
    ("transcript", "ROMEO. Who goes there?\nJULIET. It is only the wind.\nROMEO. Then I will stay a while."),
    ("list", "For the trip: • eggs and milk from the farm • a warm coat • new boots • two lamps"),
    ("repetition", "The cat slept on the mat. The cat slept on the mat. The cat slept on the mat."),
    ("repetition", "The cat is nice. The dog is nice. The bird is nice. The fish is nice."),
    ("repetition", "The board met on Monday. On Monday the board met. The board has met on Monday."),
    ("unknown-words", "Asdkj qwlkej zxmnc. Qpwoei lkajsd fjdk. Slaksd qwoei zmxnc."),
    ("unknown-words", "U2VudGVuY2VzIGFyZSBub3QgaGVyZQ== VGhpcyBpcyBiYXNlNjQgZGF0YSB0aGF0IG5vYm9keSByZWFkcw=="),
    ("unknown-words", "if (x == 3) { y = x + 1; } else { y = 0; }\nwhile (y < 10) { y++; }"),
    ("unknown-words", "The cat slept on the mat. Xkqz vwpl mnrt ggfd. It woke and ate. Zzqp wlkm bvcx trrs."),
    ("unknown-words", "import os\n\ndef names(path):\n    for name in os.listdir(path):\n        print(name)\n"),
    ("unknown-words", "12 34 56. 78 90 12. 34 56 78. 90 12 34."),
    ("unknown-words", "... ... ..."),
    ("unknown-words", "😀😀😀 🎉🎉. 🐶🐱🐭. 🍎🍌🍇."),
    ("unknown-words", '[{"id": 1, "ok": true, "size": [1, 2, 3]}, {"id": 2, "ok": false, "size": [4, 5, 6]}]'),
]  # fmt: skip


def codes(text: str) -> list[str]:
    return [warning.code for warning in text_warnings(document_of_text("d", text))]


@pytest.mark.parametrize("name", SOUND)
def test_sound_texts_have_no_warning(name: str) -> None:
    assert codes(SOUND[name]) == []


@pytest.mark.parametrize(("code", "text"), WARNED)
def test_texts_whose_score_means_little_have_their_warning(code: str, text: str) -> None:
    assert code in codes(text)


def test_the_language_is_named_and_mixed_texts_are_told_apart() -> None:
    found = foreign_language(["Der Hund bellt die ganze Nacht.", "Die Katze schläft im Garten."])
    assert found is not None and (found.name, found.whole) == ("German", True)
    mixed = foreign_language(["The dog barks in the night.", "Die Katze schläft heute lange im warmen Garten."])
    assert mixed is not None and (mixed.name, mixed.whole) == ("German", False)


def test_english_texts_do_not_load_the_identifier() -> None:
    from weft.corpora.text import language_detection

    language_detection._identifier.cache_clear()
    assert foreign_language([SOUND["story"]]) is None
    assert language_detection._identifier.cache_info().currsize == 0


def test_the_lines_of_a_text_are_seen_before_it_is_split() -> None:
    document = document_of_text("d", "- milk\n- eggs\n- bread")
    assert len(document) == 1 and [warning.code for warning in document.layout_warnings] == ["list"]
    assert document == Document("d", document.sentences)
    assert document.reorder([0]).layout_warnings == document.layout_warnings


def test_a_split_text_has_a_line_per_sentence() -> None:
    sentences = ("ANNA: Hello.", "BOB: Good morning to you.", "ANNA: It rains.")
    assert [warning.code for warning in text_warnings(Document("d", sentences))] == ["transcript"]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("DR SMITH: Sit.", "DR SMITH"),
        ("Mrs. O'Hara (softly): Yes.", "Mrs. O'Hara"),
        ("[00:12] Élise: Oui.", "Élise"),
        ("**Host:** Welcome.", "Host"),
        ("Q: Why?", "Q"),
        ("He said: no.", ""),
        ("Note: it rains.", ""),
        ("The time is 12:30 now.", ""),
        ("https://example.org", ""),
    ],
)
def test_speaker_labels(line: str, name: str) -> None:
    assert speaker(line) == name


def test_one_label_is_no_transcript_and_two_items_are_no_list() -> None:
    assert layout_warnings(["Anna: Hello.", "It rains."], 2) == ()
    assert layout_warnings(["- eggs", "- milk"], 2) == ()
    assert layout_warnings(["(a) (1) was violated.", "(a) (3) was not.", "(a) (1) protects them."], 3) == ()
    assert count_lines(["", " ", "\t"]).items == 0


def test_a_warning_is_its_sentence_and_keeps_its_code() -> None:
    warning = TextWarning("list", "many lines are list items")
    assert warning == "many lines are list items" and f"{warning}" == str(warning)
    for other in (pickle.loads(pickle.dumps(warning)), copy.deepcopy(warning)):
        assert (other, other.code) == (warning, "list")
    record = json.loads(json.dumps(Score(1.0, warnings=(warning,)).to_dict()))
    assert record["warnings"] == [str(warning)] and record["warning_codes"] == ["list"]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(min_size=1, max_size=60).filter(str.strip), max_size=8))
def test_any_sentences_get_warnings_without_an_error(sentences: list[str]) -> None:
    for warning in text_warnings(Document("d", tuple(sentences))):
        assert warning and warning.code


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=80), max_size=10), st.integers(0, 20))
def test_any_lines_get_warnings_without_an_error(lines: list[str], sentences: int) -> None:
    assert len(layout_warnings(lines, sentences)) <= 2


@pytest.mark.parametrize(
    "piece", ["a", "word ", "A: ", "12:30 ", "((([[[", " ", "字", "- x", "\u0301", "a.b'c-", "Ab Cd Ef "]
)
def test_a_megabyte_on_one_line_takes_little_time(piece: str) -> None:
    text = (piece * (1_000_000 // len(piece) + 1))[:1_000_000]
    text_warnings(Document("d", ("The first text loads the word list.", "Zxq wvk plmt.")))
    started = time.process_time()
    text_warnings(Document("d", (f"x{text}",)))
    layout_warnings([text], 1)
    assert time.process_time() - started < 1.5
