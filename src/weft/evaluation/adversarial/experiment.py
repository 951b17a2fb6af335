"""One adversarial evaluation: chunks, continuations, evaluators, verdicts, and AdverSuc for one to three sentences."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from weft.corpora.text.tokenizers import Tokenizer
from weft.errors import ConfigError
from weft.evaluation.adversarial.chunks import CONTEXT, CONTINUATION, Chunks, SelectionSettings, load_chunks
from weft.evaluation.adversarial.continuations import Continuations, WritingJob, load_continuations, weights_hash
from weft.evaluation.adversarial.controls import label_control
from weft.evaluation.adversarial.features import Floats, SentenceFeatures, SentenceScores
from weft.evaluation.adversarial.labelled_chunks import (
    LabelledChunks,
    label_continuations,
    match_lengths,
    mean_tokens,
    without_overlap,
)
from weft.evaluation.adversarial.network_evaluator import network_verdicts
from weft.evaluation.adversarial.options import EvaluatorSettings
from weft.evaluation.adversarial.sentence_encoder import SentenceEncoder, load_reader
from weft.evaluation.adversarial.token_rows import TokenRows
from weft.evaluation.adversarial.tree_evaluator import length_verdicts, tree_verdicts
from weft.evaluation.adversarial.verdicts import (
    Verdicts,
    adversuc_measures,
    read_verdicts,
    training_record,
    write_verdicts,
)
from weft.evaluation.result import Measure
from weft.evaluation.task_contract import EvaluateOptions, Outcome
from weft.generation.decoding_settings import Decoding
from weft.generation.writing_models import writing_model
from weft.progress import Progress
from weft.protocols import NetworkModel, SearchEstimatingModel
from weft.scoring.uni_bi_mmi import Combine
from weft.training.devices import Runtime
from weft.training.loop import Report

SECOND, INFORMED, LENGTHS, MATCHED = "second_", "informed_", "lengths_", "matched_"  # prefixes of measures
READER = "zoo/seq2seq"  # replaces the reader's name in the keys of saved verdicts, so that earlier ones stay valid
FORMAT = 2  # changes with the way in which evaluators are built or trained


_Evaluation = tuple[str, LabelledChunks, Sequence[Verdicts]]  # prefix of the names of measures, chunks, verdicts


class AdversarialExperiment:
    """The chunks and the reader of an adversarial evaluation; it evaluates continuations or a control."""

    def __init__(
        self, data: Path, options: EvaluateOptions, evaluator: EvaluatorSettings, runtime: Runtime, progress: Progress
    ) -> None:
        self.folder, self.seed, self.evaluator = options.work, options.seed, evaluator
        self.runtime, self.progress = runtime, progress
        self.reader = load_reader(evaluator.reader)
        self.reader_hash = weights_hash(self.reader)
        self.reader.to(runtime.device)
        selection = SelectionSettings.limited(options.limit)
        self.longest = selection.longest  # of human and of machine sentences
        self.chunks: Chunks = load_chunks(data, self.tokenizer, selection, folder=self.folder, progress=progress)

    @property
    def tokenizer(self) -> Tokenizer:
        """The reader's tokenizer, which all models must share."""
        assert self.reader.tokenizer is not None
        return self.reader.tokenizer

    def write(self, model: NetworkModel, name: str, combine: Combine, decoding: Decoding) -> Continuations:
        """Return the continuations of all contexts by a model; those of an earlier run are read.

        Raises:
            ConfigError: The model cannot write, or has another tokenizer.
        """
        writer = writing_model(model, name).bulk_writer()
        if model.tokenizer is None or model.tokenizer.fingerprint != self.tokenizer.fingerprint:
            raise ConfigError(
                "the model has another tokenizer than the evaluator's reader",
                seen=model.tokenizer.fingerprint[:12] if model.tokenizer else "none",
                allowed=self.tokenizer.fingerprint[:12],
                next_step="set evaluator.reader to a Seq2Seq with the model's tokenizer",
            )
        further = {"samples": model.search_estimate.samples} if isinstance(model, SearchEstimatingModel) else {}
        job = WritingJob(name, weights_hash(model), self.chunks, decoding, combine, further)
        return load_continuations(writer, job, self.folder, progress=self.progress)

    def evaluate_continuations(self, found: Continuations, decoding: Decoding) -> Outcome:
        """Evaluate the continuations of a system, with one, two and three sentences."""
        labelled = label_continuations(self.chunks, found.texts, self.tokenizer, self.longest)
        settings = {
            "continuations": found.fingerprint,
            "sentences_per_second": round(found.speed, 1),
            "decoding": asdict(decoding),
        }
        return self._outcome(labelled, found.fingerprint, settings)

    def evaluate_control(self, name: str) -> Outcome:
        """Evaluate a control, with one, two and three sentences."""
        lengths = range(1, CONTINUATION + 1)
        labelled = [label_control(self.chunks, name, length, self.seed) for length in lengths]
        return self._outcome(labelled, f"control {name}, seed {self.seed}", {})

    def _outcome(self, by_length: Sequence[LabelledChunks], system: str, settings: Mapping[str, Any]) -> Outcome:
        first, last = by_length[0], by_length[-1]
        sentences = SentenceReadings(self.reader, self.chunks, first.rows, self.runtime.device)
        pages = sorted({page for side in first.pages["test"] for page in side})
        measures: dict[str, Measure] = {}
        records: dict[str, Any] = {}
        for length, labelled in enumerate(by_length, 1):
            chosen = without_overlap(labelled) if self.evaluator.apart else labelled
            for prefix, judged, verdicts in self._evaluations(chosen, sentences, f"{system} {length}"):
                measures |= adversuc_measures(judged, verdicts, length, pages, prefix=prefix)
                records[f"{prefix}{length}"] = training_record(verdicts)
        recorded = {
            **settings, "evaluator": asdict(self.evaluator), "evaluators": records,
            "chunks": self.chunks.fingerprint, "contexts": list(self.chunks.sizes),
            "tokens_a_sentence": mean_tokens(last),
        }  # fmt: skip
        return Outcome(
            measures,
            pages,
            n_pairs=len(first.human["test"]),
            negatives_sha256=self.chunks.fingerprint,
            settings=recorded,
        )

    def _evaluations(self, labelled: LabelledChunks, sentences: SentenceReadings, name: str) -> Iterator[_Evaluation]:
        """Train all kinds of evaluators on chunks of one length, and yield their verdicts."""
        settings, seed = self.evaluator, self.seed

        def by_trees(prefix: str, chunks: LabelledChunks, make: Callable[[], Verdicts]) -> _Evaluation:
            self.progress(f"{prefix.rstrip('_')} evaluator, {_label(labelled)}", 0)
            return prefix, chunks, [self._cached(chunks, f"{prefix}{name}", seed, make)]

        seeds = range(seed, seed + settings.seeds)
        networks = [
            self._cached(labelled, name, one, partial(self._network, labelled, sentences, one)) for one in seeds
        ]
        yield "", labelled, networks
        if settings.second:
            yield by_trees(SECOND, labelled, lambda: tree_verdicts(labelled, sentences.features, seed=seed))
            matched = match_lengths(labelled, seed=seed)
            if all(map(len, matched.human.values())):  # a small copy may have no two continuations of one length
                yield by_trees(MATCHED, matched, lambda: tree_verdicts(matched, sentences.features, seed=seed))
        if settings.informed:
            yield by_trees(
                INFORMED,
                labelled,
                lambda: tree_verdicts(labelled, sentences.features, (sentences.scores, sentences.alone), seed=seed),
            )
        yield by_trees(LENGTHS, labelled, partial(length_verdicts, labelled, seed=seed))

    def _cached(self, labelled: LabelledChunks, name: str, seed: int, make: Callable[[], Verdicts]) -> Verdicts:
        """Return the verdicts of an earlier run, or make and save them."""
        settings = asdict(self.evaluator)
        for other in ("seeds", "second", "informed"):  # they choose evaluators and do not change their training
            del settings[other]
        settings["reader"] = READER  # the hash of its weights is part of the key, and its name is not
        content = [FORMAT, name, self.chunks.fingerprint, settings, seed, self.reader_hash]
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        path = self.folder / "verdicts" / f"{digest[:16]}.npz"
        if not path.is_file():
            write_verdicts(path, make())
        return read_verdicts(path, labelled)

    def _network(self, labelled: LabelledChunks, sentences: SentenceReadings, seed: int) -> Verdicts:
        label = f"evaluator, {_label(labelled)}, seed {seed}"

        def show(report: Report) -> None:
            self.progress(label, int(1000 * report.share), 1000, f"loss {report.loss:.3f}")

        return network_verdicts(
            labelled,
            sentences.vectors,
            sentences.encoder.groups,
            sentences.word_vectors,
            self.tokenizer.pad_id,
            self.evaluator,
            self.runtime,
            seed=seed,
            on_report=show,
        )


def _label(labelled: LabelledChunks) -> str:
    length = labelled.human["test"].shape[1] - CONTEXT
    return f"{length} {'sentence' if length == 1 else 'sentences'}"


class SentenceReadings:
    """Vectors, features and scores of all sentences, the human ones first, by the reader; computed on first use."""

    def __init__(self, reader: NetworkModel, chunks: Chunks, rows: TokenRows, device: torch.device) -> None:
        assert reader.tokenizer is not None
        self.reader, self.chunks, self.rows, self.device = reader, chunks, rows, device
        self.tokenizer: Tokenizer = reader.tokenizer

    @cached_property
    def token_counts(self) -> npt.NDArray[np.int64]:
        """Number of occurrences of each token in human sentences of the training part: [vocabulary]."""
        rows, learned = self.chunks.rows, np.zeros(len(self.chunks.rows), dtype=np.bool_)
        learned[self.chunks.training_sentences] = True
        tokens = rows.flat[np.repeat(learned, rows.lengths)]
        return np.bincount(tokens, minlength=self.tokenizer.vocabulary_size).astype(np.int64)

    @cached_property
    def encoder(self) -> SentenceEncoder:
        """The frozen encoders."""
        return SentenceEncoder(self.reader, self.token_counts, self.tokenizer, self.device)

    @cached_property
    def word_vectors(self) -> Tensor:
        """The reader's word vectors: [vocabulary, dimensions]."""
        found: Tensor = self.reader.networks()["forward"].embedding.weight  # type: ignore[union-attr, assignment]
        return found.detach().float().cpu()

    @cached_property
    def vectors(self) -> Tensor:
        """Sentence vectors: [sentences, size]."""
        human = len(self.chunks.rows)
        return torch.cat([self.encoder(self.chunks.rows), self.encoder(self.rows.after(human))])

    @cached_property
    def features(self) -> SentenceFeatures:
        """Counts, overlaps and similarities."""
        return SentenceFeatures(self.rows, self.tokenizer, (self.vectors, self.encoder.groups), self.token_counts)

    @cached_property
    def scores(self) -> SentenceScores:
        """The reader's networks as scorers of sentences."""
        return SentenceScores(self.reader, self.tokenizer.pad_id, self.device)

    @cached_property
    def alone(self) -> Floats:
        """Log-probability per token of every sentence without context: [sentences]."""
        return self.scores.alone(self.rows, len(self.chunks.rows))
