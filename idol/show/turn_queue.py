"""The turn queue: lines that wait for the worker, in the order they came, each with the generation it belongs to.

Bounded: a full queue refuses the newest line, so that what was accepted is always answered. A cancel empties it.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable

from idol.seams import Language, Turn


class TurnQueue:
    """Lines for one worker. Any thread puts; the worker takes."""

    def __init__(self, capacity: int = 32, clock: Callable[[], float] = time.monotonic) -> None:
        self._capacity = capacity
        self._clock = clock
        self._ids = itertools.count(1)
        self._turns: deque[tuple[Turn, int]] = deque()
        self._changed = threading.Condition()

    def put(self, text: str, source: str, generation: int = 0, language: Language | None = None) -> Turn:
        """Append a line; raises ``ValueError`` with a message for the user when the queue is full."""
        with self._changed:
            if len(self._turns) >= self._capacity:
                raise ValueError(f"{self._capacity} lines are already waiting. Wait for an answer, or press Stop.")
            turn = Turn(id=next(self._ids), text=text, source=source, language=language, received_at=self._clock())
            self._turns.append((turn, generation))
            self._changed.notify()
            return turn

    def take(self, timeout: float) -> tuple[Turn, int] | None:
        """The oldest line and its generation, or None when none comes within ``timeout`` seconds."""
        with self._changed:
            if not self._turns:
                self._changed.wait(timeout)
            return self._turns.popleft() if self._turns else None

    def clear(self) -> list[Turn]:
        """Drop all lines and return them."""
        with self._changed:
            dropped = [turn for turn, _ in self._turns]
            self._turns.clear()
            return dropped

    @property
    def waiting(self) -> list[Turn]:
        """The lines that wait, oldest first."""
        with self._changed:
            return [turn for turn, _ in self._turns]

    def __len__(self) -> int:
        return len(self._turns)
