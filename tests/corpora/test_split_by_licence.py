"""Files of texts are split by the licence of their sources."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest
from tools.split_by_licence import read_classes, split

from weft.corpora.store.window_batches import mixture_weights
from weft.errors import CorpusError

ROWS = [["begins with", "class", "licence"], ["books", "non-commercial", "NC"], ["books/free", "open", "CC0"]]
TABLE = "".join("\t".join(row) + "\n" for row in [*ROWS, ["stories", "mixed", "CC BY or NC"]])


def test_texts_go_to_the_file_of_their_class(tmp_path: Path) -> None:
    (tmp_path / "licences.tsv").write_text(TABLE)
    sources = ["books/free/1", "books/2", "stories/3", "nowhere"]
    lines = [json.dumps({"id": str(n), "source": source, "text": "é"}) for n, source in enumerate(sources)]
    (tmp_path / "train.tale.jsonl").write_text("\n".join([*lines, json.dumps({"id": "4"})]))
    counts = split(tmp_path / "train.tale.jsonl", read_classes(tmp_path / "licences.tsv"), tmp_path)
    assert counts == {"open": 1, "non-commercial": 1, "mixed": 1, "unknown": 2}
    names = ["train.tale.open.jsonl.xz", "train.tale.restricted.jsonl.xz"]
    texts = [lzma.decompress((tmp_path / name).read_bytes()).splitlines() for name in names]
    found = [[json.loads(line)["id"] for line in lines] for lines in texts]
    assert found == [["0", "2"], ["1", "3", "4"]]
    assert mixture_weights([(name, 1) for name in names], "open").tolist() == [1.0, 0.0]
    assert mixture_weights([(name, 1) for name in names], "all").tolist() == [1.0, 1.0]


def test_a_broken_table_is_named(tmp_path: Path) -> None:
    (tmp_path / "licences.tsv").write_text("head\nbooks open\n")
    with pytest.raises(CorpusError, match="line 2"):
        read_classes(tmp_path / "licences.tsv")
