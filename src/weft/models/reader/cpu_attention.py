"""Attention in bfloat16 on a CPU, for training.

The gradient of PyTorch's fused attention is slow there: 40% of a training step. These functions multiply whole matrices
instead, and `attention_by_text` keeps those of one text, without padding, in the cache.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

HIDDEN = -1e4  # score of a token that must not be attended to


def plain_attention(query: Tensor, key: Tensor, value: Tensor, *, attn_mask: Tensor, dropout_p: float) -> Tensor:
    """Return attention as two products and a softmax, with the arguments of `scaled_dot_product_attention`."""
    scores = (query * query.shape[3] ** -0.5) @ key.transpose(2, 3)  # [rows, heads, time, time]
    scores = scores + torch.where(attn_mask, 0.0, HIDDEN).to(scores.dtype)
    shares = torch.softmax(scores, dim=3, dtype=scores.dtype)  # autocast would take float32
    mixed: Tensor = functional.dropout(shares, dropout_p) @ value  # [rows, heads, time, hidden / heads]
    return mixed


def attention_by_text(parts: Tensor, lengths: Tensor, heads: int) -> Tensor:
    """Return attention of one text after the other, without dropout; padding gets zeros.

    Args:
        parts: Queries, keys and values: [texts, longest, 3 · hidden].
        lengths: Number of tokens of each text: [texts].
        heads: Number of attention heads.

    Returns:
        [texts, longest, hidden]
    """
    mixed: Tensor = _AttentionByText.apply(parts, lengths.tolist(), heads)  # type: ignore[no-untyped-call]
    return mixed


class _AttentionByText(torch.autograd.Function):
    """Attention and its gradient, text by text."""

    @staticmethod
    def forward(ctx: Any, parts: Tensor, lengths: list[int], heads: int) -> Tensor:
        texts, longest, width = parts.shape
        mixed = parts.new_zeros(texts, longest, width // 3)
        kept = []
        for text, length in enumerate(lengths):
            query, key, value = _divided(parts[text, :length], heads)
            scores = (query * query.shape[2] ** -0.5) @ key.transpose(1, 2)  # [heads, length, length]
            shares = torch.softmax(scores, dim=2, dtype=scores.dtype)
            mixed[text, :length].view(length, heads, -1).copy_((shares @ value).transpose(0, 1))
            kept.append(shares)
        ctx.save_for_backward(parts, *kept)
        ctx.lengths, ctx.heads = lengths, heads
        return mixed

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        parts, *kept = ctx.saved_tensors
        found = torch.zeros_like(parts)
        for text, length in enumerate(ctx.lengths):
            query, key, value = _divided(parts[text, :length], ctx.heads)
            for_query, for_key, for_value = _divided(found[text, :length], ctx.heads)  # views
            shares, scale = kept[text], query.shape[2] ** -0.5
            wanted = gradients[0][text, :length].reshape(length, ctx.heads, -1).transpose(0, 1)
            for_value.copy_(shares.transpose(1, 2) @ wanted)
            for_shares = wanted @ value.transpose(1, 2)  # [heads, length, length]
            for_scores = torch._softmax_backward_data(for_shares, shares, 2, shares.dtype)
            for_query.copy_(for_scores @ key * scale)
            for_key.copy_(for_scores.transpose(1, 2) @ query * scale)
        return found, None, None


def _divided(parts: Tensor, heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return views of queries, keys and values of a text: [length, 3 · hidden] → 3 × [heads, length, size]."""
    query, key, value = parts.view(len(parts), 3, heads, -1).permute(1, 2, 0, 3)
    return query, key, value
