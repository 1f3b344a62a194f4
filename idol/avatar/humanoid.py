"""The human bones of VRM 1.0 and where they are found in files that say it another way."""

from __future__ import annotations

import re
from collections.abc import Sequence

from idol.avatar.cursor import Cursor

_FINGERS = tuple(
    f"{side}{finger}{part}"
    for side in ("left", "right")
    for finger, parts in (
        ("Thumb", ("Metacarpal", "Proximal", "Distal")),
        ("Index", ("Proximal", "Intermediate", "Distal")),
        ("Middle", ("Proximal", "Intermediate", "Distal")),
        ("Ring", ("Proximal", "Intermediate", "Distal")),
        ("Little", ("Proximal", "Intermediate", "Distal")),
    )
    for part in parts
)
_LIMBS = tuple(
    f"{side}{name}"
    for side in ("left", "right")
    for name in ("Eye", "UpperLeg", "LowerLeg", "Foot", "Toes", "Shoulder", "UpperArm", "LowerArm", "Hand")
)
HUMAN_BONES: frozenset[str] = frozenset(
    ("hips", "spine", "chest", "upperChest", "neck", "head", "jaw", *_LIMBS, *_FINGERS)
)
"""The 55 bones of VRMC_vrm humanoid."""

_VRM0_THUMBS = {"ThumbProximal": "ThumbMetacarpal", "ThumbIntermediate": "ThumbProximal"}

_RIG_NAMES = {
    "hips": "hips", "pelvis": "hips", "spine": "spine", "spine1": "chest", "spine2": "upperChest", "chest": "chest",
    "upperchest": "upperChest", "neck": "neck", "head": "head", "jaw": "jaw",
    "lefteye": "leftEye", "righteye": "rightEye", "eyel": "leftEye", "eyer": "rightEye",
    "leftshoulder": "leftShoulder", "rightshoulder": "rightShoulder",
    "leftarm": "leftUpperArm", "rightarm": "rightUpperArm",
    "leftforearm": "leftLowerArm", "rightforearm": "rightLowerArm", "lefthand": "leftHand", "righthand": "rightHand",
}  # fmt: skip


def read_vrm1_bones(humanoid: Cursor, nodes: int) -> dict[str, int]:
    """``humanBones`` of VRMC_vrm: bone to node."""
    found = {}
    for name, bone in humanoid.members("humanBones"):
        node = bone.index("node", nodes, "node")
        if name in HUMAN_BONES and node is not None:
            found[name] = node
    return found


def read_vrm0_bones(humanoid: Cursor, nodes: int) -> dict[str, int]:
    """``humanBones`` of VRM 0.x. Its thumb bones are named one joint further out than VRM 1.0's."""
    found = {}
    for bone in humanoid.items("humanBones"):
        name = bone.text("bone")
        for old, new in _VRM0_THUMBS.items():
            if name.endswith(old):
                name = name.removesuffix(old) + new
                break
        raw = bone.raw("node")
        # UniVRM writes -1 for a bone that is not assigned.
        if raw == -1:
            continue
        node = bone.index("node", nodes, "node")
        if name in HUMAN_BONES and node is not None:
            found[name] = node
    return found


def guess_bones(names: Sequence[str]) -> dict[str, int]:
    """Human bones of a file without VRM, by the usual rig names (Mixamo and its kin)."""
    found: dict[str, int] = {}
    for node, name in enumerate(names):
        plain = re.sub(r"[^a-z0-9]", "", name.lower().split(":")[-1]).removeprefix("mixamorig")
        bone = _RIG_NAMES.get(plain)
        if bone is not None:
            found.setdefault(bone, node)
    return found
