"""What VRM 0.x files of UniVRM and VRoid hold beyond the specification's happy case."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from idol.avatar import AvatarError, parse_avatar
from idol.avatar.model import AvatarData
from tests.avatar.conftest import DATA
from tests.avatar.rewrite import take_apart

MODEL = DATA / "models" / "godette_vrm0.vrm"


def with_vrm(change: dict[str, Any]) -> AvatarData:
    """Godette with some members of her VRM extension replaced."""
    pieces = take_apart(MODEL)
    pieces.document["extensions"]["VRM"].update(change)
    return parse_avatar(pieces.content()).data


def with_material(**change: Any) -> AvatarData:
    pieces = take_apart(MODEL)
    first = pieces.document["extensions"]["VRM"]["materialProperties"][0]
    for key, value in change.items():
        first[key] = {**first[key], **value} if isinstance(value, dict) else value
    return parse_avatar(pieces.content()).data


def group(**more: Any) -> AvatarData:
    return with_vrm({"blendShapeMaster": {"blendShapeGroups": [{"name": "X", "presetName": "joy", **more}]}})


def test_material_values_change_colours_and_texture_transforms() -> None:
    name = take_apart(MODEL).document["materials"][0]["name"]

    def value(prop: str, target: Any) -> dict[str, Any]:
        return {"materialName": name, "propertyName": prop, "targetValue": target}

    values = [
        value("_Color", [1, 0.5, 0, 0.25]),
        value("_EmissionColor", [1, 1, 1, 1]),
        value("_ShadeColor", [0, 0, 0, 1]),
        value("_RimColor", [0, 0, 0, 1]),
        value("_OutlineColor", [0, 0, 0, 1]),
        value("_MainTex_ST", [0.5, 0.25, 0.1, 0.2]),
        value("_MainTex_ST_S", [0.5, 0.25, 0.1, 0.2]),
        value("_MainTex_ST_T", [0.5, 0.25, 0.1, 0.2]),
        value("_Cutoff", [0.5, 0, 0, 0]),
        value("_Color", [1, 0]),
        {"propertyName": "_Color", "targetValue": [0, 0, 0, 0]},
    ]
    data = group(materialValues=values)
    happy = data.expressions["happy"]
    assert [bind.field for bind in happy.colors] == [
        "color", "emissionColor", "shadeColor", "rimColor", "outlineColor", "color",
    ]  # fmt: skip
    assert happy.colors[0].target == pytest.approx((1, 0.2140, 0, 0.25), abs=1e-3)
    assert happy.colors[5].target == pytest.approx((1, 0, 1, 1))
    assert [(*u.offset, *u.scale) for u in happy.uvs] == [
        pytest.approx((0.1, 1 - 0.25 - 0.2, 0.5, 0.25)),
        pytest.approx((0.1, 0, 0.5, 1)),
        pytest.approx((0, 1 - 0.25 - 0.2, 1, 0.25)),
    ]
    assert sum("materialValues" in text for text in data.warnings) == 2, "_Cutoff, and the one without a material"


def test_groups_that_are_empty_nameless_or_doubled() -> None:
    groups = [
        {"name": "A", "presetName": "a", "isBinary": True, "binds": [{"mesh": 0, "index": 5, "weight": 50}]},
        {"name": "Again", "presetName": "A", "binds": []},
        {"name": "", "presetName": "unknown", "binds": None},
        {"name": None, "presetName": None},
        {"name": "Wink", "presetName": "unknown", "binds": [], "materialValues": []},
        {"name": "Gone", "presetName": "unknown", "binds": [{"mesh": -1, "index": -1, "weight": 100}, {}]},
        {"name": "Surprised", "presetName": "unknown"},
    ]
    data = with_vrm({"blendShapeMaster": {"blendShapeGroups": groups}})
    assert set(data.expressions) == {"aa", "Wink", "Gone", "surprised"}
    (bind,) = data.expressions["aa"].morphs
    assert (bind.index, bind.weight) == (5, 0.5) and data.expressions["aa"].is_binary
    assert data.expressions["Wink"].custom and data.expressions["Gone"].bind_count == 0
    assert sum("morph that is not there" in text for text in data.warnings) == 2


def test_springs_that_point_nowhere() -> None:
    data = with_vrm(
        {
            "secondaryAnimation": {
                "colliderGroups": [
                    {"node": -1, "colliders": [{"offset": {"x": 0, "y": 0, "z": 0}, "radius": 1}]},
                    {"node": 3, "colliders": [{"offset": {"x": 1, "y": 2, "z": 3}, "radius": 0.1}]},
                ],
                "boneGroups": [
                    {
                        "comment": None, "stiffiness": 0.7, "gravityPower": 2,
                        "gravityDir": {"x": 1, "y": -1, "z": 0.5}, "dragForce": 0.3,
                        "center": -1, "hitRadius": 0.02, "bones": [20, -1, 999],
                        "colliderGroups": [-1, 1, 7],
                    },
                    {"bones": [], "center": None},
                    {},
                ],
            }
        }
    )  # fmt: skip
    assert [c.node for c in data.colliders] == [3] and data.colliders[0].offset == (1, 2, -3)
    assert data.springs and all(spring.colliders == (0,) and spring.center is None for spring in data.springs)
    joint = data.springs[0].joints[0]
    assert (joint.node, joint.stiffness, joint.drag, joint.radius) == (20, 0.7, 0.3, 0.02)
    assert joint.gravity == pytest.approx((-2, -2, 1)), "Unity's world: x points the other way"
    assert data.stats.springs == 3
    assert sum("not there" in text for text in data.warnings) == 2
    tip = data.springs[0].joints[-1].node
    assert np.linalg.norm(data.translations[tip]) == pytest.approx(0.07, abs=1e-5)
    assert data.parents[tip] == data.springs[0].joints[-2].node and data.node_names[tip].endswith("_end")


def test_first_person() -> None:
    notes = [{"mesh": 0, "firstPersonFlag": "FirstPersonOnly"}, {"mesh": 1, "firstPersonFlag": "thirdPersonOnly"}]
    first = {"firstPersonBone": 5, "firstPersonBoneOffset": {"x": 0.1, "y": 0.2, "z": 0.3}, "meshAnnotations": notes}
    data = with_vrm({"firstPerson": first})
    kinds = {data.mesh_of_node[node]: kind for node, kind in data.first_person.items()}
    assert kinds == {0: "firstPersonOnly", 1: "thirdPersonOnly"}
    assert {p.mesh: p.drawn_third_person for p in data.primitives} == {0: False, 1: True}
    assert data.look_at is not None and data.look_at.offset_from_head == pytest.approx((0.1, 0.2, -0.3))
    data = with_vrm({"firstPerson": {"firstPersonBone": -1, "meshAnnotations": [{"mesh": -1, "firstPersonFlag": ""}]}})
    assert not data.first_person and all(p.drawn_third_person for p in data.primitives)


def test_first_person_of_vrm_1() -> None:
    pieces = take_apart(DATA / "models" / "godette_vrm1.vrm")
    nodes = [i for i, node in enumerate(pieces.document["nodes"]) if "mesh" in node]
    pieces.document["extensions"]["VRMC_vrm"]["firstPerson"] = {
        "meshAnnotations": [{"node": nodes[0], "type": "firstPersonOnly"}, {"node": nodes[1], "type": "sideways"}]
    }
    data = parse_avatar(pieces.content()).data
    assert data.first_person == {nodes[0]: "firstPersonOnly"}
    assert {p.node: p.drawn_third_person for p in data.primitives} == {nodes[0]: False, nodes[1]: True}


@pytest.mark.parametrize(
    ("shader", "shading", "alpha"),
    [
        ("VRM/MToon", "mtoon", "BLEND"),
        ("VRM/UnlitTexture", "unlit", "OPAQUE"),
        ("VRM/UnlitCutout", "unlit", "MASK"),
        ("VRM/UnlitTransparent", "unlit", "BLEND"),
        ("VRM/UnlitTransparentZWrite", "unlit", "BLEND"),
        ("Unlit/Transparent Cutout", "unlit", "MASK"),
    ],
)
def test_shaders_of_unity(shader: str, shading: str, alpha: str) -> None:
    data = with_material(
        shader=shader, renderQueue=3005, textureProperties={"_MainTex": 2},
        vectorProperties={"_Color": [1, 1, 1, 0.5], "_MainTex": [0.1, 0.2, 0.5, 0.25]},
        floatProperties={"_BlendMode": 2, "_Cutoff": 0.7},
    )  # fmt: skip
    material = data.materials[0]
    assert (material.shading, material.alpha_mode) == (shading, alpha)
    assert material.base_texture is not None and material.base_texture.texture == 2
    assert material.base_texture.offset == pytest.approx((0.1, 0.55)) and material.base_texture.scale == (0.5, 0.25)
    assert material.base_color[3] == 0.5 and material.alpha_cutoff == 0.7
    assert material.transparent_with_z_write == (shader == "VRM/UnlitTransparentZWrite")
    if alpha == "BLEND":
        assert material.render_queue_offset == (99 if material.transparent_with_z_write else 5)


@pytest.mark.parametrize("shader", ["lilToon", "Hidden/Poiyomi", "VRM/MToon2"])
def test_an_unknown_shader_is_drawn_as_gltf_and_told(shader: str) -> None:
    data = with_material(shader=shader)
    assert data.materials[0].shading in ("lit", "unlit")
    assert any(shader in text for text in data.warnings)
    assert not any("shader" in text for text in with_material(shader="Standard").warnings)


def test_textures_that_are_not_there_and_properties_that_are_missing() -> None:
    data = with_material(
        shader="VRM/MToon",
        textureProperties={"_MainTex": -1, "_ShadeTexture": 99, "_BumpMap": None, "_ShadingGradeTexture": 0},
    )
    material = data.materials[0]
    assert material.base_texture is None and material.shade_texture is None and material.normal_texture is None
    assert any("texture 99" in text for text in data.warnings)
    pieces = take_apart(MODEL)
    pieces.document["extensions"]["VRM"]["materialProperties"] = [
        {"shader": "VRM/MToon", "keywordMap": {"_ALPHABLEND_ON": True}, "floatProperties": {"_ZWrite": 1}},
        {"shader": "VRM/MToon", "keywordMap": {"_ALPHATEST_ON": True}},
        {},
    ]
    first, second, third, _ = parse_avatar(pieces.content()).data.materials
    assert (first.shading, first.alpha_mode, first.transparent_with_z_write) == ("mtoon", "BLEND", True)
    assert (second.shading, second.alpha_mode) == ("mtoon", "MASK")
    assert third.shading != "mtoon"


def test_thumbs_move_one_joint_and_bones_may_be_unassigned() -> None:
    bones = [
        {"bone": "hips", "node": 0}, {"bone": "leftThumbProximal", "node": 10},
        {"bone": "leftThumbIntermediate", "node": 11}, {"bone": "leftThumbDistal", "node": 12},
        {"bone": "jaw", "node": -1}, {"bone": "tail", "node": 4}, {"bone": "head", "node": 9},
    ]  # fmt: skip
    data = with_vrm({"humanoid": {"humanBones": bones}})
    assert data.human_bones == {
        "hips": 0, "leftThumbMetacarpal": 10, "leftThumbProximal": 11, "leftThumbDistal": 12, "head": 9,
    }  # fmt: skip


def test_an_extension_of_nulls() -> None:
    keys = ("meta", "humanoid", "firstPerson", "blendShapeMaster", "secondaryAnimation", "materialProperties")
    data = with_vrm(dict.fromkeys(keys))
    assert data.vrm_version == "0.x" and not data.expressions and not data.springs


def test_a_meta_with_nothing_assigned() -> None:
    data = with_vrm({"meta": {"title": None, "author": None, "texture": -1, "licenseName": None}})
    assert (data.meta.title, data.meta.authors, data.meta.licence) == ("", (), "")


def test_node_names_may_repeat() -> None:
    pieces = take_apart(MODEL)
    for node in pieces.document["nodes"]:
        node["name"] = "bone"
    assert len(parse_avatar(pieces.content()).data.human_bones) == 45


def test_only_the_nodes_of_the_scene_are_drawn() -> None:
    pieces = take_apart(MODEL)
    document = pieces.document
    extra = {"mesh": 1, "name": "left over"}
    document["nodes"].append(extra)
    plain = len(parse_avatar(take_apart(MODEL).content()).data.primitives)
    assert len(parse_avatar(pieces.content()).data.primitives) == plain
    document["scenes"] = [{"nodes": [*document["scenes"][0]["nodes"], len(document["nodes"]) - 1]}]
    assert len(parse_avatar(pieces.content()).data.primitives) > plain
    document["scenes"] = [{}]
    assert len(parse_avatar(pieces.content()).data.primitives) > plain, "a scene without meshes is no scene"


def test_an_old_glb_with_a_broken_thumbnail_loads() -> None:
    """meta.texture of Godette is drawn by no material: its picture is not even decoded."""
    pieces = take_apart(MODEL)
    document = pieces.document
    thumbnail = document["textures"][document["extensions"]["VRM"]["meta"]["texture"]]["source"]
    document["images"][thumbnail] = {"bufferView": pieces.add_view(b"no picture"), "mimeType": "image/png"}
    assert parse_avatar(pieces.content()).data.stats.textures == 5
    used = document["textures"][0]["source"]
    document["images"][used] = {"bufferView": pieces.add_view(b"no picture"), "mimeType": "image/png"}
    with pytest.raises(AvatarError, match=rf"images\[{used}\].*not a PNG"):
        parse_avatar(pieces.content())
