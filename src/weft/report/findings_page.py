"""docs/findings.md: what the results teach, with every number taken from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from weft.errors import CorpusError
from weft.evaluation.metrics import Comparison
from weft.evaluation.model_comparison import average_seeds
from weft.evaluation.result import Key, Result, compare_results
from weft.io.atomic_files import write_atomically
from weft.report.gentle_page import FEW, INNER, WHOLE, cell_of
from weft.report.model_facts import ModelFacts, facts_of
from weft.report.paper_numbers import GLOVE, TABLES
from weft.report.tables import NOTHING, SHARDS, cell_text, decimal, name_of, pipe, signed

Results = Mapping[Key, Result]
ORDER = "wikipedia-order"
GENERATIVE = ("weft-small", "seq2seq", "hmm-lda-gm", "vlv-gm")
WAYS = ("uni", "bi", "mmi")
LONGER = (("seq2seq", "-one-shard-24k"), ("weft-small", ""))  # one shard and all, with about as many steps

HEAD = """\
# Findings

What the results teach beyond the tables. This page is written by `weft table --findings docs/findings.md`. Its
numbers come from the JSON files in `results/`; what was measured in scratch runs is left to [the log](log.md).
Brackets hold 95% intervals; differences are paired bootstraps over documents, bold where p is below .05.
"""

ENDS = """\
## What MMI gains, it gains at the ends

MMI subtracts from bi what a language model says of the two sentences of a transition. Along a text every sentence is
subtracted twice, but the first and the last only once. Between two orders of the same sentences the double sums
cancel, and per text

    sum of MMI = sum of bi + ℓ(first sentence) + ℓ(last sentence) + a constant,

where ℓ is the language model's log-probability per token. So whatever MMI does better than bi on permutations, it
does by asking whether the first and the last sentence are such as stand well alone. That is no fault: an opening does
name what it speaks of. But it says nothing about how sentences follow each other.

`wikipedia-pairs-inner` permutes all sentences but the first and the last. There the two have to agree.
"""

ENDS_READ = """\
Where all sentences are permuted, the gain of MMI over bi is the end effect, all of it: with the ends fixed nothing is
left. Read the other way round, it is bi that has a blind spot: it counts every sentence twice, from both sides, but
the sentences at the ends once, so that an order gains by hiding an unlikely sentence at an end. Three of the four
models do better by bi where that is forbidden; VLV-GM, which learned from texts that were shuffled with their ends
([log](log.md)), does worse. Rows of cosines (`foltz`, in the [results](results.md)) change little when the ends are
fixed. Ordering agrees: with the first sentence given and by transitions alone, MMI orders no better than bi.
"""

LATENT = """\
## What the latent variable adds

HMM-LDA-GM and VLV-GM start from the trained networks of Seq2Seq. A difference from it is what their own parts and their
further training add together; VLV-GM also learned from another contrast, whole texts against shuffled ones.
"""

LATENT_READ = """\
- *Topics add nothing here.* A shuffled paragraph is about the same things as the paragraph. With topics that have seen
  the sentence (`peek`), as in the paper, it is a little worse; but that one was trained without contrast, so that the
  two causes are not told apart.
- *What VLV-GM gains, it gains at the ends.* It tells paragraphs from their permutations better than Seq2Seq, most of
  all by uni; where the first and the last sentence stay (`wikipedia-pairs-inner`) it is worse in all three ways. Its
  chain begins with the first sentence and expects from it what follows, so it notices a text that begins in its middle.
  It was trained on whole texts against shuffled ones, and noticing this is enough to tell them apart; Seq2Seq on
  neighbours against other sentences of the paragraph.
- *z carries it.* When each sentence is given another one's z, which the chain does not expect there, VLV-GM tells far
  fewer paragraphs from their permutations; with the right z expected, but the words decoded with another one, as many
  as ever ([what z holds](latent.md)). So what matters is how well z can be foreseen, not what the decoder makes of it.
  A chain of the same size without z has not been trained.
- *Order is not touched* where the first sentence is given, so that what VLV-GM knows better is not asked. By
  transitions alone it orders no better than Seq2Seq; with precedence, which all three share, τ is the same for every
  weight of precedence that was tried on validation paragraphs ([log](log.md)). With nothing given, models with a memory
  are far behind Seq2Seq; but their orders grow to the right only, those of Seq2Seq at both ends, so that models and
  searches are not told apart there.
"""

NEGATIVES = """\
## Negatives from the corpus, from the text, or none

A model can learn coherence from likelihood alone, from sentences of other texts (the paper's negatives for the open
domain), or from sentences of the same text in a wrong place.
"""

NEGATIVES_ALONE = """\
Models differ in more than their negatives. The clique classifier was therefore also trained with each kind, for 4,000
steps on the first shard, all else being equal ([the commands](discriminative.md)). All of them read with the encoders
of `zoo/seq2seq`, which stay as they are, and those had seen all five shards and had learned to tell a sentence's
neighbour from another sentence of its paragraph. So what is compared is what the layers above them learn:

- permutations against sentences of the corpus: {permutation};
- sentences of the corpus against other sentences of the same text: {document};
- with and without seeing how alike the sentences of a clique are, by negatives of the corpus: {likeness}.

So above such encoders the paper's negatives hold the classifier back less than we had thought: sentences of other
texts differ in subject, and a permutation never does, but what is learned from them tells permutations about as well
as what is learned from permutations, and better than what is learned from other sentences of the same text in the
place of the centre. To see how alike sentences are is worth more than the choice of negatives. What the choice is worth
without that, or to encoders that know no other negatives, was measured in a small trial only, where it mattered more
([log](log.md), “the open domain”); the {without} without likeness is therefore no repetition of the paper's {paper}.
Each was trained once: these intervals leave out the chance of training.
"""

NEGATIVES_READ = """\
On the accident reports, where texts of a kind differ little in subject, the classifier learned next to nothing from
replaced sentences, though they came from the same document, and much from permutations ([log](log.md)). What helped the
generative models was to be trained on the question itself: a few minutes in which `seq2seq` told a sentence's neighbour
from another sentence of the same paragraph were worth more than all changes to its networks (log, “third training”).
"""

TEXT = """\
## How far 3.6 million sentences go

The paper's open-domain models saw some 30 million sentences.
"""

TEXT_READ = """\
The test paragraphs are not the same, so these columns cannot be subtracted. Nor does a baseline bridge them:
Foltz-GloVe, which learns nothing from either corpus, gets {ours} here and {paper} in the paper; but on the accident
reports, where the texts are the same, it gets {same} and {same_paper}, so that the two baselines differ and not only
the paragraphs. What can be said is that an eighth of the text, by likelihood alone and in 12 million weights
(`weft-small`), gives {small}.
"""

CURVE = """\
How much is the text worth? The networks of `weft-small`, 8,000 steps by likelihood alone, on the first shards or all
five of them ([the command](plots.md)):
"""

CURVE_READ = """\
Within 8,000 steps, next to nothing that can be measured, for this task and at this size: one shard, seen nearly four
times, teaches as much about the order of sentences as five, of which the same steps see three quarters. More text does
make better language models (the loss on held-out text falls from shard to shard, [log](log.md)), but that does not
show in telling a paragraph from its permutations. Three times the steps on the one shard, which is then seen eleven
times, are worth more than all the other text: {steps} by MMI. And only with so many steps does the text begin to
count: all five shards with about as many (`weft-small`, {small}) are worth another {text}. These are single
trainings; whether larger networks want more text was not measured.
"""

SWAPPED = """\
## How few exchanged sentences can a model see?

A random permutation breaks nearly every transition of a paragraph. A revision breaks few.
"""

SWAPPED_READ = """\
Exchanging two neighbours leaves all transitions but three as they were. The models (chance aside) see it in {low} to
{high} of the cases, random permutations in {far_low} to {far_high}. An accuracy on permutations ranks models much as
these do, but says nothing of how often a model is right about two sentences that might change places.
"""


def findings_page(results: Results, facts: Sequence[ModelFacts] = ()) -> str:
    """The whole page as Markdown; a part without results is left out."""
    averaged = average_seeds(results)
    parts = (
        _ends(averaged),
        _latent(averaged),
        _negatives(averaged),
        _text(averaged, facts),
        _swapped(averaged),
    )
    return "\n".join([HEAD, *(part for part in parts if part)])


def write_findings(results: Results, path: str | Path, facts: Sequence[ModelFacts] = ()) -> None:
    """Write the page to a file, atomically."""
    with write_atomically(Path(path)) as handle:
        handle.write(findings_page(results, facts).encode("utf-8"))


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join([pipe(header), pipe(["---"] * len(header)), *map(pipe, rows)]) + "\n" if rows else ""


def _shown(found: Comparison | None) -> str:
    if found is None:
        return NOTHING
    low, high = map(signed, found.interval)
    difference = signed(found.difference)
    return f"{f'**{difference}**' if found.p_value < 0.05 else difference} [{low}, {high}]"


def _gap(results: Results, first: Key, second: Key, metric: str = "accuracy") -> Comparison | None:
    """The first result minus the second, where both are there and comparable."""
    if first not in results or second not in results:
        return None
    try:
        return compare_results(results[first], results[second], metric)
    except CorpusError:
        return None


def _value(results: Results, key: Key, metric: str = "accuracy") -> str:
    return cell_text(cell_of(results.get(key), metric))


# -- ends ----------------------------------------------------------------------------------------------------------


def _ends(results: Results) -> str:
    header = ["model, task", "bi", "MMI", "MMI − bi", "ends fixed: bi", "MMI", "MMI − bi"]
    rows = []
    for task in (WHOLE, "accidents", "earthquakes"):
        for model in GENERATIVE:
            gap = _gap(results, (task, model, "mmi"), (task, model, "bi"))
            if gap is not None:
                inner = INNER if task == WHOLE else ""
                rows.append([f"{model}, {task}", *_both(results, task, model), *_both(results, inner, model)])
    if not rows:
        return ""
    return "\n".join([ENDS, _table(header, rows), ENDS_READ, _order_rows(results)])


def _both(results: Results, task: str, model: str) -> list[str]:
    bi, mmi = (task, model, "bi"), (task, model, "mmi")
    return [_value(results, bi), _value(results, mmi), _shown(_gap(results, mmi, bi))]


def _order_rows(results: Results) -> str:
    """τ by transitions alone, the given sentence left out."""
    rows = []
    for model in GENERATIVE:
        bi, mmi = (ORDER, model, "bi-coherence"), (ORDER, model, "mmi-coherence")
        gap = _gap(results, mmi, bi, "tau")
        if gap is not None:
            rows.append([model, _value(results, bi, "tau"), _value(results, mmi, "tau"), _shown(gap)])
    return _table(["τ by transitions alone, given sentence left out", "bi", "MMI", "MMI − bi"], rows)


# -- latent --------------------------------------------------------------------------------------------------------


def _latent(results: Results) -> str:
    rows = []
    tasks = {WHOLE: "accuracy", INNER: "accuracy", "accidents": "accuracy", "earthquakes": "accuracy", ORDER: "tau"}
    for task, metric in tasks.items():
        for model, suffix in (("hmm-lda-gm", ""), ("hmm-lda-gm", "-peek"), ("vlv-gm", "")):
            gaps = [_gap(results, (task, model, way + suffix), (task, "seq2seq", way), metric) for way in WAYS]
            if any(gap is not None for gap in gaps):
                rows.append([f"{model}{suffix.replace('-', ', ')} − seq2seq, {task}", *map(_shown, gaps)])
    for metric, told in (("tau", "transitions alone"), ("free_tau", "transitions alone, nothing given")):
        for model in ("hmm-lda-gm", "vlv-gm"):
            ways = [(ORDER, model, f"{way}-coherence") for way in WAYS]
            gaps = [_gap(results, key, (ORDER, "seq2seq", key[2]), metric) for key in ways]
            if any(gap is not None for gap in gaps):
                rows.append([f"{model} − seq2seq, {ORDER}, {told}", *map(_shown, gaps)])
    table = _table(["difference", "uni", "bi", "MMI"], rows)
    return "\n".join([LATENT, table, LATENT_READ]) if table else ""


# -- negatives -----------------------------------------------------------------------------------------------------


def _negatives(results: Results) -> str:
    rows = []
    for (task, model, variant), result in sorted(results.items()):
        kind = "the text (pairs)" if model == "discriminative-pair" else result.settings.get("negatives")
        if task in {WHOLE, "accidents", "earthquakes"} and kind and model.startswith(("discriminative", "recursive")):
            rows.append([f"{name_of(model, variant)}, {task}", str(kind), cell_text(cell_of(result))])
        elif task == WHOLE and model in GENERATIVE and variant == "mmi":
            learned = "the text (contrast)" if result.settings.get("contrast") else "none"
            rows.append([f"{name_of(model, variant)}, {task}", learned, cell_text(cell_of(result))])
    table = _table(["model, task", "negatives", "accuracy"], rows)
    return "\n".join(part for part in (NEGATIVES, table, _alone(results), NEGATIVES_READ) if part) if table else ""


def _alone(results: Results) -> str:
    """One classifier by each kind of negatives; nothing where a training is missing."""
    kinds = ("permutation", "corpus", "document", "corpus-without-likeness")
    permutation, corpus, document, without = ((WHOLE, "discriminative", f"one-shard-{kind}") for kind in kinds)
    if any(key not in results for key in (permutation, corpus, document, without)):
        return ""
    return NEGATIVES_ALONE.format(
        permutation=_shown(_gap(results, permutation, corpus)), document=_shown(_gap(results, corpus, document)),
        likeness=_shown(_gap(results, corpus, without)), without=decimal(results[without].metrics["accuracy"]),
        paper=decimal(_paper("Discriminative Model")),
    )  # fmt: skip


# -- text ----------------------------------------------------------------------------------------------------------


def _text(results: Results, facts: Sequence[ModelFacts]) -> str:
    rows = []
    for (task, model, variant), result in sorted(results.items()):
        known = facts_of(result, facts)
        sentences = result.training.get("sentences") or (known.sentences if known else None)
        if task == WHOLE and sentences and variant == "mmi":
            rows.append([name_of(model, variant), f"{sentences:,}", cell_text(cell_of(result))])
    if not rows:
        return ""
    paper = [[f"paper's {label}", "30 million", decimal(_paper(label))] for label in ("VLV-GM (MMI)", "Seq2Seq (MMI)")]
    table = _table(["model", "training sentences", "accuracy"], [*paper, *rows])
    return "\n".join(part for part in (TEXT, table, _read_text(results), _curve(results)) if part)


def _curve(results: Results) -> str:
    """The same training on more and more text, and for longer; nothing where a point is missing."""
    counts = sorted({int(found["count"]) for key in results if key[0] == WHOLE and (found := SHARDS.fullmatch(key[2]))})
    keys = {count: [(WHOLE, "seq2seq", f"{way}-shards-{count}") for way in WAYS] for count in counts}
    longer, small = ([(WHOLE, model, f"{way}{more}") for way in WAYS] for model, more in LONGER)
    needed = [*(key for ways in keys.values() for key in ways), *longer, *small]
    if len(counts) < 2 or any(key not in results for key in needed):
        return ""
    least, most = keys[counts[0]], keys[counts[-1]]
    rows = [_curve_row(results, f"{count}", ways) for count, ways in keys.items()]
    rows.append([f"{counts[-1]} − {counts[0]}", "", *map(_shown, _gaps(results, most, least))])
    rows.append(_curve_row(results, "1, for 24,000 steps", longer))
    table = _table(["shards", "training sentences", "uni", "bi", "MMI"], rows)
    read = CURVE_READ.format(
        small=decimal(results[small[-1]].metrics["accuracy"]), steps=_shown(_gaps(results, longer, least)[-1]),
        text=_shown(_gaps(results, small, longer)[-1]),
    )  # fmt: skip
    return "\n".join([CURVE, table, read])


def _curve_row(results: Results, label: str, ways: Sequence[Key]) -> list[str]:
    sentences = results[ways[0]].training["sentences"]
    return [label, f"{sentences:,}", *(_value(results, key) for key in ways)]


def _gaps(results: Results, one: Sequence[Key], other: Sequence[Key]) -> list[Comparison | None]:
    return [_gap(results, *pair) for pair in zip(one, other, strict=True)]


def _paper(label: str, table: int = 2) -> float:
    """The first number of a row of one of the paper's tables."""
    return next(row.values[0] for row in TABLES[table - 1].rows if row.label == label)


def _read_text(results: Results) -> str:
    """What the columns say and what they do not; nothing where a row is missing."""
    keys = ((WHOLE, "foltz-glove", GLOVE), ("accidents", "foltz-glove", GLOVE), (WHOLE, "weft-small", "mmi"))
    if any(key not in results for key in keys):
        return ""
    ours, same, small = (decimal(results[key].metrics["accuracy"]) for key in keys)
    glove = "Foltz et al. (1998)-Glove"
    paper, same_paper = decimal(_paper(glove)), decimal(_paper(glove, 1))
    return TEXT_READ.format(ours=ours, paper=paper, same=same, same_paper=same_paper, small=small)


# -- swaps ---------------------------------------------------------------------------------------------------------


def _swapped(results: Results) -> str:
    shown = [key for key in sorted(results) if key[0] == FEW and key[1] != "year-sort"]  # which ties nearly everywhere
    kinds = ("neighbours", "swaps_1", "swaps_8")
    rows = [
        [name_of(*key[1:]), *(_value(results, key, kind) for kind in kinds), _value(results, (WHOLE, *key[1:]))]
        for key in shown
    ]
    models = [key for key in shown if key[1] != "random" and (WHOLE, *key[1:]) in results]
    if not models:
        return ""
    near = sorted(results[key].metrics["neighbours"] or 0.0 for key in models)
    far = sorted(results[WHOLE, key[1], key[2]].metrics["accuracy"] or 0.0 for key in models)
    table = _table(["model", "neighbours", "1 swap", "8 swaps", "random permutation"], rows)
    low, high, far_low, far_high = map(decimal, (near[0], near[-1], far[0], far[-1]))
    return "\n".join([SWAPPED, table, SWAPPED_READ.format(low=low, high=high, far_low=far_low, far_high=far_high)])
