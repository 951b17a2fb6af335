"""Checking ONNX files before onnxruntime reads them, and onnxruntime without its telemetry.

An ONNX file is a protocol buffer. It can name further files to read and operators of libraries to load; a file of a
model folder needs neither. This module reads the structure of a file without another library, and refuses what `weft
export` does not write.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from weft.errors import ModelError

# onnxruntime reads it once. From 1.29 on, its packages for Linux send events about models to their maker by default.
NO_TELEMETRY = "ORT_DISABLE_TELEMETRY"
# Operators that `weft export` writes, by domain: those of ONNX, and those that are part of onnxruntime.
OPERATORS = {
    "": frozenset({
        "Abs", "Add", "Cast", "Clip", "Concat", "Conv", "DequantizeLinear", "Div", "DynamicQuantizeLinear", "EyeLike",
        "Gather", "GatherND", "Gelu", "Gemm", "Identity", "LayerNormalization", "Log", "LogSoftmax", "MatMul", "Mul",
        "Pad", "QuantizeLinear", "ReduceMax", "ReduceMean", "ReduceSum", "Reshape", "Shape", "Slice", "Split",
        "Squeeze", "Sub", "Sum", "Transpose", "Unsqueeze", "Where",
    }),
    "com.microsoft": frozenset({"DynamicQuantizeMatMul", "FusedMatMul", "MatMulIntegerToFloat", "MultiHeadAttention"}),
}  # fmt: skip
# Numbers of fields in ONNX's definition of its format.
MODEL = {"graph": 7, "domains": 8, "training": 20, "functions": 25}
GRAPH = {"nodes": 1, "tensors": 5, "sparse": 15}
NODE = {"operator": 4, "attributes": 5, "domain": 7}
TENSOR = {"external": 13, "location": 14}
ATTRIBUTE = {
    "name": 1,
    "float": 2,
    "whole": 3,
    "text": 4,
    "floats": 7,
    "wholes": 8,
    "texts": 9,
    "about": 13,
    "type": 20,
}
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

Field = tuple[int, int | memoryview]


def onnx_runtime() -> ModuleType:
    """Return onnxruntime, imported so that it sends nothing and writes no device id into the user's home.

    Example:
        >>> onnx_runtime().get_available_providers()[-1]
        'CPUExecutionProvider'
    """
    os.environ.setdefault(NO_TELEMETRY, "1")
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # for a process that has imported it before
    found: ModuleType = onnxruntime
    return found


def check_graph(content: bytes, path: str | Path) -> None:
    """Raise ModelError if an ONNX file contains anything else than nodes and weights that `weft export` writes.

    Args:
        content: The file.
        path: Its name, for messages.

    Raises:
        ModelError: The file is damaged, names further files, or has operators, functions or graphs of its own.
    """
    try:
        _check_model(memoryview(content))
    except ValueError as error:
        raise ModelError(
            f"the ONNX file {path} is refused",
            seen=str(error),
            allowed="a file as `weft export` writes it: known operators, and all weights inside the file",
            next_step="copy or export the model again",
        ) from error


def _check_model(model: memoryview) -> None:
    graphs = 0
    for number, value in _fields(model):
        if number in (MODEL["functions"], MODEL["training"]):
            raise ValueError("functions of its own")
        if number == MODEL["domains"]:
            domain = _text(dict(_fields(_message(value))).get(1, b""))
            if domain not in OPERATORS:
                raise ValueError(f"operators of the domain {domain!r}")
        if number == MODEL["graph"]:
            graphs += 1
            _check_nodes(_message(value))
    if graphs != 1:
        raise ValueError(f"{graphs} graphs")


def _check_nodes(graph: memoryview) -> None:
    for number, value in _fields(graph):
        if number == GRAPH["nodes"]:
            _check_node(_message(value))
        elif number == GRAPH["tensors"]:
            _check_tensor(_message(value))
        elif number == GRAPH["sparse"]:
            raise ValueError("sparse weights")


def _check_node(node: memoryview) -> None:
    found = list(_fields(node))
    operator, domain = (
        _text(next((value for number, value in reversed(found) if number == NODE[name]), b""))
        for name in ("operator", "domain")
    )
    if operator not in OPERATORS.get(domain, ()):
        raise ValueError(f"the operator {domain + '.' if domain else ''}{operator}")
    attributes = (_message(value) for number, value in found if number == NODE["attributes"])
    if any(number not in ATTRIBUTE.values() for attribute in attributes for number, _ in _fields(attribute)):
        raise ValueError(f"an attribute of {operator} with tensors or graphs of its own")


def _check_tensor(tensor: memoryview) -> None:
    for number, value in _fields(tensor):
        if number == TENSOR["external"] or (number == TENSOR["location"] and value != 0):
            raise ValueError("weights outside of the file")


def _fields(message: memoryview) -> Iterator[Field]:
    """Yield the fields of a protocol buffer: (number, value).

    Raises:
        ValueError: The bytes are no protocol buffer.
    """
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        kind = key & 7
        if kind == VARINT:
            value, place = _varint(message, place)
            yield key >> 3, value
            continue
        size, place = _varint(message, place) if kind == BYTES else ({FIXED64: 8, FIXED32: 4}.get(kind, -1), place)
        if size < 0 or place + size > len(message):
            raise ValueError("not readable as ONNX")
        yield key >> 3, message[place : place + size]
        place += size


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    """Return a number of variable length, and the place after it."""
    value = 0
    for shift in range(0, 70, 7):
        if place >= len(message):
            break
        byte = message[place]
        value, place = value | (byte & 127) << shift, place + 1
        if byte < 128:
            return value, place
    raise ValueError("not readable as ONNX")


def _message(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise ValueError("not readable as ONNX")
    return value


def _text(value: int | memoryview | bytes) -> str:
    if isinstance(value, int):
        raise ValueError("not readable as ONNX")
    return bytes(value).decode("utf-8", "replace")
