"""The watch over the card on a real GPU host: health.py [--samples N] [--seconds S] [-o F.json] [--pynvml FILE]

Prints the samples and what one costs, with any Python from 3.11 on that has ``nvidia-ml-py`` (or its one file
``pynvml.py``, named with ``--pynvml``); where PyTorch is there, it works on the card meanwhile so that figures move.
Ends with 1 when a figure that a data-centre card gives is None or impossible, or when the log lost a row.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import statistics
import sys
import tempfile
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engines.health import HealthLog, HealthMonitor, HealthSample, memory_budget
from engines.health.nvml import NvmlReader, open_card

EXPECTED = (
    "utilisation", "memory_total", "memory_used", "memory_free", "temperature", "power", "power_limit", "sm_clock",
    "memory_clock", "performance_state", "throttles", "resident", "processor",
)  # fmt: skip
"""Every data-centre card since Volta tells these; ``memory_ours`` and ``others_utilisation`` a container may hide."""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=1.0, help="between two samples")
    parser.add_argument("-o", "--output", type=Path, help="figures as JSON")
    parser.add_argument("--pynvml", type=Path, help="pynvml.py, where the package is not installed")
    arguments = parser.parse_args()
    if arguments.pynvml is not None:
        _load_pynvml(arguments.pynvml)
    stop = threading.Event()
    worker = threading.Thread(target=_work, args=(stop,), name="load")
    with tempfile.TemporaryDirectory() as folder:
        costs: list[float] = []
        monitor = HealthMonitor(
            lambda: _timed(open_card(), costs), health_log=HealthLog(Path(folder)), interval=arguments.seconds
        )
        monitor.subscribe(lambda change: print(f"pressure {change.kind}: {change.level}"))
        samples: list[HealthSample] = []
        worker.start()
        try:
            with monitor:
                _collect(monitor, samples, arguments.samples)
        finally:
            stop.set()
            worker.join(30)
        logged = list(csv.DictReader((Path(folder) / "health.csv").open(encoding="utf-8")))
    if not samples or not samples[-1].card:
        print(f"no card is watched: {monitor.reason or 'no sample came'}")
        return 1
    problems = _problems(samples, len(logged))
    last = samples[-1]
    cost = {"median_ms": statistics.median(costs) * 1e3, "longest_ms": max(costs) * 1e3, "reads": len(costs)}
    print(f"one read: median {cost['median_ms']:.2f} ms, longest {cost['longest_ms']:.2f} ms")
    if last.memory_total is not None and last.memory_free is not None:
        budget = memory_budget(last.memory_total, last.memory_free, last.memory_ours)
        print(f"memory budget: {budget / 1e9:.1f} of {last.memory_total / 1e9:.1f} GB")
    for name in ("memory_ours", "others_utilisation"):
        print(f"{name}: {getattr(last, name)} (None where the driver does not tell processes apart)")
    for problem in problems:
        print(f"WRONG: {problem}")
    if arguments.output is not None:
        document = {"cost": cost, "problems": problems, "samples": [asdict(sample) for sample in samples]}
        arguments.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 1 if problems else 0


def _load_pynvml(path: Path) -> None:
    spec = importlib.util.spec_from_file_location("pynvml", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules["pynvml"] = module
    spec.loader.exec_module(module)


def _timed(reader: NvmlReader, costs: list[float]) -> NvmlReader:
    read = reader.read

    def timed(at: float, wall: float) -> HealthSample:
        began = time.perf_counter()
        try:
            return read(at, wall)
        finally:
            costs.append(time.perf_counter() - began)

    reader.read = timed  # type: ignore[method-assign]
    return reader


def _collect(monitor: HealthMonitor, samples: list[HealthSample], count: int) -> None:
    deadline = time.monotonic() + 60 + 5 * count
    while len(samples) < count and time.monotonic() < deadline:
        latest = monitor.latest
        if latest is not None and (not samples or latest is not samples[-1]):
            samples.append(latest)
            print(json.dumps({name: value for name, value in asdict(latest).items() if name not in ("at", "wall")}))
            if monitor.reason:
                return
        time.sleep(0.02)


def _work(stop: threading.Event) -> None:
    """Keep the card busy with matrix products until told to stop."""
    try:
        import torch
    except ImportError:
        print("no PyTorch here: the card idles")
        return
    left: Any = torch.randn(4096, 4096, device="cuda", dtype=torch.float16)
    while not stop.is_set():
        for _ in range(20):
            left = (left @ left).clamp(-1, 1)
        torch.cuda.synchronize()


def _problems(samples: list[HealthSample], logged: int) -> list[str]:
    found = []
    for name in EXPECTED:
        # the first sample has no earlier one to measure the processor against
        unknown = sum(getattr(sample, name) is None for sample in (samples[1:] if name == "processor" else samples))
        if unknown:
            found.append(f"{name} is None in {unknown} of {len(samples)} samples")
    for sample in samples:
        if sample.trouble:
            found.append(sample.trouble)
        ranges = {
            "utilisation": (0, 100), "temperature": (5, 110), "power": (5, 1500), "power_limit": (30, 1500),
            "sm_clock": (100, 4000), "memory_clock": (100, 20000), "performance_state": (0, 15),
            "others_utilisation": (0, 100),
        }  # fmt: skip
        for name, (low, high) in ranges.items():
            value = getattr(sample, name)
            if value is not None and not low <= value <= high:
                found.append(f"{name} is {value}, outside {low} to {high}")
        if None not in (sample.memory_total, sample.memory_used, sample.memory_free):
            total, used, free = sample.memory_total or 0, sample.memory_used or 0, sample.memory_free or 0
            if used + free > total * 1.001 or total < 1 << 30:
                found.append(f"memory used {used} and free {free} do not add up to total {total}")
    if logged < len(samples):
        found.append(f"{logged} rows in the log for {len(samples)} samples")
    return found


if __name__ == "__main__":
    raise SystemExit(main())
