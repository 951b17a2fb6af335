"""Decoding of sentences that are guided by a vector, for HMM-LDA-GM and VLV-GM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from weft.generation.decoding import Candidate, search
from weft.generation.decoding_settings import Decoding
from weft.models.common.neural.encoder_decoder import Seq2SeqNetwork, Tokens
from weft.models.common.neural.sentence_predictor import PredictorSteps, by_length, candidates_of, lengths_of, padded
from weft.models.common.neural.source_memory import Sources
from weft.models.common.token_cache import TokenCache


@dataclass(frozen=True, slots=True)
class ReadText:
    """The encoded sentences of a text."""

    ids: list[list[int]]  # token ids of each sentence
    tokens: Tokens  # token ids on the device, padded
    lengths: npt.NDArray[np.int64]  # number of tokens of each sentence: [sentences]
    sources: Sources  # the encoded sentences, for decoders
    vectors: Tensor  # the final states of the encoder: [sentences, 2 · hidden]


class GuidedDecoder:
    """An encoder-decoder over the sentences of a text."""

    def __init__(self, network: Seq2SeqNetwork, ids: TokenCache) -> None:
        self.network, self.ids = network, ids

    @property
    def device(self) -> torch.device:
        """The device of the network."""
        return self.network.embedding.weight.device

    def read(self, sentences: Sequence[str]) -> ReadText:
        """Encode the sentences of a text, in groups of similar length."""
        encoded = self.ids.to_read(sentences)
        sources, vectors = encode_rows(self.network, padded(encoded, self.network.pad, self.device))
        ids = self.ids(sentences)
        tokens = padded(ids, self.network.pad, self.device)
        return ReadText(ids, tokens, lengths_of(ids), sources, vectors)

    def read_tokens(self, tokens: Tokens) -> ReadText:
        """Encode sentences that are on the device, none of them empty; `ids` of the result is empty."""
        sources, vectors = encode_rows(self.network, tokens)
        return ReadText([], tokens, tokens.lengths.cpu().numpy(), sources, vectors)

    def log_probs(self, read: ReadText, sources: Tensor, targets: Tensor, guide: Tensor | None = None) -> Tensor:
        """Return log p(target | guide, source), decoded in groups of similar length.

        Args:
            read: The encoded text.
            sources: Number of the source sentence of each row: [rows].
            targets: Number of the target sentence of each row: [rows].
            guide: Guiding vectors, if the network has a guide: [rows, guide].

        Returns:
            Log-probabilities, summed over tokens, ``</s>`` included: [rows].
        """
        values = torch.empty(len(targets), device=self.device)
        lengths = read.lengths[targets.cpu().numpy()]  # [rows]
        for chosen in by_length(lengths, self.device):
            rows, longest = chosen.to(self.device), int(lengths[chosen].max())
            wanted = targets[rows]
            part = Tokens(read.tokens.ids[wanted, :longest], read.tokens.lengths[wanted])
            memory = read.sources.select(sources[rows])
            values[rows] = self.network.log_prob(memory, part, None if guide is None else guide[rows]).float()
        return values

    def write(self, read: ReadText, sources: Tensor, guide: Tensor, decoding: Decoding) -> list[list[Candidate]]:
        """Return several sentences that follow the source of each row, best first; rows are as in `log_probs`."""
        tokenizer = self.ids.tokenizer
        steps = PredictorSteps(self.network, read.sources, len(sources), tokenizer, owners=sources, guide=guide)
        return candidates_of(search(steps, len(sources), decoding, self.device), tokenizer)


def encode_rows(network: Seq2SeqNetwork, tokens: Tokens) -> tuple[Sources, Tensor]:
    """Return encoded sentences and their vectors [sentences, 2 · hidden], encoded in groups of similar length.

    Both are empty for a network without an encoder.
    """
    lengths = tokens.lengths.cpu().numpy()  # [sentences]
    if network.encoder is None or not len(lengths):
        return Sources(), tokens.ids.new_zeros((len(lengths), 0), dtype=torch.float32)
    groups = list(by_length(lengths, tokens.ids.device))
    memories = []
    for chosen in groups:
        rows, longest = chosen.to(tokens.ids.device), int(lengths[chosen].max())
        memories.append(network.encode(Tokens(tokens.ids[rows, :longest], tokens.lengths[rows])))
    order = torch.cat(groups).to(tokens.ids.device)
    starts = [torch.cat([part[0] for part in memory.start], dim=-1) for memory in memories if memory.start]
    return Sources.of(memories, order), torch.cat(starts)[order.argsort()]
