"""Choose among several answers of a language model: the most coherent one first, repetitive ones last.

    python examples/rerank_answers.py

The default model gives links of repeated sentences a low score; models of neighbouring sentences give them a high one,
because nothing predicts a sentence better than its copy. weft warns about repetition whatever the model, and an answer
with such a warning never wins here.
"""

from __future__ import annotations

import weft

QUESTION = "Why do leaves change colour in autumn?"
CANDIDATES = [
    "Leaves are green because of chlorophyll. In autumn the days get shorter, and trees stop making it. As the green "
    "fades, yellow and orange pigments become visible. They were there all summer, hidden by the green.",
    "They were there all summer, hidden by the green. Leaves are green because of chlorophyll. As the green fades, "
    "yellow and orange pigments become visible. In autumn the days get shorter, and trees stop making it.",
    "Leaves are green because of chlorophyll. My cousin sells insurance in a town by the sea. In autumn the days get "
    "shorter, and trees stop making it. The match was lost in the last minute.",
    "Leaves change colour in autumn. Leaves change colour in autumn. Leaves change colour in autumn. Leaves change "
    "colour in autumn.",
]
DISTRUSTED = {"repetition", "unknown-words", "no-score"}  # warnings that make a score worthless


def rerank(answers: list[str], *, model: str = "weft-reader") -> list[weft.Score]:
    """Return the scores of the answers, the best first; those that cannot be trusted come last."""
    scores = weft.score(answers, model=model)

    def rank(score: weft.Score) -> tuple[bool, float]:
        distrusted = any(warning.code in DISTRUSTED for warning in score.warnings)
        return distrusted, -(score.value or 0.0)

    return sorted(scores, key=rank)


def main() -> None:
    """Show the answers in their new order, with the warnings about them."""
    print(QUESTION)
    for place, score in enumerate(rerank(CANDIDATES), start=1):
        assert score.document is not None
        value = "no score" if score.value is None else f"{score.value:.2f}"
        print(f"{place}. {value}  {score.document.sentences[0]} …")
        for warning in score.warnings:
            print(f"   warning: {warning}")


if __name__ == "__main__":
    main()
