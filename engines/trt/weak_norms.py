"""Instance norms for weakly typed TensorRT (8.6): its parser turns them into a plugin that wants cuDNN.

The graph is parsed with a placeholder where each norm stands; then TensorRT's own normalisation layer takes its place.
``ops`` writes the norm out in reductions instead, for cards on which the layer does not build.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

_PLACE = "_norm_place"


def with_placeholders(graph: Path, form: str) -> Path | None:
    """``graph`` rewritten beside itself in a temporary file; None when it has no instance norm."""
    import onnx
    from onnx import helper, numpy_helper

    model = onnx.load(os.fspath(graph), load_external_data=False)
    if not any(node.op_type == "InstanceNormalization" for node in model.graph.node):
        return None
    nodes = []
    for node in model.graph.node:
        if node.op_type != "InstanceNormalization":
            nodes.append(node)
            continue
        value, scale, shift = node.input
        out = node.output[0]
        epsilon = next((a.f for a in node.attribute if a.name == "epsilon"), 1e-5)
        if form == "layer":
            nodes.append(helper.make_node("Identity", [value], [f"{out}_n"], name=f"{out}{_PLACE}"))
        else:
            nodes += [
                helper.make_node("ReduceMean", [value], [f"{out}_m"], name=f"{out}_m_f32", axes=[-1], keepdims=1),
                helper.make_node("Sub", [value, f"{out}_m"], [f"{out}_c"], name=f"{out}_c_f32"),
                helper.make_node("Mul", [f"{out}_c", f"{out}_c"], [f"{out}_q"], name=f"{out}_q_f32"),
                helper.make_node("ReduceMean", [f"{out}_q"], [f"{out}_v"], name=f"{out}_v_f32", axes=[-1], keepdims=1),
                helper.make_node("Add", [f"{out}_v", "norm_epsilon"], [f"{out}_e"], name=f"{out}_e_f32"),
                helper.make_node("Sqrt", [f"{out}_e"], [f"{out}_s"], name=f"{out}_s_f32"),
                helper.make_node("Div", [f"{out}_c", f"{out}_s"], [f"{out}_n"], name=f"{out}_n_f32"),
            ]
        nodes += [
            helper.make_node("Unsqueeze", [scale, "norm_axis"], [f"{out}_a"], name=f"{out}_a"),
            helper.make_node("Unsqueeze", [shift, "norm_axis"], [f"{out}_b"], name=f"{out}_b"),
            helper.make_node("Mul", [f"{out}_n", f"{out}_a"], [f"{out}_k"], name=f"{out}_k"),
            helper.make_node("Add", [f"{out}_k", f"{out}_b"], [out], name=f"{out}_o"),
        ]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.append(numpy_helper.from_array(np.asarray([1], np.int64), "norm_axis"))
    model.graph.initializer.append(numpy_helper.from_array(np.asarray(epsilon, np.float32), "norm_epsilon"))
    with tempfile.NamedTemporaryFile(dir=graph.parent, suffix=".onnx", delete=False) as file:
        file.write(model.SerializeToString())
    return Path(file.name)


def put_layers(api: Any, network: Any, kept: list[Any]) -> int:
    """A normalisation layer for every placeholder; how many. ``kept`` holds weights until the build is over."""
    places = {}
    for index in range(network.num_layers):
        layer = network.get_layer(index)
        if layer.name.endswith(_PLACE):
            places[layer.get_output(0).name] = layer
    made = {}
    for name, layer in places.items():
        value = layer.get_input(0)
        channels = value.shape[1]
        ones, zeros = np.ones((1, channels, 1), np.float32), np.zeros((1, channels, 1), np.float32)
        kept += [ones, zeros]
        scale = network.add_constant((1, channels, 1), api.Weights(ones)).get_output(0)
        shift = network.add_constant((1, channels, 1), api.Weights(zeros)).get_output(0)
        norm = network.add_normalization(value, scale, shift, 1 << 2)
        norm.epsilon = 1e-5
        norm.name = f"{name}_f32"
        made[name] = norm.get_output(0)
    for index in range(network.num_layers):
        layer = network.get_layer(index)
        for place in range(layer.num_inputs):
            tensor = layer.get_input(place)
            if tensor is not None and tensor.name in made:
                layer.set_input(place, made[tensor.name])
    return len(made)
