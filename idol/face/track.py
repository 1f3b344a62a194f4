"""Face frames on the speech axis: the worker adds them clause by clause, the frame clock asks for any sample."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from idol.seams import SAMPLE_RATE, FaceFrame, Weights

_KEEP = 30 * 90
_GAP = round(0.12 * SAMPLE_RATE)


class FaceTrack:
    """Bounded: the oldest frames beyond 90 s are dropped. One writer, one reader."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._at: list[int] = []
        self._weights: list[Weights] = []

    def add(self, frames: Sequence[FaceFrame]) -> None:
        """Append; frames at or before the last one known are ignored."""
        with self._lock:
            for frame in frames:
                if not self._at or frame.at > self._at[-1]:
                    self._at.append(frame.at)
                    self._weights.append(frame.weights)
            extra = len(self._at) - _KEEP
            if extra > 0:
                del self._at[:extra], self._weights[:extra]

    def sample(self, position: float) -> Weights | None:
        """Weights at ``position``, interpolated; None before the first frame, after the last and in gaps."""
        with self._lock:
            after = bisect_right(self._at, position)
            if after == 0:
                return None
            before_at, before = self._at[after - 1], self._weights[after - 1]
            if after == len(self._at):
                return before if position - before_at <= _GAP else None
            after_at, following = self._at[after], self._weights[after]
        if after_at - before_at > _GAP:
            return before if position - before_at <= _GAP else None
        share = np.float32((position - before_at) / (after_at - before_at))
        return before + (following - before) * share

    def cut(self, at_sample: int) -> None:
        """Drop what lies after ``at_sample``: it will not be heard."""
        with self._lock:
            keep = bisect_right(self._at, at_sample)
            del self._at[keep:], self._weights[keep:]

    def __len__(self) -> int:
        return len(self._at)
