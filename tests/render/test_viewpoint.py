"""The camera in a viewer's hands: whatever is done with it, she is in the picture and nobody looks out of her head."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idol.avatar import Framing, load_avatar
from idol.render.camera import FRAMINGS, Camera, FramingName
from idol.render.viewpoint import MAX_PITCH, Viewpoint, between, thickness

MODELS = Path(__file__).resolve().parents[1] / "data" / "models"
NAMES = ("godette_vrm1.vrm", "debug_robot_vrm1.vrm", "arkit52_head.glb", "AnimatedMorphCube.glb")


@cache
def framing_of(name: str) -> Framing:
    return load_avatar(MODELS / name).framing


def seen(camera: Camera, aspect: float, point: tuple[float, float, float]) -> tuple[float, float]:
    """Where ``point`` is in the picture, -1..1 from left to right and from below to above."""
    clip = camera.projection(aspect) @ camera.view() @ np.asarray((*point, 1.0))
    return float(clip[0] / clip[3]), float(clip[1] / clip[3])


moves = st.lists(
    st.one_of(
        st.tuples(st.just("orbit"), st.floats(-4, 4), st.floats(-3, 3)),
        st.tuples(st.just("pan"), st.floats(-2, 2), st.floats(-2, 2)),
        st.tuples(st.just("zoom"), st.floats(0.05, 20), st.just(0.0)),
    ),
    max_size=12,
)


@settings(max_examples=60)
@given(moves, st.sampled_from(NAMES), st.sampled_from(FRAMINGS), st.sampled_from((0.3, 1.0, 1.8, 5.0)))
def test_nobody_gets_lost(steps: list[tuple[str, float, float]], name: str, preset: FramingName, aspect: float) -> None:
    framing = framing_of(name)
    view = Viewpoint(preset)
    for kind, a, b in steps:
        if kind == "orbit":
            view = view.orbited(a, b)
        elif kind == "pan":
            view = view.panned(a, b, framing, aspect)
        else:
            view = view.zoomed(a, framing, aspect)
    view = view.kept_in_reach(framing, aspect)
    assert -math.pi <= view.yaw <= math.pi and abs(view.pitch) <= MAX_PITCH
    camera = view.camera(framing, aspect)
    eye = camera.eye
    # Beside the target the camera may stand where it likes; on her axis it stays outside her.
    if abs(view.right) < 1e-9 and abs(view.up) < 1e-9 and framing.humanoid:
        assert math.hypot(eye[0] - framing.head[0], eye[2] - framing.head[2]) > 0.95 * thickness(framing)
    tall = framing.high[1] - framing.low[1]
    whole = Camera.framed(framing, "full", aspect).distance
    preset_distance = Camera.framed(framing, preset, aspect).distance
    assert camera.distance <= 2.6 * max(whole, preset_distance)
    shown = 2 * camera.distance * math.tan(math.radians(11))
    assert shown >= 0.59 * framing.head_height or camera.distance >= 0.99 * preset_distance
    axis = [seen(camera, aspect, (framing.head[0], framing.low[1] + share * tall, framing.head[2]))
            for share in np.linspace(0, 1, 41)]  # fmt: skip
    across = min(abs(x) for x, _ in axis)
    limit = 1.0 + 2.2 * thickness(framing) / (camera.distance * math.tan(math.radians(11)) * aspect)
    assert across <= limit, "she is beside the picture"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("preset", FRAMINGS)
def test_a_framing_is_what_it_was_before_anybody_moved(name: str, preset: FramingName) -> None:
    framing = framing_of(name)
    for aspect in (0.4, 1.0, 2.5):
        view = Viewpoint(preset).kept_in_reach(framing, aspect)
        assert view == Viewpoint(preset) and not view.moved
        wanted, got = Camera.framed(framing, preset, aspect), view.camera(framing, aspect)
        assert got.target == pytest.approx(wanted.target) and got.distance == pytest.approx(wanted.distance)


@pytest.mark.parametrize("aspect", [0.3, 0.7, 1.0, 1.8, 4.0])
def test_the_face_stays_in_a_window_of_any_shape(aspect: float) -> None:
    framing = framing_of("godette_vrm1.vrm")
    camera = Viewpoint("face").camera(framing, aspect)
    x, y = seen(camera, aspect, framing.head)
    assert abs(x) < 0.05 and abs(y) < 0.2
    half = 0.5 * framing.head_height
    for side in (-0.8, 0.8):
        assert abs(seen(camera, aspect, (framing.head[0] + side * half, framing.head[1], framing.head[2]))[0]) < 1
        assert abs(seen(camera, aspect, (framing.head[0], framing.head[1] + side * half, framing.head[2]))[1]) < 1


def test_a_pan_moves_her_by_what_was_asked_from_every_side() -> None:
    framing = framing_of("godette_vrm1.vrm")
    for yaw in (0.0, 1.0, -2.5):
        view = Viewpoint("bust").orbited(yaw, 0.4)
        middle = view.camera(framing, 1.5).target
        moved = view.panned(0.2, -0.1, framing, 1.5)
        x, y = seen(moved.camera(framing, 1.5), 1.5, middle)
        assert x == pytest.approx(2 * 0.2 / 1.5, abs=1e-6) and y == pytest.approx(-0.2, abs=1e-6)
        # She stays there while the camera goes round her.
        x2, y2 = seen(moved.orbited(1.3, 0.0).camera(framing, 1.5), 1.5, middle)
        assert (x2, y2) == pytest.approx((x, y), abs=1e-6)


def test_gliding_begins_and_ends_where_it_should_and_turns_the_short_way() -> None:
    old, new = Camera((0, 1, 0), 4.0, yaw=3.0, pitch=0.1), Camera((1, 2, 0), 1.0, yaw=-3.0, pitch=-0.1)
    for share, wanted in ((0.0, old), (1.0, new)):
        got = between(old, new, share)
        assert got.target == pytest.approx(wanted.target) and got.distance == pytest.approx(wanted.distance)
        assert math.cos(got.yaw - wanted.yaw) == pytest.approx(1.0)
    half = between(old, new, 0.5)
    assert half.distance == pytest.approx(2.0) and abs(abs(half.yaw) - math.pi) < 1e-6
