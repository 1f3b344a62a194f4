"""The longest gap between the window's frames while avatars are swapped: ``python -m tests.app.measure_swaps``.

The window runs on the rig's screen, drawn by the processor, with a show that has no engines; avatars are opened as the
user opens them. Printed for each: how long until she is seen, the longest gap between two frames begun meanwhile, and
with ``--where`` what the main thread and the loader did in gaps above ``--limit``. A large avatar is made for it: the
default idol with noise in 2048 x 2048 textures, 65 MB. Needs an idle machine.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
from PIL import Image

from tests.avatar.rewrite import take_apart
from tests.rig import Screen

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "tests" / "data" / "models"
ORDER = ("default", "wren", "godette_vrm0", "godette_vrm1", "arkit52_head", "large", "default", "large", "wren")
LARGE_SIDE = 2048


def make_large(path: Path) -> None:
    """The default idol with textures that hardly pack, as scanned or painted ones do."""
    pieces = take_apart(ROOT / "avatars" / "default.vrm")
    noise = np.random.default_rng(7)
    for image in pieces.document["images"]:
        if image.get("name") == "thumbnail":
            continue
        with Image.open(io.BytesIO(pieces.views[image["bufferView"]])) as held:
            wide = np.asarray(held.convert("RGB").resize((LARGE_SIDE, LARGE_SIDE)), np.int16)
        grain = noise.integers(-6, 7, wide.shape, np.int16)
        packed = io.BytesIO()
        Image.fromarray((wide + grain).clip(0, 255).astype(np.uint8)).save(packed, "PNG", compress_level=1)
        pieces.views[image["bufferView"]] = packed.getvalue()
    path.write_bytes(pieces.content())


class Watcher:
    """Notes what the other threads do while the main thread has not begun a frame for longer than ``limit`` seconds."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.begun = time.monotonic()
        self.seen: list[tuple[float, str]] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watcher", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join(2)

    def _run(self) -> None:
        woke = time.monotonic()
        while not self._ended.wait(0.004):
            now = time.monotonic()
            held = now - woke
            if now - self.begun > self.limit or held > 0.05:
                names = {thread.ident: thread.name for thread in threading.enumerate()}
                for ident, frame in sys._current_frames().items():
                    if names.get(ident) in ("MainThread", "idol-avatar"):
                        lines = [f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in traceback.extract_stack(frame)]
                        kind = f"held {held * 1000:.0f} ms" if held > 0.05 else "waits"
                        self.seen.append((now, f"{names[ident]} ({kind}): " + " < ".join(reversed(lines[-5:]))))
            woke = time.monotonic()


def watch(out: Path, order: list[str], size: tuple[int, int], limit: float) -> int:
    """Run the window here, open each avatar of ``order``, and write what was seen."""
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication

    from idol.settings import Settings
    from idol.ui.main_window import MainWindow
    from tests.ui.fakes import FakeShow

    app = QApplication([])
    frames: list[float] = []
    watcher = Watcher(limit)
    draw = MainWindow._on_frame

    def noted(window: MainWindow, now: float) -> None:
        watcher.begun = time.monotonic()
        frames.append(watcher.begun)
        draw(window, now)

    MainWindow._on_frame = noted  # type: ignore[method-assign]
    window = MainWindow(FakeShow(), Settings(), Path(order[0]))
    window.resize(*size)
    window.set_stage(True)
    window.stage._memory.accepted = lambda *_: True  # type: ignore[method-assign]
    window.show()
    window.start()
    rows: list[dict[str, object]] = []
    waiting = order[1:]
    asked = [0.0]

    def shown() -> None:
        if asked[0]:
            rows.append({"begun": asked[0], "shown": time.monotonic()})
        QTimer.singleShot(1500, go_on)

    def go_on() -> None:
        if rows and "ended" not in rows[-1]:
            rows[-1]["ended"] = time.monotonic()
        if not waiting:
            window.close()
            app.quit()
            return
        asked[0] = time.monotonic()
        window.stage.open(Path(waiting.pop(0)))

    window.view.avatar_shown.connect(shown)
    watcher.start()
    app.exec()
    watcher.stop()
    for row in rows:
        first, last = float(str(row["begun"])), float(str(row["shown"])) + 1.0
        held = [at for at in frames if first - 0.2 <= at <= last]
        row["gaps"] = [(b - a) * 1000 for a, b in pairwise(held)]
        quiet = [at for at in frames if last <= at <= float(str(row["ended"]))]
        row["quiet"] = [(b - a) * 1000 for a, b in pairwise(quiet)]
        row["seen"] = [(at - first, text) for at, text in watcher.seen if first <= at <= last]
    out.write_text(json.dumps(rows), encoding="utf-8")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--size", default="480x480")
    parser.add_argument("--where", action="store_true")
    parser.add_argument("--limit", type=float, default=0.1, help="seconds")
    parser.add_argument("--order", nargs="+", default=ORDER)
    parser.add_argument("--inside", type=Path)
    arguments = parser.parse_args()
    width, height = map(int, arguments.size.split("x"))
    if arguments.inside:
        return watch(arguments.inside, arguments.order, (width, height), arguments.limit)
    gaps: dict[str, list[float]] = {}
    times: dict[str, list[float]] = {}
    screen = Screen()
    try:
        with tempfile.TemporaryDirectory() as held:
            folder = Path(held)
            make_large(folder / "large.vrm")
            print(f"large.vrm: {(folder / 'large.vrm').stat().st_size / 1e6:.1f} MB")
            places = [folder / "large.vrm", *(ROOT / "avatars").glob("*.vrm"), *MODELS.iterdir()]
            known = {path.stem: path for path in places}
            paths = [str(known.get(name, Path(name))) for name in arguments.order]
            for run in range(arguments.runs):
                out = folder / "frames.json"
                subprocess.run(
                    [sys.executable, "-m", "tests.app.measure_swaps", "--inside", str(out), "--size", arguments.size,
                     "--limit", str(arguments.limit), "--order", *paths],
                    cwd=ROOT, check=True, timeout=180,
                    env={**os.environ, **screen.environment, "IDOL_DATA": str(folder / f"data{run}"),
                         "IDOL_SETTINGS": str(folder / "settings.toml")},
                )  # fmt: skip
                rows = json.loads(out.read_text(encoding="utf-8"))
                for name, row in zip(arguments.order[1:], rows, strict=True):
                    gaps.setdefault(name, []).append(max(row["gaps"]))
                    times.setdefault(name, []).append(row["shown"] - row["begun"])
                    if arguments.where:
                        print(f"-- {name}: longest {max(row['gaps']):.0f} ms, quiet {max(row['quiet'], default=0):.0f}")
                        seen = Counter(text for _, text in row["seen"])
                        for text, count in seen.most_common(12):
                            print(f"   {count} times: {text}")
    finally:
        screen.stop()
    for name, values in gaps.items():
        print(
            f"{name}: longest gap median {statistics.median(values):.0f} ms ({min(values):.0f} to {max(values):.0f}, "
            f"{len(values)} swaps), seen after {statistics.median(times[name]):.2f} s",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
