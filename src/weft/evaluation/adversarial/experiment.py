"""One adversarial evaluation: chunks, continuations, evaluators, verdicts, and AdverSuc for one to three sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from weft.corpora.text.tokenizers import Tokenizer
from weft.errors import ConfigError
from weft.evaluation.adversarial.chunks import CONTINUATION, Chunks, SelectionSettings, load_chunks
from weft.evaluation.adversarial.continuations import Continuations, WritingJob, load_continuations, weights_hash
from weft.evaluation.adversarial.controls import label_control
from weft.evaluation.adversarial.evaluators.sentence_encoder import load_reader
from weft.evaluation.adversarial.evaluators.sentence_readings import SentenceReadings
from weft.evaluation.adversarial.labelled_chunks import (
    LabelledChunks,
    label_continuations,
    mean_tokens,
    without_overlap,
)
from weft.evaluation.adversarial.options import EvaluatorSettings
from weft.evaluation.adversarial.panel import Panel, VerdictFiles
from weft.evaluation.adversarial.verdicts import adversuc_measures, training_record
from weft.evaluation.result import Measure
from weft.evaluation.task_contract import EvaluateOptions, Outcome
from weft.generation.decoding_settings import Decoding
from weft.generation.writing_models import bulk_writing_model
from weft.progress import Progress
from weft.protocols import Estimator, NetworkModel, SearchEstimatingModel
from weft.scoring.uni_bi_mmi import Combine
from weft.training.devices import Runtime


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
        writer = bulk_writing_model(model, name).bulk_writer()
        if model.tokenizer is None or model.tokenizer.fingerprint != self.tokenizer.fingerprint:
            raise ConfigError(
                "the model has another tokenizer than the evaluator's reader",
                seen=model.tokenizer.fingerprint[:12] if model.tokenizer else "none",
                allowed=self.tokenizer.fingerprint[:12],
                next_step="set evaluator.reader to a Seq2Seq with the model's tokenizer",
            )
        further = estimate_record(model.search_estimate) if isinstance(model, SearchEstimatingModel) else {}
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
        key = [system, self.chunks.fingerprint, self.reader_hash]
        panel = Panel(self.evaluator, sentences, self.runtime, VerdictFiles(self.folder, key), self.progress, self.seed)
        pages = sorted({page for side in first.pages["test"] for page in side})
        chosen = [without_overlap(one) if self.evaluator.apart else one for one in by_length]
        measures: dict[str, Measure] = {}
        records: dict[str, Any] = {}
        for length, prefix, judged, verdicts in panel.evaluations(chosen):
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


def estimate_record(estimate: Estimator) -> dict[str, Any]:
    """Return what continuations depend on in an estimate; `iwae` is not named, as in the first continuations.

    Example:
        >>> from weft.models.vlv.estimators import Estimate
        >>> estimate_record(Estimate("iwae", 5)), estimate_record(Estimate("prior", 5))
        ({'samples': 5}, {'samples': 5, 'estimator': 'prior'})
    """
    kind = {} if estimate.kind == "iwae" else {"estimator": estimate.kind}
    return {"samples": estimate.samples, **kind}
