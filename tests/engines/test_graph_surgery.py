"""Rewrites of vendor operators give what ONNX Runtime's own kernels give."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from engines.errors import ModelFileError
from engines.models.dequantise_graph import dequantise
from engines.models.graph_surgery import PLAIN_OPSET, plain_operators

RANDOM = np.random.default_rng(7)


def _model(
    nodes: list[Any], inputs: dict[str, list[Any]], outputs: list[str], constants: dict[str, NDArray[Any]]
) -> Any:
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def _run(model: Any, **inputs: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, inputs))


def _is_plain(model: Any) -> bool:
    return [(entry.domain, entry.version) for entry in model.opset_import] == [("", PLAIN_OPSET)]


def _floats(*shape: int) -> NDArray[np.float32]:
    return RANDOM.standard_normal(shape).astype(np.float32)


def test_gelu_and_skip_norm() -> None:
    nodes = [
        helper.make_node("FastGelu", ["x", "bias"], ["bent"], domain="com.microsoft", name="gelu"),
        helper.make_node(
            "SkipLayerNormalization",
            ["bent", "x", "scale", "shift"],
            ["y"],
            domain="com.microsoft",
            name="norm",
            epsilon=1e-6,
        ),
    ]
    model = _model(nodes, {"x": [1, "n", 8]}, ["y"], {"bias": _floats(8), "scale": _floats(8), "shift": _floats(8)})
    plain = plain_operators(model)
    assert _is_plain(plain)
    x = _floats(1, 5, 8)
    np.testing.assert_allclose(_run(plain, x=x)[0], _run(model, x=x)[0], atol=2e-5)


def test_quantised_lstm() -> None:
    size, hidden = 6, 4
    # Half the range: with full-range weights the kernel saturates on processors without VNNI.
    weights = RANDOM.integers(-63, 64, (2, size, 4 * hidden)).astype(np.int8)
    recurrent = RANDOM.integers(-63, 64, (2, hidden, 4 * hidden)).astype(np.int8)
    constants = {
        "w": weights, "r": recurrent, "b": _floats(2, 8 * hidden) * 0.1, "start": np.zeros((2, 1, hidden), np.float32),
        "ws": np.array([0.004, 0.008], np.float32), "rs": np.array([0.006, 0.004], np.float32),
        "z": np.zeros(2, np.int8),
    }  # fmt: skip
    node = helper.make_node(
        "DynamicQuantizeLSTM", ["x", "w", "r", "b", "", "start", "start", "", "ws", "z", "rs", "z"], ["y"],
        domain="com.microsoft", name="lstm", direction="bidirectional", hidden_size=hidden,
    )  # fmt: skip
    model = _model([node], {"x": ["t", 1, size]}, ["y"], constants)
    plain = plain_operators(model)
    assert _is_plain(plain)
    x = _floats(9, 1, size)
    # The quantised kernel rounds its activations to 8 bits, the plain one does not.
    np.testing.assert_allclose(_run(plain, x=x)[0], _run(model, x=x)[0], atol=0.03)


def test_doubling_and_mean() -> None:
    nodes = [
        helper.make_node("Resize", ["x", "", "scales"], ["wide"], name="up", mode="nearest", nearest_mode="floor",
                         coordinate_transformation_mode="asymmetric", antialias=0, keep_aspect_ratio_policy="stretch"),
        helper.make_node("ReduceMean", ["wide", "axis"], ["m"], name="mean", keepdims=1),
        helper.make_node("Sub", ["wide", "m"], ["y"], name="sub"),
    ]  # fmt: skip
    constants = {"scales": np.array([1, 1, 2], np.float32), "axis": np.array([2], np.int64)}
    model = _model(nodes, {"x": [1, 3, "n"]}, ["y"], constants)
    plain = plain_operators(model)
    assert _is_plain(plain)
    assert "Resize" not in {node.op_type for node in plain.graph.node}
    x = _floats(1, 3, 7)
    np.testing.assert_allclose(_run(plain, x=x)[0], _run(model, x=x)[0], atol=1e-6)


@pytest.mark.parametrize("with_bias", [True, False])
def test_integer_convolution(with_bias: bool) -> None:
    weight = RANDOM.integers(0, 256, (4, 3, 3)).astype(np.uint8)
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "qs", "qz"], name="quantise"),
        helper.make_node("ConvInteger", ["q", "w", "qz", "wz"], ["i"], name="conv", pads=[1, 1]),
        helper.make_node("Mul", ["qs", "ws"], ["scale"], name="scales"),
    ]
    last = "i"
    if with_bias:
        nodes += [
            helper.make_node("Div", ["b", "scale"], ["b1"], name="b1"),
            helper.make_node("Floor", ["b1"], ["b2"], name="b2"),
            helper.make_node("Cast", ["b2"], ["b3"], name="b3", to=TensorProto.INT32),
            helper.make_node("Reshape", ["b3", "shape"], ["b4"], name="b4"),
            helper.make_node("Add", ["i", "b4"], ["sum"], name="add"),
        ]
        last = "sum"
    nodes += [
        helper.make_node("Cast", [last], ["f"], name="cast", to=TensorProto.FLOAT),
        helper.make_node("Mul", ["f", "scale"], ["y"], name="scaled"),
    ]
    constants = {
        "w": weight, "wz": np.array(128, np.uint8), "ws": np.array(0.01, np.float32), "b": _floats(4),
        "shape": np.array([1, 4, 1], np.int64),
    }  # fmt: skip
    model = _model(nodes, {"x": [1, 3, "n"]}, ["y"], constants)
    plain = dequantise(model)
    assert [node.op_type for node in plain.graph.node] == ["Conv"]
    x = _floats(1, 3, 16)
    got, wanted = _run(plain, x=x)[0], _run(model, x=x)[0]
    assert np.abs(got - wanted).max() < 0.02 * np.abs(wanted).max()


def test_an_unknown_vendor_operator_is_refused() -> None:
    node = helper.make_node("BiasGelu", ["x", "b"], ["y"], domain="com.microsoft", name="odd")
    model = _model([node], {"x": [1, 4]}, ["y"], {"b": _floats(4)})
    with pytest.raises(ModelFileError, match="BiasGelu"):
        plain_operators(model)


def test_an_unknown_quantised_pattern_is_refused() -> None:
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "qs", "qz"], name="quantise"),
        helper.make_node("MatMulInteger", ["q", "w", "qz", "wz"], ["i"], name="odd"),
        helper.make_node("Cast", ["i"], ["y"], name="cast", to=TensorProto.FLOAT),
        helper.make_node("Cast", ["i"], ["z"], name="second", to=TensorProto.FLOAT),
    ]
    constants = {"w": RANDOM.integers(0, 9, (4, 4)).astype(np.uint8), "wz": np.array(4, np.uint8)}
    with pytest.raises(ModelFileError, match="odd"):
        dequantise(_model(nodes, {"x": [2, 4]}, ["y", "z"], constants))
