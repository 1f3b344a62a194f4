"""One speech axis for sound and face: what is written to the output is planned for the face at the same samples.

The worker places clauses; the main thread asks for the face at the device's time. Positions are samples of the speech
axis (24 kHz), which only speech advances.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from idol.seams import Clause, Emotion, FaceFrame, FacePlanner, Output, Speech, Weights
from idol.show.heard import PlacedClause, heard_text


class FrameTrack(Protocol):
    """Face frames on the axis (``idol.face.track.FaceTrack``): one writer, one reader."""

    def add(self, frames: Sequence[FaceFrame]) -> None: ...

    def sample(self, position: float) -> Weights | None: ...

    def cut(self, at_sample: int) -> None: ...


@dataclass(frozen=True, slots=True)
class _Placed:
    clause: PlacedClause
    turn_id: int
    emotion: Emotion
    silenced_at: float = math.inf


@dataclass(frozen=True, slots=True)
class PlacedSpeech:
    """A clause's sound as it was placed, for recorders."""

    turn_id: int
    index: int
    first: int
    speech: Speech


@dataclass(slots=True)
class SpeechLine:
    """Places speech on the output and its face beside it. ``place`` and ``end_turn`` belong to the worker."""

    output: Output
    planner: FacePlanner
    track: FrameTrack
    on_placed: Callable[[PlacedSpeech], None] | None = None
    on_cut: Callable[[int], None] | None = None
    _written: int = 0
    _placed: tuple[_Placed, ...] = ()
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def plan(self, speech: Speech, emotion: Emotion) -> list[FaceFrame]:
        """Face frames for a clause that will be placed next. Nothing is heard or seen yet."""
        return self.planner.plan(speech, self._written, emotion)

    def place(self, clause: Clause, speech: Speech, frames: Sequence[FaceFrame], delay: float = 0.0) -> PlacedClause:
        """Hand the sound to the output; it plays ``delay`` s later, and after all that was placed before."""
        self.track.add(frames)
        placed = PlacedClause(
            clause.index, clause.text, self._written, self._written + len(speech.samples), clause.language
        )
        with self._lock:
            self._placed = (*self._placed[-15:], _Placed(placed, clause.turn_id, clause.emotion))
            self._written = placed.end
        first = self.output.write(speech.samples, delay)
        if first != placed.first:
            raise RuntimeError(f"the output placed sample {placed.first} at {first}: two writers on one output")
        if self.on_placed is not None:
            self.on_placed(PlacedSpeech(clause.turn_id, clause.index, first, speech))
        return placed

    def cut(self) -> int:
        """Silence at once (any thread); returns the axis index at which the sound ended."""
        with self._lock:
            end = self.output.flush()
            self._placed = tuple(
                replace(placed, silenced_at=min(placed.silenced_at, end)) if placed.clause.end > end else placed
                for placed in self._placed
            )
        self.track.cut(end)
        if self.on_cut is not None:
            self.on_cut(end)
        return end

    def heard(self, turn_id: int, ended_at: float) -> str:
        """The text of ``turn_id`` that was audible up to ``ended_at``."""
        mine = [placed for placed in self._placed if placed.turn_id == turn_id]
        return heard_text([placed.clause for placed in mine], min([ended_at, *(p.silenced_at for p in mine)]))

    @property
    def written(self) -> int:
        """Axis index at which writing has arrived."""
        return self._written

    def playing(self, position: float) -> tuple[PlacedClause, Emotion] | None:
        """The clause that sounds at ``position``, None between turns."""
        for placed in reversed(self._placed):
            if placed.clause.first <= position < placed.clause.end:
                return placed.clause, placed.emotion
        return None


@dataclass(slots=True)
class MouthRelease:
    """Lets go of the last mouth shape over ``seconds`` of wall time when speech ends or is cut, so nothing pops."""

    seconds: float = 0.1
    _last: Weights | None = None
    _since: float = 0.0

    def blend(self, weights: Weights | None, now: float) -> Weights | None:
        """The weights to show: ``weights`` as they are, or the last ones fading; None when the fade is over."""
        if weights is not None:
            self._last, self._since = weights, now
            return weights
        if self._last is None:
            return None
        left = 1.0 - (now - self._since) / self.seconds
        if left <= 0.0:
            self._last = None
            return None
        return self._last * left
