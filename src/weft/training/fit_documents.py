"""Training on documents in memory, for small corpora and for tests."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from weft.document import Document
from weft.progress import Progress, silent
from weft.protocols import NeuralModel
from weft.training.devices import start_runtime
from weft.training.loop import Report
from weft.training.part_training import Corpus, train_part
from weft.training.settings import TrainingSettings

SHORT = TrainingSettings(steps=200, warmup=20, validate_every=0)

Model = TypeVar("Model", bound=NeuralModel)


def fit_documents(
    model: Model,
    documents: Iterable[Document],
    *,
    settings: TrainingSettings | None = None,
    vocabulary: int = 2000,
    seed: int = 1,
    progress: Progress = silent,
) -> Model:
    """Train all parts of a model on documents in memory, with a vocabulary learned from them."""
    from weft.corpora.corrupt import write_negatives
    from weft.corpora.negatives.permuted_document import PermutedDocument
    from weft.corpora.store.prepare import prepare

    documents = list(documents)
    chosen = replace(settings or SHORT, seed=seed)
    with tempfile.TemporaryDirectory() as place, start_runtime() as runtime:
        text = Path(place) / "documents.jsonl"
        write_negatives(text, (PermutedDocument(document, ()) for document in documents))
        store = prepare([text], Path(place) / "store", vocabulary_size=vocabulary, workers=1)
        sentences = [sentence for document in documents for sentence in document.sentences]
        model.read_texts(sentences, store.tokenizer(), progress=progress)
        for part in model.parts:
            network = train_part(model, part, Corpus(store), chosen, runtime, listen=_progress_of(part, progress))
            model.assemble({part: network}, store.tokenizer())
    return model


def _progress_of(part: str, progress: Progress) -> Callable[[Report], None]:
    return lambda report: progress(f"training {part} (loss {report.loss:.2f})", int(1000 * report.share), 1000)
