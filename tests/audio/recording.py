"""Hears what the sound card plays (parec on a sink's monitor), and looks for holes in a pure tone."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.rig import SoundCard

RATE = 48_000


@dataclass
class Recording:
    """Mono samples at ``RATE``; ``began`` is the monotonic time of the first one."""

    samples: NDArray[np.float32]
    began: float

    def loud(self, block: float = 0.005) -> NDArray[np.bool_]:
        size = round(RATE * block)
        count = len(self.samples) // size
        rms = np.sqrt(np.mean(self.samples[: count * size].reshape(count, size) ** 2, axis=1))
        return np.asarray(rms > 0.05)

    def stretches(self) -> list[tuple[float, float]]:
        """(begin, end) in monotonic s of every sounding stretch; holes of 5 ms end one."""
        edges = np.flatnonzero(np.diff(np.concatenate(([False], self.loud(), [False])).astype(np.int8)))
        return [(self.began + a * 0.005, self.began + b * 0.005) for a, b in zip(edges[::2], edges[1::2], strict=True)]

    def clicks(self, hertz: float = 440.0) -> list[float]:
        """Times in s of the recording where the tone is not the sine it should be, its own start and end left out.

        A sine obeys x[n+1] = 2 cos(w) x[n] - x[n-1]; what does not is a cut, a hole or a jump of phase.
        """
        sounding = np.flatnonzero(np.abs(self.samples) > 0.05)
        if len(sounding) < RATE // 10:
            return []
        x = self.samples[sounding[0] + 480 : sounding[-1] - 480].astype(np.float64)
        wrong = np.abs(x[2:] - 2 * np.cos(2 * np.pi * hertz / RATE) * x[1:-1] + x[:-2]) > 0.02
        places = np.flatnonzero(wrong)
        if not len(places):
            return []
        firsts = places[np.concatenate(([True], np.diff(places) > RATE // 100))]
        return [float(place) / RATE for place in firsts]

    def frequency(self) -> float:
        """Of the strongest partial, in Hz."""
        begin, end = max(self.stretches(), key=lambda stretch: stretch[1] - stretch[0])
        part = self.samples[round((begin - self.began + 0.05) * RATE) : round((end - self.began - 0.05) * RATE)]
        power = np.abs(np.fft.rfft(part * np.hanning(len(part)), 1 << 19))
        return float(np.argmax(power)) * RATE / (1 << 19)


class Ear:
    """Records ``sink`` until ``stop``. Blocks are stamped on arrival; the smallest delay fixes the clock."""

    def __init__(self, sound: SoundCard, sink: str = "rig_out") -> None:
        self._process = subprocess.Popen(
            ["parec", "-d", f"{sink}.monitor", "--format=float32le", f"--rate={RATE}", "--channels=1",
             "--latency-msec=10"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, **sound.environment},
        )  # fmt: skip
        self._blocks: list[tuple[float, bytes]] = []
        self._thread = threading.Thread(target=self._listen, name="ear")
        self._thread.start()
        deadline = time.monotonic() + 5
        while not self._blocks and time.monotonic() < deadline:
            time.sleep(0.02)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        while data := os.read(self._process.stdout.fileno(), 1 << 16):
            self._blocks.append((time.monotonic(), data))

    def stop(self) -> Recording:
        time.sleep(0.2)
        self._process.terminate()
        self._thread.join(10)
        self._process.wait(10)
        assert self._process.stdout is not None
        self._process.stdout.close()
        raw = b"".join(data for _, data in self._blocks)
        samples = np.frombuffer(raw[: len(raw) // 4 * 4], np.float32)
        read, began = 0, float("inf")
        for at, data in self._blocks:
            read += len(data) // 4
            began = min(began, at - read / RATE)
        return Recording(samples, began)
