"""Captures a window and the sound card as a streamer's recorder would, both on the monotonic clock.

The picture comes from ffmpeg's x11grab as raw frames through a pipe, the sound from parec on the sink's monitor. Each
block is stamped when it arrives; the smallest delay seen fixes a stream's clock, since a pipe can only be late.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

SOUND_RATE = 48_000


@dataclass
class Capture:
    """Raw frames with their times, and mono sound with the time of its first sample (monotonic seconds)."""

    frames: list[NDArray[np.uint8]] = field(default_factory=list)
    frame_times: list[float] = field(default_factory=list)
    sound: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    sound_began: float = 0.0


class Recorder:
    """Records region (x, y, width, height) of ``display`` at ``fps`` and the monitor of ``sink``."""

    def __init__(self, display: str, region: tuple[int, int, int, int], sink: str, fps: int = 30) -> None:
        x, y, width, height = region
        self._shape = (height, width, 3)
        self._capture = Capture()
        environment = dict(os.environ)
        self._video = subprocess.Popen(
            ["ffmpeg", "-loglevel", "error", "-f", "x11grab", "-draw_mouse", "0", "-framerate", str(fps),
             "-video_size", f"{width}x{height}", "-i", f"{display}+{x},{y}",
             "-pix_fmt", "rgb24", "-f", "rawvideo", "-"],
            stdout=subprocess.PIPE, env=environment,
        )  # fmt: skip
        self._audio = subprocess.Popen(
            ["parec", "-d", f"{sink}.monitor", "--format=float32le", f"--rate={SOUND_RATE}", "--channels=1",
             "--latency-msec=10"],
            stdout=subprocess.PIPE, env=environment,
        )  # fmt: skip
        self._blocks: list[tuple[float, bytes]] = []
        self._threads = [
            threading.Thread(target=self._read_video, name="capture-video"),
            threading.Thread(target=self._read_audio, name="capture-audio"),
        ]
        for thread in self._threads:
            thread.start()

    def _read_video(self) -> None:
        assert self._video.stdout is not None
        size = int(np.prod(self._shape))
        while len(data := self._video.stdout.read(size)) == size:
            self._capture.frames.append(np.frombuffer(data, np.uint8).reshape(self._shape))
            self._capture.frame_times.append(time.monotonic())

    def _read_audio(self) -> None:
        assert self._audio.stdout is not None
        while data := os.read(self._audio.stdout.fileno(), 1 << 16):
            self._blocks.append((time.monotonic(), data))

    def stop(self) -> Capture:
        for process in (self._video, self._audio):
            process.terminate()
        for thread in self._threads:
            thread.join(10)
        for process in (self._video, self._audio):
            process.wait(10)
            if process.stdout is not None:
                process.stdout.close()
        raw = b"".join(data for _, data in self._blocks)
        self._capture.sound = np.frombuffer(raw[: len(raw) // 4 * 4], np.float32)
        read = 0
        began = float("inf")
        for at, data in self._blocks:
            read += len(data) // 4
            began = min(began, at - read / SOUND_RATE)
        self._capture.sound_began = began
        return self._capture


def envelope(capture: Capture, step: float = 0.01) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times (monotonic s) and RMS of the sound in steps of ``step`` seconds."""
    size = int(SOUND_RATE * step)
    count = len(capture.sound) // size
    rms = np.sqrt(np.mean(capture.sound[: count * size].reshape(count, size) ** 2, axis=1, dtype=np.float64))
    return capture.sound_began + (np.arange(count) + 0.5) * step, rms


def best_lag(
    times: NDArray[np.float64],
    values: NDArray[np.float64],
    reference_times: NDArray[np.float64],
    reference: NDArray[np.float64],
    limit: float = 0.4,
    step: float = 0.005,
) -> tuple[float, float]:
    """By how many seconds ``values`` come after ``reference`` where they correlate best, and that correlation."""
    grid = np.arange(times[0] + limit, times[-1] - limit, step)
    best = (0.0, -2.0)
    fixed = np.interp(grid, reference_times, reference)
    for lag in np.arange(-limit, limit + step / 2, step):
        moved = np.interp(grid + lag, times, values)
        if moved.std() > 0 and fixed.std() > 0:
            correlation = float(np.corrcoef(moved, fixed)[0, 1])
            if correlation > best[1]:
                best = (float(lag), correlation)
    return best
