"""A network and its tokenizer as a sentence model, which computes log-probabilities of sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from weft.corpora.store.pair_batches import pad_rows
from weft.corpora.text.tokenizers import Tokenizer
from weft.document import Window
from weft.generation.decoding import Candidate, Hypotheses, search
from weft.generation.decoding_settings import Decoding
from weft.models.common.first_order_model import FirstOrderModel
from weft.models.common.neural.encoder_decoder import Seq2SeqNetwork, Tokens
from weft.models.common.neural.layers import LstmState
from weft.models.common.neural.source_memory import Memory, Sources
from weft.models.common.token_cache import TokenCache, nearest

DEAD = -1e30  # hypotheses with a lower log-probability are impossible
DECODE_TOKENS = 32768  # padded tokens per decoded group
CPU_DECODE_TOKENS = 8192  # the same on a CPU
SMALL_GROUP = 16  # sentences grouped regardless of their lengths, because smaller matrix products are slow


class Predictor(FirstOrderModel):
    """Computes p(target | context) by an encoder-decoder; satisfies `weft.protocols.SentenceModel`.

    The context is the last sentence of the window. Each distinct context is encoded once for all its targets. Windows
    are decoded in order of length, to avoid padding.
    """

    windows_at_once = 4096

    def __init__(self, network: Seq2SeqNetwork, ids: TokenCache) -> None:
        self.network, self.ids, self.tokenizer = network.eval(), ids, ids.tokenizer

    @property
    def device(self) -> torch.device:
        """The device of the network."""
        return self.network.embedding.weight.device

    @torch.inference_mode()
    def group_log_prob(self, windows: Sequence[Window]) -> list[float]:
        """Return the log-probability of each target given its context; each distinct context is encoded once."""
        contexts = list(dict.fromkeys(nearest(window) for window in windows))
        row_of = {context: row for row, context in enumerate(contexts)}
        targets = self.ids([window.target for window in windows])
        sources = self._encode(contexts)
        rows = torch.tensor([row_of[nearest(window)] for window in windows])
        values = torch.empty(len(windows))
        for chosen in by_length(lengths_of(targets), self.device):
            part = self._padded([targets[number] for number in chosen])
            memory = sources.select(rows[chosen].to(self.device))
            values[chosen] = self.network.log_prob(memory, part).float().cpu()
        return [float(value) for value in values]

    @torch.inference_mode()
    def propose(self, contexts: Sequence[Sequence[str]], decoding: Decoding) -> list[list[Candidate]]:
        """Return several next sentences for each context, best first; all contexts are searched at once."""
        sources = self._encode([context[-1] if context else None for context in contexts])
        steps = PredictorSteps(self.network, sources, len(contexts), self.tokenizer)
        return candidates_of(search(steps, len(contexts), decoding, self.device), self.tokenizer)

    def _encode(self, contexts: Sequence[str | None]) -> Sources:
        """Encode distinct contexts; a missing context is an empty source, or an empty sentence if there are others."""
        if self.network.encoder is None or list(contexts) == [None]:
            return Sources()
        encoded = self.ids.to_read([context or "" for context in contexts])
        groups = list(by_length(lengths_of(encoded), self.device))
        parts = [self.network.encode(self._padded([encoded[number] for number in chosen])) for chosen in groups]
        return Sources.of(parts, torch.cat(groups).to(self.device))

    def tokens(self, sentences: Sequence[str]) -> Tokens:
        """Return sentences as an encoder reads them: padded ids on the device of the network."""
        return self._padded(self.ids.to_read(sentences))

    def _padded(self, rows: Sequence[Sequence[int]]) -> Tokens:
        return padded(rows, self.tokenizer.pad_id, self.device)


@dataclass(frozen=True, slots=True)
class _StepState:
    """The sources, guiding vectors and decoder states of the rows of a search."""

    memory: Memory
    guide: Tensor | None
    state: LstmState | None


class PredictorSteps:
    """A network that decodes one word at a time; satisfies `weft.generation.decoding.Steps`.

    Args:
        network: The network.
        sources: The encoded sources, one per context unless ``owners`` is given.
        contexts: Number of contexts.
        tokenizer: The tokenizer; its special tokens are never written.
        owners: The source of each context, if contexts share sources: [contexts].
        guide: Guiding vectors, if the network has a guide: [contexts, guide].
    """

    def __init__(
        self,
        network: Seq2SeqNetwork,
        sources: Sources,
        contexts: int,
        tokenizer: Tokenizer,
        *,
        owners: Tensor | None = None,
        guide: Tensor | None = None,
    ) -> None:
        self.network, self.sources, self.guide = network, sources, guide
        self.owners = torch.arange(contexts, device=network.embedding.weight.device) if owners is None else owners
        self.bos, self.eos = tokenizer.bos_id, tokenizer.eos_id
        unknown = () if tokenizer.unk_id is None else (tokenizer.unk_id,)
        self.forbidden = (tokenizer.pad_id, tokenizer.bos_id, *unknown)

    def begin(self, rows_each: int) -> _StepState:
        """Return the first state, with each source and guide repeated."""
        guide = None if self.guide is None else self.guide.repeat_interleave(rows_each, dim=0)  # [rows, guide]
        return _StepState(self.sources.select(self.owners.repeat_interleave(rows_each)), guide, None)

    def advance(self, state: _StepState, words: Tensor) -> tuple[Tensor, _StepState]:
        """Run one decoder step; return the log-probabilities of the next word and the new state."""
        inputs = words[:, None]  # [rows, 1]
        outputs, reached = self.network.decode(inputs, state.memory, state.state, state.guide)  # [rows, 1, dimensions]
        logits = (outputs[:, 0] @ self.network.embedding.weight.T).float()  # [rows, vocabulary]
        return logits.log_softmax(dim=1), _StepState(state.memory, state.guide, reached)

    def select(self, state: _StepState, rows: Tensor) -> _StepState:
        """Return the decoder states of some rows; sources and guides stay with their contexts."""
        assert state.state is not None
        h, c = state.state
        return _StepState(state.memory, state.guide, (h[:, rows].contiguous(), c[:, rows].contiguous()))

    def keep(self, state: _StepState, rows: Tensor) -> _StepState:
        """Return some rows with their sources and guides."""
        guide = None if state.guide is None else state.guide[rows]
        selected = self.select(state, rows)
        return _StepState(state.memory.select(rows), guide, selected.state)


def candidates_of(found: Hypotheses, tokenizer: Tokenizer) -> list[list[Candidate]]:
    """Return the sentences of a search, best first, without impossible hypotheses.

    Sentences with invalid characters are dropped if there are others.
    """
    ids, log_probs, lengths = found.ids.tolist(), found.log_probs.tolist(), found.lengths.tolist()
    written = [
        [
            Candidate(_text(row, tokenizer), value, int(length))
            for row, value, length in zip(*rows, strict=True)
            if value > DEAD
        ]
        for rows in zip(ids, log_probs, lengths, strict=True)
    ]
    return [[one for one in row if "\ufffd" not in one.text] or row for row in written]


def _text(ids: Sequence[int], tokenizer: Tokenizer) -> str:
    """Return the words up to the end of the sentence as text."""
    end = ids.index(tokenizer.eos_id) if tokenizer.eos_id in ids else len(ids)
    return " ".join(tokenizer.decode(ids[:end]).split())


def padded(rows: Sequence[Sequence[int]], pad: int, device: torch.device) -> Tokens:
    """Return lists of ids as one padded matrix on a device."""
    offsets = np.cumsum([0, *(len(row) for row in rows)])
    flat = np.fromiter((token for row in rows for token in row), dtype=np.int64, count=int(offsets[-1]))
    ids, lengths = pad_rows(flat, offsets, pad)
    return Tokens(torch.from_numpy(ids).to(device), torch.from_numpy(lengths).to(device))


def by_length(lengths: npt.NDArray[np.int64], device: torch.device) -> Iterator[Tensor]:
    """Yield groups of sentence numbers, shortest sentences first, of limited padded size.

    A GPU is fastest with few large groups, and a CPU with groups of similar lengths, which have little padding.
    """
    most, stretch = (DECODE_TOKENS, float("inf")) if device.type == "cuda" else (CPU_DECODE_TOKENS, 1.15)
    order = np.argsort(lengths, kind="stable")
    left = lengths[order] + 1  # with the end of the sentence; shortest first
    while len(order):
        rows = np.arange(1, len(left) + 1)
        # A group is limited in size, and in length differences unless it is small.
        fits = (left * rows <= most) & ((rows <= SMALL_GROUP) | (left <= left[0] * stretch))
        count = max(1, len(fits) if fits.all() else int(fits.argmin()))
        yield torch.from_numpy(order[:count])
        order, left = order[count:], left[count:]


def lengths_of(rows: Sequence[Sequence[int]]) -> npt.NDArray[np.int64]:
    """Return the number of ids of each row."""
    return np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
