"""Where samples are played: a sound device (rtmixer on PortAudio) or a paced silence. No speech axis here.

Times are ``time.monotonic()`` seconds. A backend plays whole buffers at given times; the device's own callback is C
code, so Python never has to be in time: with a busy interpreter a Python callback loses sound, whole buffers do not.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from idol.seams import SAMPLE_RATE, Samples


class AudioError(Exception):
    """A sound device cannot be used; the message says what to do."""


class Playing(Protocol):
    """One buffer on its way out."""

    @property
    def at(self) -> float:
        """When its first sample shall become audible: as asked for, or later when that is too soon."""
        ...

    @property
    def started_at(self) -> float | None:
        """When its first sample became audible, None while it has not."""
        ...


class Backend(Protocol):
    """A place that plays buffers."""

    @property
    def description(self) -> str: ...

    @property
    def latency(self) -> float:
        """Seconds from ``play`` to sound, at least."""
        ...

    @property
    def alive(self) -> bool: ...

    def play(self, samples: Samples, at: float) -> Playing:
        """Play mono float32 24 kHz ``samples`` from ``at`` on, or as soon as possible after."""
        ...

    def stop(self, playing: Playing, at: float, fade: Samples) -> None:
        """End ``playing`` at ``at`` and play ``fade`` there instead."""
        ...

    def close(self) -> None: ...


@dataclass(slots=True)
class _Paced:
    at: float
    clock: Callable[[], float]

    @property
    def started_at(self) -> float | None:
        return self.at if self.clock() >= self.at else None


class PacedSilence:
    """Plays nothing, at the right pace."""

    latency = 0.0
    alive = True

    def __init__(self, reason: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._reason = reason
        self._clock = clock

    @property
    def description(self) -> str:
        return f"silent clock ({self._reason})"

    def play(self, samples: Samples, at: float) -> Playing:
        return _Paced(max(at, self._clock()), self._clock)

    def stop(self, playing: Playing, at: float, fade: Samples) -> None: ...

    def close(self) -> None: ...


class _DevicePlaying:
    """A buffer handed to rtmixer."""

    def __init__(self, action: Any, at: float, offset: float) -> None:
        self.action = action
        self.at = at
        self._offset = offset

    @property
    def started_at(self) -> float | None:
        at = float(self.action.actual_time)
        return at + self._offset if at > 0 else None


class Device:
    """A PortAudio output device at its own rate. Raises ``AudioError`` when it cannot be opened.

    ``name`` is part of the device's name, '' the system's default. ``latency`` asks for a buffer of so many seconds.
    """

    def __init__(self, name: str = "", volume: float = 1.0, latency: float = 0.05) -> None:
        try:
            import rtmixer
            import sounddevice
        except (ImportError, OSError) as error:
            raise AudioError(f"PortAudio is missing ({error}). Install the package libportaudio2.") from error
        self.volume = volume
        try:
            self._info = _find(sounddevice, name)
            self.rate = int(self._info["default_samplerate"])
            self._mixer = rtmixer.Mixer(
                device=self._info["index"], channels=1, samplerate=self.rate, latency=latency, qsize=256
            )
            self._mixer.start()
        except AudioError:
            raise
        except Exception as error:  # PortAudioError and ValueError of sounddevice
            raise AudioError(
                f"The sound device {name or 'default'!r} cannot be opened: {error}. Choose another in the settings."
            ) from error
        self.latency = float(self._mixer.latency) + 0.005
        self._seen = (-1.0, time.monotonic())

    @property
    def description(self) -> str:
        return f"{self._info['name']} at {self.rate} Hz, {self.latency * 1000:.0f} ms"

    @property
    def alive(self) -> bool:
        """False when the stream has ended or its clock stands still."""
        try:
            if not self._mixer.active:
                return False
            moment = float(self._mixer.time)
        except Exception:  # PortAudioError: the device is gone
            return False
        now = time.monotonic()
        if moment != self._seen[0]:
            self._seen = (moment, now)
        return now - self._seen[1] < 1.0

    def play(self, samples: Samples, at: float) -> Playing:
        buffer = np.ascontiguousarray(self._resampled(samples) * np.float32(self.volume), np.float32)
        offset = self._offset()
        at = max(at, time.monotonic() + self.latency)  # resampling took its time
        return _DevicePlaying(self._mixer.play_buffer(buffer, channels=1, start=at - offset), at, offset)

    def stop(self, playing: Playing, at: float, fade: Samples) -> None:
        if not isinstance(playing, _DevicePlaying):
            return
        with contextlib.suppress(RuntimeError):  # the queue is full: the sound ends a buffer later
            when = at - self._offset()
            self._mixer.cancel(playing.action, time=when)
            if len(fade):
                buffer = np.ascontiguousarray(self._resampled(fade) * np.float32(self.volume), np.float32)
                self._mixer.play_buffer(buffer, channels=1, start=when)

    def close(self) -> None:
        with contextlib.suppress(Exception):  # a lost device cannot be closed in order
            self._mixer.abort()
        with contextlib.suppress(Exception):
            self._mixer.close()

    def _offset(self) -> float:
        """monotonic − stream time."""
        before = time.monotonic()
        stream = float(self._mixer.time)
        return (before + time.monotonic()) / 2 - stream

    def _resampled(self, samples: Samples) -> NDArray[np.float32]:
        if self.rate == SAMPLE_RATE:
            return samples
        import soxr

        resampled: NDArray[np.float32] = soxr.resample(samples, SAMPLE_RATE, self.rate, quality="HQ")
        return resampled


def _find(sounddevice: Any, name: str) -> dict[str, Any]:
    devices = [dict(device) for device in sounddevice.query_devices() if device["max_output_channels"] > 0]
    if not devices:
        raise AudioError("There is no sound output. Connect one, or start the sound server.")
    if name:
        for device in devices:
            if name.casefold() in str(device["name"]).casefold():
                return device
        names = ", ".join(str(device["name"]) for device in devices)
        raise AudioError(f"There is no sound output {name!r}. Outputs found: {names}.")
    try:
        return dict(sounddevice.query_devices(kind="output"))
    except Exception as error:  # PortAudioError: no default
        raise AudioError(f"There is no default sound output ({error}). Choose one in the settings.") from error
