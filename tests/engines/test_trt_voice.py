"""Kokoro's parts chained on a card made of host memory, against the same parts on ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from engines.models import kokoro_trt
from engines.models.kokoro import KokoroEngine
from engines.models.kokoro_trt import TensorRTKokoro
from engines.trt import session as session_module
from engines.trt.flavours import Flavour, TensorRTError
from engines.trt.plans import BuildRequest
from engines.trt.session import TensorRTSession
from tests.engines.fake_card import FakeDevice, fake_graph, write_plan

IDS = [50, 83, 54, 156, 57, 135, 3, 16, 65, 156, 87, 158]


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> FakeDevice:
    made = FakeDevice(4 << 30)
    made.flavour = Flavour("tensorrt_8", "8.6.1")  # its graphs are float32, which the CPU runs quickly
    monkeypatch.setattr(session_module, "CudaGraph", fake_graph(made.cuda))
    return made


def plans(tmp_path: Path, broken: str = "") -> Callable[..., Path]:
    def make(request: BuildRequest, *_: object) -> Path:
        if request.name.endswith(broken) and broken:
            raise TensorRTError(f"{request.name} could not be built: node encoder/Gather.")
        return write_plan(tmp_path / f"{request.name}.plan", request.graph, request.profiles)

    return make


@pytest.mark.models
def test_sound_that_is_no_number_brings_the_spare(
    device: FakeDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_path: Callable[[str], Path]
) -> None:
    monkeypatch.setattr(kokoro_trt, "ensure_plan", plans(tmp_path))
    monkeypatch.setattr(kokoro_trt, "MAX_FRAMES", 120)
    engine = TensorRTKokoro(model_path("kokoro"), device)  # type: ignore[arg-type]
    engine.load()
    try:
        good = engine.synthesise(IDS, "af_heart").audio
        fetch = TensorRTSession.fetch

        def broken(self: TensorRTSession, names: Sequence[str]) -> dict[str, np.ndarray]:
            return {name: np.full_like(value, np.nan) for name, value in fetch(self, names).items()}

        monkeypatch.setattr(engine._parts["D"], "fetch", broken.__get__(engine._parts["D"]))
        assert np.abs(engine.synthesise(IDS, "af_heart").audio - good).max() < 2e-3
        assert "CPU" in engine.runtime and device.cuda.blocks == {}
    finally:
        engine.close()


@pytest.mark.models
@pytest.mark.parametrize("broken", ["", "A", "D"])
def test_the_chain_says_what_the_parts_say(
    device: FakeDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_path: Callable[[str], Path], broken: str
) -> None:
    monkeypatch.setattr(kokoro_trt, "ensure_plan", plans(tmp_path, broken))
    # The greatest shapes would take a minute to infer here; the code is the same.
    monkeypatch.setattr(kokoro_trt, "MAX_FRAMES", 120)
    folder = model_path("kokoro")
    reference = KokoroEngine(folder, kind="fp32")
    reference.load()
    engine = TensorRTKokoro(folder, device)  # type: ignore[arg-type]
    engine.load()
    try:
        true = reference.synthesise(IDS, "af_heart", whole=True)
        for _ in range(3):  # the third comes from a graph
            made = engine.synthesise(IDS, "af_heart")
            assert np.array_equal(made.durations, true.durations)
            assert np.abs(made.audio - true.audio).max() < 2e-3
        assert set(engine.fallbacks) == ({broken} if broken else set())
        assert ("CPU" in engine.runtime) == bool(broken)
    finally:
        engine.close()
        reference.close()
    assert device.cuda.blocks == {}
