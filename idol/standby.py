"""What a chat model and a voice have in common when each stands before its engine and the spares of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from engines.errors import EngineFailure, SteppedAside, is_shortage
from engines.standby import STEP_SECONDS, Standby
from idol.seams import RuntimeInfo

log = logging.getLogger(__name__)

Switched = Callable[[RuntimeInfo, RuntimeInfo, Exception], None]
"""Told of a switch: what broke, what runs now, why."""


class Engine(Protocol):
    @property
    def info(self) -> RuntimeInfo: ...

    def close(self) -> None: ...


E = TypeVar("E", bound=Engine)


class WithSpares(Generic[E]):
    """``engine`` is in use; each of ``spares`` (an engine, or what loads one) replaces a broken one.

    ``what`` is how the engine is called in messages. Worker thread only; closes what it holds.
    """

    def __init__(
        self,
        what: str,
        engine: E,
        spares: tuple[Callable[[], E] | E, ...],
        step_limit: float = STEP_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._what = what
        self._standby = Standby(engine, spares)
        self._step_limit = step_limit
        self._clock = clock
        self._listener: Switched | None = None
        self._relief: Callable[[], bool] | None = None

    @property
    def engine(self) -> E:
        """The one in use."""
        return self._standby.engine

    @property
    def info(self) -> RuntimeInfo:
        return self._standby.engine.info

    @property
    def has_spare(self) -> bool:
        return self._standby.has_spare

    def prepare_spare(self) -> None:
        """Load the next spare, for idle moments. Raises the engine layer's errors."""
        self._standby.prepare()

    def on_failure(self, listener: Switched) -> None:
        """Call ``listener`` on the worker thread after each switch."""
        self._listener = listener

    def on_shortage(self, relief: Callable[[], bool]) -> None:
        """Ask ``relief`` on the worker thread when the card has no memory left: where it returns True something was
        given up, perhaps this very engine, and the same is tried again before a spare takes over."""
        self._relief = relief

    def step_aside(self, error: Exception) -> None:
        """Let the spare go on in the engine's place, which is closed, as though it had failed with ``error``. Raises
        ``EngineFailure`` when no spare can be had."""
        broken = self.info
        if isinstance(error, SteppedAside):
            log.info("%s on %s steps aside: %s", broken.model, broken.runtime, error)
        else:
            log.error("%s on %s failed: %s", broken.model, broken.runtime, error)
        self._standby.switch(f"{self._what} {broken.model}", error)
        if self._listener is not None:
            self._listener(broken, self.info, error)

    def close(self) -> None:
        self._standby.close()

    def _relieved(self, error: Exception) -> bool:
        """Whether memory was made where that was what was missing."""
        return self._relief is not None and is_shortage(error) and self._relief()

    def _give_up_slow(self, slow: Exception) -> bool:
        """Let the spare go on in the place of a slow engine. False when none can be had: a slow one is better than
        none."""
        try:
            self.step_aside(slow)
        except EngineFailure as trouble:
            log.warning("it stays in use: %s", trouble)
            return False
        return True
