"""What the engines do on a GPU host, timed and compared with ONNX Runtime in float32: bench.py PART ... -o F.json

Parts: ``voice``, ``llm`` (SmolLM2, Qwen 0.5B), ``llama7b``, ``parity``, ``show``. Plans must be there (build_plans.py).
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from engines.models.decoder import gguf_embedding, open_embedding
from engines.models.decoder_store import store_weights
from engines.models.decoder_trt import TensorRTDecoder
from engines.models.decoder_weights import GgufWeights
from engines.models.families import trt_folder
from engines.models.kokoro_trt import TensorRTKokoro
from engines.store import files_dir
from engines.trt.device import Device
from engines.trt.flavours import choose
from tests.gpu.build_plans import CONTEXTS, gguf, llm_plans
from tests.gpu.shapes import LLAMA_7B, RandomEmbedding, RandomStore

IDS = [50, 83, 54, 156, 57, 135, 3, 16, 65, 156, 87, 158, 54, 46, 5, 16, 62, 83, 54, 156]


def summary(seconds: list[float]) -> dict[str, float]:
    values = sorted(seconds)
    at = lambda share: values[min(len(values) - 1, int(len(values) * share))]  # noqa: E731
    return {
        "n": len(values), "median_ms": statistics.median(values) * 1e3, "p95_ms": at(0.95) * 1e3,
        "p99_ms": at(0.99) * 1e3, "sd_ms": (statistics.stdev(values) if len(values) > 1 else 0.0) * 1e3,
    }  # fmt: skip


def timed(work: Callable[[], Any], count: int = 60, warm: int = 8) -> dict[str, float]:
    for _ in range(warm):
        work()
    laps = []
    for _ in range(count):
        lap = time.perf_counter()
        work()
        laps.append(time.perf_counter() - lap)
    return summary(laps)


def voice(device: Device) -> dict[str, Any]:
    engine = TensorRTKokoro(files_dir() / "kokoro", device)
    engine.load()
    out: dict[str, Any] = {"runtime": engine.runtime, "fallbacks": engine.fallbacks}
    try:
        # Durations forced so that the clause is 1.6 s long whatever the model predicts.
        for seconds in (0.4, 1.6, 4.0, 10.0):
            frames = round(seconds * 40)
            count = max(4, min(200, frames // 3))
            ids = [IDS[i % len(IDS)] for i in range(count)]
            forced = np.full(count + 2, frames // (count + 2), np.int64)
            forced[: frames - int(forced.sum())] += 1
            made = engine.synthesise(ids, "af_heart", forced=forced)
            row = timed(lambda ids=ids, forced=forced: engine.synthesise(ids, "af_heart", forced=forced), 40)
            row["audio_s"] = len(made.audio) / 24000
            row |= {f"{part}_ms": spent * 1e3 for part, spent in made.seconds.items()}
            out[f"clause_{seconds}s"] = row
            print(f"voice {seconds} s: {row}", flush=True)
        out["new_length"] = fresh_lengths(engine)
        print(f"voice, each length for the first time: {out['new_length']}", flush=True)
        out["graph_failures"] = {
            name: getattr(session, "graph_failure", "") for name, session in engine._parts.items()
        }  # fmt: skip
    finally:
        engine.close()
    return out


def fresh_lengths(engine: TensorRTKokoro) -> dict[str, float]:
    """1.3 to 1.9 s, each length said once, as in a show, where hardly a clause is as long as another: no CUDA graph is
    there for it."""
    count, laps = 20, []
    for frames in range(52, 76):
        forced = np.full(count + 2, frames // (count + 2), np.int64)
        forced[: frames - int(forced.sum())] += 1
        lap = time.perf_counter()
        engine.synthesise(IDS[:count], "af_heart", forced=forced)
        laps.append(time.perf_counter() - lap)
    return summary(laps[4:])


def decoder(name: str, device: Device) -> TensorRTDecoder:
    assert device.card is not None
    plans = llm_plans(name, device.flavour, device.card)
    if name == "llama7b":
        return TensorRTDecoder(
            LLAMA_7B,
            plans,
            device,
            RandomEmbedding(LLAMA_7B),
            RandomStore(LLAMA_7B),
            capacity=CONTEXTS[name],  # type: ignore[arg-type]
        )
    weights = GgufWeights(gguf(name))
    try:
        place = gguf_embedding(weights.file)
        store = store_weights(weights, trt_folder(weights.config), lambda fraction: None)
        table = store.table() or open_embedding(Path(), place, weights.config)
        return TensorRTDecoder(weights.config, plans, device, table, store, capacity=CONTEXTS[name])
    finally:
        weights.close()


def llm(name: str, device: Device) -> dict[str, Any]:
    engine = decoder(name, device)
    began = time.perf_counter()
    engine.load()
    out: dict[str, Any] = {"load_s": time.perf_counter() - began, "graph_failure": engine.graph_failure}
    out["nodes_a_token"] = getattr(engine._graphs.get(1), "nodes", 0)
    rng = np.random.default_rng(0)
    prefill, tokens, clause = [], [], []
    try:
        for turn in range(40):
            ids = [int(i) for i in rng.integers(10, 30000, 64)]
            engine.cache.reset()
            start = time.perf_counter()
            found = engine.prefill(ids)
            first = time.perf_counter()
            for _ in range(11):
                lap = time.perf_counter()
                found = engine.step(int(found.tokens[0]))
                if turn > 3:
                    tokens.append(time.perf_counter() - lap)
            if turn > 3:
                prefill.append(first - start)
                clause.append(time.perf_counter() - start)
        out |= {"prefill64": summary(prefill), "token": summary(tokens), "prompt64_12tokens": summary(clause)}
        # Deep in the context, where the whole cache is read.
        engine.cache.reset()
        deep = min(engine.capacity - 40, 1024)
        found = engine.prefill([int(i) for i in rng.integers(10, 30000, deep)])
        laps = []
        for _ in range(30):
            lap = time.perf_counter()
            found = engine.step(int(found.tokens[0]))
            laps.append(time.perf_counter() - lap)
        out[f"token_at_{deep}"] = summary(laps)
    finally:
        engine.close()
    print(name, json.dumps(out), flush=True)
    return out


def parity(name: str, device: Device, reference: Path) -> dict[str, Any]:
    """Greedy text of 10 prompts, 32 tokens each, against float32 on ONNX Runtime (``reference.py``), token by token."""
    engine = decoder(name, device)
    engine.load()
    engine.full_logits = True
    same, differences, worst = 0, [], 0.0
    try:
        for row in json.loads(reference.read_text(encoding="utf-8")):
            engine.cache.reset()
            logits = np.asarray(engine.prefill(row["prompt"]))
            equal = True
            for step, true in enumerate(row["steps"]):
                mine = int(logits.argmax())
                likeliest = dict(zip(true["tokens"], true["logits"], strict=True))
                errors = [abs(float(logits[token]) - value) for token, value in likeliest.items()]
                worst = max(worst, *errors)
                if mine != true["tokens"][0]:
                    gap = true["logits"][0] - likeliest.get(mine, float("nan"))
                    differences.append({"prompt": row["text"], "step": step, "gap": gap})
                    equal = False
                    break
                if step + 1 < len(row["steps"]):
                    logits = np.asarray(engine.step(mine))
            same += equal
    finally:
        engine.close()
    out = {"identical": same, "differences": differences, "worst_logit_of_16": worst}
    print("parity", name, json.dumps(out, ensure_ascii=False), flush=True)
    return out


def voice_parity(device: Device) -> dict[str, Any]:
    """Log-mel distance of the sound from float32 on ONNX Runtime, durations forced to the reference's."""
    from engines.models.kokoro import KokoroEngine

    reference = KokoroEngine(files_dir() / "kokoro", kind="fp32")
    reference.load()
    engine = TensorRTKokoro(files_dir() / "kokoro", device)
    engine.load()
    rows = []
    try:
        for count in (8, 14, 20, 40):
            ids = [IDS[i % len(IDS)] for i in range(count)]
            true = reference.synthesise(ids, "af_heart", whole=True)
            free = engine.synthesise(ids, "af_heart")
            made = engine.synthesise(ids, "af_heart", forced=true.durations)
            rows.append(
                {
                    "tokens": count,
                    "durations_differ": int((free.durations != true.durations).sum()),
                    "log_mel_db": log_mel_distance(true.audio, made.audio),
                }
            )
    finally:
        engine.close()
        reference.close()
    print("voice parity", json.dumps(rows), flush=True)
    return {"rows": rows, "fallbacks": engine.fallbacks}


def log_mel_distance(left: np.ndarray, right: np.ndarray) -> float:
    """Mean absolute difference in dB over 80 mel bands (1024-point frames, hop 256), bands under -60 dB of the peak
    left out."""
    size, hop, bands = 1024, 256, 80
    edges = 700 * (10 ** (np.linspace(0, 2595 * np.log10(1 + 12000 / 700), bands + 2) / 2595) - 1)
    bins = np.arange(size // 2 + 1) * 24000 / size
    filters = np.maximum(
        0,
        np.minimum(
            (bins - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None],
            (edges[2:, None] - bins) / (edges[2:] - edges[1:-1])[:, None],
        ),
    )

    def mel(x: np.ndarray) -> np.ndarray:
        frames = np.lib.stride_tricks.sliding_window_view(x, size)[::hop] * np.hanning(size)
        return 10 * np.log10(np.maximum(filters @ (np.abs(np.fft.rfft(frames)) ** 2).T, 1e-12))

    count = min(len(left), len(right))
    a, b = mel(left[:count].astype(np.float64)), mel(right[:count].astype(np.float64))
    audible = a > a.max() - 60
    return float(np.abs(a - b)[audible].mean())


def show(model: str, turns: int = 100) -> dict[str, Any]:
    """Submit to first audible sample through the whole program; each turn is cut once it sounds."""
    from idol.cli.bench import LINES
    from idol.settings import Settings
    from idol.show.assembly import make_show
    from idol.show.interface import Notice, Ready, TurnEnded

    settings = Settings()
    settings.audio.output = "none"
    settings.llm.model = model
    events: list[Any] = []
    live = make_show(settings, seed=1)
    live.subscribe(events.append)
    began = time.perf_counter()
    live.start()
    while not any(isinstance(event, Ready) for event in events):
        failed = [event for event in events if isinstance(event, Notice) and event.level == "error"]
        if failed:
            live.close()
            return {"failed": f"{failed[0].text}"}
        time.sleep(0.05)
    out: dict[str, Any] = {"ready_s": time.perf_counter() - began}
    time.sleep(6)  # idle work: prompts of the other languages, dictionaries
    for turn in range(turns + 6):
        line = LINES[turn % len(LINES)]
        ended = sum(isinstance(event, TurnEnded) for event in events)
        live.submit(line)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and live.overlay().state != "speaking":
            time.sleep(0.002)
        time.sleep(0.25)
        live.cancel()
        while sum(isinstance(event, TurnEnded) for event in events) == ended and time.monotonic() < deadline:
            time.sleep(0.002)
    rows = live.book.rows[6:]
    for stage in ("first_token", "first_clause", "first_audio", "first_face", "first_sample"):
        values = [row.stages[stage] / 1e3 for row in rows if stage in row.stages]
        if values:
            out[stage] = summary(values)
    out["runtimes"] = [f"{info.engine}: {info.runtime}" for info in live.overlay().runtimes]
    out["samples"] = [f"{row.text} -> {row.reply}" for row in rows[:12]]
    live.close(30)
    print("show", json.dumps({k: v for k, v in out.items()}, ensure_ascii=False), flush=True)
    return out


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="+")
    parser.add_argument("-o", type=Path, default=Path("gpu.json"))
    parser.add_argument("--reference", type=Path, default=Path(), help="folder of what reference.py wrote")
    arguments = parser.parse_args()
    results: dict[str, Any] = {}
    if arguments.parts != ["show"]:
        device = Device(choose())
        results["device"] = device.label
        try:
            for part in arguments.parts:
                work: dict[str, Callable[[], Any]] = {
                    "voice": lambda: voice(device), "voice_parity": lambda: voice_parity(device),
                    "smollm2": lambda: llm("smollm2", device), "qwen0.5b": lambda: llm("qwen0.5b", device),
                    "llama7b": lambda: llm("llama7b", device),
                    "parity_smollm2": lambda: parity("smollm2", device, arguments.reference / "smollm2.json"),
                    "parity_qwen": lambda: parity("qwen0.5b", device, arguments.reference / "qwen0.5b.json"),
                }  # fmt: skip
                try:
                    results[part] = work[part]()
                except Exception as error:
                    import traceback

                    traceback.print_exc()
                    results[part] = {"failed": str(error)}
        finally:
            device.close()
    else:
        results["show"] = show("qwen2.5-coder-0.5b")
    arguments.o.write_text(json.dumps(results, ensure_ascii=False, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
