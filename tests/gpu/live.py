"""The whole program on a real card, as a stream would use it: live.py soak | pressure -o F.json

``soak``: she speaks without a pause while a frame clock of 33 ms asks for her face, and every few turns the language
model or the voice is exchanged. Shows the cost of a frame's face, the clock's intervals with and without a load beside
it, gaps in the sound, and memory over time. No window is there: what the frame clock costs is asking for the pose.

``pressure``: a second process takes the card's memory but for a rest and gives it back; she is asked lines all the
while. Shows each step down and up, and that every line is answered.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import threading
import time
import traceback
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from idol.cli.bench import LINES
from idol.settings import Settings
from idol.show.assembly import make_show
from idol.show.interface import Notice, Ready, ShowEvent, TurnEnded
from idol.show.show import Show
from tests.gpu.figures import spread

TICK = 0.033
RUNNING, OTHER, VOICE = "qwen2.5-coder-0.5b", "smollm2-135m", "kokoro"
LONGEST_LOAD = 330.0
WORKERS = ("idol-show-worker", "idol-loader")
_LATE = 50.0
"""ms from frame to frame."""


@dataclass
class Frames:
    """What the frame clock saw, in ms: intervals between beginnings and the cost of a pose, by what went on."""

    intervals: dict[str, list[float]] = field(default_factory=lambda: {"alone": [], "exchange": []})
    poses: dict[str, list[float]] = field(default_factory=lambda: {"speaking": [], "silent": []})
    held: dict[str, list[float]] = field(default_factory=dict)
    """Late frames, in ms, by where the other threads stood right after; see ``held_at``."""

    def document(self) -> dict[str, Any]:
        return {
            "interval_ms": {name: spread(values) for name, values in self.intervals.items()},
            "pose_ms": {name: spread(values) for name, values in self.poses.items()},
            "late_ms": {place: [round(ms) for ms in sorted(values, reverse=True)[:12]]
                        for place, values in sorted(self.held.items(), key=lambda item: -max(item[1]))[:12]},
        }  # fmt: skip


def held_at() -> str:
    """Where the program's other threads stand, the innermost lines of each: what held the interpreter's lock."""
    stacks = sys._current_frames()
    found = []
    for thread in threading.enumerate():
        if thread.name in WORKERS and thread.ident in stacks:
            lines = traceback.extract_stack(stacks[thread.ident])
            places = (f"{Path(line.filename).name}:{line.lineno} {line.name}" for line in reversed(lines[-4:]))
            found.append(f"{thread.name}: {' < '.join(places)}")
    return " | ".join(found)


class FrameClock(threading.Thread):
    """Asks ``live`` for her pose every 33 ms on a grid, as the window does."""

    def __init__(self, live: Show) -> None:
        super().__init__(name="frames", daemon=True)
        self._live = live
        self._over = threading.Event()
        self.frames = Frames()

    def run(self) -> None:
        due = last = time.monotonic()
        while not self._over.is_set():
            due += TICK * max(1, int((time.monotonic() - due) // TICK) + 1)
            time.sleep(max(0.0, due - time.monotonic()))
            began = time.monotonic()
            if (began - last) * 1e3 > _LATE:
                self.frames.held.setdefault(held_at(), []).append((began - last) * 1e3)
            self._live.pose(began)
            cost = (time.monotonic() - began) * 1e3
            seen = self._live.overlay()
            self.frames.intervals["exchange" if seen.pending else "alone"].append((began - last) * 1e3)
            self.frames.poses["speaking" if seen.state == "speaking" else "silent"].append(cost)
            last = began

    def end(self) -> None:
        self._over.set()
        self.join()


class Rig:
    """A show that is ready, and what it said."""

    def __init__(self, model: str = RUNNING) -> None:
        settings = Settings()
        settings.audio.output = "none"
        settings.llm.model = model
        self.events: list[tuple[float, ShowEvent]] = []
        self.began = time.monotonic()
        self.live = make_show(settings, seed=1)
        self.live.subscribe(lambda event: self.events.append((time.monotonic() - self.began, event)))
        self.live.start()
        deadline = time.monotonic() + LONGEST_LOAD
        while not self._any(Ready):
            errors = [event for _, event in self.events if isinstance(event, Notice) and event.level == "error"]
            if errors or time.monotonic() > deadline:
                self.live.close()
                raise SystemExit(errors[0].sentence if errors else "not ready in time")
            time.sleep(0.05)
        self.ready_s = time.monotonic() - self.began
        time.sleep(6)  # idle work: prompts of the other languages, dictionaries, spares

    def _any(self, kind: type[ShowEvent]) -> bool:
        return any(isinstance(event, kind) for _, event in self.events)

    @property
    def ended(self) -> int:
        return sum(isinstance(event, TurnEnded) for _, event in self.events)

    def ask(self, line: str, longest: float = 60.0) -> bool:
        """Say ``line`` and wait until its turn is over; False when it takes longer."""
        before, deadline = self.ended, time.monotonic() + longest
        self.live.submit(line)
        while self.ended == before:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)
        return True

    def notices(self) -> list[str]:
        return [f"{at:.1f} s  {e.level}: {e.text}" for at, e in self.events if isinstance(e, Notice)]

    def turns(self) -> dict[str, Any]:
        rows = self.live.book.rows
        first = [row.stages["first_sample"] for row in rows if "first_sample" in row.stages]
        return {
            "turns": len(rows), "unanswered": [row.text for row in rows if row.reason != "done"],
            "gaps": sum(row.underruns for row in rows), "speech_s": sum(row.audio_seconds for row in rows),
            "submit_to_first_sample_ms": spread(first),
        }  # fmt: skip

    def runtimes(self) -> list[str]:
        return [f"{info.engine}: {info.model} on {info.runtime}" for info in self.live.overlay().runtimes]


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def soak(seconds: float, every: int) -> dict[str, Any]:
    """``seconds`` of speech; every ``every`` turns the model or the voice is exchanged while she speaks."""
    rig = Rig()
    live, clock = rig.live, FrameClock(rig.live)
    clock.start()
    exchanges = deque((kind, name) for _ in range(99) for kind, name in (("llm", OTHER), ("voice", VOICE),
                      ("llm", RUNNING)))  # fmt: skip
    memory: list[tuple[float, int, int | None]] = []
    late: list[str] = []
    began, turn, asked = time.monotonic(), 0, 0
    lines = random.Random(1)
    while time.monotonic() - began < seconds:
        turn += 1
        if turn % every == 0 and not live.overlay().pending:
            kind, name = exchanges.popleft()
            asked += 1
            # Not between two turns, but while she speaks: the line is submitted first.
            threading.Timer(0.6, live.swap, (kind, name)).start()
        line = lines.choice(LINES)
        if not rig.ask(line):
            late.append(line)
        sample = live.overlay().health
        memory.append((time.monotonic() - began, resident(), sample.memory_used if sample is not None else None))
    deadline = time.monotonic() + 30
    while live.overlay().pending and time.monotonic() < deadline:
        time.sleep(0.1)
    clock.end()
    out = {
        "ready_s": rig.ready_s, "seconds": time.monotonic() - began, "exchanges_asked": asked, "late_turns": late,
        "runtimes": rig.runtimes(), **rig.turns(), **clock.frames.document(),
        "memory": [memory[index] for index in sorted({*range(0, len(memory), max(1, len(memory) // 12)),
                                                      len(memory) - 1})],
        "notices": rig.notices(),
    }  # fmt: skip
    live.close(30)
    return out


def pressure(leave_mb: int, longest: float) -> dict[str, Any]:
    """A second process takes all of the card but ``leave_mb``; later it gives it back."""
    rig = Rig()
    live = rig.live
    lines: list[str] = []

    def watch(until: float, done: Any) -> None:
        """Ask lines, and note each change of what is given up."""
        said = ""
        while time.monotonic() < until and not done():
            if not rig.ask(LINES[len(live.book.rows) % len(LINES)]):
                lines.append("a turn was late")
            seen = live.overlay()
            if seen.memory != said:
                said = seen.memory
                lines.append(f"{time.monotonic() - rig.began:.1f} s  {said or 'nothing given up'}: {rig.runtimes()}")

    rig.ask(LINES[0])
    command = [sys.executable, "-m", "tests.gpu.live", "hog", "--leave-mb", str(leave_mb)]
    began = time.monotonic()
    hog = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert hog.stdin is not None and hog.stdout is not None  # pipes were asked for
    taken = hog.stdout.readline().strip()
    lines.append(f"{time.monotonic() - rig.began:.1f} s  the other process holds {taken}")
    watch(began + longest / 3, lambda: any("CPU" in row or "processor" in row for row in rig.notices()))
    watch(time.monotonic() + 10, lambda: False)
    hog.stdin.close()
    hog.wait(20)
    lines.append(f"{time.monotonic() - rig.began:.1f} s  the other process is gone")
    watch(began + longest, lambda: not live.overlay().memory)
    out = {
        "ready_s": rig.ready_s, "seconds": time.monotonic() - began, "log": lines, "notices": rig.notices(),
        **rig.turns(), "runtimes": rig.runtimes(),
    }  # fmt: skip
    live.close(30)
    return out


def hog(leave_mb: int) -> None:
    """Take the card's memory but for ``leave_mb``, say how much, and hold it until standard input ends."""
    import pycuda.driver as cuda

    cuda.init()
    context = cuda.Device(0).make_context()
    blocks = []
    try:
        for size in (1 << 30, 64 << 20):
            while cuda.mem_get_info()[0] > (leave_mb << 20) + size:
                blocks.append(cuda.mem_alloc(size))
        print(f"{sum(1 for _ in blocks)} blocks, {cuda.mem_get_info()[0] / 1e6:.0f} MB left", flush=True)
        sys.stdin.read()
    finally:
        for block in blocks:
            block.free()
        context.pop()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=("soak", "pressure", "hog"))
    parser.add_argument("-o", type=Path, default=Path("live.json"))
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--every", type=int, default=3, help="turns from one exchange to the next")
    parser.add_argument("--leave-mb", type=int, default=200)
    arguments = parser.parse_args()
    if arguments.part == "hog":
        hog(arguments.leave_mb)
        return 0
    if arguments.part == "soak":
        results = soak(arguments.seconds, arguments.every)
    else:
        results = pressure(arguments.leave_mb, arguments.seconds)
    text = json.dumps(results, ensure_ascii=False, indent=1)
    print(text)
    arguments.o.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
