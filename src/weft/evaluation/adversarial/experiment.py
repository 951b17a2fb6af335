"""The whole of an adversarial evaluation: chunks, continuations, evaluators, and one result with AdverSuc-1, -2, -3."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from weft.corpora.text.tokenizers import Tokenizer
from weft.errors import ConfigError
from weft.evaluation.adversarial.chunks import CONTEXT, TURNS, Chunks, Protocol, load_chunks
from weft.evaluation.adversarial.continuations import Order, Written, weights_hash, write_all
from weft.evaluation.adversarial.evaluator import EvaluatorSettings, judge
from weft.evaluation.adversarial.features import SentenceFeatures, SentenceScores
from weft.evaluation.adversarial.opponents import CONTROLS, Bout, control_bout, without_overlap, written_bouts
from weft.evaluation.adversarial.sentence_encoder import FrozenReader
from weft.evaluation.adversarial.sentence_lengths import alike_in_length, tokens_a_sentence
from weft.evaluation.adversarial.token_rows import IdRows
from weft.evaluation.adversarial.tree_evaluator import judge_by_features, judge_by_lengths
from weft.evaluation.adversarial.turns import ADVERSARIAL
from weft.evaluation.adversarial.verdicts import Verdicts, measured, read_verdicts, trained, write_verdicts
from weft.evaluation.result import Measure
from weft.generation.bulk import bulk_writer
from weft.generation.decoding import Decoding
from weft.hub import load_model
from weft.progress import Progress, silent
from weft.scoring.pairs import Combine
from weft.training.devices import Runtime, start_runtime
from weft.training.loop import Report

SECOND, INFORMED = "second_", "informed_"  # what the measures of other evaluators begin with
LENGTHS, MATCHED = "lengths_", "matched_"
READER = "zoo/seq2seq"  # stands for the reader in the names of kept verdicts, so that earlier ones stay valid
FORMAT = 2  # rises when evaluators are built or trained differently


@dataclass(frozen=True, slots=True)
class AdversarialOptions:
    """How an adversarial evaluation is run.

    Attributes:
        folder: Where chunks, continuations and verdicts are kept between runs.
        limit: Test contexts of a small copy of the experiment; None for the whole.
        decoding: How systems write.
        evaluator: How evaluators are built and trained.
        seed: Of evaluators and controls.
        device: ``auto``, ``cpu`` or ``cuda``.
    """

    folder: Path = Path("adversarial")
    limit: int | None = None
    decoding: Decoding = ADVERSARIAL
    evaluator: EvaluatorSettings = field(default_factory=EvaluatorSettings)
    seed: int = 1
    device: str = "auto"


@dataclass(frozen=True)
class Contest:
    """One opponent against human text.

    Attributes:
        measures: AdverSuc and accuracies by number of turns, per page.
        pages: The pages of the test part, in the order of the measures.
        contexts: Test contexts.
        settings: What decided the numbers.
    """

    measures: Mapping[str, Measure]
    pages: Sequence[str]
    contexts: int
    settings: Mapping[str, Any]


class Arena:
    """The chunks and the reader that all opponents meet with.

    Args:
        data: The corpus of the evaluation.
        options: How.
        runtime: Where.
        progress: Told what goes on.
    """

    def __init__(self, data: Path, options: AdversarialOptions, runtime: Runtime, progress: Progress = silent) -> None:
        self.options, self.runtime, self.progress = options, runtime, progress
        self.reader = _reader(options.evaluator.reader)
        self.reader_hash = weights_hash(self.reader)
        self.reader.to(runtime.device)
        self.tokenizer: Tokenizer = self.reader.tokenizer
        protocol = Protocol.limited(options.limit)
        self.longest = protocol.longest  # of human and of machine sentences
        self.chunks: Chunks = load_chunks(data, self.tokenizer, protocol, folder=options.folder, progress=progress)
        self._human: Tensor | None = None
        self.seen = self._token_counts()
        self.frozen = FrozenReader(self.reader, self.seen, self.tokenizer, runtime.device)
        self.scores = SentenceScores(self.reader, self.tokenizer.pad_id, runtime.device)

    def write(self, model: Any, name: str, ways: Sequence[Combine]) -> dict[Combine, Written]:
        """What a model writes after all contexts, or wrote in an earlier run."""
        if model.tokenizer.fingerprint != self.tokenizer.fingerprint:
            raise ConfigError(
                "the model that writes has another tokenizer than the evaluator's reader",
                seen=model.tokenizer.fingerprint[:12], allowed=self.tokenizer.fingerprint[:12],
                next_step="set evaluator.reader to a Seq2Seq with the model's tokenizer",
            )  # fmt: skip
        further = {"samples": model.search_estimate.samples} if hasattr(model, "search_estimate") else {}
        order = Order(name, weights_hash(model), self.chunks, self.options.decoding, further)
        return write_all(bulk_writer(model, name), order, ways, self.options.folder, progress=self.progress)

    def meet_writer(self, written: Written) -> Contest:
        """Evaluators of every number of turns against a system."""
        bouts = written_bouts(self.chunks, written.texts, self.tokenizer, self.longest)
        made = {"continuations": written.fingerprint, "sentences_per_second": round(written.speed, 1)}
        return self._contest(bouts, written.fingerprint, {**made, "decoding": asdict(self.options.decoding)})

    def meet_control(self, name: str) -> Contest:
        """Evaluators of every number of turns against a control."""
        bouts = [control_bout(self.chunks, name, turns, self.options.seed) for turns in range(1, TURNS + 1)]
        return self._contest(bouts, f"control {name}, seed {self.options.seed}", {})

    def _contest(self, bouts: Sequence[Bout], opponent: str, settings: Mapping[str, Any]) -> Contest:
        read = _Sentences(self, bouts[0].rows)
        measures: dict[str, Measure] = {}
        pages = sorted({page for side in bouts[0].pages["test"] for page in side})
        records: dict[str, Any] = {}
        for turns, whole in enumerate(bouts, 1):
            bout = without_overlap(whole) if self.options.evaluator.apart else whole
            for prefix, (met, panel) in self._all_verdicts(bout, read, opponent, turns).items():
                measures |= measured(met, panel, turns, pages, prefix=prefix)
                records[f"{prefix}{turns}"] = trained(panel)
        recorded = {
            **settings, "evaluator": asdict(self.options.evaluator), "evaluators": records,
            "chunks": self.chunks.fingerprint, "contexts": list(self.chunks.sizes),
            "tokens_a_sentence": tokens_a_sentence(bouts[-1]),
        }  # fmt: skip
        if self.options.limit is not None:
            recorded["limit"] = self.options.limit
        return Contest(measures, pages, len(bouts[0].human["test"]), recorded)

    def _all_verdicts(
        self, bout: Bout, read: _Sentences, opponent: str, turns: int
    ) -> dict[str, tuple[Bout, list[Verdicts]]]:
        """What the evaluators say and of which chunks, by the prefix of their measures: none for the first."""
        name, first = f"{opponent} {turns}", self.options.seed
        seeds = range(first, first + self.options.evaluator.seeds)
        panel = [self._kept(bout, name, seed, partial(self._judged, bout, read, seed)) for seed in seeds]
        found = {"": (bout, panel)}

        def ask(prefix: str, met: Bout, make: Callable[[], Verdicts]) -> None:
            self.progress(f"{prefix.rstrip('_')} evaluator, {turns} turns", 0)
            found[prefix] = met, [self._kept(met, f"{prefix}{name}", first, make)]

        if self.options.evaluator.second:
            ask(SECOND, bout, partial(self._judged_by_features, bout, read, None))
            alike = alike_in_length(bout, seed=first)
            if all(map(len, alike.human.values())):  # a small copy may have no two continuations of one length
                ask(MATCHED, alike, partial(self._judged_by_features, alike, read, None))
        if self.options.evaluator.informed:
            ask(INFORMED, bout, partial(self._judged_by_features, bout, read, self.scores))
        ask(LENGTHS, bout, partial(judge_by_lengths, bout, seed=first))
        return found

    def _kept(self, bout: Bout, what: str, seed: int, make: Callable[[], Verdicts]) -> Verdicts:
        """Verdicts, or those of an earlier run."""
        settings = asdict(self.options.evaluator)
        for name in ("seeds", "second", "informed"):  # what an evaluator says does not depend on who else is asked
            del settings[name]
        settings["reader"] = READER  # its weights count, by their hash below, and not the name it was found by
        content = [FORMAT, what, self.chunks.fingerprint, settings, seed, self.reader_hash]
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        path = self.options.folder / "verdicts" / f"{digest[:16]}.npz"
        if not path.is_file():
            write_verdicts(path, make())
        return read_verdicts(path, bout)

    def _judged(self, bout: Bout, read: _Sentences, seed: int) -> Verdicts:
        turns = bout.human["test"].shape[1] - CONTEXT
        label = f"evaluator, {turns} turns, seed {seed}"

        def listen(report: Report) -> None:
            self.progress(label, int(1000 * report.share), 1000, f"loss {report.loss:.3f}")

        embedding = self.reader.networks()["forward"].embedding.weight.detach().float().cpu()
        return judge(
            bout,
            read.vectors,
            self.frozen.groups,
            embedding,
            self.tokenizer.pad_id,
            self.options.evaluator,
            self.runtime,
            seed=seed,
            listen=listen,
        )

    def _judged_by_features(self, bout: Bout, read: _Sentences, scores: SentenceScores | None) -> Verdicts:
        return judge_by_features(bout, read.features, scores, len(self.chunks.rows), seed=self.options.seed)

    def _token_counts(self) -> npt.NDArray[np.int64]:
        """How often people wrote each token in the training part: [vocabulary]."""
        rows, learned = self.chunks.rows, np.zeros(len(self.chunks.rows), dtype=np.bool_)
        learned[self.chunks.learned] = True
        tokens = rows.flat[np.repeat(learned, rows.lengths)]
        return np.bincount(tokens, minlength=self.tokenizer.vocabulary_size).astype(np.int64)

    def vectors(self, rows: IdRows) -> Tensor:
        """What the frozen reader makes of the sentences of a bout; those of people are read once for all opponents."""
        if self._human is None:
            self._human = self.frozen(self.chunks.rows)
        known = len(self.chunks.rows)
        if len(rows) == known:
            return self._human
        own = IdRows(rows.flat[rows.offsets[known] :], rows.offsets[known:] - rows.offsets[known])
        return torch.cat([self._human, self.frozen(own)])


class _Sentences:
    """What is known of the sentences of an opponent and of people: long work, done where a verdict is not kept yet."""

    def __init__(self, arena: Arena, rows: IdRows) -> None:
        self.arena, self.rows = arena, rows

    @cached_property
    def vectors(self) -> Tensor:
        """[sentences, size], by the frozen reader."""
        return self.arena.vectors(self.rows)

    @cached_property
    def features(self) -> SentenceFeatures:
        """Counts, overlaps and likenesses."""
        arena = self.arena
        return SentenceFeatures(self.rows, arena.tokenizer, (self.vectors, arena.frozen.groups), arena.seen)


def _reader(name: str) -> Any:
    """Return the model that `evaluator.reader` names."""
    reader = load_model(name)
    networks: Mapping[str, Any] = getattr(reader, "networks", dict)()
    if not {"forward", "backward", "prior"} <= set(networks):
        raise ConfigError(
            "the evaluator's reader has no encoders", seen=name, allowed="a trained Seq2Seq, such as seq2seq",
            next_step="change evaluator.reader",
        )  # fmt: skip
    return reader


def contests(
    data: Path,
    model: Any | None,
    name: str,
    ways: Sequence[Combine],
    options: AdversarialOptions = AdversarialOptions(),  # noqa: B008  frozen
    *,
    progress: Progress = silent,
) -> dict[str, Contest]:
    """Run an opponent against human text: a model in some ways of reranking, or one of `CONTROLS`.

    Returns:
        Contests by way; by the empty name for a control.
    """
    with start_runtime(options.device) as runtime:
        arena = Arena(data, options, runtime, progress)
        if model is None:
            if name not in CONTROLS:
                raise ConfigError("unknown control", seen=name, allowed=", ".join(CONTROLS), next_step="choose one")
            return {"": arena.meet_control(name)}
        model.to(runtime.device)
        written = arena.write(model, name, ways)
        model.to("cpu")
        runtime.release()  # a search for a thousand contexts holds 20 GiB, the evaluators need a few
        return {way: arena.meet_writer(written[way]) for way in ways}
