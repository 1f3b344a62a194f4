"""Look-at by value (VRMC_vrm 1.0, lookAt; VRM 0.x, firstPerson): range maps, both eyes, curves, the point looked at."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from idol.avatar import Avatar, load_avatar, parse_avatar
from idol.seams import FacePose
from tests.avatar.conftest import DATA
from tests.avatar.rewrite import take_apart

MODELS = DATA / "models"
RANGES = {
    "rangeMapHorizontalInner": {"inputMaxValue": 40.0, "outputScale": 8.0},
    "rangeMapHorizontalOuter": {"inputMaxValue": 50.0, "outputScale": 15.0},
    "rangeMapVerticalDown": {"inputMaxValue": 20.0, "outputScale": 4.0},
    "rangeMapVerticalUp": {"inputMaxValue": 10.0, "outputScale": 6.0},
}


def robot(**look: Any) -> Avatar:
    glb = take_apart(MODELS / "debug_robot_vrm1.vrm")
    glb.document["extensions"]["VRMC_vrm"]["lookAt"] = {"type": "bone", **RANGES, **look}
    return parse_avatar(glb.content())


def look(avatar: Avatar, yaw: float, pitch: float, head: float = 0.0) -> None:
    """Degrees; yaw to her left, pitch up."""
    gaze = (math.radians(yaw), math.radians(pitch))
    avatar.update(FacePose(np.zeros(52, np.float32), head=(head, 0.0, 0.0), gaze=gaze), 0.0)


def turned(avatar: Avatar, bone: str) -> tuple[float, float]:
    """Yaw to her left and pitch up of a bone against the head, in degrees."""
    skeleton, bones = avatar.skeleton, avatar.data.human_bones
    eye, head = bones[bone], bones["head"]
    rest = np.linalg.inv(skeleton.rest_world[head]) @ skeleton.rest_world[eye]
    now = np.linalg.inv(skeleton.world[head]) @ skeleton.world[eye]
    x, y, z = (now @ np.linalg.inv(rest))[:3, :3] @ [0.0, 0.0, 1.0]
    return math.degrees(math.atan2(x, z)), math.degrees(math.asin(y))


@pytest.mark.parametrize(
    ("yaw", "pitch", "left", "right"),
    [
        # To her left the left eye goes outwards (15 of 50), the right one inwards (8 of 40).
        (25.0, 0.0, (7.5, 0.0), (5.0, 0.0)), (-25.0, 0.0, (-5.0, 0.0), (-7.5, 0.0)),
        (0.0, 5.0, (0.0, 3.0), (0.0, 3.0)), (0.0, -5.0, (0.0, -1.0), (0.0, -1.0)),
        # Past inputMaxValue nothing is added.
        (80.0, 0.0, (15.0, 0.0), (8.0, 0.0)), (0.0, 60.0, (0.0, 6.0), (0.0, 6.0)),
        (0.0, -60.0, (0.0, -4.0), (0.0, -4.0)),
        # Yaw about the upright, pitch about the turned axis (YXZ).
        (25.0, -20.0, (7.5, -4.0), (5.0, -4.0)),
    ],
)  # fmt: skip
def test_eyes_turn_by_their_range_maps(
    yaw: float, pitch: float, left: tuple[float, float], right: tuple[float, float]
) -> None:
    avatar = robot()
    assert avatar.gaze.kind == "bone"
    look(avatar, yaw, pitch)
    assert turned(avatar, "leftEye") == pytest.approx(left, abs=1e-3)
    assert turned(avatar, "rightEye") == pytest.approx(right, abs=1e-3)


def test_a_range_of_zero_means_all_at_once() -> None:
    avatar = robot(rangeMapHorizontalOuter={"inputMaxValue": 0.0, "outputScale": 12.0})
    look(avatar, 0.0, 0.0)
    assert turned(avatar, "leftEye") == pytest.approx((0.0, 0.0), abs=1e-6)
    look(avatar, 1.0, 0.0)
    assert turned(avatar, "leftEye") == pytest.approx((12.0, 0.0), abs=1e-3)


def watching(**preset: Any) -> Avatar:
    """Godette, whose eyes move by expressions."""
    glb = take_apart(MODELS / "godette_vrm1.vrm")
    vrm = glb.document["extensions"]["VRMC_vrm"]
    ranges = {key: {**item, "outputScale": item["outputScale"] / 20.0} for key, item in RANGES.items()}
    vrm["lookAt"] = {"type": "expression", **ranges}
    for name, more in preset.items():
        vrm["expressions"]["preset"][name].update(more)
    return parse_avatar(glb.content())


@pytest.mark.parametrize(
    ("yaw", "pitch", "expected"),
    [
        # Both directions of yaw take the outer map.
        (25.0, 0.0, {"lookLeft": 0.375}), (-25.0, 0.0, {"lookRight": 0.375}), (-90.0, 0.0, {"lookRight": 0.75}),
        (0.0, 5.0, {"lookUp": 0.15}), (0.0, -5.0, {"lookDown": 0.05}),
        (10.0, -40.0, {"lookLeft": 0.15, "lookDown": 0.2}),
    ],
)  # fmt: skip
def test_look_expressions_rise_by_their_range_maps(yaw: float, pitch: float, expected: dict[str, float]) -> None:
    avatar = watching()
    assert avatar.gaze.kind == "expression"
    look(avatar, yaw, pitch)
    names = ("lookUp", "lookDown", "lookLeft", "lookRight")
    found = {name: float(avatar.effective[avatar.expressions.index[name]]) for name in names}
    assert {name: weight for name, weight in found.items() if weight > 1e-6} == pytest.approx(expected)


def test_an_override_takes_its_share_of_the_gaze_once() -> None:
    avatar = watching(happy={"overrideLookAt": "blend"})
    avatar.set_expression("happy", 0.25)
    look(avatar, 25.0, 0.0)
    assert avatar.effective[avatar.expressions.index["lookLeft"]] == pytest.approx(0.375 * 0.75)


def test_an_override_holds_for_eye_bones_too() -> None:
    glb = take_apart(MODELS / "debug_robot_vrm1.vrm")
    vrm = glb.document["extensions"]["VRMC_vrm"]
    vrm["lookAt"] = {"type": "bone", **RANGES}
    vrm["expressions"]["preset"]["happy"]["overrideLookAt"] = "blend"
    avatar = parse_avatar(glb.content())
    avatar.set_expression("happy", 0.5)
    look(avatar, 25.0, 0.0)
    assert turned(avatar, "leftEye") == pytest.approx((3.75, 0.0), abs=1e-3)


@pytest.mark.parametrize("curve", [None, [0, 0, 0, 1, 1, 1, 1, 0], [0, 0.4, 0, 0, 1, 1, 2, 0], [0, 0, "a"], "x"])
def test_the_curve_of_an_older_file_is_not_followed(curve: Any) -> None:
    """As in three-vrm. Godette's own curve begins at 0.05: followed, both sides would be lifted at rest."""
    glb = take_apart(MODELS / "godette_vrm0.vrm")
    held = glb.document["extensions"]["VRM"]["firstPerson"]
    held["lookAtHorizontalOuter"] = {"xRange": 80.0, "yRange": 1.0, "curve": curve}
    avatar = parse_avatar(glb.content())
    assert avatar.data.look_at is not None
    assert avatar.data.look_at.horizontal_outer(0.0) == 0.0
    assert avatar.data.look_at.horizontal_outer(40.0) == pytest.approx(0.5)


def test_she_looks_at_a_point_from_the_offset_of_her_head() -> None:
    avatar = robot(offsetFromHeadBone=[0.0, 0.1, 0.05])
    head = avatar.bone_position("head")
    assert head is not None
    eyes = head + np.asarray([0.0, 0.1, 0.05])
    assert avatar.gaze_at(eyes + np.asarray([0.0, 0.0, 2.0])) == pytest.approx((0.0, 0.0), abs=1e-6)
    assert avatar.gaze_at(eyes + np.asarray([1.0, 0.0, 1.0])) == pytest.approx((math.pi / 4, 0.0), abs=1e-6)
    # Pitch is measured against the level distance.
    assert avatar.gaze_at(eyes + np.asarray([3.0, -5.0, 4.0])) == pytest.approx(
        (math.atan2(3, 4), -math.pi / 4), abs=1e-6
    )


@pytest.mark.parametrize("name", ["debug_robot_vrm1.vrm", "godette_vrm1.vrm", "godette_vrm0.vrm"])
def test_a_turned_head_looks_back(name: str) -> None:
    avatar = load_avatar(MODELS / name)
    look(avatar, 0.0, 0.0)
    ahead = np.asarray(avatar.bone_position("head")) + np.asarray([0.0, 0.06, 50.0])
    look(avatar, 0.0, 0.0, head=0.4)
    yaw, pitch = avatar.gaze_at(ahead)
    assert yaw == pytest.approx(-0.4, abs=0.03)
    assert abs(pitch) < 0.03
