"""The frame clock: 33 ms or a steady multiple of it, precise, and what its intervals say.

It asks "what does she look like at this moment?" and never counts its own ticks, so a late tick is late once, not ever
after.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, QTimer

INTERVAL_MS = 33
SLOWEST = 2
"""Ticks between frames at most."""
FIRST_TRY, LAST_TRY = 10.0, 160.0
"""Seconds until the quick beat is tried again, at first and at most."""
_KEEP = 24
"""Frames that a beat is judged by."""
_TOLERANCE = 0.25
"""Of a tick: a frame that begins later than this is late."""


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


class Pacer:
    """When frames begin: a grid of whole ticks, every ``divider``-th of which is drawn. Knows no timer; seconds.

    Where frames keep beginning late, each would come one or two ticks after the other as chance has it; a steady slower
    beat looks smoother. The quick beat is tried again after ``FIRST_TRY``, then ever more rarely while it fails.
    """

    def __init__(self, tick: float = INTERVAL_MS / 1000) -> None:
        self.tick = tick
        self.divider = 1
        self._late: deque[bool] = deque(maxlen=_KEEP)
        self._due: float | None = None
        self._wait = FIRST_TRY
        self._try_at = 0.0

    def begun(self, now: float) -> float:
        """A frame begins at ``now``; when the next one shall begin. A late frame is late once: the grid stays."""
        due = now if self._due is None else self._due
        self._late.append(now > due + _TOLERANCE * self.tick)
        self._choose(now)
        slot = self.tick * self.divider
        # Beginnings that were missed altogether are left out, not made up for.
        self._due = due + slot * max(1, int((now - due) // slot) + 1)
        return self._due

    def reset(self) -> None:
        self._due = None
        self._late.clear()

    def _choose(self, now: float) -> None:
        full = len(self._late) == _KEEP
        if self.divider < SLOWEST and full and sum(self._late) > _KEEP // 4:
            self.divider += 1
            self._late.clear()
            self._try_at = now + self._wait
            self._wait = min(2 * self._wait, LAST_TRY)
        elif self.divider > 1 and now >= self._try_at:
            self.divider -= 1
            self._late.clear()
        elif self.divider == 1 and full and now > self._try_at + 2 * self._wait:
            self._wait = FIRST_TRY  # it has kept the quick beat for long


class FrameClock(QObject):
    """Calls ``frame(now)`` on the main thread every 33 ms, or every whole multiple of it that painting needs."""

    def __init__(
        self,
        frame: Callable[[float], None],
        parent: QObject | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(parent)
        self._frame = frame
        self._clock = clock
        self.stats = FrameStats()
        self.pacer = Pacer()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._tick)

    def start(self) -> None:
        self.pacer.reset()
        self._timer.start(INTERVAL_MS)

    def stop(self) -> None:
        self._timer.stop()

    def _tick(self) -> None:
        now = self._clock()
        self.stats.tick(now)
        due = self.pacer.begun(now)
        self._timer.start(max(0, round((due - now) * 1000)))
        self._frame(now)
