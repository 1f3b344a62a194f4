"""How far her mouth lags her voice in a recording of the real window: ``python -m tests.app.measure_lipsync``.

The program runs on an X screen and a sound server of the rig and reads a line with many lips in it; screen and sound
are recorded as a streamer's recorder would. A window that flashes at known times first tells how late the recorder's
frames are stamped. Openness is the number of dark pixels (the mouth's inside) in the box around her mouth; it is
compared with the log of the sound's envelope. Positive: the mouth is late. A correlation under 0.35 counts as no
measurement: 0.4 to 0.5 is the most a planned mouth itself reaches against loudness. Needs an idle machine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

from tests.app.capture import Capture, Recorder, best_lag, envelope
from tests.rig import Screen, SoundCard

ROOT = Path(__file__).resolve().parents[2]
AVATAR = "tests/data/models/godette_vrm1.vrm"
TEXT = "Bob and Pam mop up a big map, mama bought a papa bear, and maybe Abby may bop a bamboo palm by a pub."
WIDTH, HEIGHT = 480, 520
MOUTH = (slice(256, 292), slice(205, 280))
"""Rows and columns of the screen where the test avatar's mouth is, head motion included."""
FLASH = """
import sys, time
from PySide6.QtCore import QTimer
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QApplication, QWidget
class Window(QWidget):
    bright, left = False, 12
    def paintEvent(self, event):
        QPainter(self).fillRect(self.rect(), QColor("white" if self.bright else "black"))
    def flip(self):
        self.bright = not self.bright
        print(time.monotonic(), flush=True)
        self.repaint()
        self.left -= 1
        if not self.left:
            application.quit()
application = QApplication(sys.argv)
window = Window()
window.resize(400, 400)
window.show()
timer = QTimer()
timer.timeout.connect(window.flip)
QTimer.singleShot(1200, lambda: timer.start(370))
application.exec()
"""


def recorder_delay(screen: Screen) -> float:
    """Seconds from a picture's change on the screen to the stamp of the frame that shows it, on average."""
    recorder = Recorder(screen.display, (0, 0, WIDTH, HEIGHT), "rig_out")
    try:
        done = subprocess.run(
            [sys.executable, "-c", FLASH], env={**os.environ, **screen.environment}, capture_output=True, text=True,
            timeout=40, check=True,
        )  # fmt: skip
    finally:
        capture = recorder.stop()
    flipped = [float(line) for line in done.stdout.split()]
    light = np.array([frame[230:270, 200:240].mean() for frame in capture.frames])
    times = np.array(capture.frame_times)
    delays = []
    for at in flipped:
        near = np.flatnonzero((times > at - 0.05) & (times < at + 0.3))
        changed = np.flatnonzero(np.abs(np.diff(light[near])) > 50)
        if len(changed):
            delays.append(times[near[changed[0] + 1]] - at)
    if len(delays) < 8:
        raise RuntimeError(f"only {len(delays)} of {len(flipped)} flashes were seen")
    return float(np.median(delays))


def spoken(screen: Screen, sound: SoundCard, folder: Path, avatar: str) -> Capture:
    """Run the program until it has read the line, and record it."""
    kept = {key: value for key, value in os.environ.items() if key not in ("QT_QPA_PLATFORM", "WAYLAND_DISPLAY")}
    environment = {**kept, **screen.environment, **sound.environment}
    environment |= {"IDOL_DATA": str(folder / "data"), "IDOL_SETTINGS": str(folder / "settings.toml")}
    program = subprocess.Popen(
        [sys.executable, "main.py", "--stage", "--size", "480x480", "--avatar", avatar, "--model", "smollm2-135m",
         "--read", TEXT],
        cwd=ROOT, env=environment, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    recorder = Recorder(screen.display, (0, 0, WIDTH, HEIGHT), "rig_out")
    try:
        began, heard = time.monotonic(), 0.0
        while time.monotonic() - began < 90:
            time.sleep(0.2)
            recent = b"".join(data for _, data in recorder._blocks[-8:])
            now = time.monotonic()
            if len(recent) >= 4 and np.abs(np.frombuffer(recent[: len(recent) // 4 * 4], np.float32)).max() > 0.02:
                heard = now
            if program.poll() is not None or (heard and now - heard > 2.5):
                break
    finally:
        program.terminate()
        try:
            program.wait(20)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()
        capture = recorder.stop()
    return capture


def lag_of(capture: Capture, delay: float) -> tuple[float, float, float]:
    """(lag in s, correlation, pictures a second that differ); ``delay`` is the recorder's."""
    times, rms = envelope(capture)
    loud = times[rms > 0.01]
    if not len(loud):
        raise RuntimeError("nothing was heard")
    seen = np.array(capture.frame_times) - delay
    kept = np.flatnonzero((seen > loud[0] - 0.5) & (seen < loud[-1] + 0.5))
    pictures = [capture.frames[index][MOUTH] for index in kept]
    dark = np.array([(picture.max(axis=-1) < 90).sum() for picture in pictures], np.float64)
    moved = np.mean([np.any(one != two) for one, two in pairwise(pictures)])
    lag, correlation = best_lag(seen[kept], dark, times, np.log10(rms + 1e-3))
    return lag, correlation, float(moved) / float(np.diff(seen[kept]).mean())


def measure(avatar: str = AVATAR) -> tuple[float, float, float]:
    """One run on a rig of its own; see ``lag_of``."""
    screen, sound = Screen(WIDTH, HEIGHT), SoundCard()
    before = {name: os.environ.get(name) for name in sound.environment}
    os.environ.update(sound.environment)  # the recorder's parec takes it from there
    try:
        with tempfile.TemporaryDirectory() as folder:
            delay = recorder_delay(screen)
            return lag_of(spoken(screen, sound, Path(folder), avatar), delay)
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        sound.stop()
        screen.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--avatar", default=AVATAR)
    options = parser.parse_args()
    lags = []
    for run in range(options.runs):
        lag, correlation, rate = measure(options.avatar)
        counts = correlation >= 0.35 and abs(lag) < 0.35  # a best at the search's edge is none
        print(f"run {run + 1}: lag {lag * 1000:+.0f} ms, correlation {correlation:.2f}, {rate:.0f} pictures/s"
              + ("" if counts else " (not counted)"), flush=True)  # fmt: skip
        if counts:
            lags.append(lag)
    if not lags:
        return 1
    print(f"median {np.median(lags) * 1000:+.0f} ms, {min(lags) * 1000:+.0f} to {max(lags) * 1000:+.0f} ms")
    return 0 if max(map(abs, lags)) <= 0.04 else 1


if __name__ == "__main__":
    raise SystemExit(main())
