"""One model loaded beside another that decodes, on a real card: swap.py RUNNING OTHER -o F.json (names or GGUF files)

Shows what only a card can: that a second thread shares the context, that the running model's steps are not held up,
that a load without room gives everything back, and that a shorter context does. Missing plans are built first.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from pathlib import Path
from typing import Any

from engines.errors import EngineError
from engines.models.decoder_trt import TensorRTDecoder
from engines.models.families import ChatModel, load_trt_chat_model
from engines.trt.device import Device
from engines.trt.flavours import OutOfMemory, choose
from idol.show.model_files import model_file
from tests.gpu.figures import spread

IDS = list(range(100, 132))
_LEFT = 64 << 20
"""Bytes of the card that the load without room finds."""


def decoder_of(model: ChatModel) -> TensorRTDecoder:
    assert isinstance(model.decoder, TensorRTDecoder)
    return model.decoder


def decode(decoder: TensorRTDecoder, until: threading.Event | None = None, count: int = 300) -> list[float]:
    """Milliseconds of each step, at least ``count`` of them and until ``until`` is set."""
    laps: list[float] = []
    while len(laps) < count or (until is not None and not until.is_set()):
        decoder.cache.reset()
        found: Any = decoder.prefill(IDS)
        for _ in range(min(100, decoder.capacity - len(IDS))):
            began = time.perf_counter()
            found = decoder.step(int(found.tokens[0]))
            laps.append((time.perf_counter() - began) * 1e3)
    return laps


def beside(device: Device, running: ChatModel, other: Path, context: int) -> dict[str, Any]:
    """Load ``other`` on a second thread while ``running`` decodes; run it here; close it on a second thread."""
    free, out = device.memory()[0], {"alone_ms": spread(decode(decoder_of(running)))}
    made: list[ChatModel] = []
    troubles: list[BaseException] = []
    done = threading.Event()

    def load() -> None:
        began = time.perf_counter()
        try:
            with device.shared():
                made.append(load_trt_chat_model(other, device, context=context))
        except BaseException as error:
            troubles.append(error)
        out["load_s"] = time.perf_counter() - began  # type: ignore[assignment]
        done.set()

    loader = threading.Thread(target=load, name="loader")
    loader.start()
    out["meanwhile_ms"] = spread(decode(decoder_of(running), done))
    loader.join()
    if troubles:
        return {**out, "failed": repr(troubles[0])}
    out["other_ms"] = spread(decode(decoder_of(made[0])))

    def give_back() -> None:
        with device.shared():
            made.pop().close()

    closer = threading.Thread(target=give_back, name="closer")
    closer.start()
    closer.join()
    return {**out, "lost_bytes": free - device.memory()[0]}


def without_room(device: Device, running: ChatModel, other: Path, context: int) -> dict[str, Any]:
    """Fill the card, try to load ``other``, and see that ``running`` goes on and nothing stays taken."""
    fill = device.allocate(max(256, device.memory()[0] - _LEFT))
    free = device.memory()[0]
    said = "it was loaded"
    try:
        with device.shared():
            load_trt_chat_model(other, device, context=context).close()
    except OutOfMemory as error:
        said = f"{error} wanted {error.wanted}, free {error.free}"
    except EngineError as error:
        said = f"not told as a lack of memory: {error!r}"
    lost = free - device.memory()[0]
    steps = spread(decode(decoder_of(running), count=100))
    fill.free()
    return {"said": said, "lost_bytes": lost, "after_ms": steps}


def shorter(device: Device, running: ChatModel) -> dict[str, Any]:
    """Half the context and back: bytes given back and seconds."""
    decoder, out = decoder_of(running), {}
    for tokens in (decoder.capacities[0], decoder.capacities[-1]):
        free, began = device.memory()[0], time.perf_counter()
        decoder.resize(tokens)
        seconds = time.perf_counter() - began
        out[str(tokens)] = {"seconds": seconds, "given_back": device.memory()[0] - free, **spread(decode(decoder))}
    return out


def measure(device: Device, running: Path, other: Path, context: int = 2048) -> dict[str, Any]:
    """All of it. Models are loaded once before, so that every plan is there."""
    load_trt_chat_model(other, device, context=context).close()
    model = load_trt_chat_model(running, device, context=context)
    try:
        return {
            "device": device.label, "beside": beside(device, model, other, context),
            "shorter": shorter(device, model), "without_room": without_room(device, model, other, context),
        }  # fmt: skip
    finally:
        model.close()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("running")
    parser.add_argument("other")
    parser.add_argument("-o", type=Path, default=Path("swap.json"))
    arguments = parser.parse_args()
    paths = [model_file(name) for name in (arguments.running, arguments.other)]
    if None in paths:
        parser.error(f"not on this machine: {arguments.running} or {arguments.other}")
    device = Device(choose())
    try:
        results = measure(device, paths[0], paths[1])  # type: ignore[arg-type]
    finally:
        device.close()
    print(json.dumps(results, indent=1))
    arguments.o.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
