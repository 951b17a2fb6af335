"""Put several answers of a language model to one question in order; those that repeat themselves come last.

    python examples/rerank_answers.py

The default model gives two values. The fluency of an answer with stray sentences is low, but it does not depend on the
order of the sentences; the score does. So answers are ordered by fluency, to a tenth of a nat, and those that are
equally fluent by their score. Repetition lowers both values of the default model. It raises the scores of models of
neighbouring sentences, because nothing predicts a sentence better than its copy. weft warns about it whatever the
model, and an answer with such a warning never wins here.
"""

from __future__ import annotations

import weft

QUESTION = "Why do leaves change colour in autumn?"
SENTENCES = (
    "Leaves are green because they contain chlorophyll, the pigment with which a tree catches sunlight.",
    "In autumn the days get shorter and colder, and less light reaches the leaf.",
    "The tree then stops making new chlorophyll.",
    "What is left of it slowly breaks down, and the green fades.",
    "Now other pigments become visible, which are yellow and orange.",
    "They were in the leaf all summer, hidden by the green.",
    "Some trees also make a red pigment from the sugar that is left in their leaves.",
    "Finally a layer of cork closes the stalk, and the leaf falls.",
)
CANDIDATES = {
    "repeats itself": SENTENCES[:2] * 4,
    "has two stray sentences": (
        *SENTENCES[:3],
        "My cousin sells insurance in a town by the sea.",
        "The match was lost in the last minute.",
        *SENTENCES[3:6],
    ),
    "is in a muddled order": tuple(SENTENCES[place] for place in (5, 2, 7, 0, 3, 6, 1, 4)),
    "is as it should be": SENTENCES,
}
DISTRUSTED = {"repetition", "unknown-words", "not-english", "list", "no-score"}  # warnings that make a score worthless


def rank(score: weft.Score) -> tuple[bool, float, float]:
    """Return a key that sorts the best answer first."""
    distrusted = any(warning.code in DISTRUSTED for warning in score.warnings)
    fluency = 0.0 if score.fluency is None else round(score.fluency, 1)
    return distrusted, -fluency, -(score.value or 0.0)


def rerank(answers: list[str], *, model: str = "weft-reader") -> list[int]:
    """Return the numbers of the answers, the best one first."""
    scores = weft.score(answers, model=model)
    return sorted(range(len(answers)), key=lambda number: rank(scores[number]))


def main() -> None:
    """Show the answers in their new order, with their values and the warnings about them."""
    names, answers = list(CANDIDATES), [" ".join(sentences) for sentences in CANDIDATES.values()]
    scores = weft.score(answers)
    print(QUESTION)
    for place, number in enumerate(rerank(answers), start=1):
        score = scores[number]
        print(f"{place}. the answer that {names[number]}: fluency {score.fluency:.2f}, score {score.value:z.2f}")
        for warning in score.warnings:
            print(f"   warning: {warning}")


if __name__ == "__main__":
    main()
