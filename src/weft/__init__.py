"""weft measures, restores and writes coherent discourse.

Example:
    >>> import weft
    >>> model = weft.load_model("foltz-glove")
    >>> text = weft.Document("essay", weft.split_sentences("The cat slept. It purred. Rates rose."))
    >>> [round(value, 1) for value in model.score([text])[0].transitions]
    [0.7, 0.5]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from weft.document import Document, Score, Window
from weft.errors import ConfigError, CorpusError, ModelError, WeftError
from weft.version import VERSION

if TYPE_CHECKING:
    from weft.corpora.readers.formats import ReadOptions, read_documents
    from weft.corpora.text.sentences import split_sentences
    from weft.evaluation.evaluate import evaluate
    from weft.hub import load_model
    from weft.ordering.order import order_document
    from weft.registry import create_model
    from weft.scoring.pairs import Scorer

# Imported when first used, so that `import weft` stays light.
_LAZY = {
    "ReadOptions": "weft.corpora.readers.formats",
    "Scorer": "weft.scoring.pairs",
    "create_model": "weft.registry",
    "evaluate": "weft.evaluation.evaluate",
    "load_model": "weft.hub",
    "order_document": "weft.ordering.order",
    "read_documents": "weft.corpora.readers.formats",
    "split_sentences": "weft.corpora.text.sentences",
}

__version__ = VERSION

__all__ = [
    "ConfigError",
    "CorpusError",
    "Document",
    "ModelError",
    "ReadOptions",
    "Score",
    "Scorer",
    "WeftError",
    "Window",
    "__version__",
    "create_model",
    "evaluate",
    "load_model",
    "order_document",
    "read_documents",
    "split_sentences",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'weft' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
