"""The camera: framing presets from the avatar's measures, and matrices. Plain arithmetic, no GL."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from idol.avatar import Framing

FramingName = Literal["face", "bust", "full"]
FRAMINGS: tuple[FramingName, ...] = ("face", "bust", "full")
FIELD_OF_VIEW = math.radians(22.0)
"""Vertical. A long lens: a wide one swells the nose and the forehead."""


@dataclass(slots=True)
class Camera:
    """Looks at ``target`` from ``distance`` metres; ``yaw`` goes round to her left, ``pitch`` above her, in radians."""

    target: tuple[float, float, float] = (0.0, 1.3, 0.0)
    distance: float = 2.0
    yaw: float = 0.0
    pitch: float = 0.0

    @classmethod
    def framed(cls, framing: Framing, name: FramingName, aspect: float = 1.0) -> Camera:
        """A camera in front of her. ``aspect`` is width over height; a narrow picture steps back to keep her whole."""
        low, high, head = framing.low, framing.high, framing.head
        if not framing.humanoid:
            tall = (high[1] - low[1]) * {"face": 1.15, "bust": 1.35, "full": 1.6}[name]
            wide = (high[0] - low[0]) * 1.15
            middle = tuple((a + b) / 2 for a, b in zip(low, high, strict=True))
        elif name == "full":
            tall, wide = (high[1] - low[1]) * 1.08, min(high[0] - low[0], 0.75 * (high[1] - low[1]))
            middle = (head[0], (low[1] + high[1]) / 2, 0.5 * (head[2] + (low[2] + high[2]) / 2))
        elif name == "bust":
            top = max(high[1], head[1] + 0.5 * framing.head_height) + 0.12 * framing.head_height
            bottom = framing.chest - 0.75 * framing.head_height
            tall, wide = top - bottom, 1.7 * framing.head_height
            middle = (head[0], (top + bottom) / 2, head[2])
        else:
            tall, wide = 1.5 * framing.head_height, 1.3 * framing.head_height
            middle = (head[0], head[1] - 0.04 * framing.head_height, head[2])
        height = max(tall, wide / max(aspect, 1e-3), 1e-3)
        depth = (high[2] - middle[2]) if not framing.humanoid else 0.35 * framing.head_height
        return cls((middle[0], middle[1], middle[2]), height / 2 / math.tan(FIELD_OF_VIEW / 2) + max(depth, 0.0))

    def orbit(self, yaw: float, pitch: float) -> None:
        self.yaw = (self.yaw + yaw + math.pi) % (2 * math.pi) - math.pi
        self.pitch = min(max(self.pitch + pitch, -1.4), 1.4)

    @property
    def eye(self) -> NDArray[np.float64]:
        flat = math.cos(self.pitch) * self.distance
        away = (math.sin(self.yaw) * flat, math.sin(self.pitch) * self.distance, math.cos(self.yaw) * flat)
        out: NDArray[np.float64] = np.asarray(self.target) + np.asarray(away)
        return out

    def view(self) -> NDArray[np.float64]:
        """World to camera, (4, 4)."""
        x, y, z = self.target
        sy, cy, sp, cp = math.sin(self.yaw), math.cos(self.yaw), math.sin(self.pitch), math.cos(self.pitch)
        # Rows: right, up, back; the target lies ``distance`` before the eye.
        right, up, back = (cy, 0.0, -sy), (-sy * sp, cp, -cy * sp), (sy * cp, sp, cy * cp)
        rows = [[a, b, c, -(a * x + b * y + c * z)] for a, b, c in (right, up, back)]
        rows[2][3] -= self.distance
        return np.asarray([*rows, [0.0, 0.0, 0.0, 1.0]])

    def projection(self, aspect: float) -> NDArray[np.float64]:
        """Camera to clip, (4, 4), OpenGL's depth -1..1."""
        near, far = max(self.distance * 0.05, 0.005), self.distance * 4.0 + 20.0
        f = 1.0 / math.tan(FIELD_OF_VIEW / 2)
        out = np.zeros((4, 4))
        out[0, 0], out[1, 1] = f / max(aspect, 1e-3), f
        out[2, 2], out[2, 3] = (far + near) / (near - far), 2 * far * near / (near - far)
        out[3, 2] = -1.0
        return out
