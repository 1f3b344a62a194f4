"""A voice that goes on when its engine breaks: another one says the clause."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from engines.errors import EngineFailure, is_failure
from engines.standby import STEP_SECONDS, SlowStep, StepWatch
from idol.seams import Clause, Language, Speech, Synthesiser
from idol.standby import WithSpares


class StandbySynthesiser(WithSpares[Synthesiser]):
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
        super().__init__("The voice", voice, spares, step_limit, clock)

    def voices(self, language: Language | None = None) -> tuple[str, ...]:
        return self._standby.engine.voices(language)

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
                if not self._relieved(error):
                    self.step_aside(error)
                continue
            try:
                watch()
            except SlowStep as slow:
                self._give_up_slow(slow)
            return speech
