"""A screen and a sound card for machines that have none: Xvfb with a window manager, PulseAudio with null sinks.

Each process is started here and ended here, by its id.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Processes:
    """Processes to be ended in reverse order."""

    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(
        self, command: Sequence[str], environment: dict[str, str] | None = None, keep: Sequence[int] = ()
    ) -> subprocess.Popen[bytes]:
        """``keep``: file descriptors the process inherits."""
        process = subprocess.Popen(
            list(command), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})}, pass_fds=tuple(keep),
        )  # fmt: skip
        self.running.append(process)
        return process

    def stop(self) -> None:
        for process in reversed(self.running):
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.running.clear()


def missing_programs(*names: str) -> list[str]:
    return [name for name in names if shutil.which(name) is None]


class Screen:
    """Xvfb and openbox on a free display; ``environment`` is what a client needs. ``glx``: OpenGL by way of X."""

    def __init__(self, width: int = 1280, height: int = 900, *, glx: bool = True) -> None:
        self._processes = Processes()
        reading, writing = os.pipe()
        try:  # Xvfb takes a free display itself and writes its number when it is ready
            self._processes.start(
                ["Xvfb", "-displayfd", str(writing), "-screen", "0", f"{width}x{height}x24",
                 "+extension" if glx else "-extension", "GLX", "+extension", "Composite", "-noreset", "-nolisten",
                 "tcp"],
                keep=(writing,),
            )  # fmt: skip
            os.close(writing)
            told = b""
            while not told.endswith(b"\n") and select.select([reading], [], [], 15)[0]:
                block = os.read(reading, 16)
                if not block:
                    break
                told += block
        finally:
            os.close(reading)
        number = told.decode().strip()
        if not number:
            self._processes.stop()
            raise RuntimeError("Xvfb did not start within 15 s. Is /tmp/.X11-unix writable?")
        self.display = f":{number}"
        self.environment = {"DISPLAY": self.display, "QT_QPA_PLATFORM": "xcb", "LIBGL_ALWAYS_SOFTWARE": "1"}
        self._processes.start(["openbox"], self.environment)
        time.sleep(0.3)

    def stop(self) -> None:
        self._processes.stop()


def _wait(ready: Callable[[], bool], name: str) -> None:
    deadline = time.monotonic() + 10
    while not ready():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{name} did not start within 10 s")
        time.sleep(0.05)


class SoundCard:
    """PulseAudio with an output ``rig_out`` and a microphone ``rig_mic_in`` that hears what ``rig_mic`` plays."""

    def __init__(self) -> None:
        self._processes = Processes()
        self._folder = Path(tempfile.mkdtemp(prefix="idol-pulse-"))
        self._folder.chmod(0o700)
        script = self._folder / "pulse.pa"
        script.write_text(
            "load-module module-native-protocol-unix\n"
            "load-module module-null-sink sink_name=rig_out\n"
            "load-module module-null-sink sink_name=rig_mic\n"
            "load-module module-remap-source master=rig_mic.monitor source_name=rig_mic_in\n"
            "set-default-sink rig_out\n"
            "set-default-source rig_mic_in\n",
            encoding="ascii",
        )
        socket = self._folder / "pulse" / "native"
        self.environment = {"XDG_RUNTIME_DIR": str(self._folder), "PULSE_SERVER": f"unix:{socket}"}
        self._socket = socket
        self._script = script
        self.start()

    def start(self) -> None:
        """Start the server (again)."""
        self._socket.unlink(missing_ok=True)
        self._processes.start(
            ["pulseaudio", "-n", "-F", str(self._script), "--daemonize=no", "--exit-idle-time=-1",
             "--use-pid-file=no", "--disallow-exit=no"],
            self.environment,
        )  # fmt: skip
        _wait(self._socket.exists, "PulseAudio")
        time.sleep(0.3)

    def stop_server(self) -> None:
        """End the server, as when a device is pulled out."""
        self._processes.stop()

    def stop(self) -> None:
        self._processes.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
