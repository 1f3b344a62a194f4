"""One visit to a bare GPU host, unattended: builds, then benches, one kind at a time so that each has the card alone.

visit.py RUN RESULTS --reference FOLDER with the host's own Python (3.11 or later): RUN is the script that starts the
carried runtime, RESULTS the folder for logs and figures. A step that fails or takes too long does not keep the next
from running. ``--only`` names steps to repeat.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

Words = tuple[str, ...]
STEPS: dict[str, tuple[str, tuple[Words, ...]]] = {
    "graphs": ("graphs", ((),)),
    "builds": ("build", (("kokoro-A",), ("kokoro-B",), ("kokoro-D",))),
    "decoders": ("build", (("qwen0.5b",), ("llama7b",), ("smollm2",))),
    "speed": ("bench", (("qwen0.5b",), ("llama7b",), ("smollm2",), ("parity_qwen",), ("parity_smollm2",))),
    "eager": ("eager", (("smollm2", "qwen0.5b", "llama7b"),)),
    "sound": ("bench", (("voice",), ("voice_parity",), ("show",))),
    "health": ("health", (("--samples", "5"),)),
}  # fmt: skip
"""What is done, in this order: the voice's builds side by side, all else one after the other, so that kernels are timed
with the card to themselves."""
_TOGETHER = "builds"
_GRAPHS = "from tests.gpu.build_plans import *; make_graphs(choose().flavour)"
LONGEST = 330
"""Seconds for one step."""


class Visit:
    """Runs steps and keeps a log of them."""

    def __init__(self, run: str, results: Path, reference: Path) -> None:
        self._run = run
        self._results = results
        self._reference = reference
        self._began = time.monotonic()
        results.mkdir(parents=True, exist_ok=True)

    def note(self, text: str) -> None:
        with (self._results / "visit.log").open("a") as file:
            file.write(f"{time.monotonic() - self._began:6.1f} s  {text}\n")

    def step(self, name: str) -> None:
        kind, works = STEPS[name]
        running: dict[str, subprocess.Popen[bytes]] = {}
        for words in works:
            label = f"{kind}-{'_'.join(words) or name}"
            with (self._results / f"{label}.log").open("w") as log:
                running[label] = subprocess.Popen(self._command(kind, words), stdout=log, stderr=subprocess.STDOUT)
            if name != _TOGETHER:
                self._wait(running)
        self._wait(running)

    def _command(self, kind: str, words: Words) -> list[str]:
        here = Path(__file__)
        out = str(self._results / f"{'_'.join(words)}.json")
        if kind == "eager":
            return [sys.executable, str(here.with_name("eager.py")), *words, "-o", str(self._results / "eager.json")]
        if kind == "graphs":
            return ["bash", self._run, "-c", _GRAPHS]
        if kind == "build":
            return ["bash", self._run, "-m", "tests.gpu.build_plans", *words]
        if kind == "health":
            return ["bash", self._run, "-m", "tests.gpu.health", *words]
        return ["bash", self._run, "-m", "tests.gpu.bench", *words, "-o", out, "--reference", str(self._reference)]

    def _wait(self, running: dict[str, subprocess.Popen[bytes]]) -> None:
        end = time.monotonic() + LONGEST
        while running:
            for label, child in [*running.items()]:
                if child.poll() is not None:
                    self.note(f"{label} ended with {child.returncode}")
                    del running[label]
                elif time.monotonic() > end:
                    self.note(f"{label} took longer than {LONGEST} s")
                    child.kill()
                    child.wait()
                    del running[label]
            time.sleep(0.2)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("results", type=Path)
    parser.add_argument("--reference", type=Path, default=Path())
    parser.add_argument("--only", nargs="*", choices=STEPS, default=list(STEPS))
    arguments = parser.parse_args()
    visit = Visit(arguments.run, arguments.results, arguments.reference)
    for name in arguments.only:
        visit.note(f"step {name}")
        visit.step(name)
    visit.note("over")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
