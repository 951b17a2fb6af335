"""The registry: names of models and the classes behind them.

A plain dictionary maps a name to ``module:Class``; a module is imported when its model is first asked for.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from typing import Any

from weft.errors import ConfigError, did_you_mean
from weft.io.model_folder import MANIFEST
from weft.protocols import CoherenceModel
from weft.settings import check_type

DEFAULT_MODEL = "weft-small"

MODELS: Mapping[str, str] = {
    "foltz-glove": "weft.models.lexical.glove:FoltzGlove",
    "foltz-sif": "weft.models.lexical.glove:FoltzSif",
    "foltz-lsa": "weft.models.lexical.lsa:FoltzLsa",
    "foltz-lda": "weft.models.lexical.lda:FoltzLda",
    "foltz-embedding": "weft.models.lexical.sentence_embeddings:FoltzEmbedding",
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
    "weft-small": "weft.models.seq2seq.weft_small:WeftSmall",
    "hf": "weft.models.causal_lm.causal_lm:Hf",
    "discriminative": "weft.models.discriminative.clique_model:Discriminative",
    "discriminative-pair": "weft.models.discriminative.pair_model:DiscriminativePair",
    "recursive": "weft.models.discriminative.recursive_model:Recursive",
    "random": "weft.models.trivial:RandomModel",
    "year-sort": "weft.models.trivial:YearSort",
}


def model_class(name: str) -> type[CoherenceModel]:
    """Import the class of a registered model.

    Raises:
        ConfigError: There is no model of that name.

    Example:
        >>> model_class("random").__name__
        'RandomModel'
    """
    if name not in MODELS:
        raise ConfigError(
            "unknown model",
            seen=name,
            allowed=f"a folder with a {MANIFEST}, or a built-in name; {did_you_mean(name, MODELS)}",
            next_step="run `weft models`",
        )
    module, _, attribute = MODELS[name].partition(":")
    found: type[CoherenceModel] = getattr(importlib.import_module(module), attribute)
    return found


def create_model(name: str, settings: Mapping[str, Any] | None = None) -> CoherenceModel:
    """Build an untrained model by name; its settings are checked.

    Example:
        >>> from weft.document import Document
        >>> create_model("random", {"seed": 3}).score([Document("d", ("A.", "B."))])[0].value is not None
        True
    """
    chosen = dict(settings or {})
    kind: Any = model_class(name)
    if "Settings" in vars(kind):  # all models, once each has its dataclass
        built: CoherenceModel = kind(kind.Settings.from_mapping(chosen))
        return built
    allowed = model_settings(name)
    for key, value in chosen.items():
        if key not in allowed:
            raise ConfigError(
                f"{name} has no setting of that name",
                seen=key,
                allowed=did_you_mean(key, allowed) or "none",
                next_step=f"run `weft config {name}`",
            )
        check_type(f"{name}.{key}", value, allowed[key])
    unchecked: CoherenceModel = kind(**chosen)
    return unchecked


def model_settings(name: str) -> dict[str, Any]:
    """The settings of a model and their defaults."""
    kind: Any = model_class(name)
    if "Settings" in vars(kind):
        defaults: dict[str, Any] = kind.Settings.defaults()
        return defaults
    parameters = inspect.signature(kind).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters}
