"""Look-at (VRMC_vrm 1.0, lookAt): gaze angles to eye bones, look expressions or ARKit's eyeLook shapes."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from idol.avatar.expressions import Expressions
from idol.avatar.model import AvatarData, LookAt, RangeMap
from idol.avatar.posing import Poser
from idol.avatar.rotation import head_turn_one
from idol.seams import ARKIT_INDEX

_FREE = LookAt("bone", RangeMap(40.0, 25.0), RangeMap(40.0, 25.0), RangeMap(30.0, 15.0), RangeMap(30.0, 15.0))
"""For eye bones of a file that says nothing about gaze: most rigs keep the iris inside the lids within this."""


_WHOLE = RangeMap(40.0, 1.0)
_FREE_EXPRESSIONS = LookAt("expression", _WHOLE, _WHOLE, _WHOLE, _WHOLE)


class Gaze:
    """One way of moving the eyes, chosen at load: ``bone`` before ``expression`` before ``shapes``."""

    def __init__(self, data: AvatarData, expressions: Expressions, has_shapes: bool) -> None:
        self._map = data.look_at or _FREE
        eyes = "leftEye" in data.human_bones and "rightEye" in data.human_bones
        looks = any(expressions.has(name) for name in ("lookUp", "lookDown", "lookLeft", "lookRight"))
        self.kind: Literal["bone", "expression", "shapes", "none"]
        if eyes and self._map.kind == "bone":
            self.kind = "bone"
        elif looks:
            self.kind = "expression"
        elif has_shapes:
            self.kind = "shapes"
        else:
            self.kind = "bone" if eyes else "none"
        self._index = expressions.index

    def apply(self, gaze: tuple[float, float], poser: Poser, asked: NDArray[np.float64], left: float) -> None:
        """Turn the bones, or raise the look expressions in ``asked``.

        ``left``: what overrideLookAt leaves to the bones (0..1). The expressions are cut by ``Expressions.resolve``.
        """
        yaw, pitch = (math.degrees(v) if math.isfinite(v) else 0.0 for v in gaze)
        ranges = self._map
        if self.kind == "bone":
            yaw, pitch = yaw * left, pitch * left
            up = ranges.vertical_up(pitch) if pitch >= 0 else -ranges.vertical_down(-pitch)
            outer, inner = ranges.horizontal_outer(abs(yaw)), ranges.horizontal_inner(abs(yaw))
            sign = math.copysign(1.0, yaw)
            lefts, rights = (outer, inner) if yaw >= 0 else (inner, outer)
            poser.turn("leftEye", head_turn_one(math.radians(sign * lefts), math.radians(up), 0.0))
            poser.turn("rightEye", head_turn_one(math.radians(sign * rights), math.radians(up), 0.0))
        elif self.kind == "expression":
            scale = ranges if ranges.kind == "expression" else _FREE_EXPRESSIONS
            for name, value in (
                ("lookLeft", scale.horizontal_outer(yaw)),
                ("lookRight", scale.horizontal_outer(-yaw)),
                ("lookUp", scale.vertical_up(pitch)),
                ("lookDown", scale.vertical_down(-pitch)),
            ):
                i = self._index.get(name)
                if i is not None:
                    asked[i] = max(asked[i], min(value, 1.0))

    def shapes(self, gaze: tuple[float, float], weights: NDArray[np.float32]) -> None:
        """Write the eight eyeLook weights for a model whose eyes only they move."""
        yaw, pitch = (math.degrees(v) if math.isfinite(v) else 0.0 for v in gaze)
        for name, value in (
            ("eyeLookOutLeft", yaw / 35.0), ("eyeLookInRight", yaw / 35.0),
            ("eyeLookInLeft", -yaw / 35.0), ("eyeLookOutRight", -yaw / 35.0),
            ("eyeLookUpLeft", pitch / 25.0), ("eyeLookUpRight", pitch / 25.0),
            ("eyeLookDownLeft", -pitch / 25.0), ("eyeLookDownRight", -pitch / 25.0),
        ):  # fmt: skip
            i = ARKIT_INDEX[name]
            weights[i] = min(max(float(weights[i]), value, 0.0), 1.0)
