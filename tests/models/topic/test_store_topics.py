"""The topics of a token store: all at once against each paragraph alone, and one process against several."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from weft.corpora.store.prepare import prepare
from weft.corpora.store.token_store import TokenStore
from weft.document import Document
from weft.models.topic.hmm_lda import HmmLda, HmmLdaSettings
from weft.models.topic.store_topics import TopicJob, default_workers, store_topics

ODD = [
    ["The cat's dog — isn't it? — saw e\u0301te\u0301, été and ÉTÉ.", "", "cat,dog;fox/stock_bond (cat) \"dog\""],
    ["ΟΔΥΣΣΕΥΣ.ΑΣ ΑΣ'Α ΑΣ, ΑΣ: ας ασ Σ", "İstanbul Kelvin K ﬁsh ǅ ß", "日本語の cat、dog。 한국어 中cat文"],
    ["cat\u00a0dog\u2003fox\u3000paw\tstock\nbond  cat", " cat  dog ", "👩‍👩‍👧 cat👍dog 🇩🇪"],
    ["</s> <pad> <unk> cat</s>dog", "x"],
    ["\u0301cat \u0301 ,\u0301dog -\u0301", "cat\ufffddog \x00cat\x7f \x85fox"],
    ["3.5 10,000 1st x2y a_b _ __init__", "…"],
    ["cat " * 60, "dog" * 60, "́" * 40, "Ωmega" * 20],
]  # fmt: skip
WORDS = (
    "cat dog fox paw stock bond ας ασ ασα été e\u0301te\u0301 i\u0307stanbul k ß s isn t 3 5 10 000 x2y a_b _ __init__ "
    "\u0301 unk"
)


def slow_topics(model: HmmLda, store: TokenStore, *, backwards: bool, peek: bool) -> npt.NDArray[np.float16]:
    """Every sentence decoded, every word looked up, every paragraph by itself."""
    found = np.empty((store.sentence_count, model.settings.topics), dtype=np.float16)
    tokenizer = store.tokenizer()
    for start, end in pairwise(store.paragraph_offsets):
        span = list(range(start, end))
        span = span[::-1] if backwards else span
        texts = [tokenizer.decode(store.sentence(number).tolist()) for number in span]
        found[span] = model.topics_of_documents([texts], kind="filtered" if peek else "predicted")
    return found


def make_store(folder: Path, kind: str, size: int) -> TokenStore:
    plain = [[f"the {a} and a {b} number {n}" for a in ("cat", "dog")] for n, b in enumerate(["fox", "bond"] * 8)]
    lines = [json.dumps({"paragraphs": [paragraph, ["x"], ODD[0]]}) for paragraph in (*ODD, *plain)]
    (folder / "text.jsonl").write_text("\n".join(lines), encoding="utf-8")
    place = folder / f"{kind}-{size}"
    return prepare([folder / "text.jsonl"], place, tokenizer_kind=kind, vocabulary_size=size, workers=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stores")


@pytest.fixture(scope="module")
def model() -> HmmLda:
    themes = (WORDS.split()[:12], WORDS.split()[12:])
    documents = [
        Document(str(n), tuple(" ".join(np.roll(themes[n % 2], n + k)[:5]) for k in range(4))) for n in range(40)
    ]
    made = HmmLda(HmmLdaSettings(topics=3, drop_top=0, rarest=1, prior_words=1.0, iterations=5)).fit(documents)
    assert made.vocabulary is not None
    assert {"cat", "ας", "e\u0301te\u0301", "a_b"} <= set(made.vocabulary.words)
    return made


@pytest.mark.parametrize(("kind", "size"), [("bpe", 259), ("bpe", 330), ("bpe", 500), ("words", 60)])
def test_they_are_those_of_slow_obvious_code(folder: Path, model: HmmLda, kind: str, size: int) -> None:
    store = make_store(folder, kind, size)
    for backwards in (False, True):
        for peek in (False, True):
            expected = slow_topics(model, store, backwards=backwards, peek=peek)
            assert np.allclose(store_topics(model, store, backwards=backwards, peek=peek), expected, atol=1e-3)


def test_the_number_of_workers_changes_nothing(folder: Path, model: HmmLda, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.models.topic.store_topics.PARAGRAPHS_AT_ONCE", 7)
    store = make_store(folder, "bpe", 330)
    told: list[tuple[int, int | None]] = []

    def progress(label: str, done: int, total: int | None = None, note: str = "") -> None:
        told.append((done, total))

    alone = store_topics(model, store, backwards=True, peek=False, workers=1, progress=progress)
    assert told[-1] == (store.sentence_count, store.sentence_count)
    assert len(told) == -(-store.paragraph_count // 7)
    together = store_topics(model, store, backwards=True, peek=False, workers=3)
    assert alone.tobytes() == together.tobytes()
    assert multiprocessing.active_children() == []
    matrix = HmmLda(HmmLdaSettings(topics=3, transitions="matrix", drop_top=0, rarest=1, prior_words=1.0, iterations=3))
    matrix.fit([Document(str(n), ("cat dog", "dog fox", "stock bond")) for n in range(9)])
    one, two = (store_topics(matrix, store, backwards=False, peek=True, workers=n) for n in (1, 2))
    assert one.tobytes() == two.tobytes()


def test_small_stores_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)
    assert [default_workers(n) for n in (0, 99_999, 250_000, 10**9)] == [1, 1, 2, 16]
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert default_workers(10**9) == 4


def test_a_worker_needs_little(folder: Path) -> None:
    """No torch, no tomotopy, no sklearn: a process is there at once, and where only numpy and tokenizers are."""
    code = f"import sys; import {TopicJob.__module__}; \
print([m for m in ('torch', 'sklearn', 'tomotopy', 'spacy', 'pyarrow') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
