"""Her eyes follow the camera while it is before her, and no farther than eyes go."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication

from idol.avatar import Avatar, load_avatar
from idol.render.camera import Camera
from idol.render.eye_contact import NONE, PITCH, YAW, EyeContact
from idol.render.view import AvatarView
from idol.seams import FacePose

MODEL = Path(__file__).resolve().parents[2] / "tests" / "data" / "models" / "godette_vrm1.vrm"
STEP = 1 / 30


@pytest.fixture(scope="module")
def avatar() -> Avatar:
    return load_avatar(MODEL)


def settled(avatar: Avatar, yaw: float, pitch: float = 0.0) -> tuple[tuple[float, float], tuple[float, float]]:
    """Eye contact after a second, and where the camera is as her head sees it, for a camera turned by radians."""
    camera = Camera.framed(avatar.framing, "face")
    camera.orbit(yaw, pitch)
    contact = EyeContact()
    for _ in range(30):
        found = contact.turn(avatar, camera.eye, STEP)
    return found, avatar.gaze_at(camera.eye)


@pytest.mark.parametrize(("yaw", "pitch"), [(0.0, 0.0), (0.2, 0.1), (-0.25, -0.1)])
def test_a_camera_before_her_is_looked_at(avatar: Avatar, yaw: float, pitch: float) -> None:
    found, wanted = settled(avatar, yaw, pitch)
    assert found == pytest.approx(wanted, abs=2e-3)
    assert found[0] == pytest.approx(yaw, abs=0.03)


def test_eyes_stay_within_their_reach_and_let_go_of_a_camera_at_her_side(avatar: Avatar) -> None:
    turns = np.radians(np.arange(-180.0, 180.0, 3.0))
    found = np.asarray([settled(avatar, yaw, pitch)[0] for yaw in turns for pitch in (-0.4, 0.0, 0.4)])
    assert np.abs(found[:, 0]).max() == pytest.approx(YAW, abs=1e-3)
    assert np.abs(found[:, 1]).max() < PITCH
    beside = np.repeat(np.abs(turns) > NONE + 0.05, 3)
    assert np.abs(found[beside]).max() < 1e-6


def test_the_eyes_move_in_time_and_not_without_it(avatar: Avatar) -> None:
    camera = Camera.framed(avatar.framing, "face")
    camera.orbit(0.25, 0.0)
    contact = EyeContact()
    assert contact.turn(avatar, camera.eye, 0.0) == (0.0, 0.0)
    path = [contact.turn(avatar, camera.eye, STEP)[0] for _ in range(30)]
    assert 0.02 < path[0] < 0.1
    assert np.abs(np.diff(path)).max() <= path[0]
    assert contact.turn(avatar, np.asarray([math.nan, 0.0, 0.0]), STEP)[0] < path[-1]


def test_the_stage_adds_it_to_the_gaze_of_the_pose(monkeypatch: pytest.MonkeyPatch) -> None:
    application = QApplication.instance() or QApplication([])
    seen: list[tuple[float, float]] = []
    avatar = load_avatar(MODEL)
    monkeypatch.setattr(avatar, "update", lambda pose, dt: seen.append(pose.gaze))
    view = AvatarView()
    view.set_avatar(avatar)
    view.set_pose_source(lambda now: FacePose(np.zeros(52, np.float32), gaze=(0.1, -0.05)))
    view.camera.orbit(0.2, 0.0)
    for i in range(40):
        view.tick(100.0 + i * STEP)
    assert seen[0] == (0.1, -0.05)
    wanted = avatar.gaze_at(view.camera.eye)
    assert seen[-1] == pytest.approx((0.1 + wanted[0], -0.05 + wanted[1]), abs=2e-3)
    view.close()
    application.processEvents()
