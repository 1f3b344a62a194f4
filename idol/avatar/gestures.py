"""Gestures: scores of key poses, computed at first use into rotations for one avatar's own proportions.

A score says where a hand goes by the body's landmarks (the chin, the chest, the waist), not by joint angles, so that
a hand on the hip rests on the hip of a child's figure as of a grown one's. Arms are solved by inverse kinematics and
kept out of the body's outline; spine and head are added to whatever she does besides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from idol.avatar.figure import Figure
from idol.avatar.limbs import Arm, unit
from idol.avatar.rig import ROW, Rig, still
from idol.avatar.rotation import inverse, multiply, rotate

F64 = NDArray[np.float64]
Three = tuple[float, float, float]
RATE = 30.0
"""Frames per second of a computed gesture; between them it is interpolated."""
MARGIN = 0.11
"""How far palms and wrists are kept off the body's outline at the keys, in lengths of the arm."""
Anchor = Literal["shoulder", "chest", "belly", "waist", "lap", "back", "chin", "beside"]
_FOLLOWS: dict[Anchor, str] = {
    "shoulder": "upperChest", "chest": "upperChest", "belly": "spine", "waist": "spine", "lap": "hips",
    "back": "spine", "chin": "head", "beside": "upperChest",
}  # fmt: skip
_FRAMES = ("upperChest", "spine", "hips", "head")
Shape = Literal["relaxed", "open", "flat", "fist", "point", "cup"]
SHAPES: dict[Shape, tuple[float, ...]] = {
    # Degrees of thumb, index, middle, ring and little finger, and how far they are spread.
    "relaxed": (0.0, 8.0, 12.0, 15.0, 18.0, 0.0),
    "open": (0.0, 1.0, 0.0, 1.0, 3.0, 6.0),
    "flat": (6.0, 3.0, 3.0, 4.0, 5.0, 0.0),
    "fist": (64.0, 58.0, 60.0, 62.0, 62.0, 0.0),
    "point": (30.0, 5.0, 56.0, 60.0, 62.0, 0.0),
    "cup": (10.0, 20.0, 24.0, 27.0, 30.0, 0.0),
}
_SPINE = ("spine", "chest", "upperChest")
_NECK = ("neck", "head")
_NECK_SHARES = (0.4, 0.6)


@dataclass(frozen=True, slots=True)
class Hand:
    """Where one hand is at a key.

    ``at``: the palm, from ``anchor``, in lengths of the arm; ``fingers`` and ``palm``: where the fingers point and
    the palm faces; ``elbow``: which way the elbow goes. All as (out from the middle, up, forward)."""

    anchor: Anchor
    at: Three
    fingers: Three
    palm: Three
    elbow: Three = (0.7, -1.0, -0.3)
    shape: Shape = "relaxed"


@dataclass(frozen=True, slots=True)
class Key:
    """One moment. Turns in degrees as (yaw to her left, pitch up, roll to her left shoulder); ``shift`` of the hips
    in shares of their height as (her left, up, forward); ``shrug`` lifts (left, right) shoulder, degrees. A hand
    that is None hangs."""

    at: float
    head: Three = (0.0, 0.0, 0.0)
    chest: Three = (0.0, 0.0, 0.0)
    turn: Three = (0.0, 0.0, 0.0)
    shift: Three = (0.0, 0.0, 0.0)
    shrug: tuple[float, float] = (0.0, 0.0)
    left: Hand | None = None
    right: Hand | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """A gesture as key poses; the first and the last are the resting pose."""

    name: str
    keys: tuple[Key, ...]
    fade_in: float = 0.3
    fade_out: float = 0.35

    @property
    def duration(self) -> float:
        return self.keys[-1].at


def mirrored(score: Score, name: str) -> Score:
    """The same with left and right exchanged."""

    def turned(v: Three) -> Three:
        return -v[0], v[1], -v[2]

    keys = tuple(
        replace(
            key, head=turned(key.head), chest=turned(key.chest), turn=turned(key.turn),
            shift=(-key.shift[0], key.shift[1], key.shift[2]), shrug=key.shrug[::-1], left=key.right, right=key.left,
        )
        for key in score.keys
    )  # fmt: skip
    return replace(score, name=name, keys=keys)


@dataclass(frozen=True, slots=True)
class Computed:
    """A gesture for one avatar: ``turns`` (F, 55, 4) and ``shift`` (F, 3) in metres, ``RATE`` frames a second.

    ``replaces`` (55,) bool: rows that take the place of what she does; the others are added to it."""

    name: str
    turns: F64
    shift: F64
    replaces: NDArray[np.bool_]
    duration: float
    fade_in: float
    fade_out: float

    def sample(self, seconds: float) -> tuple[F64, F64]:
        """The pose (55, 4), not quite of unit length, and the shift of the hips at ``seconds``, held at both ends."""
        place = min(max(seconds * RATE, 0.0), len(self.turns) - 1.0)
        low = min(int(place), len(self.turns) - 2)
        share = place - low
        turns, shift = self.turns, self.shift
        return turns[low] + (turns[low + 1] - turns[low]) * share, shift[low] + (shift[low + 1] - shift[low]) * share


def smooth_path(times: F64, values: F64, at: F64) -> F64:
    """Monotone cubic interpolation (Fritsch & Carlson 1980) of ``values`` (K, C): no overshoot, at rest at extremes."""
    step = np.diff(times)[:, None]
    slope = np.diff(values, axis=0) / step
    tangent = np.zeros_like(values)
    if len(times) > 2:
        a, b = slope[:-1], slope[1:]
        w1, w2 = 2 * step[1:] + step[:-1], step[1:] + 2 * step[:-1]
        same = a * b > 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = (w1 + w2) / (w1 / a + w2 / b)
        tangent[1:-1] = np.where(same, mean, 0.0)
    i = np.clip(np.searchsorted(times, at, "right") - 1, 0, len(times) - 2)
    h = step[i]
    t = np.clip((at - times[i])[:, None] / h, 0.0, 1.0)
    out: F64 = (
        values[i] * (1 + 2 * t) * (1 - t) ** 2
        + tangent[i] * h * t * (1 - t) ** 2
        + values[i + 1] * t * t * (3 - 2 * t)
        - tangent[i + 1] * h * t * t * (1 - t)
    )
    return out


def turns_of(degrees: F64) -> F64:
    """Quaternions (F, 4) of (yaw, pitch, roll) in degrees (F, 3), signs as ``head_turn_one``."""
    half = np.radians(degrees) / 2
    zero = np.zeros(len(half))

    def about(axis: int, angle: F64) -> F64:
        parts = [zero, zero, zero, np.cos(angle)]
        parts[axis] = np.sin(angle)
        return np.stack(parts, -1)

    return multiply(about(1, half[:, 0]), multiply(about(0, -half[:, 1]), about(2, -half[:, 2])))


class Composer:
    """Computes scores for one avatar. ``stance`` (55, 4): how she stands when she does nothing."""

    def __init__(self, rig: Rig, figure: Figure, stance: F64) -> None:
        self.rig, self.figure = rig, figure
        self._stance = stance
        self._arms = {side: Arm(rig, side) for side in ("left", "right")}
        turns, places = rig.solve(stance)
        self._hanging = {side: self._hang(arm, turns, places) for side, arm in self._arms.items()}
        self._spine = [ROW[name] for name in _SPINE if rig.has[ROW[name]]] or [ROW["spine"]]
        self._waist = self._find_waist()

    @property
    def has_arms(self) -> bool:
        return all(self.rig.has[[a.upper, a.lower, a.hand]].all() for a in self._arms.values())

    def compute(self, score: Score) -> Computed:
        """Arms are solved at the keys and their joints interpolated: joints that swing make the arcs of real arms."""
        times = np.asarray([key.at for key in score.keys])
        count = max(2, math.ceil(score.duration * RATE) + 1)
        frames = np.minimum(np.arange(count) / RATE, score.duration)
        keyed = self._body(score, times, times)
        pose = self._body(score, times, frames)
        shifts = np.asarray([key.shift for key in score.keys]) * self.rig.hips_height
        replaces = np.zeros(len(pose[0]), bool)
        for i, (side, arm) in enumerate(self._arms.items()):
            hands = [key.left if side == "left" else key.right for key in score.keys]
            shrug = np.asarray([key.shrug[i] for key in score.keys])
            shoulder = ROW[f"{side}Shoulder"]
            if any(hands) and self.has_arms:
                rows = self._reach(arm, hands, keyed, shifts, shrug)
                pose[:, rows] = _joints_path(times, keyed[:, rows], frames)
                replaces[rows] = True
            elif shrug.any():
                pose[:, shoulder] = _about_axis(2, arm.sign * smooth_path(times, shrug[:, None], frames)[:, 0])
        shift = smooth_path(times, shifts, frames)
        return Computed(score.name, pose, shift, replaces, score.duration, score.fade_in, score.fade_out)

    def _body(self, score: Score, times: F64, at: F64) -> F64:
        """Hips, spine and head at the given times, all else at rest (F, 55, 4)."""
        chest, head, turn = (
            smooth_path(times, np.asarray(values), at)
            for values in zip(*[(key.chest, key.head, key.turn) for key in score.keys], strict=True)
        )
        pose = np.tile(still(), (len(at), 1, 1))
        for row in self._spine:
            pose[:, row] = turns_of(chest / len(self._spine))
        necks = [(ROW[n], s) for n, s in zip(_NECK, _NECK_SHARES, strict=True) if self.rig.has[ROW[n]]]
        total = sum(share for _, share in necks)
        for row, share in necks:
            pose[:, row] = turns_of(head * (share / total))
        pose[:, 0] = turns_of(turn)
        return pose

    # -- arms ----------------------------------------------------------------------------------------------------

    def _hang(self, arm: Arm, turns: F64, places: F64) -> F64:
        """The row of channels (see ``_channels``) of a hand that hangs."""
        rotation = turns[arm.hand]
        fingers = rotate(rotation, np.asarray([arm.sign, 0.0, 0.0]))
        palm = rotate(rotation, np.asarray([0.0, -1.0, 0.0]))
        middle = (places[arm.upper] + places[arm.hand]) / 2
        pole = places[arm.lower] - middle
        pole = pole / max(float(np.linalg.norm(pole)), 1e-9)
        wrist = places[arm.hand]
        return np.concatenate([wrist, fingers, palm, pole, SHAPES["relaxed"], [1.0, 0.0, 0.0, 0.0], [0.0]])

    def _channels(self, arm: Arm, hand: Hand | None) -> F64:
        """Wrist, fingers, palm and pole (3 each, model space at rest), shape (6), frames it follows (4), margin."""
        if hand is None:
            return self._hanging[arm.side]
        out = np.asarray([arm.sign, 1.0, 1.0])
        fingers, palm, pole = (unit(np.asarray(v) * out) for v in (hand.fingers, hand.palm, hand.elbow))
        place = self._anchor(arm, hand.anchor) + np.asarray(hand.at) * out * self.figure.arm
        wrist = place - fingers * (0.5 * self.figure.hand)
        frames = [float(_FOLLOWS[hand.anchor] == name) for name in _FRAMES]
        return np.concatenate([wrist, fingers, palm, pole, SHAPES[hand.shape], frames, [1.0]])

    def _anchor(self, arm: Arm, anchor: Anchor) -> F64:
        rest, figure = self.rig.rest, self.figure
        shoulder = rest[arm.upper]
        height = float(shoulder[1])
        if anchor == "shoulder":
            place: F64 = shoulder
            return place
        if anchor == "beside":
            return np.asarray([arm.sign * max(0.95 * figure.face, abs(float(shoulder[0]))), height, shoulder[2]])
        if anchor == "chin":
            return figure.chin
        if anchor == "chest":
            height -= 0.25 * figure.arm
        elif anchor == "lap":
            height = float(rest[0, 1]) - 0.06 * figure.arm
        else:
            height = self._waist
        width, front, back = (float(v[0]) for v in figure.at(np.asarray([height])))
        if anchor == "waist":
            return np.asarray([arm.sign * width, height, (front + back) / 2])
        return np.asarray([0.0, height, back if anchor == "back" else front])

    def _find_waist(self) -> float:
        figure, rest = self.figure, self.rig.rest
        low, high = float(rest[0, 1]), float(rest[ROW["leftUpperArm"], 1]) - 0.35 * figure.arm
        near = (figure.heights > low) & (figure.heights < max(high, low + 0.2 * figure.arm))
        if not near.any():
            return low
        heights = figure.heights[near]
        return float(heights[int(np.argmin(figure.width[near]))])

    def _reach(self, arm: Arm, hands: list[Hand | None], pose: F64, shift: F64, shrug: F64) -> list[int]:
        """Write the rows of one arm into ``pose`` (K, 55, 4), one frame for each key; returns those rows."""
        channels = np.asarray([self._channels(arm, hand) for hand in hands])
        wrist, fingers, palm, pole = (channels[:, i : i + 3] for i in (0, 3, 6, 9))
        follows, margin = channels[:, 18:22], channels[:, 22] * MARGIN * self.figure.arm
        palm_at = self.figure.pushed(wrist + fingers * (0.5 * self.figure.hand), margin)
        wrist = self.figure.pushed(palm_at - fingers * (0.5 * self.figure.hand), margin)
        rest = self.rig.rest
        shoulder = ROW[f"{arm.side}Shoulder"]
        raised = np.clip((wrist[:, 1] - rest[arm.upper, 1]) / self.figure.arm, -1.0, 1.0)
        lift = -3.0 + 16.0 * np.clip(raised + 0.25, 0.0, 1.0) + shrug
        across = np.clip(-(wrist[:, 0] - 0.3 * rest[arm.upper, 0]) * arm.sign / self.figure.arm, 0.0, 0.5)
        pose[:, shoulder] = multiply(_about_axis(1, -arm.sign * 24.0 * across), _about_axis(2, arm.sign * lift))
        turns, places = self.rig.solve(pose, shift)
        reached, facing = np.zeros_like(wrist), turns[:, ROW["upperChest"]]
        for i, name in enumerate(_FRAMES):
            row = ROW[name]
            reached += follows[:, i : i + 1] * (rotate(turns[:, row], wrist - rest[row]) + places[:, row])
        fingers, palm, pole = (rotate(facing, v) for v in (fingers, palm, pole))
        upper, lower, _ = arm.reach(places[:, arm.upper], reached, pole)
        lower, hand = arm.hold(lower, fingers, palm)
        # The upper arm's row is still at rest, so its world turn is the shoulder's.
        pose[:, arm.upper] = multiply(inverse(turns[:, arm.upper]), upper)
        pose[:, arm.lower] = multiply(inverse(upper), lower)
        pose[:, arm.hand] = multiply(inverse(lower), hand)
        self._curl(arm, channels[:, 12:18], pose)
        digits = [row for name, row in ROW.items() if name.startswith(arm.side) and _is_finger(name)]
        return [shoulder, arm.upper, arm.lower, arm.hand, *digits]

    @staticmethod
    def _curl(arm: Arm, shape: F64, pose: F64) -> None:
        for i, finger in enumerate(("Thumb", "Index", "Middle", "Ring", "Little")):
            if finger == "Thumb":
                for part, factor in (("Metacarpal", 0.35), ("Proximal", 0.8), ("Distal", 1.2)):
                    pose[:, ROW[f"{arm.side}Thumb{part}"]] = _about_axis(0, shape[:, 0] * factor)
                continue
            for part, factor in (("Proximal", 1.0), ("Intermediate", 1.4), ("Distal", 0.9)):
                pose[:, ROW[f"{arm.side}{finger}{part}"]] = _about_axis(2, -arm.sign * shape[:, i] * factor)
            row = ROW[f"{arm.side}{finger}Proximal"]
            aside = (1.2, 0.3, -0.6, -1.4)[i - 1]
            pose[:, row] = multiply(_about_axis(1, -arm.sign * aside * shape[:, 5]), pose[:, row])


def _joints_path(times: F64, turns: F64, at: F64) -> F64:
    """Key turns (K, N, 4) at the times ``at`` (F, N, 4), from key to key the shorter way."""
    whole = turns.copy()
    for i in range(1, len(whole)):
        flip = (whole[i] * whole[i - 1]).sum(1) < 0.0
        whole[i, flip] *= -1.0
    return unit(smooth_path(times, whole.reshape(len(times), -1), at).reshape(len(at), -1, 4))


def _is_finger(name: str) -> bool:
    return any(finger in name for finger in ("Thumb", "Index", "Middle", "Ring", "Little"))


def _about_axis(axis: int, degrees: F64) -> F64:
    half = np.radians(degrees) / 2
    out = np.zeros((len(half), 4))
    out[:, axis], out[:, 3] = np.sin(half), np.cos(half)
    return out
