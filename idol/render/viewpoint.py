"""Where one looks at her from: a framing and how far the viewer has moved from it. Plain arithmetic, no GL.

A ``Viewpoint`` holds no distance in metres of the camera, so that it stays right when the window changes its shape and
when it is read again years later: a framing decides what is seen, and the moves are relative to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from idol.avatar import Framing
from idol.avatar.easing import smoothstep
from idol.render.camera import FIELD_OF_VIEW, Camera, FramingName

MAX_PITCH = 1.2
"""Radians: from straight above there is no front."""
_CLOSEST = 0.6
"""Heights of her head that the picture shows at least: nearer, one no longer knows what one sees."""
_FARTHEST = 2.5
"""Distances of the whole figure."""
EASE_SECONDS = 0.35


@dataclass(frozen=True, slots=True)
class Viewpoint:
    """``framing`` seen from ``yaw`` (to her left) and ``pitch`` (from above) in radians, ``zoom`` times nearer than
    the preset; the picture is moved ``right`` and ``up`` by metres at her distance."""

    framing: FramingName = "bust"
    yaw: float = 0.0
    pitch: float = 0.0
    zoom: float = 1.0
    right: float = 0.0
    up: float = 0.0

    @property
    def moved(self) -> bool:
        return self != Viewpoint(self.framing)

    def orbited(self, yaw: float, pitch: float) -> Viewpoint:
        return replace(
            self,
            yaw=(self.yaw + yaw + math.pi) % (2 * math.pi) - math.pi,
            pitch=min(max(self.pitch + pitch, -MAX_PITCH), MAX_PITCH),
        )

    def camera(self, framing: Framing, aspect: float) -> Camera:
        """The camera for a picture of this ``aspect`` (width over height)."""
        camera = Camera.framed(framing, self.framing, aspect)
        camera.yaw, camera.pitch = self.yaw, self.pitch
        camera.distance /= self.zoom
        return _shifted(camera, -self.right, -self.up)

    def zoomed(self, factor: float, framing: Framing, aspect: float) -> Viewpoint:
        """Nearer for ``factor`` above 1."""
        return replace(self, zoom=self.zoom * factor).kept_in_reach(framing, aspect)

    def panned(self, right: float, up: float, framing: Framing, aspect: float) -> Viewpoint:
        """Her picture moved by these shares of the picture's height."""
        size = _picture_height(self.camera(framing, aspect).distance)
        moved = replace(self, right=self.right + right * size, up=self.up + up * size)
        return moved.kept_in_reach(framing, aspect)

    def kept_in_reach(self, framing: Framing, aspect: float) -> Viewpoint:
        """The nearest viewpoint from which one sees her: outside her body, not too far off, not beside her."""
        preset = Camera.framed(framing, self.framing, aspect).distance
        whole = Camera.framed(framing, "full", aspect).distance
        closest = _CLOSEST * framing.head_height / _picture_height(1.0)
        zoom = min(max(self.zoom, preset / (_FARTHEST * max(whole, preset))), preset / min(closest, preset))
        view = replace(self, zoom=zoom)
        camera = view.camera(framing, aspect)
        # Outside an upright cylinder about her head's axis: no look into the head from within.
        ahead = math.cos(camera.pitch)
        beside = (camera.target[0] - framing.head[0], camera.target[2] - framing.head[2])
        toward = (math.sin(camera.yaw) * ahead, math.cos(camera.yaw) * ahead)
        nearest = _leaving_circle(beside, toward, thickness(framing))
        if camera.distance < nearest:
            view = replace(view, zoom=view.zoom * camera.distance / nearest)
            camera = view.camera(framing, aspect)
        height = _picture_height(camera.distance)
        sideways = 0.42 * height * aspect + min(0.5 * (framing.high[0] - framing.low[0]), thickness(framing))
        middle = Camera.framed(framing, self.framing, aspect).target[1]
        reach = 0.42 * height
        return replace(
            view,
            right=min(max(view.right, -sideways), sideways),
            up=min(max(view.up, middle - framing.high[1] - reach), middle - framing.low[1] + reach),
        )


def thickness(framing: Framing) -> float:
    """Radius in metres of the upright cylinder that the camera stays out of."""
    if framing.humanoid:
        return 0.75 * framing.head_height
    return 0.55 * max(framing.high[0] - framing.low[0], framing.high[2] - framing.low[2], 0.02)


def _picture_height(distance: float) -> float:
    """Metres that the picture's height shows at ``distance``."""
    return 2 * distance * math.tan(FIELD_OF_VIEW / 2)


def _shifted(camera: Camera, right: float, up: float) -> Camera:
    """The target moved along the picture's own right and up, metres."""
    x, y, z = camera.target
    tilt, turn = camera.pitch, camera.yaw
    camera.target = (
        x + right * math.cos(turn) - up * math.sin(tilt) * math.sin(turn),
        y + up * math.cos(tilt),
        z - right * math.sin(turn) - up * math.sin(tilt) * math.cos(turn),
    )
    return camera


def _leaving_circle(start: tuple[float, float], step: tuple[float, float], radius: float) -> float:
    """How many steps lead from ``start`` out of the circle about the origin for good; 0 when none is needed."""
    a = step[0] ** 2 + step[1] ** 2
    b = start[0] * step[0] + start[1] * step[1]
    inside = b * b - a * (start[0] ** 2 + start[1] ** 2 - radius**2)
    return 0.0 if a <= 0.0 or inside <= 0.0 else max((-b + math.sqrt(inside)) / a, 0.0)


def between(old: Camera, new: Camera, share: float) -> Camera:
    """The camera on its eased way, ``share`` 0..1 of the time: slow at both ends, distances by their ratio."""
    eased = smoothstep(share)
    turn = (new.yaw - old.yaw + math.pi) % (2 * math.pi) - math.pi
    x, y, z = (a + (b - a) * eased for a, b in zip(old.target, new.target, strict=True))
    return Camera(
        (x, y, z),
        old.distance * (new.distance / old.distance) ** eased,
        old.yaw + turn * eased,
        old.pitch + (new.pitch - old.pitch) * eased,
    )
