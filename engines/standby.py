"""An engine in use and those that stand ready to go on in its place.

Knows nothing of what the engines do. Not thread-safe: whoever runs the engine asks for the next one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Generic, Protocol, TypeVar

from engines.errors import EngineFailure

log = logging.getLogger(__name__)
STEP_SECONDS = 10.0
"""A step of a healthy engine takes tens of milliseconds, on a slow machine a second."""


class Closable(Protocol):
    def close(self) -> None: ...


E = TypeVar("E", bound=Closable)


class Standby(Generic[E]):
    """``engine`` runs; ``spares`` replace it, in this order: engines, or what loads one when it is needed or
    ``prepare``-d."""

    def __init__(self, engine: E, spares: tuple[Callable[[], E] | E, ...]) -> None:
        self.engine = engine
        self._spares = [spare if callable(spare) else partial(_itself, spare) for spare in spares]
        self._ready: E | None = None
        if spares and not callable(spares[0]):
            self.prepare()

    @property
    def has_spare(self) -> bool:
        return self._ready is not None or bool(self._spares)

    def prepare(self) -> None:
        """Load the next spare now, so that a failure costs no loading. Raises what its loader raises."""
        if self._ready is None and self._spares:
            self._ready = self._spares[0]()
            del self._spares[0]

    def switch(self, failed: str, error: Exception) -> None:
        """Put the next spare that loads in the place of the engine, which is closed.

        Raises ``EngineFailure`` when there is none; the engine stays where it is then, and a spare that could not be
        loaded is tried again another time.
        """
        troubles = []
        unloaded = []
        while self._ready is None and self._spares:
            try:
                self.prepare()
            except Exception as trouble:  # a spare may fail in as many ways as the engine did
                log.exception("a spare of %s cannot be loaded", failed)
                troubles.append(str(trouble))
                unloaded.append(self._spares.pop(0))
        self._spares = [*unloaded, *self._spares]
        if self._ready is None:
            why = f"its spare cannot be loaded: {' '.join(troubles)}" if troubles else "it has no spare."
            raise EngineFailure(
                f"{failed} failed ({error}), and {why}", "Try another line; if it fails again, start Idol again."
            ) from error
        broken, self.engine, self._ready = self.engine, self._ready, None
        close_broken(broken)

    def replace(self, engine: E, spares: tuple[Callable[[], E], ...]) -> None:
        """Put ``engine`` and its ``spares`` in the place of what is here, which is closed."""
        old = [self.engine, *([self._ready] if self._ready is not None else [])]
        self.engine, self._spares, self._ready = engine, list(spares), None
        for one in old:
            close_broken(one)

    def close(self) -> None:
        """Close the engine and a spare that is loaded."""
        if self._ready is not None:
            close_broken(self._ready)
        self._ready = None
        self._spares.clear()
        self.engine.close()


def _itself(engine: E) -> E:
    return engine


def close_broken(engine: Closable) -> None:
    """Close an engine that may be too broken even for that."""
    try:
        engine.close()
    except Exception:  # a lost card refuses to take memory back; what replaces the engine must run all the same
        log.exception("an engine could not be closed")


class StepWatch:
    """Counts a step that takes longer than ``limit`` s as a failure, once it has returned.

    Wraps the question whether to stop, which is asked between two steps. A step that never returns is out of its
    scope: a thread that hangs inside a driver cannot be ended from within the process.
    """

    def __init__(
        self, stop: Callable[[], bool], limit: float = STEP_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stop = stop
        self._limit = limit
        self._clock = clock
        self.resume()

    def __call__(self) -> bool:
        """Raises ``SlowStep``."""
        spent = self._clock() - self._began
        if spent > self._limit:
            raise SlowStep(f"A step took {spent:.1f} s; more than {self._limit:.0f} s is too long.")
        stop = self._stop()
        self.resume()
        return stop

    def resume(self) -> None:
        """A step begins now: what came before was somebody else's time."""
        self._began = self._clock()


class SlowStep(EngineFailure):
    """An engine took so long that it counts as broken."""
