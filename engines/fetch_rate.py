"""How far a fetch is, how fast it goes and how long it will take."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

WINDOW_SECONDS = 8.0
REPORT_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class FetchProgress:
    """Where a fetch stands, in bytes. ``speed`` in bytes/s over the last seconds; ``seconds_left`` None while unknown.

    ``source`` is ``hub``, ``pypi``, ``npm`` or ``local``.
    """

    model: str
    file: str
    done: int
    total: int
    speed: float
    seconds_left: float | None
    source: str


Progress = Callable[[FetchProgress], None]


class FetchRate:
    """Turns byte counts into reports, at most one each ``REPORT_SECONDS``; the count shown never runs backwards
    within a source, since a package counts while it arrives and again while it is unpacked.

    ``start`` bytes were there already and count as done, not as speed.
    """

    def __init__(self, total: int, report: Progress, clock: Callable[[], float] = time.monotonic) -> None:
        self._total = total
        self._report = report
        self._clock = clock
        self._names = ("", "", "")
        self._shown = 0
        self._points: deque[tuple[float, int]] = deque()
        self._last = float("-inf")

    def begin(self, model: str, file: str, source: str, done: int) -> None:
        """A source of a file begins with ``done`` bytes of the whole fetch in place."""
        self._names = (model, file, source)
        if done < self._shown:  # begun afresh: no speed across the step back
            self._points.clear()
        self._shown = done
        self.update(done, force=True)

    def update(self, done: int, *, force: bool = False) -> None:
        """``done`` bytes of the whole fetch are here."""
        now = self._clock()
        self._shown = max(self._shown, min(done, self._total))
        self._points.append((now, self._shown))
        while len(self._points) > 2 and now - self._points[0][0] > WINDOW_SECONDS:
            self._points.popleft()
        if not force and now - self._last < REPORT_SECONDS:
            return
        self._last = now
        (first, before) = self._points[0]
        speed = (self._shown - before) / (now - first) if now > first else 0.0
        left = (self._total - self._shown) / speed if speed > 0 else None
        model, file, source = self._names
        self._report(FetchProgress(model, file, self._shown, self._total, speed, left, source))
