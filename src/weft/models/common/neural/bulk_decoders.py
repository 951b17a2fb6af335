"""Decoders of token ids on a device, shared by the bulk writers of all generative models."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from weft.corpora.text.tokenizers import Tokenizer
from weft.generation.bulk_writing import Contexts, Proposals
from weft.generation.decoding import Hypotheses, search
from weft.generation.decoding_settings import Decoding
from weft.models.common.neural.encoder_decoder import Seq2SeqNetwork, Tokens
from weft.models.common.neural.guided_decoding import GuidedDecoder, ReadText
from weft.models.common.neural.sentence_predictor import Predictor, PredictorSteps, padded
from weft.models.common.token_cache import TokenCache
from weft.scoring.uni_bi_mmi import PairLogProbs


class BulkDecoders:
    """A forward model, a backward model and a language model that decode token ids."""

    def __init__(
        self, tokenizer: Tokenizer, forward: Seq2SeqNetwork, backward: Seq2SeqNetwork, prior: Predictor
    ) -> None:
        self.tokenizer = tokenizer
        ids = TokenCache(tokenizer)
        self.forward, self.backward = GuidedDecoder(forward, ids), GuidedDecoder(backward, ids)
        self.prior = GuidedDecoder(prior.network, ids)

    @property
    def device(self) -> torch.device:
        """The device of the networks."""
        return self.forward.device

    def last_sentences(self, contexts: Contexts) -> Tokens:
        """Return the last sentences of the contexts."""
        return self.tokens([context[-1] for context in contexts])

    def tokens(self, sentences: Sequence[Sequence[int]]) -> Tokens:
        """Return sentences on the device; an empty sentence is read as its end token."""
        return padded([ids or [self.tokenizer.eos_id] for ids in sentences], self.tokenizer.pad_id, self.device)

    def search_candidates(self, read: ReadText, owners: Tensor, guide: Tensor | None, decoding: Decoding) -> Hypotheses:
        """Return the candidates of a search; ``owners`` is the source of each context, ``guide`` its guiding vector."""
        steps = PredictorSteps(
            self.forward.network, read.sources, len(owners), self.tokenizer, owners=owners, guide=guide
        )
        return search(steps, len(owners), decoding, self.device)

    def proposals(self, found: Hypotheses, contexts: Contexts, pairs: PairLogProbs | None) -> Proposals:
        """Return candidates as arrays on the CPU."""
        sentences = self.tokens([ids for context in contexts for ids in context])
        return Proposals(
            found.ids.to(torch.int32).cpu().numpy(),
            found.lengths.long().cpu().numpy(),
            found.log_probs.double().cpu().numpy(),
            overlaps(found, sentences, self.tokenizer.vocabulary_size).double().cpu().numpy(),
            pairs,
        )

    def prior_log_probs(self, tokens: Tokens) -> Tensor:
        """Return log p_L of each sentence: [sentences]."""
        read = self.prior.read_tokens(tokens)
        rows = torch.arange(len(tokens.lengths), device=self.device)
        return self.prior.log_probs(read, rows, rows)

    def pairs(self, found: Hypotheses, last: Tokens, forward: Tensor, backward: Tensor) -> PairLogProbs:
        """Return the log-probabilities and lengths of candidates and the sentences before them."""
        contexts, beam, _ = found.ids.shape
        prior_right = self.prior_log_probs(candidate_tokens(found)).view(contexts, beam)
        prior_left = self.prior_log_probs(last)[:, None].expand(contexts, beam)
        count_left = (last.lengths + 1)[:, None].expand(contexts, beam)
        parts = forward, backward, prior_left, prior_right, count_left, found.lengths
        return PairLogProbs(*(part.double().cpu().numpy() for part in parts))

    def backward_log_probs(self, found: Hypotheses, last: Tokens, guide: Tensor | None = None) -> Tensor:
        """Return log p_B(sentence before | candidate), where the candidate is the only context: [contexts, beam]."""
        contexts, beam, _ = found.ids.shape
        rows = torch.arange(contexts * beam, device=self.device)  # candidates come first
        read = self.backward.read_tokens(joined_tokens(candidate_tokens(found), last, self.tokenizer.pad_id))
        return self.backward.log_probs(read, rows, contexts * beam + rows // beam, guide).view(contexts, beam)


def candidate_tokens(found: Hypotheses) -> Tokens:
    """Return all candidates as sentences, without their end tokens: [contexts · beam, time]."""
    lengths = (found.lengths.flatten().long() - 1).clamp(min=1)
    return Tokens(found.ids.flatten(0, 1), lengths)


def overlaps(found: Hypotheses, sentences: Tokens, vocabulary: int) -> Tensor:
    """Return the highest token overlap of each candidate with one of its context's ``sentences``: [contexts, beam]."""
    contexts, beam, _ = found.ids.shape
    written = _token_sets(candidate_tokens(found), vocabulary).view(contexts, beam, vocabulary)
    before = _token_sets(sentences, vocabulary).view(contexts, -1, vocabulary)  # [contexts, sentences, vocabulary]
    common = (written @ before.transpose(1, 2)).float()  # [contexts, beam, sentences]
    sizes = written.float().sum(dim=2)[:, :, None] + before.float().sum(dim=2)[:, None]
    return (common / (sizes - common).clamp(min=1)).amax(dim=2)


def _token_sets(tokens: Tokens, vocabulary: int) -> Tensor:
    """Return the set of ids of each sentence, 0 or 1: [sentences, vocabulary].

    Sums up to 256 are exact in both precisions.
    """
    precision = torch.bfloat16 if tokens.ids.is_cuda else torch.float32
    real = torch.arange(tokens.ids.shape[1], device=tokens.ids.device) < tokens.lengths[:, None]
    ids = torch.where(real, tokens.ids, tokens.ids[:, :1])  # padding becomes the first token
    sets = torch.zeros(len(ids), vocabulary, device=ids.device, dtype=precision)
    return sets.scatter_(1, ids, 1.0)


def joined_tokens(one: Tokens, other: Tokens, pad: int) -> Tokens:
    """Return the sentences of two batches as one batch."""
    width = max(one.ids.shape[1], other.ids.shape[1])
    ids = [torch.nn.functional.pad(part.ids, (0, width - part.ids.shape[1]), value=pad) for part in (one, other)]
    return Tokens(torch.cat(ids), torch.cat([one.lengths, other.lengths]))
