"""Small stand-ins for the rooms around the show, so that its own logic is tested without models."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from idol.seams import (
    SAMPLE_RATE,
    Clause,
    Emotion,
    FaceFrame,
    FacePose,
    GenerationStats,
    Language,
    PhonemeSpan,
    RuntimeInfo,
    Samples,
    Speech,
    Turn,
    Understanding,
    Weights,
)


class FakeOutput:
    """A device that plays in real time on the monotonic clock, with seams.Output's semantics."""

    description = "fake output"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._segments: list[tuple[int, int, float]] = []  # first, end, started at
        self._written = 0
        self._flushed_at = 0
        self.underruns = 0
        self.closed = False
        self._open = False

    def start(self) -> None: ...

    def write(self, samples: Samples, delay: float = 0.0) -> int:
        with self._lock:
            now = time.monotonic() + delay
            first = self._written
            start = now
            if self._segments:
                last_first, last_end, last_start = self._segments[-1]
                busy_until = last_start + (last_end - last_first) / SAMPLE_RATE
                if busy_until > now:
                    start = busy_until
                elif self._open:
                    self.underruns += 1
            self._open = True
            self._segments.append((first, first + len(samples), start))
            self._written += len(samples)
            return first

    def finish(self) -> None:
        self._open = False

    def flush(self) -> int:
        with self._lock:
            end = int(self._position(time.monotonic()))
            self._segments.clear()
            self._flushed_at = self._written
            self._open = False
            return end

    def position(self, now: float | None = None) -> float:
        with self._lock:
            return self._position(time.monotonic() if now is None else now)

    def _position(self, now: float) -> float:
        position = float(self._flushed_at)
        for first, end, start in self._segments:
            if now >= start:
                position = min(end, first + (now - start) * SAMPLE_RATE)
        return position

    def time_of(self, sample: int) -> float | None:
        with self._lock:
            for first, end, start in self._segments:
                if first <= sample < end and time.monotonic() >= start:
                    return start + (sample - first) / SAMPLE_RATE
        return None

    @property
    def queued_seconds(self) -> float:
        return (self._written - self.position()) / SAMPLE_RATE

    def close(self) -> None:
        self.closed = True


class FakeMind:
    """Answers every line with the clauses given; each clause costs ``tokens`` ticks of ``token_seconds``."""

    info = RuntimeInfo("llm", "fake", "fake")

    def __init__(self, clauses: Sequence[str], tokens: int = 3, token_seconds: float = 0.001) -> None:
        self.clauses = clauses
        self.tokens = tokens
        self.token_seconds = token_seconds
        self.first_token_at: float | None = None
        self.stats: GenerationStats | None = None
        self.heard: dict[int, str] = {}
        self.growths: list[float] = []
        self.anticipated: list[tuple[int, str]] = []
        self.closed = False
        self.fail: Exception | None = None

    def understand(self, turn: Turn) -> tuple[Understanding, str]:
        allowed = "forbidden" not in turn.text
        return Understanding("en", "happy", allowed, "" if allowed else "a blocked word"), turn.text.strip()

    def reply(
        self, turn: Turn, understanding: Understanding, cancelled: Callable[[], bool], growth: float
    ) -> Iterator[Clause]:
        decoded = 0
        self.growths.append(growth)
        started = time.monotonic()
        for index, text in enumerate(self.clauses):
            for _ in range(self.tokens):
                if cancelled():
                    return
                time.sleep(self.token_seconds)
                decoded += 1
                self.first_token_at = self.first_token_at or time.monotonic()
            if self.fail is not None and index == 1:
                raise self.fail
            yield Clause(turn.id, index, text, "happy", "en")
        self.stats = GenerationStats(10, 5, 0.01, decoded, time.monotonic() - started)

    def commit_heard(self, turn_id: int, heard: str) -> None:
        self.heard[turn_id] = heard

    def anticipate(self, turn_id: int, reply: str, interrupted: Callable[[], bool]) -> None:
        self.anticipated.append((turn_id, reply))

    def prepare(self, interrupted: Callable[[], bool]) -> bool:
        return False

    def forget(self) -> None:
        self.heard.clear()

    def close(self) -> None:
        self.closed = True


class FakeVoice:
    """A tone of ``seconds`` per clause; a text of dots cannot be spoken."""

    info = RuntimeInfo("voice", "fake", "fake")

    def __init__(self, seconds: float = 0.1, work_seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.work_seconds = work_seconds
        self.closed = False

    def voices(self, language: Language | None = None) -> tuple[str, ...]:
        return ("tone",)

    def speak(self, clause: Clause, voice: str, speed: float = 1.0) -> Speech | None:
        if not clause.text.strip("."):
            return None
        time.sleep(self.work_seconds)
        samples = np.full(int(self.seconds * SAMPLE_RATE), 0.1, np.float32)
        spans = (PhonemeSpan("a", 0, len(samples)),)
        return Speech(clause.turn_id, clause.index, samples, spans, clause.language, clause.text, self.work_seconds)

    def close(self) -> None:
        self.closed = True


class FakePlanner:
    def plan(self, speech: Speech, first_sample: int, emotion: Emotion) -> list[FaceFrame]:
        weights = np.zeros(52, np.float32)
        weights[17] = 0.5
        return [FaceFrame(first_sample + at, weights) for at in range(0, len(speech.samples), 800)]

    def reset(self) -> None: ...


class FakeTrack:
    def __init__(self) -> None:
        self.frames: list[FaceFrame] = []
        self.cuts: list[int] = []

    def add(self, frames: Sequence[FaceFrame]) -> None:
        self.frames.extend(frames)

    def sample(self, position: float) -> Weights | None:
        for frame in reversed(self.frames):
            if frame.at <= position:
                return frame.weights
        return None

    def cut(self, at_sample: int) -> None:
        self.cuts.append(at_sample)


class FakeMixer:
    def __init__(self) -> None:
        self.clauses: list[int] = []
        self.looked_ahead = False
        self.cuts = 0

    def mix(
        self, now: float, speech: Weights | None, emotion: Emotion, speaking: bool,
        clause: int = -1, ahead: Weights | None = None,
    ) -> FacePose:  # fmt: skip
        self.clauses.append(clause)
        self.looked_ahead = self.looked_ahead or ahead is not None
        weights = np.zeros(52, np.float32) if speech is None else speech
        return FacePose(weights, emotion=emotion, speaking=speaking)

    def cut(self) -> None:
        self.cuts += 1
