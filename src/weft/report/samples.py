"""A page of randomly drawn contexts with the continuations of people and of all systems."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from weft.corpora.text.tokenizers import Tokenizer
from weft.errors import CorpusError
from weft.evaluation.adversarial.chunks import Chunks
from weft.evaluation.adversarial.continuations import read_continuations
from weft.evaluation.adversarial.saved_arrays import explain_damage
from weft.evaluation.adversarial.writing import ADVERSARIAL_DECODING
from weft.hub import model_folder
from weft.io.atomic_files import write_atomically

HEAD = """\
# Continuations, randomly drawn

{count} contexts from the test part of the adversarial evaluation ([adversarial](adversarial.md)), drawn with seed
{seed}: {shown}. `weft samples` writes this page. {source} The address of
a page is `https://en.wikipedia.org/?curid=` followed by its number.
"""
WITH_HUMAN = (
    "the context, the three sentences that people wrote next, and the three that each system wrote, one after\nthe "
    "other",
    "The human text is from Wikipedia (CC BY-SA 3.0), by the authors of the pages.",
)
MACHINE_ONLY = (
    "the three sentences that each system wrote, one after\nthe other",
    "The contexts, three sentences of a\nWikipedia page each, are not shown.",
)


def check_places(folder: Path, tokenizer: Path) -> None:
    """Raise CorpusError if the folder of continuations or the tokenizer does not exist."""
    if not folder.is_dir():
        raise nothing_written(folder)
    if not tokenizer.is_file():
        raise CorpusError(
            "the tokenizer of the evaluator's reader does not exist",
            seen=str(tokenizer),
            allowed="a tokenizer.json, or a trained model that has one, such as seq2seq",
            next_step="name it with --tokenizer",
        )


def tokenizer_file(name: str) -> Path:
    """Return the path of a tokenizer.json, given as such or by the name of a trained model."""
    return Path(name) if name.endswith(".json") else model_folder(name) / "tokenizer.json"


def nothing_written(folder: Path) -> CorpusError:
    """Return the error for a folder without continuations."""
    return CorpusError(
        "there are no continuations of these contexts",
        seen=str(folder),
        allowed="a folder that `weft evaluate adversarial` has written to",
        next_step="run it first, or give --work, --limit, --data and --tokenizer as they were when it wrote",
    )


def read_systems(folder: Path, chunks: Chunks) -> dict[str, list[tuple[str, ...]]]:
    """Return the continuations of these chunks in a folder, by system; raise CorpusError if there are none."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for path in sorted(folder.glob("*.jsonl.xz")):
        head, texts = read_continuations(path, chunks)
        if texts:
            with explain_damage(path):
                name = _name(head)
            # A model may have written twice with other weights: the name of the file distinguishes them.
            found[f"{name}, {path.name}" if name in found else name] = texts
    if not found:
        raise nothing_written(folder)
    return dict(sorted(found.items()))


def _name(head: Mapping[str, Any]) -> str:
    """Return the name of a system with the decoding settings that are not the default.

    Example:
        >>> _name({"model": "seq2seq", "combine": "mmi", "decoding": {"method": "sample", "beam": 1}})
        'seq2seq (mmi), beam=1'
    """
    usual = asdict(ADVERSARIAL_DECODING)
    other = [f"{key}={value}" for key, value in head["decoding"].items() if value != usual.get(key)]
    return ", ".join([f"{head['model']} ({head['combine']})", *other])


def samples_page(
    chunks: Chunks,
    systems: Mapping[str, Sequence[Sequence[str]]],
    tokenizer: Tokenizer,
    *,
    count: int,
    seed: int,
    machine_only: bool = False,
) -> str:
    """Return the page as Markdown; with ``machine_only``, without contexts and continuations of people."""
    test = chunks.part("test")
    numbers = np.random.default_rng(seed).permutation(np.arange(test.start, test.stop))[:count].tolist()
    shown, source = MACHINE_ONLY if machine_only else WITH_HUMAN
    parts = [HEAD.format(count=len(numbers), seed=seed, shown=shown, source=source)]
    for place, number in enumerate(numbers, 1):
        parts.append(f"## {place}. Page {chunks.pages[number]}\n")
        if not machine_only:
            context, human = (
                " ".join(tokenizer.decode(chunks.rows.row(sentence)) for sentence in row[number].tolist())
                for row in (chunks.context, chunks.human)
            )
            parts.append(f"> {_escaped(context)}\n\n- **people**: {_escaped(human)}")
        parts += [f"- **{name}**: {_escaped(' '.join(texts[number]))}" for name, texts in systems.items()]
        parts.append("")
    return "\n".join(parts)


def _escaped(text: str) -> str:
    """Return text with a backslash before every character that Markdown would interpret."""
    return re.sub(r"[\\`*_<>\[\]|#]", r"\\\g<0>", text)


def write_samples(
    path: Path,
    chunks: Chunks,
    folder: Path,
    tokenizer: Tokenizer,
    *,
    count: int = 20,
    seed: int = 1,
    machine_only: bool = False,
) -> int:
    """Write the page atomically and return the number of systems on it."""
    systems = read_systems(folder, chunks)
    page = samples_page(chunks, systems, tokenizer, count=count, seed=seed, machine_only=machine_only)
    with write_atomically(path) as handle:
        handle.write(page.encode("utf-8"))
    return len(systems)
