"""What her body does: how she stands and shifts her weight, talking hands, gestures and animations, blended.

Order: stance and sway, talking hands, gestures, then legs that keep the feet where they stand; animations (VRMA) lie
over all that by their priority. Everything fades: nothing is ever set at once.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from idol.avatar.animation import BoundClip, MotionClip, slerp
from idol.avatar.easing import smoothstep
from idol.avatar.figure import Figure, measure_figure
from idol.avatar.gesture_scores import SCORES, TALK
from idol.avatar.gestures import Composer, Computed, Key, Score
from idol.avatar.limbs import Leg
from idol.avatar.model import AvatarData
from idol.avatar.rig import IDENTITY, ROW, Rig
from idol.avatar.rotation import Quaternion, head_turn_one, multiply
from idol.avatar.skeleton import Skeleton
from idol.seams import BodyMotion

_LOG = logging.getLogger(__name__)
F64 = NDArray[np.float64]
CUT = 0.3
"""Seconds in which a gesture that is cut short lets go."""
SIDEWAYS, FORWARD, SINK = 0.026, 0.014, 0.004
"""How far the hips go with her weight, in shares of their height."""
PELVIS = math.radians(2.4)
"""How far the pelvis drops toward the leg that is free."""


@dataclass(slots=True)
class _Fade:
    """A weight on its way to 0 or 1 in a straight line, eased where it is used."""

    value: float = 0.0
    rising: bool = True
    fade_in: float = 0.3
    fade_out: float = 0.3

    def advance(self, dt: float) -> None:
        seconds = self.fade_in if self.rising else self.fade_out
        step = dt / seconds if seconds > 1e-6 else 1.0
        self.value = min(1.0, self.value + step) if self.rising else max(0.0, self.value - step)

    @property
    def weight(self) -> float:
        return smoothstep(self.value)

    @property
    def over(self) -> bool:
        return not self.rising and self.value <= 0.0


@dataclass(slots=True)
class _Gesture:
    computed: Computed
    fade: _Fade
    at: float = 0.0


@dataclass(slots=True)
class _Playing:
    handle: int
    clip: BoundClip
    loop: bool
    fade: _Fade
    priority: int
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class BodyPose:
    """One frame: normalised ``turns`` (55, 4), ``hips`` (3,) metres from rest, expression weights and gaze that
    animations ask for, and how much (0..1) that gaze counts."""

    turns: F64
    hips: F64
    expressions: dict[str, float]
    gaze: tuple[float, float]
    gaze_weight: float


class AvatarMotion:
    """The body of one avatar in time. ``stance`` (55, 4): how she stands, by row of ``BONES``."""

    def __init__(self, data: AvatarData, skeleton: Skeleton, rig: Rig, stance: F64) -> None:
        self._data, self._skeleton, self.rig, self._stance = data, skeleton, rig, stance
        self._figure: Figure | None = None
        self._composer: Composer | None = None
        self._computed: dict[str, Computed] = {}
        self._talk: dict[str, tuple[NDArray[np.int64], F64, F64]] = {}
        self._gestures: list[_Gesture] = []
        self._playing: list[_Playing] = []
        self._handles = 0
        self._seen = 0
        legs = [Leg(rig, side) for side in ("left", "right")]
        self._legs = legs if rig.has[0] and all(leg.whole for leg in legs) else []
        self._spine = [ROW[name] for name in ("spine", "chest", "upperChest") if rig.has[ROW[name]]]

    # -- what it can do ------------------------------------------------------------------------------------------

    @property
    def figure(self) -> Figure:
        """The body's measures, taken at first use."""
        if self._figure is None:
            self._figure = measure_figure(self._data, self._skeleton, self.rig)
        return self._figure

    def play(self, clip: MotionClip, loop: bool = False, fade: float = 0.35, priority: int = 0) -> int:
        """Play ``clip`` over her own motion, faded in and, unless it loops, out before its end, ``fade`` s each.

        Of several, the one of the highest ``priority`` (of equals, the latest) lies on top. Returns a handle for
        ``stop``."""
        fade = max(fade, 0.0) if math.isfinite(fade) else 0.35
        self._handles += 1
        if not loop:
            fade = min(fade, 0.5 * clip.duration)
        fades = _Fade(fade_in=fade, fade_out=fade)
        bound = clip.fitted(self.rig.has)
        self._playing.append(_Playing(self._handles, bound, loop, fades, priority))
        self._playing.sort(key=lambda item: item.priority)
        return self._handles

    def stop(self, handle: int | None = None, fade: float = 0.35) -> None:
        """Fade the animation of ``handle`` out, or all of them."""
        for item in self._playing:
            if handle is None or item.handle == handle:
                item.fade.rising, item.fade.fade_out = False, max(fade, 0.0)

    @property
    def animating(self) -> bool:
        """Whether an animation plays."""
        return any(item.fade.rising for item in self._playing)

    @property
    def gesture_name(self) -> str:
        """The gesture she is making, empty for none."""
        return next((g.computed.name for g in reversed(self._gestures) if g.fade.rising), "")

    def gesture(self, name: str) -> float:
        """Make a gesture of ``SCORES`` now, in place of one that runs; returns its seconds.

        Raises KeyError for an unknown name."""
        score = SCORES[name]
        self.stop_gesture()
        computed = self.computed(score)
        self._gestures.append(_Gesture(computed, _Fade(fade_in=computed.fade_in, fade_out=computed.fade_out)))
        return computed.duration

    def stop_gesture(self, fade: float = CUT) -> None:
        """Let go of what she is doing with her hands, smoothly."""
        for item in self._gestures:
            if item.fade.rising:
                item.fade.rising, item.fade.fade_out = False, fade

    def computed(self, score: Score) -> Computed:
        """A score for this avatar; kept."""
        found = self._computed.get(score.name)
        if found is None:
            found = self._computed[score.name] = self._compose().compute(score)
        return found

    def _compose(self) -> Composer:
        if self._composer is None:
            self._composer = Composer(self.rig, self.figure, self._stance)
        return self._composer

    # -- one frame -----------------------------------------------------------------------------------------------

    def update(self, cue: BodyMotion, dt: float) -> BodyPose:
        """Advance by ``dt`` s and blend. ``cue`` asks for sway, talking hands and gestures."""
        self._follow(cue)
        self._advance(dt)
        turns = self._stance.copy()
        hips = self._sway(cue, turns)
        for side, raised, beat in zip(("left", "right"), cue.hands, cue.beats, strict=True):
            if raised > 1e-3:
                self._talk_with(side, _bounded(raised), _bounded(beat), turns)
        for item in self._gestures:
            hips = self._add_gesture(item, turns, hips)
        if self._legs and (hips.any() or turns[0, 3] < 1.0 - 1e-12):
            hips = self._stand(turns, hips)
        return self._over(turns, hips)

    def _follow(self, cue: BodyMotion) -> None:
        before, asked = self._seen, cue.gesture_id
        if asked in (before, 0):
            return
        self._seen = asked
        if not before:
            return  # what was asked of the avatar before this one
        if not cue.gesture:
            self.stop_gesture()
        elif cue.gesture in SCORES:
            self.gesture(cue.gesture)
        else:
            _LOG.warning("no gesture is called %r", cue.gesture)

    def _advance(self, dt: float) -> None:
        for gesture in self._gestures:
            gesture.at += dt
            if gesture.at > gesture.computed.duration - gesture.fade.fade_out:
                gesture.fade.rising = False
            gesture.fade.advance(dt)
        self._gestures = [gesture for gesture in self._gestures if not gesture.fade.over]
        for item in self._playing:
            item.at += dt
            if item.loop:  # a clip of one moment is held
                item.at = item.at % item.clip.duration if item.clip.duration > 0.0 else 0.0
            elif item.at >= item.clip.duration - item.fade.fade_out:
                item.fade.rising = False
            item.fade.advance(dt)
        self._playing = [item for item in self._playing if not item.fade.over]

    def _sway(self, cue: BodyMotion, turns: F64) -> F64:
        """The hips go with her weight and the pelvis drops on the free side; the spine, which a stance leaves straight,
        keeps the shoulders level."""
        weight, lean = _bounded(cue.weight, -1.0), _bounded(cue.lean, -1.0)
        if not weight and not lean:
            return np.zeros(3)
        height = self.rig.hips_height
        hips = np.asarray([SIDEWAYS * weight, -SINK * weight * weight, FORWARD * lean]) * height
        roll = PELVIS * weight
        # Weight on the left leg: the right side of the pelvis drops, which tilts the pelvis to her right.
        turns[0] = head_turn_one(0.25 * roll, 0.0, -roll)
        if self._spine:
            share = roll / len(self._spine)
            turns[self._spine] = head_turn_one(-0.25 * share, 0.0, 1.25 * share)
        return hips

    def _talk_with(self, side: str, raised: float, beat: float, turns: F64) -> None:
        rows, low, high = self._talking(side)
        if not len(rows):
            return
        turns[rows] = slerp(turns[rows], slerp(low, high, beat), smoothstep(raised))

    def _talking(self, side: str) -> tuple[NDArray[np.int64], F64, F64]:
        found = self._talk.get(side)
        if found is None:
            poses = []
            composer = self._compose()
            for i, hand in enumerate(TALK):
                key = Key(1.0, left=hand if side == "left" else None, right=hand if side == "right" else None)
                score = Score(f"talk {side} {i}", (Key(0.0), replace(key, at=0.5), key))
                computed = composer.compute(score)
                poses.append(computed.turns[-1])
            rows = np.flatnonzero(computed.replaces)
            found = self._talk[side] = (rows, poses[0][rows], poses[1][rows])
        return found

    @staticmethod
    def _add_gesture(item: _Gesture, turns: F64, hips: F64) -> F64:
        asked, shift = item.computed.sample(item.at)
        asked = asked / np.sqrt((asked * asked).sum(1, keepdims=True))
        weight, replaces = item.fade.weight, item.computed.replaces
        if weight < 1.0:
            added = multiply(turns, slerp(IDENTITY[None], asked, weight))
            turns[:] = np.where(replaces[:, None], slerp(turns, asked, weight), added)
        else:
            turns[:] = np.where(replaces[:, None], asked, multiply(turns, asked))
        return hips + shift * weight

    def _stand(self, turns: F64, hips: F64) -> F64:
        """Bend the legs so that the feet stay; hips too high or too far for a leg come down to where it reaches."""
        x, y, z, w = turns[0].tolist()
        turn: Quaternion = (x, y, z, w)
        rest = self.rig.rest[0]
        places = []
        for leg in self._legs:
            px, py, pz = leg.hip((rest[0] + hips[0], rest[1] + hips[1], rest[2] + hips[2]), turn)
            side = math.hypot(px - leg.ankle[0], pz - leg.ankle[2])
            tallest = leg.ankle[1] + math.sqrt(max(leg.reach**2 - side**2, 0.0))
            places.append((px, py, pz, py - tallest))
        drop = max(0.0, *(place[3] for place in places))
        for leg, (px, py, pz, _) in zip(self._legs, places, strict=True):
            turns[leg.upper], turns[leg.lower], turns[leg.foot] = leg.stand((px, py - drop, pz), turn)
        out: F64 = hips - np.asarray([0.0, drop, 0.0])
        return out

    def _over(self, turns: F64, hips: F64) -> BodyPose:
        expressions: dict[str, float] = {}
        gaze, counted = (0.0, 0.0), 0.0
        for item in self._playing:
            sample = item.clip.looped(item.at) if item.loop else item.clip.sample(item.at)
            weight = item.fade.weight
            if len(sample.rows):
                turns[sample.rows] = slerp(turns[sample.rows], sample.turns, weight)
            if sample.hips is not None:
                hips = hips + (sample.hips * self.rig.hips_height - hips) * weight
            for name, value in sample.expressions.items():
                expressions[name] = expressions.get(name, 0.0) * (1.0 - weight) + value * weight
            if sample.gaze is not None:
                a, b = gaze
                gaze = (
                    (a + (sample.gaze[0] - a) * weight, b + (sample.gaze[1] - b) * weight) if counted else sample.gaze
                )
                counted += (1.0 - counted) * weight
        return BodyPose(turns, hips, expressions, gaze, counted)


def _bounded(value: float, low: float = 0.0) -> float:
    return min(max(value, low), 1.0) if math.isfinite(value) else 0.0
