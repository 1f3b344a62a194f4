"""Editing ONNX graphs: look up producers and readers, swap nodes, drop what nothing needs any more.

General rewrites to plain opset-17 operators live here too; they know operators, not models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engines.errors import FETCH_AGAIN, ModelFileError

PLAIN_OPSET = 17
"""TensorRT 8.6 to 11 all read it."""


class GraphEditor:
    """A model under the knife. Nodes are replaced by output name; ``finish`` gives the new model."""

    def __init__(self, model: Any) -> None:
        from onnx import numpy_helper

        self.model = model
        self.nodes: list[Any] = list(model.graph.node)
        self.inputs: list[Any] = list(model.graph.input)
        self.initializers = {tensor.name: tensor for tensor in model.graph.initializer}
        self.producer = {output: node for node in self.nodes for output in node.output}
        self._readers: dict[str, list[Any]] = {}
        for node in self.nodes:
            for value in node.input:
                self._readers.setdefault(value, []).append(node)
        self._replaced: dict[str, list[Any]] = {}
        self._numpy = numpy_helper

    def readers(self, value: str) -> list[Any]:
        return self._readers.get(value, [])

    def array(self, name: str) -> NDArray[Any]:
        """The value of an initializer. Raises ``ModelFileError`` when ``name`` is none."""
        if name not in self.initializers:
            raise ModelFileError(f"The tensor {name!r} is computed, a constant was expected.", FETCH_AGAIN)
        return np.asarray(self._numpy.to_array(self.initializers[name]))

    def constant(self, array: NDArray[Any], name: str) -> str:
        """Add an initializer; equal names must mean equal values."""
        self.initializers[name] = self._numpy.from_array(np.ascontiguousarray(array), name)
        return name

    def replace(self, node: Any, new: Iterable[Any]) -> None:
        """Put ``new`` where ``node`` stands; one of them must make the output that is still read."""
        self._replaced[node.output[0]] = list(new)

    def finish(self, *, opset: int | None = None, name: str | None = None) -> Any:
        """The edited model without dead nodes and initializers, its plain operators in ``opset`` when given."""
        from onnx import helper

        nodes: list[Any] = []
        for node in self.nodes:
            nodes.extend(self._replaced.get(node.output[0], [node]))
        nodes = alive(nodes, [value.name for value in self.model.graph.output])
        used = {value for node in nodes for value in node.input}
        domains = {node.domain for node in nodes} | {""}
        graph = helper.make_graph(
            nodes,
            name or self.model.graph.name,
            self.inputs,
            self.model.graph.output,
            [tensor for key, tensor in self.initializers.items() if key in used],
        )
        opsets = [
            helper.make_opsetid(entry.domain, opset if opset and not entry.domain else entry.version)
            for entry in self.model.opset_import
            if entry.domain in domains
        ]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="idol")


def alive(nodes: list[Any], outputs: Iterable[str]) -> list[Any]:
    """The nodes that ``outputs`` need, in order."""
    needed = set(outputs)
    kept: list[Any] = []
    for node in reversed(nodes):
        if any(output in needed for output in node.output):
            kept.append(node)
            needed.update(node.input)
    return kept[::-1]


def plain_operators(model: Any) -> Any:
    """Vendor operators and newer attributes to plain opset-17 ones: quantised LSTM, FastGelu, SkipLayerNormalization.

    Raises ``ModelFileError`` for a vendor operator that is not known here.
    """
    editor = GraphEditor(model)
    rewrites: dict[str, Callable[[GraphEditor, Any], list[Any]]] = {
        "DynamicQuantizeLSTM": _lstm,
        "FastGelu": _gelu,
        "SkipLayerNormalization": _skip_layer_norm,
    }
    for node in editor.nodes:
        if node.domain in ("", "ai.onnx"):
            older = _older_form(editor, node)
            if older is not None:
                editor.replace(node, older)
        elif node.op_type in rewrites:
            editor.replace(node, rewrites[node.op_type](editor, node))
        else:
            raise ModelFileError(
                f"The operator {node.domain}.{node.op_type} ({node.name}) has no plain form here.",
                FETCH_AGAIN,
            )
    return editor.finish(opset=PLAIN_OPSET)


def _attributes(node: Any) -> dict[str, Any]:
    from onnx import helper

    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}


def _lstm(editor: GraphEditor, node: Any) -> list[Any]:
    """Inputs X, W, R, B, sequence_lens, h0, c0, P, then scale and zero point of W and of R, one per direction."""
    from onnx import helper

    value, weights, recurrent, bias, lengths, hidden, cell, peephole, *scales = node.input
    if peephole or lengths:
        raise ModelFileError(f"The LSTM {node.name} has peepholes or lengths.", FETCH_AGAIN)
    names = []
    for name, scale, zero in ((weights, scales[0], scales[1]), (recurrent, scales[2], scales[3])):
        steps = editor.array(scale).reshape(-1, 1, 1).astype(np.float32)
        offset = editor.array(zero).reshape(-1, 1, 1).astype(np.float32)
        plain = (editor.array(name).astype(np.float32) - offset) * steps
        names.append(editor.constant(plain.transpose(0, 2, 1), f"{name}_plain"))
    attributes = _attributes(node)
    kept = {key: attributes[key] for key in ("direction", "hidden_size") if key in attributes}
    return [
        helper.make_node("LSTM", [value, *names, bias, "", hidden, cell], list(node.output), name=node.name, **kept)
    ]


def _gelu(editor: GraphEditor, node: Any) -> list[Any]:
    """FastGelu: x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))), with the bias added first."""
    from onnx import helper

    made, stem, value = [], node.output[0], node.input[0]
    constants = {
        key: editor.constant(np.array(number, np.float32), f"gelu_{key}")
        for key, number in (("cubic", 0.044715), ("scale", np.sqrt(2 / np.pi)), ("half", 0.5), ("one", 1.0))
    }

    def make(kind: str, left: str, right: str | None, tag: str) -> str:
        output = f"{stem}_{tag}"
        inputs = [left] if right is None else [left, right]
        made.append(helper.make_node(kind, inputs, [output], name=f"{stem}_{tag}"))
        return output

    if len(node.input) > 1 and node.input[1]:
        value = make("Add", value, node.input[1], "biased")
    cube = make("Mul", make("Mul", value, value, "square"), value, "cube")
    inner = make("Add", value, make("Mul", cube, constants["cubic"], "cubic"), "inner")
    bent = make("Tanh", make("Mul", inner, constants["scale"], "scaled"), None, "tanh")
    half = make("Mul", value, constants["half"], "half")
    made.append(
        helper.make_node("Mul", [half, make("Add", bent, constants["one"], "one")], [stem], name=f"{stem}_gelu")
    )
    return made


def _skip_layer_norm(editor: GraphEditor, node: Any) -> list[Any]:
    from onnx import helper

    left, right, scale, shift, *bias = node.input
    total = f"{node.output[0]}_sum"
    made = [helper.make_node("Add", [left, right], [total], name=total)]
    if bias and bias[0]:
        made.append(helper.make_node("Add", [total, bias[0]], [f"{total}_biased"], name=f"{total}_biased"))
        total = f"{total}_biased"
    epsilon = float(_attributes(node).get("epsilon", 1e-12))
    made.append(
        helper.make_node(
            "LayerNormalization", [total, scale, shift], [node.output[0]], name=node.name, axis=-1, epsilon=epsilon
        )
    )
    return made


_NEWER = {"Resize": ("antialias", "keep_aspect_ratio_policy"), "Cast": ("saturate",), "Split": ("num_outputs",)}


def _older_form(editor: GraphEditor, node: Any) -> list[Any] | None:
    """A node of opset 18 to 20 as opset 17 wants it; None when it is the same."""
    from onnx import helper

    attributes = _attributes(node)
    if node.op_type == "ReduceMean" and len(node.input) > 1:
        axes = [int(axis) for axis in editor.array(node.input[1]).reshape(-1)]
        keep = int(attributes.get("keepdims", 1))
        return [
            helper.make_node("ReduceMean", [node.input[0]], list(node.output), name=node.name, axes=axes, keepdims=keep)
        ]
    if node.op_type == "Resize" and attributes.get("mode") == b"nearest":
        doubled = _doubling(editor, node)
        if doubled is not None:
            return doubled
    dropped = [name for name in _NEWER.get(node.op_type, ()) if name in attributes]
    if not dropped:
        return None
    kept = {key: value for key, value in attributes.items() if key not in dropped}
    return [helper.make_node(node.op_type, list(node.input), list(node.output), name=node.name, **kept)]


def _doubling(editor: GraphEditor, node: Any) -> list[Any] | None:
    """Nearest ×2 on the last of three axes as a concatenation: TensorRT-RTX refuses this Resize."""
    from onnx import helper

    if len(node.input) < 3 or node.input[2] not in editor.initializers:
        return None
    if editor.array(node.input[2]).tolist() != [1.0, 1.0, 2.0]:
        return None
    stem = node.output[0]
    axis = editor.constant(np.array([3], np.int64), "last_new_axis")
    shape = editor.constant(np.array([0, 0, -1], np.int64), "join_last_axes")
    return [
        helper.make_node("Unsqueeze", [node.input[0], axis], [f"{stem}_wide"], name=f"{stem}_wide"),
        helper.make_node("Concat", [f"{stem}_wide"] * 2, [f"{stem}_twice"], name=f"{stem}_twice", axis=3),
        helper.make_node("Reshape", [f"{stem}_twice", shape], [stem], name=f"{stem}_joined"),
    ]
