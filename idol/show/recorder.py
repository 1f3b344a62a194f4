"""Records a show as a viewer would: the sound with its real pauses, and the face on the same clock.

Times come from the output (when each clause became audible) and from the poses asked once a frame, both on the
monotonic clock, so the files show what really happened: waits, holes and lateness included.
"""

from __future__ import annotations

import io
import threading
import wave
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from idol.seams import SAMPLE_RATE, FacePose, Output, Samples
from idol.show.speech_line import PlacedSpeech
from idol.show.whole_file import write_whole


@dataclass(slots=True)
class _Chunk:
    first: int
    samples: Samples
    started_at: float | None = None


@dataclass(slots=True)
class Recorder:
    """``begin`` fixes time zero; ``placed`` and ``cut`` come from the speech line, ``frame`` from the frame loop."""

    output: Output
    began_at: float = 0.0
    frames: list[tuple[float, FacePose]] = field(default_factory=list)
    _chunks: list[_Chunk] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, now: float) -> None:
        self.began_at = now

    def placed(self, speech: PlacedSpeech) -> None:
        with self._lock:
            self._chunks.append(_Chunk(speech.first, speech.speech.samples))

    def cut(self, end: int) -> None:
        """Sound from axis index ``end`` on was never heard."""
        with self._lock:
            for chunk in self._chunks:
                if chunk.first + len(chunk.samples) > end:
                    chunk.samples = chunk.samples[: max(0, end - chunk.first)]

    def frame(self, now: float, pose: FacePose) -> None:
        """Note the face at ``now``, and which clauses have become audible."""
        self.frames.append((now - self.began_at, pose))
        with self._lock:
            for chunk in self._chunks:
                if chunk.started_at is None and len(chunk.samples):
                    chunk.started_at = self.output.time_of(chunk.first)

    def sound(self) -> Samples:
        """What was heard since ``begin``, silences included, float32 at 24 kHz."""
        with self._lock:
            placed = [
                (round((chunk.started_at - self.began_at) * SAMPLE_RATE), chunk.samples)
                for chunk in self._chunks
                if chunk.started_at is not None
            ]
        frames_end = round(self.frames[-1][0] * SAMPLE_RATE) if self.frames else 0
        sound = np.zeros(max([frames_end, *(at + len(samples) for at, samples in placed)]), np.float32)
        for at, samples in placed:
            start = max(0, at)
            sound[start : at + len(samples)] += samples[start - at :]
        return sound

    def write_wav(self, path: Path) -> None:
        """16-bit mono WAV at 24 kHz. Raises ``OSError`` that names ``path``."""
        write_wav(path, self.sound())


def write_wav(path: Path, samples: Samples, rate: int = SAMPLE_RATE) -> None:
    """16-bit mono PCM at ``rate`` Hz; values beyond -1..1 are clipped. Missing folders are made.

    Raises ``OSError`` that names ``path``, which then holds what it held before.
    """
    pcm = np.clip(np.rint(samples * 32767.0), -32768, 32767).astype("<i2")
    whole = io.BytesIO()
    with wave.open(whole, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(pcm.tobytes())
    write_whole(path, whole.getvalue())
