"""Writing ONNX graphs: nodes, stored weights, and linear layers of three kinds.

Weights of linear layers are stored as int8 with one scale per output, as model folders store them. What differs between
the kinds is how the inputs of a layer are rounded:

- ``float32``: not at all; the weights become float32 when the graph is loaded.
- ``int16``: to two int8 numbers, a coarse one and the rest; the layer is the sum of two integer products.
- ``int8``: to one int8 number, as onnxruntime's dynamic quantisation does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from weft.io.quantization import SCALE

Arithmetic = Literal["int8", "int16", "float32"]
OPSET = 20
IR_VERSION = 9  # of onnx 1.15, the first with this opset
RUNTIME_DOMAIN, RUNTIME_VERSION = "com.microsoft", 1  # operators that onnxruntime adds to those of ONNX
REST_STEPS, REST_ZERO = 254, 128  # the rest is at most half a coarse step, in either direction

TURNED = ".turned"  # ends the name of a matrix that is stored as [inputs, outputs]


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix of int8 numbers with one scale per row: [outputs, inputs]."""

    values: npt.NDArray[np.int8]
    scale: npt.NDArray[np.float32]
    name: str  # in the network


@dataclass(frozen=True, slots=True)
class Vector:
    """Weights that are not a matrix."""

    values: npt.NDArray[np.float32]
    name: str  # in the network


@dataclass
class GraphWriter:
    """Collects the nodes of a graph; every method returns the name of the value it adds."""

    name: str
    arithmetic: Arithmetic
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    stored: list[onnx.TensorProto] = field(default_factory=list)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    outputs: list[onnx.ValueInfoProto] = field(default_factory=list)

    def input(self, name: str, kind: int, *shape: str | int) -> str:
        """Add an input; a dimension with a name can have any size."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, value: str, *shape: str | int) -> None:
        """Give a value a name and make it an output."""
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def store(self, values: npt.ArrayLike, name: str = "") -> str:
        """Add weights; those of the network have their name in it, so that training can go on from them.

        A layer of the network that is used twice is stored once.
        """
        if any(one.name == name for one in self.stored):
            return name
        name = name or f"constant{len(self.stored)}"
        self.stored.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def vector(self, vector: Vector) -> str:
        """Add weights that are not a matrix."""
        return self.store(vector.values, vector.name)

    def _matrix(self, matrix: Matrix) -> tuple[str, str]:
        """Add a matrix, turned: [inputs, outputs], and the scales of its outputs."""
        return self.store(matrix.values.T, matrix.name + TURNED), self.store(matrix.scale, matrix.name + SCALE)

    def whole(self, *numbers: int) -> str:
        """Add a list of whole numbers, such as a shape."""
        return self.store(np.array(numbers, dtype=np.int64))

    def op(self, kind: str, *given: str, **attributes: Any) -> str:
        """Add an operator of ONNX with one result."""
        return self.ops(kind, 1, given, **attributes)[0]

    def runtime_op(self, kind: str, *given: str, **attributes: Any) -> str:
        """Add an operator of onnxruntime with one result."""
        return self.ops(kind, 1, given, domain=RUNTIME_DOMAIN, **attributes)[0]

    def ops(self, kind: str, results: int, given: Sequence[str], **attributes: Any) -> list[str]:
        """Add an operator with several results."""
        found = [f"v{len(self.nodes)}_{number}" for number in range(results)]
        self.nodes.append(helper.make_node(kind, list(given), found, **attributes))
        return found

    def model(self) -> bytes:
        """Return the graph as the content of a file."""
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.stored)
        domains = [helper.make_opsetid("", OPSET), helper.make_opsetid(RUNTIME_DOMAIN, RUNTIME_VERSION)]
        model = helper.make_model(graph, opset_imports=domains, ir_version=IR_VERSION, producer_name="weft")
        onnx.checker.check_model(model)
        content: bytes = model.SerializeToString(deterministic=True)
        return content

    # Parts of networks ------------------------------------------------------------------------------------------------

    def norm(self, given: str, weight: Vector, bias: Vector, epsilon: float) -> str:
        """Add a layer normalisation."""
        return self.op("LayerNormalization", given, self.vector(weight), self.vector(bias), epsilon=epsilon)

    def rows(self, table: Matrix, numbers: str) -> str:
        """Add a look-up of rows of an int8 matrix: [rows] → [rows, inputs]."""
        values = self.store(table.values, table.name)
        looked_up = self.op("Cast", self.op("Gather", values, numbers), to=TensorProto.FLOAT)
        return self.op(
            "Mul", looked_up, self.op("Gather", self.store(table.scale[:, None], table.name + SCALE), numbers)
        )

    def exact_linear(self, given: str, matrix: Matrix, bias: Vector | None) -> str:
        """Add a linear layer in float32; the runtime multiplies weights and scales once, when it loads the graph."""
        values, scale = self._matrix(matrix)
        scaled = self.op("Mul", self.op("Cast", values, to=TensorProto.FLOAT), scale)  # [inputs, outputs]
        return self.op("Gemm", given, scaled, *([] if bias is None else [self.vector(bias)]))

    def linear(self, given: str, matrix: Matrix, bias: Vector) -> str:
        """Add a linear layer of the graph's kind: [rows, inputs] → [rows, outputs]."""
        if self.arithmetic == "float32":
            return self.exact_linear(given, matrix, bias)
        values, scale = self._matrix(matrix)
        if self.arithmetic == "int8":
            return self.runtime_op("DynamicQuantizeMatMul", given, values, scale, "", self.vector(bias))
        coarse, step, zero = self.ops("DynamicQuantizeLinear", 3, [given])
        whole = self.runtime_op("MatMulIntegerToFloat", coarse, values, step, scale, zero, "", self.vector(bias))
        rest = self.op("Sub", given, self.op("DequantizeLinear", coarse, step, zero))
        fine_step = self.op("Div", step, self.store(np.float32(REST_STEPS)))
        fine_zero = self.store(np.uint8(REST_ZERO))
        fine = self.op("QuantizeLinear", rest, fine_step, fine_zero)
        return self.op("Add", whole, self.runtime_op("MatMulIntegerToFloat", fine, values, fine_step, scale, fine_zero))
