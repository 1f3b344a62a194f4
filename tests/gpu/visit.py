"""One visit to a bare GPU host, unattended: all builds side by side, then every bench in turn.

visit.py RUN RESULTS [--builds S] with the host's own Python (3.11 or later): RUN is the script that starts the carried
runtime, RESULTS the folder for logs and figures. A step that fails or takes too long does not keep the next from
running.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

BUILDS: tuple[tuple[str, ...], ...] = (
    ("kokoro-S",), ("kokoro-A",), ("kokoro-A", "--wide"), ("kokoro-B",), ("kokoro-D",),
    ("kokoro-B", "--norms", "ops", "--level", "0"), ("kokoro-D", "--norms", "ops", "--level", "0"),
    ("smollm2",), ("qwen0.5b",), ("llama7b",),
)  # fmt: skip
BENCHES = ("voice", "qwen0.5b", "smollm2", "show", "eager", "voice_parity", "parity_qwen", "llama7b", "parity_smollm2")
LONGEST = 170
"""Seconds for one bench."""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("results", type=Path)
    parser.add_argument("--builds", type=float, default=400.0, help="seconds to wait for the builds")
    arguments = parser.parse_args()
    results: Path = arguments.results
    results.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()

    def note(text: str) -> None:
        with (results / "visit.log").open("a") as file:
            file.write(f"{time.monotonic() - began:6.1f} s  {text}\n")

    note("preparing the voice's graphs")
    subprocess.run(
        ["bash", arguments.run, "-c", "from tests.gpu.build_plans import kokoro_folder; kokoro_folder('fp32')"],
        check=False,
    )
    running = {}
    for words in BUILDS:
        name = "".join(words)
        with (results / f"build-{name}.log").open("w") as log:
            command = ["bash", arguments.run, "-m", "tests.gpu.build_plans", *words]
            running[name] = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    note(f"{len(running)} builds begun")
    while running and time.monotonic() - began < arguments.builds:
        for name, child in [*running.items()]:
            if child.poll() is not None:
                note(f"build {name} ended with {child.returncode}")
                del running[name]
        time.sleep(1)
    note(f"still building: {sorted(running) or 'nothing'}")
    for part in BENCHES:
        note(f"bench {part}")
        command = ["bash", arguments.run, "-m", "tests.gpu.bench", part, "-o", str(results / f"{part}.json")]
        if part == "eager":
            eager = str(Path(__file__).with_name("eager.py"))
            command = [sys.executable, eager, "smollm2", "qwen0.5b", "llama7b", "-o", str(results / "eager.json")]
        with (results / f"bench-{part}.log").open("w") as log:
            try:
                done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, timeout=LONGEST, check=False)
                note(f"bench {part} ended with {done.returncode}")
            except subprocess.TimeoutExpired:
                note(f"bench {part} took longer than {LONGEST} s")
    note("over")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
