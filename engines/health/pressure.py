"""From samples to pressure: thresholds with hysteresis and dwell times, so that a value that wavers says nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Literal

from engines.health.budget import low_water
from engines.health.sample import HealthSample

PressureKind = Literal["memory", "temperature", "throttle", "compute", "lost"]

HARMFUL = frozenset({"thermal hardware", "thermal software", "power brake", "hardware slowdown"})
"""Throttle words that mean trouble. A power cap does not: a card at full work on its limit is in order."""


@dataclass(frozen=True, slots=True)
class Pressure:
    """Something on the card became scarce (``level`` 1) or is well again (``level`` 0).

    Each change is announced once. ``since`` is ``time.monotonic()`` of the first sample of the stretch that decided
    it, ``sample`` the last one.
    """

    kind: PressureKind
    level: int
    since: float
    sample: HealthSample


@dataclass(frozen=True, slots=True)
class Band:
    """Pressure rises when ``measure`` stays at or above ``enter`` for ``rise`` seconds, and falls when it stays at or
    below ``leave`` for ``fall`` seconds. Between the two nothing changes. ``measure`` gives None when it cannot tell.
    """

    kind: PressureKind
    measure: Callable[[HealthSample], float | None]
    enter: float
    leave: float
    rise: float
    fall: float

    def __post_init__(self) -> None:
        if not self.leave < self.enter or self.rise < 0 or self.fall < 0:
            raise ValueError(
                f"{self.kind}: enter {self.enter}, leave {self.leave}, rise {self.rise} s, fall {self.fall} s; "
                "leave must lie below enter and times must not be negative"
            )


class Gauge:
    """Follows one band. Two samples further apart than ``longest_gap`` seconds do not prove what was between them."""

    def __init__(self, band: Band, longest_gap: float = 5.0) -> None:
        self.band = band
        self.level = 0
        self._longest_gap = longest_gap
        self._begun: float | None = None
        self._last = -inf

    def update(self, sample: HealthSample) -> Pressure | None:
        """Take the next sample; the change it decides, if any."""
        band = self.band
        value = band.measure(sample)
        broken = sample.at - self._last > self._longest_gap
        self._last = sample.at
        beyond = value is not None and (value <= band.leave if self.level else value >= band.enter)
        if not beyond:
            self._begun = None
            return None
        if self._begun is None or broken:
            self._begun = sample.at
        if sample.at - self._begun < (band.fall if self.level else band.rise):
            return None
        since, self._begun = self._begun, None
        self.level = 1 - self.level
        return Pressure(band.kind, self.level, since, sample)


def standard_bands(hot: float = 87.0, cool: float = 80.0) -> tuple[Band, ...]:
    """What a show watches: full memory (see ``low_water``; calm at twice that), a hot card (°C), clocks held down by
    heat or the power supply, other processes that keep the card busy, and a card that is lost."""
    return (
        Band("memory", _shortage, 1.0, 0.5, rise=2.0, fall=15.0),
        Band("temperature", lambda sample: sample.temperature, hot, cool, rise=5.0, fall=10.0),
        Band("throttle", _held_down, 1.0, 0.0, rise=5.0, fall=10.0),
        Band("compute", lambda sample: sample.others_utilisation, 60.0, 30.0, rise=5.0, fall=10.0),
        Band("lost", _lost, 1.0, 0.0, rise=0.0, fall=0.0),
    )


def _shortage(sample: HealthSample) -> float | None:
    if sample.memory_total is None or sample.memory_free is None:
        return None
    return low_water(sample.memory_total) / sample.memory_free if sample.memory_free else inf


def _held_down(sample: HealthSample) -> float | None:
    return None if sample.throttles is None else float(not HARMFUL.isdisjoint(sample.throttles))


def _lost(sample: HealthSample) -> float | None:
    return float(bool(sample.trouble)) if sample.card else None
