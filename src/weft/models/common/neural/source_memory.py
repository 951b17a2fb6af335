"""Encoded sources of decoders: padded for one batch, or flat for many sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from weft.models.common.neural.layers import KeysValues, LstmState


@dataclass(frozen=True, slots=True)
class Memory:
    """The encoded sources of a batch; empty for a language model."""

    lengths: Tensor | None = None  # number of tokens of each source: [rows]
    start: LstmState | None = None  # the start state of the decoder; None for zeros
    keys_values: Mapping[str, KeysValues] = field(default_factory=dict)  # keys and values by the kind of attention

    def select(self, rows: Tensor) -> Memory:
        """Return some rows, in any order and repeated, with gradients; in training, a sentence has several targets."""
        if self.lengths is None or self.start is None:
            return self
        h, c = self.start
        keys_values = {name: KeysValues(look.keys[rows], look.values[rows]) for name, look in self.keys_values.items()}
        return Memory(self.lengths[rows], (h[:, rows].contiguous(), c[:, rows].contiguous()), keys_values)


@dataclass(frozen=True, slots=True)
class Sources:
    """Encoded sentences, from which the rows of batches are selected in any order.

    Positions are stored without padding: with padding to the longest sentence, copying takes longer than attention.
    """

    lengths: Tensor | None = None  # number of tokens of each sentence, [sentences]; None if the source is empty
    begins: Tensor | None = None  # first position of each sentence: [sentences]
    start: LstmState | None = None  # start state (h, c) of the decoder, each [layers, sentences, hidden]
    # Keys [positions, hidden] and values [positions, size], by the kind of attention.
    keys_values: Mapping[str, KeysValues] = field(default_factory=dict)

    @staticmethod
    def of(memories: Sequence[Memory], order: Tensor) -> Sources:
        """Return the sentences of separately encoded batches; row k of all batches is sentence ``order[k]``."""
        lengths = [memory.lengths for memory in memories if memory.lengths is not None]
        starts = [memory.start for memory in memories if memory.start is not None]
        if not lengths:
            return Sources()
        row_of = order.argsort()  # [sentences]
        sizes = torch.cat(lengths)  # [rows]
        h, c = (torch.cat(parts, dim=1)[:, row_of] for parts in zip(*starts, strict=True))
        keys_values = {
            name: _flat([memory.keys_values[name] for memory in memories], lengths) for name in memories[0].keys_values
        }
        return Sources(sizes[row_of], (sizes.cumsum(0) - sizes)[row_of], (h, c), keys_values)

    def select(self, rows: Tensor) -> Memory:
        """Return some sentences as a batch, padded to the longest of them."""
        if self.lengths is None or self.begins is None or self.start is None:
            return Memory()
        lengths = self.lengths[rows]
        longest = int(lengths.max()) if len(lengths) else 0
        places = torch.arange(longest, device=rows.device).minimum(lengths[:, None] - 1)  # [rows, longest]
        places = places + self.begins[rows][:, None]
        h, c = self.start
        keys_values = {
            name: KeysValues(look.keys[places], look.values[places]) for name, look in self.keys_values.items()
        }
        return Memory(lengths, (h[:, rows].contiguous(), c[:, rows].contiguous()), keys_values)


def _flat(keys_values: Sequence[KeysValues], lengths: Sequence[Tensor]) -> KeysValues:
    """Return the keys and values of the real positions of padded rows, as one flat sequence."""
    real = [
        torch.arange(look.keys.shape[1], device=length.device) < length[:, None]
        for look, length in zip(keys_values, lengths, strict=True)
    ]
    return KeysValues(
        torch.cat([look.keys[kept] for look, kept in zip(keys_values, real, strict=True)]),
        torch.cat([look.values[kept] for look, kept in zip(keys_values, real, strict=True)]),
    )
