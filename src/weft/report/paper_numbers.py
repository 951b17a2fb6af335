"""The numbers of the paper's Tables 1 to 4 (Li & Jurafsky 2017), and the names of our results for each.

The numbers are as printed. The printed averages .956 and .688 differ from the means of their columns, .961 and .694.
"""

from __future__ import annotations

from dataclasses import dataclass

PAPER = "paper"  # variant of a model trained as in the paper, without combination and seed
WINDOW = "paper-window-4"  # the same, with cliques of nine sentences, the size with the best cross-validated accuracy
TREE_WINDOW = "paper-window-3"  # of the recursive model: cliques of seven sentences
GLOVE = "glove-6b-100d"  # the full table of vectors; the package includes 30,000 words of it
BEAM = "beam"  # variant of a system that writes with beam search, as in the paper
COHERENCE = "coherence"  # variant of an order by the paper's objective alone


@dataclass(frozen=True, slots=True)
class PaperRow:
    """A row of a table in the paper, and which of our results are measured for it."""

    label: str  # its name in the paper
    values: tuple[float, ...]  # the paper's numbers, one per column; empty for a row that the paper does not have
    model: str
    way: str = ""  # how a generative model combines its probabilities: uni, bi or mmi
    # Variant of the result "as in the paper", without combination and seed. Models that have no variant of that name
    # are as in the paper from the start.
    paper: str = PAPER


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table of the paper."""

    number: int
    title: str
    columns: tuple[str, ...]  # names of the paper's columns
    # Task and metric of our number in each column; empty strings for the mean of the other columns.
    cells: tuple[tuple[str, str], ...]
    rows: tuple[PaperRow, ...]
    beside: tuple[tuple[str, str, str], ...] = ()  # further columns of our numbers: name, task and metric
    grouped: bool = True  # whether the results of a row stand below it, each named by what it adds
    split: bool = True  # whether intervals and spreads over seeds have columns of their own

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks of its columns, each once."""
        return tuple(dict.fromkeys(task for task, _ in self.cells if task))


TABLES: tuple[PaperTable, ...] = (
    PaperTable(
        1,
        "Domain-specific pair ordering, accuracy",
        ("accidents", "earthquakes", "average"),
        (("accidents", "accuracy"), ("earthquakes", "accuracy"), ("", "")),
        (
            PaperRow("Discriminative Model", (0.930, 0.992, 0.956), "discriminative", paper=WINDOW),
            PaperRow("Seq2Seq (bi)", (0.755, 0.930, 0.842), "seq2seq", "bi"),
            PaperRow("VLV-GM (bi)", (0.770, 0.931, 0.851), "vlv-gm", "bi"),
            PaperRow("Recursive", (0.864, 0.976, 0.920), "recursive", paper=TREE_WINDOW),
            PaperRow("Entity Grid Model", (0.904, 0.872, 0.888), "entity-grid"),
            PaperRow("HMM", (0.822, 0.938, 0.880), "syntax-hmm"),
            PaperRow("HMM+Entity", (0.842, 0.911, 0.876), "hmm-entity"),
            PaperRow("HMM+Content", (0.742, 0.953, 0.847), "hmm-content"),
            PaperRow("Graph", (0.846, 0.635, 0.740), "entity-graph", paper=""),
            PaperRow("Foltz et al. (1998)-Glove", (0.705, 0.682, 0.688), "foltz-glove", paper=GLOVE),
            PaperRow("Foltz et al. (1998)-LDA", (0.660, 0.667, 0.664), "foltz-lda", paper=""),
        ),
    ),
    PaperTable(
        2,
        "Open-domain binary permutation classification on 984 Wikipedia paragraphs, accuracy",
        ("wikipedia",),
        (("wikipedia-pairs", "accuracy"),),
        (
            PaperRow("VLV-GM (MMI)", (0.873,), "vlv-gm", "mmi"),
            PaperRow("VLV-GM (bi)", (0.860,), "vlv-gm", "bi"),
            PaperRow("VLV-GM (uni)", (0.839,), "vlv-gm", "uni"),
            PaperRow("LDA-HMM-GM (MMI)", (0.847,), "hmm-lda-gm", "mmi"),
            PaperRow("LDA-HMM-GM (bi)", (0.837,), "hmm-lda-gm", "bi"),
            PaperRow("LDA-HMM-GM (uni)", (0.814,), "hmm-lda-gm", "uni"),
            PaperRow("Seq2Seq (MMI)", (0.840,), "seq2seq", "mmi"),
            PaperRow("Seq2Seq (bi)", (0.821,), "seq2seq", "bi"),
            PaperRow("Seq2Seq (uni)", (0.803,), "seq2seq", "uni"),
            PaperRow("Discriminative Model", (0.715,), "discriminative"),
            PaperRow("Entity Grid Model", (0.686,), "entity-grid"),
            PaperRow("Foltz et al. (1998)-Glove", (0.597,), "foltz-glove", paper=GLOVE),
            PaperRow("Foltz et al. (1998)-LDA", (0.575,), "foltz-lda", paper=""),
        ),
    ),
    PaperTable(
        3,
        "Paragraph reconstruction, first sentence given, Kendall's τ",
        ("τ",),
        (("wikipedia-order", "tau_with_given"),),
        (
            PaperRow("VLV-GM (MMI)", (0.256,), "vlv-gm", "mmi"),
            PaperRow("LDA-HMM-GM (MMI)", (0.237,), "hmm-lda-gm", "mmi"),
            PaperRow("Seq2Seq (MMI)", (0.226,), "seq2seq", "mmi"),
            PaperRow("Entity Grid Model", (0.143,), "entity-grid"),
            PaperRow("Foltz et al. (1998) (Glove)", (0.084,), "foltz-glove", paper=GLOVE),
        ),
        (
            ("τ, given sentence left out", "wikipedia-order", "tau"),
            ("τ, nothing given", "wikipedia-order", "free_tau"),
            ("position accuracy", "wikipedia-order", "position_accuracy"),
        ),
    ),
    PaperTable(
        4,
        "Adversarial success",
        ("adver-1", "adver-2", "adver-3"),
        (("adversarial", "adversuc_1"), ("adversarial", "adversuc_2"), ("adversarial", "adversuc_3")),
        (
            PaperRow("VLV-GM (MMI)", (0.174, 0.120, 0.054), "vlv-gm", "mmi", BEAM),
            PaperRow("LDA-HMM-GM (MMI)", (0.130, 0.104, 0.043), "hmm-lda-gm", "mmi", BEAM),
            PaperRow("Seq2Seq (MMI)", (0.120, 0.090, 0.039), "seq2seq", "mmi", BEAM),
            PaperRow("Seq2Seq (bi)", (0.108, 0.078, 0.030), "seq2seq", "bi", BEAM),
            PaperRow("Seq2Seq (uni)", (0.101, 0.068, 0.024), "seq2seq", "uni", BEAM),
        ),
        split=False,
    ),
)
