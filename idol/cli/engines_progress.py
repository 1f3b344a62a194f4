"""What a user sees while engines are built: a line per part, a bar that moves on a terminal, a table at the end."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from engines.trt.jobs import Job, Outcome

_QUIET_SECONDS = 10.0
"""Without a terminal a running build says so this often."""


class BuildBar:
    """Implements ``engines.trt.jobs.Listener``. ``out`` is stdout; ``clock`` gives monotonic seconds."""

    def __init__(self, total: int, out: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._out = out if out is not None else sys.stdout
        self._terminal = self._out.isatty()
        self._clock = clock
        self._total = total
        self._done = 0
        self._running: dict[Job, tuple[float, float, str]] = {}
        self._said: dict[Job, float] = {}
        self._drawn = False

    def began(self, job: Job) -> None:
        self._running[job] = (self._clock(), 0.0, "")
        self._said[job] = self._clock()

    def moved(self, job: Job, fraction: float, text: str) -> None:
        began, last, _ = self._running[job]
        self._running[job] = (began, max(last, fraction), _phase(text))

    def tick(self) -> None:
        now = self._clock()
        if self._terminal:
            self._draw()
            return
        for job in self._running:
            if now - self._said[job] >= _QUIET_SECONDS:
                self._said[job] = now
                self._print(self._line(job))

    def ended(self, outcome: Outcome) -> None:
        self._running.pop(outcome.job, None)
        self._done += 1
        if outcome.result != "cancelled":
            self._print(f"{self._done}/{self._total} {outcome.job.name}: {describe(outcome)}")
        self._draw()

    def preparing(self, what: str) -> Callable[[float, str], None]:
        """A progress callback for work that comes before the builds."""
        said = self._clock()

        def show(fraction: float, text: str) -> None:
            nonlocal said
            line = f"{what}: {text}"
            if self._terminal:
                self._write(f"[{_bar(fraction)}] {fraction:>4.0%} {line}")
            elif self._clock() - said >= _QUIET_SECONDS:
                said = self._clock()
                self._print(f"{fraction:>4.0%} {line}")

        return show

    def end(self) -> None:
        """Leave the line that is being drawn."""
        if self._drawn:
            self._drawn = False
            print("\r" + " " * self._width() + "\r", end="", file=self._out, flush=True)

    # -- inside --------------------------------------------------------------------------------------------------

    def _line(self, job: Job) -> str:
        began, fraction, phase = self._running[job]
        elapsed = self._clock() - began
        # Only an earlier build tells: the builder's own fraction stands still for most of the time.
        left = job.expected - elapsed if job.expected > elapsed + 1 else None
        rest = "" if left is None else f", about {duration(left)} left"
        return f"{fraction:>4.0%} {job.name}: {phase or 'starting'}, {duration(elapsed)}{rest}"

    def _draw(self) -> None:
        if not self._terminal or not self._running:
            return
        job = next(iter(self._running))
        others = len(self._running) - 1
        more = f" (+{others})" if others else ""
        self._write(f"[{_bar(self._running[job][1])}]{self._line(job)}{more}  {self._done}/{self._total}")

    def _write(self, text: str) -> None:
        width = self._width()
        print("\r" + text[:width].ljust(width), end="", file=self._out, flush=True)
        self._drawn = True

    def _print(self, text: str) -> None:
        self.end()
        print(text, file=self._out, flush=True)

    @staticmethod
    def _width() -> int:
        return max(20, shutil.get_terminal_size().columns - 1)


def describe(outcome: Outcome) -> str:
    """How a job ended, for people."""
    if outcome.error is not None:
        return "failed (why: below)"
    if outcome.made is None:
        return "cancelled"
    size = f"{outcome.made.bytes / 1e6:.1f} MB"
    return f"built in {outcome.made.seconds:.1f} s, {size}" if outcome.made.fresh else f"there already, {size}"


def print_summary(outcomes: Sequence[Outcome], out: TextIO | None = None) -> None:
    """Part, target, result, seconds, MB."""
    width = max([len(outcome.job.label) for outcome in outcomes] + [4])
    print(f"{'part':<{width}}  {'target':<7} {'result':<10}{'seconds':>9}{'MB':>9}", file=out)
    for outcome in outcomes:
        target = f"SM{outcome.job.target}" if outcome.job.target else "card"
        made = outcome.made
        seconds = f"{made.seconds:.1f}" if made is not None else "-"
        size = f"{made.bytes / 1e6:.1f}" if made is not None else "-"
        print(f"{outcome.job.label:<{width}}  {target:<7} {outcome.result:<10}{seconds:>9}{size:>9}", file=out)


def duration(seconds: float) -> str:
    """``8 s`` or ``2:05 min``."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d} min" if minutes else f"{rest} s"


def _bar(fraction: float) -> str:
    filled = min(20, int(fraction * 20))
    return "#" * filled + "." * (20 - filled)


def _phase(text: str) -> str:
    """The builder's phase out of ``building NAME: PHASE, N s``."""
    _, _, phase = text.partition(": ")
    return phase.rpartition(",")[0] or phase or text
