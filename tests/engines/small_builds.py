"""Builds that take no time: the fake builder in the builder's place, and a graph of one node for it."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from engines.trt import build
from engines.trt.plans import BuildRequest


def use_fake_builder(monkeypatch: pytest.MonkeyPatch, models: Path) -> None:
    """Plans are built by ``fake_builder.py`` and kept under ``models``."""
    monkeypatch.setattr(build, "CHILD", (str(Path(__file__).with_name("fake_builder.py")),))
    monkeypatch.setenv("IDOL_MODELS", str(models))


def small_request(name: str, folder: Path) -> BuildRequest:
    """What to build of a graph that gives back what it is given; the graph is written to ``folder``."""
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])], "same",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])],
    )  # fmt: skip
    onnx.save(helper.make_model(graph), str(folder / "same.onnx"))
    return BuildRequest(name, folder / "same.onnx", (), targets=(89,))
