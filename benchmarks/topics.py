"""Speed and held-out perplexity of the sentence-level HMM-LDA beside tomotopy's LDA.

    pip install 'weft-coherence[topics]'
    python benchmarks/topics.py --data train-00.jsonl.xz --dev dev.jsonl.xz [--articles 5000] [--dev-articles 600]
        [--topics 100] [--iterations 60] [--lda-iterations 200] [--rounds 3] [--seed 1]
        [--out results/benchmarks/topics.json]

Both learn from the same sentences with the same words (a sentence is a document for LDA) on one thread. Rates are words
per CPU second and iteration, measured by turns; medians are compared with the bar. Perplexity is per known word of the
same held-out sentences. That of HMM-LDA is exact: each sentence given those before it in its paragraph
(`HmmLda.perplexity`). That of LDA, which has no order, is the left-to-right estimate of each sentence's probability
(Wallach et al. 2009, in the unbiased form of Buntine 2009), with the number of particles given.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read once, when numpy is imported

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.corpora.readers.jsonl import read_jsonl
from weft.document import Document
from weft.evaluation.metrics import bootstrap_interval
from weft.io.atomic_files import write_atomically
from weft.models.common.bag_of_words import Bags, read_bags
from weft.models.topic.hmm_lda import HmmLda, HmmLdaSettings
from weft.version import VERSION

SPEED_BAR = 1.0  # times tomotopy's rate
SENTENCES_AT_ONCE = 1000
PARTICLES = 20

Reals = npt.NDArray[np.float64]


def articles(path: Path, count: int) -> Iterator[Document]:
    """Yield the first articles of a file."""
    return islice(read_jsonl(path), count)


def make_lda(bags: Bags, words: tuple[str, ...], topics: int, seed: int) -> Any:
    """Return tomotopy's LDA with every sentence added as a document."""
    import tomotopy

    lda = tomotopy.LDAModel(k=topics, seed=seed)
    for row in range(bags.counts.shape[0]):
        counts = bags.counts[row]
        numbers = np.repeat(counts.indices, counts.data.astype(np.int64))
        if len(numbers):
            lda.add_doc([words[number] for number in numbers])
    return lda


def lda_word_shares(lda: Any, words: tuple[str, ...]) -> Reals:
    """Return p(word | topic) in weft's order of words: [words, topics]."""
    number = {word: row for row, word in enumerate(words)}
    rows = [number[word] for word in lda.used_vocabs]
    shares = np.full((len(words), lda.k), 1e-12)
    for topic in range(lda.k):
        shares[rows, topic] = lda.get_topic_word_dist(topic)
    normalized: Reals = shares / shares.sum(axis=0)
    return normalized


def left_to_right(counts: Any, shares: Reals, alpha: Reals, particles: int, seed: int) -> Reals:
    """Return log p(sentence) under LDA, with topics of earlier words sampled once: [sentences]."""
    generator = np.random.default_rng(seed)
    rows = [np.repeat(counts[n].indices, counts[n].data.astype(np.int64)) for n in range(counts.shape[0])]
    for row in rows:
        generator.shuffle(row)
    total = np.zeros(len(rows))
    drawn = np.tile(alpha, (len(rows), particles, 1))  # [sentences, particles, topics]
    for place in range(max(map(len, rows), default=0)):
        active = np.array([n for n, row in enumerate(rows) if len(row) > place])
        likely = shares[[rows[n][place] for n in active]]  # [active, topics]
        joint = drawn[active] * likely[:, None, :]  # [active, particles, topics]
        sums = joint.sum(axis=2)  # [active, particles]
        total[active] += np.log(sums.mean(axis=1) / (alpha.sum() + place))
        chosen = (joint.cumsum(axis=2) > (generator.random(sums.shape) * sums)[:, :, None]).argmax(axis=2)
        drawn[active[:, None], np.arange(particles), chosen] += 1.0
    return total


def lda_log_probs(bags: Bags, shares: Reals, alpha: Reals, seed: int) -> Reals:
    """Return log p of every sentence: [sentences]."""
    starts = range(0, bags.counts.shape[0], SENTENCES_AT_ONCE)
    parts = [
        left_to_right(bags.counts[start : start + SENTENCES_AT_ONCE], shares, alpha, PARTICLES, seed + start)
        for start in starts
    ]
    return np.concatenate(parts)


def rates(rounds: int, contenders: dict[str, Callable[[], None]], tokens: float) -> dict[str, list[float]]:
    """Return words per CPU second and iteration of each contender, measured by turns."""
    found: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, run in contenders.items():
            start = time.process_time()
            run()
            found[name].append(tokens / (time.process_time() - start))
    return found


def perplexity(log_probs: npt.NDArray[Any], bags: Bags, seed: int) -> dict[str, Any]:
    """Return the perplexity per word with a bootstrap interval over paragraphs."""
    words = np.asarray(bags.counts.sum(axis=1), dtype=np.float64).ravel()  # [sentences]
    chains = zip(bags.offsets[:-1], bags.offsets[1:], strict=True)
    sums = [(float(-log_probs[a:b].sum()), float(words[a:b].sum())) for a, b in chains]
    bounds = bootstrap_interval([s for s, _ in sums], [w for _, w in sums], seed=seed) or (np.nan, np.nan)
    value = float(np.exp(-log_probs.sum() / words.sum()))
    return {"perplexity": value, "interval": [float(np.exp(bound)) for bound in bounds], "paragraphs": len(sums)}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Train and measure both models in one run."""
    known, bags = read_bags(articles(options.data, options.articles), vocabulary=20000, drop_top=150, rarest=5)
    held_out = known.bags(p.sentences for d in articles(options.dev, options.dev_articles) for p in d.paragraphs())
    lda = make_lda(bags, known.words, options.topics, options.seed)
    lda.train(options.lda_iterations, workers=1)
    result: dict[str, Any] = {"models": {}}
    contenders: dict[str, Callable[[], None]] = {"tomotopy-lda": lambda: lda.train(1, workers=1)}
    for form in ("switch", "matrix"):
        model = HmmLda(HmmLdaSettings(topics=options.topics, transitions=form, iterations=options.iterations))
        model.start(known, bags, seed=options.seed)
        model.learn(options.iterations)
        evidence = model.bag_evidence(held_out)
        result["models"][f"hmm-lda-{form}"] = perplexity(evidence, held_out, options.seed)
        contenders[f"hmm-lda-{form}"] = lambda model=model: model.learn(1)  # type: ignore[misc]
    found = lda_log_probs(held_out, lda_word_shares(lda, known.words), np.asarray(lda.alpha, float), options.seed)
    result["models"]["tomotopy-lda"] = perplexity(found, held_out, options.seed) | {"particles": PARTICLES}
    for name, values in rates(options.rounds, contenders, bags.tokens).items():
        result["models"][name]["words_per_cpu_second"] = values
    return result | {"training": described(bags), "held_out": described(held_out), "words": len(known.words)}


def described(bags: Bags) -> dict[str, float]:
    """Return the numbers of sentences, paragraphs and tokens."""
    return {"sentences": bags.counts.shape[0], "paragraphs": len(bags.offsets) - 1, "tokens": bags.tokens}


def judged(result: dict[str, Any]) -> dict[str, Any]:
    """Add the ratios to LDA and whether they pass the bars."""
    models = result["models"]
    speed = {name: statistics.median(entry["words_per_cpu_second"]) for name, entry in models.items()}
    lda = models["tomotopy-lda"]["perplexity"]
    bars = {
        name: {
            "speed_ratio": speed[name] / speed["tomotopy-lda"],
            "fast_enough": speed[name] >= SPEED_BAR * speed["tomotopy-lda"],
            "perplexity_ratio": models[name]["perplexity"] / lda,
            "below_lda": models[name]["perplexity"] < lda,
        }
        for name in models
        if name.startswith("hmm-lda")
    }
    return result | {"bars": bars}


def main() -> None:
    """Measure, print the results and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="articles to learn from")
    parser.add_argument("--dev", type=Path, required=True, help="articles to be predicted")
    for name, default in (
        ("articles", 5000), ("dev-articles", 600), ("topics", 100), ("iterations", 60), ("lda-iterations", 200),
        ("rounds", 3), ("seed", 1),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks/topics.json"))
    options = parser.parse_args()
    plain = {name: value for name, value in vars(options).items() if isinstance(value, int)}
    machine = {"weft": VERSION, "python": platform.python_version(), "machine": platform.machine(), "threads": 1}
    files = {"data": options.data.name, "dev": options.dev.name}
    result = {"benchmark": "topics", **files, "options": plain, **machine, **judged(measure(options))}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with write_atomically(options.out) as file:
        file.write((json.dumps(result, indent=2) + "\n").encode())
    print(json.dumps(result["bars"], indent=2))


if __name__ == "__main__":
    main()
