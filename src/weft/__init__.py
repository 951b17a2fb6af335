"""weft measures, restores and writes coherent discourse.

Example:
    >>> import weft
    >>> found = weft.score("The cat slept. It purred. Rates rose.", model="foltz-glove")
    >>> [round(value, 1) for value in found.transitions]
    [0.7, 0.5]
"""

from __future__ import annotations

# Nothing is imported here: Ctrl-C during an import would be a traceback, because `weft.__main__` has not begun yet.
TYPE_CHECKING = False  # type checkers take it for that of typing

if TYPE_CHECKING:
    from typing import Any

    from weft.api import compare, compare_models, evaluate, generate, order, score, train
    from weft.corpora.readers.formats import read_documents
    from weft.corpora.readers.read_options import ReadOptions
    from weft.corpora.text.sentences import split_sentences
    from weft.data_frames import to_frame
    from weft.document import Continuation, Document, Score
    from weft.errors import ConfigError, CorpusError, ModelError, WeftError
    from weft.evaluation.model_comparison import Versus
    from weft.evaluation.result import Result
    from weft.evaluation.task_contract import EvaluateOptions
    from weft.evaluation.text_comparison import Revision
    from weft.generation.decoding_settings import Decoding
    from weft.integrations.coherence_features import CoherenceFeatures
    from weft.integrations.coherence_metric import metric
    from weft.loaded_model import Model, load
    from weft.moves import best_move
    from weft.ordering.best_move import Move
    from weft.ordering.ordering import Ordering
    from weft.report_writer import write_report
    from weft.service.client import Client
    from weft.version import __version__

# Imported on first use, so that `import weft` stays light.
_LAZY = {
    **dict.fromkeys(("Continuation", "Document", "Score"), "weft.document"),
    **dict.fromkeys(("ConfigError", "CorpusError", "ModelError", "WeftError"), "weft.errors"),
    "__version__": "weft.version",
    **dict.fromkeys(("compare", "compare_models", "evaluate", "generate", "order", "score", "train"), "weft.api"),
    **dict.fromkeys(("Model", "load"), "weft.loaded_model"),
    "Client": "weft.service.client",
    "CoherenceFeatures": "weft.integrations.coherence_features",
    "Decoding": "weft.generation.decoding_settings",
    "EvaluateOptions": "weft.evaluation.task_contract",
    "Move": "weft.ordering.best_move",
    "Ordering": "weft.ordering.ordering",
    "Versus": "weft.evaluation.model_comparison",
    "ReadOptions": "weft.corpora.readers.read_options",
    "Result": "weft.evaluation.result",
    "Revision": "weft.evaluation.text_comparison",
    "metric": "weft.integrations.coherence_metric",
    "read_documents": "weft.corpora.readers.formats",
    "split_sentences": "weft.corpora.text.sentences",
    "best_move": "weft.moves",
    "to_frame": "weft.data_frames",
    "write_report": "weft.report_writer",
}

__all__ = [
    "Client",
    "CoherenceFeatures",
    "ConfigError",
    "Continuation",
    "CorpusError",
    "Decoding",
    "Document",
    "EvaluateOptions",
    "Model",
    "ModelError",
    "Move",
    "Ordering",
    "ReadOptions",
    "Result",
    "Revision",
    "Score",
    "Versus",
    "WeftError",
    "__version__",
    "best_move",
    "compare",
    "compare_models",
    "evaluate",
    "generate",
    "load",
    "metric",
    "order",
    "read_documents",
    "score",
    "split_sentences",
    "to_frame",
    "train",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        from weft.errors import packages_named

        with packages_named():
            return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'weft' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
