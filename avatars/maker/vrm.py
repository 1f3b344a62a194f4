"""Puts everything together: nodes, skin, meshes, materials, VRM's extensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from avatars.maker import paint, paint_cloth
from avatars.maker.body import body_skin
from avatars.maker.character import MIRA, Character
from avatars.maker.expressions import TARGETS, expressions_json
from avatars.maker.eyes import Eye
from avatars.maker.eyes import eye_parts as eyeballs
from avatars.maker.face import Face, metres
from avatars.maker.face_parts import Mouth, eye_parts
from avatars.maker.glb import GlbWriter, settled
from avatars.maker.hair import STYLES
from avatars.maker.materials import mtoon
from avatars.maker.mesh import Part, four_weights, join
from avatars.maker.outfits import OUTFITS
from avatars.maker.paint_tools import png
from avatars.maker.pieces import Chain
from avatars.maker.skeleton import H, human_bones
from avatars.maker.thumbnail import Layer, draw, tones

META = {
    "name": "Mira", "version": "1.0", "authors": ["Idol project"], "licenseUrl": "https://vrm.dev/licenses/1.0/",
    "copyrightInformation": "Dedicated to the public domain under CC0 1.0.",
    "otherLicenseUrl": "https://creativecommons.org/publicdomain/zero/1.0/",
    "avatarPermission": "everyone", "commercialUsage": "corporation", "creditNotation": "unnecessary",
    "modification": "allowModificationRedistribution", "allowRedistribution": True,
    "allowExcessivelyViolentUsage": True, "allowExcessivelySexualUsage": True,
    "allowPoliticalOrReligiousUsage": True, "allowAntisocialOrHateUsage": True,
}  # fmt: skip


class _Nodes:
    """All nodes by name, none rotated at rest: world places and parents are all there is."""

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []
        self.index: dict[str, int] = {}
        self.places: list[np.ndarray] = []

    def add(self, name: str, parent: str | None, place: Any) -> None:
        at = np.round(np.asarray(place, np.float64), 6)
        self.index[name] = len(self.items)
        origin = self.places[self.index[parent]] if parent is not None else np.zeros(3)
        self.items.append({"name": name, "translation": np.round(at - origin, 6).tolist()})
        self.places.append(at)
        if parent is not None:
            self.items[self.index[parent]].setdefault("children", []).append(self.index[name])


def _primitive(writer: GlbWriter, part: Part, joints: dict[str, int], material: int, morphs: bool) -> dict[str, Any]:
    places, strength = four_weights(part.weights, joints)
    normals = part.normals / np.linalg.norm(part.normals, axis=1, keepdims=True)
    item: dict[str, Any] = {
        "attributes": {
            "POSITION": writer.accessor(settled(part.points), 34962, bounds=True),
            "NORMAL": writer.accessor(normals.astype(np.float32), 34962),
            "TEXCOORD_0": writer.accessor(part.uv.astype(np.float32), 34962),
            "JOINTS_0": writer.accessor(places, 34962),
            "WEIGHTS_0": writer.accessor(strength, 34962),
        },
        "indices": writer.accessor(part.triangles.astype(np.uint16).ravel(), 34963),
        "material": material,
        "mode": 4,
    }
    if morphs:
        nothing = np.zeros((len(part.points), 3))
        item["targets"] = [{"POSITION": writer.offsets(settled(part.morphs.get(n, nothing)))} for n in TARGETS]
    return item


def _springs(nodes: _Nodes, chains: list[Chain]) -> dict[str, Any]:
    def sphere(node: str, offset: list[float], radius: float) -> dict[str, Any]:
        return {"node": nodes.index[node], "shape": {"sphere": {"offset": offset, "radius": radius}}}

    def capsule(node: str, offset: list[float], tail: list[float], radius: float) -> dict[str, Any]:
        return {"node": nodes.index[node], "shape": {"capsule": {"offset": offset, "tail": tail, "radius": radius}}}

    sides = [("left", 1.0), ("right", -1.0)]
    groups: dict[str, list[dict[str, Any]]] = {
        "head": [sphere("head", [0.0, 0.118, -0.008], 0.090), sphere("head", [0.0, 0.055, 0.016], 0.062),
                 capsule("neck", [0.0, 0.0, 0.0], [0.0, 0.05, 0.0], 0.034)],
        # Arms: from the shoulder to before the elbow.
        "body": [capsule("upperChest", [0.0, -0.04, 0.0], [0.0, 0.07, -0.012], 0.075),
                 *[capsule(f"{side}UpperArm", [-0.03 * s, 0.0, 0.0], [0.19 * s, 0.0, 0.0], 0.045)
                   for side, s in sides]],
        "legs": [capsule("hips", [-0.05, 0.02, -0.012], [0.05, 0.02, -0.012], 0.072),
                 *[capsule(f"{side}UpperLeg", [0.0, -0.02, 0.0], [0.0, -0.20, 0.0], 0.068) for side, _ in sides]],
    }  # fmt: skip
    colliders = [c for group in groups.values() for c in group]
    first = np.cumsum([0, *(len(g) for g in groups.values())])
    numbers = {name: k for k, name in enumerate(groups)}
    springs = []
    for chain in chains:
        joints = [
            {"node": nodes.index[bone], "hitRadius": chain.radius, "stiffness": chain.stiffness,
             "gravityPower": chain.gravity, "gravityDir": [0.0, -1.0, 0.0], "dragForce": chain.drag}
            for bone in chain.bones
        ]  # fmt: skip
        springs.append(
            {"name": chain.name, "joints": joints, "colliderGroups": [numbers[name] for name in chain.against]}
        )
    return {
        "specVersion": "1.0",
        "colliders": colliders,
        "colliderGroups": [
            {"name": name, "colliders": list(range(int(first[k]), int(first[k + 1])))} for name, k in numbers.items()
        ],
        "springs": springs,
    }


def build(who: Character = MIRA) -> bytes:
    """The whole file."""
    face, eye, hair, outfit = Face(who.eye_tilt), Eye(who.eye_tilt), STYLES[who.hair_style](), OUTFITS[who.outfit]()
    chains = [*hair.chains, *outfit.chains]
    nodes = _Nodes()
    bones = human_bones()
    for name, (parent, place) in bones.items():
        nodes.add(name, parent, place)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        nodes.add(f"{side}Eye", "head", metres((eye.pivot * [sign, 1, 1])[None])[0])
    for chain in sorted(chains, key=lambda c: c.parent not in bones):
        for i, (bone, point) in enumerate(zip(chain.bones, chain.points, strict=True)):
            nodes.add(bone, chain.parent if i == 0 else chain.bones[i - 1], point)
    joints = dict(nodes.index)

    writer = GlbWriter()
    document = writer.document
    document["asset"]["extras"] = {"title": who.title}
    document["samplers"] = [{"magFilter": 9729, "minFilter": 9987, "wrapS": 33071, "wrapT": 33071}]
    pictures = {
        "skin": paint.skin(who, False), "skinShade": paint.skin(who, True), "features": paint.features(who),
        "hair": paint.hair(who.hair, False), "hairShade": paint.hair(who.hair, True),
        "cloth": paint_cloth.cloth(who, False), "clothShade": paint_cloth.cloth(who, True),
        "outlineWidth": paint.outline_width(), "hairOutline": paint.hair_outline(),
    }  # fmt: skip
    texture = {name: writer.image(png(picture), name) for name, picture in pictures.items()}
    thin = 0.0042 * H
    document["materials"] = [
        mtoon(
            "Face",
            texture["skin"],
            texture["skinShade"],
            thin,
            "#a8606a",
            0.10,
            0.96,
            outline_width=texture["outlineWidth"],
        ),
        mtoon("Features", texture["features"], None, 0.0, double_sided=True),
        mtoon("Skin", texture["skin"], texture["skinShade"], thin, "#a8606a", -0.12, 0.94, rim="#2a1414"),
        mtoon("Cloth", texture["cloth"], texture["clothShade"], thin, "#6a6590", -0.22, 0.95, True),
        mtoon(
            "Hair",
            texture["hair"],
            texture["hairShade"],
            thin,
            who.hair.outline,
            -0.16,
            0.95,
            rim=who.hair.rim,
            outline_width=texture["hairOutline"],
        ),
    ]
    skin, below, clothes, locks = (
        join([face.part(), face.blush()]),
        join(body_skin()),
        join(outfit.parts),
        join(hair.parts),
    )
    features = join(
        [
            *eyeballs(eye),
            *face.lid_wall(),
            *Mouth(face).parts(),
            *eye_parts(who.eye_tilt, who.brow_thick, who.brow_lift),
        ]
    )
    line = tones("#a8606a")
    small = draw(
        [
            Layer(skin, pictures["skin"], pictures["skinShade"], 0.10, None, thin),
            Layer(features, pictures["features"], None, 0.0, None, 0.0),
            Layer(below, pictures["skin"], pictures["skinShade"], -0.12, line, thin),
            Layer(clothes, pictures["cloth"], pictures["clothShade"], -0.22, tones("#6a6590"), thin),
            Layer(locks, pictures["hair"], pictures["hairShade"], -0.16, tones(who.hair.outline), thin),
        ],
        who.backdrop,
    )
    meshes: list[dict[str, Any]] = [
        {
            "name": "Face",
            "primitives": [
                _primitive(writer, skin, joints, 0, True), _primitive(writer, features, joints, 1, True),
            ],
            "extras": {"targetNames": list(TARGETS)},
        },
        {
            "name": "Body",
            "primitives": [
                _primitive(writer, below, joints, 2, False),
                _primitive(writer, clothes, joints, 3, False),
            ],
        },
        {"name": "Hair", "primitives": [_primitive(writer, locks, joints, 4, False)]},
    ]  # fmt: skip
    document["meshes"] = meshes
    inverse = np.tile(np.eye(4, dtype=np.float32), (len(nodes.items), 1, 1))
    # Column-major in the file: the translation is the last row here.
    inverse[:, 3, :3] = -np.array(nodes.places)
    document["skins"] = [
        {"joints": list(range(len(nodes.items))), "inverseBindMatrices": writer.accessor(inverse), "skeleton": 0}
    ]
    roots = [nodes.index["hips"]]
    for i, mesh in enumerate(meshes):
        roots.append(len(nodes.items))
        nodes.items.append({"name": mesh["name"], "mesh": i, "skin": 0})
    document["nodes"] = nodes.items
    document["scene"] = 0
    document["scenes"] = [{"nodes": roots}]
    human = [*bones, "leftEye", "rightEye"]
    document["extensionsUsed"] = ["VRMC_vrm", "VRMC_materials_mtoon", "VRMC_springBone"]
    document["extensions"] = {
        "VRMC_vrm": {
            "specVersion": "1.0",
            "meta": META | {"name": who.name, "thumbnailImage": writer.thumbnail(png(small))},
            "humanoid": {"humanBones": {name: {"node": nodes.index[name]} for name in human}},
            "firstPerson": {"meshAnnotations": [{"node": n, "type": "auto"} for n in roots[1:]]},
            "expressions": expressions_json(roots[1]),
            "lookAt": {
                "type": "bone", "offsetFromHeadBone": [0.0, 0.087, 0.06],
                "rangeMapHorizontalInner": {"inputMaxValue": 35.0, "outputScale": 7.0},
                "rangeMapHorizontalOuter": {"inputMaxValue": 35.0, "outputScale": 7.5},
                "rangeMapVerticalDown": {"inputMaxValue": 25.0, "outputScale": 5.0},
                "rangeMapVerticalUp": {"inputMaxValue": 25.0, "outputScale": 5.0},
            },
        },
        "VRMC_springBone": _springs(nodes, chains),
    }  # fmt: skip
    return writer.finish()
