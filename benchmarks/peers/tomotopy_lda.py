"""tomotopy: mean cosine of the topics of neighbouring sentences, by LDA learned from paragraphs of Wikipedia."""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

TOPICS, PARAGRAPHS, ROUNDS = 100, 20_000, 300
WORD = re.compile(r"[a-z]{3,}")


def load(data: Path, name: str) -> Callable[[list[list[str]]], list[Any]]:
    """Return the scorer; the topics are learned once, and kept in the file ``name``."""
    import numpy as np
    import tomotopy

    model = tomotopy.LDAModel.load(name) if Path(name).is_file() else trained(data, Path(name))

    def score(texts: list[list[str]]) -> list[Any]:
        found = []
        for text in texts:
            documents = [model.make_doc(WORD.findall(sentence.lower()) or ["the"]) for sentence in text]
            model.infer(documents, workers=1)
            topics = np.array([document.get_topic_dist() for document in documents])  # [sentences, topics]
            topics /= np.linalg.norm(topics, axis=1, keepdims=True)
            links = (topics[:-1] * topics[1:]).sum(axis=1).tolist()
            found.append((sum(links) / len(links) if links else None, links))
        return found

    return score


def trained(data: Path, file: Path) -> Any:
    """Learn topics and save them."""
    import tomotopy

    model = tomotopy.LDAModel(k=TOPICS, min_cf=5, rm_top=50, seed=1)
    count = 0
    with lzma.open(data / "wikipedia" / "train-00.jsonl.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            for paragraph in json.loads(line)["paragraphs"]:
                model.add_doc(WORD.findall(" ".join(paragraph).lower()) or ["the"])
                count += 1
            if count >= PARAGRAPHS:
                break
    model.train(ROUNDS, workers=1)
    model.save(str(file), full=False)
    return model
