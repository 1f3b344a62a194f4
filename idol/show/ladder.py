"""What a show gives up, step by step, when the card's memory runs short, and how it climbs back.

Pure decisions: no engine, no card, no thread. A step down follows memory that stays full (``press``), one at a time,
each given time to show in a fresh sample; or an allocation that failed in the middle of a turn (``shortage``), where
the retry itself shows the effect. When memory has been calm for a while and has room for what the last step gave up,
that step is undone; where that fails or does not last, the next try waits twice as long.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from engines.errors import EngineError
from idol.show.interface import Notice, SwapKind

log = logging.getLogger(__name__)

SETTLE_SECONDS = 4.0
"""So long a step has to show its effect."""
CALM_SECONDS = 30.0
"""So long memory must be calm before a step is undone; also how long an undone step must last to count as a success."""
LONGEST_WAIT = 600.0


class Rung(Protocol):
    """One thing that can be given up. Called on the worker, between two turns, or in one that ran out of memory."""

    @property
    def kind(self) -> SwapKind | None:
        """The engine it is about; None for both."""
        ...

    @property
    def label(self) -> str:
        """What holds while the step is taken, in a few words for the overlay; empty where it makes no difference, since
        a lower step is taken."""
        ...

    @property
    def needs(self) -> int:
        """Bytes of the card that undoing it takes."""
        ...

    @property
    def busy(self) -> bool:
        """Something of it is still loading on another thread; it changes nothing but at its end."""
        ...

    @property
    def held(self) -> bool:
        """Whether it is given up now. Where something had to be loaded, known when it is not ``busy``."""
        ...

    def down(self) -> str:
        """Give it up. What was done, in a sentence for the user; empty when there is nothing of it to give up. Raises
        ``EngineError``."""
        ...

    def up(self) -> str:
        """Undo it, or begin to; what is done, in a sentence. Raises ``EngineError``."""
        ...

    def forget(self) -> None:
        """The engine it was about is another one now, at its full size."""
        ...


class Ladder:
    """Steps ``rungs`` down in their order and up in reverse. Worker thread only, but for ``line``."""

    def __init__(
        self,
        rungs: Sequence[Rung],
        tell: Callable[[Notice], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rungs = tuple(rungs)
        self._tell = tell
        self._clock = clock
        self._taken: list[Rung] = []
        self._waits = {id(rung): CALM_SECONDS for rung in self._rungs}
        self._undone_at: dict[int, float] = {}
        self._moving: tuple[Rung, bool] | None = None
        """What is still loading, and whether upwards."""
        self._pressed = False
        self._quiet_since = clock()
        self._acted_at = clock() - SETTLE_SECONDS
        self._bare = False
        """It has been said that nothing is left to give up."""
        self.line = ""
        """What is given up now, for the overlay; empty when nothing is. Any thread."""

    @property
    def taken(self) -> tuple[Rung, ...]:
        return tuple(self._taken)

    def press(self, on: bool) -> None:
        """Memory became full, or is well again."""
        if self._pressed and not on:
            self._quiet_since = self._clock()
            self._bare = False
        self._pressed = on

    def shortage(self) -> bool:
        """An allocation failed. True when a step was taken, so that it is worth trying again."""
        return self._step_down("An engine found no memory on the graphics card")

    def tick(self, sampled_at: float | None, room: Callable[[], int | None]) -> None:
        """Take or undo one step where it is time. ``sampled_at``: of the last look at the card, on ``clock``, None when
        nobody looks; ``room`` gives the bytes that the engines may take more, None when not known."""
        if self._moving is not None:
            self._follow()
        if self._moving is not None:
            return
        if self._pressed:
            fresh = sampled_at is not None and sampled_at > self._acted_at
            if fresh and self._clock() - self._acted_at >= SETTLE_SECONDS:
                self._step_down("The graphics card's memory is nearly full")
        elif self._taken:
            self._perhaps_up(room)

    def fallen(self, kind: SwapKind) -> None:
        """The engine of ``kind`` ran out of memory and its spare goes on: the step that means the same counts as
        taken."""
        for rung in self._rungs:
            if rung.kind == kind and rung.held and rung not in self._taken:
                self._taken.append(rung)
                self._acted()

    def forget(self, kind: SwapKind) -> None:
        """Another engine of ``kind`` was put in place by the user: what was given up of it is whole again."""
        for rung in self._rungs:
            if rung.kind in (kind, None):
                rung.forget()
        self._taken = [rung for rung in self._taken if rung.held]
        if self._moving is not None and self._moving[0].kind == kind:
            self._moving = None
        self._acted()

    # -- inside --------------------------------------------------------------------------------------------------

    def _step_down(self, why: str) -> bool:
        before = len(self._taken)
        for rung in self._rungs:
            if rung in self._taken:
                continue
            try:
                done = rung.down()
            except EngineError as error:
                if len(self._taken) > before:
                    return True  # it ended on a lower one, see ``fallen``
                log.error("the step %r failed: %s", rung.label, error)
                self._tell(Notice("warning", f"{why}, and a step to free some failed: {error.message}", error.remedy))
                continue
            if not done:
                continue
            undone = self._undone_at.pop(id(rung), None)
            if undone is not None and self._clock() - undone < CALM_SECONDS:
                self._wait_longer(rung)
            elif undone is not None:
                self._waits[id(rung)] = CALM_SECONDS
            self._taken.append(rung)
            if rung.busy:
                self._moving = (rung, False)
            self._acted()
            log.warning("memory: %s", self.line)
            self._tell(Notice("warning", f"{why}: {done}", "It is undone when there is room again."))
            return True
        self._acted()
        if not self._bare:
            self._bare = True
            self._tell(Notice("warning", f"{why}, and nothing is left to give up.", "Close other programs."))
        return False

    def _perhaps_up(self, room: Callable[[], int | None]) -> None:
        rung = self._taken[-1]
        now = self._clock()
        if now - max(self._quiet_since, self._acted_at) < self._waits[id(rung)]:
            return
        there = room()
        if there is None or rung.needs > there:
            return
        try:
            done = rung.up()
        except EngineError as error:
            self._stay(rung, error.message)
            return
        self._tell(Notice("info", f"The graphics card has room again: {done}"))
        if rung.busy:
            self._moving = (rung, True)
            self._acted()
        else:
            self._arrived_up(rung)

    def _follow(self) -> None:
        assert self._moving is not None  # the caller looked
        rung, upwards = self._moving
        if rung.busy:
            return
        self._moving = None
        if upwards:
            if rung.held:
                self._stay(rung, "what it takes could not be loaded.")
            else:
                self._arrived_up(rung)
            return
        if not rung.held:  # what was to come in its place did not, and the one before stayed
            self._taken.remove(rung)
        self._acted()

    def _arrived_up(self, rung: Rung) -> None:
        if rung in self._taken:
            self._taken.remove(rung)
        self._undone_at[id(rung)] = self._clock()
        self._acted()

    def _stay(self, rung: Rung, why: str) -> None:
        self._wait_longer(rung)
        self._acted()
        log.warning("%s stays for %.0f s more: %s", rung.label, self._waits[id(rung)], why)
        self._tell(Notice("warning", f"There was no way back yet from “{rung.label}”: {why}"))

    def _wait_longer(self, rung: Rung) -> None:
        self._waits[id(rung)] = min(LONGEST_WAIT, 2 * self._waits[id(rung)])

    def _acted(self) -> None:
        self._acted_at = self._clock()
        self.line = ", ".join(dict.fromkeys(rung.label for rung in self._taken if rung.label))
