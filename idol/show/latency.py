"""The latency book: when each stage of each turn was reached, and what that says over many turns.

A turn's latency runs from submit to its first audible sample leaving the ring. Stages are given in milliseconds since
submit, in the order they are reached: ``understand`` (language, emotion and moderation known), ``first_token`` (the
model's first text), ``first_clause`` (the first stretch to speak is complete), ``first_audio`` (its sound is made),
``first_face`` (its face frames are made), ``first_sample`` (it is audible).
"""

from __future__ import annotations

import statistics
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from idol.seams import Emotion, Language

STAGES: tuple[str, ...] = ("understand", "first_token", "first_clause", "first_audio", "first_face", "first_sample")


@dataclass(slots=True)
class TurnRecord:
    """One turn's row. Written by the worker only; ``stages`` are ms since submit, missing while not reached."""

    turn_id: int
    text: str
    source: str
    received_at: float
    reply: str = ""
    language: Language | None = None
    emotion: Emotion = "neutral"
    stages: dict[str, float] = field(default_factory=dict)
    audio_seconds: float = 0.0
    synthesis_seconds: float = 0.0
    tokens_per_second: float = 0.0
    prompt_tokens: int = 0
    reused_tokens: int = 0
    underruns: int = 0
    held_back_ms: float = 0.0
    spoken: list[str] = field(default_factory=list)
    reason: str = ""
    message: str = ""
    heard: str = ""

    def reach(self, stage: str, at: float) -> None:
        """Note that ``stage`` was reached at ``at`` (monotonic seconds); the first time counts."""
        if stage not in STAGES:
            raise ValueError(f"unknown stage {stage!r}; known: {', '.join(STAGES)}")
        self.stages.setdefault(stage, (at - self.received_at) * 1000)

    @property
    def rtf(self) -> float:
        """Real-time factor of the voice: seconds of work per second of sound; 0 while there is no sound."""
        return self.synthesis_seconds / self.audio_seconds if self.audio_seconds > 0 else 0.0

    def document(self) -> dict[str, object]:
        """The row of ``report.json``."""
        return {
            "turn_id": self.turn_id,
            "text": self.text,
            "source": self.source,
            "reply": self.reply,
            "heard": self.heard,
            "spoken": list(self.spoken),
            "language": self.language,
            "emotion": self.emotion,
            "reason": self.reason,
            "message": self.message,
            "stages": {name: round(self.stages[name], 1) for name in STAGES if name in self.stages},
            "audio_seconds": round(self.audio_seconds, 3),
            "rtf": round(self.rtf, 3),
            "tokens_per_second": round(self.tokens_per_second, 1),
            "prompt_tokens": self.prompt_tokens,
            "reused_tokens": self.reused_tokens,
            "held_back_ms": round(self.held_back_ms, 1),
            "underruns": self.underruns,
        }


@dataclass(frozen=True, slots=True)
class Summary:
    """Order statistics of one series; ``p95`` and ``p99`` by linear interpolation between ranks."""

    count: int
    median: float
    p95: float
    p99: float
    sd: float


def summarise(values: Sequence[float]) -> Summary:
    """Statistics of ``values``; raises ``ValueError`` when there are none."""
    if not values:
        raise ValueError("no values to summarise")
    ordered = sorted(values)
    return Summary(
        count=len(ordered),
        median=statistics.median(ordered),
        p95=percentile(ordered, 0.95),
        p99=percentile(ordered, 0.99),
        sd=statistics.stdev(ordered) if len(ordered) > 1 else 0.0,
    )


def percentile(ordered: Sequence[float], fraction: float) -> float:
    """The ``fraction`` quantile of values already in order."""
    place = (len(ordered) - 1) * fraction
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


class LatencyBook:
    """The last ``keep`` turns. The worker adds; any thread reads."""

    def __init__(self, keep: int = 1000) -> None:
        self._rows: deque[TurnRecord] = deque(maxlen=keep)
        self._lock = threading.Lock()

    def add(self, row: TurnRecord) -> None:
        with self._lock:
            self._rows.append(row)

    @property
    def rows(self) -> list[TurnRecord]:
        with self._lock:
            return list(self._rows)

    @property
    def last(self) -> TurnRecord | None:
        with self._lock:
            return self._rows[-1] if self._rows else None


def stage_summaries(rows: Iterable[TurnRecord]) -> dict[str, Summary]:
    """Per stage over the turns that reached it."""
    rows = list(rows)
    summaries = {}
    for stage in STAGES:
        values = [row.stages[stage] for row in rows if stage in row.stages]
        if values:
            summaries[stage] = summarise(values)
    return summaries
