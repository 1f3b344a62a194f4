"""The frame clock: 33 ms or a steady multiple of it, precise, and what its intervals say.

It asks "what does she look like at this moment?" and never counts its own ticks, so a late tick is late once, not ever
after.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt, QTimer, Signal

INTERVAL_MS = 33
FIRST_TRY, LAST_TRY = 10.0, 160.0
"""Seconds until a better step is tried, at first and at most."""
_TOLERANCE = 0.25
"""Of a tick: a frame that begins later than this is late."""
_KEEP = 24
"""Frames that a beat is judged by: a quarter of them late, and it is too quick."""
_SHARP, _SHARP_LATE = 8, 2
"""Frames that the sharpness is judged by, and how many of them late give it up: sooner than the beat is."""
_ROOM = 0.8
"""Of its slot: what a frame may be expected to take at a step that is tried."""
_DEAR = 0.6
"""Of its slot: frames that usually take less are not late for their pixels, and keep them."""


@dataclass(frozen=True, slots=True)
class Step:
    """How she is drawn: every ``divider``-th tick, with ``detail`` of the pixels."""

    divider: int
    detail: float


BEATS = (Step(1, 1.0), Step(2, 1.0))
"""Where a graphics card draws: pixels cost nothing there."""
SOFTWARE_STEPS = (Step(1, 1.0), Step(1, 0.6), Step(2, 1.0), Step(2, 0.6))
"""Where the processor draws: dynamic resolution, then a slower beat."""


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
    """When frames begin, a grid of whole ticks of which every ``divider``-th is drawn, and how sharp. Knows no timer.

    Where frames keep beginning late, each would come one or two ticks after the other as chance has it; fewer pixels
    where those are what takes the time, then a steady slower beat look smoother. A better step is tried when the
    frames' cost leaves room for it: after ``FIRST_TRY``, then ever more rarely while it fails. Seconds throughout.
    """

    def __init__(self, tick: float = INTERVAL_MS / 1000, steps: Sequence[Step] = BEATS) -> None:
        self.tick = tick
        self.steps = steps
        self._at = 0
        self._late: deque[bool] = deque(maxlen=_KEEP)
        self._costs: deque[float] = deque(maxlen=_KEEP)
        self._due: float | None = None
        self._wait = [FIRST_TRY] * len(steps)
        self._since = 0.0

    @property
    def step(self) -> Step:
        return self.steps[self._at]

    def begun(self, now: float) -> float:
        """A frame begins at ``now``; when the next one shall begin. A late frame is late once: the grid stays."""
        due = now if self._due is None else self._due
        self._late.append(now > due + _TOLERANCE * self.tick)
        self._choose(now)
        slot = self.tick * self.step.divider
        # Beginnings that were missed altogether are left out, not made up for.
        self._due = due + slot * max(1, int((now - due) // slot) + 1)
        return self._due

    def drawn(self, cost: float) -> None:
        """The frame begun last took ``cost``."""
        self._costs.append(cost)

    def reset(self) -> None:
        self._due = None
        self._late.clear()
        self._costs.clear()

    def _choose(self, now: float) -> None:
        worse, better = self._worse(), self._better()
        if worse is not None:
            # What was tried and did not hold waits longer the next time.
            if now - self._since < self._wait[self._at]:
                self._wait[self._at] = min(2 * self._wait[self._at], LAST_TRY)
            self._go(worse, now)
        elif better is not None and now - self._since >= self._wait[better]:
            self._go(better, now)
        elif len(self._late) == _KEEP and now - self._since > 2 * self._wait[self._at]:
            self._wait[self._at] = FIRST_TRY  # it has held for long

    def _go(self, step: int, now: float) -> None:
        self._at, self._since = step, now
        self._late.clear()
        self._costs.clear()

    def _worse(self) -> int | None:
        """The step to go down to where this one fails, which is judged by what that gives up."""
        after = self._at + 1
        if after == len(self.steps):
            return None
        if self.steps[after].divider == self.step.divider:
            if sum(list(self._late)[-_SHARP:]) >= _SHARP_LATE and self._dear():
                return after
            after += 1
        return after if after < len(self.steps) and self._beat_fails() else None

    def _beat_fails(self) -> bool:
        return len(self._late) == _KEEP and sum(self._late) > _KEEP // 4

    def _dear(self) -> bool:
        costs = sorted([*self._costs][-_SHARP:])
        return bool(costs) and costs[len(costs) // 2] > _DEAR * self.tick * self.step.divider

    def _better(self) -> int | None:
        """The step to try: a quicker beat with all pixels if it may fit, else the one before."""
        before = self._at - 1
        if before > 0 and self.steps[before].detail < self.step.detail and self._fits(before - 1):
            return before - 1
        return before if before >= 0 and self._fits(before) else None

    def _fits(self, step: int) -> bool:
        """True when frames of ``step`` would end in time, half of what they cost now being their pixels."""
        if len(self._costs) < _KEEP:
            return False
        other = self.steps[step]
        usual = sorted(self._costs)[_KEEP * 9 // 10]
        expected = usual * (1 + other.detail / self.step.detail) / 2
        return expected < _ROOM * self.tick * other.divider


class FrameClock(QObject):
    """Calls ``frame(now)`` on the main thread every 33 ms, or every whole multiple of it that painting needs."""

    detail_changed = Signal(float)
    """The share of the pixels that frames shall have from now on."""

    def __init__(
        self,
        frame: Callable[[float], None],
        parent: QObject | None = None,
        clock: Callable[[], float] = time.monotonic,
        steps: Sequence[Step] = BEATS,
    ) -> None:
        super().__init__(parent)
        self._frame = frame
        self._clock = clock
        self.stats = FrameStats()
        self.pacer = Pacer(steps=steps)
        self._begun: float | None = None
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._tick)

    def start(self) -> None:
        self.pacer.reset()
        self._timer.start(INTERVAL_MS)

    def stop(self) -> None:
        self._timer.stop()

    def drawn(self) -> None:
        """The picture of the last tick is on the screen."""
        if self._begun is not None:
            self.pacer.drawn(self._clock() - self._begun)
            self._begun = None

    def _tick(self) -> None:
        now = self._clock()
        self.stats.tick(now)
        before = self.pacer.step.detail
        due = self.pacer.begun(now)
        if self.pacer.step.detail != before:
            self.detail_changed.emit(self.pacer.step.detail)
        self._begun = now
        self._timer.start(max(0, round((due - now) * 1000)))
        self._frame(now)
