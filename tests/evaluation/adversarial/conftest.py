"""Fixtures of a tiny adversarial evaluation, made once for all its tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch
from tests.helpers.tiny_adversarial import SMALL, pages

from weft.corpora.text.tokenizers import BpeTokenizer
from weft.evaluation.adversarial.chunks import Chunks, select_chunks
from weft.evaluation.adversarial.evaluators import tree_evaluator
from weft.models.seq2seq.seq2seq import Seq2Seq, Seq2SeqSettings


@pytest.fixture(scope="module", autouse=True)
def few_trees() -> Iterator[None]:
    """Boosted trees are few: a thousand take long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree_evaluator, "ROUNDS", 5)
        patch.setattr(tree_evaluator, "FEW_ROUNDS", 3)
        yield


@pytest.fixture(scope="session")
def tokenizer() -> BpeTokenizer:
    """A tokenizer of the pages."""
    return BpeTokenizer.train([text for page in pages() for text in page.sentences], vocabulary_size=340)


@pytest.fixture(scope="session")
def chunks(tokenizer: BpeTokenizer) -> Chunks:
    """A selection of chunks."""
    return select_chunks(pages(), tokenizer, SMALL, "print")


def _seq2seq(tokenizer: BpeTokenizer, seed: int) -> Seq2Seq:
    made = Seq2Seq(Seq2SeqSettings(dimensions=12, hidden=12, layers=1))
    torch.manual_seed(seed)
    return made.assemble({part: made.new_network(part, tokenizer) for part in made.parts}, tokenizer)


@pytest.fixture(scope="session")
def model(tokenizer: BpeTokenizer) -> Seq2Seq:
    """A model with random weights."""
    return _seq2seq(tokenizer, 4)


@pytest.fixture(scope="session")
def readers(model: Seq2Seq, tokenizer: BpeTokenizer, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Folders of two models that differ in their weights alone; the first is `model`."""
    place = tmp_path_factory.mktemp("readers")
    model.save(place / "tiny")
    _seq2seq(tokenizer, 5).save(place / "other")
    return str(place / "tiny"), str(place / "other")


@pytest.fixture(scope="session")
def folder(readers: tuple[str, str]) -> Path:
    """The folder of `model`."""
    return Path(readers[0])


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of pages."""
    path = tmp_path_factory.mktemp("data") / "pages.jsonl"
    records = [{"id": p.id, "paragraphs": [one.sentences for one in p.paragraphs()]} for p in pages(60, 3)]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path
