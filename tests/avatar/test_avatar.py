"""Poses: skinning, morphs, expressions and their overrides, gaze, the mapping to visemes, springs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from idol.avatar import Avatar, load_avatar
from idol.avatar.arkit import arkit_name, visemes
from idol.avatar.expressions import Expressions
from idol.avatar.framing import rest_positions
from idol.seams import ARKIT_INDEX, Emotion, FacePose
from tests.avatar.conftest import DATA


def pose(
    head: tuple[float, float, float] = (0.0, 0.0, 0.0),
    gaze: tuple[float, float] = (0.0, 0.0),
    emotion: Emotion = "neutral",
    speaking: bool = False,
    **weights: float,
) -> FacePose:
    face = np.zeros(52, np.float32)
    for name, weight in weights.items():
        face[ARKIT_INDEX[name]] = weight
    return FacePose(face, head=head, gaze=gaze, emotion=emotion, speaking=speaking)


def skinned(avatar: Avatar, primitive: int) -> np.ndarray:
    """What the vertex shader computes, in NumPy."""
    item, blend = avatar.data.primitives[primitive], avatar.blends[primitive]
    points = item.positions.astype(np.float64).copy()
    live = blend.slots >= 0
    points[live] += blend.offsets[blend.slots[live], :3]
    homogeneous = np.concatenate([points, np.ones((len(points), 1))], 1)
    out = np.zeros_like(points)
    for k in range(4):
        out += item.weights[:, k : k + 1] * np.einsum("vij,vj->vi", avatar.palette[item.joints[:, k]], homogeneous)
    return out


@pytest.mark.parametrize("name", ["godette_vrm1.vrm", "RiggedFigure.glb", "debug_robot_vrm1.vrm"])
def test_skinning_at_rest_gives_the_file_s_own_shape(name: str) -> None:
    avatar = load_avatar(DATA / "models" / name)
    avatar.skeleton.reset()
    avatar.skeleton.solve()
    avatar._write_palette(pose())
    for i, expected in enumerate(rest_positions(avatar.data, avatar.skeleton)):
        assert np.abs(skinned(avatar, i) - expected).max() < 1e-5


def test_head_turns_to_her_left_and_looks_up(godette: Avatar) -> None:
    node = godette.data.human_bones["head"]
    godette.update(pose(), 0.0)
    rest = godette.skeleton.world[node, :3, :3].copy()
    godette.update(pose(head=(0.4, 0.0, 0.0)), 0.0)
    forward = godette.skeleton.world[node, :3, :3] @ np.linalg.inv(rest) @ np.asarray([0.0, 0.0, 1.0])
    assert np.arctan2(forward[0], forward[2]) == pytest.approx(0.4, abs=0.02)
    godette.update(pose(head=(0.0, 0.3, 0.0)), 0.0)
    forward = godette.skeleton.world[node, :3, :3] @ np.linalg.inv(rest) @ np.asarray([0.0, 0.0, 1.0])
    assert 0.2 < forward[1] < 0.32
    godette.update(pose(head=(0.0, 0.0, 0.3)), 0.0)
    up = godette.skeleton.world[node, :3, :3] @ np.linalg.inv(rest) @ np.asarray([0.0, 1.0, 0.0])
    assert up[0] == pytest.approx(np.sin(0.3), abs=0.02)


def test_arms_hang_at_her_sides(godette: Avatar) -> None:
    for side, sign in (("left", 1.0), ("right", -1.0)):
        upper, lower = godette.bone_position(f"{side}UpperArm"), godette.bone_position(f"{side}LowerArm")
        assert upper is not None
        assert lower is not None
        along = (lower - upper) / np.linalg.norm(lower - upper)
        assert np.degrees(np.arcsin(-along[1])) == pytest.approx(72.0, abs=4.0)
        assert along[0] * sign > 0


def test_jaw_opens_the_chin_by_what_the_file_says(head52: Avatar) -> None:
    head52.update(pose(), 0.0)
    closed = skinned(head52, 0)
    head52.update(pose(jawOpen=1.0), 0.0)
    moved = closed[:, 1] - skinned(head52, 0)[:, 1]
    # The manifest: by 0.025 m at most.
    assert 0.0245 < moved.max() <= 0.025
    full = moved.max()
    head52.update(pose(jawOpen=0.5), 0.0)
    assert (closed[:, 1] - skinned(head52, 0)[:, 1]).max() == pytest.approx(full / 2, abs=1e-5)


def test_all_52_are_found_and_each_moves_the_mesh(head52: Avatar) -> None:
    assert len(head52.arkit_names) == 52
    assert head52.uses_arkit_mouth
    head52.update(pose(), 0.0)
    rest = skinned(head52, 0)
    for name in head52.arkit_names:
        if name.startswith("eyeLook") or name == "mouthClose":
            continue
        head52.update(pose(**{name: 1.0}), 0.0)
        assert np.abs(skinned(head52, 0) - rest).max() > 1e-4, name


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("jawOpen", "jawOpen"), ("JawOpen", "jawOpen"), ("jaw_open", "jawOpen"), ("eyeBlink_L", "eyeBlinkLeft"),
        ("mouth_smile_r", "mouthSmileRight"), ("mouthSmile.L", "mouthSmileLeft"), ("eyeBlinkL", "eyeBlinkLeft"),
        ("blendShape1.browInnerUp", "browInnerUp"), ("MouthSmileLeft", "mouthSmileLeft"), ("blink", None), ("A", None),
        ("cheekPuffLeft", "cheekPuff"), ("", None),
    ],
)  # fmt: skip
def test_names_of_every_habit(given: str, meant: str | None) -> None:
    assert arkit_name(given) == meant


@pytest.mark.parametrize(
    "closure",
    [
        {"jawOpen": 0.3, "mouthClose": 0.3}, {"mouthPressLeft": 0.5, "mouthPressRight": 0.5, "jawOpen": 0.05},
        {"mouthRollLower": 0.5, "mouthRollUpper": 0.5, "jawOpen": 0.1}, {},
        {"mouthSmileLeft": 0.8, "mouthSmileRight": 0.8},
    ],
)  # fmt: skip
def test_lips_that_meet_give_no_viseme(closure: dict[str, float]) -> None:
    assert visemes(pose(**closure).weights).max() < 0.02


def test_vowels_map_to_their_visemes() -> None:
    vowels = {
        "aa": {"jawOpen": 0.6}, "ou": {"jawOpen": 0.08, "mouthPucker": 0.8, "mouthFunnel": 0.3},
        "ee": {"jawOpen": 0.35, "mouthStretchLeft": 0.7, "mouthStretchRight": 0.7},
        "oh": {"jawOpen": 0.5, "mouthFunnel": 0.8},
        "ih": {"jawOpen": 0.1, "mouthStretchLeft": 0.6, "mouthStretchRight": 0.6},
    }  # fmt: skip
    for name, weights in vowels.items():
        found = dict(zip(("aa", "ih", "ou", "ee", "oh"), visemes(pose(**weights).weights), strict=True))
        assert max(found, key=lambda k: found[k]) == name, found
        assert found[name] > 0.2
        assert sum(found.values()) <= 1.0 + 1e-9


def test_a_vrm_without_arkit_opens_and_closes_its_mouth(godette: Avatar) -> None:
    assert not godette.uses_arkit_mouth
    names = godette.data.morph_names[0]
    godette.update(pose(jawOpen=0.7, speaking=True), 0.03)
    assert godette.morph_weights[names.index("ah")] > 0.5
    godette.update(pose(jawOpen=0.3, mouthClose=0.3, speaking=True), 0.03)
    assert godette.morph_weights[[names.index(n) for n in ("ah", "ih", "uu", "ee", "oh")]].max() < 0.02


def test_blink_wink_and_gaze_by_expression(godette: Avatar) -> None:
    names = godette.data.morph_names[0]
    godette.update(pose(eyeBlinkLeft=1.0, eyeBlinkRight=1.0), 0.0)
    assert godette.morph_weights[names.index("blink_left")] == pytest.approx(1.0)
    assert godette.morph_weights[names.index("blink_right")] == pytest.approx(1.0)
    godette.update(pose(eyeBlinkLeft=1.0), 0.0)
    assert godette.morph_weights[names.index("blink_right")] == pytest.approx(0.0)
    godette.update(pose(gaze=(0.5, 0.0)), 0.0)
    assert godette.morph_weights[names.index("look_left")] > 0.1
    assert godette.morph_weights[names.index("look_right")] == 0.0


def test_gaze_turns_eye_bones() -> None:
    robot = load_avatar(DATA / "models" / "debug_robot_vrm1.vrm")
    node = robot.data.human_bones["leftEye"]
    robot.update(pose(), 0.0)
    rest = robot.skeleton.world[node, :3, :3].copy()
    robot.update(pose(gaze=(0.6, 0.0)), 0.0)
    forward = robot.skeleton.world[node, :3, :3] @ np.linalg.inv(rest) @ np.asarray([0.0, 0.0, 1.0])
    assert forward[0] > 0.01
    # A shape on top of the bones would double the gaze.
    robot.update(pose(gaze=(0.6, 0.0), eyeLookOutLeft=1.0), 0.0)
    again = robot.skeleton.world[node, :3, :3] @ np.linalg.inv(rest) @ np.asarray([0.0, 0.0, 1.0])
    assert again == pytest.approx(forward)


def test_overrides_block_and_blend(godette: Avatar) -> None:
    index = godette.expressions.index
    godette.set_expression("happy", 0.5)
    godette.update(pose(jawOpen=0.7, eyeBlinkLeft=1.0, eyeBlinkRight=1.0), 0.0)
    assert godette.effective[index["blink"]] == 0.0
    free = visemes(pose(jawOpen=0.7).weights)[0]
    assert godette.effective[index["aa"]] == pytest.approx(free * 0.5)


def test_binary_expression_blocks_whole() -> None:
    avatar = load_avatar(DATA / "models" / "expression_isbinary_vrm1.vrm")
    index = avatar.expressions.index
    avatar.set_expression("blink", 1.0)
    avatar.set_expression("happy", 0.4)
    avatar.update(pose(), 0.0)
    assert (avatar.effective[index["happy"]], avatar.effective[index["blink"]]) == (0.0, 1.0)
    avatar.set_expression("happy", 0.6)
    avatar.update(pose(), 0.0)
    assert (avatar.effective[index["happy"]], avatar.effective[index["blink"]]) == (1.0, 0.0)
    assert avatar.material_changes


def test_any_override_takes_a_binary_expression_away() -> None:
    # The specification: suppressed completely if the effect received is greater than 0.
    avatar = load_avatar(DATA / "models" / "godette_vrm1.vrm")
    index = avatar.expressions.index
    items = {item.name: item for item in avatar.expressions.items}
    assert items["blinkLeft"].is_binary
    avatar.data.expressions["angry"] = replace(items["angry"], override_blink="blend")
    expressions = Expressions(avatar.data)
    asked = np.zeros(len(index))
    asked[[index["blinkLeft"], index["blink"]]] = 1.0
    assert expressions.resolve(asked)[0][index["blinkLeft"]] == 1.0
    asked[index["angry"]] = 0.2
    weights, left = expressions.resolve(asked)
    assert (weights[index["blinkLeft"]], weights[index["blink"]], left["blink"]) == (0.0, 0.8, 0.8)


def test_an_expression_does_not_override_its_own_kind(godette: Avatar) -> None:
    items = {item.name: item for item in godette.expressions.items}
    godette.data.expressions["blink"] = replace(items["blink"], override_blink="block")
    expressions = Expressions(godette.data)
    asked = np.zeros(len(items))
    asked[expressions.index["blink"]] = 0.7
    assert expressions.resolve(asked)[0][expressions.index["blink"]] == 0.7


def test_emotion_rises_smoothly_and_steps_back_for_speech(godette: Avatar) -> None:
    index = godette.expressions.index["happy"]
    godette.update(pose(emotion="happy"), 1 / 30)
    first = godette.effective[index]
    assert 0.0 < first < 0.3
    for _ in range(60):
        godette.update(pose(emotion="happy"), 1 / 30)
    assert godette.effective[index] == pytest.approx(0.8, abs=0.01)
    for _ in range(60):
        godette.update(pose(emotion="happy", speaking=True), 1 / 30)
    assert godette.effective[index] < 0.3


@pytest.mark.parametrize("dt", [1 / 144, 1 / 60, 1 / 30, 1 / 15, 0.5])
def test_springs_stay_whole_at_any_frame_rate(godette: Avatar, dt: float) -> None:
    springs = godette._springs
    for i in range(int(4 / dt) + 20):
        godette.update(pose(head=(0.8 * np.sin(i * dt * 9), 0.3 * np.sin(i * dt * 7), 0.0)), dt)
        assert np.isfinite(godette.palette).all()
    # Bones keep their length: the chain bends, it does not stretch.
    reach = np.linalg.norm(springs._tail_now - springs._head, axis=1)
    assert reach == pytest.approx(springs._length[:, 0], rel=1e-6)
    for _ in range(int(6 / dt) + 60):
        godette.update(pose(), dt)
    still = springs._tail_now.copy()
    godette.update(pose(), dt)
    assert np.abs(springs._tail_now - still).max() < 2e-3


def test_springs_swing_alike_at_30_and_120_frames(godette: Avatar) -> None:
    other = load_avatar(DATA / "models" / "godette_vrm1.vrm")
    paths = []
    for avatar, rate in ((godette, 30), (other, 120)):
        path = []
        for i in range(1, rate * 2 + 1):
            turn = 0.5 * np.sin(i / rate * 5.0)
            avatar.update(pose(head=(turn, 0.0, 0.0)), 1 / rate)
            if i % (rate // 30) == 0:
                path.append(avatar._springs._tail_now.copy())
        paths.append(np.asarray(path))
    travelled = np.ptp(paths[1], axis=0).max()
    assert travelled > 0.1
    assert np.abs(paths[0] - paths[1]).max() < 0.15 * travelled


def test_bad_numbers_do_not_reach_the_screen(godette: Avatar) -> None:
    weights = np.full(52, np.nan, np.float32)
    bad = FacePose(weights, head=(float("nan"), 0.0, 9e9), gaze=(float("inf"), 0.0), breath=float("nan"))
    for dt in (0.03, float("nan"), -1.0, 1e9):
        godette.update(bad, dt)
        assert np.isfinite(godette.palette).all()
        assert np.isfinite(godette.morph_weights).all()


def held(avatar: Avatar, emotion: Emotion) -> dict[str, float]:
    """The expressions that are on when an emotion has been held."""
    for _ in range(60):
        avatar.update(FacePose(np.zeros(52, np.float32), emotion=emotion), 1 / 30)
    return {n: round(float(w), 2) for n, w in zip(avatar.expression_names, avatar.effective, strict=True) if w > 0.01}


def test_an_expression_of_the_models_own_shows_the_emotion(godette: Avatar) -> None:
    assert held(godette, "shy") == {"relaxed": 0.35, "happy": 0.35}
    items = godette.data.expressions
    items["Shy"] = replace(items["sad"], name="Shy", custom=True)
    assert held(Avatar(godette.data), "shy") == {"Shy": 0.8}
    items["Blush"] = replace(items.pop("Shy"), name="Blush")
    assert held(Avatar(godette.data), "shy") == {"relaxed": 0.35, "happy": 0.35, "Blush": 1.0}


def test_an_emotion_without_its_preset_is_shown_by_another(godette: Avatar) -> None:
    assert not godette.expressions.has("surprised")
    assert held(godette, "surprised") == {"oh": 0.45}


def test_blush_joins_the_52_shapes() -> None:
    idol = load_avatar(DATA.parents[1] / "avatars" / "default.vrm")
    assert held(idol, "shy") == {"blush": 1.0}
    assert held(idol, "happy") == {}
