"""A small reader, untrained or trained for a few steps, and texts for it."""

from __future__ import annotations

from dataclasses import replace

import torch

from weft.corpora.text.tokenizers import BpeTokenizer
from weft.document import Document
from weft.models.reader.reader import Reader
from weft.models.reader.reader_settings import PART, ReaderSettings
from weft.training.fit_documents import fit_documents
from weft.training.settings import TrainingSettings

SMALL = ReaderSettings(hidden=32, layers=2, local_layers=1, heads=4, feed_forward=64, pair=16, fewest=2, slots=16)
NAMES = ("first", "second", "third", "fourth", "fifth", "sixth")
THINGS = ("cat", "dog", "house", "river", "tree", "road", "song", "storm")
SENTENCES = tuple(
    f"The {name} {thing}{' was seen there again' * (len(thing) % 3)}." for thing in THINGS for name in NAMES
)
TEXTS = [
    SENTENCES[:6], SENTENCES[3:9], SENTENCES[:2], SENTENCES[10:31], SENTENCES[40:45],
    ("One.", "Two two two two.", "?"), ("The first cat.", "The first cat.", "The second cat."),
]  # fmt: skip


def untrained_reader(
    local_layers: int = 1,
    precision: str = "int8",
    directions: str = "next",
    surprise: bool = False,
    strays: bool = False,
) -> Reader:
    """A reader with random weights."""
    torch.manual_seed(1)
    settings = replace(SMALL, local_layers=local_layers, precision=precision, directions=directions)
    model = Reader(replace(settings, surprise_weight=float(surprise), stray_weight=float(strays)))
    tokenizer = BpeTokenizer.train(SENTENCES, vocabulary_size=400)
    return model.assemble({PART: model.new_network(PART, tokenizer)}, tokenizer)


def trained_reader() -> Reader:
    """A reader after a few steps of training."""
    corpus = [Document(f"c{n}", SENTENCES[6 * n : 6 * n + 6]) for n in range(len(THINGS))]
    settings = TrainingSettings(steps=40, warmup=5, learning_rate=2e-3, batch_tokens=600, validate_every=0)
    return fit_documents(Reader(replace(SMALL, fewest=4, dropout=0.0)), corpus, settings=settings, vocabulary=400)
