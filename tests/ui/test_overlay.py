"""The overlay's lines about the card."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from engines.health import HealthSample
from idol.seams import RuntimeInfo
from idol.show.interface import ShowSnapshot
from idol.ui.frame_clock import FrameStats
from idol.ui.overlay import Overlay


def test_the_card_has_its_lines_only_when_there_is_a_sample(qtbot: QtBot) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    overlay = Overlay(parent)
    stages = {"understand": 1.0, "first_sample": 90.0}
    runtimes = (RuntimeInfo("llm", "TensorRT", "Qwen"),)
    overlay.show_state(ShowSnapshot("ready", stages, runtimes=runtimes), FrameStats())
    before, height = list(overlay.lines), overlay.height()
    sample = HealthSample(1.0, 2.0, "NVIDIA H200", utilisation=42, temperature=55, memory_used=9_000_000_000,
                          memory_total=150_000_000_000, power=210.0, throttles=("power cap",))  # fmt: skip
    overlay.show_state(ShowSnapshot("ready", stages, runtimes=runtimes, health=sample), FrameStats())
    assert overlay.lines == [*before, "H200  42 %  55 °C  210 W", "9/150 GB  power cap"]
    assert overlay.height() > height
    short = ShowSnapshot("ready", stages, runtimes=runtimes, memory="context 1024, smaller model")
    overlay.show_state(short, FrameStats())
    assert overlay.lines == [*before, "memory: context 1024, smaller model"]
