"""Greedy text in float32 on ONNX Runtime, for the parity bench: reference.py NAME ... -o FOLDER

Run where there is time and memory (2.5 GB for 0.5B); the GPU host is given the result. Weights are the file's exact
values, activations are not rounded. Writes ``NAME.json``: prompts, and per step the 16 likeliest tokens and logits.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engines.models.block_quant import QuantisedMatrix
from engines.models.decoder import Decoder, build_decoder, gguf_embedding
from engines.models.decoder_weights import GgufWeights
from engines.models.families import load_chat_model
from tests.gpu.build_plans import gguf

PROMPTS = (
    "What is the sea like at night?", "Tell me a short story about a cat.", "Count to ten.", "你好，你是谁？",
    "今天天气怎么样？", "こんにちは、お元気ですか？", "好きな食べ物は何ですか？", "Write one line about rain.",
    "Why is the sky blue?", "晚安！",
)  # fmt: skip
STEPS = 32


class FloatWeights(GgufWeights):
    """The file's values as float32, so that the graph has plain products."""

    def matrix(self, name: str) -> NDArray[np.float32] | QuantisedMatrix:
        found = super().matrix(name)
        return found.dequantised() if isinstance(found, QuantisedMatrix) else found


def exact_decoder(path: Path, working: Path) -> Decoder:
    """The model of a GGUF file in float32, its graph kept in ``working``; loaded."""
    weights = FloatWeights(path)
    try:
        place = gguf_embedding(weights.file)
        build_decoder(weights, place, working, capacity=512, progress=lambda fraction: None, keep_floats=True)
    finally:
        weights.close()
    decoder = Decoder(working, capacity=512)
    decoder.load()
    return decoder


def write(name: str, folder: Path) -> None:
    path = gguf(name)
    chat = load_chat_model(path, context=512)
    rows = []
    with tempfile.TemporaryDirectory() as working:
        decoder = exact_decoder(path, Path(working))
        for text in PROMPTS:
            ids = chat.template.encode([("user", text)], reply=True)
            decoder.cache.reset()
            logits, steps = decoder.prefill(ids), []
            for _ in range(STEPS):
                best = np.argsort(logits)[::-1][:16]
                steps.append({"tokens": best.tolist(), "logits": [round(float(logits[i]), 5) for i in best]})
                if int(best[0]) in chat.tokenizer.eos_ids:
                    break
                logits = decoder.step(int(best[0]))
            rows.append({"text": text, "prompt": list(ids), "steps": steps})
            print(name, text, "->", chat.tokenizer.decode([s["tokens"][0] for s in steps]), flush=True)
        decoder.close()
    chat.close()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="+", choices=("smollm2", "qwen0.5b"))
    parser.add_argument("-o", type=Path, default=Path("reference"))
    arguments = parser.parse_args()
    for name in arguments.names:
        write(name, arguments.o)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
