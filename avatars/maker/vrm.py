"""Puts everything together: nodes, skin, meshes, materials, VRM's extensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from avatars.maker import paint
from avatars.maker.body import body_skin
from avatars.maker.clothes import make_clothes
from avatars.maker.expressions import TARGETS, preset_json
from avatars.maker.eyes import Eye
from avatars.maker.eyes import eye_parts as eyeballs
from avatars.maker.face import Face, metres
from avatars.maker.face_parts import Mouth, eye_parts
from avatars.maker.glb import GlbWriter, settled
from avatars.maker.hair import two_side_up
from avatars.maker.hair_shapes import Chain
from avatars.maker.materials import mtoon
from avatars.maker.mesh import Part, four_weights, join
from avatars.maker.skeleton import H, human_bones

META = {
    "name": "Mira", "version": "1.0", "authors": ["The Idol project"], "licenseUrl": "https://vrm.dev/licenses/1.0/",
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

    colliders = [
        sphere("head", [0.0, 0.118, -0.008], 0.090), sphere("head", [0.0, 0.055, 0.016], 0.062),
        capsule("upperChest", [0.0, -0.04, 0.0], [0.0, 0.07, -0.012], 0.075),
        capsule("leftUpperArm", [-0.03, 0.0, 0.0], [0.19, 0.0, 0.0], 0.045),
        capsule("rightUpperArm", [0.03, 0.0, 0.0], [-0.19, 0.0, 0.0], 0.045),
    ]  # fmt: skip
    groups = [{"name": "head", "colliders": [0, 1]}, {"name": "body", "colliders": [2, 3, 4]}]
    springs = []
    for chain in chains:
        joints = [
            {"node": nodes.index[bone], "hitRadius": chain.radius, "stiffness": chain.stiffness,
             "gravityPower": chain.gravity, "gravityDir": [0.0, -1.0, 0.0], "dragForce": chain.drag}
            for bone in chain.bones
        ]  # fmt: skip
        springs.append({"name": chain.name, "joints": joints, "colliderGroups": [{'head': 0, 'body': 1}[g] for g in chain.against]})
    return {"specVersion": "1.0", "colliders": colliders, "colliderGroups": groups, "springs": springs}


def build() -> bytes:
    """The whole file."""
    face, eye, hair = Face(), Eye(), two_side_up()
    nodes = _Nodes()
    bones = human_bones()
    for name, (parent, place) in bones.items():
        nodes.add(name, parent, place)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        nodes.add(f"{side}Eye", "head", metres((eye.pivot * [sign, 1, 1])[None])[0])
    for chain in hair.chains:
        for i, (bone, point) in enumerate(zip(chain.bones, chain.points, strict=True)):
            nodes.add(bone, chain.parent if i == 0 else chain.bones[i - 1], point)
    joints = dict(nodes.index)

    writer = GlbWriter()
    document = writer.document
    document["samplers"] = [{"magFilter": 9729, "minFilter": 9987, "wrapS": 33071, "wrapT": 33071}]
    pictures = {
        "skin": paint.skin(False), "skinShade": paint.skin(True), "features": paint.features(),
        "hair": paint.hair(False), "hairShade": paint.hair(True), "cloth": paint.cloth(False),
        "clothShade": paint.cloth(True), "outlineWidth": paint.outline_width(),
    }  # fmt: skip
    texture = {name: writer.image(paint.png(picture), name) for name, picture in pictures.items()}
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
        mtoon("Hair", texture["hair"], texture["hairShade"], thin, "#7c6694", -0.16, 0.95, rim="#20182c"),
    ]
    skin = face.part()
    features = join([*eyeballs(eye), *face.lid_wall(), *Mouth(face).parts(), *eye_parts()])
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
                _primitive(writer, join(body_skin()), joints, 2, False),
                _primitive(writer, join(make_clothes()), joints, 3, False),
            ],
        },
        {"name": "Hair", "primitives": [_primitive(writer, join(hair.parts), joints, 4, False)]},
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
            "meta": META,
            "humanoid": {"humanBones": {name: {"node": nodes.index[name]} for name in human}},
            "firstPerson": {"meshAnnotations": [{"node": n, "type": "auto"} for n in roots[1:]]},
            "expressions": {"preset": preset_json(roots[1]), "custom": {}},
            "lookAt": {
                "type": "bone", "offsetFromHeadBone": [0.0, 0.087, 0.06],
                "rangeMapHorizontalInner": {"inputMaxValue": 35.0, "outputScale": 7.0},
                "rangeMapHorizontalOuter": {"inputMaxValue": 35.0, "outputScale": 7.5},
                "rangeMapVerticalDown": {"inputMaxValue": 25.0, "outputScale": 5.0},
                "rangeMapVerticalUp": {"inputMaxValue": 25.0, "outputScale": 5.0},
            },
        },
        "VRMC_springBone": _springs(nodes, hair.chains),
    }  # fmt: skip
    return writer.finish()
