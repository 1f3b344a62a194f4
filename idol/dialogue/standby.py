"""A chat model that goes on when its engine breaks: another one continues the reply from the text already given."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from engines.errors import is_failure
from engines.standby import STEP_SECONDS, SlowStep, StepWatch
from idol.seams import ChatMessage, GenerationStats, LanguageModel, Sampling
from idol.standby import WithSpares

T = TypeVar("T")


class StandbyLanguageModel(WithSpares[LanguageModel]):
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
        super().__init__("The language model", model, spares, step_limit, clock)
        self._stats: GenerationStats | None = None

    @property
    def context_length(self) -> int:
        return self._standby.engine.context_length

    @property
    def last_stats(self) -> GenerationStats | None:
        return self._stats

    def count_tokens(self, messages: Sequence[ChatMessage]) -> int:
        return self._standby.engine.count_tokens(messages)

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
                if isinstance(error, SlowStep):
                    patient = not self._give_up_slow(error)
                elif not self._relieved(error):
                    self.step_aside(error)
                    patient = False
            finally:
                close = getattr(pieces, "close", None)
                if close is not None:
                    close()
                earlier = self._stats = _sum(earlier, model.last_stats)
            if cancelled():
                return
            messages = self._fitting(messages, sampling)

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
                self.step_aside(error)

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
