"""The names that face rigs give their shapes, each family on a model made for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from idol.avatar import Avatar, parse_avatar
from idol.avatar.arkit import MOUTH_NAMES, OCULUS, arkit_name, match
from idol.avatar.avatar import EMOTION_SECONDS
from idol.avatar.morph_names import plain_key
from idol.seams import ARKIT_INDEX, Emotion, FacePose
from tests.avatar.conftest import DATA
from tests.avatar.rewrite import take_apart

MODELS = DATA / "models"
MMD = ("まばたき", "ウィンク２", "ｳｨﾝｸ２右", "あ", "い", "う", "え", "お", "笑い", "怒り", "困る", "びっくり", "涙")
VROID = (
    "Face.M_F00_000_00_Fcl_ALL_Joy", "Fcl_ALL_Angry", "Fcl_BRW_Angry", "Fcl_EYE_Close", "Fcl_EYE_Close_L",
    "Fcl_EYE_Close_R", "Fcl_MTH_A", "Fcl_MTH_I", "Fcl_MTH_U", "Fcl_MTH_E", "Fcl_MTH_O", "Fcl_MTH_Close",
)  # fmt: skip
READY_PLAYER_ME = (*OCULUS, "mouthSmile", "eyesClosed")
VRCHAT = (
    *(f"vrc.{name.lower().replace('viseme', 'v')}" for name in OCULUS[:12]),
    "vrc.v_ih",
    "vrc.v_oh",
    "vrc.v_ou",
    "vrc.blink",
)


def named(names: tuple[str, ...], weights: float = 0.0) -> Avatar:
    """A head without VRM whose first morphs have these names, the others none that means anything."""
    glb = take_apart(MODELS / "arkit52_head.glb")
    mesh = next(mesh for mesh in glb.document["meshes"] if mesh["primitives"][0].get("targets"))
    count = len(mesh["primitives"][0]["targets"])
    given = [*names, *(f"other{i}" for i in range(count - len(names)))]
    for held in (mesh, *mesh["primitives"]):
        held.setdefault("extras", {})["targetNames"] = given
    mesh["weights"] = [weights] * count
    return parse_avatar(glb.content())


def posed(avatar: Avatar, emotion: Emotion = "neutral", **weights: float) -> dict[str, float]:
    """The morphs that are up, by name."""
    face = np.zeros(52, np.float32)
    for name, weight in weights.items():
        face[ARKIT_INDEX[name]] = weight
    avatar.update(FacePose(face, emotion=emotion), EMOTION_SECONDS)
    names = next(names for names in avatar.data.morph_names.values() if names)
    return {name: float(weight) for name, weight in zip(names, avatar.morph_weights, strict=True) if abs(weight) > 0.02}


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("JawOpen", "jawOpen"), ("EyeClosedLeft", "eyeBlinkLeft"), ("EyeClosedRight", "eyeBlinkRight"),
        ("MouthClosed", "mouthClose"), ("LipPucker", "mouthPucker"), ("LipPuckerUpperLeft", "mouthPucker"),
        ("LipFunnelLower", "mouthFunnel"), ("LipSuckUpper", "mouthRollUpper"), ("LipSuckLowerLeft", "mouthRollLower"),
        ("MouthCornerPullLeft", "mouthSmileLeft"), ("MouthSadRight", "mouthFrownRight"),
        ("MouthRaiserLower", "mouthShrugLower"), ("MouthUpperLeft", "mouthLeft"),
        ("MouthUpperUpLeft", "mouthUpperUpLeft"),
        ("BrowLowererLeft", "browDownLeft"), ("BrowPinchRight", "browDownRight"), ("BrowInnerUpLeft", "browInnerUp"),
        ("MouthLowerDownRight", "mouthLowerDownRight"), ("JawBackward", None), ("EyeDilationLeft", None),
        ("viseme_aa", None), ("あ", None), ("Fcl_MTH_A", None), ("まばたき", None),
    ],
)  # fmt: skip
def test_unified_expressions_are_arkit_s_where_they_mean_the_same(given: str, meant: str | None) -> None:
    assert arkit_name(given) == meant


def test_the_nearest_spelling_counts_and_all_its_parts() -> None:
    assert match(["LipPuckerUpper", "LipPuckerLower"]) == {"mouthPucker": [0, 1]}
    assert match(["LipPuckerUpperLeft", "LipPucker", "LipPuckerUpper"]) == {"mouthPucker": [1]}
    assert match(["LipPucker", "MouthPucker", "mouth_pucker"]) == {"mouthPucker": [1, 2]}
    assert match(["MouthPucker", "mouthPucker", "LipPucker"]) == {"mouthPucker": [1]}


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ("viseme_PP", "visemepp"), ("vrc.v_pp", "visemepp"), ("v_ih", "visemei"), ("blendShape1.viseme_E", "visemee"),
        ("Face.M_F00_000_00_Fcl_MTH_A", "fclmtha"), ("ｳｨﾝｸ２右", "ウィンク2右"), ("Blink_L", "blinkl"),
    ],
)  # fmt: skip
def test_keys_fold_width_case_and_prefixes(given: str, key: str) -> None:
    assert plain_key(given) == key


@pytest.mark.parametrize(
    ("names", "aa", "ou"), [(MMD, "あ", "う"), (VROID, "Fcl_MTH_A", "Fcl_MTH_U")], ids=["MMD", "VRoid"]
)
def test_vowels_are_found_by_name(names: tuple[str, ...], aa: str, ou: str) -> None:
    avatar = named(names)
    assert avatar.arkit_names == ()
    up = posed(avatar, jawOpen=0.5)
    assert max(up, key=lambda name: up[name]) == aa and up[aa] > 0.4
    up = posed(avatar, jawOpen=0.12, mouthPucker=0.7, mouthFunnel=0.3)
    assert max(up, key=lambda name: up[name]) == ou
    assert posed(avatar, jawOpen=0.12, mouthClose=0.12) == {}


@pytest.mark.parametrize(
    ("names", "both", "left", "right"),
    [
        (MMD, {"まばたき": 0.8}, {"ウィンク２": 0.8}, {"ｳｨﾝｸ２右": 0.8}),
        (VROID, {"Fcl_EYE_Close": 0.8}, {"Fcl_EYE_Close_L": 0.8}, {"Fcl_EYE_Close_R": 0.8}),
        (READY_PLAYER_ME, {"eyesClosed": 0.8}, {}, {}),
        (VRCHAT, {"vrc.blink": 0.8}, {}, {}),
    ],
    ids=["MMD", "VRoid", "Ready Player Me", "VRChat"],
)
def test_blinks_are_found_by_name(names: tuple[str, ...], both: Any, left: Any, right: Any) -> None:
    avatar = named(names)
    assert posed(avatar, eyeBlinkLeft=0.8, eyeBlinkRight=0.8) == pytest.approx(both)
    assert posed(avatar, eyeBlinkLeft=0.8) == pytest.approx(left)
    assert posed(avatar, eyeBlinkRight=0.8) == pytest.approx(right)


@pytest.mark.parametrize(
    ("names", "emotion", "morph"),
    [
        (MMD, "happy", "笑い"), (MMD, "angry", "怒り"), (MMD, "sad", "困る"), (MMD, "surprised", "びっくり"),
        (VROID, "happy", "Face.M_F00_000_00_Fcl_ALL_Joy"), (VROID, "angry", "Fcl_ALL_Angry"),
        (READY_PLAYER_ME, "happy", "mouthSmile"),
    ],
)  # fmt: skip
def test_moods_are_found_by_name(names: tuple[str, ...], emotion: Emotion, morph: str) -> None:
    up = posed(named(names), emotion=emotion)
    assert set(up) == {morph} and up[morph] > 0.4


def test_a_mood_that_narrows_the_eyes_takes_the_blink_back() -> None:
    avatar = named(MMD)
    avatar.set_expression("happy", 0.75)
    assert posed(avatar, eyeBlinkLeft=1.0, eyeBlinkRight=1.0) == pytest.approx({"笑い": 0.75, "まばたき": 0.25})


@pytest.mark.parametrize(
    ("names", "pp", "ff", "aa"),
    [(READY_PLAYER_ME, "viseme_PP", "viseme_FF", "viseme_aa"), (VRCHAT, "vrc.v_pp", "vrc.v_ff", "vrc.v_aa")],
    ids=["Ready Player Me", "VRChat"],
)
def test_oculus_visemes_show_consonants(names: tuple[str, ...], pp: str, ff: str, aa: str) -> None:
    avatar = named(names)
    assert not avatar.uses_arkit_mouth
    assert posed(avatar, jawOpen=0.12, mouthClose=0.12) == pytest.approx({pp: 1.0})
    assert posed(avatar, jawOpen=0.09, mouthRollLower=0.6, mouthUpperUpLeft=0.2)[ff] > 0.8
    up = posed(avatar, jawOpen=0.5)
    assert max(up, key=lambda name: up[name]) == aa and up[aa] > 0.4
    assert posed(avatar) == {}


def test_arkit_shapes_win_over_oculus_visemes() -> None:
    avatar = named((*OCULUS, *MOUTH_NAMES))
    assert avatar.uses_arkit_mouth
    assert posed(avatar, jawOpen=0.5) == pytest.approx({"jawOpen": 0.5})


def test_what_the_face_drives_starts_from_zero_on_any_file() -> None:
    avatar = named(("jawOpen", "まばたき"), weights=0.5)
    up = posed(avatar, jawOpen=0.25)
    assert up["jawOpen"] == pytest.approx(0.25)
    assert "まばたき" not in up
    assert up["other0"] == pytest.approx(0.5)


def test_a_vrm_keeps_its_own_expressions() -> None:
    glb = take_apart(MODELS / "godette_vrm1.vrm")
    mesh = next(mesh for mesh in glb.document["meshes"] if mesh["primitives"][0].get("targets"))
    count = len(mesh["primitives"][0]["targets"])
    held = next(held for held in (mesh, *mesh["primitives"]) if "targetNames" in held.get("extras", {}))
    held["extras"]["targetNames"] = [*MMD, *OCULUS][:count]
    before = dict(parse_avatar((MODELS / "godette_vrm1.vrm").read_bytes()).data.expressions)
    assert parse_avatar(glb.content()).data.expressions == before


@pytest.mark.parametrize("spelling", ["jawOpen", "JawOpen"])
@pytest.mark.parametrize("file", ["godette_vrm0.vrm", "godette_vrm1.vrm"])
def test_perfect_sync_is_found_among_custom_expressions(file: str, spelling: str) -> None:
    names = [name if spelling[0] == "j" else name[0].upper() + name[1:] for name in ARKIT_INDEX]
    glb = take_apart(MODELS / file)
    vrm = glb.document["extensions"].get("VRM")
    if vrm is not None:
        groups = vrm["blendShapeMaster"]["blendShapeGroups"]
        bind = next(group["binds"][0] for group in groups if group.get("binds"))
        groups += [{"name": name, "presetName": "unknown", "binds": [bind]} for name in names]
    else:
        held = glb.document["extensions"]["VRMC_vrm"]["expressions"]
        bind = held["preset"]["aa"]["morphTargetBinds"][0]
        held["custom"] = {name: {"morphTargetBinds": [bind]} for name in names}
    avatar = parse_avatar(glb.content())
    assert len(avatar.arkit_names) == 52
    assert avatar.uses_arkit_mouth
    face = np.linspace(0.01, 0.9, 52, dtype=np.float32)
    face[[ARKIT_INDEX["mouthClose"]]] = 0.0
    avatar.update(FacePose(face), 0.0)
    for name, i in ARKIT_INDEX.items():
        shown = avatar.effective[avatar.expressions.index[names[i]]]
        # Bones or look expressions carry the gaze.
        assert shown == pytest.approx(0.0 if name.startswith("eyeLook") else face[i]), name
