"""Tracks, VRM animations and their blending: values worked out by hand, and rigs that must not make a difference."""

from __future__ import annotations

import json
import math
import struct
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from idol.avatar import Avatar, AvatarError, load_animation, load_avatar, parse_animation
from idol.avatar.animation import MotionClip, Track, Tracks, slerp
from idol.avatar.rig import ROW
from idol.avatar.rotation import inverse, multiply, rotate
from idol.seams import FacePose
from tests.avatar.conftest import DATA

STILL = FacePose(np.zeros(52, np.float32))
IDENTITY = [0.0, 0.0, 0.0, 1.0]
MODELS = {
    "godette0": DATA / "models" / "godette_vrm0.vrm",
    "godette1": DATA / "models" / "godette_vrm1.vrm",
    "robot": DATA / "models" / "debug_robot_vrm1.vrm",
    "idol": Path(__file__).resolve().parents[2] / "avatars" / "default.vrm",
}


def about(axis: int, degrees: float) -> list[float]:
    out = [0.0, 0.0, 0.0, math.cos(math.radians(degrees) / 2)]
    out[axis] = math.sin(math.radians(degrees) / 2)
    return out


def track(times: list[float], values: Any, interpolation: Any = "LINEAR") -> Track:
    return Track(np.asarray(times), np.asarray(values, np.float64), interpolation)


def same_turn(a: Any, b: Any, tolerance: float = 1e-6) -> bool:
    return 1.0 - abs(float(np.dot(a, b))) < tolerance


# -- a VRMA made here --------------------------------------------------------------------------------------------


def vrma(
    bones: dict[str, tuple[str | None, list[float], list[float]]],
    channels: list[tuple[str, str, list[float], Any, str]],
    extension: dict[str, Any] | None = None,
    more: list[dict[str, Any]] | None = None,
) -> bytes:
    """``bones``: name to (parent, local rest translation, local rest rotation); ``channels``: (node, path, times,
    values, interpolation). ``more`` nodes follow the bones; names that begin with ``_`` are no human bones."""
    names = [*bones, *[node["name"] for node in more or []]]
    nodes: list[dict[str, Any]] = [
        {"name": name, "translation": place, "rotation": turn, "children": []}
        for name, (_, place, turn) in bones.items()
    ]
    for name, (parent, _, _) in bones.items():
        if parent is not None:
            nodes[names.index(parent)]["children"].append(names.index(name))
    for node in nodes:
        if not node["children"]:
            del node["children"]
    nodes += more or []
    binary, views, accessors, samplers, targets = b"", [], [], [], []
    for node, path, times, values, interpolation in channels:
        for data in (np.asarray(times, "<f4"), np.asarray(values, "<f4")):
            flat = data.reshape(-1, data.shape[-1]) if data.ndim > 1 else data[:, None]
            views.append({"buffer": 0, "byteOffset": len(binary), "byteLength": flat.nbytes})
            kind = {1: "SCALAR", 3: "VEC3", 4: "VEC4"}[flat.shape[1]]
            accessors.append({"bufferView": len(views) - 1, "componentType": 5126, "count": len(flat), "type": kind})
            binary += flat.tobytes()
        samplers.append({"input": len(accessors) - 2, "output": len(accessors) - 1, "interpolation": interpolation})
        targets.append({"sampler": len(samplers) - 1, "target": {"node": names.index(node), "path": path}})
    human = {name: {"node": names.index(name)} for name in bones if not name.startswith("_")}
    document = {
        "asset": {"version": "2.0"}, "nodes": nodes, "buffers": [{"byteLength": len(binary)}],
        "bufferViews": views, "accessors": accessors, "animations": [{"samplers": samplers, "channels": targets}],
        "extensions": {
            "VRMC_vrm_animation": {"specVersion": "1.0", "humanoid": {"humanBones": human}, **(extension or {})}
        },
    }  # fmt: skip
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    binary += b"\0" * (-len(binary) % 4)
    body = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(binary), 0x004E4942) + binary
    return struct.pack("<III", 0x46546C67, 2, 12 + len(body)) + body


PLAIN: dict[str, tuple[str | None, list[float], list[float]]] = {
    "hips": (None, [0.0, 1.0, 0.0], IDENTITY),
    "spine": ("hips", [0.0, 0.1, 0.0], IDENTITY),
    "chest": ("spine", [0.0, 0.2, 0.0], IDENTITY),
    "leftUpperArm": ("chest", [0.2, 0.2, 0.0], IDENTITY),
    "leftLowerArm": ("leftUpperArm", [0.3, 0.0, 0.0], IDENTITY),
}


# -- tracks ------------------------------------------------------------------------------------------------------


def test_linear_step_and_spline_as_worked_out_by_hand() -> None:
    linear = track([0.0, 2.0], [[0.0], [4.0]])
    step = track([0.0, 2.0], [[0.0], [4.0]], "STEP")
    # p0 = 0, out-tangent 1/s, p1 = 4, in-tangent 0: at u = 1/4 of 2 s
    # (2u3-3u2+1) p0 + (u3-2u2+u) 2 * 1 + (3u2-2u3) 4 + (u3-u2) 2 * 0 = 0.28125 + 0.625
    spline = track([0.0, 2.0], [[[9.0], [0.0], [1.0]], [[0.0], [4.0], [9.0]]], "CUBICSPLINE")
    single = track([1.0], [[7.0]])
    tracks = Tracks([linear, step, spline, single])
    assert tracks.sample(0.5)[:, 0] == pytest.approx([1.0, 0.0, 0.90625, 7.0])
    assert tracks.sample(-1.0)[:, 0] == pytest.approx([0.0, 0.0, 0.0, 7.0])
    assert tracks.sample(1.999)[1, 0] == 0.0
    assert tracks.sample(2.0)[:, 0] == pytest.approx([4.0, 4.0, 4.0, 7.0])
    assert tracks.sample(9.0)[:, 0] == pytest.approx([4.0, 4.0, 4.0, 7.0])


def test_turns_go_the_shorter_way_at_an_even_pace() -> None:
    there = about(1, 120.0)
    for sign in (1.0, -1.0):
        tracks = Tracks([track([0.0, 3.0], [IDENTITY, [sign * v for v in there]])], spherical=True)
        assert same_turn(tracks.sample(1.0)[0], about(1, 40.0))
        assert same_turn(tracks.sample(2.0)[0], about(1, 80.0))
    half = slerp(np.asarray([IDENTITY]), np.asarray([about(0, 90.0)]), 0.5)
    assert same_turn(half[0], about(0, 45.0))
    same = slerp(np.asarray([there]), np.asarray([there]), 0.3)
    assert same_turn(same[0], there)


# -- VRMA files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["idle_loop.vrma", "three_vrm_test.vrma"])
def test_the_files_hold_what_the_manifest_says(name: str) -> None:
    entries = tomllib.loads((DATA / "manifest.toml").read_text(encoding="utf-8"))["asset"]
    expect = next(entry["expect"] for entry in entries if entry["file"] == f"animations/{name}")
    clip = load_animation(DATA / "animations" / name)
    assert clip.duration == pytest.approx(expect["animations"][0]["dur"])
    assert sorted(clip.expressions) == sorted(expect.get("vrma_expressions", {}).get("preset", []))
    assert (clip.gaze is not None) == (expect["vrma_look_at_node"] >= 0)
    if name == "idle_loop.vrma":
        assert len(clip.bones) == expect["human_bones"] and clip.hips is not None


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["idle_loop.vrma", "three_vrm_test.vrma"])
def test_they_play_on_every_avatar(name: str, model: str) -> None:
    clip, avatar = load_animation(DATA / "animations" / name), load_avatar(MODELS[model])
    avatar.motion.play(clip, loop=True)
    hand = []
    for _ in range(45):
        avatar.update(STILL, 1 / 15)
        assert np.isfinite(avatar.palette).all()
        place = avatar.bone_position("rightHand")
        assert place is not None
        hand.append(place)
    assert np.ptp(np.asarray(hand), axis=0).max() > 0.01, "something of her moves"


def test_the_same_motion_looks_the_same_on_vrm_0_and_1() -> None:
    clip = load_animation(DATA / "animations" / "idle_loop.vrma")
    places = []
    for model in ("godette0", "godette1"):
        avatar = load_avatar(MODELS[model])
        avatar.motion.play(clip, loop=True, fade=0.0)
        for _ in range(30):
            avatar.update(STILL, 0.1)
        places.append([avatar.bone_position(bone) for bone in ("hips", "head", "leftHand", "rightHand", "leftFoot")])
    assert np.abs(np.asarray(places[0]) - np.asarray(places[1])).max() < 1e-4


def test_world_turns_follow_the_animation(godette: Avatar) -> None:
    """leftUpperArm 90 degrees about Z from the T-pose points straight up, whatever the avatar's own axes are."""
    data = vrma(PLAIN, [("leftUpperArm", "rotation", [0.0, 1.0], [IDENTITY, about(2, 90.0)], "LINEAR")])
    godette.motion.play(parse_animation(data), fade=0.0)
    for at, angle in ((0.5, 45.0), (0.4999, 90.0)):
        godette.update(STILL, at)
        upper, lower = godette.bone_position("leftUpperArm"), godette.bone_position("leftLowerArm")
        rest = godette.motion.rig.rest
        straight = rest[ROW["leftLowerArm"]] - rest[ROW["leftUpperArm"]]
        shoulder = rotate(np.asarray(about(2, -3.0)), rotate(np.asarray(about(2, angle)), straight))
        assert lower - upper == pytest.approx(shoulder, abs=2e-3)


def test_a_rig_with_other_rest_rotations_gives_the_same_pose(godette: Avatar) -> None:
    """Every bone of the second rig is turned at rest; its keys say the same world pose in its own axes."""
    random = np.random.default_rng(3)
    world = {name: turn / np.linalg.norm(turn) for name in PLAIN for turn in [random.normal(size=4)]}
    turned: dict[str, tuple[str | None, list[float], list[float]]] = {}
    asked = {name: random.normal([0.0, 0.0, 0.0, 3.0], 1.0) for name in PLAIN}
    asked = {name: turn / np.linalg.norm(turn) for name, turn in asked.items()}
    plain_channels, turned_channels = [], []
    for name, (parent, place, _) in PLAIN.items():
        above = np.asarray(IDENTITY) if parent is None else world[parent]
        local = multiply(inverse(above), world[name])
        turned[name] = (parent, rotate(inverse(above), np.asarray(place)).tolist(), local.tolist())
        plain_channels.append((name, "rotation", [0.0, 1.0], [IDENTITY, asked[name].tolist()], "LINEAR"))
        key = multiply(multiply(inverse(above), asked[name]), world[name])
        turned_channels.append((name, "rotation", [0.0, 1.0], [local.tolist(), key.tolist()], "LINEAR"))
    places = []
    for rig, channels in ((PLAIN, plain_channels), (turned, turned_channels)):
        avatar = load_avatar(MODELS["godette1"])
        avatar.motion.play(parse_animation(vrma(rig, channels)), fade=0.0)
        avatar.update(STILL, 0.7)
        places.append([avatar.bone_position(bone) for bone in ("spine", "head", "leftHand", "leftIndexDistal")])
    assert np.abs(np.asarray(places[0]) - np.asarray(places[1])).max() < 1e-5
    godette.update(STILL, 0.7)
    assert np.abs(np.asarray(places[0][2]) - godette.bone_position("leftHand")).max() > 0.05


def test_hips_move_by_the_avatar_s_own_height(godette: Avatar) -> None:
    """The rig's hips are 1 m high under a parent that scales by 2 and stands half a metre up; spline tangents too."""
    rig = {"_root": (None, [0.0, 0.5, 0.0], about(1, 90.0)), **PLAIN}
    rig["hips"] = ("_root", [0.0, 0.5, 0.0], IDENTITY)
    # 0.3 along the parent's X is 0.3 along -Z in the world.
    keys = [[[0.0] * 3, [0.0, 0.5, 0.0], [0.3, 0.0, 0.0]], [[0.3, 0.0, 0.0], [0.3, 0.6, 0.0], [0.0] * 3]]
    clip = parse_animation(vrma(rig, [("hips", "translation", [0.0, 1.0], keys, "CUBICSPLINE")]))
    assert clip.hips is not None
    assert Tracks([clip.hips]).sample(1.0)[0] == pytest.approx([0.0, 0.1, -0.3], abs=1e-6)
    # At half way the spline with these tangents is half of both: y 0.55, x 0.15.
    assert Tracks([clip.hips]).sample(0.5)[0] == pytest.approx([0.0, 0.05, -0.15], abs=1e-6)
    rest = godette.motion.rig.rest[0]
    godette.motion.play(clip, fade=0.0)
    godette.update(STILL, 0.5)
    moved = godette.bone_position("hips")
    assert moved is not None
    assert moved - rest == pytest.approx(np.asarray([0.0, 0.05, -0.15]) * rest[1], abs=1e-5)


def test_nodes_between_bones_and_above_the_hips_count(godette: Avatar) -> None:
    rig = {"_root": (None, [0.0, 0.0, 0.0], IDENTITY), **PLAIN}
    rig["hips"] = ("_root", [0.0, 1.0, 0.0], IDENTITY)
    rig["_between"] = ("hips", [0.0, 0.05, 0.0], IDENTITY)
    rig["spine"] = ("_between", [0.0, 0.05, 0.0], IDENTITY)
    clip = parse_animation(vrma(rig, [
        ("_root", "translation", [0.0, 1.0], [[0.0] * 3, [0.0, 0.0, 0.4]], "LINEAR"),
        ("_between", "rotation", [0.0, 1.0], [IDENTITY, about(0, 20.0)], "LINEAR"),
        ("spine", "rotation", [0.0, 0.5, 1.0], [IDENTITY, about(0, 5.0), about(0, 10.0)], "LINEAR"),
    ]))  # fmt: skip
    assert clip.hips is not None
    assert Tracks([clip.hips]).sample(0.5)[0] == pytest.approx([0.0, 0.0, 0.2], abs=1e-6)
    assert same_turn(Tracks([clip.bones["spine"]], spherical=True).sample(1.0)[0], about(0, 30.0))
    assert same_turn(Tracks([clip.bones["spine"]], spherical=True).sample(0.5)[0], about(0, 15.0))


def test_a_bone_that_the_avatar_lacks_hands_its_turn_down() -> None:
    has = np.ones(55, bool)
    has[ROW["chest"]] = False
    clip = MotionClip(
        "bend", 1.0, {"chest": track([0.0, 1.0], [IDENTITY, about(0, 40.0)]), "neck": track([0.0], [about(0, 5.0)])}
    )
    sample = clip.fitted(has).sample(1.0)
    turned = dict(zip(sample.rows.tolist(), sample.turns, strict=True))
    assert same_turn(turned[ROW["upperChest"]], about(0, 40.0))
    assert same_turn(turned[ROW["neck"]], about(0, 5.0)), "only the next one down takes it"


def test_expressions_and_gaze_of_an_animation_join_her_own(godette: Avatar) -> None:
    more = [{"name": "happy", "translation": [0.0, 0.0, 0.0]}, {"name": "look"}, {"name": "odd"}]
    extension = {
        "expressions": {"preset": {"happy": {"node": 5}, "lookUp": {"node": 5}}, "custom": {"none_such": {"node": 7}}},
        "lookAt": {"node": 6},
    }
    aside = multiply(np.asarray(about(1, 20.0)), np.asarray(about(0, -10.0)))
    channels = [
        ("happy", "translation", [0.0, 1.0], [[0.0, 0.0, 0.0], [1.6, 9.0, 9.0]], "LINEAR"),
        ("odd", "translation", [0.0], [[1.0, 0.0, 0.0]], "STEP"),
        ("look", "rotation", [0.0], [aside.tolist()], "STEP"),
    ]  # fmt: skip
    clip = parse_animation(vrma(PLAIN, channels, extension, more))
    assert sorted(clip.expressions) == ["happy", "none_such"]
    sample = clip.fitted(np.ones(55, bool)).sample(0.5)
    assert sample.expressions["happy"] == pytest.approx(0.8)
    assert sample.gaze == pytest.approx((math.radians(20.0), math.radians(10.0)))
    assert clip.fitted(np.ones(55, bool)).sample(1.0).expressions["happy"] == 1.0, "weights beyond 1 are cut"
    godette.set_expression("happy", 0.1)
    godette.motion.play(clip, fade=0.0)
    godette.update(STILL, 0.5)
    index = godette.expressions.index
    assert godette.effective[index["happy"]] == pytest.approx(0.9)
    assert godette.effective[index["lookLeft"]] > 0.1 and godette.effective[index["lookUp"]] > 0.05
    assert godette.effective[index["lookRight"]] == 0.0


def test_lips_and_lids_stay_hers_during_an_animation(godette: Avatar) -> None:
    face = np.zeros(52, np.float32)
    face[17] = face[0] = face[7] = 0.8
    godette.motion.play(load_animation(DATA / "animations" / "idle_loop.vrma"), loop=True, fade=0.0)
    godette.update(FacePose(face, gaze=(0.3, 0.0)), 0.1)
    index = godette.expressions.index
    assert godette.effective[index["aa"]] > 0.3 and godette.effective[index["blink"]] > 0.7
    assert godette.effective[index["lookLeft"]] == pytest.approx(math.degrees(0.3) / 90.0), "of 90 degrees to the side"


def test_loops_fades_and_priorities(godette: Avatar) -> None:
    up = MotionClip("up", 1.0, {"leftUpperArm": track([0.0], [about(2, 60.0)])})
    down = MotionClip("down", 1.0, {"leftUpperArm": track([0.0], [about(2, -60.0)])})

    def angle() -> float:
        a, b = godette.bone_position("leftUpperArm"), godette.bone_position("leftLowerArm")
        assert a is not None and b is not None
        return float(np.degrees(np.arcsin((b - a)[1] / np.linalg.norm(b - a))))

    godette.update(STILL, 0.0)
    hanging = angle()
    godette.motion.play(MotionClip("rest", 1.0, {"leftUpperArm": track([0.0], [IDENTITY])}), loop=True, fade=0.0)
    godette.update(STILL, 0.0)
    level = angle()  # her arm at rest, the shoulder as she holds it
    godette.motion.stop(fade=0.0)
    godette.update(STILL, 0.0)
    assert angle() == hanging and abs(level) < 10.0
    over = godette.motion.play(up, loop=True, fade=0.4, priority=1)
    godette.update(STILL, 0.2)
    assert hanging + 20.0 < angle() < 50.0, "half way in"
    godette.update(STILL, 0.2)
    assert angle() == pytest.approx(level + 60.0, abs=0.5)
    godette.motion.play(down, loop=True, fade=0.2, priority=0)
    godette.update(STILL, 1.0)
    assert angle() == pytest.approx(level + 60.0, abs=0.5), "the higher priority lies on top"
    godette.motion.stop(over, fade=0.4)
    godette.update(STILL, 0.4)
    assert angle() == pytest.approx(level - 60.0, abs=0.5)
    godette.motion.stop()
    assert not godette.motion.animating
    for _ in range(10):
        godette.update(STILL, 0.1)
    assert angle() == pytest.approx(hanging, abs=0.01)
    godette.motion.play(up, fade=0.25)  # not looped: it is over, faded out, after its second
    ends = []
    for _ in range(60):
        godette.update(STILL, 1 / 50)
        ends.append(angle())
    assert max(ends) == pytest.approx(level + 60.0, abs=0.5)
    assert ends[-1] == pytest.approx(hanging, abs=0.01)
    assert np.abs(np.diff(ends)).max() < 25.0, "no snap at either end"


def test_a_loop_whose_ends_do_not_meet_is_led_back_to_its_start(godette: Avatar) -> None:
    bones = {"head": track([0.0, 2.0], [IDENTITY, about(1, 50.0)])}
    clip = MotionClip("half a turn", 2.0, bones, track([0.0, 2.0], [[0.0, 0.0, 0.0], [0.2, 0.0, 0.0]]))
    godette.motion.play(clip, loop=True, fade=0.0)
    heads, hips = [], []
    for _ in range(240):
        godette.update(STILL, 1 / 60)
        matrix = godette.skeleton.world[godette.data.human_bones["head"], :3, :3]
        heads.append(math.degrees(math.atan2(matrix[0, 2], matrix[2, 2])))
        hips.append(godette.skeleton.world[godette.data.human_bones["hips"], 0, 3])
    assert np.ptp(heads) > 38.0
    assert np.abs(np.diff(np.unwrap(heads, period=360.0))).max() < 6.0, "degrees in a sixtieth of a second"
    assert np.abs(np.diff(hips)).max() < 0.02
    whole = MotionClip("meets", 2.0, {"head": track([0.0, 1.0, 2.0], [IDENTITY, about(1, 50.0), IDENTITY])})
    bound = whole.fitted(np.ones(55, bool))
    assert np.array_equal(bound.looped(1.9).turns, bound.sample(1.9).turns), "a clean loop is played as it is"


def test_a_clip_of_one_moment_is_held_as_a_pose(godette: Avatar) -> None:
    pose = MotionClip("pose", 0.0, {"leftUpperArm": track([0.0], [about(2, 40.0)])})
    godette.motion.play(pose, loop=True, fade=0.2)
    hand = []
    for _ in range(60):
        godette.update(STILL, 0.05)
        hand.append(godette.bone_position("leftHand"))
    assert godette.motion.animating and np.abs(np.asarray(hand[-1]) - hand[10]).max() < 1e-9
    assert hand[-1][1] > hand[0][1] + 0.1


WHOLE = vrma(PLAIN, [("hips", "translation", [0.0], [[0.0, 1.0, 0.0]], "STEP")])


@pytest.mark.parametrize(("content", "told"), [
    (b"", "is empty"), (b"MZ is another kind of file", "not a GLB"),
    ((DATA / "models" / "RiggedFigure.glb").read_bytes(), "VRMC_vrm_animation"),
    ((DATA / "animations" / "idle_loop.vrma").read_bytes()[:5000], "cut short"),
    (WHOLE.replace(b'"1.0"', b'"2.0"'), "1.0"),
    (WHOLE.replace(b'"node": 0', b'"node":99'), "99"),
    (vrma(PLAIN, []).replace(b'"animations"', b'"aNimations"'), "no animation"),
    (vrma({"spine": (None, [0.0, 1.0, 0.0], IDENTITY)}, []), "hips"),
])  # fmt: skip
def test_a_broken_animation_is_refused_with_the_reason(content: bytes, told: str) -> None:
    with pytest.raises(AvatarError, match=told):
        parse_animation(content)


def test_mutated_animations_are_refused_or_play() -> None:
    whole = (DATA / "animations" / "three_vrm_test.vrma").read_bytes()
    random = np.random.default_rng(11)
    has, refused = np.ones(55, bool), 0
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(int(random.integers(1, 6))):
            data[int(random.integers(12, len(data)))] = int(random.integers(32, 127))
        try:
            bound = parse_animation(bytes(data)).fitted(has)
        except AvatarError:
            refused += 1
            continue
        for at in (0.0, 1.3, 99.0):
            assert np.isfinite(bound.sample(at).turns).all()
    assert 0 < refused < 150
