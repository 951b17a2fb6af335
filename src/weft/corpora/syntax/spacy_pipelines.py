"""spaCy pipelines for English: a named one, an installed one, or the one inside weft.

Only this module and `packed_pipeline` import spaCy, when a pipeline is loaded.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.corpora.syntax.packed_pipeline import EMBEDDED, load_packed, pipeline_weights
from weft.corpora.syntax.packed_pipeline import KIND as OWN
from weft.corpora.syntax.parsed_sentence import ParsedSentence
from weft.errors import ConfigError, WeftError
from weft.io.model_folder import MANIFEST

if TYPE_CHECKING:
    from spacy.language import Language

INSTALLED = "en_core_web_sm"
LANGUAGE = "en"
WORDS_AT_ONCE = 2000  # limits memory; larger batches are not faster
NEEDED = ("tagger", "parser")
# Components that compute the vectors for a tagger or a parser.
_ENCODERS = ("tok2vec", "transformer", "curated_transformer")


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A tagger and a parser."""

    name: str  # with its version
    fingerprint: str  # a hash of everything that determines the parses
    language: Language  # with only the components that parsing needs

    def annotate(self, texts: Sequence[str]) -> list[ParsedSentence]:
        """Return the parse of each text as one sentence."""
        from spacy.training.batchers import minibatch_by_words
        from threadpoolctl import threadpool_limits

        language = self.language
        # One thread: for small matrices, more threads double the processor time without a gain.
        # The memory zone frees the strings of these texts; otherwise memory would grow with the corpus.
        with threadpool_limits(limits=1, user_api="blas"), language.memory_zone():
            documents = (_one_sentence(language.make_doc(text)) for text in texts)
            batches = minibatch_by_words(documents, WORDS_AT_ONCE, tolerance=0)
            return [
                _to_parsed(document) for batch in batches for document in language.pipe(batch, batch_size=len(batch))
            ]


def load_pipeline(name: str = "") -> Pipeline:
    """Return a named pipeline, else an installed ``en_core_web_sm``, else the one inside weft (``weft-parser``).

    Raises:
        ConfigError: spaCy is not installed, or the name is not that of an English pipeline with a tagger and a parser.
        ModelError: weft's own pipeline is damaged or does not fit the installed spaCy version.
    """
    spacy = _import_spacy()
    name = name or (INSTALLED if spacy.util.is_package(INSTALLED) else OWN)
    language = load_packed(EMBEDDED) if name == OWN else _load_named(spacy, name)
    _use_numpy(language)
    meta = language.meta
    title = OWN if meta["name"] == OWN else f"{LANGUAGE}_{meta['name']}"
    return Pipeline(f"{title} {meta['version']}", _fingerprint(language, spacy.__version__), language)


def _import_spacy() -> Any:
    try:
        import spacy
    except ImportError as error:
        raise ConfigError(
            "parsing needs spaCy, which cannot be imported",
            seen=str(error),
            allowed="the extra `parse`",
            next_step="pip install 'weft-coherence[parse]'",
        ) from error
    return spacy


def _load_named(spacy: Any, name: str) -> Language:
    """Return an installed package, a folder of spaCy, or a folder of `weft.corpora.syntax.packed_pipeline`."""
    if not (os.path.isdir(name) or spacy.util.is_package(name)):
        raise _not_usable("no such spaCy pipeline", name)
    try:
        language = load_packed(name) if (Path(name) / MANIFEST).is_file() else spacy.load(name)
        _check_parts(language, name)
        language("word")  # fails for a pipeline that was not trained
    except WeftError:
        raise
    except Exception as error:  # a package or folder that is not a pipeline can raise anything
        why = (str(error).strip().splitlines() or [""])[0]
        raise _not_usable(f"cannot be used as a spaCy pipeline ({type(error).__name__}: {why})", name) from error
    return language


def _check_parts(language: Language, name: str) -> None:
    """Raise ConfigError unless the pipeline is for English and has a tagger and a parser; disable everything else."""
    if language.lang != LANGUAGE:
        raise _not_usable(f"a pipeline for the language {language.lang!r}, not for English", name)
    factories = {part: language.get_pipe_meta(part).factory for part in language.pipe_names}
    missing = [part for part in NEEDED if part not in factories.values()]
    if missing:
        raise _not_usable(f"a pipeline without a {' and a '.join(missing)}", name)
    language.select_pipes(enable=[part for part, made_by in factories.items() if made_by in (*NEEDED, *_ENCODERS)])


def _not_usable(what: str, name: str) -> ConfigError:
    return ConfigError(
        what,
        seen=name,
        allowed=f"an installed package or a folder with an English spaCy pipeline with a tagger and a parser, or {OWN}",
        next_step=f"install it, correct its name, or omit the name to use {INSTALLED} or weft's own",
    )


def _use_numpy(language: Language) -> None:
    """Use numpy's BLAS for matrix products; it is up to four times as fast as the one in spaCy."""
    from thinc.api import NumpyOps

    numpy_blas = NumpyOps(use_blis=False)
    for _, _, node, _ in pipeline_weights(language):
        if type(node.ops) is NumpyOps:
            node.ops = numpy_blas


def _fingerprint(language: Language, version: str) -> str:
    """Return a hash of spaCy's version, the tokenizer, and the settings, labels and weights of the components."""
    digest = hashlib.blake2b(digest_size=16)
    parts = {part: language.get_pipe(part) for part in language.pipe_names}
    labels = {name: _plain(part.label_data) for name, part in parts.items() if hasattr(part, "label_data")}
    settings = {name: language.config["components"][name] for name in parts}
    digest.update(json.dumps([version, settings, labels], sort_keys=True, default=str).encode())
    digest.update(language.tokenizer.to_bytes(exclude=["vocab"]))
    if language.vocab.vectors.size:
        digest.update(np.ascontiguousarray(language.vocab.vectors.data).tobytes())
    for part, _, node, name in pipeline_weights(language):
        value = node.get_param(name)
        digest.update(f"{part} {name} {value.shape}".encode() + np.ascontiguousarray(value).tobytes())
    return digest.hexdigest()


def _plain(labels: Any) -> Any:
    return {str(key): value for key, value in labels.items()} if isinstance(labels, dict) else labels


def _one_sentence(document: Any) -> Any:
    """Mark all words except the first as not starting a sentence, and return the document."""
    if len(document) > 1:
        starts = np.full(len(document), -1, dtype=np.int64)
        starts[0] = 1
        document.from_array(["SENT_START"], starts.astype(np.uint64))
    return document


def _to_parsed(document: Any) -> ParsedSentence:
    columns = document.to_array(["TAG", "DEP", "HEAD"]).reshape(-1, 3).astype(np.int64)  # [words, 3]
    heads = columns[:, 2] + np.arange(len(columns))  # spaCy gives heads relative to the word
    strings = document.vocab.strings
    # Interned strings: parses need less memory, because there are few distinct tags and labels.
    tags, labels = ([sys.intern(strings[int(key) % 2**64]) for key in columns[:, place]] for place in (0, 1))
    return ParsedSentence(
        words=tuple(sys.intern(word.text) for word in document),
        tags=tuple(tags),
        heads=tuple(heads.tolist()),
        labels=tuple(labels),
    )
