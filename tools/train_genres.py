"""Train the classifier of genres inside the package, and measure it on held-out texts.

    python tools/train_genres.py [--data-root DATA] [--sources all|open] [--seed 1] [--buckets 12000]
        [--out src/weft/pretrained/genre] [--results results/benchmarks/genre_guesses.json]

Training: excerpts of 3 to 20 sentences of ``genres/train.GENRE.jsonl.xz`` and of Wikipedia's first training shard,
every source of a genre equally often, every genre with the same weight. Wikipedia and Simple English Wikipedia are one
genre, ``encyclopedia``. Texts written by language models (``llm``) are left out: they are stories, essays, news and
answers, and a guess would be about the writer.

The threshold is the lowest one at which `RIGHT` of the guesses that reach it are right, on excerpts of five sentences
of ``genres/dev.jsonl.xz`` and ``wikipedia/dev.jsonl.xz``. The result has the share of right guesses by genre, with 95%
intervals (Wilson), for whole dev texts (up to 40 sentences) and for excerpts of five sentences. Nothing reads the test
part. ``--sources open`` trains on texts with an open licence alone (classes open and mixed of ``licences.tsv``).
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from weft.corpora.data_folder import find_data
from weft.corpora.readers.jsonl import document_of, read_records
from weft.corpora.text.genre import EMBEDDED, GenreClassifier, genre_features, genre_of_label
from weft.io.atomic_files import write_atomically
from weft.io.file_hash import sha256_of
from weft.io.model_folder import save_artifact
from weft.version import VERSION

GENRES = (
    "abstract", "answer", "blog", "essay", "fiction", "howto", "interview", "legal", "news", "nonfiction", "paper",
    "popsci", "review", "simplewiki", "speech", "story5", "tale", "textbook",
)  # fmt: skip
WIKIPEDIA, MACHINE = "wikipedia", "llm"
FEWEST, MOST, LONGEST, SHORT = 3, 20, 40, 5  # sentences of training excerpts; of dev texts; of short dev excerpts
EXCERPTS = 3000  # of each genre
DEV_PAGES = 90  # of Wikipedia
RIGHT = 0.9
OPEN = ("open", "mixed")


@dataclass(frozen=True, slots=True)
class Example:
    """A text with its genre and where it comes from."""

    genre: str
    source: str
    sentences: Sequence[str]


def read_examples(name: str, root: str | None, genre: str = "") -> Iterator[Example]:
    """Yield the texts of a file; ``genre`` is that of texts without a label."""
    for record in read_records(find_data(name, root)):
        source = str(record.fields.get("source", genre))
        label = genre_of_label(str(record.fields.get("genre", genre)))
        yield Example(label, source, document_of(record).sentences)


def family(source: str) -> str:
    """Return the corpus that a source belongs to.

    Example:
        >>> family("saranyan/TED-Talks:ted"), family("ASAP-AES set 1 via someone/essays")
        ('saranyan/TED-Talks', 'ASAP-AES')
    """
    return source.split(" via ")[0].split(":")[0].split(" set ")[0]


def licence_class(source: str, table: Sequence[Sequence[str]]) -> str:
    """Return the class of a source's licence: that of the longest entry that the source begins with."""
    fitting = [row for row in table if source.startswith(row[0])]
    return max(fitting, key=lambda row: len(row[0]))[1] if fitting else "unstated"


def excerpts(examples: Sequence[Example], count: int, random: Random) -> list[Example]:
    """Return excerpts of texts, every source equally often as long as it has sentences."""
    by_source: dict[str, list[Example]] = defaultdict(list)
    for example in examples:
        by_source[family(example.source)].append(example)
    found: list[Example] = []
    for _, texts in sorted(by_source.items()):
        random.shuffle(texts)
        wanted = min(count // len(by_source), sum(1 + len(text.sentences) // MOST for text in texts))
        found += [cut(texts[number % len(texts)], random) for number in range(wanted)]
    return [one for one in found if len(one.sentences) >= FEWEST]


def cut(example: Example, random: Random) -> Example:
    """Return an excerpt of 3 to 20 sentences."""
    size = random.randint(FEWEST, MOST)
    start = random.randint(0, max(0, len(example.sentences) - size))
    return Example(example.genre, example.source, example.sentences[start : start + size])


def features(examples: Sequence[Example], buckets: int) -> Any:
    """Return the features of texts as a sparse matrix."""
    rows = [genre_features(example.sentences, buckets) for example in examples]
    ends = np.cumsum([0, *(len(places) for places, _ in rows)])
    columns, values = (np.concatenate([row[side] for row in rows]) for side in (0, 1))
    return csr_matrix((values, columns, ends), shape=(len(rows), buckets), dtype=np.float32)


def train(examples: Sequence[Example], buckets: int, strength: float) -> GenreClassifier:
    """Return a classifier with int8 weights; its threshold is not chosen yet."""
    labels = [example.genre for example in examples]
    counts = Counter(labels)
    weights = [len(labels) / len(counts) / counts[label] for label in labels]
    fitted = LogisticRegression(C=strength, max_iter=100).fit(
        features(examples, buckets), labels, sample_weight=weights
    )
    found = fitted.coef_.T.astype(np.float32)  # [buckets, genres]
    scale = np.abs(found).max(axis=0) / 127
    packed = np.rint(found / scale).astype(np.int8)
    return GenreClassifier(tuple(map(str, fitted.classes_)), packed, scale, fitted.intercept_.astype(np.float32), 0.0)


def choose_threshold(classifier: GenreClassifier, examples: Sequence[Example]) -> float:
    """Return the lowest probability, in steps of .05, at which `RIGHT` of the guesses that reach it are right."""
    guesses = [(classifier.guess(one.sentences), one.genre) for one in examples]
    for threshold in (step / 20 for step in range(20)):
        reached = [guess.name == genre for guess, genre in guesses if guess.probability >= threshold]
        if not reached or sum(reached) / len(reached) >= RIGHT:
            break
    return threshold


def wilson(right: int, n: int) -> tuple[float, float]:
    """Return the 95% interval of a share.

    Example:
        >>> [round(end, 3) for end in wilson(9, 10)]
        [0.596, 0.982]
    """
    z, share = 1.96, right / n
    middle, width = share + z * z / (2 * n), z * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
    return (middle - width) / (1 + z * z / n), (middle + width) / (1 + z * z / n)


def measure(classifier: GenreClassifier, examples: Sequence[Example]) -> dict[str, Any]:
    """Return the share of right guesses, over all texts and by genre, and what they are taken for."""
    guesses = [classifier.guess(example.sentences) for example in examples]
    by_genre: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    for guess, example in zip(guesses, examples, strict=True):
        by_genre[example.genre].append((guess.name, guess.sure))
    rows = {genre: _row(genre, found) for genre, found in sorted(by_genre.items())}
    pairs = [(genre, name, sure) for genre, found in by_genre.items() for name, sure in found]
    sure = [genre == name for genre, name, is_sure in pairs if is_sure]
    everything = [genre == name for genre, name, _ in pairs]
    return {
        "n": len(pairs), "accuracy": sum(everything) / len(pairs), "interval": wilson(sum(everything), len(pairs)),
        "genre_mean": sum(row["accuracy"] for row in rows.values()) / len(rows),
        "sure": len(sure) / len(pairs), "accuracy_of_sure": sum(sure) / max(1, len(sure)),
        "genres": rows,
    }  # fmt: skip


def _row(genre: str, found: Sequence[tuple[str, bool]]) -> dict[str, Any]:
    right = sum(name == genre for name, _ in found)
    wrong = Counter(name for name, _ in found if name != genre)
    sure = sum(is_sure for _, is_sure in found) / len(found)
    return {
        "n": len(found), "accuracy": right / len(found), "interval": wilson(right, len(found)),
        "sure": sure, "taken_for": dict(wrong.most_common(3)),
    }  # fmt: skip


def read_training(root: str | None, sources: str, random: Random) -> list[Example]:
    """Return the training excerpts."""
    lines = find_data("genres/licences.tsv", root).read_text("utf-8").splitlines()[1:]
    table = [line.split("\t") for line in lines]
    found: list[Example] = []
    for genre in GENRES:
        texts = list(read_examples(f"genres/train.{genre}.jsonl.xz", root))
        if sources == "open":
            texts = [text for text in texts if licence_class(text.source, table) in OPEN]
        found += excerpts(texts, EXCERPTS, random) if texts else []
    pages = islice(read_examples("wikipedia/train-00.jsonl.xz", root, WIKIPEDIA), EXCERPTS)
    return [*found, *excerpts(list(pages), EXCERPTS, random)]


def read_dev(root: str | None) -> list[Example]:
    """Return the texts of the dev parts, up to 40 sentences of each."""
    texts = [one for one in read_examples("genres/dev.jsonl.xz", root) if one.genre != MACHINE]
    texts += islice(read_examples("wikipedia/dev.jsonl.xz", root, WIKIPEDIA), DEV_PAGES)
    return [Example(one.genre, one.source, one.sentences[:LONGEST]) for one in texts]


def main() -> int:
    """Train, choose the threshold, measure, and write the folder and the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root")
    parser.add_argument("--sources", choices=("all", "open"), default="all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--buckets", type=int, default=12000)
    parser.add_argument("--strength", type=float, default=10.0, help="C of the logistic regression")
    parser.add_argument("--out", type=Path, default=EMBEDDED)
    parser.add_argument("--results", type=Path, default=Path("results/benchmarks/genre_guesses.json"))
    options = parser.parse_args()
    examples = read_training(options.data_root, options.sources, Random(options.seed))
    dev = read_dev(options.data_root)
    short = [Example(one.genre, one.source, one.sentences[:SHORT]) for one in dev]
    trained = train(examples, options.buckets, options.strength)
    threshold = choose_threshold(trained, short)
    classifier = GenreClassifier(trained.genres, trained.weights, trained.scale, trained.bias, threshold)
    command = f"python tools/train_genres.py --sources {options.sources} --seed {options.seed}"
    files = [*(f"genres/train.{genre}.jsonl.xz" for genre in GENRES), "wikipedia/train-00.jsonl.xz"]
    hashes = [{"name": name, "sha256": sha256_of(find_data(name, options.data_root))} for name in files]
    training = {
        "seed": options.seed, "sources": options.sources, "excerpts": len(examples),
        "families": sorted({family(one.source) for one in examples}), "data": hashes, "command": command,
    }  # fmt: skip
    save_artifact(classifier.to_artifact(training), options.out)
    report = {
        "benchmark": "genre_guesses", "weft": VERSION, "command": command, "seed": options.seed,
        "sources": options.sources, "buckets": options.buckets, "excerpts": dict(Counter(e.genre for e in examples)),
        "threshold": threshold, "whole_texts": measure(classifier, dev), "five_sentences": measure(classifier, short),
    }  # fmt: skip
    with write_atomically(options.results) as handle:
        handle.write((json.dumps(report, indent=1) + "\n").encode())
    for name in ("whole_texts", "five_sentences"):
        print(name, {key: value for key, value in report[name].items() if key != "genres"})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
