"""VRMC_vrm 1.0, VRMC_springBone 1.0 and VRMC_node_constraint 1.0 into plain data."""

from __future__ import annotations

import math
from typing import Any, cast, get_args

from idol.avatar.cursor import Cursor
from idol.avatar.humanoid import read_vrm1_bones
from idol.avatar.model import (
    AvatarData,
    Collider,
    ColorBind,
    ColorField,
    Constraint,
    Expression,
    FirstPerson,
    LookAt,
    Meta,
    MorphBind,
    Override,
    RangeMap,
    Spring,
    SpringJoint,
    UvBind,
)

PRESETS = (
    "happy", "angry", "sad", "relaxed", "surprised", "neutral", "aa", "ih", "ou", "ee", "oh", "blink", "blinkLeft",
    "blinkRight", "lookUp", "lookDown", "lookLeft", "lookRight",
)  # fmt: skip


def apply_vrm1(data: AvatarData, vrm: Cursor, root: Cursor) -> None:
    """Fill ``data`` from the extension ``VRMC_vrm`` and its companions."""
    data.vrm_version = "1.0"
    written = vrm.text("specVersion", "1.0")
    if written not in ("1.0", "1.0-beta"):
        data.warnings.append(f"VRMC_vrm.specVersion is {written[:20]!r}; it is read as 1.0")
    data.meta = _meta(vrm)
    humanoid = vrm.child("humanoid")
    if humanoid is not None:
        data.human_bones = read_vrm1_bones(humanoid, len(data.node_names))
    if "head" not in data.human_bones:
        data.warnings.append("VRMC_vrm.humanoid has no head bone: the head will not turn")
    expressions = vrm.child("expressions")
    if expressions is not None:
        for kind in ("preset", "custom"):
            for name, item in expressions.members(kind):
                if kind == "custom" and name in PRESETS:
                    continue
                data.expressions[name] = _expression(name, kind == "custom", item, data)
    look = vrm.child("lookAt")
    if look is not None:
        data.look_at = _look_at(look)
    first_person = vrm.child("firstPerson")
    if first_person is not None:
        for item in first_person.items("meshAnnotations"):
            number, seen = item.index("node", len(data.node_names), "node"), item.text("type")
            if number is not None and seen in get_args(FirstPerson):
                data.first_person.setdefault(number, cast(FirstPerson, seen))
    extensions = root.child("extensions")
    spring = None if extensions is None else extensions.child("VRMC_springBone")
    if spring is not None:
        _springs(spring, data)
    for i, item in enumerate(root.items("nodes")):
        held = item.child("extensions")
        if held is None:
            continue
        constraint = held.child("VRMC_node_constraint")
        if constraint is not None:
            _constraint(i, constraint, data)


def _meta(vrm: Cursor) -> Meta:
    meta = vrm.child("meta")
    if meta is None:
        return Meta(spec="1.0")
    kept = (
        "avatarPermission", "commercialUsage", "creditNotation", "modification", "allowExcessivelyViolentUsage",
        "allowExcessivelySexualUsage", "allowPoliticalOrReligiousUsage", "allowAntisocialOrHateUsage",
        "otherLicenseUrl", "thirdPartyLicenses",
    )  # fmt: skip
    return Meta(
        spec="1.0",
        title=meta.text("name"),
        authors=tuple(meta.texts("authors")),
        version=meta.text("version"),
        licence=meta.text("licenseUrl"),
        copyright=meta.text("copyrightInformation"),
        contact=meta.text("contactInformation"),
        references=tuple(meta.texts("references")),
        allow_redistribution=meta.flag("allowRedistribution"),
        permissions={key: str(meta.raw(key))[:500] for key in kept if meta.has(key)},
    )


def _override(item: Cursor, key: str) -> Override:
    found = item.text(key, "none")
    return cast(Override, found) if found in get_args(Override) else "none"


def _expression(name: str, custom: bool, item: Cursor, data: AvatarData) -> Expression:
    morphs = []
    for bind in item.items("morphTargetBinds"):
        node = bind.index("node", len(data.node_names), "node")
        index = bind.whole("index")
        mesh = None if node is None else data.mesh_of_node.get(node)
        if node is None or mesh is None or index >= len(data.morph_names[mesh]):
            data.warnings.append(f"{bind.path} points at a morph that is not there")
            continue
        morphs.append(MorphBind(node, index, bind.number("weight", 1.0)))
    colors = []
    for bind in item.items("materialColorBinds"):
        material = bind.index("material", len(data.materials), "material")
        kind = bind.text("type")
        if material is not None and kind in get_args(ColorField):
            target = bind.vector("targetValue", (1.0, 1.0, 1.0, 1.0), 3)
            raw: Any = bind.raw("targetValue")
            if isinstance(raw, list) and len(raw) >= 4:
                target = bind.vector("targetValue", target, 4)
            if kind == "emissionColor":
                target = tuple(value * data.materials[material].emissive_strength for value in target)
            colors.append(ColorBind(material, cast(ColorField, kind), (*target, 1.0)[:4]))
    uvs = []
    for bind in item.items("textureTransformBinds"):
        material = bind.index("material", len(data.materials), "material")
        if material is not None:
            offset, scale = bind.vector("offset", (0.0, 0.0)), bind.vector("scale", (1.0, 1.0))
            uvs.append(UvBind(material, (offset[0], offset[1]), (scale[0], scale[1])))
    return Expression(
        name=name,
        custom=custom,
        is_binary=item.flag("isBinary"),
        override_blink=_override(item, "overrideBlink"),
        override_look_at=_override(item, "overrideLookAt"),
        override_mouth=_override(item, "overrideMouth"),
        morphs=tuple(morphs),
        colors=tuple(colors),
        uvs=tuple(uvs),
    )


def _range(look: Cursor, key: str, output: float) -> RangeMap:
    found = look.child(key)
    if found is None:
        return RangeMap(90.0, output)
    return RangeMap(found.number("inputMaxValue", 90.0), found.number("outputScale", output))


def _look_at(look: Cursor) -> LookAt:
    bone = look.text("type", "bone") != "expression"
    output = 10.0 if bone else 1.0
    return LookAt(
        kind="bone" if bone else "expression",
        horizontal_inner=_range(look, "rangeMapHorizontalInner", output),
        horizontal_outer=_range(look, "rangeMapHorizontalOuter", output),
        vertical_down=_range(look, "rangeMapVerticalDown", output),
        vertical_up=_range(look, "rangeMapVerticalUp", output),
        offset_from_head=look.vector("offsetFromHeadBone", (0.0, 0.06, 0.0)),
    )


def _springs(extension: Cursor, data: AvatarData) -> None:
    nodes = len(data.node_names)
    for item in extension.entries("colliders"):
        data.colliders.append(_collider(item, nodes))
    groups = [
        tuple(item.indices("colliders", len(data.colliders), "collider"))
        for item in extension.entries("colliderGroups")
    ]
    for item in extension.items("springs"):
        joints = []
        for joint in item.items("joints"):
            node = joint.index("node", nodes, "node")
            if node is None:
                raise joint.fail("names no node.")
            power = joint.number("gravityPower", 0.0)
            x, y, z = joint.vector("gravityDir", (0.0, -1.0, 0.0))
            joints.append(
                SpringJoint(
                    node,
                    max(0.0, joint.number("hitRadius", 0.0)),
                    max(0.0, joint.number("stiffness", 1.0)),
                    min(max(joint.number("dragForce", 0.5), 0.0), 1.0),
                    (x * power, y * power, z * power),
                )
            )
        used = [c for g in item.indices("colliderGroups", len(groups), "collider group") for c in groups[g]]
        if joints:
            data.springs.append(
                Spring(
                    item.text("name"), tuple(joints), tuple(dict.fromkeys(used)), item.index("center", nodes, "node")
                )
            )
    data.stats.springs, data.stats.collider_groups = len(data.springs), len(groups)


def _collider(item: Cursor, nodes: int) -> Collider:
    node = item.index("node", nodes, "node")
    if node is None:
        raise item.fail("names no node.")
    shape = item.need("shape")
    held = item.child("extensions")
    extended = None if held is None else held.child("VRMC_springBone_extended_collider")
    if extended is not None and extended.child("shape") is not None:
        shape = extended.need("shape")
    sphere, capsule, plane = shape.child("sphere"), shape.child("capsule"), shape.child("plane")
    if sphere is not None:
        offset = sphere.vector("offset", (0.0, 0.0, 0.0))
        return Collider(node, offset, sphere.number("radius", 0.0), inside=sphere.flag("inside"))
    if capsule is not None:
        offset, tail = capsule.vector("offset", (0.0, 0.0, 0.0)), capsule.vector("tail", (0.0, 0.0, 0.0))
        return Collider(node, offset, capsule.number("radius", 0.0), tail, inside=capsule.flag("inside"))
    if plane is not None:
        normal = plane.vector("normal", (0.0, 0.0, 1.0))
        length = math.sqrt(sum(value * value for value in normal)) or 1.0
        unit = tuple(value / length for value in normal)
        return Collider(node, plane.vector("offset", (0.0, 0.0, 0.0)), 0.0, normal=unit)
    raise item.fail("has a shape that is neither sphere, capsule nor plane.")


def _constraint(node: int, extension: Cursor, data: AvatarData) -> None:
    held = extension.child("constraint")
    if held is None:
        return
    for kind in ("roll", "aim", "rotation"):
        item = held.child(kind)
        if item is None:
            continue
        source = item.index("source", len(data.node_names), "node")
        if source is None or source == node:
            raise item.fail("names no source node, or itself.")
        axis, sign = 0, 1.0
        if kind == "roll":
            axis = "XYZ".find(item.text("rollAxis", "X"))
        elif kind == "aim":
            name = item.text("aimAxis", "PositiveX")
            axis, sign = "XYZ".find(name[-1:]), -1.0 if name.startswith("Negative") else 1.0
        weight = min(max(item.number("weight", 1.0), 0.0), 1.0)
        data.constraints.append(Constraint(kind, node, source, max(axis, 0), sign, weight))
        return
