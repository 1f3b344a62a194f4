"""What the body does and when: weight from leg to leg, a gesture for a clause's emotion, talking hands, idle moments.

Decides only; the avatar knows how (``idol.avatar.animation_player``). Talking hands follow the speech itself: a beat
is begun a little before a stressed vowel, so that its height meets the vowel (McNeill 1992: the stroke of a gesture
comes with or just before the stress it belongs to). Chance picks among alternatives, from a seed; it never shakes.
"""

from __future__ import annotations

import math

import numpy as np

from idol.face.easing import smoothstep
from idol.seams import ARKIT_INDEX, GESTURE_LEAD, BodyMotion, Emotion, Weights

BETWEEN_GESTURES = 4.0
"""Seconds from one gesture to the next at least."""
IDLE_EVERY = (15.0, 40.0)
"""Seconds between idle moments."""
LOST_IN_THOUGHT = 1.2
"""Seconds without an answer after which she is seen to think."""
GESTURES: dict[Emotion, tuple[str, ...]] = {
    "neutral": (), "happy": ("happy", "cheer"), "sad": ("sad",), "angry": ("angry",), "surprised": ("surprised",),
    "relaxed": ("relaxed",), "shy": ("shy",), "thinking": ("thinking",),
}  # fmt: skip
ACKNOWLEDGE, POINT_OUT = "nod", "explain"
"""What goes with a neutral reply: at its start, and where it goes on for some clauses."""
_NEUTRAL_BETWEEN = 8.0
_GOES_ON = 3
IDLE = ("look_around", "stretch", "hair", "hair_left", "relaxed")
_STRESSED = 0.28
"""By how much of what is usual the mouth must open more to count as stressed."""
_BEAT_REST = 0.8
_RISE, _HOLD, _FALL = GESTURE_LEAD, 0.06, 0.45
_UP, _DOWN = 0.5, 0.8
_KEEP_UP = 1.5
_JAW = ARKIT_INDEX["jawOpen"]
_BROW = ARKIT_INDEX["browOuterUpLeft"]


class Choreographer:
    """Called once a frame, with any frame rate; integrates the time that passed."""

    def __init__(self, seed: int = 7) -> None:
        self._random = np.random.default_rng(seed)
        self._time = 0.0
        self._gesture, self._id = "", 1
        self._made_at = -math.inf
        self._of_speech = False
        self._clause, self._clauses = -1, 0
        self._silent_for = 0.0
        self._thought_for = 0.0
        self._idle_in = float(self._random.uniform(*IDLE_EVERY))
        self._idle_last = ""
        self._cut = False
        self._weight = self._weight_from = 0.0
        self._weight_to = 0.45
        self._shift_began, self._shift_seconds, self._shift_next = 0.0, 2.0, 7.0
        self._lean = self._swayed = 0.0
        self._usual = 0.15
        self._was_open = 0.0
        self._rising = False
        self._beat_at = [-math.inf, -math.inf]
        self._beat_size = [0.0, 0.0]
        self._side, self._beats_left = 1, 4
        self._hands = [0.0, 0.0]
        self._turn = 0

    def cut(self) -> None:
        """Her words were cut short: whatever she does with her hands is let go at the next step."""
        self._cut = True

    def step(
        self, dt: float, emotion: Emotion, speaking: bool, clause: int = -1, ahead: Weights | None = None
    ) -> BodyMotion:
        """The body after ``dt`` s. ``clause`` is a number of the clause that sounds, -1 for none; ``ahead`` are the
        face's weights ``GESTURE_LEAD`` s from now."""
        self._time += dt
        self._silent_for = 0.0 if speaking else self._silent_for + dt
        self._choose_gesture(dt, emotion, speaking, clause)
        self._shift_weight(dt, speaking)
        self._talk(dt, speaking, ahead)
        beats = (self._beat(0), self._beat(1))
        hands = (self._hands[0], self._hands[1])
        return BodyMotion(self._swayed, self._lean, hands, beats, self._gesture, self._id)

    # -- gestures ------------------------------------------------------------------------------------------------

    def _choose_gesture(self, dt: float, emotion: Emotion, speaking: bool, clause: int) -> None:
        if self._cut:
            self._cut = False
            self._clause = clause
            self._gesture = ""
            self._id += 1  # even when it was not begun here
            return
        if not speaking:
            self._clause = -1
            self._rest(dt, emotion)
            return
        self._thought_for = 0.0
        self._idle_in = max(self._idle_in, 6.0)
        if clause == self._clause:
            return
        first = self._clause < 0
        self._clause = clause
        self._clauses = 0 if first else self._clauses + 1
        kinds = GESTURES[emotion]
        if emotion == "neutral" and self._time - self._made_at >= _NEUTRAL_BETWEEN:
            kinds = (ACKNOWLEDGE,) if first else (POINT_OUT,) if self._clauses % _GOES_ON == 0 else ()
        if kinds and self._time - self._made_at >= BETWEEN_GESTURES:
            self._turn += 1
            self._make(kinds[self._turn % len(kinds)], of_speech=True)
        elif self._gesture and not self._of_speech:
            self._let_go()  # what she did while nobody spoke gives way to talking

    def _rest(self, dt: float, emotion: Emotion) -> None:
        if emotion == "thinking":
            before, self._thought_for = self._thought_for, self._thought_for + dt
            if before < LOST_IN_THOUGHT <= self._thought_for and self._time - self._made_at >= BETWEEN_GESTURES:
                self._make("thinking", of_speech=False)
            return
        self._thought_for = 0.0
        self._idle_in -= dt
        if self._idle_in > 0.0 or self._silent_for < 3.0 or self._time - self._made_at < BETWEEN_GESTURES:
            return
        others = [name for name in IDLE if name != self._idle_last]
        self._idle_last = others[int(self._random.integers(len(others)))]
        self._idle_in = float(self._random.uniform(*IDLE_EVERY))
        self._make(self._idle_last, of_speech=False)

    def _make(self, name: str, *, of_speech: bool) -> None:
        self._gesture, self._of_speech, self._made_at = name, of_speech, self._time
        self._id += 1

    def _let_go(self) -> None:
        if self._gesture:
            self._gesture = ""
            self._id += 1

    # -- weight --------------------------------------------------------------------------------------------------

    def _shift_weight(self, dt: float, speaking: bool) -> None:
        self._shift_next -= dt
        if self._shift_next <= 0.0:
            side = -1.0 if self._weight_to > 0.0 else 1.0
            self._weight_from, self._weight_to = self._weight, side * float(self._random.uniform(0.35, 0.9))
            self._shift_began = self._time
            self._shift_seconds = float(self._random.uniform(1.6, 2.6))
            self._shift_next = self._shift_seconds + float(self._random.uniform(5.0, 12.0))
        share = smoothstep((self._time - self._shift_began) / self._shift_seconds)
        sway = 0.06 * math.sin(2 * math.pi * 0.11 * self._time) + 0.04 * math.sin(2 * math.pi * 0.23 * self._time)
        self._weight = self._weight_from + (self._weight_to - self._weight_from) * share
        self._swayed = self._weight + sway
        wanted = (0.45 if speaking else 0.0) + 0.25 * math.sin(2 * math.pi * 0.07 * self._time)
        self._lean += (wanted - self._lean) * (1 - math.exp(-dt / 0.9))

    # -- talking hands -------------------------------------------------------------------------------------------

    def _talk(self, dt: float, speaking: bool, ahead: Weights | None) -> None:
        opened = float(ahead[_JAW]) if speaking and ahead is not None else 0.0
        raised = float(ahead[_BROW]) if speaking and ahead is not None else 0.0
        rising = opened > self._was_open + 1e-4
        if speaking and ahead is not None:
            # The top of an opening is where the mouth stops to open: there the vowel is.
            if self._rising and not rising:
                self._stress(self._was_open, raised)
            self._usual += (opened - self._usual) * (1 - math.exp(-dt / 1.0))
        self._rising, self._was_open = rising, opened
        for side in (0, 1):
            up = speaking and self._time - self._beat_at[side] < _KEEP_UP
            step = dt / _UP if up else -dt / _DOWN
            self._hands[side] = min(max(self._hands[side] + step, 0.0), 1.0)

    def _stress(self, opened: float, raised: float) -> None:
        if opened < self._usual * (1.0 + _STRESSED) and raised < 0.12:
            return
        if self._time - max(self._beat_at) < _BEAT_REST:
            return
        strong = raised >= 0.12
        size = min(1.0, 0.45 + 0.8 * max(opened - self._usual, 0.0) + (0.3 if strong else 0.0))
        self._beats_left -= 2 if strong else 1
        if self._beats_left <= 0:  # a hand makes a few beats, then the other
            self._side, self._beats_left = 1 - self._side, int(self._random.integers(3, 7))
        for side in (0, 1) if strong and size > 0.85 else (self._side,):
            self._beat_at[side], self._beat_size[side] = self._time, size

    def _beat(self, side: int) -> float:
        since = self._time - self._beat_at[side]
        if since < _RISE + _HOLD:
            return self._beat_size[side] * smoothstep(since / _RISE)
        return self._beat_size[side] * (1.0 - smoothstep((since - _RISE - _HOLD) / _FALL))
