"""Dynamically quantised ONNX products back to plain floating point: ``ConvInteger`` and ``MatMulInteger`` chains.

The exporter (ONNX Runtime's dynamic quantiser) writes x → DynamicQuantizeLinear → ConvInteger → [+ ⌊bias / scale⌋] →
Cast → × (scale of x · scale of W). The weights' values are ``(q − zero point) · scale``; the activations' rounding is
lost on purpose. The plain graph is what other runtimes build.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engines.errors import FETCH_AGAIN, ModelFileError
from engines.models.graph_surgery import GraphEditor


def dequantise(model: Any) -> Any:
    """``model`` with every integer product replaced; other nodes stay. Raises ``ModelFileError`` on another pattern."""
    editor = GraphEditor(model)
    for node in editor.nodes:
        if node.op_type in ("ConvInteger", "MatMulInteger"):
            _replace(editor, node)
        elif node.op_type == "DequantizeLinear":
            _replace_lookup(editor, node)
    return editor.finish()


def _replace(editor: GraphEditor, node: Any) -> None:
    from onnx import helper

    value, weight_name, _, zero_name = node.input
    quantiser = editor.producer[value]
    if quantiser.op_type != "DynamicQuantizeLinear":
        raise _unknown(node, f"its input comes from {quantiser.op_type}")
    following, bias = _next(editor, node), None
    if following.op_type == "Add":
        other = next(name for name in following.input if name != node.output[0])
        bias = _float_source(editor, other, node)
        following = _next(editor, following)
    if following.op_type != "Cast":
        raise _unknown(node, f"{following.op_type} follows")
    scaled = _next(editor, following)
    if scaled.op_type != "Mul":
        raise _unknown(node, f"{scaled.op_type} follows its Cast")
    scales = editor.producer[next(name for name in scaled.input if name != following.output[0])]
    scale_name = next(name for name in scales.input if name in editor.initializers)
    scale = editor.array(scale_name).astype(np.float32)
    zero = editor.array(zero_name).astype(np.float32) if zero_name else np.float32(0)
    convolution = node.op_type == "ConvInteger"
    if convolution and scale.size > 1:
        raise _unknown(node, "its scale is per channel")
    if bias is not None and not convolution:
        raise _unknown(node, "a bias is added before its scale")
    # One constant per weight and scale: layers that share weights (ALBERT's twelve) go on sharing them.
    weight = f"{weight_name} x {scale_name}"
    if weight not in editor.initializers:
        editor.constant((editor.array(weight_name).astype(np.float32) - zero) * scale, weight)
    inputs = [quantiser.input[0], weight]
    if bias is not None:
        inputs.append(editor.constant(bias.reshape(-1), f"{scaled.output[0]}_bias"))
    kind = "Conv" if convolution else "MatMul"
    product = helper.make_node(kind, inputs, [scaled.output[0]], name=f"{node.name}_float")
    if convolution:
        product.attribute.extend(node.attribute)
    editor.replace(scaled, [product])


def _replace_lookup(editor: GraphEditor, node: Any) -> None:
    """A quantised table that is looked up and then dequantised: the float table is looked up instead."""
    from onnx import helper

    lookup = editor.producer.get(node.input[0])
    if lookup is None or lookup.op_type != "Gather" or lookup.input[0] not in editor.initializers:
        raise _unknown(node, "it dequantises something else than a table")
    scale, zero = (editor.array(name).astype(np.float32) for name in node.input[1:3])
    if scale.size != 1:
        raise _unknown(node, "its scale is per row")
    table = f"{lookup.input[0]} x {node.input[1]}"
    editor.constant((editor.array(lookup.input[0]).astype(np.float32) - zero) * scale, table)
    gather = helper.make_node("Gather", [table, lookup.input[1]], [node.output[0]], name=f"{node.name}_float")
    gather.attribute.extend(lookup.attribute)
    editor.replace(node, [gather])


def _next(editor: GraphEditor, node: Any) -> Any:
    readers = editor.readers(node.output[0])
    if len(readers) != 1:
        raise _unknown(node, f"{len(readers)} nodes read its output")
    return readers[0]


def _float_source(editor: GraphEditor, name: str, node: Any) -> NDArray[np.float32]:
    """The float initializer from which a quantised bias is computed."""
    for _ in range(8):
        if name in editor.initializers:
            array = editor.array(name)
            if array.dtype == np.float32:
                return array
            break
        producer = editor.producer[name]
        if producer.op_type not in ("Reshape", "Cast", "Floor", "Div"):
            break
        name = producer.input[0]
    raise _unknown(node, "its bias is of another form")


def _unknown(node: Any, what: str) -> ModelFileError:
    return ModelFileError(f"The quantised node {node.name!r} is of a form not known here: {what}.", FETCH_AGAIN)
