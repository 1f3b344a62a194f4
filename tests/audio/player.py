"""A process that plays a 440 Hz tone through the real output, told what to do by its first argument.

Writes one JSON object a line; ``at`` is ``time.monotonic()``, the same for all processes of a machine. It is a process
of its own because PortAudio reads the sound server's address once and may not outlive a server that dies.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from typing import Any

import numpy as np

from idol.audio import SpeechOutput, backends, open_output
from idol.seams import SAMPLE_RATE, Samples
from idol.settings import AudioSettings


def tell(what: str, **more: Any) -> None:
    print(json.dumps({"what": what, "at": time.monotonic(), **more}), flush=True)


def tone(seconds: float, begin: float = 0.0) -> Samples:
    times = begin + np.arange(round(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    return (0.4 * np.sin(2 * np.pi * 440.0 * times)).astype(np.float32)


def burn(stop: threading.Event) -> None:
    """Hold the interpreter's lock as long as it lets us."""
    value = 0
    while not stop.is_set():
        for number in range(20_000):
            value = (value * 31 + number) % 1_000_003


def positions(output: SpeechOutput, seconds: float) -> list[float]:
    seen, until = [], time.monotonic() + seconds
    while time.monotonic() < until:
        seen.append(output.position())
        time.sleep(0.02)
    return seen


def play(output: SpeechOutput, seconds: float, parts: int, burning: bool) -> None:
    """Several clauses written in one go make one tone of ``seconds``."""
    stop = threading.Event()
    burner = threading.Thread(target=burn, args=(stop,), name="burner")
    if burning:
        burner.start()
    each = seconds / parts
    for index in range(parts):
        output.write(tone(each, index * each))
    output.finish()
    seen = positions(output, seconds + 0.4)
    stop.set()
    if burning:
        burner.join()
    back = int(np.count_nonzero(np.diff(seen) < 0))
    tell("played", underruns=output.underruns, end=seen[-1], backward=back, began=output.time_of(0))


def cut(output: SpeechOutput) -> None:
    output.write(tone(2.0))
    output.write(tone(2.0, 2.0))
    time.sleep(1.2)
    at = time.monotonic()
    before = output.position()
    end = output.flush()
    tell("cut", cut_at=at, before=before, end=end)
    time.sleep(0.5)
    output.write(tone(0.5))
    time.sleep(0.9)
    tell("done", description=output.description)


def survive(output: SpeechOutput) -> None:
    """Plays a short tone every 0.6 s until its standard input ends."""
    ended = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_end, name="stdin", daemon=True).start()
    last, back = 0.0, 0
    while not ended.is_set():
        output.write(tone(0.4))
        output.finish()
        for position in positions(output, 0.6):
            back += position < last
            last = position
        tell("alive", description=output.description, position=last, backward=back)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("scenario", choices=["play", "burn", "cut", "survive"])
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--rate", type=int, default=0, help="open the device at another rate than its own")
    options = parser.parse_args()
    if options.rate:
        found = backends._find
        backends._find = lambda *given: {**found(*given), "default_samplerate": float(options.rate)}  # type: ignore
    sys.setswitchinterval(0.0005)
    output = open_output(AudioSettings())
    output.on_change = lambda description: tell("changed", description=description)
    output.start()
    tell("started", description=output.description)
    if options.scenario == "cut":
        cut(output)
    elif options.scenario == "survive":
        survive(output)
    else:
        play(output, options.seconds, options.parts, options.scenario == "burn")
    output.close()
    tell("closed")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
