"""The normalised humanoid: the human bones of an avatar as if no bone had a rotation at rest.

A pose is one quaternion (x, y, z, w) per row of ``BONES``, in the model's axes (+Y up, faces +Z, her left is +X) and
relative to the bone above; the rest pose is all identities. VRMC_vrm_animation calls these normalised local rotations.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from idol.avatar.humanoid import HUMAN_BONES
from idol.avatar.model import AvatarData
from idol.avatar.rotation import inverse, multiply, rotate
from idol.avatar.skeleton import Skeleton

F64 = NDArray[np.float64]

_ABOVE: dict[str, str] = {
    "spine": "hips", "chest": "spine", "upperChest": "chest", "neck": "upperChest", "head": "neck", "jaw": "head",
    "leftEye": "head", "rightEye": "head",
}  # fmt: skip
for _side in ("left", "right"):
    _limb = ("Shoulder", "UpperArm", "LowerArm", "Hand")
    _ABOVE[f"{_side}Shoulder"] = "upperChest"
    _ABOVE |= {f"{_side}{b}": f"{_side}{a}" for a, b in pairwise(_limb)}
    _limb = ("UpperLeg", "LowerLeg", "Foot", "Toes")
    _ABOVE[f"{_side}UpperLeg"] = "hips"
    _ABOVE |= {f"{_side}{b}": f"{_side}{a}" for a, b in pairwise(_limb)}
    for _finger in ("Thumb", "Index", "Middle", "Ring", "Little"):
        _joints = ("Metacarpal", "Proximal", "Distal") if _finger == "Thumb" else ("Proximal", "Intermediate", "Distal")
        _ABOVE[f"{_side}{_finger}{_joints[0]}"] = f"{_side}Hand"
        for _a, _b in pairwise(_joints):
            _ABOVE[f"{_side}{_finger}{_b}"] = f"{_side}{_finger}{_a}"

BONES: tuple[str, ...] = ("hips", *_ABOVE)
"""The 55 human bones, each after the one it hangs on."""
ROW: dict[str, int] = {name: row for row, name in enumerate(BONES)}
ABOVE: tuple[int, ...] = (-1, *(ROW[above] for above in _ABOVE.values()))
"""Row of the bone that each bone hangs on in a complete humanoid, -1 for the hips."""
IDENTITY = np.asarray([0.0, 0.0, 0.0, 1.0])
assert set(BONES) == HUMAN_BONES


def still() -> F64:
    """The rest pose (55, 4)."""
    return np.tile(IDENTITY, (len(BONES), 1))


class Rig:
    """One avatar's human bones, by row of ``BONES``.

    ``has`` (55,) bool; ``above`` (55,) the nearest bone above that is there, or -1; ``rest`` (55, 3) places at rest in
    metres (those of missing bones are the place of the bone above); ``hips_height`` metres above the origin.
    """

    def __init__(self, data: AvatarData, skeleton: Skeleton) -> None:
        self._skeleton = skeleton
        self.has = np.asarray([name in data.human_bones for name in BONES])
        self.rows = np.flatnonzero(self.has)
        self.nodes = np.asarray([data.human_bones[BONES[row]] for row in self.rows], np.int64)
        above = []
        for row in range(len(BONES)):
            at = ABOVE[row]
            while at >= 0 and not self.has[at]:
                at = ABOVE[at]
            above.append(at)
        self.above = tuple(above)
        self.rest = np.zeros((len(BONES), 3))
        for row, name in enumerate(BONES):
            node = data.human_bones.get(name)
            if node is not None:
                self.rest[row] = skeleton.rest_world[node, :3, 3]
            elif ABOVE[row] >= 0:
                self.rest[row] = self.rest[ABOVE[row]]
        parents = skeleton.parents[self.nodes]
        turned = np.where((parents >= 0)[:, None], skeleton.rest_world_rotations[parents], IDENTITY)
        self._before = inverse(turned)
        self._after = multiply(turned, skeleton.rest_rotations[self.nodes])
        self.hips_height = max(float(self.rest[0, 1]), 1e-3)
        self._hips = data.human_bones.get("hips")
        if self._hips is not None:
            parent = int(skeleton.parents[self._hips])
            basis = skeleton.rest_world[parent, :3, :3] if parent >= 0 else np.eye(3)
            self._hips_basis = np.linalg.pinv(basis)

    def write(self, pose: F64, hips_offset: F64 | None = None) -> None:
        """Set the skeleton's local transforms to ``pose`` (55, 4), the hips moved by ``hips_offset`` metres."""
        skeleton = self._skeleton
        skeleton.rotations[self.nodes] = multiply(multiply(self._before, pose[self.rows]), self._after)
        if hips_offset is not None and self._hips is not None:
            skeleton.translations[self._hips] = skeleton.rest_translations[self._hips] + self._hips_basis @ hips_offset

    def solve(self, poses: F64, hips_offset: F64 | None = None) -> tuple[F64, F64]:
        """World rotations (..., 55, 4) and places (..., 55, 3) of normalised ``poses`` (..., 55, 4)."""
        turns, places = poses.copy(), np.empty((*poses.shape[:-1], 3))
        places[..., 0, :] = self.rest[0] if hips_offset is None else self.rest[0] + hips_offset
        for row in range(1, len(BONES)):
            at = self.above[row]
            if at < 0:
                places[..., row, :] = self.rest[row]
                continue
            if self.has[row]:
                turns[..., row, :] = multiply(turns[..., at, :], poses[..., row, :])
            else:
                turns[..., row, :] = turns[..., at, :]
            places[..., row, :] = places[..., at, :] + rotate(turns[..., at, :], self.rest[row] - self.rest[at])
        return turns, places
