"""Swaps two avatars ten times in a process of its own and prints, as JSON, what is held after each swap.

A process that has drawn other things before gives memory back when it likes, so its size would say nothing."""

from __future__ import annotations

import ctypes
import gc
import json
from pathlib import Path

import numpy as np

from idol.avatar import load_avatar
from idol.render.camera import Camera
from idol.render.offscreen import OffscreenStage
from idol.seams import FacePose
from tests.render.gl_count import watch_gl

ROOT = Path(__file__).resolve().parents[2]
AVATARS = (ROOT / "avatars" / "default.vrm", ROOT / "tests" / "data" / "models" / "godette_vrm0.vrm")
SWAPS = 10


def resident() -> int:
    """Bytes of this process in memory, without what the allocator keeps for later."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def main() -> None:
    alive, memory = [], []
    with watch_gl() as seen:
        stage = OffscreenStage()
        for i in range(SWAPS):
            avatar = load_avatar(AVATARS[i % 2])
            stage.load(avatar)
            avatar.update(FacePose(np.full(52, 0.3, np.float32)), 1 / 30)
            stage.picture(Camera.framed(avatar.framing, "bust"), (120, 120), (0.9, 0.9, 0.9, 1.0))
            del avatar
            alive.append(dict(+seen.alive))
            memory.append(resident())
        stage.close()
        left = dict(+seen.alive)
    print(json.dumps({"alive": alive, "memory": memory, "left": left}))


if __name__ == "__main__":
    main()
