"""How evenly her frames come while she answers aloud: ``python -m tests.app.measure_frames [AVATAR] [--runs N]``.

The program runs as a user starts it, in a window of 480 x 480 on the rig's screen and sound server, and answers five
typed lines with the default model. Counted are the frames begun while sound is being played, engines working on what
comes next or not. Needs an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from tests.rig import Screen, SoundCard

ROOT = Path(__file__).resolve().parents[2]
LINES = (
    "Hello, tell me about your day.", "What music do you like, and why?", "Tell me a story about the sea.",
    "What would you cook for a friend?", "Say goodbye to the viewers.",
)  # fmt: skip
SECONDS = 50


def watch(out: Path, words: list[str]) -> int:
    """Run the program here and write when each frame began and whether she was heard then."""
    from idol.cli import main
    from idol.ui.main_window import MainWindow

    rows: list[tuple[float, bool, int, float]] = []
    draw = MainWindow._on_frame

    def noted(window: MainWindow, now: float) -> None:
        heard = window._show.overlay().queued_audio_seconds > 0
        step = window.clock.pacer.step
        rows.append((now, heard, step.divider, step.detail))
        draw(window, now)

    MainWindow._on_frame = noted  # type: ignore[method-assign]
    try:
        return main(words)
    finally:
        out.write_text(json.dumps(rows), encoding="utf-8")


def measure(avatar: str, model: str, folder: Path) -> list[tuple[float, bool, int, float]]:
    screen, sound = Screen(), SoundCard()
    out = folder / "frames.json"
    said = [word for line in LINES for word in ("--say", line)]
    chosen = [*(["--avatar", avatar] if avatar else []), *(["--model", model] if model else [])]
    try:
        subprocess.run(
            [sys.executable, "-m", "tests.app.measure_frames", "--inside", str(out), "--", "--stage", "--size",
             "480x480", "--quit-after", str(SECONDS), *chosen, *said],
            cwd=ROOT, check=True, timeout=SECONDS + 60,
            env={**os.environ, **screen.environment, **sound.environment, "IDOL_DATA": str(folder / "data"),
                 "IDOL_SETTINGS": str(folder / "settings.toml")},
        )  # fmt: skip
    finally:
        sound.stop()
        screen.stop()
    return [(at, heard, divider, detail) for at, heard, divider, detail in json.loads(out.read_text(encoding="utf-8"))]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("avatar", nargs="?", default="")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--model", default="")
    parser.add_argument("--inside", type=Path)
    parser.add_argument("words", nargs="*")
    arguments = parser.parse_args()
    if arguments.inside:
        return watch(arguments.inside, [word for word in (arguments.avatar, *arguments.words) if word])
    for _ in range(arguments.runs):
        with tempfile.TemporaryDirectory() as folder:
            rows = measure(arguments.avatar, arguments.model, Path(folder))
        began = [(b[0] - a[0], a) for a, b in pairwise(rows) if a[1]]
        values = sorted(length * 1000 for length, _ in began)
        if len(values) < 100:
            print(f"only {len(values)} frames while she was heard: no measurement")
            continue
        share = {f"{d} x 33 ms, {p:g} of the pixels": 0 for _, (_, _, d, p) in began}
        for _, (_, _, divider, detail) in began:
            share[f"{divider} x 33 ms, {detail:g} of the pixels"] += 1
        print(
            f"{len(values)} frames while heard: mean {statistics.mean(values):.1f} ms, "
            f"sd {statistics.pstdev(values):.1f}, p99 {values[int(len(values) * 0.99)]:.0f}, most {values[-1]:.0f}; "
            + ", ".join(f"{count} at {step}" for step, count in share.items()),
            flush=True,
        )
        time.sleep(2)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
