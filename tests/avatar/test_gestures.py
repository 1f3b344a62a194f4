"""Her body: feet that stand, arms outside the body, gestures that begin and end without a snap, on several figures."""

from __future__ import annotations

import functools
import math
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from idol.avatar import Avatar, load_avatar
from idol.avatar.animation_player import AvatarMotion, BodyPose
from idol.avatar.gesture_scores import SCORES
from idol.avatar.gestures import Computed, Hand, Key, Score, mirrored, smooth_path
from idol.avatar.limbs import Arm, Leg
from idol.avatar.rig import ROW, Rig, still
from idol.avatar.rotation import inverse, multiply, rotate
from idol.face.choreography import GESTURES, IDLE
from idol.seams import BodyMotion, FacePose
from tests.avatar.conftest import DATA

IDOL = Path(__file__).resolve().parents[2] / "avatars" / "default.vrm"
FIGURES = {
    "idol": IDOL,
    "godette": DATA / "models" / "godette_vrm1.vrm",
    "robot": DATA / "models" / "debug_robot_vrm1.vrm",
}
F64 = np.ndarray
FASTEST = 14.0
"""Radians per second that a joint turns at most: a fist pump, and no snap."""
HARDEST = 0.16
"""Of that speed, the most that changes from one picture to the next at 60 a second would be a jerk of the eye."""


@functools.lru_cache(maxsize=4)
def figure(name: str) -> Avatar:
    return load_avatar(FIGURES[name])


def fresh(name: str) -> AvatarMotion:
    avatar = figure(name)
    motion = AvatarMotion(avatar.data, avatar.skeleton, avatar.motion.rig, avatar._poser.stance)
    motion._figure, motion._composer, motion._computed = (
        avatar.motion.figure, avatar.motion._compose(), avatar.motion._computed,
    )  # fmt: skip
    return motion


def apart(a: F64, b: F64) -> F64:
    """Angles in radians between turns (55, 4)."""
    return 2.0 * np.arccos(np.clip(np.abs((a * b).sum(-1)), 0.0, 1.0))


def run(motion: AvatarMotion, cues: list[BodyMotion], fps: float) -> list[BodyPose]:
    return [motion.update(cue, 1.0 / fps) for cue in cues]


def foot_slip(rig: Rig, poses: list[BodyPose]) -> float:
    """Metres that an ankle or a toe is away from where it rests, at most."""
    _, places = rig.solve(np.asarray([p.turns for p in poses]), np.asarray([p.hips for p in poses]))
    rows = [
        ROW[f"{side}{part}"] for side in ("left", "right") for part in ("Foot", "Toes") if rig.has[ROW[f"{side}{part}"]]
    ]
    return float(np.linalg.norm(places[:, rows] - rig.rest[rows], axis=-1).max())


# -- pieces ------------------------------------------------------------------------------------------------------


def test_paths_pass_their_keys_and_do_not_overshoot() -> None:
    times, values = np.asarray([0.0, 1.0, 2.0, 4.0]), np.asarray([[0.0], [3.0], [3.0], [-1.0]])
    at = np.linspace(0.0, 4.0, 401)
    path = smooth_path(times, values, at)[:, 0]
    assert path[[0, 100, 200, 400]] == pytest.approx([0.0, 3.0, 3.0, -1.0])
    assert path.max() <= 3.0 + 1e-9 and path.min() >= -1.0 - 1e-9
    assert path[50] == pytest.approx(1.5), "from rest to rest the middle is half way"
    assert np.abs(path[100:201] - 3.0).max() < 1e-9


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("side", ["left", "right"])
def test_arms_reach_where_they_are_told(name: str, side: str) -> None:
    rig = figure(name).motion.rig
    arm = Arm(rig, side)
    shoulder, length = rig.rest[arm.upper], sum(arm.lengths)
    wrist = shoulder + np.asarray([0.2 * arm.sign, 0.3, 0.5]) * length
    upper, lower, _ = arm.reach(shoulder[None], wrist[None], np.asarray([[arm.sign, -1.0, 0.0]]))
    palm, fingers = np.asarray([[0.0, 0.0, 1.0]]), np.asarray([[0.0, 1.0, 0.0]])
    lower, hand = arm.hold(lower, fingers, palm)
    pose = still()
    pose[arm.upper], pose[arm.lower] = upper[0], multiply(inverse(upper), lower)[0]
    pose[arm.hand] = multiply(inverse(lower), hand)[0]
    turns, places = rig.solve(pose)
    assert places[arm.hand] == pytest.approx(wrist, abs=1e-9)
    assert (places[arm.lower] - shoulder)[1] < 0.2 * length, "the elbow hangs"
    assert rotate(turns[arm.hand], np.asarray([0.0, -1.0, 0.0])) == pytest.approx(palm[0], abs=1e-6)
    assert rotate(turns[arm.hand], np.asarray([arm.sign, 0.0, 0.0])) == pytest.approx(fingers[0], abs=1e-6)
    far = shoulder + np.asarray([0.0, 0.0, 9.0])
    upper, lower, elbow = arm.reach(shoulder[None], far[None], np.asarray([[0.0, -1.0, 0.0]]))
    assert np.isfinite(upper).all() and np.linalg.norm(elbow[0] - shoulder) == pytest.approx(arm.lengths[0])


def test_a_straight_leg_bends_as_worked_out_by_hand() -> None:
    """The robot's thigh of 0.5 m and shin of 0.4375 m stand straight; lowered by 0.1 m, the triangle of the three
    lengths has cos = (0.5^2 + 0.8375^2 - 0.4375^2) / (2 * 0.5 * 0.8375) at the hip, and so on at the ankle."""
    rig = figure("robot").motion.rig
    leg = Leg(rig, "left")
    assert (leg.thigh, leg.shin) == pytest.approx((0.5, 0.4375))
    at_hip = math.degrees(math.acos(0.9074627))
    at_ankle = math.degrees(math.acos(0.8771855))
    hip = leg.hip(tuple(rig.rest[0] - [0.0, 0.1, 0.0]), (0.0, 0.0, 0.0, 1.0))  # type: ignore[arg-type]
    upper, lower, foot = (np.asarray(q) for q in leg.stand(hip, (0.0, 0.0, 0.0, 1.0)))
    assert np.degrees(apart(upper, still()[0])) == pytest.approx(at_hip, abs=0.05)
    assert np.degrees(apart(lower, still()[0])) == pytest.approx(at_hip + at_ankle, abs=0.05)
    assert rotate(upper, np.asarray([0.0, -1.0, 0.0]))[2] == pytest.approx(math.sin(math.radians(at_hip)), abs=1e-3), (
        "the knee goes forward"
    )
    whole = multiply(multiply(upper, lower), foot)
    assert apart(whole, still()[0]) < 1e-6, "the sole stays level"


def test_mirrored_gestures_are_mirror_images() -> None:
    hand = Hand("chest", (0.1, 0.0, 0.3), (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0))
    score = Score("one", (Key(0.0), Key(1.0, (10.0, 2.0, 3.0), (4.0, 0.0, 0.0), right=hand), Key(2.0)))
    composer = fresh("robot")._compose()
    one, two = composer.compute(score), composer.compute(mirrored(score, "two"))
    for name in ("UpperArm", "LowerArm", "Hand"):
        right, left = one.turns[:, ROW[f"right{name}"]], two.turns[:, ROW[f"left{name}"]]
        assert np.abs(np.abs((right * [1.0, -1.0, -1.0, 1.0] * left).sum(1)) - 1.0).max() < 1e-6


# -- gestures ----------------------------------------------------------------------------------------------------


def test_there_is_a_gesture_for_all_that_is_asked() -> None:
    named = {name for names in GESTURES.values() for name in names} | set(IDLE)
    assert named <= set(SCORES)
    assert {"wave", "bow", "nod", "explain"} <= set(SCORES)
    for score in SCORES.values():
        assert score.keys[0] == Key(0.0) and score.keys[-1] == Key(score.duration)
        assert 0.2 <= score.fade_in <= 0.5 and 0.2 <= score.fade_out <= 0.5
        times = [key.at for key in score.keys]
        assert times == sorted(set(times))


def in_the_body(motion: AvatarMotion, poses: list[BodyPose], bones: tuple[str, ...]) -> float:
    """How deep, at worst, a place of the arms is in the body's outline: 1 on its surface, less inside.

    The body is as measured from the mesh at rest; the arms are seen from the frames of chest and hips."""
    rig, outline = motion.rig, motion.figure
    turns, places = rig.solve(np.asarray([p.turns for p in poses]), np.asarray([p.hips for p in poses]))
    nearest = math.inf
    chest = rig.rest[ROW["upperChest"], 1] if rig.has[ROW["upperChest"]] else rig.rest[ROW["spine"], 1]
    for bone in bones:
        for frame in ("upperChest", "hips"):
            row = ROW[frame]
            seen = rotate(inverse(turns[:, row]), places[:, ROW[bone]] - places[:, row]) + rig.rest[row]
            above = seen[:, 1] >= 0.5 * (chest + rig.rest[0, 1])
            seen = seen[above if frame == "upperChest" else ~above]
            seen = seen[seen[:, 1] < outline.heights[-1]]
            if not len(seen):
                continue
            width, front, back = outline.at(seen[:, 1])
            x, z = seen[:, 0] / width, (seen[:, 2] - (front + back) / 2) / ((front - back) / 2)
            nearest = min(nearest, float(np.hypot(x, z).min()))
    return nearest


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("gesture", SCORES)
def test_every_gesture_stands_stays_out_of_the_body_and_never_snaps(gesture: str, name: str) -> None:
    motion = fresh(name)
    seconds = motion.gesture(gesture) + 0.4
    poses = [motion.update(BodyMotion(), 1 / 60) for _ in range(round(seconds * 60))]
    assert foot_slip(motion.rig, poses) < 0.005
    hands = tuple(f"{side}{part}" for side in ("left", "right") for part in ("Hand", "MiddleProximal", "LowerArm"))
    if name != "robot":  # whose body is three boxes with no outline between their corners
        # Where her arms hang they may touch a wide skirt: that is how deep a gesture may be.
        hanging = in_the_body(motion, poses[-1:], hands)
        assert in_the_body(motion, poses, hands) > min(1.0, hanging) - 0.06
    speed = np.asarray([apart(b.turns, a.turns) for a, b in pairwise(poses)]) * 60
    assert speed.max() < FASTEST
    assert np.abs(np.diff(speed, axis=0)).max() < HARDEST * 60
    assert apart(poses[-1].turns, motion._stance).max() < 1e-6 and not poses[-1].hips.any()
    moved = apart(np.asarray([p.turns for p in poses]), motion._stance).max()
    assert moved > math.radians(6.0), "nobody sees this gesture"


@pytest.mark.parametrize("at", [0.1, 0.5, 0.9, 1.4])
def test_a_gesture_that_is_cut_or_replaced_lets_go_smoothly(at: float) -> None:
    for after in ("", "angry"):
        motion = fresh("idol")
        cue = BodyMotion(weight=0.4, gesture="", gesture_id=1)
        poses = run(motion, [cue] * 10, 60)
        poses += run(motion, [BodyMotion(weight=0.4, gesture="wave", gesture_id=2)] * round(at * 60), 60)
        assert motion.gesture_name == "wave"
        poses += run(motion, [BodyMotion(weight=0.4, gesture=after, gesture_id=3)] * 20, 60)
        assert motion.gesture_name == after
        speed = np.asarray([apart(b.turns, a.turns) for a, b in pairwise(poses)]) * 60
        assert speed.max() < FASTEST
        if not after:  # a third of a second later nothing is left of it
            assert apart(poses[-1].turns, poses[9].turns).max() < 1e-6


def test_a_gesture_asked_of_the_avatar_before_is_not_made_again() -> None:
    motion = fresh("robot")
    run(motion, [BodyMotion(gesture="happy", gesture_id=8)] * 5, 30)
    assert motion.gesture_name == ""
    run(motion, [BodyMotion(gesture="sad", gesture_id=9)] * 5, 30)
    assert motion.gesture_name == "sad"
    run(motion, [BodyMotion(gesture="no such", gesture_id=10)] * 5, 30)


def test_talking_hands_rise_and_beat_in_front_of_her() -> None:
    motion = fresh("idol")
    rig, shoulder = motion.rig, motion.rig.rest[ROW["rightUpperArm"]]
    low, up, beat = (
        rig.solve(motion.update(BodyMotion(hands=(0.0, raised), beats=(0.0, beat)), 0.1).turns)[1][ROW["rightHand"]]
        for raised, beat in ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0))
    )
    arm = motion.figure.arm
    assert low[1] < up[1] < beat[1] < shoulder[1]
    assert up[2] > shoulder[2] + 0.3 * arm and beat[1] - up[1] > 0.05 * arm


def test_weight_goes_from_leg_to_leg_with_the_feet_planted() -> None:
    for name in FIGURES:
        motion = fresh(name)
        cues = [BodyMotion(weight=math.sin(i / 20), lean=math.cos(i / 31)) for i in range(400)]
        poses = run(motion, cues, 30)
        assert foot_slip(motion.rig, poses) < 0.005
        side = np.asarray([p.hips[0] for p in poses])
        assert np.ptp(side) > 0.04 * motion.rig.hips_height
        _, places = motion.rig.solve(np.asarray([p.turns for p in poses]), np.asarray([p.hips for p in poses]))
        knees = [places[:, ROW[f"{s}LowerLeg"], 2] - motion.rig.rest[ROW[f"{s}LowerLeg"], 2] for s in ("left", "right")]
        assert min(k.min() for k in knees) > -0.02, "knees bend forward"


def test_models_that_lack_bones_still_play(head52: Avatar) -> None:
    for avatar in (
        head52,
        load_avatar(DATA / "models" / "RiggedFigure.glb"),
        load_avatar(DATA / "models" / "simple_morph_vrm0.vrm"),
    ):
        for gesture in ("wave", "thinking", "bow"):
            avatar.motion.gesture(gesture)
            for _ in range(20):
                avatar.update(
                    FacePose(np.zeros(52, np.float32), motion=BodyMotion(0.5, 0.2, (1.0, 1.0), (1.0, 0.3))), 0.05
                )
                assert np.isfinite(avatar.palette).all()


def test_nonsense_cues_do_no_harm(godette: Avatar) -> None:
    nan = float("nan")
    for cue in (BodyMotion(nan, nan, (nan, 2.0), (nan, -3.0)), BodyMotion(1e30, -1e30, (9.0, 9.0), (1e9, 1e9))):
        godette.update(FacePose(np.zeros(52, np.float32), motion=cue), 0.03)
        assert np.isfinite(godette.palette).all()


def test_without_a_cue_she_stands_as_before(godette: Avatar) -> None:
    body = godette.motion.update(BodyMotion(), 0.1)
    assert np.array_equal(body.turns, godette.motion._stance) and not body.hips.any()


def test_the_body_costs_little() -> None:
    """Process time of a frame with a gesture, weight and talking hands, against the whole frame without them."""
    motion = fresh("idol")
    cue = BodyMotion(0.5, 0.1, (0.5, 0.5), (0.3, 0.6), "", 1)
    motion.update(cue, 0.0)
    costs = []
    for _ in range(5):
        motion.gesture("happy")
        for _ in range(40):
            start = time.process_time()
            motion.update(cue, 1 / 60)
            costs.append(time.process_time() - start)
    assert np.median(costs) < 0.0012, "0.4 ms where nothing else runs; three times that on a busy core"


def test_computing_a_gesture_does_not_hold_the_picture_up() -> None:
    motion = fresh("idol")
    start = time.process_time()
    computed = motion._compose().compute(SCORES["thinking"])
    assert isinstance(computed, Computed)
    assert time.process_time() - start < 0.05
