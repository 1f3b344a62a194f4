"""A voice that goes on when its engine breaks: another one says the clause."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable

import numpy as np

from engines.errors import EngineFailure, is_failure, is_shortage
from engines.standby import STEP_SECONDS, SlowStep, Standby, StepWatch
from idol.seams import Clause, Language, RuntimeInfo, Speech, Synthesiser

log = logging.getLogger(__name__)

Switched = Callable[[RuntimeInfo, RuntimeInfo, Exception], None]
"""Told of a switch: what broke, what runs now, why."""


class StandbySynthesiser:
    """Implements ``Synthesiser`` on ``voice``; each of ``spares`` (a voice, or what loads one) replaces a broken one.

    An engine is broken when it raises a failure (see ``engines.errors.is_failure``), gives sound that is not numbers,
    or takes longer than ``step_limit`` s for a clause; then its sound is still used, and the spare says the next one.
    An engine that never returns is not caught. Closes what it holds.
    """

    def __init__(
        self,
        voice: Synthesiser,
        *spares: Callable[[], Synthesiser] | Synthesiser,
        step_limit: float = STEP_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._standby = Standby(voice, spares)
        self._step_limit = step_limit
        self._clock = clock
        self._listener: Switched | None = None
        self._relief: Callable[[], bool] | None = None

    def on_shortage(self, relief: Callable[[], bool]) -> None:
        """Ask ``relief`` on the worker thread when the card has no memory left: where it returns True something was
        given up, perhaps this very engine, and the clause is tried again before a spare takes over."""
        self._relief = relief

    @property
    def engine(self) -> Synthesiser:
        """The voice in use."""
        return self._standby.engine

    @property
    def has_spare(self) -> bool:
        return self._standby.has_spare

    def step_aside(self, error: Exception) -> None:
        """Let the spare go on in the voice's place, which is closed, as though it had failed with ``error``. Raises
        ``EngineFailure`` when no spare can be had."""
        self._switch(error)

    def on_failure(self, listener: Switched) -> None:
        """Call ``listener`` on the worker thread after each switch."""
        self._listener = listener

    @property
    def info(self) -> RuntimeInfo:
        return self._standby.engine.info

    def voices(self, language: Language | None = None) -> tuple[str, ...]:
        return self._standby.engine.voices(language)

    def prepare_spare(self) -> None:
        """Load the next spare, for idle moments. Raises the engine layer's errors."""
        self._standby.prepare()

    def replace(self, voice: Synthesiser, *spares: Callable[[], Synthesiser]) -> None:
        """Speak with ``voice`` from the next clause on; the old one is closed. Worker thread, between two clauses."""
        self._standby.replace(voice, spares)

    def speak(self, clause: Clause, voice: str, speed: float = 1.0) -> Speech | None:
        """Raises ``EngineFailure`` when the engine breaks and no spare can be had."""
        while True:
            watch = StepWatch(lambda: False, self._step_limit if self._standby.has_spare else math.inf, self._clock)
            try:
                speech = self._standby.engine.speak(clause, voice, speed)
                if speech is not None and not np.isfinite(speech.samples).all():
                    raise EngineFailure(f"The voice {voice!r} gave sound that is not a number.")
            except Exception as error:
                if not is_failure(error):
                    raise
                if self._relief is None or not is_shortage(error) or not self._relief():
                    self._switch(error)
                continue
            try:
                watch()
            except SlowStep as slow:
                self._give_up_slow(slow)
            return speech

    def close(self) -> None:
        self._standby.close()

    def _give_up_slow(self, slow: SlowStep) -> None:
        try:
            self._switch(slow)
        except EngineFailure as trouble:  # a slow voice is better than none
            log.warning("it stays in use: %s", trouble)

    def _switch(self, error: Exception) -> None:
        broken = self.info
        log.error("%s on %s failed: %s", broken.model, broken.runtime, error)
        self._standby.switch(f"The voice {broken.model}", error)
        if self._listener is not None:
            self._listener(broken, self.info, error)
