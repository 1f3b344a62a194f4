"""The shadow of the head: on the neck under the chin, never on the face, steady while she moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from idol.avatar import Avatar, load_avatar
from idol.render.camera import Camera
from idol.render.head_shadow import HeadShadow, steepened
from idol.render.offscreen import OffscreenStage, settle
from idol.seams import FacePose

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "tests" / "data" / "models"
AVATARS = (ROOT / "avatars" / "default.vrm", MODELS / "godette_vrm1.vrm", MODELS / "godette_vrm0.vrm")
SIZE = (240, 240)
BACKGROUND = (0.0, 0.0, 0.0, 0.0)
REST = FacePose(np.zeros(52, np.float32))


@pytest.fixture(scope="module")
def stage() -> Iterator[OffscreenStage]:
    with OffscreenStage() as held:
        yield held


@pytest.fixture(scope="module", params=AVATARS, ids=lambda path: path.stem)
def avatar(request: pytest.FixtureRequest) -> Avatar:
    """Lit all over, so that nothing but the head's shadow darkens it: many a neck has no shade of its own."""
    loaded = load_avatar(request.param)
    for material in loaded.data.materials:
        material.shading_shift, material.shading_shift_texture = 2.0, None
    return loaded


def shadow_of(
    stage: OffscreenStage, avatar: Avatar, what: FacePose, monkeypatch: pytest.MonkeyPatch
) -> NDArray[np.int64]:
    """How much darker each pixel is for the shadow, (height, width)."""
    settle(avatar, what)
    camera = Camera.framed(avatar.framing, "bust")
    stage.load(avatar)
    with_it = stage.picture(camera, SIZE, BACKGROUND).astype(int)
    with monkeypatch.context() as patch:
        patch.setattr(HeadShadow, "fit", classmethod(lambda cls, avatar: None))
        stage.load(avatar)
        without = stage.picture(camera, SIZE, BACKGROUND).astype(int)
    stage.load(avatar)
    found: NDArray[np.int64] = (without - with_it)[..., :3].sum(axis=2)
    return found


def row_of(avatar: Avatar, height: float) -> float:
    """The picture's row of a height in metres, at the depth of the head."""
    camera = Camera.framed(avatar.framing, "bust")
    clip = camera.projection(1.0) @ camera.view() @ [0.0, height, avatar.framing.head[2], 1.0]
    return float((0.5 - 0.5 * clip[1] / clip[3]) * SIZE[1])


def test_it_falls_under_the_chin_and_nowhere_on_the_face(
    stage: OffscreenStage, avatar: Avatar, monkeypatch: pytest.MonkeyPatch
) -> None:
    darker = shadow_of(stage, avatar, REST, monkeypatch)
    fitted = HeadShadow.fit(avatar)
    assert fitted is not None
    assert (darker > 20).sum() > 40
    assert darker.min() >= -6  # it never brightens
    rows, columns = np.nonzero(darker > 20)
    chin = row_of(avatar, float(fitted.centre[1] - fitted.radii[1]))
    middle = np.median(columns)
    assert abs(middle - SIZE[0] / 2) < 0.12 * SIZE[0]
    # Below the middle of the mouth, above the belly.
    assert rows.min() > row_of(avatar, float(fitted.centre[1] - 0.75 * fitted.radii[1]))
    assert rows.max() < chin + 1.6 * avatar.framing.head_height * SIZE[1] / 2


def test_it_goes_with_the_head_without_a_leap(
    stage: OffscreenStage, avatar: Avatar, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.load(avatar)
    camera = Camera.framed(avatar.framing, "bust")
    areas = []
    for yaw in np.linspace(-0.5, 0.5, 9):
        areas.append(int((shadow_of(stage, avatar, FacePose(REST.weights, (yaw, 0.0, 0.0)), monkeypatch) > 20).sum()))
    assert min(areas) > 20
    steps = np.abs(np.diff(areas))
    assert steps.max() < 0.6 * max(areas)
    assert camera.distance > 0


def test_the_head_fits_its_ellipsoid(avatar: Avatar) -> None:
    fitted = HeadShadow.fit(avatar)
    assert fitted is not None
    head = np.asarray(avatar.framing.head)
    size = avatar.framing.head_height
    assert np.abs(fitted.centre - head).max() < 0.3 * size
    assert (fitted.radii > 0.15 * size).all() and (fitted.radii < 0.7 * size).all()
    # Its middle lies on the axis of the shadow, and a point at its rim at 1.
    world = avatar.skeleton.rest_world[fitted.node]
    toward = np.asarray([0.2, 0.6, 0.8])
    rows = fitted.rows(world, toward)
    assert np.abs(rows @ [*fitted.centre, 1.0]).max() < 1e-9
    along = steepened(toward)
    below = fitted.centre - along
    place = rows @ [*below, 1.0]
    assert np.abs(place[:2]).max() < 1e-9 and place[2] > 0


def test_models_without_a_head_or_a_light_to_shade_have_none(stage: OffscreenStage) -> None:
    for name in ("RiggedFigure.glb", "AnimatedMorphCube.glb", "arkit52_head.glb", "mtoon_uv_animation_vrm1.vrm"):
        avatar = load_avatar(MODELS / name)
        stage.load(avatar)
        settle(avatar, REST)
        assert stage.picture(Camera.framed(avatar.framing, "full"), (64, 64), BACKGROUND)[..., 3].any()
    assert HeadShadow.fit(load_avatar(MODELS / "AnimatedMorphCube.glb")) is None
