"""Write the surprise of every sentence of a store under a causal language model, for the head `surprise` of a reader.

    weft prepare train-0*.jsonl.xz --out stores/reader --tokenizer minilm/tokenizer.json
    python tools/teach_surprise.py train-0*.jsonl.xz --store stores/reader --model models/smollm2-135m
        [--held-out test.jsonl] [--context 1024] [--batch-tokens 32768] [--device cuda] [--dtype bfloat16]
        [--workers 8] [--check-every 100] [--limit 100000] [--every 2]
    python tools/teach_surprise.py --store stores/reader --copy stores/genres

Name the inputs and the held-out files of the `weft prepare` command, in its order. They are read again and compared
with the store: the hash of each file, the number of sentences of each paragraph, and the tokens of every 100th
sentence. The value of a sentence is its mean log-likelihood per token, in nats, given the sentences before it in its
article. A long article is read in windows of `--context` tokens that overlap by a quarter, so that every token has at
least a quarter of a window before it. The store keeps the values in `surprise.bin`.

`--copy` takes the values of another store, of the first inputs of this one, which a language model can read while the
other inputs still arrive.

The tool needs PyTorch and transformers. The model is a folder with safetensors or a GGUF file on this machine; nothing
is downloaded, and no code of a model folder is run.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from weft.corpora.process_pool import map_in_order
from weft.corpora.store.encode_chunks import Chunk
from weft.corpora.store.sentence_surprise import Teacher, copy_surprise, write_surprise
from weft.corpora.store.store_texts import AlignmentCheck, Article, ArticleSample, StoreInputs, store_inputs
from weft.corpora.store.token_store import SurpriseInfo, TokenStore
from weft.corpora.text.tokenizers import tokenizer_from_text
from weft.errors import ConfigError, WeftError
from weft.io.cpu_cores import usable_cores
from weft.io.file_hash import sha256_of
from weft.models.causal_lm.model_files import Place, find_causal, read_causal
from weft.models.causal_lm.predictor import ANCHOR, SentenceIds

CHUNK_CHARACTERS = 2**20
BUFFERED_BATCHES = 128  # sorted by length together, so that a batch has little padding; progress is shown after them
LOGITS_AT_ONCE = 2**29  # tokens times vocabulary that are converted to float32 at once: 2 GiB
DTYPES = ("float32", "bfloat16", "float16")
OVERLAP = 4  # a window begins with this part of the window before it

Whole = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TokenChunk:
    """Some articles as tokens of the language model.

    Attributes:
        ids: All tokens, without the token that precedes a text: [tokens].
        sentences: Tokens of each: [sentences].
        articles: Sentences of each: [articles].
        sample: What is compared with the store.
    """

    ids: npt.NDArray[np.int32]
    sentences: Whole
    articles: Whole
    sample: ArticleSample

    def first(self, sentences: int) -> TokenChunk:
        """Return the first articles, with at least this number of sentences if there are as many."""
        count = int(np.searchsorted(np.cumsum(self.articles), sentences)) + 1
        kept = int(self.articles[:count].sum())
        tokens = int(self.sentences[:kept].sum())
        return replace(self, ids=self.ids[:tokens], sentences=self.sentences[:kept], articles=self.articles[:count])


@dataclass(frozen=True, slots=True)
class TokenTask:
    """What a worker process needs to turn chunks of text into tokens."""

    inputs: StoreInputs
    store_tokenizer: str  # the contents of its file
    place: Place  # of the language model
    check_every: int
    every: int  # only the first of so many articles gets values

    def start(self) -> Callable[[Chunk], TokenChunk]:
        """Return the function that reads a chunk."""
        from transformers import AutoTokenizer

        options = {"gguf_file": self.place.gguf_file} if self.place.gguf_file else {}
        own = AutoTokenizer.from_pretrained(self.place.name, local_files_only=True, trust_remote_code=False, **options)
        teacher, student = SentenceIds(own), tokenizer_from_text(self.store_tokenizer)

        def read(chunk: Chunk) -> TokenChunk:
            articles = self.inputs.articles(chunk)
            return tokens_of(articles, teacher, ArticleSample.of(articles, student, self.check_every), self.every)

        return read


def tokens_of(articles: Sequence[Article], teacher: SentenceIds, sample: ArticleSample, every: int = 1) -> TokenChunk:
    """Return articles as tokens: as `SentenceIds` makes them, but many sentences at once.

    Of every ``every`` articles, all but the first have no tokens, so that their sentences get no value.
    """
    texts, firsts, sizes, read = [], [], [], []
    for number, article in enumerate(articles):
        sentences = [sentence for paragraph in article for sentence in paragraph]
        sizes.append(len(sentences))
        read += [number % every == 0] * len(sentences)
        if number % every == 0:
            texts += [sentences[0], *(f"{ANCHOR} {sentence}" for sentence in sentences[1:])]
            firsts += [True, *[False] * (len(sentences) - 1)]
    encoded = teacher.tokenizer(texts, add_special_tokens=False, split_special_tokens=True) if texts else {}
    size = len(teacher.anchor)
    rows = []
    for text, first, ids in zip(texts, firsts, encoded.get("input_ids", []), strict=True):
        if not first and ids[:size] != teacher.anchor:
            ids = teacher.of(text.removeprefix(f"{ANCHOR} "), first=False)
        elif not first:
            ids = ids[size:]
        rows.append(np.array(ids, dtype=np.int32))
    lengths = np.zeros(len(read), dtype=np.int64)
    lengths[read] = [len(row) for row in rows]
    flat = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int32)
    return TokenChunk(flat, lengths, np.array(sizes, dtype=np.int64), sample)


def window_starts(tokens: int, room: int) -> list[int]:
    """Return where the windows of a text start: each overlaps the one before it by a quarter.

    Example:
        >>> window_starts(20, 8)
        [0, 6, 12]
    """
    step = max(1, room - room // OVERLAP)
    return list(range(0, max(1, tokens - (room - step)), step))


class SurpriseTeacher:
    """Computes log-likelihoods of tokens with a causal language model.

    Args:
        network: A causal language model of transformers.
        start: The tokens that precede every text.
        context: Number of tokens read at once.
        batch_tokens: Number of tokens of a batch, padding included.
    """

    def __init__(self, network: Any, start: Sequence[int], *, context: int, batch_tokens: int) -> None:
        self.network, self.start, self.batch_tokens = network, np.array(start, dtype=np.int32), batch_tokens
        positions = network.config.get_text_config().to_dict().get("max_position_embeddings") or context
        self.context = min(context, positions)
        self.room = self.context - len(start)
        if self.room < OVERLAP:
            raise ConfigError("the context is too small", seen=self.context, allowed=f"{len(start) + OVERLAP} or more")

    def sentence_means(self, chunks: Sequence[TokenChunk]) -> Reals:
        """Return the mean log-likelihood per token of each sentence, NaN for one without tokens: [sentences]."""
        ids = np.concatenate([chunk.ids for chunk in chunks])
        lengths = np.concatenate([chunk.sentences for chunk in chunks])
        ends = np.concatenate([[0], np.cumsum(lengths)])  # [sentences + 1]
        bounds = np.concatenate([[0], np.cumsum(np.concatenate([chunk.articles for chunk in chunks]))])
        values = self.token_values(ids, ends[bounds])
        sums = np.concatenate([[0.0], np.cumsum(values)])
        with np.errstate(invalid="ignore"):
            means: Reals = (sums[ends[1:]] - sums[ends[:-1]]) / lengths
        return means

    def token_values(self, ids: npt.NDArray[np.int32], bounds: Whole) -> Reals:
        """Return the log-likelihood of each token, [tokens]; texts lie between neighbouring ``bounds``."""
        windows = [
            (int(low) + start, min(int(low) + start + self.room, int(high)), start > 0)
            for low, high in pairwise(bounds)
            for start in window_starts(int(high - low), self.room)
            if high > low
        ]
        values = np.zeros(len(ids))
        overlap = self.room // OVERLAP
        for group in self._batches(windows):
            found = self._read([ids[low:high] for low, high, _ in group])
            for row, (low, high, later) in zip(found, group, strict=True):
                skip = overlap if later else 0  # known from the window before
                values[low + skip : high] = row[skip : high - low]
        return values

    def _batches(self, windows: list[tuple[int, int, bool]]) -> Iterator[list[tuple[int, int, bool]]]:
        """Yield windows of similar length, of a limited number of padded tokens; the longest first."""
        group: list[tuple[int, int, bool]] = []
        width = 0
        for window in sorted(windows, key=lambda one: one[0] - one[1]):
            if group and (len(group) + 1) * width > self.batch_tokens:
                yield group
                group = []
            if not group:
                width = window[1] - window[0] + len(self.start)
            group.append(window)
        if group:
            yield group

    @torch.inference_mode()
    def _read(self, rows: Sequence[npt.NDArray[np.int32]]) -> npt.NDArray[np.float32]:
        """Return the log-likelihood of each token of each row, given those before it: [rows, time]."""
        size = len(self.start)
        given = np.zeros((len(rows), size + max(map(len, rows))), dtype=np.int64)  # [rows, size + time]
        given[:, :size] = self.start
        for number, row in enumerate(rows):
            given[number, size : size + len(row)] = row
        ids = torch.from_numpy(given).to(self.network.device)
        # No mask: padding stands on the right, where a causal model does not look.
        logits = self.network(input_ids=ids, use_cache=False).logits[:, size - 1 : -1]  # [rows, time, words]
        return log_likelihoods(logits, ids[:, size:]).cpu().numpy()


def log_likelihoods(logits: Tensor, ids: Tensor) -> Tensor:
    """Return log p of each id, in float32: [rows, time, words], [rows, time] → [rows, time]."""
    rows = max(1, LOGITS_AT_ONCE // (logits.shape[1] * logits.shape[2]))
    parts = []
    for start in range(0, len(ids), rows):
        full = logits[start : start + rows].float()
        parts.append(full.gather(2, ids[start : start + rows, :, None])[:, :, 0] - full.logsumexp(dim=2))
    return torch.cat(parts)


def teacher_fingerprint(place: Place, teacher: SurpriseTeacher) -> str:
    """Return a hash of the files of a language model and of how it reads texts."""
    folder = Path(place.name)
    kinds = (".json", ".safetensors", ".txt", ".model")
    files = [folder / place.gguf_file] if place.gguf_file else [f for f in folder.iterdir() if f.suffix in kinds]
    lines = [f"{file.name} {sha256_of(file)}" for file in sorted(files)]
    lines += [f"start {teacher.start.tolist()}", f"context {teacher.context}", f"overlap {OVERLAP}"]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def token_chunks(task: TokenTask, check: AlignmentCheck, workers: int, limit: int) -> Iterator[TokenChunk]:
    """Yield articles of the store, with at least ``limit`` sentences, as tokens, compared with the store."""
    chunks = task.inputs.chunks(CHUNK_CHARACTERS)
    with closing(map_in_order(task, chunks, workers=workers, next_step="repeat with --workers 1")) as results:
        for found in results:
            left = limit - check.sentences
            check.advance(found.sample)
            if check.sentences >= limit:
                yield found.first(left)
                break
            yield found


def buffers(chunks: Iterator[TokenChunk], tokens: int) -> Iterator[list[TokenChunk]]:
    """Yield chunks in groups of about so many tokens."""
    group: list[TokenChunk] = []
    for chunk in chunks:
        group += [chunk] if len(chunk.sentences) else []
        if sum(len(one.ids) for one in group) >= tokens:
            yield group
            group = []
    if group:
        yield group


def teach(options: argparse.Namespace) -> SurpriseInfo:
    """Compute the values of a store, write them, and return what the store says about them."""
    store, place = TokenStore(options.store), local_place(options.model)
    inputs = store_inputs(store, options.inputs, options.held_out)
    network, tokenizer = read_causal(place, options.dtype)
    teacher = SurpriseTeacher(
        network.to(options.device), SentenceIds(tokenizer).start, context=options.context,
        batch_tokens=options.batch_tokens,
    )  # fmt: skip
    task = TokenTask(inputs, store.tokenizer().to_text(), place, options.check_every, options.every)
    check, values = AlignmentCheck(store), np.full(store.sentence_count, np.nan)
    limit = options.limit or store.sentence_count
    done, tokens, began = 0, 0, time.monotonic()
    for group in buffers(token_chunks(task, check, options.workers, limit), BUFFERED_BATCHES * options.batch_tokens):
        means = teacher.sentence_means(group)
        values[done : done + len(means)] = means
        done, tokens = done + len(means), tokens + sum(len(chunk.ids) for chunk in group)
        report(done, store.sentence_count, tokens, time.monotonic() - began)
    if limit >= store.sentence_count:
        check.finish()
    values[limit:] = np.nan
    written = write_surprise(
        options.store, values, Teacher(teacher_fingerprint(place, teacher), Path(options.model).name, teacher.context)
    )
    assert written.surprise_info is not None
    return written.surprise_info


def local_place(model: str) -> Place:
    """Return the place of a language model on this machine.

    Raises:
        ConfigError: It would be downloaded.
    """
    place = find_causal(model)
    if not place.local:
        raise ConfigError("no such folder", seen=model, allowed="a folder or GGUF file on this machine")
    return place


def report(done: int, total: int, tokens: int, seconds: float) -> None:
    """Print the progress on standard error."""
    speed = tokens / max(seconds, 1e-9)
    print(f"{done:,} of {total:,} sentences, {tokens:,} tokens, {speed:,.0f} tokens/s", file=sys.stderr, flush=True)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options of the command line."""
    cuda = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="*", help="the inputs of `weft prepare`, in its order")
    parser.add_argument("--store", required=True, help="the store")
    parser.add_argument("--model", help="folder or GGUF file of a causal language model")
    parser.add_argument("--copy", help="a store with values, of the first inputs of this one; needs no language model")
    parser.add_argument("--held-out", action="append", default=[], help="held-out file of `weft prepare`; repeatable")
    parser.add_argument("--context", type=_positive, default=1024, help="tokens that the model reads at once")
    parser.add_argument("--batch-tokens", type=_positive, default=32768 if cuda else 2048, help="tokens of a batch")
    parser.add_argument("--device", default="cuda" if cuda else "cpu")
    parser.add_argument(
        "--dtype", choices=("float32", "bfloat16", "float16"), default="bfloat16" if cuda else "float32"
    )
    parser.add_argument("--workers", type=_positive, default=default_workers(), help="processes that read texts")
    parser.add_argument("--check-every", type=_positive, default=100, help="compare every k-th sentence with the store")
    parser.add_argument("--limit", type=_positive, help="number of sentences from the beginning; others stay unknown")
    parser.add_argument("--every", type=_positive, default=1, help="read every k-th article; others stay unknown")
    options = parser.parse_args(arguments)
    if not options.copy and not (options.inputs and options.model):
        parser.error("name the inputs and --model, or --copy")
    return options


def default_workers() -> int:
    """Return one process per core, but one: a process reads about 100,000 tokens a second, less than a GPU does."""
    return max(1, min(16, usable_cores() - 1))


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not 1 or more")
    return number


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the values and print their mean and deviation."""
    try:
        options = parsed(arguments)
        found = copy_surprise(options.store, options.copy).surprise_info if options.copy else teach(options)
    except WeftError as error:
        print(error, file=sys.stderr)
        return 2
    assert found is not None
    print(f"{found.known:,} values, mean {found.mean:.3f}, deviation {found.deviation:.3f} nats per token")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
