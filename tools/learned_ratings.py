"""How well a regression on what a reader says about a text predicts people's ratings, by cross-validation.

    python tools/learned_ratings.py weft-reader --data $WEFT_DATA/peers/human/cohesentia.jsonl.xz
        [--folds 10] [--seed 1] [--out results/benchmarks/learned_ratings.json]

Each story is rated by a ridge regression that was fitted to the other folds. The rank correlation of each feature by
itself, in which nothing is learned, stands beside it. `weft score` uses none of this: the ratings are of stories by one
language model, and the weights would be those of such stories.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from weft.corpora.text.repetition import repetition
from weft.corpora.text.words import words_only
from weft.evaluation.sets.rank_statistics import spearman, summarize_statistic
from weft.evaluation.sets.ratings import FORM, RatedStory, story_of
from weft.evaluation.sets.records import read_items
from weft.evaluation.task_contract import DataFile
from weft.hub import load_model
from weft.io.atomic_files import write_atomically
from weft.io.file_hash import sha256_of
from weft.models.reader.reader import Reader

PENALTIES = (0.1, 1.0, 10.0, 100.0)  # of the regression; chosen within the folds of training


def features(model: Reader, story: RatedStory) -> dict[str, float]:
    """Return what a reader says about a story, and what can be counted in it."""
    document = story.document
    words = [word for sentence in document.sentences for word in words_only(sentence)]
    surprises = model.surprises(document)
    return {
        "fluency": float(np.mean(surprises)),
        "lowest fluency of a sentence": min(surprises),
        "score": model.score([document])[0].value or 0.0,
        "highest probability of a break": max(model.break_probabilities(document), default=0.0),
        "repetition": repetition(document.sentences),
        "share of distinct words": len(set(words)) / max(1, len(words)),
        "words of a sentence": len(words) / len(document),
    }


def predicted(values: npt.NDArray[np.float64], wanted: Sequence[float], folds: int, seed: int) -> list[float]:
    """Return the rating of each story by a regression that has not seen it."""
    regression = make_pipeline(StandardScaler(), RidgeCV(alphas=PENALTIES))
    split = KFold(folds, shuffle=True, random_state=seed)
    found: list[float] = cross_val_predict(regression, values, wanted, cv=split).tolist()
    return found


def measured(values: Sequence[float], wanted: Sequence[float], seed: int) -> dict[str, Any]:
    """Return a rank correlation with its interval."""
    measure, interval = summarize_statistic(spearman(values, wanted), len(wanted), seed=seed)
    return {
        "spearman": float(np.mean(measure.numerators)),
        "interval": list(interval) if interval is not None else None,
    }


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="name or folder of a reader with a head for surprise")
    parser.add_argument("--data", type=Path, required=True, help="stories with ratings")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args()
    model = load_model(options.model)
    assert isinstance(model, Reader)
    stories = read_items(DataFile(options.data), FORM, story_of)
    rows = [features(model, story) for story in stories]
    wanted = [story.whole for story in stories]
    names = list(rows[0])
    found = {name: measured([row[name] for row in rows], wanted, options.seed) for name in names}
    values = np.array([[row[name] for name in names] for row in rows])
    learned = measured(predicted(values, wanted, options.folds, options.seed), wanted, options.seed)
    result = {
        "benchmark": "learned_ratings", "model": options.model, "seed": options.seed, "folds": options.folds,
        "stories": len(stories), "data": options.data.name, "sha256": sha256_of(options.data),
        "features": found, "learned": learned,
    }  # fmt: skip
    print(json.dumps(result, indent=1))
    if options.out:
        with write_atomically(options.out) as file:
            file.write((json.dumps(result, indent=1) + "\n").encode())


if __name__ == "__main__":
    main()
