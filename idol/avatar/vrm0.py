"""VRM 0.x in VRM 1.0's terms: the model is turned to face +Z, names and numbers change as UniVRM migrates them."""

from __future__ import annotations

import numpy as np

from idol.avatar.cursor import Cursor
from idol.avatar.humanoid import read_vrm0_bones
from idol.avatar.model import (
    AvatarData,
    Collider,
    ColorBind,
    ColorField,
    Expression,
    LookAt,
    Meta,
    MorphBind,
    RangeMap,
    Spring,
    SpringJoint,
    UvBind,
)
from idol.avatar.mtoon0 import apply_mtoon0, linear
from idol.avatar.rotation import multiply

_PRESETS = {
    "a": "aa", "i": "ih", "u": "ou", "e": "ee", "o": "oh", "blink": "blink", "joy": "happy", "angry": "angry",
    "sorrow": "sad", "fun": "relaxed", "lookup": "lookUp", "lookdown": "lookDown", "lookleft": "lookLeft",
    "lookright": "lookRight", "blink_l": "blinkLeft", "blink_r": "blinkRight", "neutral": "neutral",
}  # fmt: skip
_COLORS: dict[str, ColorField] = {
    "_Color": "color", "_EmissionColor": "emissionColor", "_ShadeColor": "shadeColor", "_RimColor": "rimColor",
    "_OutlineColor": "outlineColor",
}  # fmt: skip
_LEAF_LENGTH = 0.07
"""Metres: UniVRM gives a bone without children a tail of 7 cm."""


def apply_vrm0(data: AvatarData, vrm: Cursor) -> None:
    """Fill ``data`` from the extension ``VRM``."""
    data.vrm_version = "0.x"
    _face_forward(data)
    data.meta = _meta(vrm)
    humanoid = vrm.child("humanoid")
    if humanoid is not None:
        data.human_bones = read_vrm0_bones(humanoid, len(data.node_names))
    master = vrm.child("blendShapeMaster")
    for group in [] if master is None else master.items("blendShapeGroups"):
        expression = _expression(group, data)
        data.expressions.setdefault(expression.name, expression)
    first_person = vrm.child("firstPerson")
    if first_person is not None:
        data.look_at = _look_at(first_person)
    for material, item in zip(data.materials, vrm.items("materialProperties"), strict=False):
        apply_mtoon0(material, item, len(data.textures))
    secondary = vrm.child("secondaryAnimation")
    if secondary is not None:
        _springs(secondary, data)


def _face_forward(data: AvatarData) -> None:
    half_turn = np.asarray([0.0, 1.0, 0.0, 0.0])
    for node in np.flatnonzero(data.parents < 0):
        data.translations[node] *= np.asarray([-1, 1, -1], np.float32)
        data.rotations[node] = multiply(half_turn, data.rotations[node].astype(np.float64))


def _meta(vrm: Cursor) -> Meta:
    meta = vrm.child("meta")
    if meta is None:
        return Meta()
    kept = (
        "allowedUserName", "violentUssageName", "sexualUssageName", "commercialUssageName", "otherPermissionUrl",
        "otherLicenseUrl", "reference", "contactInformation",
    )  # fmt: skip
    author = meta.text("author")
    return Meta(
        title=meta.text("title"),
        authors=(author,) if author else (),
        version=meta.text("version"),
        licence=meta.text("licenseName"),
        allow_redistribution=None,
        permissions={key: str(meta.raw(key))[:500] for key in kept if meta.raw(key)},
    )


def _expression(group: Cursor, data: AvatarData) -> Expression:
    preset, given = group.text("presetName").lower(), group.text("name")
    name = _PRESETS.get(preset, given)
    if name == given and given.lower() == "surprised":
        name = "surprised"
    morphs = []
    for bind in group.items("binds"):
        mesh, index = bind.whole("mesh", -1, low=-1), bind.whole("index", -1, low=-1)
        nodes = [node for node, held in data.mesh_of_node.items() if held == mesh]
        if not nodes or not 0 <= index < len(data.morph_names[mesh]):
            data.warnings.append(f"{bind.path} points at a morph that is not there")
            continue
        weight = min(max(bind.number("weight", 100.0) / 100.0, 0.0), 1.0)
        morphs += [MorphBind(node, index, weight) for node in nodes]
    colors, uvs = [], []
    for value in group.items("materialValues"):
        found = [i for i, material in enumerate(data.materials) if material.name == value.text("materialName")]
        kind = value.text("propertyName")
        target = value.vector("targetValue", (1.0, 1.0, 1.0, 1.0))
        for material in found:
            if kind in _COLORS:
                colors.append(ColorBind(material, _COLORS[kind], (*(linear(c) for c in target[:3]), target[3])))
            elif kind.startswith("_MainTex_ST"):
                offset = (target[2], 1.0 - target[1] - target[3])
                uvs.append(UvBind(material, offset, (target[0], target[1])))
    return Expression(
        name=name,
        custom=preset not in _PRESETS,
        is_binary=group.flag("isBinary"),
        morphs=tuple(morphs),
        colors=tuple(colors),
        uvs=tuple(uvs),
    )


def _look_at(first_person: Cursor) -> LookAt:
    bone = first_person.text("lookAtTypeName", "Bone") != "BlendShape"

    def range_of(key: str) -> RangeMap:
        found = first_person.child(key)
        output = 10.0 if bone else 1.0
        if found is None:
            return RangeMap(90.0, output)
        return RangeMap(found.number("xRange", 90.0), found.number("yRange", output))

    held = first_person.child("firstPersonBoneOffset")
    # As colliders' offsets, in Unity's axes: z points the other way.
    offset = (
        (0.0, 0.06, 0.0) if held is None else (held.number("x", 0.0), held.number("y", 0.06), -held.number("z", 0.0))
    )
    return LookAt(
        kind="bone" if bone else "expression",
        horizontal_inner=range_of("lookAtHorizontalInner"),
        horizontal_outer=range_of("lookAtHorizontalOuter"),
        vertical_down=range_of("lookAtVerticalDown"),
        vertical_up=range_of("lookAtVerticalUp"),
        offset_from_head=offset,
    )


def _springs(secondary: Cursor, data: AvatarData) -> None:
    nodes = len(data.node_names)
    groups: list[tuple[int, ...]] = []
    for group in secondary.items("colliderGroups"):
        node = group.index("node", nodes, "node")
        first = len(data.colliders)
        for item in group.items("colliders"):
            # Offsets are written in Unity's left-handed space.
            x, y, z = item.vector("offset", (0.0, 0.0, 0.0))
            if node is not None:
                data.colliders.append(Collider(node, (x, y, -z), item.number("radius", 0.0)))
        groups.append(tuple(range(first, len(data.colliders))))
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(data.parents):
        children.setdefault(int(parent), []).append(node)
    swung: set[int] = set()
    for group in secondary.items("boneGroups"):
        x, y, z = group.vector("gravityDir", (0.0, -1.0, 0.0))
        power = group.number("gravityPower", 0.0)
        model = SpringJoint(
            0,
            max(0.0, group.number("hitRadius", 0.0)),
            max(0.0, group.number("stiffiness", group.number("stiffness", 1.0))),
            min(max(group.number("dragForce", 0.5), 0.0), 1.0),
            (-x * power, y * power, -z * power),
        )
        used = tuple(c for g in group.indices("colliderGroups", len(groups), "collider group") for c in groups[g])
        center = group.raw("center")
        middle = None if center in (None, -1) else group.index("center", nodes, "node")
        starts = list(group.indices("bones", nodes, "node"))
        name = group.text("comment")
        while starts:
            at = starts.pop()
            chain = []
            while at not in swung:
                swung.add(at)
                chain.append(at)
                below = children.get(at, [])
                starts += below[1:]
                if not below:
                    chain.append(_add_leaf(data, at))
                    break
                at = below[0]
            if len(chain) > 1:
                joints = tuple(SpringJoint(n, model.radius, model.stiffness, model.drag, model.gravity) for n in chain)
                data.springs.append(Spring(name, joints, used, middle))
    data.stats.springs = len(secondary.items("boneGroups"))


def _add_leaf(data: AvatarData, node: int) -> int:
    """A node 7 cm past ``node``, along its own direction; returns its number."""
    offset = data.translations[node]
    length = float(np.linalg.norm(offset))
    tip = offset / length * _LEAF_LENGTH if length > 1e-6 else np.asarray([0.0, -_LEAF_LENGTH, 0.0])
    data.parents = np.append(data.parents, np.int32(node)).astype(np.int32)
    data.translations = np.vstack([data.translations, tip]).astype(np.float32)
    data.rotations = np.vstack([data.rotations, [0, 0, 0, 1]]).astype(np.float32)
    data.scales = np.vstack([data.scales, [1, 1, 1]]).astype(np.float32)
    data.node_names = (*data.node_names, f"{data.node_names[node]}_end")
    return len(data.node_names) - 1
