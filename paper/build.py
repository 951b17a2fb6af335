"""Fill the templates of this folder with numbers from `results/` and write the pages.

    python -m paper.build            write docs/results.md, docs/findings.md and the marked sections of other pages
    python -m paper.build --check    fail if a page differs from what its template and the results give

A page `docs/NAME.md` is the whole of `paper/NAME.md.in`. A section of any other page stands between the lines
`<!-- paper: NAME -->` and `<!-- end -->` and is `paper/sections/NAME.md.in`. Templates are Jinja2; `names` lists what
they can use. A number in the text of a template, outside of `{{ … }}` and of code, has to be in `allowed_numbers.txt`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError

from paper import (
    adversarial_tables,
    benchmark_tables,
    command_outputs,
    grid_tables,
    miniature_tables,
    reliability_tables,
    result_tables,
    table_details,
)
from paper.measured import Measured, PageError, paper_value, require
from weft.errors import WeftError
from weft.io.atomic_files import write_atomically
from weft.report.paper_numbers import TABLES
from weft.report.row_groups import name_of
from weft.report.table_formats import render
from weft.report.tables import build_table

ROOT = Path(__file__).parents[1]
TEMPLATES = Path(__file__).parent
ALLOWED = TEMPLATES / "allowed_numbers.txt"
SECTION = re.compile(r"(?<=<!-- paper: )([\w-]+)( -->\n)(.*?)(?=<!-- end -->)", re.DOTALL)
NUMBER = re.compile(r"(?<![\w.,])[.,]?\d[.,\d]*\b%?")  # not the 2 of Seq2Seq
NOT_TEXT = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|^```.*?^```|`[^`]*`|\]\([^)]*\)", re.DOTALL | re.MULTILINE)


def names(measured: Measured) -> dict[str, Any]:
    """Return everything that a template can use, by name."""
    results, facts = measured.results, measured.facts
    methods = (
        measured.value, measured.shown, measured.interval, measured.bounds, measured.compare, measured.names,
        measured.documents, measured.pairs, measured.ties, measured.cases, measured.right, measured.sentences,
        measured.setting, measured.record,
    )  # fmt: skip
    numbers = {method.__name__: method for method in methods}
    tables = {
        function.__name__: partial(function, results)
        for function in (
            adversarial_tables.by_every_evaluator, adversarial_tables.every_evaluator,
            adversarial_tables.evaluator_accuracies, adversarial_tables.sentence_lengths,
            adversarial_tables.ranked_systems, adversarial_tables.ranking_agreement, adversarial_tables.seed_spread,
            benchmark_tables.benchmark_table, benchmark_tables.by_genre,
            miniature_tables.miniature_scores, miniature_tables.probe_accuracies,
            grid_tables.discriminative_grid, grid_tables.grid_changes, grid_tables.grid_change,
            grid_tables.clear_changes, grid_tables.seed_change, grid_tables.grid_means,
            result_tables.ends_fixed, result_tables.domains_ends_fixed, result_tables.without_slug,
            result_tables.few_swaps, result_tables.further_tasks, result_tables.runs,
        )
    }  # fmt: skip
    return {
        **numbers,
        **tables,
        "paper": paper_value,
        "require": require,
        "label": lambda name: name_of(*name.split(".", 1)) if "." in name else name,
        "title": lambda number: TABLES[number - 1].title,
        "table": lambda number: render(build_table(TABLES[number - 1], results), "markdown"),
        "models_behind": lambda: table_details.models_behind(results, facts),
        "row_differences": lambda number: table_details.row_differences(TABLES[number - 1], results),
        "miniature_texts": miniature_tables.miniature_texts,
        "attack_table": reliability_tables.attack_table,
        "limits_table": reliability_tables.limits_table,
        "plots": lambda: result_tables.plots(results, facts),
        "output": command_outputs.output,
        "program_output": command_outputs.program_output,
    }


def environment(available: Mapping[str, Any]) -> Environment:
    """Return the Jinja2 environment: an undefined name is an error, and tables end their own lines."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, autoescape=False, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True, extensions=["jinja2.ext.do"],
    )  # fmt: skip
    made.globals.update(available)
    return made


def typed_numbers(text: str, allowed: list[str]) -> list[str]:
    """Return the numbers in the text of a template that are not allowed, each with its line.

    Example:
        >>> typed_numbers("See `v2`: {{ value('t', 'm') }} or .93 of 30 million.", ["30 million"])
        ['line 1: .93']
    """
    without = NOT_TEXT.sub(lambda found: "\n" * found.group().count("\n") + " ", text)
    for phrase in sorted(allowed, key=len, reverse=True):
        without = re.sub(rf"(?<![\w.,]){re.escape(phrase)}(?!\w|[.,]\d)", "", without)
    lines = enumerate(without.splitlines(), 1)
    return [f"line {number}: {found}" for number, line in lines for found in NUMBER.findall(line)]


def allowed_numbers() -> list[str]:
    """Return the phrases of `allowed_numbers.txt`: the part of each line before the tab."""
    lines = ALLOWED.read_text(encoding="utf-8").splitlines()
    return [line.split("\t")[0] for line in lines if line and not line.startswith("#")]


def fill(template: str, made: Environment) -> str:
    """Return a filled template.

    Args:
        template: Its path below this folder.
        made: From `environment`.

    Raises:
        PageError: It names an unknown result, contains a number that is not allowed, or contradicts the results.
    """
    try:
        text = (TEMPLATES / template).read_text(encoding="utf-8")
        typed = typed_numbers(text, allowed_numbers())
        if typed:
            raise PageError(f"numbers that come from no result: {'; '.join(typed)}")
        return made.get_template(template).render()
    except (PageError, TemplateError, WeftError, OSError) as error:
        raise PageError(f"{template}: {error}") from error


def pages(made: Environment) -> Iterator[tuple[Path, str]]:
    """Yield every page with the text it should have."""
    for template in sorted(TEMPLATES.glob("*.md.in")):
        yield ROOT / "docs" / template.name.removesuffix(".in"), fill(template.name, made)
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        if SECTION.search(text):
            yield page, SECTION.sub(lambda m: m[1] + m[2] + fill(f"sections/{m[1]}.md.in", made), text)


def main(arguments: list[str]) -> int:
    """Write or check all pages; return the exit code."""
    if arguments not in ([], ["--check"]):
        print(__doc__)
        return 2
    try:
        made = environment(names(Measured(ROOT / "results")))
        made_pages = [(page, page.read_text(encoding="utf-8"), text) for page, text in pages(made)]
        # A check allows for the arithmetic of another machine; writing does not.
        same = command_outputs.alike if arguments else str.__eq__
        changed = {page: text for page, old, text in made_pages if not same(old, text)}
    except (PageError, WeftError) as error:
        print(error, file=sys.stderr)
        return 1
    for page, text in changed.items():
        print(f"{'out of date' if arguments else 'wrote'}: {page.relative_to(ROOT)}")
        if not arguments:
            with write_atomically(page) as handle:
                handle.write(text.encode())
    if arguments and changed:
        print("run `make docs` and read the sentences around the numbers that changed", file=sys.stderr)
    return int(bool(arguments and changed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
