"""Builds the plans the bench needs on a bare GPU host, each in its own process: build_plans.py NAME ...

Names: ``kokoro-A`` … ``kokoro-D``, ``smollm2``, ``qwen0.5b``, ``llama7b``. Prints seconds and sizes; goes on after a
failure. ``--level N`` overrides the builder's optimisation level.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

from engines.models.decoder_config import DecoderConfig
from engines.models.decoder_trt import LEVEL, decoder_plans, decoder_requests
from engines.models.families import model_config, trt_folder
from engines.models.kokoro_trt import part_request, voice_graphs
from engines.store import files_dir
from engines.trt.build import build_plan, ensure_plan
from engines.trt.flavours import Card, Flavour, choose
from engines.trt.plans import plan_path, timing_cache_path
from tests.gpu.shapes import LLAMA_7B

CONTEXTS = {"smollm2": 2048, "qwen0.5b": 2048, "llama7b": 256}
FILES = {"smollm2": "smollm2-135m", "qwen0.5b": "qwen2.5-coder-0.5b"}


def gguf(name: str) -> Path:
    return next(iter(sorted((files_dir() / FILES[name]).glob("*.gguf"))))


def sizes(name: str) -> DecoderConfig:
    return LLAMA_7B if name == "llama7b" else model_config(gguf(name))


def llm_plans(name: str, flavour: Flavour, card: Card) -> tuple[Path, ...]:
    return decoder_plans(trt_folder(sizes(name)), sizes(name), CONTEXTS[name], flavour, card)


def make_graphs(flavour: Flavour) -> Path:
    """The voice's graphs for ``flavour``."""
    folder = voice_graphs(files_dir() / "kokoro", flavour.typed)
    assert folder is not None  # made when missing
    return folder


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="+")
    parser.add_argument("--level", type=int)
    parser.add_argument("--norms", choices=("layer", "ops"), default="layer")
    arguments = parser.parse_args()
    choice = choose()
    if choice.flavour is None or choice.card is None:
        print(f"no TensorRT here: {choice.reason}")
        return 1
    failed = 0
    for name in arguments.names:
        started = time.perf_counter()
        try:
            if name.startswith("kokoro-"):
                request = part_request(name[-1], make_graphs(choice.flavour))
                if arguments.level is not None:
                    request = replace(request, level=arguments.level)
                if arguments.norms != "layer":
                    request = replace(request, extra={"norms": arguments.norms})
                plan = plan_path(request, choice.flavour, choice.card)
                if not plan.exists():
                    cache = timing_cache_path(choice.flavour, choice.card).with_suffix(f".{name}")
                    build_plan(request, choice.flavour, plan, cache)
                plans = [plan]
            else:
                level = LEVEL if arguments.level is None else arguments.level
                requests = decoder_requests(trt_folder(sizes(name)), sizes(name), CONTEXTS[name], level)
                plans = [ensure_plan(request, choice.flavour, choice.card) for request in requests]
            for plan in plans:
                note = json.loads(plan.with_suffix(".json").read_text())
                print(f"{name}: {time.perf_counter() - started:.0f} s in all, {note['seconds']} s building, "
                      f"{note['bytes'] / 1e6:.1f} MB, {note['layers']} layers", flush=True)  # fmt: skip
        except Exception as error:
            failed += 1
            print(f"{name}: FAILED after {time.perf_counter() - started:.0f} s: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
