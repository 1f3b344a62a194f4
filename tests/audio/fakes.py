"""A clock that moves when told and a device that can be late, dead or gone."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from idol.audio.backends import AudioError, Playing
from idol.seams import SAMPLE_RATE, Samples


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Played:
    samples: Samples
    at: float
    really: float
    clock: Clock
    stopped_at: float | None = None
    fade: Samples = field(default_factory=lambda: np.zeros(0, np.float32))

    @property
    def started_at(self) -> float | None:
        return self.really if self.clock() >= self.really else None


@dataclass
class FakeDevice:
    """Plays into a list. ``late`` seconds pass between the start asked for and the real one."""

    clock: Clock
    latency: float = 0.05
    late: float = 0.0
    alive: bool = True
    broken: bool = False
    closed: bool = False
    played: list[Played] = field(default_factory=list)
    description: str = "fake device"

    def play(self, samples: Samples, at: float) -> Playing:
        if self.broken:
            raise RuntimeError("unplugged")
        at = max(at, self.clock() + self.latency)
        made = Played(samples, at, at + self.late, self.clock)
        self.played.append(made)
        return made

    def stop(self, playing: Playing, at: float, fade: Samples) -> None:
        assert isinstance(playing, Played)
        playing.stopped_at, playing.fade = at, fade

    def close(self) -> None:
        self.closed = True


@dataclass
class Socket:
    """Where a device may be plugged in. Opening without one raises as the real thing does."""

    device: FakeDevice | None

    def open(self) -> FakeDevice:
        if self.device is None:
            raise AudioError("There is no sound output. Connect one, or start the sound server.")
        return self.device


def seconds_of(seconds: float, level: float = 0.5) -> Samples:
    return np.full(round(seconds * SAMPLE_RATE), level, np.float32)
