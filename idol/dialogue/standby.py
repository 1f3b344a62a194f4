"""A chat model that goes on when its engine breaks: another one continues the reply from the text already given."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from engines.errors import EngineFailure, is_failure, is_shortage
from engines.standby import STEP_SECONDS, SlowStep, Standby, StepWatch
from idol.seams import ChatMessage, GenerationStats, LanguageModel, RuntimeInfo, Sampling

log = logging.getLogger(__name__)
T = TypeVar("T")

Switched = Callable[[RuntimeInfo, RuntimeInfo, Exception], None]
"""Told of a switch: what broke, what runs now, why."""


class StandbyLanguageModel:
    """Implements ``LanguageModel`` on ``model``; each of ``spares`` (a model, or what loads one) replaces a broken one.

    An engine is broken when it raises a failure (see ``engines.errors.is_failure``), gives logits that are not numbers,
    or takes longer than ``step_limit`` s for a step; the latter is noticed when the step returns, so a driver that
    hangs for ever is not caught. The reply goes on where its text has got to: nothing is said twice or left out.
    Closes what it holds.
    """

    def __init__(
        self,
        model: LanguageModel,
        *spares: Callable[[], LanguageModel] | LanguageModel,
        step_limit: float = STEP_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._standby = Standby(model, spares)
        self._step_limit = step_limit
        self._clock = clock
        self._stats: GenerationStats | None = None
        self._listener: Switched | None = None
        self._relief: Callable[[], bool] | None = None

    def on_shortage(self, relief: Callable[[], bool]) -> None:
        """Ask ``relief`` on the worker thread when the card has no memory left: where it returns True something was
        given up, perhaps this very engine, and the same is tried again before a spare takes over."""
        self._relief = relief

    @property
    def engine(self) -> LanguageModel:
        """The model in use."""
        return self._standby.engine

    @property
    def has_spare(self) -> bool:
        return self._standby.has_spare

    def step_aside(self, error: Exception) -> None:
        """Let the spare go on in the engine's place, which is closed, as though it had failed with ``error``. Raises
        ``EngineFailure`` when no spare can be had."""
        self._switch(error)

    def on_failure(self, listener: Switched) -> None:
        """Call ``listener`` on the worker thread after each switch."""
        self._listener = listener

    @property
    def info(self) -> RuntimeInfo:
        return self._standby.engine.info

    @property
    def context_length(self) -> int:
        return self._standby.engine.context_length

    @property
    def last_stats(self) -> GenerationStats | None:
        return self._stats

    def count_tokens(self, messages: Sequence[ChatMessage]) -> int:
        return self._standby.engine.count_tokens(messages)

    def prepare_spare(self) -> None:
        """Load the next spare, for idle moments. Raises the engine layer's errors."""
        self._standby.prepare()

    def prime(self, messages: Sequence[ChatMessage], interrupted: Callable[[], bool] | None = None) -> bool:
        return self._on_a_sound_one(lambda model: model.prime(messages, interrupted))

    def anticipate(self, messages: Sequence[ChatMessage], interrupted: Callable[[], bool] | None = None) -> bool:
        return self._on_a_sound_one(lambda model: model.anticipate(messages, interrupted))

    def generate(
        self, messages: Sequence[ChatMessage], sampling: Sampling, cancelled: Callable[[], bool], said: str = ""
    ) -> Iterator[str]:
        """Yield the reply's text. Raises ``EngineFailure`` when the engine breaks and no spare can be had."""
        earlier: GenerationStats | None = None
        patient = not self._standby.has_spare
        while True:
            watch = StepWatch(cancelled, math.inf if patient else self._step_limit, self._clock)
            model = self._standby.engine
            pieces = model.generate(messages, sampling, watch, said)
            try:
                for piece in pieces:
                    said += piece
                    yield piece
                    watch.resume()
                return
            except Exception as error:
                if not is_failure(error):
                    raise
                if not self._relieved(error):
                    patient = not self._switch(error, patient=isinstance(error, SlowStep))
            finally:
                close = getattr(pieces, "close", None)
                if close is not None:
                    close()
                earlier = self._stats = _sum(earlier, model.last_stats)
            if cancelled():
                return
            messages = self._fitting(messages, sampling)

    def close(self) -> None:
        self._standby.close()

    def _on_a_sound_one(self, action: Callable[[LanguageModel], T]) -> T:
        while True:
            try:
                return action(self._standby.engine)
            except Exception as error:
                if not is_failure(error):
                    raise
                if self._relieved(error):
                    continue
                if not self._standby.has_spare:
                    raise
                self._switch(error)

    def _relieved(self, error: Exception) -> bool:
        """Whether memory was made where that was what was missing."""
        return self._relief is not None and is_shortage(error) and self._relief()

    def _switch(self, error: Exception, patient: bool = False) -> bool:
        """Put a spare in the place of the broken model. False when there is none and the slow one has to do."""
        broken = self.info
        log.error("%s on %s failed: %s", broken.model, broken.runtime, error)
        try:
            self._standby.switch(f"The language model {broken.model}", error)
        except EngineFailure as trouble:
            if not patient:
                raise
            log.warning("it stays in use: %s", trouble)
            return False
        if self._listener is not None:
            self._listener(broken, self.info, error)
        return True

    def _fitting(self, messages: Sequence[ChatMessage], sampling: Sampling) -> Sequence[ChatMessage]:
        """``messages`` without their oldest exchanges where a spare's context is shorter."""
        room = self.context_length - sampling.max_tokens
        while len(messages) > 3 and self.count_tokens(messages) > room:
            messages = [messages[0], *messages[3:]]
        return messages


def _sum(earlier: GenerationStats | None, last: GenerationStats | None) -> GenerationStats | None:
    """What one reply cost, of which two models each did a part. The prompt is the last one's."""
    if earlier is None or last is None:
        return last or earlier
    return GenerationStats(
        last.prompt_tokens,
        last.reused_tokens,
        earlier.prefill_seconds + last.prefill_seconds,
        earlier.decoded_tokens + last.decoded_tokens,
        earlier.decode_seconds + last.decode_seconds,
    )
