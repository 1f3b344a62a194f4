"""The stage as a widget: draws on a screen, frees what it made, and says so where GL is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from idol.render.small_target import PIXELS, reduced
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
view.resize(*map(int, sys.argv[1:]))
view.set_background("#00ff00")
view.set_avatar(load_avatar(Path("tests/data/models/godette_vrm1.vrm")))
view.set_framing("bust")
view.start_own_timer()
view.show()
def end():
    picture = view.grab_frame()
    seen = picture.pixelColor(view.width() // 2, view.height() // 2).name() if not picture.isNull() else "none"
    print("drawn", view.frames_drawn > 2, picture.isNull() or picture.pixelColor(2, 2).name(), seen != "#00ff00")
    view.shutdown()
    print("left", view.renderer.object_count)
    app.quit()
QTimer.singleShot(2500, end)
app.exec()
"""


def _run(environment: dict[str, str], size: tuple[int, int] = (320, 240)) -> str:
    kept = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, size)],
        cwd=ROOT,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.screen
@pytest.mark.parametrize("size", [(320, 240), (900, 700)])
def test_draws_on_a_screen_and_frees_everything(screen: Screen, size: tuple[int, int]) -> None:
    said = _run(screen.environment, size)
    assert "failed" not in said
    assert "drawn True #00ff00 True" in said
    assert "left 0" in said


def test_says_so_where_gl_is_missing() -> None:
    said = _run({"QT_QPA_PLATFORM": "offscreen"})
    assert "failed: OpenGL cannot be used here" in said
    assert said.count("failed:") == 1


@pytest.mark.parametrize("size", [(480, 480), (1, 1), (1920, 1080), (400, 4000), (10000, 3)])
def test_pictures_are_drawn_no_larger_than_a_cpu_can(size: tuple[int, int]) -> None:
    width, height = reduced(*size)
    assert 0 < width * height <= PIXELS
    assert width <= size[0] and height <= size[1]
    if size[0] * size[1] <= PIXELS:
        assert (width, height) == size
    elif min(width, height) > 50:
        assert width / height == pytest.approx(size[0] / size[1], rel=0.02)
