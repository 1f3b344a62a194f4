"""``say`` and ``chat`` before any model is loaded: lines, options and screens that cannot be used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from idol.cli import main
from idol.cli.screen import no_screen
from idol.show.interface import Notice

ROOT = Path(__file__).resolve().parents[2]


def test_an_empty_line_is_refused_before_anything_is_loaded(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["say", " \x01\n", "--headless", "--no-audio"]) == 2
    assert main(["chat", "--text", "", "--text", "\t", "--headless", "--no-audio"]) == 2
    said = capsys.readouterr().err
    assert said.count("The line is empty") == 2 and "…" not in said


def test_a_wrong_option_is_said_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["say", "Hello", "--headless", "--no-audio", "--speed", "9"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("wrong option: ") and "speed" in said and "9" in said
    assert "pydantic" not in said and said.count("\n") == 1


def test_a_remedy_is_said_once() -> None:
    assert Notice("error", "It is damaged. Fetch it again.", "Fetch it again.").sentence.count("Fetch") == 1
    assert Notice("error", "It is damaged.", "Fetch it again.").sentence == "It is damaged. Fetch it again."
    assert Notice("info", "All is well.").sentence == "All is well."


def test_a_missing_screen_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    if not sys.platform.startswith("linux"):
        assert no_screen() == ""
        return
    assert "neither DISPLAY nor" in no_screen()
    monkeypatch.setenv("DISPLAY", ":98765")
    assert ":98765 does not answer" in no_screen()
    monkeypatch.setenv("DISPLAY", "far.example:0")
    assert no_screen() == ""  # who knows
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    assert no_screen() == ""


def test_onnx_runtime_keeps_no_notes_about_the_user(tmp_path: Path) -> None:
    """Its packages for Linux write a device id and queue events to be sent, unless they are told not to."""
    program = (
        "import engines, onnxruntime\n"
        "from onnx import helper, TensorProto\n"
        "x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1]) for n in 'xy')\n"
        "graph = helper.make_graph([helper.make_node('Neg', ['x'], ['y'])], 'g', [x], [y])\n"
        "model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)])\n"
        "model.ir_version = 8\n"
        "onnxruntime.InferenceSession(model.SerializeToString(), providers=['CPUExecutionProvider'])\n"
    )
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, check=True, timeout=60)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
