"""The surprise of the sentences of a store under a language model: an optional array beside the token ids.

``surprise.bin`` has one little-endian float16 per sentence: its mean log-likelihood per token in nats, under a language
model that has read the sentences before it; NaN where it is unknown. The entry ``surprise`` of ``store.json`` names the
language model by a hash. ``tools/teach_surprise.py`` writes both.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from weft.corpora.store.store_writer import HEADER, write_text_atomically
from weft.corpora.store.token_store import SURPRISE, SurpriseInfo, TokenStore, read_info
from weft.errors import CorpusError
from weft.io.atomic_files import explain_write_errors, write_atomically

KIND = np.dtype("<f2")


@dataclass(frozen=True, slots=True)
class Teacher:
    """The language model that computed the values.

    Attributes:
        fingerprint: A hash of its files and of how it reads texts.
        name: The name of its folder or file.
        context: Number of tokens that it reads at once.
    """

    fingerprint: str
    name: str
    context: int


def write_surprise(folder: str | Path, values: npt.ArrayLike, teacher: Teacher) -> TokenStore:
    """Write the values of all sentences of a store, in place of earlier ones, and return the store.

    Values that are not finite become NaN. The entry of earlier values is removed first and that of the new ones is
    written last, so that an interrupted run leaves a store without values and never an entry of other values.

    Args:
        folder: The folder of the store.
        values: Mean log-likelihood per token of each sentence; NaN where it is unknown: [sentences].
        teacher: The language model.

    Raises:
        CorpusError: The number of values is not that of the sentences, none is known, or they cannot be written.
    """
    folder = Path(folder)
    store = TokenStore(folder)
    with np.errstate(over="ignore"):
        rounded = np.asarray(values, dtype=np.float32).astype(KIND)  # [sentences]
    rounded[~np.isfinite(rounded)] = np.nan
    known = rounded[~np.isnan(rounded)].astype(np.float64)
    if rounded.shape != (store.sentence_count,) or not known.size:
        raise CorpusError(
            f"these values are not those of the sentences of {folder}",
            seen=f"shape {rounded.shape}, {known.size} known values",
            allowed=f"{store.sentence_count} values, at least one of them known",
            next_step="compute them from the inputs of this store",
        )
    info = SurpriseInfo(
        teacher=teacher.fingerprint, name=teacher.name, context=teacher.context, known=known.size,
        mean=float(known.mean()), deviation=float(known.std()),
    )  # fmt: skip
    _write_entry(folder, None)
    with write_atomically(folder / f"{SURPRISE}.bin") as file:
        file.write(rounded.tobytes())
    _write_entry(folder, info)
    return TokenStore(folder)


def copy_surprise(folder: str | Path, first: str | Path) -> TokenStore:
    """Write the values of a store whose texts are the first of this one; those of all other sentences are unknown.

    A language model can so read the first inputs while others still arrive.

    Args:
        folder: The folder of the store.
        first: The folder of the other store.

    Raises:
        CorpusError: The other store has no values, or its sentences are not the first ones of this store.
    """
    store, other = TokenStore(folder), TokenStore(first)
    known = other.surprise_info
    if known is None:
        raise CorpusError(
            f"{other.folder} has no values", seen="no entry surprise", allowed="a store with surprise.bin",
            next_step="compute them with tools/teach_surprise.py",
        )  # fmt: skip
    count = other.sentence_count
    same_lengths = np.array_equal(store.lengths()[:count], other.lengths())
    if not same_lengths or not np.array_equal(store.ids[: len(other.ids)], other.ids):
        raise CorpusError(
            f"the sentences of {other.folder} are not the first ones of {store.folder}",
            seen=f"{count} sentences, at least one of them different",
            allowed="a store of the first inputs of this one",
            next_step="name the inputs in the same order",
        )
    values = np.full(store.sentence_count, np.nan, dtype=np.float32)
    values[:count] = other.surprise(np.arange(count))
    return write_surprise(folder, values, Teacher(known.teacher, known.name, known.context))


def _write_entry(folder: Path, info: SurpriseInfo | None) -> None:
    """Write or remove the entry of ``store.json``."""
    body = {name: value for name, value in read_info(folder).body.items() if name != SURPRISE}
    if info is not None:
        body[SURPRISE] = asdict(info)
    with explain_write_errors(folder / HEADER):
        write_text_atomically(folder / HEADER, json.dumps(body, indent=1) + "\n")
