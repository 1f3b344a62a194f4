"""Decode and prefill speed of our engine and of llama.cpp, turn about, on the same file and threads.

    python -m tests.engines.compare_llama_cpp [FILE.gguf ...] [--threads 2] [--rounds 5] [--prompt 64] [--decode 32]

By hand, on a machine that does nothing else; both engines are loaded at once and run one after the other in every
round, so that a busy moment meets both. Prints a table: median, and the least and greatest of the rounds. llama.cpp's
times are its server's own (``prompt_ms``, ``predicted_per_second``), ours are of the whole call from Python.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np

from engines.models.families import ChatModel, load_chat_model
from engines.store import files_dir
from tests.engines.llama_cpp_peer import LlamaCpp

MODELS = ("smollm2-135m", "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b")


def ours(model: ChatModel, ids: list[int], count: int) -> tuple[float, float]:
    """Prefill of ``ids`` in ms, and tokens per second of ``count`` greedy tokens after it."""
    decoder = model.decoder
    decoder.cache.reset()
    started = time.perf_counter()
    logits = decoder.prefill(ids)
    prefilled = time.perf_counter()
    for _ in range(count):
        logits = decoder.step(int(logits.argmax()))
    return (prefilled - started) * 1e3, count / (time.perf_counter() - prefilled)


def theirs(peer: LlamaCpp, ids: list[int], count: int) -> tuple[float, float]:
    """The same of llama.cpp."""
    timings = peer.complete(ids, count)["timings"]
    assert timings["prompt_n"] == len(ids) and timings["predicted_n"] == count
    return float(timings["prompt_ms"]), float(timings["predicted_per_second"])


def row(name: str, values: list[float], peer: list[float], unit: str, smaller: bool) -> str:
    ratio = median(peer) / median(values) if smaller else median(values) / median(peer)
    cells = [f"{median(v):7.1f} ({min(v):.1f} to {max(v):.1f})" for v in (values, peer)]
    return f"| {name} | {cells[0]} | {cells[1]} | {unit} | {ratio:.2f} |"


def compare(path: Path, threads: int, rounds: int, prompt: int, decode: int) -> None:
    context = prompt + decode + 16
    model = load_chat_model(path, threads=threads, context=2048)
    rng = np.random.default_rng(0)
    ids = [int(token) for token in rng.integers(300, model.decoder.config.vocabulary - 300, prompt)]
    with LlamaCpp(path, threads=threads, context=context) as peer:
        prefill: tuple[list[float], list[float]] = ([], [])
        speed: tuple[list[float], list[float]] = ([], [])
        for round_ in range(rounds + 1):  # the first warms up and is not counted
            order = (0, 1) if round_ % 2 else (1, 0)
            for which in order:
                took, rate = ours(model, ids, decode) if which == 0 else theirs(peer, ids, decode)
                if round_:
                    prefill[which].append(took)
                    speed[which].append(rate)
    model.close()
    sys.stdout.write(
        f"\n{path.name}, {threads} threads, {rounds} rounds, {prompt} tokens of prompt, {decode} decoded\n\n"
        "| | ours: median (least to greatest) | llama.cpp | unit | times as fast |\n|---|---|---|---|---|\n"
        + row("prefill", *prefill, "ms", smaller=True)
        + "\n"
        + row("decode", *speed, "tokens/s", smaller=False)
        + "\n"
    )
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "files", nargs="*", type=Path, help="GGUF files; without any, those of the catalogue found here"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prompt", type=int, default=64, help="tokens of the prompt")
    parser.add_argument("--decode", type=int, default=32, help="tokens decoded after it")
    arguments = parser.parse_args()
    files = arguments.files or [file for name in MODELS for file in sorted((files_dir() / name).glob("*.gguf"))]
    if not files:
        sys.stderr.write("No GGUF file here. Name one, or fetch the models: main.py models fetch default\n")
        return 1
    for path in files:
        compare(path, arguments.threads, arguments.rounds, arguments.prompt, arguments.decode)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
