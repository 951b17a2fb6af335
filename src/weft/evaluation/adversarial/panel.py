"""All evaluators of one system: which there are, in what order they learn, and their saved verdicts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import torch

from weft.evaluation.adversarial.chunks import CONTEXT
from weft.evaluation.adversarial.evaluators.network_evaluator import NetworkInputs, network_verdicts
from weft.evaluation.adversarial.evaluators.pretrained_evaluator import pretrained_folder, pretrained_verdicts
from weft.evaluation.adversarial.evaluators.sentence_readings import SentenceReadings
from weft.evaluation.adversarial.evaluators.surface_tables import surface_tables
from weft.evaluation.adversarial.evaluators.tree_evaluator import length_verdicts, tree_verdicts
from weft.evaluation.adversarial.labelled_chunks import LabelledChunks, match_lengths
from weft.evaluation.adversarial.options import EvaluatorSettings
from weft.evaluation.adversarial.verdicts import Verdicts, read_verdicts, write_verdicts
from weft.io.file_hash import sha256_of
from weft.progress import Progress
from weft.training.devices import Runtime
from weft.training.loop import Report

# Prefixes of measures, by the kind of evaluator.
FIRST, PLAIN, SURFACE, OUTSIDE = "", "plain_", "surface_", "outside_"
SECOND, INFORMED, LENGTHS, MATCHED = "second_", "informed_", "lengths_", "matched_"
READER = "zoo/seq2seq"  # replaces the reader's name in the keys of saved verdicts, so that earlier ones stay valid
FORMAT = 2  # changes with the way in which evaluators are built or trained
# Settings that choose evaluators and do not change the training of those that existed before them.
CHOICES = ("seeds", "first", "second", "informed", "plain", "surface", "outside", "outside_epochs", "outside_rate")

Evaluation = tuple[int, str, LabelledChunks, Sequence[Verdicts]]  # length, prefix of measures, chunks, verdicts


@dataclass(frozen=True)
class VerdictFiles:
    """Saved verdicts, in files whose names are hashes of everything that determines them."""

    folder: Path
    key: Sequence[str]  # the system, the chunks, and the weights of the reader

    def cached(
        self, labelled: LabelledChunks, settings: EvaluatorSettings, name: str, seed: int, make: Callable[[], Verdicts]
    ) -> Verdicts:
        """Return the verdicts of an earlier run, or make and save them; ``name`` says which evaluator and length."""
        known = {key: value for key, value in asdict(settings).items() if key not in CHOICES}
        known["reader"] = READER  # the hash of its weights is part of the key, and its name is not
        prefix, _, length = name.partition(" ")
        system, chunks, reader = self.key
        content = [FORMAT, f"{prefix}{system} {length}", chunks, known, seed, reader]
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        path = self.folder / "verdicts" / f"{digest[:16]}.npz"
        if not path.is_file():
            write_verdicts(path, make())
        return read_verdicts(path, labelled)


@dataclass(frozen=True)
class Panel:
    """The evaluators of one system.

    Attributes:
        settings: Which there are, and how they learn.
        sentences: What the reader knows about the sentences.
        runtime: The device.
        files: Saved verdicts.
        progress: Reports of progress.
        seed: The first seed.
    """

    settings: EvaluatorSettings
    sentences: SentenceReadings
    runtime: Runtime
    files: VerdictFiles
    progress: Progress
    seed: int

    def evaluations(self, by_length: Sequence[LabelledChunks]) -> Iterator[Evaluation]:
        """Train all kinds of evaluators on chunks of one, two and three sentences, and yield their verdicts."""
        for length, labelled in enumerate(by_length, 1):
            for prefix in self._network_kinds():
                yield length, prefix, labelled, self._networks(labelled, prefix, length)
            for prefix, judged, make in self._trees(labelled):
                self.progress(f"{prefix.rstrip('_')} evaluator, {_label(labelled)}", 0)
                yield length, prefix, judged, [self._cached(judged, prefix, length, self.seed, make)]
        if self.settings.outside:
            yield from self._outside(by_length)

    def _network_kinds(self) -> list[str]:
        """Return the prefixes of the networks to train."""
        chosen = {FIRST: self.settings.first, PLAIN: self.settings.plain, SURFACE: self.settings.surface}
        return [prefix for prefix, wanted in chosen.items() if wanted and self.settings.seeds]

    def _networks(self, labelled: LabelledChunks, prefix: str, length: int) -> list[Verdicts]:
        """Return the verdicts of one kind of network, one for each seed."""
        return [
            self._cached(labelled, prefix, length, seed, partial(self._network, labelled, prefix, seed))
            for seed in range(self.seed, self.seed + self.settings.seeds)
        ]

    def _trees(self, labelled: LabelledChunks) -> Iterator[tuple[str, LabelledChunks, Callable[[], Verdicts]]]:
        """Yield the boosted trees: prefix, chunks, and how to train them."""
        sentences, seed = self.sentences, self.seed
        if self.settings.second:
            yield SECOND, labelled, lambda: tree_verdicts(labelled, sentences.features, seed=seed)
            matched = match_lengths(labelled, seed=seed)
            if all(map(len, matched.human.values())):  # a small copy may have no two continuations of one length
                yield MATCHED, matched, lambda: tree_verdicts(matched, sentences.features, seed=seed)
        if self.settings.informed:
            yield (
                INFORMED,
                labelled,
                lambda: tree_verdicts(labelled, sentences.features, (sentences.scores, sentences.alone), seed=seed),
            )
        yield LENGTHS, labelled, partial(length_verdicts, labelled, seed=seed)

    def _outside(self, by_length: Sequence[LabelledChunks]) -> Iterator[Evaluation]:
        """Yield the verdicts of the pretrained encoder, which learns all lengths at once."""
        folder, made = pretrained_folder(self.settings.outside), list[Verdicts]()
        weights = sha256_of(folder / "model.safetensors")
        name = f"outside_{weights[:16]}_{self.settings.outside_epochs}_{self.settings.outside_rate}_"

        def verdicts(place: int) -> Verdicts:
            if not made:
                made.extend(
                    pretrained_verdicts(
                        by_length, folder, self.sentences.tokenizer, self.settings, self.runtime, seed=self.seed,
                        on_report=self._show("outside evaluator"),
                    )
                )  # fmt: skip
            return made[place]

        for length, labelled in enumerate(by_length, 1):
            found = self._cached(labelled, name, length, self.seed, partial(verdicts, length - 1))
            yield length, OUTSIDE, labelled, [replace(found, training={**found.training, "weights": weights})]

    def _cached(
        self, labelled: LabelledChunks, prefix: str, length: int, seed: int, make: Callable[[], Verdicts]
    ) -> Verdicts:
        return self.files.cached(labelled, self.settings, f"{prefix} {length}", seed, make)

    def _show(self, label: str) -> Callable[[Report], None]:
        return lambda report: self.progress(label, int(1000 * report.share), 1000, f"loss {report.loss:.3f}")

    def _network(self, labelled: LabelledChunks, prefix: str, seed: int) -> Verdicts:
        sentences, label = self.sentences, f"{prefix.rstrip('_')} evaluator".strip()
        words = sentences.word_vectors
        inputs = NetworkInputs(words, torch.zeros(len(labelled.rows), 0), likeness=False)
        if prefix != PLAIN:
            inputs = NetworkInputs(words, sentences.vectors, tuple(sentences.encoder.groups))
        if prefix == SURFACE:
            inputs = replace(inputs, surface=surface_tables(labelled, sentences.features))
        return network_verdicts(
            labelled, inputs, sentences.tokenizer.pad_id, self.settings, self.runtime, seed=seed,
            on_report=self._show(f"{label}, {_label(labelled)}, seed {seed}"),
        )  # fmt: skip


def _label(labelled: LabelledChunks) -> str:
    length = labelled.human["test"].shape[1] - CONTEXT
    return f"{length} {'sentence' if length == 1 else 'sentences'}"
