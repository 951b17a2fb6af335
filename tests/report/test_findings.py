from __future__ import annotations

from pathlib import Path

from tests.helpers.published_results import published_results

from weft.report.findings_page import findings_page
from weft.report.model_facts import load_facts

ROOT = Path(__file__).parents[2]


def test_a_part_without_results_is_left_out() -> None:
    assert findings_page({}).count("## ") == 0
    results = {key: r for key, r in published_results().items() if key[1] in {"seq2seq", "vlv-gm"}}
    results = {key: result for key, result in results.items() if key[0] != "wikipedia-swaps"}
    page = findings_page(results, load_facts(ROOT / "results"))
    assert "## What the latent variable adds" in page
    assert "## How few exchanged" not in page
    assert "{" not in page  # nothing was left to fill in


def test_no_number_stands_in_the_words_of_the_page() -> None:
    """A measured number that is typed would not change when the results do."""
    import re

    from weft.report import findings_page as module

    names = ("HEAD", "ENDS", "ENDS_READ", "LATENT", "LATENT_READ", "NEGATIVES", "NEGATIVES_READ", "TEXT_READ")
    for name in (*names, "CURVE", "CURVE_READ"):
        text = getattr(module, name).replace("95%", "").replace(".05", "")
        assert not re.search(r"\.\d\d", text), name
