"""What the sound itself says to the face: loudness over time, where it is silent, where lips shut, where pitch peaks.

Kokoro's spans are quantised to 25 ms and the last sound's span swallows the silence behind it, so what must be exact
(closures, the end of speech) is read from the audio.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idol.seams import SAMPLE_RATE, Samples

HOP_SECONDS = 0.005
WINDOW_SECONDS = 0.015
FLOOR_DB = -80.0
SILENCE_BELOW_PEAK = 38.0
"""Softer than the clause's loud level (95th percentile) by this many dB counts as silence."""
LOUDEST_SILENCE_DB = -52.0
"""Below this level (dB of full scale) is silence however soft the clause is."""
MIN_SILENCE = 0.09
"""Silences shorter than this are stops' own and do not close the mouth."""
MIN_SOUND = 0.02
"""Sounding stretches shorter than this (clicks) are silence."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Envelope:
    """Loudness in dB of full scale, one value each ``HOP_SECONDS``; ``sounding`` runs are (start, end) in seconds."""

    level: Floats
    loud: float
    sounding: tuple[tuple[float, float], ...]

    def at(self, seconds: Floats | float) -> Floats:
        """Level at the given times, dB, linearly interpolated."""
        times = np.asarray(seconds, np.float64)
        position = times / HOP_SECONDS
        return np.interp(position, np.arange(len(self.level)), self.level, FLOOR_DB, FLOOR_DB)

    @property
    def seconds(self) -> float:
        return len(self.level) * HOP_SECONDS


def envelope_of(samples: Samples, rate: int = SAMPLE_RATE) -> Envelope:
    """Loudness of mono ``samples``. Level i is the energy of a window centred at i * ``HOP_SECONDS``."""
    hop, window = max(1, round(rate * HOP_SECONDS)), max(1, round(rate * WINDOW_SECONDS))
    if len(samples) == 0:
        return Envelope(np.full(1, FLOOR_DB), FLOOR_DB, ())
    square = np.square(np.nan_to_num(samples).astype(np.float64))
    total = np.concatenate(([0.0], np.cumsum(square)))
    centres = np.arange(0, len(samples), hop)
    low = np.maximum(0, centres - window // 2)
    high = np.minimum(len(samples), centres + window - window // 2)
    mean = (total[high] - total[low]) / np.maximum(1, high - low)
    level = 10.0 * np.log10(np.maximum(mean, 10.0 ** (FLOOR_DB / 10)))
    loud = float(np.percentile(level, 95))
    return Envelope(level, loud, _sounding(level, loud))


def _sounding(level: Floats, loud: float) -> tuple[tuple[float, float], ...]:
    active = level > max(loud - SILENCE_BELOW_PEAK, LOUDEST_SILENCE_DB)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], active, [False])).astype(np.int8)))
    runs = [(a * HOP_SECONDS, b * HOP_SECONDS) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    joined: list[tuple[float, float]] = []
    for start, end in runs:
        if joined and start - joined[-1][1] < MIN_SILENCE:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return tuple(run for run in joined if run[1] - run[0] >= MIN_SOUND)


def acoustic_closure(envelope: Envelope, start: float, end: float) -> float:
    """Where lips shut for a p, b or m whose span is [start, end): the energy minimum near it, in seconds.

    Searched from 40 ms before the span to its end; 0.15 dB per ms pull it toward the span's first third, so that a
    neighbouring pause does not win over the stop's own dip. A minimum at either edge belongs to a neighbour: then the
    span alone decides.
    """
    expected = start + 0.35 * min(end - start, 0.12)
    times = np.arange(start - 0.040, min(end, start + 0.14) + 0.0025, 0.0025)
    level = np.maximum(envelope.at(times), max(envelope.loud - SILENCE_BELOW_PEAK, LOUDEST_SILENCE_DB))
    cost = level + 150.0 * np.abs(times - expected)
    lowest = int(np.argmin(cost))
    return float(times[lowest]) if lowest not in (0, len(times) - 1) else expected


def pitch_at(samples: Samples, seconds: Floats, rate: int = SAMPLE_RATE) -> Floats:
    """Fundamental frequency in Hz at the given times, 0 where unvoiced: autocorrelation of 50 ms, 70 to 500 Hz."""
    if len(seconds) == 0:
        return np.zeros(0)
    step = max(1, rate // 6000)
    usable = len(samples) // step * step
    if usable == 0:
        return np.zeros(len(seconds))
    slow = np.nan_to_num(samples[:usable]).reshape(-1, step).mean(axis=1, dtype=np.float64)
    slow_rate = rate / step
    width = round(0.05 * slow_rate)
    starts = np.clip(np.rint(seconds * slow_rate).astype(np.int64) - width // 2, 0, max(0, len(slow) - width))
    if len(slow) < width:
        slow = np.pad(slow, (0, width - len(slow)))
    frames = slow[starts[:, None] + np.arange(width)] * np.hanning(width)
    frames -= frames.mean(axis=1, keepdims=True)
    size = 1 << (2 * width - 1).bit_length()
    correlation = np.fft.irfft(np.abs(np.fft.rfft(frames, size)) ** 2, size)[:, :width]
    window = np.fft.irfft(np.abs(np.fft.rfft(np.hanning(width), size)) ** 2, size)[:width]
    low, high = int(slow_rate / 500), min(width - 1, int(slow_rate / 70))
    normal = correlation[:, low:high] / np.maximum(correlation[:, :1], 1e-12) * (window[0] / window[low:high])
    best = np.argmax(normal, axis=1)
    voiced = normal[np.arange(len(best)), best] > 0.5
    return np.where(voiced, slow_rate / (best + low), 0.0)
