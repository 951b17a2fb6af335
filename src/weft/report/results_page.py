"""docs/results.md: every table, and below it every run with the command that made it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from weft.evaluation.result import Key, Result
from weft.io.atomic_files import write_atomically
from weft.report import gentle_page, miniatures_page
from weft.report.adversarial_page import adversarial_section
from weft.report.model_facts import ModelFacts
from weft.report.paper_numbers import TABLES, PaperTable
from weft.report.plot_data import make_plots
from weft.report.results_details import details, neighbours
from weft.report.tables import build_table, name_of, render

HEAD = """\
# Results

This page is written by `weft table --write docs/results.md`; every number that was measured comes from the JSON files
in `results/`. Brackets hold 95% bootstrap intervals over documents. A tie counts as wrong. Empty cells (–) are numbers
that the paper does not report, or that were not measured. Where a model was trained several times
(variants `seed-1`, `seed-2`, …), a cell holds the mean over all seeds, never the best, ± their standard deviation.

Rows that are named as in the paper are these models: LDA-HMM-GM is `hmm-lda-gm`, HMM `syntax-hmm`, HMM+Entity
`hmm-entity`, HMM+Content `hmm-content`, Graph `entity-graph`; Foltz-Glove is `foltz-glove` with all words of GloVe
(`glove-6b-100d`; plain `foltz-glove` has the 30,000 inside); Entity Grid is `entity-grid`, in Table 3
`entity-grid-generative`, whose settings were chosen for ordering.
"""

NOTES: Mapping[int, str] = {
    1: "All published permutations; `perm-1`, which equals the original, is left out. The paper prints the averages of "
    "its first and tenth row as .956 and .688; the means of its own columns are .961 and .694. Our discriminative "
    "and recursive models also see how alike the sentences of a clique are, and learn from permutations; our HMMs "
    "are committees: neither is in the paper.",
    2: "Each paragraph against 20 permutations, a pure function of the seed and the paragraph's id: every model sees "
    "the same ones. The paper does not say how many permutations it used. The paper trains its models by likelihood "
    "alone; ours, except `weft-small` and `peek`, also learned to tell neighbours from other sentences of a "
    "paragraph, or texts from shuffled ones (docs/train.md); what likelihood alone reached was measured for Seq2Seq "
    "(docs/log.md). The discriminative model has the paper's negatives, but reads with Seq2Seq's encoders, which "
    "have learned to tell neighbours apart, and sees how alike the sentences of a clique are (docs/findings.md). "
    "Rows named `peek` are guided by topics that have seen the sentence they guide.",
    3: "First sentence given, beam 10, input shuffled. The paper does not say whether the given sentence counts in τ: "
    "counted, a random order gets 2/N (about .11 here); left out, 0. “Nothing given” grows greedily at both ends "
    "(Lapata 2003); models with precedence or with memory grow to the right only. “Position accuracy” is the share "
    "of sentences at their own place. The paper searches for the highest sum of transitions, as our rows named "
    "`coherence` do; rows “and precedence”, and other rows of `seq2seq` and `weft-small`, also use what the model "
    "learned of which of two sentences comes first (docs/order.md).",
    4: "AdverSuc-N: the share of a system's continuations of N sentences that an evaluator takes for human ones. The "
    "evaluator is trained anew for every row and every N, on 64,000 contexts with a human and a machine "
    "continuation each. Its line is drawn where it takes half of the dev part for human, so that both kinds of "
    "errors are equally many. “Line at even odds” is AdverSuc with the line at log-odds of 0 instead, which moves "
    "from one training to the next: where there is nothing to tell (control-human) that evaluator takes more than "
    "half of everything for human. The second evaluator is made of boosted trees over counts, overlaps and cosines; "
    "“informed” are trees that are also told what the networks of `zoo/seq2seq` say of every sentence, which give "
    "away those who chose by them. Rows named `control` are no systems: human text against other human text (chance "
    "is .5), sentences of other pages, the right sentences in a wrong order (for one sentence, the third instead of "
    "the next), the last sentence of the context again. Rows named `one-sample` write one sentence instead of "
    "choosing among ten; rows named `apart` met evaluators that were trained on chunks without a sentence in "
    "common, fewer than half of them. The paper writes with beams; how each system wrote here is in its result and "
    "in docs/adversarial.md.",
}


DIFFERS = """\
## What differs from the paper, and why

- **Data.** The paper trained its open-domain models on some 30 million sentences; ours saw {sentences} of
  Wikipedia. Its 984 test paragraphs are not published; ours are 984 others, also of 16 sentences or more, whose pages
  are in no training text. So the two columns of Tables 2 and 3 are not measured on the same texts, and differences
  between them are not only differences between models.
- **Negatives.** Table 1 has the published permutations. For Table 2 the paper says neither how many permutations it
  drew nor how.
- **What the generative models learn.** The paper trains them by likelihood. Ours (`seq2seq`, `hmm-lda-gm` and `vlv-gm`
  in the open domain, `vlv-gm` on the accidents) were then trained further to tell a sentence's neighbour from other
  sentences, or a text from a shuffled one (`contrast`, docs/train.md); `weft-small`, `peek` and the other models of one
  domain were not. What likelihood alone reached was measured for Seq2Seq only (docs/log.md): above the paper, below the
  rows here.
- **Two choices were made after test numbers had been seen**: that lexical models leave punctuation out (docs/log.md),
  and where the line of Table 4's evaluators is drawn (docs/adversarial.md; the table has the other line too).
- **The latent models start from Seq2Seq.** HMM-LDA-GM and VLV-GM are built around its trained networks; the paper does
  not say that its are. Topics come from expectation maximisation, not from sampling, and have not seen the sentence
  that they guide, except in the rows named `peek`, which do as the paper does.
- **Probabilities.** Those of Seq2Seq and HMM-LDA-GM are exact; those of VLV-GM are importance-weighted estimates
  (`iwae`, with the number of samples). The paper does not say how it found its own.
- **The discriminative and recursive models** of Table 1 learn from the cliques of permuted texts, not from replaced
  centres, and see how alike the sentences of a clique are: without that they did not come near the paper's numbers
  (docs/log.md). Their rows are means over five seeds; the paper does not say how many it ran.
- **Baselines are stronger than the paper's**, some of them far. We found no reading of the text that brings
  Foltz-GloVe down to the paper's numbers on the same published pairs (docs/log.md). Word vectors have 100 dimensions,
  not 300. Parses come from the small parser inside. The HMMs are committees of several.
- **Order.** The paper does not say whether the given sentence counts in τ; both readings are in Table 3. By the paper's
  objective alone ours stay below its numbers; rows “and precedence” have learned which of two sentences comes first.
- **Adversarial success.** The paper's systems write with beams, ours by sampling: the likelier the sentences, the
  sooner they are caught on the dev part, and greedy ones nearly always (docs/adversarial.md). The paper does not say
  what its evaluator's vectors are; ours reads a sentence by a word LSTM over the vectors of Seq2Seq, by Seq2Seq's own
  encoders and by a sketch of its tokens. The line between human and machine is drawn where the evaluator takes half
  of the dev part for human; the paper does not say where its line is. It has 128,000 instances to train on and does
  not say how many are human; ours are 64,000 contexts with a human and a machine continuation each.
- **Weights** of all neural models trained here, the parser aside, are rounded to 8 bits, and every number here is
  measured with the rounded ones.
"""

BEHIND = """\
What the rows rest on. Minutes are those of the training logs in `results/training`, all parts of a model one after the
other, though some were trained side by side (docs/log.md says on which machine); “before” is what the models took that
it starts from. Parameters and bytes are those of all parts, whichever a row uses. `train-00` is the first of five
shards of Wikipedia; `exact` and `iwae-N` say how probabilities were found (N samples)."""

BEHIND_NOTE = """\
Minutes are – where no log of the training is kept, or where nothing is trained. Rows of the first table that have no
line here rest on nothing that was trained here."""

PLOTS_NOTE = """\
Drawn by `weft plots --out docs/pictures` (docs/plots.md); bars are 95% bootstrap intervals, a dashed line is chance.
Of a model with several variants one is shown, and of the models at most eight where there are lines; the best two or
three often lie on each other. The learning curve shows uni, bi and MMI."""

BESIDE = """\
Each row of the paper's (in Table 3 also those “and precedence”) against the next one that was measured, first minus
second, by paired bootstrap over documents; bold where p is
below .05. Many pairs are tested, and p is not corrected for that."""


def results_page(results: Mapping[Key, Result], facts: Sequence[ModelFacts] = ()) -> str:
    """The whole page as Markdown.

    Args:
        results: From `weft.report.tables.load_results`.
        facts: Of the models behind them, from `weft.report.model_facts.load_facts`.
    """
    parts = [HEAD, *(_table_part(table, results, facts) for table in TABLES)]
    sections = (
        gentle_page.gentle_section(results),
        miniatures_page.miniatures_section(results),
        _further_tasks(results),
        _pictures(results, facts),
        _differs(facts),
    )
    parts += [part for part in sections if part]
    parts.append(_runs(results))
    return "\n".join(parts)


def _pictures(results: Mapping[Key, Result], facts: Sequence[ModelFacts]) -> str:
    """The plots for which there are data, as links to where `weft plots --out docs/pictures` draws them."""
    plots, _ = make_plots(results, facts)
    links = [f"![{plot.title}](pictures/{plot.name}.svg)\n" for plot in plots]
    return "\n".join(["## Plots", "", _linked(PLOTS_NOTE), "", *links]) if links else ""


def _differs(facts: Sequence[ModelFacts]) -> str:
    """In words; how much text the open-domain models saw is what their records say."""
    most = max((one.sentences or 0 for one in facts), default=0)
    return _linked(DIFFERS).format(sentences=f"the {most:,} of five shards" if most else "five shards")


def _linked(text: str) -> str:
    """A text that names pages by their paths, with links instead.

    Example:
        >>> _linked("more (docs/log.md)")
        'more ([log](log.md))'
    """
    return re.sub(r"docs/([\w-]+)\.md", r"[\1](\1.md)", text)


def _table_part(table: PaperTable, results: Mapping[Key, Result], facts: Sequence[ModelFacts]) -> str:
    """A table, its note, what stands behind the rows, and which of them can be told apart."""
    rendered = build_table(table, results)
    measured = any(cell.value is not None for _, cells in rendered.rows for cell in cells[1::2])
    note = _linked(NOTES[table.number]) if measured else "Not measured yet."
    text = f"## Table {table.number}. {table.title}\n\n{render(rendered, 'markdown')}\n{note}\n"
    if table.number == 4 and measured:
        text += f"\n{adversarial_section(results)}"
    behind, beside = details(table, results, facts), neighbours(table, results)
    text += f"\n{_linked(BEHIND)}\n\n{behind}\n{BEHIND_NOTE}\n" if behind else ""
    return text + (f"\n{BESIDE}\n\n{beside}" if beside else "")


def write_page(results: Mapping[Key, Result], path: str | Path, facts: Sequence[ModelFacts] = ()) -> None:
    """Write the page to a file, atomically."""
    with write_atomically(Path(path)) as handle:
        handle.write(results_page(results, facts).encode("utf-8"))


def _further_tasks(results: Mapping[Key, Result]) -> str:
    """Tasks the paper does not have."""
    in_paper = {task for table in TABLES for task, _ in table.cells} | {*miniatures_page.TASKS, *gentle_page.TASKS}
    lines = []
    for (task, model, variant), result in sorted(results.items()):
        if task not in in_paper:
            cells = [f"{name} {_with_interval(result, name)}" for name in result.metrics]
            lines.append(f"| {task} | {name_of(model, variant)} | {'; '.join(cells)} |")
    if not lines:
        return ""
    return "## Beyond the paper\n\n| task | model | metrics |\n| --- | --- | --- |\n" + "\n".join(lines) + "\n"


def _with_interval(result: Result, metric: str) -> str:
    value, interval = result.metrics[metric], result.interval.get(metric)
    if value is None:
        return "–"
    return f"{value:.3f} [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else f"{value:.3f}"


def _runs(results: Mapping[Key, Result]) -> str:
    lines = [
        "## Runs",
        "",
        "| task | model | documents | pairs | ties | seed | estimator | data (SHA-256) | weft | command |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for (task, model, variant), result in sorted(results.items()):
        lines.append(
            f"| {task} | {name_of(model, variant)} | {result.n_documents} | {result.n_pairs or '–'} | {result.ties} "
            f"| {result.seed} | {result.estimator} | {result.data_name} ({result.data_sha256[:12]}…) "
            f"| {result.weft_version} | `{result.command}` |"
        )
    return "\n".join(lines) + "\n"
