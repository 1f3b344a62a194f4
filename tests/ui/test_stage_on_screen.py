"""The window on an X screen: its own transparency, made and unmade while it is open, and what is drawn behind her."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rig import Screen

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import json, sys
from pathlib import Path
import numpy as np
from PIL import Image
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from idol.settings import Settings
from idol.ui.main_window import MainWindow
from tests.ui.fakes import FakeShow

app = QApplication([])
window = MainWindow(FakeShow(), Settings(), Path("tests/data/models/godette_vrm1.vrm").resolve())
window.resize(760, 500)
window.show()
window.start()
folder, seen, steps = Path(sys.argv[1]), [], []

def look(name):
    picture = window.view.grab_frame()
    middle = picture.pixelColor(picture.width() // 2, picture.height() // 2)
    corner = picture.pixelColor(3, 3)
    seen.append({
        "name": name, "alpha": window.windowHandle().format().alphaBufferSize(), "corner": corner.getRgb(),
        "middle": middle.getRgb(), "frames": window.view.frames_drawn, "size": [window.width(), window.height()],
    })

def picture():
    size = window.view.width(), window.view.height()
    noise = np.random.default_rng(3).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(noise).save(folder / "noise.png")
    window.backgrounds.choose_picture(folder / "noise.png")

def compare():
    grabbed = window.view.grab_frame().convertToFormat(window.view.grab_frame().Format.Format_RGBA8888)
    drawn = np.frombuffer(grabbed.constBits(), np.uint8).reshape(grabbed.height(), -1)
    drawn = drawn[:, : 4 * grabbed.width()].reshape(grabbed.height(), grabbed.width(), 4)
    wanted = np.asarray(Image.open(folder / "noise.png"))
    same = (drawn[..., :3] == wanted).all(axis=2)
    seen.append({"name": "picture", "same": float(same.mean()), "corner": float(same[:40, :40].mean())})

def end():
    notices = [message.text for message in window.chat.messages]
    draft = window.focusWidget() is window.chat.line
    window.close()
    left = window.view.renderer.object_count + window.view._scenery.object_count
    print(json.dumps({"seen": seen, "notices": notices, "left": left, "focus": draft}))
    app.quit()

def run(number=0):
    steps[number]()
    drawn = window.view.frames_drawn

    def go_on():
        late = window.view.frames_drawn < drawn + 4 or window.view.avatar is None
        if late or (number == 6 and not window.view._scenery._backdrop.shown):
            QTimer.singleShot(30, go_on)
        else:
            run(number + 1)

    if number + 1 < len(steps):
        go_on()

steps = [
    lambda: None, lambda: look("colour"), lambda: window.backgrounds.choose("transparent"), lambda: look("clear"),
    lambda: window.backgrounds.choose("key-magenta"), lambda: look("key"), picture, lambda: None, compare, end,
]
QTimer.singleShot(0, run)
app.exec()
"""


@pytest.mark.screen
def test_backgrounds_on_a_screen(screen: Screen, tmp_path: Path) -> None:
    kept = {key: value for key, value in os.environ.items() if key != "WAYLAND_DISPLAY"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], cwd=ROOT,
        env={**kept, **screen.environment, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=90,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads(done.stdout.splitlines()[-1])
    colour, clear, key, picture = said["seen"]
    assert colour["alpha"] <= 0 and colour["corner"] == [0x20, 0x24, 0x2F, 255]
    assert clear["alpha"] == 8 and clear["corner"][3] == 0 and clear["middle"][3] == 255
    assert key["alpha"] <= 0 and key["corner"] == [255, 0, 255, 255] and key["middle"] != [255, 0, 255, 255]
    assert colour["frames"] < clear["frames"] < key["frames"] and colour["size"] == clear["size"] == key["size"]
    assert any("No compositor" in text for text in said["notices"])
    assert picture["corner"] == 1.0 and 0.2 < picture["same"] < 0.95
    assert said["left"] == 0 and said["focus"]
