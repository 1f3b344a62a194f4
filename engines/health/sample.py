"""One look at the card and at this process, and what a reader of cards must do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engines.errors import EngineError


class HealthError(EngineError):
    """There is no card to watch here; the message says why."""


class CardLost(HealthError):
    """The card or its driver stopped answering."""


@dataclass(frozen=True, slots=True)
class HealthSample:
    """The card and this process at one moment. None is a figure that this machine does not give.

    ``at`` is ``time.monotonic()`` and ``wall`` ``time.time()``, in seconds. ``card`` is the card's name, empty without
    one; ``trouble`` says why a card that was there gives no figures.

    ``utilisation``: percent of the driver's last sampling period in which any kernel ran; ``others_utilisation``:
    percent of the card's multiprocessors that other processes kept busy (known only where the driver tells processes
    apart and lists ours). Memory in bytes: ``memory_used`` counts all processes and the driver's own share,
    ``memory_ours`` this process. ``temperature`` in °C, ``power`` and ``power_limit`` in W, clocks in MHz.
    ``performance_state`` is 0 (fastest) to 15. ``throttles``: what holds the clocks down, in plain words, worst first;
    empty when nothing does.

    ``resident``: memory of this process in bytes; ``processor``: how many cores it kept busy since the last sample.
    """

    at: float
    wall: float
    card: str = ""
    trouble: str = ""
    utilisation: int | None = None
    others_utilisation: int | None = None
    memory_total: int | None = None
    memory_used: int | None = None
    memory_free: int | None = None
    memory_ours: int | None = None
    temperature: int | None = None
    power: float | None = None
    power_limit: float | None = None
    sm_clock: int | None = None
    memory_clock: int | None = None
    performance_state: int | None = None
    throttles: tuple[str, ...] | None = None
    resident: int | None = None
    processor: float | None = None


class CardReader(Protocol):
    """Reads one card. Used from one thread."""

    def read(self, at: float, wall: float) -> HealthSample:
        """The card now. Raises ``CardLost`` when it does not answer."""
        ...

    def follow(self, bus_id: str) -> None:
        """Read the card at this PCI address (``0000:01:00.0``) from now on. Raises ``CardLost`` when there is none,
        and goes on with the one before."""
        ...

    def reopen(self) -> None:
        """Try to reach a lost card again. Raises ``CardLost``."""
        ...

    def close(self) -> None: ...
