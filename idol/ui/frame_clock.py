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
_MARGIN = 0.15
"""Of a tick: what a draw leaves free when it fits."""


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

    Draws that almost fill a tick would begin now one, now two ticks apart; a steady slower beat looks smoother."""

    def __init__(self, tick: float = INTERVAL_MS / 1000, keep: int = 31) -> None:
        self.tick = tick
        self.divider = 1
        self._costs: deque[float] = deque(maxlen=keep)
        self._due: float | None = None

    def begun(self, now: float) -> float:
        """A frame begins at ``now``; when the next one shall begin. A late frame is late once: the grid stays."""
        slot = self.tick * self.divider
        due = now if self._due is None else self._due
        # Beginnings that were missed altogether are left out, not made up for.
        self._due = due + slot * max(1, int((now - due) // slot) + 1)
        return self._due

    def drawn(self, cost: float) -> None:
        """A frame took ``cost`` from its beginning until it was painted."""
        self._costs.append(cost)
        half = len(self._costs) // 2
        if len(self._costs) < 9:
            return
        ordered = sorted(self._costs)
        slot = self.tick * self.divider
        if self.divider < SLOWEST and (ordered[half] > slot - _MARGIN * self.tick or self._overruns(slot) > half // 5):
            self._beat(self.divider + 1)
        elif self.divider > 1 and len(self._costs) == self._costs.maxlen:
            shorter = slot - self.tick
            if ordered[half] < shorter - 2 * _MARGIN * self.tick and self._overruns(shorter - _MARGIN * self.tick) == 0:
                self._beat(self.divider - 1)

    def _overruns(self, slot: float) -> int:
        return sum(cost > slot for cost in self._costs)

    def _beat(self, divider: int) -> None:
        self.divider = divider
        self._costs.clear()

    def reset(self) -> None:
        self._due = None
        self._costs.clear()


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
        self._began = 0.0
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._tick)
        # Comes after the posted painting: the event loop serves timers of no length last.
        self._after = QTimer(self)
        self._after.setSingleShot(True)
        self._after.timeout.connect(self._painted)

    def start(self) -> None:
        self.pacer.reset()
        self._timer.start(INTERVAL_MS)

    def stop(self) -> None:
        self._timer.stop()
        self._after.stop()

    def _tick(self) -> None:
        now = self._clock()
        self.stats.tick(now)
        self._began = now
        due = self.pacer.begun(now)
        self._timer.start(max(0, round((due - now) * 1000)))
        self._after.start(0)
        self._frame(now)

    def _painted(self) -> None:
        self.pacer.drawn(self._clock() - self._began)
