"""A configuration that trains a neural model on a user's own texts, on a CPU, in minutes (`weft config --for`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weft.corpora.readers.formats import read_documents
from weft.errors import ConfigError, WeftError
from weft.hub import find_model
from weft.io.model_folder import read_manifest
from weft.registry import is_registered, model_class
from weft.training.config import RunConfig, build_config, with_overrides

# Trained models that a family is started from, the first that is found.
STARTS = {"reader": ("weft-reader", "reader")}
VOCABULARY = 4096
BATCH_TOKENS = 4000
TOKENS_PER_WORD = 1.5  # word pieces, punctuation and marks among them
PASSES = 5
FEWEST_STEPS, MOST_STEPS = 20, 150  # a step of a reader of 23 million weights: 3 seconds of processor time
VALID_SHARE = 0.1
VALIDATIONS = 5
LONGEST_SENTENCE = 46  # tokens, for a model whose settings do not say
RATES = {True: 5e-5, False: 1e-3}  # highest learning rates: of a trained network, and from scratch


@dataclass(frozen=True, slots=True)
class OwnTextsPlan:
    """A configuration for a user's texts.

    Attributes:
        config: The configuration.
        start: The trained model that training starts from; empty if there is none.
    """

    config: RunConfig
    start: str


def plan_for_texts(model: str, data: str, overrides: Sequence[str] = ()) -> OwnTextsPlan:
    """Return a complete configuration that trains a model on a file of documents.

    The run has five passes over the texts, within 20 to 150 steps. A tenth of the documents is held out for validation.

    Args:
        model: Name of a neural family, such as ``reader``, or name or folder of a trained model to start from.
        data: File of documents.
        overrides: Values that replace others, ``section.key=value``; ``run.start`` is taken before all others.

    Raises:
        ConfigError: The model has no networks, or an override is wrong.
        CorpusError: The file cannot be read.
    """
    given = with_overrides({}, overrides)
    chosen = dict(given.get("run", {})).get("start")
    start = str(chosen) if chosen else _start_of(model)
    name, settings = _family(model, start)
    kind: Any = model_class(name)
    if not (kind.card.needs_training and kind.Settings.from_mapping(settings).parts()):  # parts are networks
        raise ConfigError(
            "only a neural model is trained on texts in this way",
            seen=model,
            allowed="a neural model, such as reader or seq2seq, or the folder of a trained one",
            next_step="run `weft config MODEL` for the settings of any other model",
        )
    steps = _steps(data)
    content: dict[str, Any] = {
        "model": {"name": name, **settings},
        "data": {"train": [data], "valid_share": VALID_SHARE, "vocabulary": VOCABULARY},
        "run": {"seed": 1, "out": f"my-{name}", "start": start, "device": "cpu"},
        "training": {
            "steps": steps, "batch_tokens": BATCH_TOKENS, "decay": "linear",
            "max_tokens": settings.get("sentence_tokens", LONGEST_SENTENCE),
            "learning_rate": RATES[bool(start)], "warmup": max(1, steps // 10),
            "validate_every": max(1, steps // VALIDATIONS),
        },
    }  # fmt: skip
    return OwnTextsPlan(build_config(with_overrides(content, overrides), to_run=True), start)


def _start_of(model: str) -> str:
    """Return the trained model to start from: the given one, or that of its family; empty if there is none."""
    for name in STARTS.get(model, (model,)):
        try:
            found = find_model(name)
        except WeftError:
            continue
        if found.folder is not None:
            return name
    if not is_registered(model):
        find_model(model)  # raises with what is allowed
    return ""


def _family(model: str, start: str) -> tuple[str, dict[str, Any]]:
    """Return the name of the model class and its settings: those of the model to start from, or none."""
    if not start:
        return model, {}
    folder = find_model(start).folder
    assert folder is not None
    manifest = read_manifest(folder)
    name = str(manifest["model"])
    kind: Any = model_class(name)
    known = kind.Settings.defaults()
    settings = {key: value for key, value in manifest["config"].items() if key in known}
    # Weights come from the trained model, not from an encoder; texts of a user have no values of surprise to learn.
    replaced = {"encoder": "", "surprise_weight": 0.0, "mixture": ""}
    return name, settings | {key: value for key, value in replaced.items() if key in known}


def _steps(data: str) -> int:
    words = sum(len(sentence.split()) for document in read_documents(data) for sentence in document.sentences)
    return max(FEWEST_STEPS, min(MOST_STEPS, round(PASSES * TOKENS_PER_WORD * words / BATCH_TOKENS)))
