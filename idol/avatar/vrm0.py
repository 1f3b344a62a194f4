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
    FirstPerson,
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
        if expression.name:
            data.expressions.setdefault(expression.name, expression)
    first_person = vrm.child("firstPerson")
    if first_person is not None:
        data.look_at = _look_at(first_person)
        _first_person(first_person, data)
    properties = vrm.entries("materialProperties")
    data.stats.shaders = tuple(dict.fromkeys(item.text("shader") for item in properties))
    for material, item in zip(data.materials, properties, strict=False):
        apply_mtoon0(material, item, len(data.textures), data.warnings)
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
        return Meta(spec="0.x")
    kept = (
        "allowedUserName", "violentUssageName", "sexualUssageName", "commercialUssageName", "otherPermissionUrl",
        "otherLicenseUrl",
    )  # fmt: skip
    author, reference = meta.text("author"), meta.text("reference")
    return Meta(
        spec="0.x",
        title=meta.text("title"),
        authors=(author,) if author else (),
        version=meta.text("version"),
        licence=meta.text("licenseName"),
        contact=meta.text("contactInformation"),
        references=(reference,) if reference else (),
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
    colors: list[ColorBind] = []
    uvs: list[UvBind] = []
    for value in group.items("materialValues"):
        _material_value(value, data, colors, uvs)
    return Expression(
        name=name,
        custom=preset not in _PRESETS,
        is_binary=group.flag("isBinary"),
        morphs=tuple(morphs),
        colors=tuple(colors),
        uvs=tuple(uvs),
    )


def _material_value(value: Cursor, data: AvatarData, colors: list[ColorBind], uvs: list[UvBind]) -> None:
    """A material is named by its name; all that have it are meant."""
    name, kind = value.text("materialName"), value.text("propertyName")
    found = [i for i, material in enumerate(data.materials) if name and material.name == name]
    if not found or (kind not in _COLORS and kind not in ("_MainTex_ST", "_MainTex_ST_S", "_MainTex_ST_T")):
        data.warnings.append(f"{value.path} changes {kind or 'nothing'} of a material, which is not there or not drawn")
        return
    raw = value.raw("targetValue")
    given = value.vector("targetValue", (), len(raw)) if isinstance(raw, list | dict) else ()
    target = (*given, *(1.0, 1.0, 1.0, 1.0)[len(given) :])[:4]
    if kind in _COLORS:
        color = (*(linear(c) for c in target[:3]), target[3])
        colors += [ColorBind(material, _COLORS[kind], color) for material in found]
        return
    scale, offset = [target[0], target[1]], [target[2], target[3]]
    if kind.endswith("_S"):
        scale[1], offset[1] = 1.0, 0.0
    elif kind.endswith("_T"):
        scale[0], offset[0] = 1.0, 0.0
    # Unity's texture origin is the lower left corner, glTF's the upper left.
    uvs += [UvBind(material, (offset[0], 1.0 - offset[1] - scale[1]), (scale[0], scale[1])) for material in found]


def _first_person(first_person: Cursor, data: AvatarData) -> None:
    kinds: dict[str, FirstPerson] = {
        "auto": "auto", "both": "both", "thirdpersononly": "thirdPersonOnly", "firstpersononly": "firstPersonOnly",
    }  # fmt: skip
    for item in first_person.items("meshAnnotations"):
        mesh, kind = item.whole("mesh", -1, low=-1), kinds.get(item.text("firstPersonFlag").lower())
        if kind is not None:
            for node, held in data.mesh_of_node.items():
                if held == mesh:
                    data.first_person.setdefault(node, kind)


def _look_at(first_person: Cursor) -> LookAt:
    """A range's ``curve`` is not followed, as in three-vrm: real files hold curves that lift both sides at rest."""
    bone = first_person.text("lookAtTypeName", "Bone") != "BlendShape"

    def range_of(key: str) -> RangeMap:
        found = first_person.child(key)
        output = 10.0 if bone else 1.0
        if found is None:
            return RangeMap(90.0, output)
        return RangeMap(found.number("xRange", 90.0), found.number("yRange", output))

    # In Unity's left-handed space; only the root of the model is turned, so the head's own axes are the file's.
    x, y, z = first_person.vector("firstPersonBoneOffset", (0.0, 0.06, 0.0))
    return LookAt(
        kind="bone" if bone else "expression",
        offset_from_head=(x, y, -z),
        horizontal_inner=range_of("lookAtHorizontalInner"),
        horizontal_outer=range_of("lookAtHorizontalOuter"),
        vertical_down=range_of("lookAtVerticalDown"),
        vertical_up=range_of("lookAtVerticalUp"),
    )


def _springs(secondary: Cursor, data: AvatarData) -> None:
    nodes = len(data.node_names)
    groups = [_collider_group(group, data) for group in secondary.entries("colliderGroups")]
    children: dict[int, list[int]] = {}
    for node, parent in enumerate(data.parents):
        children.setdefault(int(parent), []).append(node)
    tips = _Tips(data)
    swung: set[int] = set()
    for group in secondary.items("boneGroups"):
        x, y, z = group.vector("gravityDir", (0.0, -1.0, 0.0))
        power = group.number("gravityPower", 0.0)
        model = SpringJoint(
            0,
            max(0.0, group.number("hitRadius", 0.0)),
            max(0.0, group.number("stiffiness", group.number("stiffness", 1.0))),
            min(max(group.number("dragForce", 0.5), 0.0), 1.0),
            # A direction in Unity's world, where the model faces +Z as it does here, but x points the other way.
            (-x * power, y * power, z * power),
        )
        used = tuple(c for g in _valid(group, "colliderGroups", len(groups), data) for c in groups[g])
        middle = group.whole("center", -1, low=-1)
        starts = _valid(group, "bones", nodes, data)
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
                    chain.append(tips.add(at))
                    break
                at = below[0]
            if len(chain) > 1:
                joints = tuple(SpringJoint(n, model.radius, model.stiffness, model.drag, model.gravity) for n in chain)
                data.springs.append(Spring(name, joints, used, middle if 0 <= middle < nodes else None))
    tips.finish()
    data.stats.springs, data.stats.collider_groups = len(secondary.items("boneGroups")), len(groups)


def _collider_group(group: Cursor, data: AvatarData) -> tuple[int, ...]:
    node = group.whole("node", -1, low=-1)
    first = len(data.colliders)
    if not 0 <= node < len(data.node_names):
        return ()
    for item in group.items("colliders"):
        # Offsets are written in Unity's left-handed space.
        x, y, z = item.vector("offset", (0.0, 0.0, 0.0))
        data.colliders.append(Collider(node, (x, y, -z), max(0.0, item.number("radius", 0.0))))
    return tuple(range(first, len(data.colliders)))


def _valid(owner: Cursor, key: str, count: int, data: AvatarData) -> list[int]:
    """The indices under ``key``; those that point nowhere (UniVRM writes -1 for what was deleted) are left out."""
    found = [item for item in owner.wholes(key) if 0 <= item < count]
    if len(found) < len(owner.wholes(key)):
        data.warnings.append(f"{owner.path}.{key} points at something that is not there")
    return found


class _Tips:
    """Nodes 7 cm past the ends of chains, along the last bone's own direction."""

    def __init__(self, data: AvatarData) -> None:
        self._data = data
        self._bones: list[int] = []

    def add(self, node: int) -> int:
        """The number that the tip of ``node`` will have."""
        self._bones.append(node)
        return len(self._data.node_names) + len(self._bones) - 1

    def finish(self) -> None:
        data, bones = self._data, self._bones
        offsets = data.translations[bones]
        lengths = np.linalg.norm(offsets, axis=1, keepdims=True)
        down = np.asarray([0.0, -1.0, 0.0], np.float32)
        tips = np.where(lengths > 1e-6, offsets / np.maximum(lengths, 1e-6), down) * _LEAF_LENGTH
        count = len(bones)
        data.parents = np.append(data.parents, np.asarray(bones, np.int32)).astype(np.int32)
        data.translations = np.vstack([data.translations, tips]).astype(np.float32)
        data.rotations = np.vstack([data.rotations, np.tile([0, 0, 0, 1], (count, 1))]).astype(np.float32)
        data.scales = np.vstack([data.scales, np.ones((count, 3))]).astype(np.float32)
        data.node_names = (*data.node_names, *(f"{data.node_names[bone]}_end" for bone in bones))
