"""Names of the rows of Tables 1 to 4 that add something to a row as in the paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weft.report.paper_numbers import BEAM, COHERENCE, GLOVE, PAPER, TREE_WINDOW, WINDOW

AS_IN_PAPER = "as in the paper"


@dataclass(frozen=True, slots=True)
class Added:
    """A result that stands below a row as in the paper."""

    variant: str  # without combination and seed
    name: str  # what it adds
    model: str = ""  # its model, if it is not that of the row
    domain: str = ""  # where the trainings of two domains differ: the beginning of the tasks of this one
    contrast: bool | None = None  # whether the weights that it names are trained with contrast; None: not checked
    otherwise: str = "other weights"  # its name if the weights of the result are not those

    def fitting_name(self, contrast: bool) -> str:
        """Return the name of a result whose weights are trained with contrast or without it.

        Example:
            >>> Added("", "+ contrast", contrast=True).fitting_name(False)
            'other weights'
        """
        return self.name if self.contrast in (None, contrast) else self.otherwise


COMMITTEE = (Added("committee", "+ committee"), Added("power", "+ power"), Added("", "+ committee and power"))
VECTORS = (Added(f"{GLOVE}-content", "without function words"), Added("", "vectors of 30,000 words"))
ON_FIXED = "+ contrast, on our fixed Seq2Seq"
ON_ENCODERS = "+ contrast on the bound, fixed encoders of our Seq2Seq"
LEXICAL = "+ lexical attention, more dropout, longer training, contrast"
FIRST_SETTINGS = "first settings: cliques of three sentences"
SHORTER = Added(f"{PAPER}-short", "shorter training, with a first stage for each seed")
WITHOUT_Z = Added(f"{PAPER}-without-z", "the same chain without z")
AND_PRECEDENCE = ", precedence"
ZOO = "zoo"  # variant of the results of the zoo's weights
ZOO_SEQ2SEQ = "weights of the zoo: the first seed, trained again"
ZOO_VLV_GM = "weights of the zoo: encoders of the zoo's Seq2Seq, fixed"
ZOO_HMM_LDA_GM = "weights of the zoo: networks of the zoo's Seq2Seq, fixed"
TOPICS_ONLY = Added(f"{PAPER}-topics-only", "only the weights of the topics trained")
TREE_CHANGES = (  # one or more changes of the recursive model, everything else as in the paper
    Added(f"{TREE_WINDOW}-permutation", "+ permutations as negatives"),
    Added(f"{TREE_WINDOW}-likeness", "+ likeness"),
    Added(f"{TREE_WINDOW}-permutation-likeness", "+ permutations as negatives and likeness"),
    Added(f"{TREE_WINDOW}-max", "+ maximum over nodes"),
    Added(f"{TREE_WINDOW}-permutation-max", "+ permutations as negatives and maximum over nodes"),
    Added(f"{TREE_WINDOW}-max-likeness", "+ maximum over nodes and likeness"),
    Added(f"{TREE_WINDOW}-permutation-max-likeness", "+ permutations as negatives, maximum over nodes and likeness"),
)

WAYS_OF_WRITING = {BEAM: "beam search", "sampled": "the best of ten samples"}  # by variant
FIRST_RUN = (
    Added("", "the best of ten samples, + contrast, first run", contrast=True, otherwise="the best of ten samples"),
    Added("one-sample", "one sample, + contrast, first run", contrast=True, otherwise="one sample"),
    Added(
        "apart",
        "+ contrast, first run, evaluators trained on chunks that share no sentence",
        contrast=True,
        otherwise="evaluators trained on chunks that share no sentence",
    ),
)


def writing(trained: str) -> tuple[Added, ...]:
    """Return the rows of a system of Table 4.

    Args:
        trained: How the weights of its beam search were trained.

    Example:
        >>> writing("as in the paper")[0].name
        'beam search, trained as in the paper'
    """
    own = [
        Added(variant, f"{way}, trained {trained}", contrast=False, otherwise=way)
        for variant, way in WAYS_OF_WRITING.items()
    ]
    return (*own, *FIRST_RUN)


# Table -> model -> its results in the order of the rows. Results that are not listed get a name from their variant.
ADDED: Mapping[int, Mapping[str, tuple[Added, ...]]] = {
    1: {
        "discriminative": (
            Added(PAPER, FIRST_SETTINGS),
            Added("", "+ permutations as negatives, likeness, maximum over states, AdamW"),
        ),
        "recursive": (
            *TREE_CHANGES,
            Added(PAPER, FIRST_SETTINGS),
            Added("", "+ permutations as negatives, likeness, AdamW"),
        ),
        "seq2seq": (Added("", "first stage only (600 steps), one training"),),
        "vlv-gm": (
            Added("", "one training, + contrast on the bound", domain="accidents"),
            Added("", "one training", domain="earthquakes"),
        ),
        "entity-grid": (Added("", "+ boundary transitions"),),
        "syntax-hmm": COMMITTEE,
        "content-hmm": COMMITTEE,
        "hmm-content": COMMITTEE,
        "hmm-entity": (*COMMITTEE[:2], Added("", "+ committee, power and boundary transitions")),
        "foltz-glove": VECTORS,
    },
    2: {
        "seq2seq": (Added(ZOO, ZOO_SEQ2SEQ), SHORTER, Added("", LEXICAL, contrast=True)),
        "vlv-gm": (WITHOUT_Z, Added(ZOO, ZOO_VLV_GM), SHORTER, Added("", ON_ENCODERS, contrast=True)),
        "hmm-lda-gm": (
            TOPICS_ONLY,
            Added(ZOO, ZOO_HMM_LDA_GM),
            SHORTER,
            Added("", ON_FIXED, contrast=True),
            Added("peek", "+ topics that see the sentence, on our fixed Seq2Seq"),
        ),
        "discriminative": (Added("", "+ likeness, encoders of our Seq2Seq, AdamW"),),
        "entity-grid": (Added("", "+ boundary transitions"),),
        "foltz-glove": VECTORS,
    },
    3: {
        "seq2seq": (
            Added(f"{COHERENCE}-{ZOO}", ZOO_SEQ2SEQ),
            SHORTER,
            Added(COHERENCE, LEXICAL, contrast=True),
            Added("", LEXICAL + AND_PRECEDENCE, contrast=True),
        ),
        "vlv-gm": (
            Added(COHERENCE, ON_ENCODERS, contrast=True),
            Added("", ON_ENCODERS + AND_PRECEDENCE, contrast=True),
        ),
        "hmm-lda-gm": (
            Added(f"{COHERENCE}-{ZOO}", ZOO_HMM_LDA_GM),
            Added(COHERENCE, ON_FIXED, contrast=True),
            Added("", ON_FIXED + AND_PRECEDENCE, contrast=True),
        ),
        "weft-small": (Added(COHERENCE, "transitions alone"), Added("", "+ precedence")),
        "entity-grid": (Added("", "generative grid", "entity-grid-generative"),),
        "foltz-glove": VECTORS,
    },
    4: {
        "seq2seq": writing(AS_IN_PAPER),
        "vlv-gm": writing(f"{AS_IN_PAPER} but with fixed encoders"),
        "hmm-lda-gm": writing(f"{AS_IN_PAPER} but with fixed networks"),
    },
}
PRECEDENCE_MODELS = ("hmm-lda-gm", "seq2seq", "vlv-gm", "weft-small")  # their orders use it, unless named `coherence`

# The discriminative model with all combinations of three changes: variants of a table of its own.
CHANGES = ("permutation", "max", "likeness")
PHRASES = {
    "permutation": "permutations as negatives",
    "max": "maximum over states",
    "peek": "topics that see the sentence",
    "plurals": "plurals joined with singulars",
}


def grid_variants(first: str = WINDOW) -> list[str]:
    """Return the variants of a grid, the one as in the paper first.

    Args:
        first: Variant that the others change: with cliques of nine sentences, or `paper`, the first settings.

    Example:
        >>> grid_variants("paper")[:4]
        ['paper', 'paper-likeness', 'paper-max', 'paper-max-likeness']
    """
    chosen = ([name for n, name in enumerate(CHANGES) if number & (4 >> n)] for number in range(8))
    return ["-".join([first, *names]) for names in chosen]


def is_of_grid(table: int, model: str, variant: str) -> bool:
    """Return whether a result of Table 1 is shown in a grid and not as a row."""
    changed = (*grid_variants()[1:], *grid_variants(PAPER)[1:])
    return table == 1 and model == "discriminative" and variant in changed


def added_name(variant: str) -> str:
    """Return the name of a row from its variant: what it adds to the row as in the paper.

    Example:
        >>> added_name("paper-contrast"), added_name("paper-max-likeness"), added_name("mine")
        ('+ contrast', '+ maximum over states and likeness', '+ mine')
        >>> added_name("paper"), added_name("")
        ('as in the paper', '')
    """
    if variant == PAPER:
        return AS_IN_PAPER
    parts = variant.removeprefix(f"{PAPER}-").split("-") if variant else []
    if not all(part in PHRASES or part in ("contrast", "likeness") for part in parts):
        return f"+ {variant.removeprefix(f'{PAPER}-')}"
    return f"+ {' and '.join(PHRASES.get(part, part) for part in parts)}" if parts else ""
