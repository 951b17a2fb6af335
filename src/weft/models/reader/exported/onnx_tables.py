"""Tables of trained readers, computed in onnxruntime: numpy, tokenizers and onnxruntime are all that is imported.

The lower layers read each sentence once; what they say about recent sentences is kept, so that after an edit only the
sentences that changed are read again. Texts are read one by one, without padding, in `thread_count` threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from weft.corpora.text.tokenizers import Tokenizer
from weft.errors import ConfigError, ModelError
from weft.io.devices import NEXT_STEP
from weft.io.model_folder import Artifact
from weft.io.onnx_files import check_graph, onnx_runtime
from weft.models.common.thread_pool import in_threads
from weft.models.common.token_cache import TokenCache
from weft.models.reader.network_constants import BREAKS, GRAPHS, SENTENCES, STRAYS, SURPRISES, TEXT
from weft.models.reader.reader_settings import ReaderSettings
from weft.models.reader.text_tables import Sentences, TextTables, cut_tables, slots_of

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

TOKENS_AT_ONCE = 1024  # of sentences read together: enough to keep a core busy, and their states fit its cache
TEXTS_AT_ONCE = 64  # limits memory
REMEMBERED = 256  # sentences whose states are kept, about 70 kB each
PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}

Ids = tuple[int, ...]
States = npt.NDArray[np.float32]  # [tokens, hidden]


@dataclass(frozen=True, slots=True)
class Sessions:
    """The loaded graphs."""

    sentences: InferenceSession
    text: InferenceSession
    breaks: InferenceSession


def checked_graphs(artifact: Artifact, folder: str | Path) -> Mapping[str, bytes]:
    """Return the ONNX files of an exported folder after checking them.

    Raises:
        ModelError: A file is missing, or contains what `weft export` does not write.
    """
    missing = [name for name in GRAPHS if name not in artifact.graphs]
    if missing:
        raise _unusable(folder, f"no {', '.join(missing)}")
    for name in GRAPHS:
        check_graph(artifact.graphs[name], Path(folder) / name)
    return artifact.graphs


def open_sessions(graphs: Mapping[str, bytes], device: str) -> Sessions:
    """Load graphs that were checked; each run takes one thread.

    Raises:
        ModelError: onnxruntime cannot load a graph.
    """
    return Sessions(*(_session(name, graphs[name], device) for name in (SENTENCES, TEXT, BREAKS)))


def _session(name: str, graph: bytes, device: str) -> InferenceSession:
    onnxruntime = onnx_runtime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # The graphs are written as they should run. More would join sums with normalisations, which takes six times longer.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.log_severity_level = 3  # errors
    providers = list(dict.fromkeys([PROVIDERS[device], PROVIDERS["cpu"]]))
    try:
        session = onnxruntime.InferenceSession(graph, options, providers=providers)
    except Exception as error:  # its errors have no common base class
        raise _unusable(name, " ".join(str(error).split())[:200]) from error
    inputs = tuple(one.name for one in session.get_inputs())
    if inputs != GRAPHS[name]:
        raise _unusable(name, f"the inputs {', '.join(inputs)}")
    return session


def _unusable(place: str | Path, seen: str) -> ModelError:
    return ModelError(
        f"the exported graphs cannot be used: {place}",
        seen=seen,
        allowed="the folder exactly as `weft export` wrote it, and onnxruntime 1.20 or newer",
        next_step="pip install --upgrade onnxruntime, or export the model again",
    )


def _no_cuda(seen: str) -> ConfigError:
    return ConfigError(
        "onnxruntime finds no GPU for this exported model",
        seen=seen,
        allowed="auto, cpu; cuda with the package onnxruntime-gpu",
        next_step=f"{NEXT_STEP}; or load the folder that it was exported from, which runs in PyTorch",
    )


class OnnxTableReader:
    """Makes the tables of texts with exported graphs."""

    def __init__(self, graphs: Mapping[str, bytes], tokenizer: Tokenizer, sentence_tokens: int, slots: int) -> None:
        self.ids = TokenCache(tokenizer)
        self.sentence_tokens, self.slots = sentence_tokens, slots
        self.sessions = open_sessions(graphs, "cpu")
        self._graphs = graphs if "cuda" in self.devices() else {}  # not kept where they are never loaded again
        self._text_outputs = ["vectors", "odds", "follows", *_optional(self.sessions.text, SURPRISES)]
        self._break_outputs = ["breaks", *_optional(self.sessions.breaks, STRAYS)]
        self._known: dict[Ids, States] = {}

    def devices(self) -> tuple[str, ...]:
        """Return the devices that onnxruntime can use."""
        available = onnx_runtime().get_available_providers()
        return tuple(device for device, provider in PROVIDERS.items() if provider in available)

    def to(self, device: str) -> OnnxTableReader:
        """Load the graphs again for a device.

        Raises:
            ConfigError: onnxruntime cannot use the device.
        """
        kind = device.partition(":")[0]
        if kind not in self.devices():
            raise _no_cuda(device)
        if self._graphs:
            self.sessions = open_sessions(self._graphs, kind)
        return self

    def tables(self, texts: Sequence[Sentences]) -> list[TextTables]:
        """Return the tables of texts, in order."""
        found: list[TextTables] = []
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            found += self._tables(texts[start : start + TEXTS_AT_ONCE])
        return found

    def _tables(self, texts: Sequence[Sentences]) -> list[TextTables]:
        rows = [self._marked(text) for text in texts]
        states = self._states({one for row in rows for one in row})

        def read(number: int) -> TextTables:
            return self._read(texts[number], [states[one] for one in rows[number]])

        return in_threads(read, range(len(texts)))

    def _marked(self, sentences: Sentences) -> list[Ids]:
        """Return the ids of sentences with marks of start and end, cut as in training."""
        tokenizer = self.ids.tokenizer
        cut = (ids[: self.sentence_tokens - 2] for ids in self.ids(sentences))
        return [(tokenizer.bos_id, *ids, tokenizer.eos_id) for ids in cut]

    def _states(self, sentences: set[Ids]) -> dict[Ids, States]:
        """Return the states of the tokens of sentences after the lower layers."""
        known = self._known
        found = {one: known[one] for one in sentences if one in known}
        groups = list(_groups(sorted((one for one in sentences if one not in known), key=lambda one: (len(one), one))))
        for group, states in zip(groups, in_threads(self._read_sentences, groups), strict=True):
            found |= zip(group, states, strict=True)
        recent = {**{one: states for one, states in known.items() if one not in found}, **found}
        # Copied, because the states of a group are parts of one large array.
        self._known = {one: known[one] if one in known else recent[one].copy() for one in list(recent)[-REMEMBERED:]}
        return found

    def _read_sentences(self, sentences: Sequence[Ids]) -> list[States]:
        """Run the lower layers."""
        lengths = np.array([len(one) for one in sentences])
        time = int(lengths.max())
        real = np.arange(time) < lengths[:, None]  # [sentences, time]
        starts = np.cumsum(lengths) - lengths
        places = np.arange(time)[None].repeat(len(sentences), axis=0)
        given = {
            "ids": np.concatenate([np.array(one, dtype=np.int64) for one in sentences]),
            "positions": places[real],
            "rows": np.where(real, starts[:, None] + places, 0),
            "back": np.flatnonzero(real),
            "mask": real.astype(np.int32),
        }
        states: States = self.sessions.sentences.run(None, given)[0]
        return np.split(states, starts[1:])

    def _read(self, sentences: Sentences, states: Sequence[States]) -> TextTables:
        """Run the upper layers and the heads on one text."""
        size = len(sentences)
        lengths = np.array([len(one) for one in states])
        owners = np.arange(size).repeat(lengths)  # [tokens]
        shares = (np.arange(size)[:, None] == owners) / lengths[:, None]  # [sentences, tokens]
        given: dict[str, npt.NDArray[Any]] = {
            "states": np.concatenate(states),
            "slots": slots_of(sentences, self.slots)[owners],
            "firsts": np.cumsum(lengths) - lengths,
            "shares": shares.astype(np.float32),
        }
        found = _run(self.sessions.text, self._text_outputs, given)
        gaps = {**{name: found[name] for name in ("vectors", "odds", "follows")}, "order": np.arange(size)}
        # A single sentence has no gaps, which a convolution cannot read.
        none = {name: np.zeros(0) for name in self._break_outputs}
        found |= _run(self.sessions.breaks, self._break_outputs, gaps) if size > 1 else none
        return cut_tables(size, **{name: part.astype(np.float64) for name, part in found.items() if name != "vectors"})


def _optional(session: InferenceSession, name: str) -> list[str]:
    """Return the name of an output if a graph has it."""
    return [name] if name in {one.name for one in session.get_outputs()} else []


def _run(session: InferenceSession, outputs: Sequence[str], given: Mapping[str, Any]) -> dict[str, npt.NDArray[Any]]:
    """Return the outputs of a graph by name."""
    return dict(zip(outputs, session.run(outputs, given), strict=True))


def exported_reader(
    artifact: Artifact, tokenizer: Tokenizer, settings: ReaderSettings, folder: str | Path
) -> OnnxTableReader:
    """Return the reader of an exported folder.

    Raises:
        ModelError: A graph is missing, or contains what `weft export` does not write.
    """
    return OnnxTableReader(checked_graphs(artifact, folder), tokenizer, settings.sentence_tokens, settings.slots)


def _groups(sentences: Sequence[Ids]) -> Iterator[list[Ids]]:
    """Yield groups of sentences of similar length with a limited number of tokens."""
    group: list[Ids] = []
    tokens = 0
    for one in sentences:
        if group and tokens + len(one) > TOKENS_AT_ONCE:
            yield group
            group, tokens = [], 0
        group.append(one)
        tokens += len(one)
    if group:
        yield group
