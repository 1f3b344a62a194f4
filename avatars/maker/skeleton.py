"""The bones: names, parents and places. VRM 1.0 wants them facing +Z, in a T-pose; her left is +X. Metres."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

H = 0.25
"""Height of the head, chin to crown."""
CHIN = 1.292
"""Height of the chin above the floor."""


def head_point(x: float, y: float, z: float) -> tuple[float, float, float]:
    """A point given in heights of the head (chin 0, crown 1)."""
    return x * H, CHIN + y * H, z * H


_SPINE = [
    ("hips", None, (0.0, 0.80, 0.0)), ("spine", "hips", (0.0, 0.885, 0.0)), ("chest", "spine", (0.0, 0.985, -0.004)),
    ("upperChest", "chest", (0.0, 1.09, -0.008)), ("neck", "upperChest", (0.0, 1.236, -0.012)),
    ("head", "neck", (0.0, 1.302, -0.004)), ("jaw", "head", head_point(0.0, 0.24, -0.05)),
]  # fmt: skip
ARM_Y, ARM_Z = 1.198, -0.012
SHOULDER_X, ELBOW_X, WRIST_X = 0.104, 0.322, 0.532
_LEFT = [
    ("Shoulder", "upperChest", (0.028, 1.196, -0.01)), ("UpperArm", "leftShoulder", (SHOULDER_X, ARM_Y, ARM_Z)),
    ("LowerArm", "leftUpperArm", (ELBOW_X, ARM_Y, ARM_Z)), ("Hand", "leftLowerArm", (WRIST_X, ARM_Y, ARM_Z)),
    ("UpperLeg", "hips", (0.069, 0.775, 0.0)), ("LowerLeg", "leftUpperLeg", (0.0665, 0.430, 0.002)),
    ("Foot", "leftLowerLeg", (0.0655, 0.090, -0.014)), ("Toes", "leftFoot", (0.070, 0.026, 0.072)),
]  # fmt: skip
FINGERS = {
    # knuckle (from the wrist), joint lengths, radius
    "Thumb": ((0.022, -0.006, 0.020), (0.032, 0.026, 0.020), 0.0078),
    "Index": ((0.076, 0.002, 0.023), (0.030, 0.020, 0.018), 0.0068),
    "Middle": ((0.079, 0.003, 0.007), (0.033, 0.022, 0.019), 0.0068),
    "Ring": ((0.076, 0.002, -0.009), (0.030, 0.020, 0.018), 0.0064),
    "Little": ((0.070, 0.000, -0.024), (0.024, 0.016, 0.015), 0.0058),
}
THUMB_WAY = np.array([0.62, -0.18, 0.76])


def finger_joints(name: str) -> tuple[NDArray[np.float64], float]:
    """The three joints and the tip of a finger of her left hand (4, 3), and its radius."""
    knuckle, lengths, radius = FINGERS[name]
    way = THUMB_WAY / np.linalg.norm(THUMB_WAY) if name == "Thumb" else np.array([1.0, 0.0, 0.0])
    if name != "Thumb":
        way = way + np.array([0.0, 0.0, {"Index": 0.06, "Middle": 0.01, "Ring": -0.04, "Little": -0.09}[name]])
        way /= np.linalg.norm(way)
    start = np.array([WRIST_X, ARM_Y, ARM_Z]) + knuckle
    return start + np.concatenate([[0.0], np.cumsum(lengths)])[:, None] * way, radius


def human_bones() -> dict[str, tuple[str | None, tuple[float, float, float]]]:
    """Bone to (parent, place), parents first."""
    found: dict[str, tuple[str | None, tuple[float, float, float]]] = {n: (p, at) for n, p, at in _SPINE}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for name, parent, (x, y, z) in _LEFT:
            found[side + name] = (parent.replace("left", side), (sign * x, y, z))
        for finger in FINGERS:
            parts = ("Metacarpal", "Proximal", "Distal") if finger == "Thumb" else (
                "Proximal", "Intermediate", "Distal")  # fmt: skip
            parent = f"{side}Hand"
            for part, (x, y, z) in zip(parts, finger_joints(finger)[0], strict=False):
                found[f"{side}{finger}{part}"] = (parent, (sign * float(x), float(y), float(z)))
                parent = f"{side}{finger}{part}"
    return found
