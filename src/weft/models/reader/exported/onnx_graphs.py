"""The reader's network as three ONNX graphs.

- *sentences*: the lower layers, which read each sentence alone. Their result depends on the sentence only, so that it
  can be kept while other sentences of a text change.
- *text*: the upper layers, which read all sentences of one text, and the heads of all pairs of sentences.
- *breaks*: the head that reads an order.

The graphs are written node by node, not traced from PyTorch: they contain no padding and no sorting, which the caller
does with numpy, and their integer products are the ones that onnxruntime is fast with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from weft.io.quantization import SCALE, packed_rows
from weft.models.reader.exported.onnx_writer import Arithmetic, GraphWriter, Matrix, Vector
from weft.models.reader.network_constants import (
    FEW,
    GAP_LIMIT,
    HEAD_NORM_EPSILON,
    NORM_EPSILON,
    RATE,
    SMALLEST_DEVIATION,
    STRAYS,
    SURPRISES,
)
from weft.models.reader.reader_settings import BOTH, ReaderSettings

INT32, INT64, FLOAT, BOOL = TensorProto.INT32, TensorProto.INT64, TensorProto.FLOAT, TensorProto.BOOL
END = np.iinfo(np.int64).max  # of a slice
Packed = Mapping[str, npt.NDArray[Any]]


class SavedWeights:
    """The weights of a reader as its folder stores them."""

    def __init__(self, packed: Packed, prefix: str = "") -> None:
        self.packed, self.prefix = packed, prefix

    def under(self, name: str) -> SavedWeights:
        """Return the weights of a part of the network."""
        return SavedWeights(self.packed, f"{self.prefix}{name}.")

    def has(self, name: str) -> bool:
        """Return whether there are weights of a name."""
        return self.prefix + name in self.packed

    def matrix(self, name: str) -> Matrix:
        """Return a matrix as int8; one that is stored in a higher precision is rounded.

        Raises:
            ValueError: There are no such weights.
        """
        key = self.prefix + name
        if key + SCALE in self.packed:
            return Matrix(self._array(name), self.packed[key + SCALE], key)
        return Matrix(*packed_rows(self._array(name).astype(np.float32)), key)

    def vector(self, name: str) -> Vector:
        """Return weights that are not a matrix, as float32.

        Raises:
            ValueError: There are no such weights.
        """
        return Vector(self._array(name).astype(np.float32), self.prefix + name)

    def _array(self, name: str) -> npt.NDArray[Any]:
        if not self.has(name):
            raise ValueError(f"no {self.prefix}{name}")
        return self.packed[self.prefix + name]


def sentence_graph(settings: ReaderSettings, weights: SavedWeights, arithmetic: Arithmetic) -> bytes:
    """Return the graph of the lower layers.

    Inputs: ``ids`` and ``positions`` of all tokens of all sentences, joined; ``rows``, the token at each place of each
    sentence, [sentences, time]; ``back``, the row of each token in the flattened ``rows``; ``mask``, 1 for each token
    and 0 after the end of a sentence: [sentences, time].
    """
    graph = GraphWriter("sentences", arithmetic)
    encoder = weights.under("encoder")
    ids, positions = graph.input("ids", INT64, "tokens"), graph.input("positions", INT64, "tokens")
    rows, back = graph.input("rows", INT64, "sentences", "time"), graph.input("back", INT64, "tokens")
    mask = graph.input("mask", INT32, "sentences", "time")
    words, places = encoder.matrix("words.weight"), encoder.matrix("positions.weight")
    summed = graph.op("Add", graph.rows(words, ids), graph.rows(places, positions))
    states = _norm(graph, summed, encoder.under("norm"), NORM_EPSILON)
    for number in range(settings.local_layers):
        states = _layer(graph, states, encoder.under(f"layers.{number}"), settings, (rows, back, mask))
    graph.output("states", states, "tokens", settings.hidden)
    return graph.model()


def text_graph(settings: ReaderSettings, weights: SavedWeights, arithmetic: Arithmetic) -> bytes:
    """Return the graph of the upper layers, of the heads of all pairs and of surprise if there is one, for one text.

    Inputs: ``states`` of all tokens after the lower layers, sentence after sentence; ``slots``, the slot of each token;
    ``firsts``, the first token of each sentence; ``shares``, the weight of each token in the mean of each sentence.
    """
    graph = GraphWriter("text", arithmetic)
    encoder, pairs = weights.under("encoder"), weights.under("pairs")
    states = graph.input("states", FLOAT, "tokens", settings.hidden)
    slots, firsts = graph.input("slots", INT64, "tokens"), graph.input("firsts", INT64, "sentences")
    shares = graph.input("shares", FLOAT, "sentences", "tokens")
    states = graph.op("Add", states, graph.rows(encoder.matrix("slots.weight"), slots))
    for number in range(settings.local_layers, settings.layers):
        states = _layer(graph, states, encoder.under(f"layers.{number}"), settings, None)
    parts = graph.op("Gather", states, firsts), graph.op("MatMul", shares, states)
    vectors = graph.op("Concat", *parts, axis=1)  # [sentences, 2 · hidden]
    odds, follows = _pair_heads(graph, vectors, pairs, settings)
    graph.output("vectors", vectors, "sentences", 2 * settings.hidden)
    graph.output("odds", odds, "sentences", "sentences")
    graph.output("follows", follows, "sentences", "sentences")
    if settings.surprise_weight > 0:
        graph.output(SURPRISES, _surprise_head(graph, vectors, weights.under("surprise")), "sentences")
    return graph.model()


def break_graph(settings: ReaderSettings, weights: SavedWeights, arithmetic: Arithmetic) -> bytes:
    """Return the graph of the break head, and of the head of strays if there is one, for one text.

    Inputs: ``vectors``, ``odds`` and ``follows`` as the text graph returns them; ``order``, the sentence at each place.
    """
    graph = GraphWriter("breaks", arithmetic)
    head = weights.under("breaks")
    vectors = graph.input("vectors", FLOAT, "sentences", 2 * settings.hidden)
    odds, follows = (graph.input(name, FLOAT, "sentences", "sentences") for name in ("odds", "follows"))
    order = graph.input("order", INT64, "sentences")
    left, right = _slice(graph, order, 0, -1), _slice(graph, order, 1, END)
    normed = _norm(graph, vectors, head.under("norm"), HEAD_NORM_EPSILON)
    one, other = (
        _fast_linear(graph, graph.op("Gather", normed, places), head.under(name))
        for name, places in (("left", left), ("right", right))
    )
    tables = odds, follows
    gaps, scores = _gaps(graph, (one, other), tables, (left, right), head)
    mixed = graph.op("Unsqueeze", graph.op("Transpose", gaps, perm=[1, 0]), graph.whole(0))  # [1, width, gaps]
    for name in ("mix_first", "mix_second"):
        kernel, bias = graph.vector(head.vector(f"{name}.weight")), graph.vector(head.vector(f"{name}.bias"))
        mixed = graph.op("Add", mixed, graph.op("Gelu", graph.op("Conv", mixed, kernel, bias, pads=[1, 1])))
    rows = graph.op("Transpose", graph.op("Squeeze", mixed, graph.whole(0)), perm=[1, 0])  # [gaps, width]
    found = _fast_linear(graph, rows, head.under("output"))
    graph.output("breaks", graph.op("Squeeze", found, graph.whole(1)), "gaps")
    if settings.stray_weight > 0:
        skipped = _slice(graph, order, 0, -2), _slice(graph, order, 2, END)
        ends = _slice(graph, one, 0, -1), _slice(graph, other, 1, END)
        closed, skipping = _gaps(graph, ends, tables, skipped, head)
        evidence = graph.op("Gather", _order_free_evidence(graph, odds, follows), order)
        known = [*_beside(graph, scores), _padded(graph, skipping, 1, 1), evidence]
        given = [graph.op("Gather", vectors, order), *_beside(graph, rows), _padded(graph, closed, 1, 1)]
        strays = _stray_head(graph, given, graph.op("Concat", *known, axis=1), weights.under("strays"))
        graph.output(STRAYS, strays, "sentences")
    return graph.model()


def _layer(
    graph: GraphWriter,
    states: str,
    weights: SavedWeights,
    settings: ReaderSettings,
    padding: tuple[str, str, str] | None,
) -> str:
    """Add a layer of the encoder: [tokens, hidden]; tokens are padded for attention only."""
    joined = _linear(graph, states, weights.under("inputs"))
    mixed = _attention(graph, joined, settings, padding)
    summed = graph.op("Add", states, _linear(graph, mixed, weights.under("output")))
    states = _norm(graph, summed, weights.under("attention_norm"), NORM_EPSILON)
    wide = graph.op("Gelu", _linear(graph, states, weights.under("wide")))
    summed = graph.op("Add", states, _linear(graph, wide, weights.under("narrow")))
    return _norm(graph, summed, weights.under("norm"), NORM_EPSILON)


def _attention(graph: GraphWriter, joined: str, settings: ReaderSettings, padding: tuple[str, str, str] | None) -> str:
    """Add attention: queries, keys and values, [tokens, 3 · hidden], → [tokens, hidden]."""
    if padding is None:
        parts = graph.ops("Split", 3, [graph.op("Unsqueeze", joined, graph.whole(0))], axis=2, num_outputs=3)
        mixed = graph.runtime_op("MultiHeadAttention", *parts, num_heads=settings.heads)  # [1, tokens, hidden]
        return graph.op("Squeeze", mixed, graph.whole(0))
    rows, back, mask = padding
    parts = graph.ops("Split", 3, [graph.op("Gather", joined, rows)], axis=2, num_outputs=3)
    mixed = graph.runtime_op("MultiHeadAttention", *parts, "", mask, num_heads=settings.heads)
    return graph.op("Gather", graph.op("Reshape", mixed, graph.whole(-1, settings.hidden)), back)


def _pair_heads(graph: GraphWriter, vectors: str, weights: SavedWeights, settings: ReaderSettings) -> tuple[str, str]:
    """Add precedence and next sentence of all pairs: [sentences, sentences] each."""
    normed = _norm(graph, vectors, weights.under("norm"), HEAD_NORM_EPSILON)
    earlier, later, early, before, after = (
        _fast_linear(graph, normed, weights.under(name)) for name in ("earlier", "later", "early", "before", "after")
    )
    scale = settings.pair**-0.5
    joint = graph.op("Add", graph.runtime_op("FusedMatMul", earlier, later, transB=1, alpha=scale), early)
    odds = graph.op("Sub", joint, graph.op("Transpose", joint, perm=[1, 0]))
    logits = graph.runtime_op("FusedMatMul", before, after, transB=1, alpha=scale)
    itself = graph.op("Cast", graph.op("EyeLike", logits), to=BOOL)
    logits = graph.op("Where", itself, graph.store(np.float32(FEW)), logits)
    follows = graph.op("LogSoftmax", logits)
    if settings.directions == BOTH:
        both = graph.op("Add", follows, graph.op("LogSoftmax", logits, axis=0))
        follows = graph.op("Mul", both, graph.store(np.float32(0.5)))
    return odds, follows


def _surprise_head(graph: GraphWriter, vectors: str, weights: SavedWeights) -> str:
    """Add the predicted log-likelihoods, in nats per token: [sentences]."""
    normed = _norm(graph, vectors, weights.under("norm"), HEAD_NORM_EPSILON)
    inner = graph.op("Gelu", _fast_linear(graph, normed, weights.under("inner")))
    found = graph.op("Squeeze", _fast_linear(graph, inner, weights.under("output")), graph.whole(1))
    moments = weights.vector("moments")
    mean, deviation = moments.values
    scaled = graph.op("Mul", found, graph.store(np.float32(max(deviation, SMALLEST_DEVIATION)), f"{moments.name}.1"))
    return graph.op("Add", scaled, graph.store(np.float32(mean), f"{moments.name}.0"))


def _gap_scores(graph: GraphWriter, odds: str, follows: str, left: str, right: str) -> str:
    """Add what the pair heads say about the gaps of an order: [gaps, 4]."""
    columns = [graph.op("Unsqueeze", places, graph.whole(1)) for places in (left, right)]
    there, back = graph.op("Concat", *columns, axis=1), graph.op("Concat", *reversed(columns), axis=1)  # [gaps, 2]
    forward, backward = graph.op("GatherND", follows, there), graph.op("GatherND", follows, back)
    best = graph.op("Gather", graph.op("ReduceMax", follows, graph.whole(1), keepdims=0), left)
    parts = [graph.op("GatherND", odds, there), forward, backward, graph.op("Sub", forward, best)]
    table = graph.op("Concat", *(graph.op("Unsqueeze", part, graph.whole(1)) for part in parts), axis=1)
    return graph.op("Clip", table, *(graph.store(np.float32(limit)) for limit in (-GAP_LIMIT, GAP_LIMIT)))


def _gaps(
    graph: GraphWriter, parts: tuple[str, str], tables: tuple[str, str], places: tuple[str, str], head: SavedWeights
) -> tuple[str, str]:
    """Add what sentences and their scores say about the gaps between them, [gaps, width], and these scores.

    Args:
        graph: The graph.
        parts: What the sentences before and after the gaps give to them: [gaps, width] each.
        tables: Precedence and next sentence of all pairs.
        places: The sentences before and after the gaps: [gaps] each.
        head: The weights of the break head.
    """
    both = _fast_linear(graph, graph.op("Mul", *parts), head.under("both"))
    scores = _gap_scores(graph, *tables, *places)
    return graph.op("Gelu", graph.op("Sum", *parts, both, _fast_linear(graph, scores, head.under("scores")))), scores


def _stray_head(graph: GraphWriter, given: Sequence[str], scores: str, head: SavedWeights) -> str:
    """Add the log-odds that sentences are strays: [sentences].

    Args:
        graph: The graph.
        given: Vectors, the gaps before and after each sentence, and the gap without it: [sentences, …] each.
        scores: Scores of each sentence: [sentences, STRAY_SCORES].
        head: The weights of the head.
    """
    vectors, before, after, without = given
    normed = _norm(graph, vectors, head.under("norm"), HEAD_NORM_EPSILON)
    named = {"own": normed, "scores": scores, "before": before, "after": after, "without": without}
    joined = graph.op("Gelu", graph.op("Sum", *(_fast_linear(graph, v, head.under(n)) for n, v in named.items())))
    inner = graph.op("Gelu", _fast_linear(graph, joined, head.under("inner")))
    return graph.op("Squeeze", _fast_linear(graph, inner, head.under("output")), graph.whole(1))


def _order_free_evidence(graph: GraphWriter, odds: str, follows: str) -> str:
    """Add how well each sentence fits anywhere in the text: [sentences, EVIDENCE]."""
    low, high, zero, one = (graph.store(np.float32(limit)) for limit in (-GAP_LIMIT, GAP_LIMIT, 0, 1))
    itself = graph.op("Cast", graph.op("EyeLike", follows), to=BOOL)
    size = graph.op("Cast", graph.op("Shape", follows, start=0, end=1), to=FLOAT)  # [1]
    others = graph.op("Sub", size, one)  # at least 1: a single sentence has no order
    chance = graph.op("Log", others)
    links = graph.op("Clip", follows, low, high)  # the diagonal is the lowest value
    summed = graph.op("Where", itself, zero, links)
    sizes = graph.op("Abs", graph.op("Clip", odds, low, high))  # 0 on the diagonal
    parts = []
    for axis in (1, 0):
        mean = graph.op("Div", graph.op("ReduceSum", summed, graph.whole(axis), keepdims=0), others)
        best = graph.op("ReduceMax", links, graph.whole(axis), keepdims=0)
        parts += [graph.op("Add", gain, chance) for gain in (mean, best)]
    parts.append(graph.op("Div", graph.op("ReduceSum", sizes, graph.whole(1), keepdims=0), others))
    table = graph.op("Concat", *(graph.op("Unsqueeze", part, graph.whole(1)) for part in parts), axis=1)
    mean = graph.op("ReduceMean", table, graph.whole(0), keepdims=1)
    return graph.op("Concat", table, graph.op("Sub", table, mean), axis=1)


def _beside(graph: GraphWriter, gaps: str) -> tuple[str, str]:
    """Add the gap before and the gap after each sentence, 0 where there is none: [gaps, …] → [sentences, …] each."""
    return _padded(graph, gaps, 1, 0), _padded(graph, gaps, 0, 1)


def _padded(graph: GraphWriter, rows: str, before: int, after: int) -> str:
    return graph.op("Pad", rows, graph.whole(before, 0, after, 0))


def _slice(graph: GraphWriter, given: str, start: int, end: int) -> str:
    return graph.op("Slice", given, graph.whole(start), graph.whole(end))


def _norm(graph: GraphWriter, given: str, weights: SavedWeights, epsilon: float) -> str:
    return graph.norm(given, weights.vector("weight"), weights.vector("bias"), epsilon)


def _linear(graph: GraphWriter, given: str, weights: SavedWeights) -> str:
    return graph.linear(given, weights.matrix("weight"), weights.vector("bias"))


def _fast_linear(graph: GraphWriter, given: str, weights: SavedWeights) -> str:
    """Add a layer of a head, in float32: it has few rows, and its weights are stored divided by `RATE`."""
    matrix = weights.matrix("weight")
    bias = weights.vector("bias") if weights.has("bias") else None
    scaled = replace(bias, values=np.float32(RATE) * bias.values) if bias else None
    return graph.exact_linear(given, replace(matrix, scale=np.float32(RATE) * matrix.scale), scaled)
