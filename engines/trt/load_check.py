"""Loads one plan in a process of its own: reads ``{"flavour", "plan"}`` from standard input, prints ``{"trouble"}``."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from engines.trt.flavours import TensorRTError, choose

if TYPE_CHECKING:
    from engines.trt.device import Device


def trouble_with(plan: Path, device: Device) -> str:
    """Why ``plan`` cannot be deserialised on ``device``; empty when it can. Only its weights take memory."""
    try:
        blob = plan.read_bytes()
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    if device.runtime.deserialize_cuda_engine(blob) is not None:
        return ""
    free, _ = device.memory()
    return f"{device.label} refuses it: another card, driver or version, or no room ({free / 1e6:.0f} MB are free)"


def main() -> int:
    """The last line printed is the answer; libraries may print before it."""
    order = json.loads(sys.stdin.read())
    from engines.trt.device import Device

    try:
        device = Device(choose(order["flavour"]))
        trouble = trouble_with(Path(order["plan"]), device)
    except TensorRTError as error:
        trouble = str(error)
    sys.stdout.write("\n" + json.dumps({"trouble": trouble}) + "\n")
    sys.stdout.flush()
    os._exit(0)  # runtimes of some versions crash when they are taken down


if __name__ == "__main__":
    sys.exit(main())
