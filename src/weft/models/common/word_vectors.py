"""Word vectors: the table in the package, GloVe files, and sentences as weighted sums of word vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.corpora.readers.lines import open_lines
from weft.corpora.text.words import words_only
from weft.errors import CorpusError
from weft.io.model_folder import Artifact, require
from weft.io.package_files import PRETRAINED
from weft.models.common.setting_checks import check_finite, misfit

Vectors = npt.NDArray[np.float32]  # [sentences, dimensions]

EMBEDDED = PRETRAINED / "glove"
VOCABULARY = "vocabulary.txt"


@dataclass(frozen=True)
class WordVectors:
    """A vocabulary, most frequent word first, with one vector per word."""

    vocabulary: tuple[str, ...]  # the words
    stored: npt.NDArray[Any]  # the vectors, float16, float32 or int8: [words, dimensions]
    # Factor of each int8 row, [words]; empty for floats.
    scales: npt.NDArray[np.float16] = field(default_factory=lambda: np.empty(0, dtype=np.float16))

    @cached_property
    def index(self) -> dict[str, int]:
        """The row number of each word."""
        return {word: row for row, word in enumerate(self.vocabulary)}

    def rows(self, numbers: Sequence[int] | npt.NDArray[np.int64]) -> Vectors:
        """Return the vectors of some words as float32: [numbers, dimensions]."""
        chosen = self.stored[np.asarray(numbers, dtype=np.int64)].astype(np.float32)
        if self.scales.size:
            chosen *= self.scales[np.asarray(numbers, dtype=np.int64)].astype(np.float32)[:, None]
        return chosen

    def quantized(self) -> WordVectors:
        """Return the table in int8 with one scale per row: a quarter of float32, with errors up to 0.4% of the peak."""
        full = self.rows(np.arange(len(self.vocabulary)))  # [words, dimensions]
        peaks = np.abs(full).max(axis=1)  # [words]
        scales = np.maximum(peaks / 127, np.finfo(np.float16).tiny).astype(np.float16)
        whole = np.rint(full / scales.astype(np.float32)[:, None]).clip(-127, 127).astype(np.int8)
        return WordVectors(self.vocabulary, whole, scales)

    def to_artifact(self, model: str, config: Mapping[str, Any]) -> Artifact:
        """Return the contents of a model folder that holds the table."""
        tensors = {"vectors": self.stored, "scales": self.scales}
        return Artifact(model, config, tensors, {VOCABULARY: "\n".join(self.vocabulary)})

    @classmethod
    def from_artifact(cls, artifact: Artifact, folder: str | Path) -> WordVectors:
        """Return the table of a model folder.

        Raises:
            ModelError: Its parts do not fit together.
        """
        require(artifact, folder, tensors=("vectors", "scales"), texts=(VOCABULARY,))
        vocabulary = tuple(artifact.texts[VOCABULARY].split("\n"))
        stored, scales = artifact.tensors["vectors"], artifact.tensors["scales"]
        if stored.ndim != 2 or len(stored) != len(vocabulary) or scales.shape not in {(0,), (len(vocabulary),)}:
            seen = f"{stored.shape} vectors, {scales.shape} scales, {len(vocabulary)} words"
            raise misfit(folder, seen, "one vector per word", what="word vectors")
        check_finite(folder, vectors=stored, scales=scales)
        return cls(vocabulary, stored, scales)


Weigh = Callable[[Counter[int]], Iterable[float]]


def weighted_sums(table: WordVectors, sentences: Sequence[str], weigh: Weigh) -> Vectors:
    """Return sentence vectors as weighted sums of word vectors: [sentences, dimensions].

    A sentence without known words has a zero vector.
    """
    sums = np.zeros((len(sentences), table.stored.shape[1]), dtype=np.float32)
    for number, sentence in enumerate(sentences):
        counts = Counter(table.index[token] for token in words_only(sentence) if token in table.index)
        if counts:
            weights = np.fromiter(weigh(counts), dtype=np.float32, count=len(counts))  # [distinct words]
            sums[number] = weights @ table.rows(list(counts))
    return sums


def read_glove(path: str | Path, *, limit: int | None = None) -> WordVectors:
    """Read a standard GloVe text file (``word v1 v2 …``), or a folder with vocab.txt and vectors.f16.npy.

    Example:
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "glove.txt"
        >>> _ = file.write_text("cat 0.5 1.0" + chr(10) + "dog 0.25 1.0")
        >>> read_glove(file).vocabulary
        ('cat', 'dog')
    """
    place = Path(path)
    table = _read_folder(place) if place.is_dir() else _read_text(place)
    return WordVectors(table.vocabulary[:limit], table.stored[:limit])


def _read_folder(folder: Path) -> WordVectors:
    vocabulary = tuple(word for _, word in open_lines(folder / "vocab.txt") if word)
    try:
        stored = np.load(folder / "vectors.f16.npy", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise _bad_vectors(folder, str(error)) from error
    if stored.ndim != 2 or len(stored) != len(vocabulary):
        raise _bad_vectors(folder, f"{stored.shape} vectors for {len(vocabulary)} words")
    return WordVectors(vocabulary, stored)


def _read_text(path: Path) -> WordVectors:
    vocabulary: list[str] = []
    rows: list[npt.NDArray[np.float32]] = []
    for line_number, line in open_lines(path):
        word, *numbers = line.rstrip().split(" ")
        try:
            row = np.array(numbers, dtype=np.float32)
        except ValueError as error:
            raise _bad_vectors(path, f"line {line_number}: {error}") from error
        if len(row) == 0 or (rows and len(row) != len(rows[0])):
            raise _bad_vectors(path, f"line {line_number} has {len(row)} numbers")
        vocabulary.append(word)
        rows.append(row)
    if not rows:
        raise _bad_vectors(path, "the file is empty")
    return WordVectors(tuple(vocabulary), np.stack(rows))


def _bad_vectors(path: Path, why: str) -> CorpusError:
    return CorpusError(
        f"cannot read word vectors from {path}",
        seen=why,
        allowed="a GloVe text file (word, then its numbers, separated by spaces)",
        next_step="check the file, or omit `vectors` to use the embedded table",
    )
