"""One question to a driver or library, in a process of its own: ``gl``, ``sound``, ``onnxruntime`` or ``health``.

Prints one JSON object; ``error`` in it says why there is no answer. A crash ends this process only.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from typing import Any


def gl() -> dict[str, Any]:
    """The OpenGL that the app's own hidden context gets."""
    from idol.render.gl import SCREENLESS
    from idol.render.hidden_context import hidden_context

    context = hidden_context()
    from OpenGL import GL

    def text(name: int) -> str:
        value = GL.glGetString(name)
        return value.decode(errors="replace") if isinstance(value, bytes) else str(value)

    major, minor = int(GL.glGetIntegerv(GL.GL_MAJOR_VERSION)), int(GL.glGetIntegerv(GL.GL_MINOR_VERSION))
    answer = {
        "version": text(GL.GL_VERSION),
        "renderer": text(GL.GL_RENDERER),
        "vendor": text(GL.GL_VENDOR),
        "major": major,
        "minor": minor,
        "platform": "EGL without a screen" if SCREENLESS else _platform(),
    }
    context.close()
    return answer


def _platform() -> str:
    from PySide6.QtGui import QGuiApplication

    return f"Qt on {QGuiApplication.platformName()}"


def sound() -> dict[str, Any]:
    """PortAudio's devices."""
    import sounddevice

    devices = list(sounddevice.query_devices())
    default = sounddevice.default.device[1]
    return {
        "version": sounddevice.get_portaudio_version()[1],
        "outputs": [device["name"] for device in devices if device["max_output_channels"] > 0],
        "inputs": [device["name"] for device in devices if device["max_input_channels"] > 0],
        "default": devices[default]["name"] if 0 <= default < len(devices) else "",
    }


def onnxruntime() -> dict[str, Any]:
    """Its version and where it can run."""
    import onnxruntime as runtime

    providers = [name.removesuffix("ExecutionProvider") for name in runtime.get_available_providers()]
    return {"version": runtime.__version__, "providers": providers}


def health() -> dict[str, Any]:
    """The card, once; or the reason why there is none."""
    from engines.health import HealthError
    from engines.health.nvml import open_card

    try:
        reader = open_card()
    except HealthError as error:
        return {"reason": error.message, "remedy": error.remedy}
    try:
        reader.read(time.monotonic(), time.time())  # the first one only tells which processes work from now on
        time.sleep(0.5)
        return asdict(reader.read(time.monotonic(), time.time()))
    finally:
        reader.close()


def main() -> None:
    try:
        answer = {"gl": gl, "sound": sound, "onnxruntime": onnxruntime, "health": health}[sys.argv[1]]()
    except Exception as error:  # whatever a driver or library says is the answer
        answer = {"error": " ".join(f"{error or type(error).__name__}".split())[:300]}
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
