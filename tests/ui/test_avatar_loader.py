"""Avatars are loaded beside the window, and one whose file hangs does not keep the next away."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from idol.ui import avatar_loader
from idol.ui.avatar_loader import AvatarLoader, LoadedAvatar

MODELS = Path(__file__).resolve().parents[1] / "data" / "models"


def test_the_latest_wish_is_shown_though_a_file_hangs(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    gone, read = threading.Event(), avatar_loader.read_file

    def hang(path: Path) -> bytes:
        if path.name == "gone.vrm":
            gone.wait(20)
        return read(path)

    monkeypatch.setattr(avatar_loader, "read_file", hang)
    loader = AvatarLoader()
    shown: list[LoadedAvatar] = []
    failed: list[str] = []
    loader._patience.setInterval(50)
    loader.loaded.connect(shown.append)
    loader.failed.connect(lambda path, text: failed.append(text))
    loader.load(MODELS / "gone.vrm")
    stuck = loader._thread
    loader.load(MODELS / "godette_vrm1.vrm")
    loader.load(MODELS / "arkit52_head.glb")
    qtbot.waitUntil(lambda: len(shown) == 1, timeout=10000)
    assert isinstance(shown[0], LoadedAvatar) and shown[0].path.name == "arkit52_head.glb"
    assert not loader.loading
    gone.set()
    assert stuck is not None
    stuck.join(10)
    loader.load(MODELS / "debug_robot_vrm1.vrm")
    qtbot.waitUntil(lambda: len(shown) == 2, timeout=10000)
    assert shown[1].path.name == "debug_robot_vrm1.vrm" and not failed
    loader.close()


def test_a_load_that_ends_is_not_gone_past(qtbot: QtBot) -> None:
    loader = AvatarLoader()
    shown: list[LoadedAvatar] = []
    loader.loaded.connect(shown.append)
    for name in ("godette_vrm1.vrm", "godette_vrm0.vrm", "arkit52_head.glb"):
        loader.load(MODELS / name)
    qtbot.waitUntil(lambda: len(shown) == 1, timeout=10000)
    assert shown[0].path.name == "arkit52_head.glb"
    assert not loader._patience.isActive()
    loader.close()
