"""What keeps her alive between words: emotion, blinks, gaze, breath, head and body, on top of speech.

Statistics follow the literature on faces in conversation: blink rates of Bentivoglio et al. 1997, saccade sizes of Lee,
Badler & Badler 2002, blink shape of Trutoiu et al. 2011 (closing twice as fast as opening), gaze aversion of Andrist et
al. 2014. Everything is integrated over the time that passed, so the frame rate does not change what is seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from idol.face.choreography import Choreographer
from idol.face.easing import smoothstep
from idol.seams import ARKIT_INDEX, Emotion, FacePose, Weights

_POSES: dict[Emotion, dict[str, float]] = {
    "neutral": {"mouthSmile": 0.14, "browInnerUp": 0.03},
    "happy": {"mouthSmile": 0.90, "cheekSquint": 0.80, "eyeSquint": 0.50, "browOuterUp": 0.40, "browInnerUp": 0.30},
    "sad": {"mouthFrown": 0.75, "browInnerUp": 1.0, "browDown": 0.10, "eyeSquint": 0.15, "eyeBlink": 0.16,
            "mouthShrugLower": 0.40},
    "angry": {"browDown": 1.0, "noseSneer": 0.50, "eyeSquint": 0.45, "mouthFrown": 0.55, "mouthPress": 0.30},
    "surprised": {"browInnerUp": 0.90, "browOuterUp": 0.95, "eyeWide": 1.0, "jawOpen": 0.10, "mouthFunnel": 0.08},
    "relaxed": {"mouthSmile": 0.50, "eyeSquint": 0.35, "eyeBlink": 0.26, "browInnerUp": 0.15},
    "shy": {"mouthSmile": 0.40, "browInnerUp": 0.80, "mouthPress": 0.35, "eyeSquint": 0.20, "eyeBlink": 0.20,
            "cheekSquint": 0.50},
    "thinking": {"browDownLeft": 0.55, "browOuterUpRight": 0.70, "browInnerUp": 0.20, "eyeSquint": 0.30,
                 "mouthPucker": 0.35, "mouthLeft": 0.45},
}  # fmt: skip
"""Drawn for a face of two hundred pixels on a stream: what a camera measures on people is too faint there."""
_HEAD: dict[Emotion, tuple[float, float, float]] = {  # yaw, pitch, roll in radians
    "neutral": (0.0, 0.0, 0.02),
    "happy": (0.0, 0.03, 0.05),
    "sad": (0.0, -0.09, 0.03),
    "angry": (0.0, -0.05, 0.0),
    "surprised": (0.0, 0.05, 0.0),
    "relaxed": (0.0, 0.01, 0.05),
    "shy": (0.08, -0.07, 0.07),
    "thinking": (0.09, 0.05, 0.05),
}
_SYMMETRIC = frozenset(
    ("mouthSmile", "cheekSquint", "eyeSquint", "browOuterUp", "mouthFrown", "browDown", "noseSneer", "eyeWide",
     "eyeBlink", "mouthPress")
)  # fmt: skip
_ONSET = 0.11
"""Time constant in s of an emotion's onset, which begins and ends softly: 90 % within 0.43 s."""
_HEAD_JOINS = 0.15
"""Time constant in s with which the head follows a shift of gaze: the eyes are there first."""
_BLINKS_PER_MINUTE = {"idle": 15.0, "speaking": 22.0}
_DOUBLE = 0.12
_CLOSING, _SHUT, _OPENING = 0.075, 0.035, 0.15


def emotion_weights(emotion: Emotion, lean: Callable[[], float] = lambda: 0.0) -> NDArray[np.float32]:
    """The 52 weights with which ``emotion`` shows while she is silent. ``lean`` gives, for each pair of sides, the
    share by which the left is stronger and the right weaker."""
    weights = np.zeros(52, np.float32)
    for name, value in _POSES[emotion].items():
        if name in _SYMMETRIC:
            more = lean()
            weights[ARKIT_INDEX[f"{name}Left"]] = value * (1 + more)
            weights[ARKIT_INDEX[f"{name}Right"]] = value * (1 - more)
        else:
            weights[ARKIT_INDEX[name]] = value
    return weights


class BehaviourMixer:
    """Implements ``FaceMixer``. Called from one thread, once a frame, with any frame rate."""

    def __init__(self, seed: int = 7) -> None:
        self._random = np.random.default_rng(seed)
        self._last: float | None = None
        self._emotion: NDArray[np.float32] = np.zeros(52, np.float32)
        self._emotion_speed: NDArray[np.float32] = np.zeros(52, np.float32)
        self._head = np.zeros(3)
        self._targets = {emotion: emotion_weights(emotion, self._lean) for emotion in _POSES}
        self._blink_at = 1.5
        self._blink_began = -10.0
        self._blink_depth = 1.0
        self._gaze = np.zeros(2)
        self._gaze_target = np.zeros(2)
        self._gaze_from = np.zeros(2)
        self._head_gaze = np.zeros(2)
        self._saccade_began = -10.0
        self._saccade_seconds = 0.05
        self._gaze_until = 1.0
        self._away = False
        self._phase = self._random.uniform(0, 2 * math.pi, 9)
        self._breath = 0.0
        self._speech_energy = 0.0
        self._nod = 0.0
        self._nod_speed = 0.0
        self._was_speaking = False
        self._time = 0.0
        self._out = np.zeros(52, np.float32)
        self._body = Choreographer(seed)

    def cut(self) -> None:
        """Her words were cut short: gestures that belong to them are let go, smoothly."""
        self._body.cut()

    def mix(
        self, now: float, speech: Weights | None, emotion: Emotion, speaking: bool,
        clause: int = -1, ahead: Weights | None = None,
    ) -> FacePose:  # fmt: skip
        """The pose at ``now`` (monotonic s). ``speech`` are the mouth's weights, None while she is silent; ``clause``
        and ``ahead`` as in ``FaceMixer``."""
        step = 0.0 if self._last is None else now - self._last
        self._last = now
        step = min(max(step, 0.0), 0.25) if math.isfinite(step) else 0.0
        self._time += step
        self._follow_emotion(emotion, step)
        self._follow_speech(speech, speaking, step)
        self._look(emotion, speaking, step)
        weights = self._out
        np.copyto(weights, self._emotion)
        self._micro(weights)
        if speech is not None:
            self._join_speech(weights, speech)
        self._blink(weights, speaking, step)
        np.clip(weights, 0.0, 1.0, out=weights)
        return FacePose(
            weights=weights.copy(),
            head=self._head_pose(speaking),
            gaze=(float(self._gaze[0]), float(self._gaze[1])),
            body=self._body_pose(),
            breath=self._breathe(step, speaking),
            emotion=emotion,
            speaking=speaking,
            motion=self._body.step(step, emotion, speaking, clause, ahead),
        )

    # -- emotion and speech --------------------------------------------------------------------------------------

    def _lean(self) -> float:
        return float(self._random.uniform(-0.06, 0.06))

    def _follow_emotion(self, emotion: Emotion, step: float) -> None:
        # A critically damped spring, solved exactly: the same at any frame rate.
        target, kept = self._targets[emotion], math.exp(-step / _ONSET)
        apart = self._emotion - target
        push = self._emotion_speed + apart / _ONSET
        self._emotion = np.asarray(target + (apart + push * step) * kept, np.float32)
        self._emotion_speed = np.asarray((self._emotion_speed - push * (step / _ONSET)) * kept, np.float32)
        slow = 1 - math.exp(-step / 0.45)
        self._head += (np.array(_HEAD[emotion]) - self._head) * slow

    def _follow_speech(self, speech: Weights | None, speaking: bool, step: float) -> None:
        open_now = float(speech[ARKIT_INDEX["jawOpen"]]) if speech is not None else 0.0
        self._speech_energy += (open_now - self._speech_energy) * (1 - math.exp(-step / 0.12))
        if self._was_speaking and not speaking:
            self._nod_speed -= 0.55  # a small nod where a stretch of speech ends
        self._was_speaking = speaking
        # A damped spring carries nods and the beat of stressed vowels.
        self._nod_speed += (-90.0 * self._nod - 13.0 * self._nod_speed - 2.6 * (self._speech_energy - 0.15)) * step
        self._nod += self._nod_speed * step
        self._nod = min(max(self._nod, -0.12), 0.12)

    @staticmethod
    def _join_speech(weights: NDArray[np.float32], speech: Weights) -> None:
        """Speech rules the mouth; an emotion shows in the corners as far as the sound leaves room."""
        index = ARKIT_INDEX
        rounded = float(speech[index["mouthPucker"]] + speech[index["mouthFunnel"]])
        closed = float(speech[index["mouthClose"]] / max(float(speech[index["jawOpen"]]), 0.05))
        room = np.float32(max(0.0, 1.0 - 1.1 * rounded) * (1.0 - 0.45 * min(1.0, closed)))
        for name in ("mouthSmileLeft", "mouthSmileRight", "mouthFrownLeft", "mouthFrownRight"):
            weights[index[name]] = max(speech[index[name]], weights[index[name]] * 0.75 * room)
        weights[index["jawOpen"]] = 0.0
        for name in (
            "mouthPucker", "mouthFunnel", "mouthPressLeft", "mouthPressRight", "mouthShrugLower", "mouthLeft",
        ):  # fmt: skip
            weights[index[name]] *= 0.3
        np.maximum(weights, speech, out=weights)
        smile = max(weights[index["mouthSmileLeft"]], weights[index["mouthSmileRight"]])
        weights[index["jawOpen"]] *= 1.0 - 0.15 * float(smile)
        weights[index["mouthClose"]] = min(speech[index["mouthClose"]], weights[index["jawOpen"]])

    # -- eyes ----------------------------------------------------------------------------------------------------

    def _blink(self, weights: NDArray[np.float32], speaking: bool, step: float) -> None:
        self._blink_at -= step
        if self._blink_at <= 0:
            self._blink_began = self._time
            self._blink_depth = 1.0 if self._random.random() < 0.9 else self._random.uniform(0.6, 0.9)
            rate = _BLINKS_PER_MINUTE["speaking" if speaking else "idle"] / 60
            double = self._random.random() < _DOUBLE
            self._blink_at = 0.34 if double else 0.7 + self._random.exponential(max(0.1, 1 / rate - 0.7))
        shut = self._blink_depth * blink_shape(self._time - self._blink_began)
        lid = max(0.0, -float(self._gaze[1])) * 0.9  # lids follow the gaze down
        for side in ("Left", "Right"):
            place = ARKIT_INDEX[f"eyeBlink{side}"]
            weights[place] = max(float(weights[place]), min(0.35, lid), shut)
            weights[ARKIT_INDEX[f"eyeWide{side}"]] *= 1.0 - shut
            # A squint on top of a shut lid folds the skin twice.
            weights[ARKIT_INDEX[f"eyeSquint{side}"]] *= 1.0 - 0.6 * shut

    def _look(self, emotion: Emotion, speaking: bool, step: float) -> None:
        self._gaze_until -= step
        if self._gaze_until <= 0:
            self._choose_gaze(emotion, speaking)
        progress = (self._time - self._saccade_began) / self._saccade_seconds
        share = smoothstep(progress)
        self._gaze = self._gaze_from + (self._gaze_target - self._gaze_from) * share
        self._head_gaze += (self._gaze - self._head_gaze) * (1 - math.exp(-step / _HEAD_JOINS))

    def _choose_gaze(self, emotion: Emotion, speaking: bool) -> None:
        """To the viewer most of the time; away while thinking, and now and then; small steps while looking."""
        away_chance = {"thinking": 0.75, "shy": 0.55, "sad": 0.45}.get(emotion, 0.28 if speaking else 0.20)
        random = self._random
        if not self._away and random.random() < away_chance:
            self._away = True
            size = math.radians(min(18.0, 4.0 + random.exponential(6.9)))
            angle = random.uniform(0, 2 * math.pi)
            yaw, pitch = math.cos(angle) * size, math.sin(angle) * size * 0.6
            if emotion == "thinking":
                pitch = abs(pitch) + math.radians(4)
            elif emotion in ("shy", "sad"):
                pitch = -abs(pitch) - math.radians(3)
            target = np.array([yaw, pitch])
            hold = random.uniform(0.5, 1.3) if emotion != "thinking" else random.uniform(1.0, 2.4)
        else:
            self._away = False
            target = random.normal(0, math.radians(0.7), 2)
            hold = random.uniform(0.6, 2.2) if speaking else random.uniform(0.8, 3.2)
        distance = math.degrees(float(np.hypot(*(target - self._gaze))))
        self._gaze_from = self._gaze.copy()
        self._gaze_target = target
        self._saccade_began = self._time
        self._saccade_seconds = 0.025 + 0.0024 * distance
        self._gaze_until = hold
        if distance > 12 and self._blink_at > 0.05 and random.random() < 0.5:
            self._blink_at = 0.02  # large shifts of gaze come with a blink

    # -- head, body, breath --------------------------------------------------------------------------------------

    def _wave(self, index: int, hertz: float) -> float:
        return math.sin(2 * math.pi * hertz * self._time + self._phase[index])

    def _micro(self, weights: NDArray[np.float32]) -> None:
        """Slow small motion of brows and mouth corners, so that a still face is not a mask."""
        brow = 0.025 * (1 + self._wave(0, 0.13) * self._wave(1, 0.071))
        corner = 0.02 * (1 + self._wave(2, 0.11))
        weights[ARKIT_INDEX["browInnerUp"]] += brow
        weights[ARKIT_INDEX["browOuterUpLeft"]] += brow * 0.7
        weights[ARKIT_INDEX["browOuterUpRight"]] += brow * 0.6
        weights[ARKIT_INDEX["mouthSmileLeft"]] += corner
        weights[ARKIT_INDEX["mouthSmileRight"]] += corner * 0.85

    def _head_pose(self, speaking: bool) -> tuple[float, float, float]:
        size = 1.35 if speaking else 1.0
        yaw = size * (0.030 * self._wave(3, 0.17) + 0.014 * self._wave(4, 0.43)) + 0.22 * self._head_gaze[0]
        pitch = (
            size * (0.018 * self._wave(5, 0.21) + 0.008 * self._wave(6, 0.57)) + 0.18 * self._head_gaze[1] + self._nod
        )
        roll = size * 0.022 * self._wave(7, 0.12)
        return (
            float(yaw + self._head[0]),
            float(pitch + self._head[1] + 0.012 * (self._breath - 0.5)),
            float(roll + self._head[2]),
        )

    def _body_pose(self) -> tuple[float, float, float]:
        return (
            0.020 * self._wave(8, 0.09) + 0.25 * float(self._head[0]),
            0.010 * self._wave(0, 0.15),
            0.016 * self._wave(1, 0.08),
        )

    def _breathe(self, step: float, speaking: bool) -> float:
        """About 15 breaths a minute, in faster than out; shallower and quicker to fill while speaking."""
        cycle = (self._time * (0.30 if speaking else 0.24)) % 1.0
        inhale = 0.3 if speaking else 0.4
        level = cycle / inhale if cycle < inhale else (1 - cycle) / (1 - inhale)
        wanted = 0.5 - 0.5 * math.cos(math.pi * level)
        self._breath += (wanted - self._breath) * (1 - math.exp(-step / 0.15))
        return min(1.0, max(0.0, self._breath))


def blink_shape(seconds: float) -> float:
    """How shut the lids are, 0 to 1, ``seconds`` after a blink began: quick down, short hold, slow up."""
    if seconds < 0 or seconds >= _CLOSING + _SHUT + _OPENING:
        return 0.0
    if seconds < _CLOSING:
        return smoothstep(seconds / _CLOSING)
    if seconds < _CLOSING + _SHUT:
        return 1.0
    share = (seconds - _CLOSING - _SHUT) / _OPENING
    return (1 - share) ** 2 * (1 + 2 * share)
