"""A tiny adversarial evaluation: pages of nonsense, small settings."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from weft.document import Document
from weft.evaluation.adversarial.chunks import Chunks, SelectionSettings
from weft.evaluation.adversarial.continuations import WritingJob, weights_hash
from weft.evaluation.adversarial.options import EvaluatorSettings
from weft.evaluation.task_contract import EvaluateOptions
from weft.generation.decoding_settings import Decoding
from weft.models.seq2seq.seq2seq import Seq2Seq
from weft.scoring.uni_bi_mmi import Combine

WORDS = "cat dog fox hen owl sun sea sky oak elm red blue old new big sat ran saw had was".split()
SMALL = SelectionSettings(train=40, dev=8, test=8, shortest=2, longest=12)
FEW = Decoding(method="sample", beam=3, top_k=50, min_tokens=2, max_tokens=12, draws=3)
TINY = EvaluatorSettings(
    reader="", hidden=8, width=8, pairs=32, epochs=1, checks=1, dropout=0.0, second=False, informed=False, seeds=1
)


def pages(count: int = 40, paragraphs: int = 2, length: int = 9) -> list[Document]:
    """Pages of random words."""
    generator = np.random.default_rng(5)
    made = []
    for page in range(count):
        sizes = generator.integers(3, 7, paragraphs * length)
        sentences = tuple(f"{' '.join(generator.choice(WORDS, size))} p{page}." for size in sizes)
        made.append(Document(f"page-{page}", sentences, paragraph_starts=tuple(range(0, paragraphs * length, length))))
    return made


def tiny_options(work: Path, reader: str | Path, *, limit: int = 5, **evaluator: Any) -> EvaluateOptions:
    """Options of a whole evaluation that takes a second."""
    settings = {f"decoding.{name}": value for name, value in asdict(FEW).items()}
    chosen = asdict(replace(TINY, reader=str(reader), **evaluator))
    settings |= {f"evaluator.{name}": value for name, value in chosen.items()}
    return EvaluateOptions(limit=limit, settings=settings, work=work, device="cpu")


def job_of(model: Seq2Seq, chunks: Chunks, combine: Combine = "uni", decoding: Decoding = FEW) -> WritingJob:
    """What a model is to write."""
    return WritingJob("tiny", weights_hash(model), chunks, decoding, combine, {})


def odds(*values: float) -> Any:
    """Log-odds of an evaluator."""
    return np.array(values, dtype=np.float32)
