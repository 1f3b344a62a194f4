"""The stage as a widget: draws on a screen, frees what it made, and says so where GL is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rig import Screen

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
from pathlib import Path
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from idol.avatar import load_avatar
from idol.render import AvatarView
app = QApplication([])
view = AvatarView()
view.gl_failed.connect(lambda text: print("failed:", text))
view.resize(320, 240)
view.set_background("#00ff00")
view.set_avatar(load_avatar(Path("tests/data/models/godette_vrm1.vrm")))
view.set_framing("bust")
view.start_own_timer()
view.show()
def end():
    picture = view.grab_frame()
    seen = picture.pixelColor(160, 120).name() if not picture.isNull() else "none"
    print("drawn", view.frames_drawn > 2, picture.isNull() or picture.pixelColor(2, 2).name(), seen != "#00ff00")
    view.shutdown()
    print("left", view.renderer.object_count)
    app.quit()
QTimer.singleShot(2500, end)
app.exec()
"""


def _run(environment: dict[str, str]) -> str:
    kept = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.screen
def test_draws_on_a_screen_and_frees_everything(screen: Screen) -> None:
    said = _run(screen.environment)
    assert "failed" not in said
    assert "drawn True #00ff00 True" in said
    assert "left 0" in said


def test_says_so_where_gl_is_missing() -> None:
    said = _run({"QT_QPA_PLATFORM": "offscreen"})
    assert "failed: OpenGL cannot be used here" in said
    assert said.count("failed:") == 1
