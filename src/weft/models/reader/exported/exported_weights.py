"""The weights of an exported reader, for training further and for PyTorch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np
import onnx
from onnx import numpy_helper

from weft.io.quantization import SCALE, Packed
from weft.models.reader.exported.onnx_writer import TURNED
from weft.models.reader.network_constants import RATE

HEADS = re.compile(
    r"(pairs|breaks|strays|surprise)\.(?!norm|mix|moments)"
)  # layers whose weights are stored times `RATE`
MOMENTS = "surprise.moments"


def exported_weights(graphs: Mapping[str, bytes]) -> Packed:
    """Return the weights in exported graphs as the folder of the trained reader has them: int8 with scales.

    Weights that only training needs are not there: the layer that predicts masked words, and the vector of a mask.

    Args:
        graphs: The contents of the ONNX files by name, checked.
    """
    stored = dict(_stored(graphs))
    moments = [stored.pop(f"{MOMENTS}.{number}", None) for number in range(2)]
    found: Packed = {}
    for name, values in stored.items():
        found[name.removesuffix(TURNED)] = np.ascontiguousarray(values.T) if name.endswith(TURNED) else values
    if moments[0] is not None and moments[1] is not None:
        found[MOMENTS] = np.concatenate([moments[0].reshape(1), moments[1].reshape(1)])
    return found


def _stored(graphs: Mapping[str, bytes]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the weights of all graphs that belong to the network: name and values."""
    for content in graphs.values():
        for tensor in onnx.load_model_from_string(content).graph.initializer:
            if "." not in tensor.name:  # a constant
                continue
            values = numpy_helper.to_array(tensor)
            if tensor.name.endswith(SCALE):
                values = values.reshape(-1)
            if HEADS.match(tensor.name) and values.dtype == np.float32:
                values = values / np.float32(RATE)
            yield tensor.name, values
