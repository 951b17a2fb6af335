"""Names of models, readers and tasks, and the code behind them.

The models of this package are one plain dictionary from a name to ``module:Class``; a module is imported when its
model is first used. Other installed packages add models, readers and tasks through the entry point groups
``weft.models``, ``weft.readers`` and ``weft.tasks``. Entry points are read when a name is looked up that this package
does not have, or when names are listed; never by ``import weft``. A name of this package always wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from weft.errors import ConfigError, did_you_mean, packages_named
from weft.protocols import CoherenceModel

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

DEFAULT_MODEL = "weft-reader"
DEFAULT_WRITER = "weft-small"  # the default model cannot write
# Trained models with a name of their own, and their classes; others are called after their class and their domain.
NAMED_MODELS: Mapping[str, str] = {"weft-reader": "reader", "weft-reader-large": "reader", "weft-small": "seq2seq"}

MODELS: Mapping[str, str] = {
    "foltz-glove": "weft.models.lexical.glove:FoltzGlove",
    "foltz-sif": "weft.models.lexical.glove:FoltzSif",
    "foltz-lsa": "weft.models.lexical.lsa:FoltzLsa",
    "foltz-lda": "weft.models.lexical.lda:FoltzLda",
    "foltz-embedding": "weft.models.lexical.sentence_embeddings:FoltzEmbedding",
    "opening": "weft.models.lexical.opening:Opening",
    "entity-grid": "weft.models.entity.entity_grid:EntityGrid",
    "entity-grid-generative": "weft.models.entity.generative_grid:EntityGridGenerative",
    "entity-graph": "weft.models.entity.entity_graph:EntityGraph",
    "syntax-hmm": "weft.models.hmm.syntax_hmm:SyntaxHmm",
    "syntax-local": "weft.models.hmm.local_syntax:SyntaxLocal",
    "content-hmm": "weft.models.hmm.content_hmm:ContentHmm",
    "hmm-entity": "weft.models.hmm.hmm_combinations:HmmEntity",
    "hmm-content": "weft.models.hmm.hmm_combinations:HmmContent",
    "hmm-lda": "weft.models.topic.hmm_lda:HmmLda",
    "hmm-lda-gm": "weft.models.topic.hmm_lda_gm:HmmLdaGm",
    "seq2seq": "weft.models.seq2seq.seq2seq:Seq2Seq",
    "vlv-gm": "weft.models.vlv.vlv_gm:VlvGm",
    "hf": "weft.models.causal_lm.causal_lm:Hf",
    "discriminative": "weft.models.discriminative.clique_model:Discriminative",
    "discriminative-pair": "weft.models.discriminative.pair_model:DiscriminativePair",
    "recursive": "weft.models.discriminative.recursive_model:Recursive",
    "reader": "weft.models.reader.reader:Reader",
    "random": "weft.models.trivial:RandomModel",
    "year-sort": "weft.models.trivial:YearSort",
}
# What the models that run in PyTorch do, in one line: without it, their classes cannot be imported.
TORCH_MODELS = {
    "seq2seq": "LSTM encoder-decoder that predicts each sentence from its neighbours",
    "hmm-lda-gm": "encoder-decoder guided by the topics of sentences",
    "vlv-gm": "encoder-decoder guided by a chain of latent variables, one per sentence",
    "discriminative": "a classifier of cliques of adjacent sentences: original or damaged",
    "discriminative-pair": "a ranker of sentence pairs, learned against other sentences of the same text",
    "recursive": "a classifier of cliques whose sentences are read along their parse trees",
}
MODEL_GROUP, READER_GROUP, TASK_GROUP = "weft.models", "weft.readers", "weft.tasks"
CONTRACT = ("Settings", "card", "fit", "load", "save", "score")  # attributes of every model class


def entry_points(group: str) -> list[EntryPoint]:
    """Return the entry points of a group, of all installed packages, sorted by name."""
    from importlib.metadata import entry_points as read_entry_points  # slow to import, and rarely needed

    return sorted(read_entry_points(group=group), key=lambda entry: (entry.name, entry.value))


def added_names(group: str) -> list[str]:
    """Return the names that other installed packages add to a group."""
    return sorted({entry.name for entry in entry_points(group) if ":" in entry.value})


def load_added(group: str, name: str) -> Any:
    """Import the object that another installed package adds under a name.

    Returns:
        The object behind the entry point, or None if no installed package adds the name.

    Raises:
        ConfigError: Two packages add the same name, or the package that adds it cannot be imported.
    """
    found = [entry for entry in entry_points(group) if entry.name == name and ":" in entry.value]
    if not found:
        return None
    if len(found) > 1:
        raise ConfigError(
            f"several installed packages add {name} to {group}",
            seen=", ".join(map(package_of, found)),
            allowed="one package for each name",
            next_step=f"pip uninstall {package_of(found[0])}, or another of them",
        )
    try:
        return found[0].load()
    except Exception as error:  # any error of another package is reported with the name of the package
        raise ConfigError(
            f"the installed package {package_of(found[0])}, which adds {name}, cannot be imported",
            seen=f"{type(error).__name__}: {error}",
            allowed=f"an entry point of {group} that can be imported",
            next_step=f"repair the package, or pip uninstall {package_of(found[0])}",
        ) from error


def package_of(entry: EntryPoint) -> str:
    """Return the name of the distribution that an entry point belongs to."""
    return entry.dist.name if entry.dist is not None else entry.value


def model_names() -> list[str]:
    """Return the names of all model classes: those of this package first, then those that other packages add."""
    return [*MODELS, *(name for name in added_names(MODEL_GROUP) if name not in MODELS)]


def is_registered(name: str) -> bool:
    """Return whether there is a model class of that name; entry points are read only if this package has none."""
    return name in MODELS or name in added_names(MODEL_GROUP)


def is_installed(package: str) -> bool:
    """Return whether a package can be imported; it is not imported."""
    from importlib.util import find_spec

    try:
        return find_spec(package) is not None
    except ValueError:  # a module without a spec stands in its place
        return False


def result_name(name: str | Path, kind: str) -> str:
    """Return the name of a model in results, from its name or folder and the name of its class.

    Example:
        >>> result_name("zoo/weft-small", "seq2seq"), result_name("zoo/seq2seq-accidents", "seq2seq")
        ('weft-small', 'seq2seq')
    """
    own = Path(name).absolute().name
    return own if NAMED_MODELS.get(own) == kind else kind


def model_class(name: str) -> type[CoherenceModel]:
    """Import the class of a model.

    Raises:
        ConfigError: There is no model of that name, the package that adds it is broken, or PyTorch is not installed
            and the model needs it.

    Example:
        >>> model_class("random").__name__
        'RandomModel'
    """
    if name in MODELS:
        with packages_named():
            built_in: type[CoherenceModel] = resolve_name(MODELS[name])
        return built_in
    added = load_added(MODEL_GROUP, name)
    if added is None:
        raise ConfigError(
            "unknown model",
            seen=name,
            allowed=did_you_mean(name, model_names()),
            next_step="run `weft models`",
        )
    return _checked_class(name, added)


def _checked_class(name: str, added: Any) -> type[CoherenceModel]:
    """Return a class of another package; raise ConfigError if it lacks a part of the contract."""
    missing = [part for part in CONTRACT if part not in dir(added)]
    if missing or not isinstance(added, type):
        raise ConfigError(
            f"the entry point {name} in {MODEL_GROUP} is not a model class",
            seen=f"{added!r} without {', '.join(missing)}" if missing else repr(added),
            allowed=f"a class with {', '.join(CONTRACT)}",
            next_step="see CONTRIBUTING.md, or uninstall the package that adds it",
        )
    return added


def create_model(name: str, settings: Mapping[str, Any] | None = None) -> CoherenceModel:
    """Build an untrained model by name; its settings are checked.

    Example:
        >>> from weft.document import Document
        >>> create_model("random", {"seed": 3}).score([Document("d", ("A.", "B."))])[0].value is not None
        True
    """
    kind: Any = model_class(name)
    built: CoherenceModel = kind(kind.Settings.from_mapping(settings or {}))
    return built
