"""Eyeballs: a white that stays and an iris that turns, both on a sphere behind the lids, so no gaze pierces them."""

from __future__ import annotations

import numpy as np

from avatars.maker import eye_curves
from avatars.maker.curves import F64
from avatars.maker.face import metres
from avatars.maker.face_surface import depth
from avatars.maker.mesh import Part, grid, unit

RADIUS = 0.36
CLEARANCE = 0.0085
"""Least depth of the iris behind the lids, in heights of the head."""
IRIS = (0.083, 0.103)
IRIS_AT = (0.190, 0.390)
ASIDE = (-0.110, 0.075)
"""How far the shape of a glance aside turns the irises: to her left and up, radians."""
DISH = 0.4
"""How much flatter than the sphere the iris lies: it seems to look at whoever looks at it."""


class Eye:
    """Her left eye. ``pivot`` is where the eye bone lies (heights of the head)."""

    def __init__(self, tilt: float = 0.0) -> None:
        swept = []
        for s in np.linspace(0, 1, 9):
            upper, lower = eye_curves.lids("", 41, tilt)
            closed, _ = eye_curves.lids("eyeBlink", 41, tilt)
            swept += [upper * (1 - s) + closed * s, lower * (1 - s) + closed * s]
        flat = np.concatenate(swept)
        points = np.concatenate([flat, depth(*flat.T)[:, None]], 1)
        # Least squares for the centre of a sphere of the given radius, by Gauss and Newton.
        centre = points.mean(0) - np.array([0.1, 0.0, RADIUS])
        for _ in range(30):
            away = points - centre
            size = np.linalg.norm(away, axis=1)
            step = np.linalg.lstsq(-away / size[:, None], RADIUS - size, rcond=None)[0]
            centre = centre + np.clip(step, -0.05, 0.05)
        centre[1] = IRIS_AT[1]
        middle = np.array([*IRIS_AT, float(depth(*IRIS_AT))])
        self.out = unit(middle - centre)
        for _ in range(400):
            if (np.linalg.norm(points - centre, axis=1) - RADIUS).min() >= CLEARANCE:
                break
            centre = centre - self.out * 0.001
        self.pivot = centre
        self.right = unit(np.cross([0.0, 1.0, 0.0], self.out))
        self.up = np.cross(self.out, self.right)

    def _on_sphere(self, a: F64, b: F64, radius: float) -> F64:
        ahead = np.sqrt(np.maximum(radius**2 - a**2 - b**2, 0.0))
        out: F64 = self.pivot + a[:, None] * self.right + b[:, None] * self.up + ahead[:, None] * self.out
        return out

    def white(self) -> Part:
        a, b = np.meshgrid(np.linspace(-0.150, 0.210, 13), np.linspace(-0.118, 0.118, 9))
        points = self._on_sphere(a.ravel(), b.ravel(), RADIUS - 0.012)
        uv = np.stack([0.75 + np.clip(a.ravel() / 0.150, -1, 1) * 0.245, 0.25 - b.ravel() / 0.118 * 0.245], 1)
        normal = np.tile(unit(np.array([[0.25, 0.1, 1.0]])), (len(points), 1))
        return Part(metres(points), grid(9, 13), uv, {"head": np.ones(len(points))}, normal)

    def iris(self) -> Part:
        r = np.array([0.0, 0.3, 0.55, 0.78, 0.92, 1.0])
        angle = np.linspace(0, 2 * np.pi, 33)
        rr, aa = (v.ravel() for v in np.meshgrid(r, angle, indexing="ij"))
        a, b = IRIS[0] * rr * np.cos(aa), IRIS[1] * rr * np.sin(aa)
        points = self._on_sphere(a, b, RADIUS)
        rim = RADIUS - np.sqrt(RADIUS**2 - (IRIS[0] ** 2 + IRIS[1] ** 2) / 2)
        points -= (DISH * rim * (1 - rr**2))[:, None] * self.out
        uv = np.stack([0.25 + rr * np.cos(aa) * 0.247, 0.25 - rr * np.sin(aa) * 0.247], 1)
        normal = np.tile(unit(np.array([[0.25, 0.1, 1.0]])), (len(points), 1))
        return Part(metres(points), grid(len(r), 33, flip=True), uv, {"leftEye": np.ones(len(points))}, normal)


def _aside(iris: Part, pivot: F64) -> F64:
    """Offsets (V, 3) in metres that turn an iris about ``pivot`` (metres) by ``ASIDE``."""
    yaw, pitch = ASIDE
    turn_y = np.array([[np.cos(yaw), 0, np.sin(yaw)], [0, 1, 0], [-np.sin(yaw), 0, np.cos(yaw)]])
    turn_x = np.array([[1, 0, 0], [0, np.cos(pitch), -np.sin(pitch)], [0, np.sin(pitch), np.cos(pitch)]])
    out: F64 = (iris.points - pivot) @ (turn_y @ turn_x.T).T + pivot - iris.points
    return out


def eye_parts(eye: Eye) -> list[Part]:
    left = [eye.white(), eye.iris()]
    right = [p.mirrored() for p in left]
    # Both look the same way.
    for parts, sign in ((left, 1.0), (right, -1.0)):
        parts[1].morphs["eyesAside"] = _aside(parts[1], metres((eye.pivot * [sign, 1.0, 1.0])[None])[0])
    # The picture is not mirrored: light comes from one side for both eyes.
    right[1].uv[:, 0] = 0.5 - right[1].uv[:, 0]
    return left + right
