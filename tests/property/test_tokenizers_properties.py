from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from weft.corpora.text.tokenizers import BpeTokenizer, WordTokenizer, tokenizer_from_text
from weft.corpora.text.words import words

BPE = BpeTokenizer.train(["A cat sat on the mat. <s> </s>", "Ünï 東京 🙂 3.5%"] * 5, vocabulary_size=320)

TEXTS = st.text(max_size=60) | st.lists(
    st.sampled_from(["<s>", "</s>", "<pad>", "<unk>", " ", "  ", "\n", "cat", "é", "e\u0301", "🙂", "Ġ", "\u200d"]),
    max_size=12,
).map("".join)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_bpe_gives_back_any_text_but_for_one_leading_space(text: str) -> None:
    (ids,) = BPE.encode_batch([text])
    assert BPE.decode(ids) == text.removeprefix(" ")
    assert all(3 <= i < BPE.vocabulary_size for i in ids)


@settings(max_examples=100, deadline=None)
@given(st.lists(TEXTS, max_size=6))
def test_bpe_of_a_batch_is_the_bpe_of_each(texts: list[str]) -> None:
    assert BPE.encode_batch(texts) == [BPE.encode_batch([text])[0] for text in texts]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, BPE.vocabulary_size - 1), max_size=30))
def test_bpe_decodes_whatever_a_model_proposes(ids: list[int]) -> None:
    text = BPE.decode(ids)
    text.encode("utf-8")
    assert text == BPE.decode([i for i in ids if i > 2])


@settings(max_examples=100, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=6), st.integers(5, 30), st.integers(1, 3))
def test_words_survive_saving_and_know_every_frequent_word(texts: list[str], size: int, least: int) -> None:
    tokenizer = WordTokenizer.train(texts, vocabulary_size=size, min_count=least)
    again = tokenizer_from_text(tokenizer.to_text())
    assert again.encode_batch(texts) == tokenizer.encode_batch(texts)
    assert tokenizer.vocabulary_size <= size
    everything = [word for text in texts for word in words(text)]
    saved = json.loads(tokenizer.to_text())
    counts = zip(saved["words"], saved["counts"], strict=True)
    assert all(everything.count(word) == count >= least for word, count in counts)
    rows = tokenizer.encode_batch(texts)
    assert [len(row) for row in rows] == [len(words(text)) for text in texts]


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_words_lose_nothing_but_space_and_case(text: str) -> None:
    assert "".join(words(text)) == "".join(text.lower().split())
