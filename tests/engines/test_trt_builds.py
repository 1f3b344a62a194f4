"""Every graph of ours passes TensorRT-RTX's builder, which needs no GPU: SM89 for all, SM86 and SM120 for one each."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from engines.errors import Cancelled
from engines.models.decoder_trt import decoder_requests
from engines.models.decoder_weights import GgufWeights
from engines.models.kokoro_trt import part_request, voice_graphs
from engines.models.published_sizes import PUBLISHED
from engines.models.trt_parts import DECODER_PARTS
from engines.trt.build import build_plan, ensure_plan
from engines.trt.flavours import Card, Flavour, TensorRTError, installed, usable_on
from engines.trt.plans import BuildRequest, plan_key
from tests.gpu.shapes import LLAMA_7B

CARD = Card("a card that is not here", 89, 8 << 30, 13000)


@pytest.fixture(scope="module")
def rtx() -> Flavour:
    found = [flavour for flavour in installed() if flavour.name == "tensorrt_rtx"]
    assert found, "TensorRT-RTX is in the dev extra; run packaging/test.sh"
    return found[0]


@pytest.fixture(scope="module")
def graphs(model_path: Callable[[str], Path]) -> Path:
    folder = voice_graphs(model_path("kokoro"), typed=True)
    assert folder is not None
    return folder


SHAPES = {
    **dict(PUBLISHED.values()),
    "Qwen2.5-1.5B": replace(PUBLISHED["qwen2"][1], hidden=1536, heads=12, head_size=128, rope_size=128,
                            intermediate=8960),
    "Llama-2-7B": LLAMA_7B,
}  # fmt: skip


@pytest.fixture(scope="module")
def tiny_parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, BuildRequest]:
    """Every part of the test data's tiny Llama, for 64 tokens."""
    weights = GgufWeights(Path(__file__).parents[1] / "data" / "llm" / "tiny_llama_f16.gguf")
    try:
        requests = decoder_requests(tmp_path_factory.mktemp("tiny"), weights.config, 64)
        return dict(zip(DECODER_PARTS, requests, strict=True))
    finally:
        weights.close()


@pytest.fixture(scope="module")
def tiny(tiny_parts: dict[str, BuildRequest]) -> BuildRequest:
    """The second half of its layer for many tokens: it has a profile."""
    return tiny_parts["attend"]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_decoder_builds_in_seconds(rtx: Flavour, tmp_path: Path, shape: str) -> None:
    for request in decoder_requests(tmp_path, SHAPES[shape], 2048):
        note = build_plan(replace(request, targets=(89,)), rtx, tmp_path / f"{request.name}.plan")
        assert isinstance(note["seconds"], float) and note["seconds"] < 60  # half a layer, not a model
        assert note["bytes"] == (tmp_path / f"{request.name}.plan").stat().st_size < 20e6  # no weights inside


@pytest.mark.models
@pytest.mark.parametrize(("part", "target"), [("A", 89), ("B", 89), ("D", 89), ("B", 86), ("B", 120)])
def test_the_voice_builds(rtx: Flavour, graphs: Path, tmp_path: Path, part: str, target: int) -> None:
    note = build_plan(part_request(part, graphs, (target,)), rtx, tmp_path / "part.plan")
    assert note["bytes"] == (tmp_path / "part.plan").stat().st_size < 140e6
    assert not [text for text in note["warnings"] if "Unused Input" in text]  # type: ignore[attr-defined]


@pytest.mark.parametrize("part", ["project", "attend"])
@pytest.mark.parametrize("target", [86, 89, 120])
def test_the_decoder_builds(
    rtx: Flavour, tiny_parts: dict[str, BuildRequest], tmp_path: Path, target: int, part: str
) -> None:
    seen: list[tuple[float, str]] = []
    half = tiny_parts[part]
    request = BuildRequest(half.name, half.graph, half.profiles, targets=(target,))
    note = build_plan(request, rtx, tmp_path / "tiny.plan", None, lambda f, text: seen.append((f, text)))
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0 and len(fractions) > 3
    assert note["targets"] == [target]
    assert json.loads((tmp_path / "tiny.json").read_text())["version"] == rtx.version


def test_a_build_can_be_cancelled(rtx: Flavour, tiny: BuildRequest, tmp_path: Path) -> None:
    request = replace(tiny, profiles=tiny.profiles * 64)  # several seconds; with one profile it is done in 0.4
    began = time.monotonic()
    with pytest.raises(Cancelled):
        build_plan(request, rtx, tmp_path / "tiny.plan", None, None, lambda: time.monotonic() - began > 0.3)
    assert time.monotonic() - began < 5
    assert list(tmp_path.iterdir()) == []


def test_a_refused_graph_names_its_node_and_is_not_tried_twice(
    rtx: Flavour, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDOL_MODELS", str(tmp_path))
    graph = helper.make_graph(
        [helper.make_node("NoSuchOperator", ["x"], ["y"], name="odd_one")], "odd",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, str(tmp_path / "odd.onnx"))
    request = BuildRequest("odd", tmp_path / "odd.onnx", (), targets=(89,))
    with pytest.raises(TensorRTError, match="odd could not be built"):
        ensure_plan(request, rtx, CARD)
    with pytest.raises(TensorRTError, match="tried before"):
        ensure_plan(request, rtx, CARD)


def test_keys_tell_apart_what_must_not_be_mixed(tiny: BuildRequest) -> None:
    eight, ten = Flavour("tensorrt_8", "8.6.1"), Flavour("tensorrt", "10.13")
    other = Card("another card", 89, 8 << 30, 13000)
    keys = {
        plan_key(tiny, eight, CARD), plan_key(tiny, ten, CARD), plan_key(tiny, eight, other),
        plan_key(BuildRequest("x", tiny.graph, tiny.profiles, half=False), eight, CARD),
        plan_key(BuildRequest("x", tiny.graph, tiny.profiles * 2), eight, CARD),
    }  # fmt: skip
    assert len(keys) == 5
    assert plan_key(tiny, eight, CARD) == plan_key(tiny, eight, CARD)


def test_cards_and_flavours_are_matched_before_anything_is_loaded() -> None:
    assert "not on compute capability 9.0" in usable_on(Flavour("tensorrt_rtx", "1.7"), 90)
    assert usable_on(Flavour("tensorrt_rtx", "1.7"), 89) == ""
    assert "7.5" in usable_on(Flavour("tensorrt", "10.0"), 61)
    assert usable_on(Flavour("tensorrt_8", "8.6.1"), 61) == ""
    assert "8.6 serves" in usable_on(Flavour("tensorrt_8", "8.6.1"), 120)
