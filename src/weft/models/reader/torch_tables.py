"""Tables of trained readers, computed in PyTorch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from weft.corpora.store.window_batches import marked_rows
from weft.corpora.text.tokenizers import Tokenizer
from weft.io.devices import no_gpu
from weft.models.common.token_cache import TokenCache
from weft.models.reader.network import ReaderNetwork, Reading
from weft.models.reader.text_encoder import Texts
from weft.models.reader.text_tables import Sentences, TextTables, cut_tables, slots_of

TOKENS_AT_ONCE = {"cpu": 4096, "cuda": 131072}  # limits memory


class TorchTableReader:
    """Makes the tables of texts with a trained network, several texts at once."""

    def __init__(self, network: ReaderNetwork, tokenizer: Tokenizer, sentence_tokens: int, slots: int) -> None:
        self.network, self.ids = network, TokenCache(tokenizer)
        self.sentence_tokens, self.slots = sentence_tokens, slots

    def devices(self) -> tuple[str, ...]:
        """Return the devices that the network can run on."""
        return ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)

    def to(self, device: str) -> TorchTableReader:
        """Move the network to a device.

        Raises:
            ConfigError: There is no GPU.
        """
        if device.startswith("cuda") and not torch.cuda.is_available():
            raise no_gpu()
        self.network.to(device)
        return self

    def tables(self, texts: Sequence[Sentences]) -> list[TextTables]:
        """Return the tables of texts, in order."""
        found: list[TextTables | None] = [None] * len(texts)
        for numbers in self._batches(texts):
            for number, tables in zip(numbers, self._read([texts[number] for number in numbers]), strict=True):
                found[number] = tables
        return [tables for tables in found if tables is not None]

    def _batches(self, texts: Sequence[Sentences]) -> Iterator[list[int]]:
        """Yield groups of texts of similar length, of a limited number of padded tokens."""
        device = self.network.word_bias.device.type
        limit = TOKENS_AT_ONCE.get(device, TOKENS_AT_ONCE["cpu"])
        sizes = [sum(min(len(ids) + 2, self.sentence_tokens) for ids in self.ids(text)) for text in texts]
        group: list[int] = []
        for number in sorted(range(len(texts)), key=lambda one: sizes[one]):
            if group and (len(group) + 1) * sizes[number] > limit:
                yield group
                group = []
            group.append(number)
        if group:
            yield group

    @torch.inference_mode()
    def _read(self, texts: Sequence[Sentences]) -> list[TextTables]:
        given = self._input(texts)
        reading = self.network.read(given)
        parts = {"follows": reading.follows, "odds": reading.odds, **self._order_parts(reading, given)}
        if self.network.surprise is not None:
            parts["surprises"] = self.network.surprise.log_likelihoods(reading.vectors)
        arrays = {name: part.double().cpu().numpy() for name, part in parts.items()}
        return [
            cut_tables(len(text), **{name: part[row] for name, part in arrays.items()})
            for row, text in enumerate(texts)
        ]

    def _order_parts(self, reading: Reading, given: Texts) -> dict[str, torch.Tensor]:
        """Return log-odds of breaks, and of strays if there is such a head, in the given order."""
        network, order = self.network, torch.arange(given.places.shape[1], device=given.places.device)
        order = order.expand_as(given.places)
        if order.shape[1] < 2:  # a single sentence has no gaps, which a convolution cannot read
            none = order[:, :0]
            return {"breaks": none} if network.strays is None else {"breaks": none, "strays": none}
        gaps = network.read_gaps(reading, order, given.real)
        breaks = {"breaks": network.breaks.odds(gaps.mixed)}
        return (
            breaks if network.strays is None else breaks | {"strays": network.stray_odds(network.strays, reading, gaps)}
        )

    def _input(self, texts: Sequence[Sentences]) -> Texts:
        """Return texts as the input of the network; slots depend on the sentences alone, not on their order."""
        device = self.network.word_bias.device
        tokenizer = self.ids.tokenizer
        rows = self.ids([sentence for text in texts for sentence in text])
        marks = (tokenizer.bos_id, tokenizer.eos_id)
        ids, lengths = marked_rows(rows, marks, tokenizer.pad_id, self.sentence_tokens)
        sizes = np.array([len(text) for text in texts])
        real = np.arange(sizes.max()) < sizes[:, None]  # [texts, most]
        places, slots = np.full(real.shape, -1), np.zeros(real.shape, dtype=np.int64)
        places[real] = np.arange(len(rows))
        slots[real] = np.concatenate([slots_of(text, self.slots) for text in texts])
        longest = int((lengths[np.maximum(places, 0)] * real).sum(axis=1).max())
        parts = [torch.from_numpy(part).to(device) for part in (ids, lengths, places, slots)]
        return Texts(parts[0], parts[1], parts[2], parts[3], longest)
