"""Decoding and writing sentences, each guided by a vector: what HMM-LDA-GM and VLV-GM have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from weft.generation.decoding import Candidate, Decoding, search
from weft.models.common.neural.encoder_decoder import Seq2SeqNetwork, Tokens
from weft.models.common.neural.sentence_predictor import PredictorSteps, by_length, candidates_of, lengths_of, padded
from weft.models.common.neural.source_memory import Sources
from weft.models.common.token_cache import TokenCache


@dataclass(frozen=True, slots=True)
class ReadText:
    """The sentences of a text, read once.

    Attributes:
        ids: Of each sentence.
        tokens: The same on the device, padded.
        lengths: [sentences] in ids.
        sources: What decoders remember of them.
        vectors: [sentences, 2 · hidden], what the encoder makes of each.
    """

    ids: list[list[int]]
    tokens: Tokens
    lengths: npt.NDArray[np.int64]
    sources: Sources
    vectors: Tensor


class GuidedDecoder:
    """An encoder-decoder over the sentences of a text.

    Args:
        network: Trained, with a guide.
        ids: Sentences tokenised before.
    """

    def __init__(self, network: Seq2SeqNetwork, ids: TokenCache) -> None:
        self.network, self.ids = network, ids

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return self.network.embedding.weight.device

    def token_counts(self, sentences: Sequence[str]) -> list[int]:
        """Tokens of each sentence, ``</s>`` included."""
        return [len(ids) + 1 for ids in self.ids(sentences)]

    def read(self, sentences: Sequence[str]) -> ReadText:
        """Encode the sentences of a text, those of like length together."""
        encoded = self.ids.to_read(sentences)
        sources, vectors = encode_rows(self.network, padded(encoded, self.network.pad, self.device))
        ids = self.ids(sentences)
        tokens = padded(ids, self.network.pad, self.device)
        return ReadText(ids, tokens, lengths_of(ids), sources, vectors)

    def read_tokens(self, tokens: Tokens) -> ReadText:
        """The same for sentences that are on the device already, none of them empty; their ids are not listed."""
        sources, vectors = encode_rows(self.network, tokens)
        return ReadText([], tokens, tokens.lengths.cpu().numpy(), sources, vectors)

    def log_probs(self, read: ReadText, sources: Tensor, targets: Tensor, guide: Tensor | None = None) -> Tensor:
        """Log p(target | guide, source), decoded in groups of like length.

        Args:
            read: The text.
            sources: [rows] numbers of sentences.
            targets: [rows].
            guide: [rows, guide], where the network has a guide.

        Returns:
            [rows], summed over tokens, ``</s>`` included.
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
        """Search for sentences that follow their source.

        Args:
            read: The text.
            sources: [rows] numbers of sentences.
            guide: [rows, guide].
            decoding: How.

        Returns:
            For every row several sentences, best first; their log-probabilities are given the guide.
        """
        tokenizer = self.ids.tokenizer
        steps = PredictorSteps(self.network, read.sources, len(sources), tokenizer, owners=sources, guide=guide)
        return candidates_of(search(steps, len(sources), decoding, self.device), tokenizer)


def encode_rows(network: Seq2SeqNetwork, tokens: Tokens) -> tuple[Sources, Tensor]:
    """What decoders remember of sentences, and the sentences' vectors [sentences, 2 · hidden]; like lengths together.

    A network without an encoder remembers nothing, and has no vectors.
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
