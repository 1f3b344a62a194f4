"""The speech axis on a device: what was written, what is audible, where it was cut. Implements ``seams.Output``.

Each written buffer is a segment with a planned and, once it sounds, a real start. Segments follow one another without a
gap while they are written in time. When the device is lost the segments go on along the clock, silently, and the device
is opened again as soon as it is back: the axis never stops, so nor does her face.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from idol.audio.backends import AudioError, Backend, Device, PacedSilence, Playing
from idol.seams import SAMPLE_RATE, Samples
from idol.settings import AudioSettings

log = logging.getLogger(__name__)

_FADE = round(0.006 * SAMPLE_RATE)
_GAP_SECONDS = 0.015
"""A hole between two segments of one reply longer than this counts as an underrun."""


@dataclass(slots=True)
class _Segment:
    first: int
    samples: Samples
    planned: float
    playing: Playing | None
    follows: bool
    judged: bool = False

    def start(self) -> float:
        started = self.playing.started_at if self.playing is not None else None
        return self.planned if started is None else started

    def end(self) -> float:
        return self.start() + len(self.samples) / SAMPLE_RATE


class SpeechOutput:
    """``open_backend`` opens the wished device and raises ``AudioError``; ``capacity`` bounds what may wait, in s."""

    def __init__(
        self,
        open_backend: Callable[[], Backend],
        *,
        capacity: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        retry_seconds: float = 2.0,
        on_change: Callable[[str], None] | None = None,
    ) -> None:
        self._open_backend = open_backend
        self._capacity = capacity
        self._clock = clock
        self._retry = retry_seconds
        self.on_change = on_change
        self._lock = threading.RLock()
        self._room = threading.Condition(self._lock)
        self._backend: Backend = PacedSilence("not started", clock)
        self._segments: list[_Segment] = []
        self._written = 0
        self._open = False
        self._underruns = 0
        self._flushes = 0
        self._stop = threading.Event()
        self._watch: threading.Thread | None = None

    @property
    def description(self) -> str:
        return self._backend.description

    @property
    def underruns(self) -> int:
        with self._lock:
            self._judge()
            return self._underruns

    @property
    def queued_seconds(self) -> float:
        return max(0.0, self._written - self.position()) / SAMPLE_RATE

    def start(self) -> None:
        """Open the device, or run silently until there is one."""
        with self._lock:
            self._backend = self._opened() or self._backend
        self._watch = threading.Thread(target=self._watch_device, name="idol-audio-watch", daemon=True)
        self._watch.start()

    def write(self, samples: Samples, delay: float = 0.0) -> int:
        with self._room:
            flushes = self._flushes
            while self.queued_seconds > self._capacity and flushes == self._flushes and not self._stop.is_set():
                self._room.wait(0.02)
            first = self._written
            self._written += len(samples)
            if flushes != self._flushes or not len(samples):
                return first
            self._judge()
            now = self._clock()
            last = self._segments[-1] if self._segments else None
            earliest = now + self._backend.latency + delay
            follows = self._open and last is not None
            planned = max(earliest, last.end()) if last is not None else earliest
            segment = _Segment(first, samples, planned, None, follows)
            segment.playing = self._play(samples, planned)
            segment.planned = segment.playing.at
            self._segments = [*self._segments[-40:], segment]
            self._open = True
            return first

    def finish(self) -> None:
        with self._lock:
            self._open = False

    def flush(self) -> int:
        with self._room:
            self._flushes += 1
            now = self._clock()
            cut_at = now + self._backend.latency + 0.002  # what the device holds already sounds anyway
            end = int(self._position(cut_at))
            for segment in self._segments:
                if segment.end() <= now or segment.playing is None:
                    continue
                index = round((cut_at - segment.start()) * SAMPLE_RATE)
                fade = segment.samples[max(0, index) : max(0, index) + _FADE] if index >= 0 else segment.samples[:0]
                fade = (fade * np.linspace(1, 0, len(fade), dtype=np.float32)).astype(np.float32)
                try:
                    self._backend.stop(segment.playing, cut_at, fade)
                except Exception as error:  # PortAudioError: the device is gone, and the sound with it
                    self._segments = []
                    self._lost(str(error))
                    break
            self._segments = []
            self._open = False
            self._base = self._written
            self._room.notify_all()
            return end

    def position(self, now: float | None = None) -> float:
        with self._lock:
            return self._position(self._clock() if now is None else now)

    def time_of(self, sample: int) -> float | None:
        with self._lock:
            for segment in self._segments:
                if segment.first <= sample < segment.first + len(segment.samples):
                    started = segment.playing.started_at if segment.playing is not None else None
                    if started is None:
                        return None
                    at = started + (sample - segment.first) / SAMPLE_RATE
                    return at if at <= self._clock() else None
        return None

    def set_volume(self, volume: float) -> None:
        """Loudness of what is written from now on, 0 to 1."""
        with self._lock:
            if isinstance(self._backend, Device):
                self._backend.volume = volume

    def close(self) -> None:
        self._stop.set()
        with self._room:
            self._room.notify_all()
        if self._watch is not None:
            self._watch.join(5)
            self._watch = None
        with self._lock:
            self._backend.close()
            self._backend = PacedSilence("closed", self._clock)

    # -- inside, lock held ---------------------------------------------------------------------------------------

    _base = 0

    def _position(self, now: float) -> float:
        position = float(self._base)
        for segment in self._segments:
            started = segment.playing.started_at if segment.playing is not None else None
            if started is not None and now >= started:  # planned is not yet audible: a device may be late
                played = min(float(len(segment.samples)), (now - started) * SAMPLE_RATE)
                position = max(position, segment.first + played)
        return position

    def _judge(self) -> None:
        """Count holes between segments of one reply, once the later one sounds."""
        for before, segment in zip(self._segments, self._segments[1:], strict=False):
            started = segment.playing.started_at if segment.playing is not None else None
            if segment.judged or started is None:
                continue
            segment.judged = True
            if segment.follows and started - before.end() > _GAP_SECONDS:
                self._underruns += 1

    def _play(self, samples: Samples, planned: float) -> Playing:
        try:
            return self._backend.play(samples, planned)
        except Exception as error:  # PortAudioError, RuntimeError: the device is gone
            self._lost(str(error))
            return self._backend.play(samples, planned)

    def _opened(self) -> Backend | None:
        try:
            return self._open_backend()
        except AudioError as error:
            if isinstance(self._backend, PacedSilence) and self._backend.description != f"silent clock ({error})":
                log.warning("no sound: %s", error)
            self._backend = PacedSilence(str(error), self._clock)
            return None

    def _lost(self, reason: str) -> None:
        log.warning("the sound device was lost: %s", reason)
        self._backend.close()
        self._backend = PacedSilence(f"the sound device was lost: {reason}", self._clock)
        now = self._clock()
        for segment in self._segments:  # what is not over goes on along the clock
            segment.planned, segment.playing = segment.start(), self._backend.play(segment.samples, segment.start())
            if segment.planned < now:
                segment.playing = _Began(segment.planned)
        if self.on_change is not None:
            self.on_change(self._backend.description)

    def _watch_device(self) -> None:
        while not self._stop.wait(self._retry if isinstance(self._backend, PacedSilence) else 0.5):
            with self._lock:
                if isinstance(self._backend, PacedSilence):
                    if self._segments and self._segments[-1].end() > self._clock():
                        continue  # let the running reply end on one clock
                    found = self._opened()
                    if found is not None and not isinstance(found, PacedSilence):  # silence may be what is wanted
                        self._backend = found
                        log.info("sound is back: %s", found.description)
                        if self.on_change is not None:
                            self.on_change(found.description)
                elif not self._backend.alive:
                    self._lost("its clock stands still")


@dataclass(frozen=True, slots=True)
class _Began:
    at: float

    @property
    def started_at(self) -> float:
        return self.at


def open_output(settings: AudioSettings) -> SpeechOutput:
    """The output the settings ask for. It is not started yet; without a device it runs silently and keeps looking."""

    def silent() -> Backend:
        return PacedSilence("chosen in the settings")

    def device() -> Backend:
        _refresh()
        return Device(settings.output, settings.volume)

    return SpeechOutput(silent if settings.output == "none" else device, retry_seconds=2.0)


def _refresh() -> None:
    """Make PortAudio look for devices anew; it lists them once per initialisation."""
    try:
        import sounddevice

        sounddevice._terminate()
        sounddevice._initialize()
    except Exception as error:  # PortAudioError, OSError where PortAudio is missing
        raise AudioError(f"PortAudio cannot start ({error}). Install the package libportaudio2.") from error
