"""Sentence vectors for evaluators: states of frozen encoders, and a sketch of the words."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from weft.corpora.text.tokenizers import Tokenizer
from weft.errors import ConfigError
from weft.evaluation.adversarial.token_rows import TokenRows
from weft.hub import load_model
from weft.models.common.neural.encoder_decoder import Tokens
from weft.models.common.neural.guided_decoding import encode_rows
from weft.protocols import NetworkModel

ENCODED_AT_ONCE = 4096  # sentences; the states of all their words are in memory at the same time
SKETCH, SKETCH_SEED = 512, 1


def load_reader(name: str) -> NetworkModel:
    """Return the model that `evaluator.reader` names.

    Raises:
        ConfigError: There is no such model, or it is no trained Seq2Seq.
    """
    reader = load_model(name)
    if not isinstance(reader, NetworkModel) or not {"forward", "backward", "prior"} <= set(reader.networks()):
        raise ConfigError(
            "the evaluator's reader has no encoders",
            seen=name,
            allowed="a trained Seq2Seq, such as seq2seq",
            next_step="change evaluator.reader",
        )
    return reader


class SentenceEncoder:
    """Encodes sentences with a reader's networks, which are not trained further.

    A vector has three groups side by side: the state of the forward encoder, that of the backward encoder, and a
    sketch of the tokens. The sketch is a sum of random vectors in which rare tokens weigh more, so that cosines of
    sketches approximate cosines of weighted bags of words. It represents names, which encoder states often lose;
    repeated names connect many sentences. Occurrences of tokens in human text are ``token_counts`` [vocabulary].
    """

    def __init__(
        self, reader: NetworkModel, token_counts: npt.NDArray[np.int64], tokenizer: Tokenizer, device: torch.device
    ) -> None:
        networks: dict[str, Any] = dict(reader.networks())
        self.encoders = [networks[part] for part in ("forward", "backward")]
        self.pad, self.device = tokenizer.pad_id, device
        counts = token_counts + 1.0  # [vocabulary]
        rarity = torch.from_numpy(np.log(counts.sum() / counts)).float()
        signs = torch.randn(len(rarity), SKETCH, generator=torch.Generator().manual_seed(SKETCH_SEED)).sign()
        self.sketches = (rarity[:, None] * signs).to(device)  # [vocabulary, sketch]
        self.groups = (*(2 * network.architecture.hidden for network in self.encoders), SKETCH)

    @torch.inference_mode()
    def __call__(self, rows: TokenRows) -> Tensor:
        """Return the vectors of sentences in half precision: [sentences, size]."""
        parts = [torch.zeros(0, sum(self.groups), device=self.device).half()]
        for start in range(0, len(rows), ENCODED_AT_ONCE):
            ids, lengths = rows.padded(np.arange(start, min(start + ENCODED_AT_ONCE, len(rows))), self.pad)
            tokens = Tokens(torch.from_numpy(ids).to(self.device), torch.from_numpy(lengths).to(self.device))
            kinds = [encode_rows(network, tokens)[1].float() for network in self.encoders]
            parts.append(torch.cat([*kinds, self._sketches(tokens)], dim=1).half())
        return torch.cat(parts)

    def _sketches(self, tokens: Tokens) -> Tensor:
        """Return sketches of length 1: [sentences, sketch]."""
        real = torch.arange(tokens.ids.shape[1], device=self.device) < tokens.lengths[:, None]
        flat, ends = tokens.ids[real], tokens.lengths.cumsum(0)
        sums = functional.embedding_bag(flat, self.sketches, ends - tokens.lengths, mode="sum")
        return functional.normalize(sums, dim=1)
