"""What is known of a sentence before any evaluator learns: states of trained encoders, and a sketch of its words."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from weft.corpora.text.tokenizers import Tokenizer
from weft.evaluation.adversarial.token_rows import IdRows
from weft.models.common.encoder_decoder import Tokens
from weft.models.common.guided_decoding import encode_rows

ENCODED_AT_ONCE = 4096  # sentences read at a time: the states of all their words are held meanwhile
SKETCH, SKETCH_SEED = 512, 1


class FrozenReader:
    """Reads sentences once, for all evaluators and opponents.

    A sentence's vector has three kinds side by side: the state of the forward encoder, that of the backward encoder,
    and a sketch of its tokens. The sketch is a sum of random vectors, rare tokens weighing more, so that cosines of
    sketches are near the cosines of weighted bags of words: encoders forget names, and a name that comes again is what
    ties many sentences together.

    Args:
        reader: A Seq2Seq.
        seen: [vocabulary] how often people wrote each token.
        tokenizer: What the ids mean.
        device: Where the reader's networks are.
    """

    def __init__(self, reader: Any, seen: npt.NDArray[np.int64], tokenizer: Tokenizer, device: torch.device) -> None:
        networks = reader.networks()
        self.encoders = [networks[part] for part in ("forward", "backward")]
        self.pad, self.device = tokenizer.pad_id, device
        counts = seen + 1.0  # [vocabulary]
        rarity = torch.from_numpy(np.log(counts.sum() / counts)).float()
        signs = torch.randn(len(rarity), SKETCH, generator=torch.Generator().manual_seed(SKETCH_SEED)).sign()
        self.sketches = (rarity[:, None] * signs).to(device)  # [vocabulary, sketch]
        self.groups = (*(2 * network.architecture.hidden for network in self.encoders), SKETCH)

    @torch.inference_mode()
    def __call__(self, rows: IdRows) -> Tensor:
        """[sentences, size], in half precision."""
        parts = [torch.zeros(0, sum(self.groups), device=self.device).half()]
        for start in range(0, len(rows), ENCODED_AT_ONCE):
            ids, lengths = rows.padded(np.arange(start, min(start + ENCODED_AT_ONCE, len(rows))), self.pad)
            tokens = Tokens(torch.from_numpy(ids).to(self.device), torch.from_numpy(lengths).to(self.device))
            kinds = [encode_rows(network, tokens)[1].float() for network in self.encoders]
            parts.append(torch.cat([*kinds, self._sketched(tokens)], dim=1).half())
        return torch.cat(parts)

    def _sketched(self, tokens: Tokens) -> Tensor:
        """[sentences, sketch], of length 1."""
        real = torch.arange(tokens.ids.shape[1], device=self.device) < tokens.lengths[:, None]
        flat, ends = tokens.ids[real], tokens.lengths.cumsum(0)
        sums = functional.embedding_bag(flat, self.sketches, ends - tokens.lengths, mode="sum")
        return functional.normalize(sums, dim=1)
