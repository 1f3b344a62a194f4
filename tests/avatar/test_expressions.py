"""Expressions by value (VRMC_vrm 1.0): material binds, morph weights at rest, overrides of custom shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from idol.avatar import Avatar, parse_avatar
from idol.seams import ARKIT_INDEX, FacePose
from tests.avatar.conftest import DATA
from tests.avatar.rewrite import Glb, take_apart

MODELS = DATA / "models"
BASE = {
    "color": (0.5, 0.25, 0.125, 0.5), "emissionColor": (0.1, 0.2, 0.3), "shadeColor": (0.2, 0.4, 0.6),
    "matcapColor": (1.0, 0.5, 0.0), "rimColor": (0.0, 0.1, 0.9), "outlineColor": (0.3, 0.3, 0.3),
}  # fmt: skip
FIELDS = {
    "color": "base_color", "emissionColor": "emissive", "shadeColor": "shade_color", "matcapColor": "matcap_factor",
    "rimColor": "rim_color", "outlineColor": "outline_color",
}  # fmt: skip
FACE = FacePose(np.zeros(52, np.float32))


def colored(kind: str, targets: dict[str, list[float]], **extensions: Any) -> Avatar:
    """A model whose first material has the colours of ``BASE`` and whose expressions move colour ``kind``."""
    glb = take_apart(MODELS / "expression_isbinary_vrm1.vrm")
    material = glb.document["materials"][0]
    material["pbrMetallicRoughness"]["baseColorFactor"] = BASE["color"]
    material["emissiveFactor"] = BASE["emissionColor"]
    material["extensions"] = {
        **extensions,
        "VRMC_materials_mtoon": {
            "specVersion": "1.0", "shadeColorFactor": BASE["shadeColor"], "matcapFactor": BASE["matcapColor"],
            "parametricRimColorFactor": BASE["rimColor"], "outlineColorFactor": BASE["outlineColor"],
        },
    }  # fmt: skip
    glb.document["extensions"]["VRMC_vrm"]["expressions"] = {
        "custom": {
            name: {"materialColorBinds": [{"material": 0, "type": kind, "targetValue": target}]}
            for name, target in targets.items()
        }
    }
    return parse_avatar(glb.content())


def shown(avatar: Avatar, **weights: float) -> Avatar:
    for name, weight in weights.items():
        avatar.set_expression(name, weight)
    avatar.update(FACE, 0.0)
    return avatar


@pytest.mark.parametrize("kind", FIELDS)
def test_a_colour_goes_to_its_target_by_the_weight(kind: str) -> None:
    avatar = shown(colored(kind, {"x": [1.0, 0.0, 0.5, 1.0]}), x=0.25)
    base = np.asarray(BASE[kind])
    expected = base + 0.25 * (np.asarray([1.0, 0.0, 0.5, 1.0])[: len(base)] - base)
    assert set(avatar.material_changes) == {0}
    assert set(avatar.material_changes[0].colors) == {FIELDS[kind]}
    assert avatar.material_changes[0].colors[FIELDS[kind]] == pytest.approx(expected)
    # The file's own colour is the base again as soon as the weight is 0.
    assert shown(avatar, x=0.0).material_changes == {}


def test_two_colours_add_their_distances_from_the_base() -> None:
    # Base + (A - Base) * a + (B - Base) * b
    avatar = shown(colored("shadeColor", {"a": [1.0, 1.0, 1.0, 1.0], "b": [0.0, 0.0, 0.0, 1.0]}), a=0.5, b=0.25)
    base = np.asarray(BASE["shadeColor"])
    assert avatar.material_changes[0].colors["shade_color"] == pytest.approx(base + (1 - base) * 0.5 - base * 0.25)


def test_an_emission_target_is_as_strong_as_the_material() -> None:
    strong = {"KHR_materials_emissive_strength": {"emissiveStrength": 3.0}}
    avatar = colored("emissionColor", {"x": [0.5, 0.0, 1.0, 1.0]}, **strong)
    assert avatar.data.materials[0].emissive == pytest.approx((0.3, 0.6, 0.9))
    assert shown(avatar, x=1.0).material_changes[0].colors["emissive"] == pytest.approx([1.5, 0.0, 3.0])


def test_a_texture_transform_goes_to_its_target_by_the_weight() -> None:
    glb = take_apart(MODELS / "expression_isbinary_vrm1.vrm")
    glb.document["extensions"]["VRMC_vrm"]["expressions"] = {
        "custom": {
            "a": {"textureTransformBinds": [{"material": 0, "offset": [0.5, -0.25], "scale": [2.0, 0.5]}]},
            "b": {"textureTransformBinds": [{"material": 0, "offset": [0.1, 0.2]}]},
        }
    }
    avatar = shown(parse_avatar(glb.content()), a=0.5, b=0.25)
    offset, scale = avatar.material_changes[0].moved((0.2, 0.4), (4.0, 2.0))
    # own + (a - own) / 2 + (b - own) / 4; a bind without a scale aims at 1.
    assert offset == pytest.approx((0.2 + 0.15 - 0.025, 0.4 - 0.325 - 0.05))
    assert scale == pytest.approx((4.0 - 1.0 - 0.75, 2.0 - 0.75 - 0.25))


def renamed(glb: Glb, custom: dict[str, Any], **preset: Any) -> Avatar:
    held = glb.document["extensions"]["VRMC_vrm"]["expressions"]
    held["custom"] = custom
    for name, more in preset.items():
        held["preset"][name].update(more)
    return parse_avatar(glb.content())


def test_a_bound_morph_starts_from_zero_and_a_free_one_from_the_file() -> None:
    glb = take_apart(MODELS / "godette_vrm1.vrm")
    mesh = next(mesh for mesh in glb.document["meshes"] if mesh["primitives"][0].get("targets"))
    mesh["weights"] = [0.25] * len(mesh["primitives"][0]["targets"])
    held = glb.document["extensions"]["VRMC_vrm"]["expressions"]["preset"]
    free, bound = (held[name]["morphTargetBinds"][0]["index"] for name in ("aa", "oh"))
    glb.document["extensions"]["VRMC_vrm"]["expressions"]["preset"] = {"oh": held["oh"]}
    avatar = shown(parse_avatar(glb.content()), oh=0.5)
    assert avatar.morph_weights[free] == pytest.approx(0.25)
    assert avatar.morph_weights[bound] == pytest.approx(0.5)
    assert shown(avatar, oh=0.0).morph_weights[bound] == 0.0


def test_two_expressions_on_one_morph_stop_where_it_is_whole() -> None:
    glb = take_apart(MODELS / "godette_vrm1.vrm")
    bind = glb.document["extensions"]["VRMC_vrm"]["expressions"]["preset"]["aa"]["morphTargetBinds"][0]
    avatar = shown(renamed(glb, {"a": {"morphTargetBinds": [{**bind, "weight": 0.8}]}}), a=1.0, aa=0.15)
    assert avatar.morph_weights[bind["index"]] == pytest.approx(0.95)
    assert shown(avatar, aa=0.6).morph_weights[bind["index"]] == 1.0


@pytest.mark.parametrize(("name", "kind"), [("JawOpen", "mouth"), ("eyeBlink_L", "blink"), ("Extra", None)])
def test_an_override_holds_for_custom_shapes_of_its_kind(name: str, kind: str | None) -> None:
    glb = take_apart(MODELS / "godette_vrm1.vrm")
    bind = {"node": 0, "index": 0, "weight": 1.0}
    bind["node"] = glb.document["extensions"]["VRMC_vrm"]["expressions"]["preset"]["aa"]["morphTargetBinds"][0]["node"]
    # "happy" of this file: overrideBlink block, overrideMouth blend.
    avatar = shown(renamed(glb, {name: {"morphTargetBinds": [bind]}}), happy=0.25, **{name: 0.8})
    expected = {"mouth": 0.6, "blink": 0.0, None: 0.8}[kind]
    assert avatar.effective[avatar.expressions.index[name]] == pytest.approx(expected)


def test_a_shape_of_the_mouth_does_not_override_the_mouth() -> None:
    glb = take_apart(MODELS / "godette_vrm1.vrm")
    bind = glb.document["extensions"]["VRMC_vrm"]["expressions"]["preset"]["ih"]["morphTargetBinds"][0]
    custom = {"jawOpen": {"morphTargetBinds": [bind], "overrideMouth": "block"}}
    avatar = renamed(glb, custom)
    face = np.zeros(52, np.float32)
    face[ARKIT_INDEX["jawOpen"]] = 0.5
    avatar.update(FacePose(face), 0.0)
    assert avatar.effective[avatar.expressions.index["jawOpen"]] == pytest.approx(0.5)
