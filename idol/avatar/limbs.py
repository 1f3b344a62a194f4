"""Two-bone inverse kinematics: arms that reach for a point, legs whose feet stay where they stand.

Arms are solved for many frames at once (gestures are computed at load), legs for one frame in plain numbers.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from idol.avatar.rig import ROW, Rig
from idol.avatar.rotation import Quaternion, between, cross, inverse, multiply, multiply_one, rotate

F64 = NDArray[np.float64]
Vector = tuple[float, float, float]
STRAIGHT = 0.995
"""Share of a limb's length that it stretches to at most: a limb that locks looks like a stick, and snaps."""
WRIST = math.radians(65.0)
"""How far a wrist bends at most, away from the forearm."""
FOREARM_SHARE = 0.6
"""Share of a turn about the forearm that the forearm itself takes; the rest is the wrist's."""
_X, _Y = np.asarray([1.0, 0.0, 0.0]), np.asarray([0.0, 1.0, 0.0])


def unit(vectors: F64) -> F64:
    out: F64 = vectors / np.maximum(np.sqrt((vectors * vectors).sum(-1, keepdims=True)), 1e-9)
    return out


def from_axes(x: F64, y: F64) -> F64:
    """Quaternions (F, 4) that carry +X onto ``x`` and +Y onto ``y`` (made square to ``x``)."""
    x = unit(x)
    y = unit(y - x * (x * y).sum(-1, keepdims=True))
    first = between(np.broadcast_to(_X, x.shape), x)
    # What is left is a turn about x.
    turned = rotate(first, np.broadcast_to(_Y, x.shape))
    angle = np.arctan2((cross(turned, y) * x).sum(-1), (turned * y).sum(-1))
    second = np.concatenate([x * np.sin(angle / 2)[:, None], np.cos(angle / 2)[:, None]], -1)
    return multiply(second, first)


class Arm:
    """One arm of a rig. ``sign`` is +1 for her left."""

    def __init__(self, rig: Rig, side: str) -> None:
        self.side, self.sign = side, 1.0 if side == "left" else -1.0
        self.shoulder, self.upper, self.lower, self.hand = (
            ROW[f"{side}{part}"] for part in ("Shoulder", "UpperArm", "LowerArm", "Hand")
        )
        rest = rig.rest
        self._along = (rest[self.lower] - rest[self.upper], rest[self.hand] - rest[self.lower])
        self.lengths = tuple(max(float(np.linalg.norm(part)), 1e-4) for part in self._along)
        # Bones of a rest pose that is not quite a T: what carries the T's directions onto them.
        ahead = np.asarray([[self.sign, 0.0, 0.0]])
        self._skew = [between(ahead, unit(part[None])) for part in self._along]

    def reach(self, shoulder: F64, wrist: F64, pole: F64) -> tuple[F64, F64, F64]:
        """World rotations of upper and lower arm (F, 4) that bring the wrist to ``wrist`` (F, 3), and the elbows.

        ``shoulder`` (F, 3) is where the arm begins, ``pole`` (F, 3) the way the elbow points. A point out of reach
        is approached as far as the arm goes."""
        a, b = self.lengths
        line = wrist - shoulder
        distance = np.linalg.norm(line, axis=1, keepdims=True)
        u = line / np.maximum(distance, 1e-9)
        distance = np.clip(distance, abs(a - b) + 0.12 * min(a, b), STRAIGHT * (a + b))
        out = unit(pole - u * (pole * u).sum(1, keepdims=True))
        cosine = np.clip((a * a + distance**2 - b * b) / (2 * a * distance), -1.0, 1.0)
        elbow = shoulder + a * (u * cosine + out * np.sqrt(1.0 - cosine**2))
        end = shoulder + u * distance
        upper, fore = unit(elbow - shoulder), unit(end - elbow)
        # At rest the forearm bends forward about the vertical: that axis is the elbow's hinge.
        hinge = cross(fore, upper) * self.sign
        first = from_axes(upper * self.sign, hinge)
        second = from_axes(fore * self.sign, hinge)
        return multiply(first, inverse(self._skew[0])), multiply(second, inverse(self._skew[1])), elbow

    def hold(self, lower: F64, fingers: F64, palm: F64) -> tuple[F64, F64]:
        """World rotations of lower arm and hand (F, 4), for a hand whose fingers point along ``fingers`` and whose
        palm faces ``palm`` (both (F, 3)), as far as a wrist bends."""
        wanted = from_axes(fingers * self.sign, -palm)
        axis = unit(self._along[1][None]) * self.sign
        local = multiply(inverse(lower), wanted)
        # The turn about the forearm and the bend of the wrist, apart.
        flip = np.where(local[:, 3:] < 0.0, -1.0, 1.0)
        local = local * flip
        along = (local[:, :3] * axis).sum(1, keepdims=True)
        twist = unit(np.concatenate([axis * along, local[:, 3:]], -1))
        bend = multiply(local, inverse(twist))
        angle = 2.0 * np.arccos(np.clip(np.abs(bend[:, 3:]), 0.0, 1.0))
        bend = part_of(bend, np.minimum(1.0, WRIST / np.maximum(angle, 1e-6)))
        turned = multiply(lower, part_of(twist, np.full_like(angle, FOREARM_SHARE)))
        return turned, multiply(lower, multiply(bend, twist))


def part_of(q: F64, share: F64) -> F64:
    """The same turns by ``share`` of their angle: (F, 4) and (F, 1)."""
    q = np.where(q[:, 3:] < 0.0, -q, q)
    half = np.arccos(np.clip(q[:, 3:], -1.0, 1.0))
    axis = unit(q[:, :3])
    out: F64 = np.concatenate([axis * np.sin(half * share), np.cos(half * share)], -1)
    return out


def _add(a: Vector, b: Vector) -> Vector:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _less(a: Vector, b: Vector) -> Vector:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def turned_one(q: Quaternion, v: Vector) -> Vector:
    """``rotate`` in plain numbers."""
    x, y, z, w = q
    tx, ty, tz = 2 * (y * v[2] - z * v[1]), 2 * (z * v[0] - x * v[2]), 2 * (x * v[1] - y * v[0])
    return (
        v[0] + w * tx + y * tz - z * ty, v[1] + w * ty + z * tx - x * tz, v[2] + w * tz + x * ty - y * tx,
    )  # fmt: skip


def _conjugate(q: Quaternion) -> Quaternion:
    return -q[0], -q[1], -q[2], q[3]


def _between_one(a: Vector, b: Vector) -> Quaternion:
    """The shortest turn from unit vector ``a`` to ``b``, which are never opposite here."""
    x, y, z = a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
    w = 1.0 + a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    length = math.sqrt(x * x + y * y + z * z + w * w) or 1.0
    return x / length, y / length, z / length, w / length


def _about_line(axis: Vector, angle: float) -> Quaternion:
    s = math.sin(angle / 2)
    return axis[0] * s, axis[1] * s, axis[2] * s, math.cos(angle / 2)


class Leg:
    """One leg that keeps its foot where it stands at rest while the hips move."""

    def __init__(self, rig: Rig, side: str) -> None:
        self.upper, self.lower, self.foot = (ROW[f"{side}{part}"] for part in ("UpperLeg", "LowerLeg", "Foot"))
        self.whole = all(rig.has[[self.upper, self.lower, self.foot]])
        hip, knee, ankle = (rig.rest[row] for row in (self.upper, self.lower, self.foot))
        self._from_hips: Vector = _three(hip - rig.rest[0])
        self.ankle: Vector = _three(ankle)
        thigh, shin, whole = knee - hip, ankle - knee, ankle - hip
        self.thigh, self.shin = float(np.linalg.norm(thigh)), float(np.linalg.norm(shin))
        length = float(np.linalg.norm(whole))
        self.whole = self.whole and min(self.thigh, self.shin, length) > 1e-4
        if not self.whole:
            return
        self._rest = length
        self._line: Vector = _three(whole / length)
        # Knees bend forward: the hinge is square to the leg and to the way she faces.
        hinge = np.cross([0.0, 0.0, 1.0], whole / length)
        hinge = hinge / max(float(np.linalg.norm(hinge)), 1e-9)
        self._hinge: Vector = _three(hinge)
        ahead = np.cross(whole / length, hinge)
        self._at_hip = math.atan2(float(thigh @ ahead), float(thigh @ whole) / length)
        self._at_ankle = math.atan2(-float(shin @ ahead), float(shin @ whole) / length)

    @property
    def reach(self) -> float:
        """Metres from hip to ankle at most: not stretched, unless she stands with legs as straight as that."""
        return max(STRAIGHT * (self.thigh + self.shin), self._rest)

    def hip(self, hips_place: Vector, hips_turn: Quaternion) -> Vector:
        return _add(hips_place, turned_one(hips_turn, self._from_hips))

    def stand(self, hip: Vector, hips_turn: Quaternion) -> tuple[Quaternion, Quaternion, Quaternion]:
        """Normalised rotations of upper leg, lower leg and foot that keep the ankle and the sole where they rest."""
        line = _less(self.ankle, hip)
        distance = math.sqrt(line[0] ** 2 + line[1] ** 2 + line[2] ** 2)
        u: Vector = (line[0] / distance, line[1] / distance, line[2] / distance) if distance > 1e-6 else self._line
        a, b = self.thigh, self.shin
        d = min(max(distance, abs(a - b) + 1e-4), a + b - 1e-9)
        at_hip = math.acos(min(max((a * a + d * d - b * b) / (2 * a * d), -1.0), 1.0))
        at_ankle = math.acos(min(max((b * b + d * d - a * a) / (2 * b * d), -1.0), 1.0))
        whole = _between_one(self._line, u)
        hinge = turned_one(whole, self._hinge)
        thigh = multiply_one(_about_line(hinge, self._sign(at_hip, self._at_hip)), whole)
        shin = multiply_one(_about_line(hinge, -self._sign(at_ankle, self._at_ankle)), whole)
        return (
            multiply_one(_conjugate(hips_turn), thigh),
            multiply_one(_conjugate(thigh), shin),
            _conjugate(shin),
        )

    @staticmethod
    def _sign(angle: float, rest: float) -> float:
        """A turn about the hinge takes the knee back, so a knee that goes forward by ``angle`` turns the other way."""
        return -(angle - rest)


def _three(v: F64) -> Vector:
    return float(v[0]), float(v[1]), float(v[2])
