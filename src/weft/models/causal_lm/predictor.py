"""Log-probabilities of sentences given all previous sentences, under a causal language model."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from weft.corpora.text.text_limits import readable_sentence
from weft.document import Window
from weft.errors import ConfigError
from weft.models.common.partial_orders import spread, unplaced

Reals = npt.NDArray[np.float64]
Ids = list[int]
ANCHOR = "a"  # a sentence is tokenised after this text, so that its first token includes the space
SEPARATOR = "<|endoftext|>"  # separates training texts in many models; their bos token is a chat marker
CACHED = 16384  # sentences whose tokens are kept
LOGITS = {"cpu": 2**26, "cuda": 2**28}  # tokens times vocabulary in a batch: 256 MiB and 1 GiB


class SentenceIds:
    """Token ids of sentences, at the beginning of a text and inside one.

    Sentences are tokenised one by one and joined, so that a text is a prefix of its continuations in tokens too.

    Args:
        tokenizer: A tokenizer of transformers.
        start: Token or text that precedes every text; empty: the model's own separator of texts.
    """

    def __init__(self, tokenizer: Any, start: str = "") -> None:
        self.tokenizer = tokenizer
        self.start = self._start(start)
        self.anchor = self._encode(ANCHOR)
        self.cache: dict[tuple[str, bool], Ids] = {}

    def of(self, sentence: str, *, first: bool) -> Ids:
        """Return the tokens of a sentence, with a space before it unless it is the first of a text."""
        key = sentence, first
        if key not in self.cache:
            if len(self.cache) >= CACHED:
                self.cache.clear()
            read = readable_sentence(sentence)
            self.cache[key] = self._encode(read) if first else self._inside(read)
        return self.cache[key]

    def text(self, sentences: Sequence[str]) -> list[Ids]:
        """Return the tokens of each sentence of a text."""
        return [self.of(sentence, first=place == 0) for place, sentence in enumerate(sentences)]

    def _inside(self, sentence: str) -> Ids:
        whole = self._encode(f"{ANCHOR} {sentence}")
        size = len(self.anchor)
        return whole[size:] if whole[:size] == self.anchor else self._encode(f" {sentence}")

    def _encode(self, text: str) -> Ids:
        # The name of a special token inside a text is plain text.
        return list(self.tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"])

    def _start(self, start: str) -> Ids:
        vocabulary = self.tokenizer.get_vocab()
        own = (SEPARATOR if SEPARATOR in vocabulary else None, self.tokenizer.bos_token, self.tokenizer.eos_token)
        chosen = start or next((token for token in own if token), "")
        found = [vocabulary[chosen]] if chosen in vocabulary else self._encode(chosen)
        if not found:
            raise ConfigError(
                "this model has no token that can precede a text",
                seen=start or "none",
                allowed="a token of its vocabulary, or any text",
                next_step="set `start`, for example to a line break",
            )
        return found


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a text that is read at once."""

    ids: Ids  # its tokens, after some tokens of the previous part
    overlap: int  # number of tokens of the previous part


class CausalPredictor:
    """Computes log p(s_n | s_1 … s_{n−1}) of the sentences of a text, in several orders.

    Args:
        network: A causal language model of transformers.
        ids: Tokenises sentences.
        longest: Number of tokens read at once; in longer texts each token has at least half as many as context.
        batch_tokens: Number of tokens in a batch of texts, padding included; 0: what memory allows.
    """

    def __init__(self, network: Any, ids: SentenceIds, *, longest: int = 2048, batch_tokens: int = 0) -> None:
        self.network, self.ids, self.batch_tokens = network, ids, batch_tokens
        positions = network.config.get_text_config().to_dict().get("max_position_embeddings") or longest
        self.longest = max(min(longest, positions), len(ids.start) + 2)

    @property
    def device(self) -> torch.device:
        """The device of the network."""
        found: torch.device = self.network.device
        return found

    def token_counts(self, sentences: Sequence[str]) -> list[int]:
        """Return the number of tokens of each sentence inside a text; there is no end-of-sentence token."""
        return [max(1, len(self.ids.of(sentence, first=False))) for sentence in sentences]

    def log_prob(self, windows: Sequence[Window]) -> list[float]:
        """Return log p(target | context), summed over tokens; without context, the target is a text of its own."""
        texts = [self.ids.text([*window.context, window.target]) for window in windows]
        return [float(values[-1]) for values in self._of_texts(texts)]

    def log_probs(self, sentences: Sequence[str], orders: Sequence[Sequence[int]]) -> list[Reals]:
        """Return, for each order, the log-probabilities of its sentences except the first: [sentences − 1] each."""
        texts = [self.ids.text([sentences[place] for place in order]) for order in orders]
        return [values[1:] for values in self._of_texts(texts)]

    def _of_texts(self, texts: Sequence[Sequence[Ids]]) -> list[Reals]:
        """Return the sums over the tokens of each sentence: [sentences] for each text."""
        values = self.of_tokens([[token for sentence in text for token in sentence] for text in texts])
        return [_sums(one, [len(sentence) for sentence in text]) for one, text in zip(values, texts, strict=True)]

    def of_tokens(self, texts: Sequence[Ids]) -> list[Reals]:
        """Return log p of each token given those before it, [tokens] for each text; equal texts are read once."""
        distinct = list(dict.fromkeys(map(tuple, texts)))
        pieces = [(text, piece) for text in distinct for piece in self._pieces(list(text))]
        found: dict[tuple[int, ...], list[Reals]] = {text: [np.zeros(0)] for text in distinct}
        values = self.read([piece.ids for _, piece in pieces])
        for (text, piece), one in zip(pieces, values, strict=True):
            found[text].append(one[piece.overlap - 1 :])
        return [np.concatenate(found[tuple(text)]) for text in texts]

    def _pieces(self, text: Ids) -> Iterator[_Piece]:
        """Yield the parts of a text that the network can read at once; each begins with the end of the previous."""
        start = self.ids.start
        room = self.longest - len(start)
        done = 0
        while done < len(text):
            begin = 0 if len(text) <= room else max(0, done - room // 2)
            piece = start + text[begin : begin + room]
            yield _Piece(piece, len(start) + done - begin)
            done = begin + len(piece) - len(start)

    @torch.inference_mode()
    def read(self, rows: Sequence[Ids], past: Any = None) -> list[Reals]:
        """Return log p of each token of each row except the first, given the cache ``past``: [tokens − 1] each."""
        found: dict[int, Reals] = {}
        for places in self._batches([len(row) for row in rows]):
            length = max(len(rows[place]) for place in places)
            ids = torch.zeros(len(places), length, dtype=torch.long)  # [rows, time]
            mask = torch.zeros_like(ids)
            for number, place in enumerate(places):
                ids[number, : len(rows[place])] = torch.tensor(rows[place])
                mask[number, : len(rows[place])] = 1
            values = self._token_values(ids.to(self.device), mask.to(self.device), past)  # [rows, time − 1]
            found |= {place: values[number, : len(rows[place]) - 1] for number, place in enumerate(places)}
        return [found[place] for place in range(len(rows))]

    def _token_values(self, ids: Tensor, mask: Tensor, past: Any) -> Reals:
        options: dict[str, Any] = {"use_cache": False}
        if past is not None:
            cache = copy.deepcopy(past)
            cache.batch_repeat_interleave(len(ids))
            before = torch.ones(len(ids), past.get_seq_length(), dtype=mask.dtype, device=mask.device)
            mask, options = torch.cat([before, mask], dim=1), {"use_cache": True, "past_key_values": cache}
        logits = self.network(input_ids=ids, attention_mask=mask, **options).logits[:, :-1]  # [rows, time − 1, words]
        losses = cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten(), reduction="none")
        values: Reals = -losses.view(ids.shape[0], -1).double().cpu().numpy()
        return values

    def _batches(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Yield batches of rows of similar length."""
        vocabulary = self.network.get_input_embeddings().num_embeddings
        most = self.batch_tokens or LOGITS.get(self.device.type, LOGITS["cpu"]) // vocabulary
        batch: list[int] = []
        for place in sorted(range(len(lengths)), key=lambda place: lengths[place]):
            if batch and (len(batch) + 1) * lengths[place] > most:
                yield batch
                batch = []
            batch.append(place)
        if batch:
            yield batch

    @torch.inference_mode()
    def remember(self, tokens: Ids, past: Any = None) -> Any:
        """Return the network's cache after it has read some tokens."""
        ids = torch.tensor([tokens], device=self.device)  # [1, time]
        return self.network(input_ids=ids, past_key_values=copy.deepcopy(past), use_cache=True).past_key_values


@dataclass(frozen=True, slots=True)
class _Path:
    """A partial order: its sentences, its tokens, and the network's cache of all tokens except the last."""

    sentences: tuple[int, ...]
    tokens: Ids
    past: Any


class GrowingTexts:
    """Computes log p(next sentence | partial order) of growing partial orders of one text, with the cache of each."""

    def __init__(self, predictor: CausalPredictor, sentences: Sequence[str]) -> None:
        self.predictor, self.size = predictor, len(sentences)
        self.first = [predictor.ids.of(sentence, first=True) for sentence in sentences]
        self.inside = [predictor.ids.of(sentence, first=False) for sentence in sentences]
        self.room = predictor.longest - max(map(len, self.inside), default=0)

    def begin(self, firsts: Sequence[int]) -> None:
        """Start one path with each of these sentences."""
        start = self.predictor.ids.start
        self.paths = [self._path((first,), start + self.first[first], start, None) for first in firsts]

    def log_probs(self) -> Reals:
        """Return log p of each sentence after each path, 0 for those in the path: [paths, sentences]."""
        left = unplaced([path.sentences for path in self.paths], self.size)  # [paths, left]
        values = np.array([self._after(path, columns) for path, columns in zip(self.paths, left.tolist(), strict=True)])
        return spread(values.reshape(left.shape), left, self.size)

    def keep(self, rows: Sequence[int], columns: Sequence[int]) -> None:
        """Keep some paths and add one sentence to each."""
        grown = []
        for row, column in zip(rows, columns, strict=True):
            path = self.paths[row]
            tokens = path.tokens + self.inside[column]
            grown.append(self._path((*path.sentences, column), tokens, path.tokens, path.past))
        self.paths = grown

    def _path(self, sentences: tuple[int, ...], tokens: Ids, before: Ids, past: Any) -> _Path:
        """Return a path; ``past`` holds its tokens up to ``before``, except the last of them."""
        finished, too_long = len(sentences) == self.size, len(tokens) > self.room
        if finished or too_long or len(tokens) < 2:
            return _Path(sentences, tokens, None)
        fresh = tokens[:-1] if past is None else tokens[len(before) - 1 : -1]
        return _Path(sentences, tokens, self.predictor.remember(fresh, past) if fresh else past)

    def _after(self, path: _Path, columns: Sequence[int]) -> list[float]:
        """Return log p of each of these sentences after one path."""
        candidates = [self.inside[column] for column in columns]
        if path.past is not None:
            values = self.predictor.read([path.tokens[-1:] + candidate for candidate in candidates], path.past)
        else:
            text = path.tokens[len(self.predictor.ids.start) :]
            whole = self.predictor.of_tokens([text + candidate for candidate in candidates])
            values = [one[len(text) :] for one in whole]
        return [float(one.sum()) for one in values]


def _sums(values: Reals, lengths: Sequence[int]) -> Reals:
    """Return the sums over consecutive spans of these lengths."""
    ends = np.cumsum([0, *lengths]).tolist()
    return np.array([values[begin:end].sum() for begin, end in pairwise(ends)])
