"""Settings of the reader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from weft.corpora.store.window_batches import WindowOptions
from weft.document import Document
from weft.errors import ConfigError, ModelError
from weft.settings import CORRECT_VALUE, Settings, setting

PART = "reader"
DIRECTIONS = NEXT, BOTH = "next", "both"


@dataclass(frozen=True, kw_only=True)
class ReaderSettings(Settings):
    """Settings of `reader`."""

    model_name: ClassVar[str] = "reader"
    encoder: str = setting(
        "", "Folder of a BERT-like encoder to start from, or minilm for that of the extra hf; empty: from scratch."
    )
    hidden: int = setting(384, "Size of token states.", minimum=4)
    layers: int = setting(6, "Number of layers.", minimum=1)
    local_layers: int = setting(3, "Number of lower layers that read each sentence alone.", minimum=0)
    frozen_layers: int = setting(
        0, "Number of lower layers that keep their weights in training, together with the word vectors.", minimum=0
    )
    heads: int = setting(12, "Number of attention heads.", minimum=1)
    feed_forward: int = setting(1536, "Size of the hidden layer after attention.", minimum=1)
    dropout: float = setting(0.1, "Dropout rate in training.", minimum=0, below=1)
    pair: int = setting(256, "Size of the vectors that the heads compare.", minimum=1)
    slots: int = setting(64, "Number of slot vectors, which tell the sentences of a text apart.", minimum=1)
    directions: str = setting(
        "next",
        "What a sentence chooses among the others: the next one, or both the next and the previous one.",
        choices=DIRECTIONS,
    )
    next_weight: float = setting(0.3, "Weight of the loss of the next sentence.", minimum=0)
    near_weight: float = setting(
        0.0, "Weight of a further loss of precedence, of neighbouring sentences alone.", minimum=0
    )
    exchange_weight: float = setting(
        0.0, "Weight of a further loss of exchanged neighbours: the windows score above each exchange.", minimum=0
    )
    break_weight: float = setting(0.3, "Weight of the loss of breaks.", minimum=0)
    masked: float = setting(0.0, "Share of words that are masked and predicted in training.", minimum=0, below=1)
    masked_weight: float = setting(0.3, "Weight of the loss of masked words.", minimum=0)
    surprise_weight: float = setting(
        0.0, "Weight of the loss of surprise; above 0 the network has this head and stores need its values.", minimum=0
    )
    stray_weight: float = setting(
        0.0, "Weight of the loss of strays, sentences that do not belong; above 0 the network has this head.", minimum=0
    )
    fewest: int = setting(5, "Number of sentences of the shortest training windows.", minimum=2)
    most: int = setting(32, "Number of sentences of the longest training windows.", minimum=2)
    window_tokens: int = setting(640, "Number of tokens of the longest training windows.", minimum=16)
    sentence_tokens: int = setting(
        46, "Longer sentences are cut; marks of start and end count.", minimum=3, maximum=512
    )
    at_paragraphs: float = setting(0.7, "Share of windows that start with a paragraph.", minimum=0, maximum=1)
    damaged: float = setting(
        0.4, "Share of windows with intruding or repeated sentences or the end of another text.", minimum=0, maximum=1
    )
    strangers: int = setting(1, "Largest number of damages of such a window.", minimum=1, maximum=16)
    changes: int = setting(1, "Number of changed orders of each window that the break head reads.", minimum=1)
    mixture: str = setting(
        "",
        "How often the windows of an input are drawn: `all`, `open` for files of open texts only, and numbers by a part"
        " of a file's name, such as `open story5=0.5 train-=1`.",
    )
    taught: float = setting(
        1.0, "How often windows of articles with surprise values are drawn, compared with those of others.", above=0
    )
    precedence_weight: float = setting(0.1, "Weight of the mean precedence in a score.", minimum=0, adjustable=True)
    neighbour_weight: float = setting(
        0.0, "Further weight of the precedence of neighbours, in a score and in the search for an order.",
        minimum=0, adjustable=True,
    )  # fmt: skip
    order_weight: float = setting(1.0, "Weight of precedence in the search for an order.", minimum=0, adjustable=True)
    precision: str = setting("int8", "Precision of saved weights.", choices=("int8", "float16", "float32"))

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("local_layers", "frozen_layers"):
            self._check(getattr(self, name) <= self.layers, name, getattr(self, name), f"0 to layers, {self.layers}")
        self._check(self.hidden % self.heads == 0, "heads", self.heads, f"a divisor of hidden, {self.hidden}")
        self._check(self.most >= self.fewest, "most", self.most, f"at least fewest, {self.fewest}")

    def _check(self, holds: bool, name: str, seen: int, allowed: str) -> None:
        if not holds:
            raise ConfigError(
                f"{self.model_name}.{name} is out of range", seen=seen, allowed=allowed, next_step=CORRECT_VALUE
            )

    def parts(self) -> tuple[str, ...]:
        """Return the name of the only network."""
        return (PART,)

    def windows(self, longest_sentence: int) -> WindowOptions:
        """Return how training windows are drawn; ``longest_sentence`` is a limit of the run."""
        return WindowOptions(
            fewest=self.fewest, most=self.most, window_tokens=self.window_tokens, slots=self.slots,
            sentence_tokens=max(3, min(self.sentence_tokens, longest_sentence)), at_paragraphs=self.at_paragraphs,
            damaged=self.damaged, strangers=self.strangers, changes=self.changes, mixture=self.mixture,
            taught=self.taught, masked=self.masked,
        )  # fmt: skip


def no_surprise() -> ModelError:
    """Return the error for a reader that was trained without the head for surprise."""
    return ModelError(
        "this reader does not predict surprise",
        seen="surprise_weight 0",
        allowed="a reader that was trained with surprise_weight above 0",
        next_step="train one: docs/reader.md, section Surprise",
    )


def too_many_pairs(document: Document, most: int) -> ConfigError:
    """Return the error for a text whose sentences cannot all be compared with each other."""
    return ConfigError(
        "the text is too long to compare all its sentences with each other",
        seen=f"{len(document):,} sentences in {document.id}",
        allowed=f"up to {most:,} sentences; any number to score a text",
        next_step='order its sections one by one (`format="blocks"`)',
    )


def exported_model(folder: str) -> ModelError:
    """Return the error for an exported reader, which has no weights to save."""
    return ModelError(
        "an exported model has no weights to save",
        seen=f"a reader that runs in onnxruntime, to be saved in {folder}",
        allowed="a reader that `weft train` wrote",
        next_step="copy the exported folder, or load the folder that it was exported from",
    )
