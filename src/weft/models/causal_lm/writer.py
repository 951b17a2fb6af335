"""Writing the next sentence with a causal language model.

Such a model has no token for the end of a sentence. A sentence ends where the sentence splitter finds a boundary
between the text so far and its likeliest continuation. The probability of the end is then the sum over all tokens that
would begin the next sentence: those that begin with white space, except before a small letter. Beams and samples thus
end together, and none is spent on different beginnings of the next sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from weft.corpora.text.sentences import split_sentences
from weft.generation.decoding import Candidate, Hypotheses, search
from weft.generation.decoding_settings import Decoding
from weft.models.causal_lm.predictor import CausalPredictor, Ids

SPACES = "Ġ▁Ċĉč"  # how byte-level BPE and SentencePiece write white space at the beginning of a token
LINE_BREAKS = ("Ċ", "č", "\n", "\r", "<0x0A>", "<0x0D>")
UNSPACED = "。！？"  # ends after which no space follows
NAME = "Brown"  # follows an abbreviation, or begins a sentence
UNFINISHED = frozenset(",;:-–—")  # marks that never end a sentence


@dataclass(frozen=True, slots=True)
class TokenKinds:
    """What the tokens of a vocabulary do to a sentence; each [vocabulary]."""

    begins: Tensor  # may begin the next sentence
    spaced: Tensor  # begins with white space
    never: Tensor  # is never written: a special token, or one with a line break

    @staticmethod
    def of(tokenizer: Any, size: int, device: torch.device) -> TokenKinds:
        """Return the kinds of the tokens of a network with ``size`` outputs."""
        pieces = [str(piece or "") for piece in tokenizer.convert_ids_to_tokens(range(min(size, len(tokenizer))))]
        special = set(tokenizer.all_special_ids)
        rows = [(*_kinds(piece), number in special) for number, piece in enumerate(pieces)]
        rows += [(False, False, False, True)] * (size - len(rows))
        spaced, small, broken, barred = torch.tensor(rows, dtype=torch.bool, device=device).unbind(dim=1)
        ends = (spaced & ~small) | broken
        if tokenizer.eos_token_id is not None:
            ends[tokenizer.eos_token_id] = True
        return TokenKinds(ends if spaced.any() else ~barred, spaced, barred | broken)


def _kinds(piece: str) -> tuple[bool, bool, bool]:
    """Return whether a token begins with white space, has a small letter after it, and has a line break.

    Example:
        >>> _kinds("ĠThe"), _kinds("▁and"), _kinds("Ċ"), _kinds("ing")
        ((True, False, False), (True, True, False), (True, False, True), (False, False, False))
    """
    spaced = piece[:1] in SPACES if piece else False
    return spaced or piece[:1].isspace(), spaced and piece[1:2].islower(), any(mark in piece for mark in LINE_BREAKS)


@dataclass(frozen=True, slots=True)
class _WritingState:
    """The network's cache of the rows, the tokens that each row has written, and the next token to read first."""

    cache: Any
    ids: Tensor  # [rows, written]
    first: int | None  # the last token of the context, which is read before the first word


class WritingSteps:
    """A causal language model that writes one token at a time; satisfies `weft.generation.decoding.Steps`.

    The id after the vocabulary stands for the end of the sentence.

    Args:
        predictor: The network and its tokenizer.
        kinds: The kinds of its tokens.
        context: The tokens before the sentence, at least one.
        spaced: Whether the sentence must begin with white space.
        min_tokens: Number of tokens before the first possible end.
        language: Language of the sentence splitter.
    """

    forbidden: tuple[int, ...] = ()

    def __init__(
        self,
        predictor: CausalPredictor,
        kinds: TokenKinds,
        context: Ids,
        *,
        spaced: bool,
        min_tokens: int,
        language: str = "en",
    ) -> None:
        self.predictor, self.kinds, self.context, self.language = predictor, kinds, context, language
        self.spaced, self.min_tokens = spaced, min_tokens
        self.bos, self.eos = 0, len(kinds.never)  # `bos` is not read: the context comes before the first word

    def begin(self, rows_each: int) -> _WritingState:
        """Return the state after the context, which is read once for all rows."""
        cache = self.predictor.remember(self.context[:-1]) if len(self.context) > 1 else None
        if cache is not None:
            cache.batch_repeat_interleave(rows_each)
        empty = torch.empty((rows_each, 0), dtype=torch.long, device=self.predictor.device)
        return _WritingState(cache, empty, self.context[-1])

    def advance(self, state: _WritingState, words: Tensor) -> tuple[Tensor, _WritingState]:
        """Read the last token of all rows in one pass; return log-probabilities of the next and the new state."""
        started = state.first is None
        read = words.masked_fill(words == self.eos, 0) if started else torch.full_like(words, state.first or 0)
        output = self.predictor.network(input_ids=read[:, None], past_key_values=state.cache, use_cache=True)
        values = output.logits[:, -1].float().log_softmax(dim=1)  # [rows, vocabulary]
        ids = torch.cat([state.ids, words[:, None]], dim=1) if started else state.ids
        return self._with_ends(values, ids), _WritingState(output.past_key_values, ids, None)

    def select(self, state: _WritingState, rows: Tensor) -> _WritingState:
        """Return the state of some rows."""
        state.cache.reorder_cache(rows)
        return _WritingState(state.cache, state.ids[rows], state.first)

    keep = select

    def _with_ends(self, values: Tensor, ids: Tensor) -> Tensor:
        """Return log-probabilities with those of the end, and −∞ for tokens not written: [rows, vocabulary + 1]."""
        never, begins = self.kinds.never, self.kinds.begins
        ends = torch.full((len(values), 1), -torch.inf, device=values.device)
        found = values.masked_fill(never, -torch.inf)
        if not ids.shape[1] and self.spaced:
            found = found.masked_fill(~self.kinds.spaced, -torch.inf)
        if ids.shape[1] >= self.min_tokens:
            for row in self._finished(values, ids):
                ends[row] = values[row].masked_fill(~begins, -torch.inf).logsumexp(dim=0)
                found[row] = found[row].masked_fill(begins, -torch.inf)
        return torch.cat([found, ends], dim=1)

    def _finished(self, values: Tensor, ids: Tensor) -> list[int]:
        """Return the rows whose text is a whole sentence if the likeliest beginning of another follows."""
        decode = self.predictor.ids.tokenizer.decode
        following = values.masked_fill(~self.kinds.begins | self.kinds.never, -torch.inf).argmax(dim=1).tolist()
        rows = []
        for row, (written, after) in enumerate(zip(ids.tolist(), following, strict=True)):
            if written[-1] == self.eos:
                continue
            text = decode(written, clean_up_tokenization_spaces=False).strip()
            if not text or text[-1].isalnum() or text[-1] in UNFINISHED:
                continue
            probe = decode([after], clean_up_tokenization_spaces=False).strip() or NAME
            if text[-1] in UNSPACED or split_sentences(f"{text} {probe}", self.language)[0] == text:
                rows.append(row)
        return rows


class CausalWriter:
    """Proposes next sentences with a causal language model; satisfies `weft.generation.continuation.Writer`.

    Args:
        predictor: The network and its tokenizer.
        language: Language of the sentence splitter.
    """

    def __init__(self, predictor: CausalPredictor, language: str = "en") -> None:
        self.predictor, self.language = predictor, language
        outputs = predictor.network.config.get_text_config().vocab_size
        self.kinds = TokenKinds.of(predictor.ids.tokenizer, outputs, predictor.device)

    @torch.inference_mode()
    def propose(self, contexts: Sequence[Sequence[str]], decoding: Decoding) -> list[list[Candidate]]:
        """Return next sentences for each context, best first; only sentences that end within ``max_tokens``.

        The candidates of a context are written in one batch. A context that is too long for the network loses its
        first sentences.
        """
        most = self.predictor.longest - len(self.predictor.ids.start) - 1
        longest = max(1, min(decoding.max_tokens, most))
        chosen = replace(decoding, max_tokens=longest, min_tokens=min(decoding.min_tokens, longest))
        return [self._one(context, chosen) for context in contexts]

    def _one(self, context: Sequence[str], decoding: Decoding) -> list[Candidate]:
        spaced = bool(context) and context[-1][-1:] not in UNSPACED and bool(self.kinds.spaced.any())
        steps = WritingSteps(
            self.predictor, self.kinds, self._context(context, decoding.max_tokens), spaced=spaced,
            min_tokens=decoding.min_tokens, language=self.language,
        )  # fmt: skip
        return self._candidates(search(steps, 1, decoding, self.predictor.device), steps.eos)

    def _context(self, sentences: Sequence[str], longest: int) -> Ids:
        """Return the tokens of as many of the last sentences as leave room for a sentence."""
        ids = self.predictor.ids
        room = self.predictor.longest - len(ids.start) - longest
        found: Ids = []
        for number, sentence in reversed(list(enumerate(sentences))):
            tokens = ids.of(sentence, first=number == 0)
            if len(tokens) + len(found) > room:
                return ids.start + (found or tokens[len(tokens) - room :])
            found = tokens + found
        return ids.start + found

    def _candidates(self, found: Hypotheses, eos: int) -> list[Candidate]:
        """Return the finished sentences of a search, without duplicates."""
        decode = self.predictor.ids.tokenizer.decode
        rows = zip(found.ids[0].tolist(), found.log_probs[0].tolist(), found.lengths[0].tolist(), strict=True)
        candidates: dict[str, Candidate] = {}
        for ids, log_prob, length in rows:
            text = decode([one for one in ids if one != eos], clean_up_tokenization_spaces=False)
            sentences = split_sentences(text, self.language)
            # More than one sentence: the first was shorter than `min_tokens`.
            if log_prob > -torch.inf and len(sentences) == 1:
                candidates.setdefault(sentences[0], Candidate(sentences[0], log_prob, int(length)))
        return list(candidates.values())
