"""The genre of a text, guessed by a linear classifier of words and pairs of words.

The weights are in the package; ``tools/train_genres.py`` trains them. A feature is a word or a pair of neighbouring
words, punctuation and the start of a sentence among them. CRC-32 puts it into one of several thousand buckets. The
value of a bucket is the logarithm of its rate, so that texts of different length can be compared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Self
from zlib import crc32

import numpy as np
import numpy.typing as npt

from weft.corpora.text.words import words
from weft.errors import ModelError
from weft.io.model_folder import Artifact, Tensors, load_artifact, require
from weft.io.package_files import PRETRAINED

EMBEDDED = PRETRAINED / "genre"
KIND = "weft-genre"
MOST_WORDS = 3000  # of a text that are read
RATE = 200  # words: the rate of a feature is its number in so many words
START = "<s>"  # of a sentence
# Corpora of one genre, which a classifier cannot tell apart.
SAME_GENRE = {"simplewiki": "encyclopedia", "wikipedia": "encyclopedia"}

_ANONYMOUS = re.compile(r"@\w+")  # marks such as @CAPS1 would give away the corpus
_DIGIT = re.compile(r"\d")

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class GenreGuess:
    """The likeliest genre of a text.

    Attributes:
        name: The genre.
        probability: Its probability among the genres that the classifier knows.
        sure: Whether the probability reaches the threshold of the classifier.
    """

    name: str
    probability: float
    sure: bool


@dataclass(frozen=True, slots=True)
class GenreClassifier:
    """A linear classifier of texts.

    Attributes:
        genres: The genres it knows.
        weights: int8 weights: [buckets, genres].
        scale: What to multiply the weights of each genre with: [genres].
        bias: [genres].
        threshold: A guess with a lower probability is unsure.
    """

    genres: tuple[str, ...]
    weights: npt.NDArray[np.int8]
    scale: Vector
    bias: Vector
    threshold: float

    def probabilities(self, sentences: Sequence[str]) -> Vector:
        """Return the probability of each genre: [genres]."""
        places, values = genre_features(sentences, len(self.weights))
        logits = values @ self.weights[places].astype(np.float32) * self.scale + self.bias
        odds = np.exp(logits - logits.max())
        chances: Vector = odds / odds.sum()
        return chances

    def guess(self, sentences: Sequence[str]) -> GenreGuess:
        """Return the likeliest genre of a text."""
        chances = self.probabilities(sentences)
        best = int(chances.argmax())
        chance = float(chances[best])
        return GenreGuess(self.genres[best], chance, chance >= self.threshold)

    def to_artifact(self, training: dict[str, Any]) -> Artifact:
        """Return the contents of its model folder."""
        config = {"genres": list(self.genres), "threshold": self.threshold}
        tensors: Tensors = {"weights": self.weights, "scale": self.scale, "bias": self.bias}
        return Artifact(KIND, config, tensors, training=training)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a model folder.

        Raises:
            ModelError: The folder is damaged or holds something else.
        """
        artifact = load_artifact(folder)
        if artifact.model != KIND:
            raise _not_fitting(folder, artifact.model)
        require(artifact, folder, tensors=("weights", "scale", "bias"), texts=())
        weights, scale, bias = (artifact.tensors[name] for name in ("weights", "scale", "bias"))
        genres = tuple(map(str, artifact.config.get("genres", ())))
        if weights.ndim != 2 or {weights.shape[1], *scale.shape, *bias.shape} != {len(genres)}:
            raise _not_fitting(folder, f"weights of the shape {weights.shape} for {len(genres)} genres")
        return cls(genres, weights, scale, bias, float(artifact.config["threshold"]))


def genre_of_label(label: str) -> str:
    """Return the genre that the label of a corpus stands for.

    Example:
        >>> genre_of_label("wikipedia"), genre_of_label("news")
        ('encyclopedia', 'news')
    """
    return SAME_GENRE.get(label, label)


def guess_genre(sentences: Sequence[str]) -> GenreGuess:
    """Return the likeliest genre of a text, by the classifier in the package.

    Example:
        >>> recipe = ["Heat the oil in a pan.", "Add the onions and stir for 5 minutes.", "Serve with rice."]
        >>> guess_genre(recipe).name
        'howto'
    """
    return _embedded().guess(sentences)


@lru_cache(maxsize=1)
def _embedded() -> GenreClassifier:
    return GenreClassifier.load(EMBEDDED)


def genre_features(sentences: Sequence[str], buckets: int) -> tuple[npt.NDArray[np.intp], Vector]:
    """Return the buckets of a text that are not empty, and their values; the squares of the values sum to 1.

    Example:
        >>> places, values = genre_features(["It rained.", "It rained."], 1000)
        >>> len(places), round(float((values**2).sum()), 3)
        (8, 1.0)
    """
    tokens = _tokens(sentences)
    pairs = (f"{left} {right}" for left, right in pairwise(tokens))
    counts = Counter(tokens)
    counts.update(pairs)
    rows: Counter[int] = Counter()
    for feature, count in counts.items():
        rows[crc32(feature.encode("utf-8", "surrogatepass")) % buckets] += count
    rates = np.fromiter(rows.values(), np.float32, len(rows)) * (RATE / max(1, len(tokens)))
    values = np.log1p(rates)
    norm = float(np.linalg.norm(values)) or 1.0
    return np.fromiter(rows, np.intp, len(rows)), values / np.float32(norm)


def _tokens(sentences: Sequence[str]) -> list[str]:
    """Return the first words of a text, with a mark before each sentence; digits are zeros."""
    tokens: list[str] = []
    for sentence in sentences:
        tokens.append(START)
        tokens += words(_DIGIT.sub("0", _ANONYMOUS.sub("", sentence)).replace("’", "'"))
        if len(tokens) > MOST_WORDS:
            break
    return tokens[:MOST_WORDS]


def _not_fitting(folder: str | Path, seen: str) -> ModelError:
    return ModelError(
        f"{folder} holds no classifier of genres",
        seen=seen,
        allowed="a folder that tools/train_genres.py wrote",
        next_step="install weft again, or train the classifier again",
    )
