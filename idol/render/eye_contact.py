"""Eye contact: her eyes find the camera while it is before her, and look ahead when it goes round her."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from idol.avatar import Avatar
from idol.avatar.easing import smoothstep

FULL, NONE = math.radians(32.0), math.radians(42.0)
"""Off the way her face points: up to here she looks at the camera, from there on not at all."""
YAW, PITCH = math.radians(18.0), math.radians(12.0)
"""How far her eyes go for it: farther they would show their whites."""
PACE = 0.12
"""Time constant in s."""


class EyeContact:
    """What ``turn`` gives lies under the gaze that a pose asks for: shifts of gaze start from the camera."""

    def __init__(self) -> None:
        self._yaw = self._pitch = 0.0

    def reset(self) -> None:
        self._yaw = self._pitch = 0.0

    def turn(self, avatar: Avatar, eye: NDArray[np.float64], dt: float) -> tuple[float, float]:
        """(yaw, pitch) in radians as ``FacePose.gaze``, ``dt`` seconds after the last call.

        ``eye`` is the camera's place (3,) in metres; her head is where her last update left it."""
        yaw, pitch = _toward(avatar, eye)
        off = math.acos(min(max(math.cos(yaw) * math.cos(pitch), -1.0), 1.0))
        share = smoothstep((NONE - off) / (NONE - FULL))
        step = 1.0 - math.exp(-max(dt, 0.0) / PACE)
        self._yaw += (share * min(max(yaw, -YAW), YAW) - self._yaw) * step
        self._pitch += (share * min(max(pitch, -PITCH), PITCH) - self._pitch) * step
        return self._yaw, self._pitch


def _toward(avatar: Avatar, eye: NDArray[np.float64]) -> tuple[float, float]:
    try:
        yaw, pitch = avatar.gaze_at(eye)
    except np.linalg.LinAlgError:  # a head of no size
        return 0.0, 0.0
    return (yaw, pitch) if math.isfinite(yaw) and math.isfinite(pitch) else (0.0, 0.0)
