"""What a listener hears of the real window's answers: ``python -m tests.app.measure_speech [--lines N] [-o FOLDER]``.

The program runs with its default models on an X screen and a sound server of the rig; lines of each language are
submitted in turn, the sound is recorded as a streamer's recorder would, and Whisper base writes down what it hears. It
is compared with what the history says was heard: word error rate for English, character error rate for the others.
``-o`` keeps the sound and a picture of the window.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import soxr

from engines.store import files_dir
from idol.cli.bench import LINES
from idol.seams import Language
from tests.app.capture import SOUND_RATE, Capture, Recorder
from tests.rig import Screen, SoundCard
from tests.voice.hear import TARGETS, Listener, Score, _write, units

ROOT = Path(__file__).resolve().parents[2]
FIRST: dict[Language, int] = {"en": 0, "zh": 10, "ja": 20}
LONGEST = 240.0
_PAUSE = 0.35
"""Seconds of silence between two stretches that are heard apart: Whisper base loses the thread in long ones."""


def answers(language: Language, count: int, screen: Screen, folder: Path) -> tuple[Capture, list[str]]:
    """The sound of ``count`` lines' answers in ``language``, and what the history says was heard."""
    kept = {key: value for key, value in os.environ.items() if key not in ("QT_QPA_PLATFORM", "WAYLAND_DISPLAY")}
    environment = {**kept, **screen.environment, "IDOL_DATA": str(folder), "IDOL_SETTINGS": str(folder / "s.toml")}
    words = [word for line in LINES[FIRST[language] : FIRST[language] + count] for word in ("--say", line)]
    seconds = 20 + 14 * count
    program = subprocess.Popen(
        [sys.executable, "main.py", "--size", "900x600", "--screenshot", str(folder / f"{language}.png"),
         "--quit-after", str(seconds), *words],
        cwd=ROOT, env=environment, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    recorder = Recorder(screen.display, (0, 0, 64, 64), "rig_out", fps=1)
    try:
        program.wait(min(LONGEST, seconds + 30))
    finally:
        if program.poll() is None:
            program.kill()
            program.wait()
        capture = recorder.stop()
    files = sorted((folder / "history").glob("*.jsonl"))
    rows = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return capture, [row["reply"] for row in rows if row.get("reply")]


def stretches(sound: np.ndarray) -> list[np.ndarray]:
    """Where it is loud, cut at pauses, 24 kHz."""
    loud = np.abs(sound) > 0.004
    hop = SOUND_RATE // 100
    blocks = loud[: len(loud) // hop * hop].reshape(-1, hop).any(axis=1)
    found: list[np.ndarray] = []
    began, quiet = None, 0
    for index, is_loud in enumerate([*blocks, *[False] * int(_PAUSE * 200)]):
        if is_loud:
            began, quiet = index if began is None else began, 0
        elif began is not None:
            quiet += 1
            if quiet > _PAUSE * 100:
                piece = sound[max(0, began - 10) * hop : (index - quiet + 10) * hop]
                found.append(soxr.resample(piece, SOUND_RATE, 24_000).astype(np.float32))
                began = None
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=5, help="per language")
    parser.add_argument("--language", choices=list(TARGETS), action="append")
    parser.add_argument("-o", type=Path, help="folder for the sound and pictures")
    options = parser.parse_args()
    listener = Listener(files_dir() / "whisper-base")
    screen, card = Screen(1000, 700), SoundCard()
    os.environ.update(card.environment)  # the recorder's parec takes it from there
    short = False
    try:
        for language in options.language or list(TARGETS):
            began = time.monotonic()
            with tempfile.TemporaryDirectory() as scratch:
                folder = Path(scratch) if options.o is None else options.o / language
                folder.mkdir(parents=True, exist_ok=True)
                capture, replies = answers(language, options.lines, screen, folder)
                pieces = stretches(capture.sound)
                for index, piece in enumerate(pieces if options.o else []):
                    _write(folder / f"{index:02d}.wav", piece)
            heard = [listener.hear(piece, language) for piece in pieces]
            for reply in replies:
                print(f"   said {reply}")
            print(f"  heard {' | '.join(heard)}")
            score = Score()
            score.add(units(" ".join(replies), language), units(" ".join(heard), language))
            short |= len(replies) < options.lines
            print(
                f"{language}: {len(replies)} of {options.lines} lines answered, {score.rate:.3f} "
                f"({score.edits} of {score.units}), {time.monotonic() - began:.0f} s", flush=True,
            )  # fmt: skip
    finally:
        card.stop()
        screen.stop()
    return int(short)


if __name__ == "__main__":
    raise SystemExit(main())
