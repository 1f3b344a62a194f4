"""One avatar file in our program and in three-vrm at once, brought to the same state."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from idol.avatar import Avatar, load_avatar
from idol.avatar.rotation import Quaternion, multiply
from idol.seams import FacePose
from tests.peers.three_vrm import ThreeVrm

F64 = NDArray[np.float64]
FRAME = 1 / 60
COLORS = {
    "color": "base_color", "shadeColorFactor": "shade_color", "emissive": "emissive",
    "parametricRimColorFactor": "rim_color", "matcapFactor": "matcap_factor", "outlineColorFactor": "outline_color",
}  # fmt: skip
"""three-vrm's name of a colour and ours."""


class Pair:
    """``ours``, and ``theirs``: what three-vrm tells on loading. ``state`` is three-vrm's after a pose."""

    def __init__(self, path: Path, peer: ThreeVrm) -> None:
        self.path = path
        self.peer = peer
        self.ours: Avatar = load_avatar(path)
        self.theirs = peer.load(path)
        self.state: dict[str, Any] = {}
        self.ours.hold_bones({})

    def pose(
        self,
        turns: Mapping[str, Quaternion] | None = None,
        expressions: Mapping[str, float] | None = None,
        target: F64 | None = None,
    ) -> None:
        """Both take ``turns`` and ``expressions``, look at ``target`` (a point in the world), springs at rest in it."""
        turns, expressions = dict(turns or {}), dict(expressions or {})
        self._turn(turns)
        for name in self.ours.expression_names:
            self.ours.set_expression(name, expressions.get(name, 0.0))
        self.ours.reset_springs()
        self._update((0.0, 0.0), 0.0)
        if target is not None:
            self._update(self.ours.gaze_at(target), 0.0)
        self.state = self.peer.pose(self._turned(turns), expressions, target)

    def swing(self, turns: Mapping[str, Quaternion], steps: int) -> None:
        """Both take ``turns`` and let the springs swing on for ``steps`` frames."""
        self._turn(turns)
        for _ in range(steps):
            self._update((0.0, 0.0), FRAME)
        self.state = self.peer.pose(self._turned(turns), steps=steps, seconds=FRAME, reset=False)

    def our_corners(self, stride: int) -> dict[tuple[int, int], F64]:
        """As ``ThreeVrm.corners``: what the vertex shader makes of our data, on the processor."""
        found: dict[tuple[int, int], F64] = {}
        for primitive, blend in zip(self.ours.data.primitives, self.ours.blends, strict=True):
            points = primitive.positions.astype(np.float64)
            moved = blend.slots >= 0
            points[moved] += blend.offsets[blend.slots[moved], :3]
            at = primitive.indices[::stride]
            flat = np.concatenate([points[at], np.ones((len(at), 1))], 1)
            matrices = self.ours.palette[primitive.joints[at]].astype(np.float64)
            world = np.einsum("vk,vkij,vj->vi", primitive.weights[at], matrices, flat)
            number = sum(node == primitive.node for node, _ in found)
            found[primitive.node, number] = world
        return found

    def our_morphs(self) -> dict[int, F64]:
        """Weights by node, as ``state['morphs']``."""
        held = self.ours.expressions
        return {node: self.ours.morph_weights[at : at + held.sizes[node]] for node, at in held.first.items()}

    def our_material(self, index: int) -> dict[str, list[float]]:
        """Present colours and texture transform of a material under three-vrm's names."""
        material, change = self.ours.data.materials[index], self.ours.material_changes.get(index)
        colors = change.colors if change else {}
        found = {
            theirs: [float(v) for v in colors.get(ours, getattr(material, ours))[:3]] for theirs, ours in COLORS.items()
        }
        if material.base_texture:
            offset, scale = material.base_texture.offset, material.base_texture.scale
            offset, scale = change.moved(offset, scale) if change else (offset, scale)
            found["offset"], found["repeat"] = list(offset), list(scale)
        return found

    def _update(self, gaze: tuple[float, float], seconds: float) -> None:
        self.ours.update(FacePose(np.zeros(52, np.float32), gaze=gaze), seconds)

    def _turn(self, turns: Mapping[str, Quaternion]) -> None:
        self.ours.hold_bones(turns)

    def _turned(self, turns: Mapping[str, Quaternion]) -> dict[str, Quaternion]:
        """three-vrm keeps the axes of VRM 0.x, whose models face -Z, and turns the whole scene."""
        if self.theirs["version"] != "0":
            return dict(turns)
        return {name: (-x, y, -z, w) for name, (x, y, z, w) in turns.items()}


def _world_rotation(avatar: Avatar, node: int) -> F64:
    at, out = int(avatar.skeleton.parents[node]), avatar.skeleton.rotations[node]
    while at >= 0:
        out = multiply(avatar.skeleton.rotations[at], out)
        at = int(avatar.skeleton.parents[at])
    return out


def world_rotation(avatar: Avatar, bone: str) -> F64:
    """World rotation (x y z w) of a human bone in the pose of the last update."""
    return _world_rotation(avatar, avatar.data.human_bones[bone])
