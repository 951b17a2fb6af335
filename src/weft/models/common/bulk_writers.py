"""Writing sentences for very many contexts: everything in ids on the device, no text and no Python per candidate.

`decoding` continues one text at a time and reranks candidates as texts; here a batch of contexts is searched,
and the whole list of candidates of all of them is scored, before anything comes back from the device. Candidates are
scored as the ids that were written; a text may have other ids when it is tokenised again, but hardly ever does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from weft.corpora.text.tokenizers import BpeTokenizer, Tokenizer
from weft.errors import ConfigError
from weft.generation.decoding import Decoding, Hypotheses, search
from weft.models.common.bag_of_words import make_bags
from weft.models.common.encoder_decoder import Seq2SeqNetwork, Tokens
from weft.models.common.guided_decoding import GuidedDecoder, ReadText
from weft.models.common.sentence_predictor import Predictor, PredictorSteps, padded
from weft.models.common.setting_checks import untrained
from weft.models.common.token_cache import KnownIds
from weft.models.topic.store_words import Stretches
from weft.models.topic.topic_network import TopicPredictor
from weft.models.vlv.estimators import VariationalPredictor, density_ratio
from weft.models.vlv.latent_chain import ChainState, Gaussian
from weft.scoring.pairs import PairLogProbs

Contexts = Sequence[Sequence[Sequence[int]]]  # of every context the ids of its sentences, the nearest last
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Proposals:
    """Candidates for every context, and what the models say of each with the sentence before it.

    Attributes:
        ids: [contexts, beam, time], ``eos`` from the end on.
        lengths: [contexts, beam] tokens, the end included.
        log_probs: [contexts, beam] what the search ranked by: given the latent variable, where there is one.
        overlap: [contexts, beam] the most that a candidate shares of its tokens (Jaccard) with a sentence before it.
        pairs: Each [contexts, beam]: what the reranking combines; None where only the search's own choice is wanted.
    """

    ids: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int64]
    log_probs: Reals
    overlap: Reals
    pairs: PairLogProbs | None


class BulkWriter(Protocol):
    """A model that writes for a batch of contexts that all have the same number of sentences."""

    tokenizer: Tokenizer

    @property
    def device(self) -> torch.device:
        """Where it computes."""

    def propose(self, contexts: Contexts, decoding: Decoding, *, reranked: bool) -> Proposals:
        """Candidates; with ``reranked``, with all that bi and MMI need."""


def bulk_writer(model: Any, name: str) -> BulkWriter:
    """What writes in bulk with a model's networks.

    Raises:
        ConfigError: The model cannot write.
    """
    found = getattr(model, "predictors", None)
    if found is None or not hasattr(model, "combined"):
        raise ConfigError(
            "this model cannot write", seen=name, allowed="a generative model, such as weft-small",
            next_step="change --model",
        )  # fmt: skip
    if not {"forward", "backward"} <= set(found):
        raise untrained(name)
    forward, backward = found["forward"], found["backward"]
    prior = found["prior"] if "prior" in found else getattr(model, "prior", None)
    if prior is None:
        raise untrained(name)
    if isinstance(forward, Predictor):
        return PairWriter(forward, backward, prior)
    if isinstance(forward, TopicPredictor):
        return TopicWriter(forward, backward, prior)
    return ChainWriter(forward, backward, prior, samples=model.search_estimate.samples)


class _Networks:
    """A forward, a backward and a language model as decoders of ids."""

    def __init__(
        self, tokenizer: Tokenizer, forward: Seq2SeqNetwork, backward: Seq2SeqNetwork, prior: Predictor
    ) -> None:
        self.tokenizer = tokenizer
        known = KnownIds(tokenizer)
        self.forward, self.backward = GuidedDecoder(forward, known), GuidedDecoder(backward, known)
        self.prior = GuidedDecoder(prior.network, known)

    @property
    def device(self) -> torch.device:
        """Where the networks are."""
        return self.forward.device

    def lasts(self, contexts: Contexts) -> Tokens:
        """The sentences that are continued."""
        return self.tokens([context[-1] for context in contexts])

    def tokens(self, sentences: Sequence[Sequence[int]]) -> Tokens:
        """Sentences on the device; an empty one is the end of one that has nothing before it."""
        return padded([ids or [self.tokenizer.eos_id] for ids in sentences], self.tokenizer.pad_id, self.device)

    def searched(self, read: ReadText, owners: Tensor, guide: Tensor | None, decoding: Decoding) -> Hypotheses:
        """Candidates for some rows."""
        steps = PredictorSteps(
            self.forward.network, read.sources, len(owners), self.tokenizer, owners=owners, guide=guide
        )
        return search(steps, len(owners), decoding, self.device)

    def proposals(self, found: Hypotheses, contexts: Contexts, pairs: PairLogProbs | None) -> Proposals:
        """Off the device."""
        sentences = self.tokens([ids for context in contexts for ids in context])
        return Proposals(
            found.ids.to(torch.int32).cpu().numpy(),
            found.lengths.long().cpu().numpy(),
            found.log_probs.double().cpu().numpy(),
            overlaps(found, sentences, self.tokenizer.vocabulary_size).double().cpu().numpy(),
            pairs,
        )

    def alone(self, tokens: Tokens) -> Tensor:
        """Log p_L of every sentence: [sentences]."""
        read = self.prior.read_tokens(tokens)
        rows = torch.arange(len(tokens.lengths), device=self.device)
        return self.prior.log_probs(read, rows, rows)

    def pairs(self, found: Hypotheses, last: Tokens, forward: Tensor, backward: Tensor) -> PairLogProbs:
        """All that is said of candidates and the sentence before them."""
        contexts, beam, _ = found.ids.shape
        prior_right = self.alone(candidate_tokens(found)).view(contexts, beam)
        prior_left = self.alone(last)[:, None].expand(contexts, beam)
        count_left = (last.lengths + 1)[:, None].expand(contexts, beam)
        parts = forward, backward, prior_left, prior_right, count_left, found.lengths
        return PairLogProbs(*(part.double().cpu().numpy() for part in parts))


def candidate_tokens(found: Hypotheses) -> Tokens:
    """All candidates as sentences, without their ends: [contexts · beam, time]."""
    lengths = (found.lengths.flatten().long() - 1).clamp(min=1)
    return Tokens(found.ids.flatten(0, 1), lengths)


def overlaps(found: Hypotheses, sentences: Tokens, vocabulary: int) -> Tensor:
    """The most that each candidate shares of its tokens with a sentence of its context: [contexts, beam].

    Args:
        found: The candidates.
        sentences: Of all contexts, [contexts · sentences, time].
        vocabulary: How many ids there are.
    """
    contexts, beam, _ = found.ids.shape
    written = _token_sets(candidate_tokens(found), vocabulary).view(contexts, beam, vocabulary)
    before = _token_sets(sentences, vocabulary).view(contexts, -1, vocabulary)  # [contexts, sentences, vocabulary]
    common = (written @ before.transpose(1, 2)).float()  # [contexts, beam, sentences]
    sizes = written.float().sum(dim=2)[:, :, None] + before.float().sum(dim=2)[:, None]
    return (common / (sizes - common).clamp(min=1)).amax(dim=2)


def _token_sets(tokens: Tokens, vocabulary: int) -> Tensor:
    """Which ids are in each sentence: [sentences, vocabulary]; counts up to 256 are exact in either precision."""
    precision = torch.bfloat16 if tokens.ids.is_cuda else torch.float32
    real = torch.arange(tokens.ids.shape[1], device=tokens.ids.device) < tokens.lengths[:, None]
    ids = torch.where(real, tokens.ids, tokens.ids[:, :1])  # the first token again instead of padding
    sets = torch.zeros(len(ids), vocabulary, device=ids.device, dtype=precision)
    return sets.scatter_(1, ids, 1.0)


def joined_tokens(one: Tokens, other: Tokens, pad: int) -> Tokens:
    """Sentences of two lots, one lot after the other."""
    width = max(one.ids.shape[1], other.ids.shape[1])
    ids = [torch.nn.functional.pad(part.ids, (0, width - part.ids.shape[1]), value=pad) for part in (one, other)]
    return Tokens(torch.cat(ids), torch.cat([one.lengths, other.lengths]))


class PairWriter(_Networks):
    """Seq2Seq: the sentence before is all that is read."""

    def __init__(self, forward: Predictor, backward: Predictor, prior: Predictor) -> None:
        super().__init__(forward.tokenizer, forward.network, backward.network, prior)

    @torch.inference_mode()
    def propose(self, contexts: Contexts, decoding: Decoding, *, reranked: bool) -> Proposals:
        """Candidates; what the search adds up is p_F itself."""
        last = self.lasts(contexts)
        rows = torch.arange(len(contexts), device=self.device)
        found = self.searched(self.forward.read_tokens(last), rows, None, decoding)
        if not reranked:
            return self.proposals(found, contexts, None)
        pairs = self.pairs(found, last, found.log_probs, self.backwards(found, last))
        return self.proposals(found, contexts, pairs)

    def backwards(self, found: Hypotheses, last: Tokens, guide: Tensor | None = None) -> Tensor:
        """Log p_B(sentence before | candidate): [contexts, beam]."""
        contexts, beam, _ = found.ids.shape
        rows = torch.arange(contexts * beam, device=self.device)  # candidates stand first
        read = self.backward.read_tokens(joined_tokens(candidate_tokens(found), last, self.tokenizer.pad_id))
        return self.backward.log_probs(read, rows, contexts * beam + rows // beam, guide).view(contexts, beam)


class TopicWriter(PairWriter):
    """HMM-LDA-GM: guided by the topics that all sentences before let expect; backward, by those of the candidate."""

    def __init__(self, forward: TopicPredictor, backward: TopicPredictor, prior: Predictor) -> None:
        _Networks.__init__(self, forward.ids.tokenizer, forward.network.words, backward.network.words, prior)
        self.guides, self.topics = (forward.network, backward.network), forward.model
        known = self.topics.known
        if known is None:
            raise untrained(self.topics.name)
        assert isinstance(self.tokenizer, BpeTokenizer)
        self.words, self.vocabulary = Stretches(self.tokenizer, known), len(known.words)

    def expected(self, contexts: Contexts) -> Tensor:
        """The topics of the sentence after each context: [contexts, topics]."""
        sentences = [ids for context in contexts for ids in (*context, ())]  # an empty one is predicted from the rest
        ends = np.cumsum([0, *(len(ids) for ids in sentences)])
        flat = np.fromiter((number for ids in sentences for number in ids), dtype=np.int64, count=int(ends[-1]))
        numbers, starts = self.words.numbers(flat, ends)
        offsets = np.cumsum([0, *(len(context) + 1 for context in contexts)])
        topics = self.topics.topics_of_bags(make_bags(numbers, starts, offsets, self.vocabulary), kind="predicted")
        return torch.from_numpy(topics[offsets[1:] - 1].astype(np.float32)).to(self.device)

    @torch.inference_mode()
    def propose(self, contexts: Contexts, decoding: Decoding, *, reranked: bool) -> Proposals:
        """Candidates guided by predicted topics."""
        last = self.lasts(contexts)
        guide = self.guides[0].guide(self.expected(contexts))
        rows = torch.arange(len(contexts), device=self.device)
        found = self.searched(self.forward.read_tokens(last), rows, guide, decoding)
        if not reranked:
            return self.proposals(found, contexts, None)
        written = found.ids.flatten(0, 1).tolist()
        lengths = candidate_tokens(found).lengths.tolist()
        alone = [[row[:length]] for row, length in zip(written, lengths, strict=True)]
        back = self.guides[1].guide(self.expected(alone))  # [contexts · beam, guide]
        pairs = self.pairs(found, last, found.log_probs, self.backwards(found, last, back))
        return self.proposals(found, contexts, pairs)


class ChainWriter(_Networks):
    """VLV-GM: guided by latent variables that are drawn from their prior, given all sentences before.

    Args:
        forward: The chain.
        backward: The chain that reads from the end.
        prior: The language model.
        samples: Samples of the latent variables in reranking.
    """

    def __init__(
        self, forward: VariationalPredictor, backward: VariationalPredictor, prior: Predictor, *, samples: int
    ) -> None:
        super().__init__(forward.ids.tokenizer, forward.network.words, backward.network.words, prior)
        self.chains, self.samples = (forward.network.chain, backward.network.chain), samples

    @torch.inference_mode()
    def propose(self, contexts: Contexts, decoding: Decoding, *, reranked: bool) -> Proposals:
        """Candidates: z_n is drawn ``draws`` times, and every z_n writes its share of the beam."""
        count = len(contexts)
        draws = min(decoding.draws, decoding.beam)
        each = -(-decoding.beam // draws)  # rounded up
        read = self.forward.read_tokens(self.tokens([ids for context in contexts for ids in context]))
        state = self.after(read, count)
        generator = torch.Generator(device=self.device).manual_seed(decoding.seed)
        noise = self.noise(count * draws, generator).view(count, draws, -1)
        prior = self.chains[0].predict(state)
        latent = Gaussian(prior.mean[:, None], prior.log_std[:, None]).sample(noise)  # [contexts, draws, latent]
        lasts = (torch.arange(count, device=self.device) + 1) * len(contexts[0]) - 1
        few = replace(decoding, beam=each, groups=each if decoding.method == "diverse" else decoding.groups)
        found = self.searched(read, lasts.repeat_interleave(draws), latent.flatten(0, 1), few)
        time = found.ids.shape[-1]
        found = Hypotheses(
            found.ids.view(count, draws * each, time),
            found.log_probs.view(count, draws * each),
            found.lengths.view(count, draws * each),
        )
        if not reranked:
            return self.proposals(found, contexts, None)
        last = self.lasts(contexts)
        forward = self.forwards(found, last, state, generator)
        pairs = self.pairs(found, last, forward, self.backwards(found, last, generator))
        return self.proposals(found, contexts, pairs)

    def after(self, read: ReadText, count: int) -> ChainState:
        """The chain after every context, each latent variable at its posterior's mean."""
        chain = self.chains[0]
        vectors = chain.read(read.vectors).view(count, -1, chain.memory.hidden_size)  # [contexts, sentences, width]
        state = chain.begin(vectors[:, 0])
        still = vectors.new_zeros(count, chain.latent, dtype=torch.float32)
        for place in range(1, vectors.shape[1]):
            state = chain.step(state, vectors[:, place], still).state
        return state

    def noise(self, rows: int, generator: torch.Generator) -> Tensor:
        """Standard normal: [rows, latent]."""
        return torch.randn(rows, self.chains[0].latent, generator=generator, device=self.device)

    def forwards(self, found: Hypotheses, last: Tokens, state: ChainState, generator: torch.Generator) -> Tensor:
        """Log p_F(candidate | all before), importance-weighted: [contexts, beam]."""
        contexts, beam, _ = found.ids.shape
        read = self.forward.read_tokens(joined_tokens(candidate_tokens(found), last, self.tokenizer.pad_id))
        vectors = self.chains[0].read(read.vectors[: contexts * beam])  # [candidates, width]
        rows = torch.arange(contexts * beam, device=self.device)
        begun = state.select(rows // beam)
        places = contexts * beam + rows // beam, rows
        return self.weighted(0, read, begun, vectors, places, generator).view(contexts, beam)

    def backwards(self, found: Hypotheses, last: Tokens, generator: torch.Generator) -> Tensor:
        """Log p_B(sentence before | candidate), importance-weighted: [contexts, beam]."""
        contexts, beam, _ = found.ids.shape
        read = self.backward.read_tokens(joined_tokens(candidate_tokens(found), last, self.tokenizer.pad_id))
        vectors = self.chains[1].read(read.vectors)  # [candidates + contexts, width]
        rows = torch.arange(contexts * beam, device=self.device)
        targets = contexts * beam + rows // beam
        begun = self.chains[1].begin(vectors[: contexts * beam])
        return self.weighted(1, read, begun, vectors[targets], (rows, targets), generator).view(contexts, beam)

    def weighted(
        self,
        way: int,
        read: ReadText,
        state: ChainState,
        sentences: Tensor,
        places: tuple[Tensor, Tensor],
        generator: torch.Generator,
    ) -> Tensor:
        """Log p(target | source and before) by importance sampling with the posterior: [rows].

        Args:
            way: 0 forward, 1 backward.
            read: The sentences.
            state: Before every target.
            sentences: [rows, width] the targets' vectors.
            places: Numbers of sources and of targets, [rows] each.
            generator: Of the samples.
        """
        decoder, weights = (self.forward, self.backward)[way], []
        for _ in range(self.samples):
            step = self.chains[way].step(state, sentences, self.noise(len(sentences), generator))
            weights.append(decoder.log_probs(read, *places, step.latent) + density_ratio(step))
        return torch.stack(weights).double().logsumexp(dim=0) - float(np.log(self.samples))
