"""Dynamically quantised ONNX products back to plain floating point: ``ConvInteger`` and ``MatMulInteger`` chains.

The exporter (ONNX Runtime's dynamic quantiser) writes x → DynamicQuantizeLinear → ConvInteger → [+ ⌊bias / scale⌋] →
Cast → × (scale of x · scale of W). The weights' values are ``(q − zero point) · scale``; the activations' rounding is
lost on purpose. The plain graph is what other runtimes build.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engines.errors import ModelFileError


def dequantise(model: Any) -> Any:
    """``model`` with every integer product replaced; other nodes stay. Raises ``ModelFileError`` on another pattern."""
    return _Dequantiser(model).run()


class _Dequantiser:
    def __init__(self, model: Any) -> None:
        from onnx import numpy_helper

        self._model = model
        self._graph = model.graph
        self._to_array = numpy_helper.to_array
        self._producer = {output: node for node in self._graph.node for output in node.output}
        self._consumers: dict[str, list[Any]] = {}
        for node in self._graph.node:
            for value in node.input:
                self._consumers.setdefault(value, []).append(node)
        self._initializers = {tensor.name: tensor for tensor in self._graph.initializer}
        self._new_nodes: dict[str, list[Any]] = {}
        self._new_initializers: list[Any] = []

    def run(self) -> Any:
        from onnx import helper

        for node in self._graph.node:
            if node.op_type in ("ConvInteger", "MatMulInteger"):
                self._replace(node)
        nodes: list[Any] = []
        for node in self._graph.node:
            nodes.extend(self._new_nodes.get(node.output[0], [node]))
        nodes = self._alive(nodes)
        used = {value for node in nodes for value in node.input}
        initializers = [t for t in [*self._graph.initializer, *self._new_initializers] if t.name in used]
        graph = helper.make_graph(nodes, self._graph.name, self._graph.input, self._graph.output, initializers)
        return helper.make_model(
            graph,
            opset_imports=self._model.opset_import,
            ir_version=self._model.ir_version,
            producer_name=self._model.producer_name,
        )

    def _replace(self, node: Any) -> None:
        from onnx import helper, numpy_helper

        value, weight_name, _, zero_name = node.input
        quantiser = self._producer[value]
        if quantiser.op_type != "DynamicQuantizeLinear":
            raise self._unknown(node, f"its input comes from {quantiser.op_type}")
        following, bias = self._next(node), None
        if following.op_type == "Add":
            other = next(name for name in following.input if name != node.output[0])
            bias = self._float_source(other, node)
            following = self._next(following)
        if following.op_type != "Cast":
            raise self._unknown(node, f"{following.op_type} follows")
        scaled = self._next(following)
        if scaled.op_type != "Mul":
            raise self._unknown(node, f"{scaled.op_type} follows its Cast")
        scales = self._producer[next(name for name in scaled.input if name != following.output[0])]
        scale = self._array(next(name for name in scales.input if name in self._initializers)).astype(np.float32)
        zero = self._array(zero_name).astype(np.float32) if zero_name else np.float32(0)
        weight = (self._array(weight_name).astype(np.float32) - zero) * scale
        name = f"{weight_name}_float_{len(self._new_initializers)}"
        self._new_initializers.append(numpy_helper.from_array(np.ascontiguousarray(weight), name))
        source, output = quantiser.input[0], scaled.output[0]
        inputs = [source, name]
        made: list[Any] = []
        if node.op_type == "ConvInteger":
            if bias is not None:
                self._new_initializers.append(numpy_helper.from_array(bias.reshape(-1), f"{name}_bias"))
                inputs.append(f"{name}_bias")
            made.append(helper.make_node("Conv", inputs, [output], name=f"{node.name}_float"))
            made[0].attribute.extend(node.attribute)
        else:
            if bias is not None:
                raise self._unknown(node, "a bias is added before its scale")
            made.append(helper.make_node("MatMul", inputs, [output], name=f"{node.name}_float"))
        self._new_nodes[output] = made

    def _next(self, node: Any) -> Any:
        consumers = self._consumers.get(node.output[0], [])
        if len(consumers) != 1:
            raise self._unknown(node, f"{len(consumers)} nodes read its output")
        return consumers[0]

    def _float_source(self, name: str, node: Any) -> NDArray[np.float32]:
        """The float initializer from which a quantised bias is computed."""
        for _ in range(8):
            if name in self._initializers:
                array = self._array(name)
                if array.dtype == np.float32:
                    return array
                break
            producer = self._producer[name]
            if producer.op_type not in ("Reshape", "Cast", "Floor", "Div"):
                break
            name = producer.input[0]
        raise self._unknown(node, "its bias is of another form")

    def _array(self, name: str) -> NDArray[Any]:
        return np.asarray(self._to_array(self._initializers[name]))

    def _alive(self, nodes: list[Any]) -> list[Any]:
        """Nodes the outputs still need."""
        needed = {value.name for value in self._graph.output}
        kept: list[Any] = []
        for node in reversed(nodes):
            if any(output in needed for output in node.output):
                kept.append(node)
                needed.update(node.input)
        return kept[::-1]

    def _unknown(self, node: Any, what: str) -> ModelFileError:
        return ModelFileError(
            f"The quantised node {node.name!r} is of a form not known here: {what}.", "Fetch the voice model again."
        )
