from weft.corpora.text.detokenize import join_words
from weft.corpora.text.words import words, words_only


def test_words_are_lower_cased_and_punctuation_stands_alone() -> None:
    assert words('He said: "It\'s 3.5 km!"') == [
        *("he", "said", ":", '"', "it", "'", "s", "3", ".", "5", "km", "!", '"'),
    ]


def test_words_of_other_scripts_and_combining_accents_stay_whole() -> None:
    assert words("Ünïted café naïve") == ["ünïted", "café", "naïve"]
    assert words("cafe\u0301 ok") == ["cafe\u0301", "ok"]
    assert words("Москва 東京") == ["москва", "東京"]


def test_no_words_in_empty_text() -> None:
    assert words("") == words(" \n\t") == []


def test_words_only_leaves_punctuation_out() -> None:
    assert words_only("Well - yes, 3.5!") == ["well", "yes", "3", "5"]


def test_join_words_reads_like_text() -> None:
    text = "the cat's \"toy\" (3.5 cm, well-made) cost $10,000; don't!"
    assert join_words(words(text)) == text


def test_join_words_keeps_space_after_a_full_stop() -> None:
    assert join_words(["one", ".", "two", "."]) == "one. two."
