"""The frame clock: 33 ms, precise, and what its intervals say.

It asks "what does she look like at this moment?" and never counts its own ticks, so a late tick is late once, not ever
after.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, QTimer

INTERVAL_MS = 33


class FrameStats:
    """Intervals between frames over the last seconds, in ms."""

    def __init__(self, keep: int = 300) -> None:
        self._intervals: deque[float] = deque(maxlen=keep)
        self._last: float | None = None

    def tick(self, now: float) -> None:
        """A frame was begun at ``now`` (monotonic seconds)."""
        if self._last is not None:
            self._intervals.append((now - self._last) * 1000)
        self._last = now

    def clear(self) -> None:
        self._intervals.clear()
        self._last = None

    @property
    def intervals(self) -> list[float]:
        return list(self._intervals)

    def summary(self) -> tuple[float, float, float]:
        """(mean, standard deviation, 99th percentile) in ms; zeros while there is nothing."""
        values = sorted(self._intervals)
        if not values:
            return 0.0, 0.0, 0.0
        mean = sum(values) / len(values)
        variance = sum((value - mean) ** 2 for value in values) / len(values)
        return mean, variance**0.5, values[min(len(values) - 1, int(len(values) * 0.99))]


class FrameClock(QObject):
    """Calls ``frame(now)`` every 33 ms on the main thread."""

    def __init__(self, frame: Callable[[float], None], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._frame = frame
        self.stats = FrameStats()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(INTERVAL_MS)
        self._timer.timeout.connect(self._tick)

    def start(self) -> None:
        self._timer.start()

    def stop(self) -> None:
        self._timer.stop()

    def _tick(self) -> None:
        now = time.monotonic()
        self.stats.tick(now)
        self._frame(now)
