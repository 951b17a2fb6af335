"""The classifier of genres inside the package."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tools.train_genres import Example, choose_threshold, excerpts, licence_class, measure, train

from weft.corpora.text.genre import EMBEDDED, GenreClassifier, genre_features, guess_genre
from weft.errors import ModelError
from weft.io.model_folder import Artifact, save_artifact

TEXTS = {
    "news": "Police said on Tuesday that two men were arrested in the city. A spokesman told reporters that they would "
    "appear in court on Friday. The prime minister said he was shocked by the attack.",
    "howto": "Preheat the oven to 180 degrees. Mix the flour, sugar and butter in a bowl. Add the eggs and stir until "
    "smooth. Bake for 30 minutes and let it cool.",
    "abstract": "We propose a novel neural model for sentence ordering. Our method outperforms previous approaches on "
    "two datasets. We also show that pretraining improves the results.",
    "review": "This movie is one of the worst films I have ever seen. The acting is terrible and the plot makes no "
    "sense. I would not recommend it to anyone.",
}


@pytest.mark.parametrize("genre", TEXTS)
def test_typical_texts_are_recognised(genre: str) -> None:
    guess = guess_genre([f"{sentence}." for sentence in TEXTS[genre].rstrip(".").split(". ")])
    assert guess.name == genre and guess.sure


def test_probabilities_sum_to_one_also_for_strange_texts() -> None:
    classifier = GenreClassifier.load(EMBEDDED)
    for sentences in ([], ["?"], ["数字。"], ["word " * 10_000] * 3):
        chances = classifier.probabilities(sentences)
        assert chances.sum() == pytest.approx(1.0, abs=1e-5) and np.isfinite(chances).all()


def test_it_is_small_and_needs_numpy_only() -> None:
    assert sum(path.stat().st_size for path in EMBEDDED.iterdir()) < 300_000
    code = "import sys; from weft.corpora.text.genre import guess_genre; guess_genre(['It rained.']); \
print([m for m in ('sklearn', 'scipy', 'torch') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_long_text_takes_no_longer_than_its_beginning() -> None:
    guess_genre(["It rained."])
    start = time.process_time()
    guess_genre(["A cat sat on the mat and looked at the rain."] * 100_000)
    assert time.process_time() - start < 0.2


def test_features_do_not_depend_on_anonymous_marks_and_digits() -> None:
    one, other = (dict(zip(*genre_features([text], 997), strict=True)) for text in ("It is 12 @CAPS1.", "It is 34 ."))
    assert one == other


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    save_artifact(Artifact("random", {}), tmp_path / "m")
    with pytest.raises(ModelError, match="no classifier of genres"):
        GenreClassifier.load(tmp_path / "m")
    save_artifact(
        Artifact("weft-genre", {"genres": ["a"], "threshold": 0.5},
                 {"weights": np.zeros((3, 2), np.int8), "scale": np.ones(2), "bias": np.ones(2)}), tmp_path / "w"
    )  # fmt: skip
    with pytest.raises(ModelError, match="for 1 genres"):
        GenreClassifier.load(tmp_path / "w")


def test_training_learns_a_toy_difference(tmp_path: Path) -> None:
    from random import Random

    texts = {"cats": ["The cat sat.", "It purred."] * 3, "dogs": ["A dog ran!", "He barked!"] * 3}
    texts["owls"] = ["Some owls flew;", "they hooted?"] * 3
    examples = [Example(genre, f"{genre} via x", text) for genre, text in texts.items() for _ in range(20)]
    trained = train(excerpts(examples, 30, Random(1)), 500, 10.0)
    found = measure(trained, examples)
    assert found["accuracy"] == 1.0 and found["genres"]["cats"]["n"] == 20
    assert choose_threshold(trained, examples) == 0.0
    save_artifact(trained.to_artifact({}), tmp_path / "m")
    again = GenreClassifier.load(tmp_path / "m")
    assert again.guess(texts["dogs"]) == trained.guess(texts["dogs"])


def test_the_class_of_a_licence_is_that_of_the_longest_name() -> None:
    table = [["openstax", "non-commercial"], ["openstax/osbooks-business", "open"]]
    names = ("openstax/osbooks-business", "openstax/osbooks-history", "x")
    assert [licence_class(name, table) for name in names] == ["open", "non-commercial", "unstated"]
