"""Body: from a FacePose to local rotations of the human bones.

Turns are given in the model's axes at rest, as three-vrm's normalised humanoid does: a bone's own axes may point
anywhere, so each turn is carried into the bone's frame by its parent's rest rotation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from idol.avatar.model import AvatarData
from idol.avatar.rotation import Quaternion, about_one, head_turn_one, multiply_one
from idol.avatar.skeleton import Skeleton
from idol.seams import FacePose

F64 = NDArray[np.float64]

HEAD_SHARES = {"head": 0.58, "neck": 0.30, "upperChest": 0.07, "chest": 0.05}
"""How a turn of the head is spread: a head that turns alone looks screwed on."""
BODY_SHARES = {"upperChest": 0.35, "chest": 0.35, "spine": 0.30}
ARM_ANGLE = math.radians(72.0)
"""Below the horizontal; a T-pose is what modelling wants, not what a person does."""
_STANDS_IN = {"upperChest": "chest", "chest": "spine", "neck": "head", "spine": "hips"}


class Poser:
    """Writes human bone rotations into a skeleton."""

    def __init__(self, data: AvatarData, skeleton: Skeleton) -> None:
        self._skeleton = skeleton
        self._bones = data.human_bones
        self._before: dict[str, tuple[Quaternion, Quaternion]] = {}
        for name, node in self._bones.items():
            parent = int(skeleton.parents[node])
            x, y, z, w = skeleton.rest_world_rotations[parent].tolist() if parent >= 0 else (0.0, 0.0, 0.0, 1.0)
            rest = tuple(skeleton.rest_rotations[node].tolist())
            self._before[name] = ((-x, -y, -z, w), multiply_one((x, y, z, w), rest))
        self._head_shares = self._shares(HEAD_SHARES)
        self._body_shares = self._shares(BODY_SHARES)
        self._stance = self._relaxed_arms()
        self._shoulders = {
            name: self._stance.pop(name, about_one(2, 0.0))
            for name in ("leftShoulder", "rightShoulder")
            if name in self._bones
        }
        self._held = False
        self.hold(None)

    def hold(self, turns: Mapping[str, Quaternion] | None) -> None:
        """Hold the human bones at ``turns``, all others at rest, whatever ``apply`` is asked. None: the stance again.

        Bones the model lacks are left out.
        """
        self._held = turns is not None
        self._skeleton.rotations[:] = self._skeleton.rest_rotations
        for name, turn in (self._stance if turns is None else turns).items():
            self.turn(name, turn)

    def _shares(self, wanted: dict[str, float]) -> dict[str, float]:
        """The shares over the bones that are there: one that is missing hands its share to the next one down."""
        found: dict[str, float] = {}
        for name, share in wanted.items():
            at: str | None = name
            while at is not None and at not in self._bones:
                at = _STANDS_IN.get(at)
            if at is not None and at != "hips":
                found[at] = found.get(at, 0.0) + share
        total = sum(found.values())
        return {name: share / total for name, share in found.items()} if total else {}

    def turn(self, bone: str, rotation: Quaternion) -> None:
        """Set a human bone to ``rotation`` (quaternion in the model's axes), relative to rest."""
        held = self._before.get(bone)
        if held is not None:
            self._skeleton.rotations[self._bones[bone]] = multiply_one(held[0], multiply_one(rotation, held[1]))

    def _position(self, bone: str) -> F64 | None:
        node = self._bones.get(bone)
        return None if node is None else self._skeleton.rest_world[node, :3, 3]

    def _relaxed_arms(self) -> dict[str, Quaternion]:
        stance: dict[str, Quaternion] = {}
        for side, sign in (("left", 1.0), ("right", -1.0)):
            upper, lower = self._position(f"{side}UpperArm"), self._position(f"{side}LowerArm")
            if upper is None or lower is None:
                continue
            along = lower - upper
            below = math.atan2(-along[1], max(math.hypot(along[0], along[2]), 1e-6))
            if below > math.radians(50.0):
                continue
            stance[f"{side}Shoulder"] = about_one(2, -sign * math.radians(3.0))
            drop = ARM_ANGLE - below - (math.radians(3.0) if f"{side}Shoulder" in self._bones else 0.0)
            stance[f"{side}UpperArm"] = multiply_one(about_one(2, -sign * drop), about_one(0, math.radians(4.0)))
            stance[f"{side}LowerArm"] = about_one(1, -sign * math.radians(14.0))
            stance[f"{side}Hand"] = about_one(2, -sign * math.radians(4.0))
            for finger, curl in (("Index", 8.0), ("Middle", 12.0), ("Ring", 15.0), ("Little", 18.0)):
                for part, factor in (("Proximal", 1.0), ("Intermediate", 1.4), ("Distal", 0.9)):
                    stance[f"{side}{finger}{part}"] = about_one(2, -sign * math.radians(curl * factor))
        return stance

    @property
    def turns_head(self) -> bool:
        return "head" in self._bones

    def apply(self, pose: FacePose) -> None:
        """Head, neck, chest, shoulders and spine for one frame."""
        if self._held:
            return
        yaw, pitch, roll = _bounded(pose.head, 1.2)
        body = _bounded(pose.body, 0.8)
        breath = min(max(pose.breath, 0.0), 1.0) if math.isfinite(pose.breath) else 0.0
        turns: dict[str, list[float]] = {}
        for bone, share in self._head_shares.items():
            held = turns.setdefault(bone, [0.0, 0.0, 0.0])
            # The chest follows a turn of the head but not its nod.
            nod = share if bone in ("head", "neck") or "neck" not in self._head_shares else share * 0.3
            held[0] += yaw * share
            held[1] += pitch * nod
            held[2] += roll * share
        for bone, share in self._body_shares.items():
            held = turns.setdefault(bone, [0.0, 0.0, 0.0])
            for k in range(3):
                held[k] += body[k] * share
        chest = "upperChest" if "upperChest" in self._bones else "chest"
        if chest in turns:
            turns[chest][1] += math.radians(1.3) * breath
            if "neck" in turns:
                turns["neck"][1] -= math.radians(1.0) * breath
        for bone, (a, b, c) in turns.items():
            self.turn(bone, head_turn_one(a, b, c))
        for bone, rest in self._shoulders.items():
            sign = 1.0 if bone.startswith("left") else -1.0
            self.turn(bone, multiply_one(about_one(2, sign * math.radians(1.4) * breath), rest))


def _bounded(values: tuple[float, float, float], limit: float) -> tuple[float, float, float]:
    a, b, c = (min(max(v, -limit), limit) if math.isfinite(v) else 0.0 for v in values)
    return a, b, c
