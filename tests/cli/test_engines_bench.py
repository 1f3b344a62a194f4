"""``main.py engines bench``: every figure is there, on the processor, and means what it says."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from engines.models.trt_parts import LocalModel
from idol.cli import engines_timing, main
from idol.cli.engines_timing import LEAST_RUNS, clause_ids, repeat, time_chat, time_voice
from tests.cli.test_engines import TINY
from tests.engines.fake_card import FakeDevice, put_graphs, put_plans

Capture = pytest.CaptureFixture[str]


def test_the_tiny_model_and_the_face(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setenv("IDOL_MODELS", str(tmp_path / "models"))
    output = tmp_path / "figures.json"
    order = ["engines", "bench", "--model", str(TINY), "--model", "face", "--seconds", "0.1", "-o", str(output)]
    assert main(order) == 0
    said = capsys.readouterr().out
    document = json.loads(output.read_text())
    rows = {(row["engine"], row["what"]): row for row in document["rows"]}
    context = 256  # the tiny model's, so its long prompt is half of that
    assert {what for engine, what in rows if engine == "tiny_llama_f16"} == {
        "prefill 64 tokens", f"prefill {context // 2} tokens", f"decode a token after {context // 2}",
    }  # fmt: skip
    assert {what for engine, what in rows if engine == "face"} == {"a frame of 1.6 s", "a frame of 5 s"}
    for (engine, what), row in rows.items():
        assert row["runs"] >= LEAST_RUNS and 0 < row["median_ms"] <= row["p95_ms"] <= row["p99_ms"], what
        assert row["sd_ms"] > 0 and row["runtime"] and what in said and engine in said
    decode = rows["tiny_llama_f16", f"decode a token after {context // 2}"]
    assert decode["unit"] == "tokens/s" and decode["rate"] == pytest.approx(1e3 / decode["median_ms"], rel=0.01)
    assert "onnxruntime" in decode["runtime"] and "CPU" in document["where"]


def test_a_model_on_a_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same figures where TensorRT runs, on a card made of host memory."""
    monkeypatch.setenv("IDOL_MODELS", str(tmp_path / "models"))
    device = FakeDevice()
    put_graphs(monkeypatch, device.cuda)
    put_plans(monkeypatch, tmp_path)
    told: list[float] = []
    model = LocalModel("tiny", "llm", TINY)
    rows = time_chat(model, device, 0.05, 0, 256, lambda fraction, text: told.append(fraction))  # type: ignore[arg-type]
    assert [row.what for row in rows] == ["prefill 64 tokens", "prefill 128 tokens", "decode a token after 128"]
    assert {row.runtime for row in rows} == {device.label} and told[-1] == 1.0
    assert device.cuda.launches > 0 and device.cuda.blocks == {}, "steps come from a graph; all memory is given back"


@pytest.mark.models
def test_the_voice_part_by_part(model_path: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines_timing, "CLAUSES", (0.4,))
    monkeypatch.setattr(engines_timing, "LEAST_RUNS", 3)
    rows = {
        row.what: row
        for row in time_voice(LocalModel("kokoro", "voice", model_path("kokoro")), None, 0.05, 2, lambda *_: None)
    }
    assert list(rows) == [*(f"0.4 s, part {part}" for part in "ABSD"), "0.4 s, whole"]
    parts = sum(row.summary.median for what, row in rows.items() if "part" in what)
    whole = rows["0.4 s, whole"]
    assert 0.7 * whole.summary.median < parts < 1.3 * whole.summary.median
    assert {row.summary.count for row in rows.values()} == {whole.summary.count}
    # 0.4 s of sound, whatever the model would have predicted: the durations are forced.
    assert whole.rate == pytest.approx(whole.summary.median / 400, rel=0.01)


def test_laps_are_measured_after_warming() -> None:
    calls: list[float] = []

    def work() -> None:
        calls.append(time.perf_counter())
        time.sleep(0.02 if len(calls) < 3 else 0.002)

    laps = repeat(work, 0.05)
    assert len(laps) == len(calls) - 2 >= LEAST_RUNS
    assert 2 <= statistics.median(laps) < 15


def test_clauses_are_as_dense_as_speech() -> None:
    vocabulary = {symbol: index + 1 for index, symbol in enumerate("ðəsɪiz kwtnIHAlmbEO")}
    for frames in (8, 64, 200):
        ids = clause_ids(vocabulary, frames)
        assert 4 <= len(ids) <= max(4, frames // 3) and set(ids) <= set(vocabulary.values())
        durations = np.full(len(ids) + 2, frames // (len(ids) + 2))
        assert durations.min() >= 1, "every phoneme gets a frame"
