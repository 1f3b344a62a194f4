"""What is left out of a picture is not in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from idol.avatar import Avatar, load_avatar
from idol.render.camera import Camera
from idol.render.culling import Groups, group_triangles, view_planes
from idol.seams import FacePose

ROOT = Path(__file__).resolve().parents[2]
MODELS = (ROOT / "avatars" / "default.vrm", ROOT / "tests" / "data" / "models" / "godette_vrm1.vrm")


@pytest.fixture(scope="module", params=MODELS, ids=lambda path: path.stem)
def avatar(request: pytest.FixtureRequest) -> Avatar:
    return load_avatar(request.param)


def groups_of(avatar: Avatar) -> list[tuple[int, Groups]]:
    found = [(number, group_triangles(primitive)) for number, primitive in enumerate(avatar.data.primitives)]
    return [(number, groups) for number, groups in found if groups is not None]


def posed(avatar: Avatar, number: int) -> NDArray[np.float64]:
    """The vertices of a primitive as the vertex shader places them, metres."""
    primitive, blend = avatar.data.primitives[number], avatar.blends[number]
    points = primitive.positions.astype(np.float64)
    moved = blend.slots >= 0
    if moved.any():
        points = points.copy()
        points[moved] += blend.offsets.reshape(-1, 2, 4)[blend.slots[moved], 0, :3]
    matrices = np.einsum("vk,vkij->vij", primitive.weights, avatar.palette[primitive.joints])
    return np.einsum("vij,vj->vi", matrices[:, :, :3], points) + matrices[:, :, 3]


def test_nothing_is_lost_but_order(avatar: Avatar) -> None:
    for number, groups in groups_of(avatar):
        triangles = avatar.data.primitives[number].indices.reshape(-1, 3)
        kept = groups.indices.reshape(-1, 3)
        assert np.array_equal(np.unique(triangles, axis=0), np.unique(kept, axis=0)) and len(kept) == len(triangles)
        assert groups.ends[-1] == len(groups.indices) and (np.diff(groups.ends) > 0).all()
        assert len(groups.starts) == len(groups.ends) and groups.starts[0] == 0


@pytest.mark.parametrize("seed", range(6))
def test_what_is_left_out_is_out_of_the_picture(avatar: Avatar, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(12):
        weights = rng.uniform(0, 1, 52).astype(np.float32)
        avatar.update(FacePose(weights, tuple(rng.uniform(-0.6, 0.6, 3)), tuple(rng.uniform(-0.3, 0.3, 2))), 0.033)  # type: ignore[arg-type]
        camera = Camera(tuple(rng.uniform([-0.6, 0.2, -0.4], [0.6, 1.6, 0.4])), rng.uniform(0.1, 1.5),  # type: ignore[arg-type]
                        rng.uniform(-3, 3), rng.uniform(-1, 1))  # fmt: skip
        view, projection = camera.view(), camera.projection(1.0)
        planes = view_planes(view, projection)
        for number, groups in groups_of(avatar):
            drawn = np.zeros(len(groups.indices), bool)
            for first, count in groups.visible(avatar.palette, planes):
                assert not drawn[first : first + count].any()
                drawn[first : first + count] = True
            points = posed(avatar, number)
            clip = np.concatenate([points, np.ones((len(points), 1))], axis=1) @ (projection @ view).T
            inside = (np.abs(clip[:, :3]) <= clip[:, 3:]).all(axis=1)
            corners = inside[groups.indices].reshape(-1, 3).any(axis=1)
            assert drawn.reshape(-1, 3)[corners].all()


def test_a_bust_leaves_the_boots_out() -> None:
    avatar = load_avatar(MODELS[0])
    avatar.update(FacePose(np.zeros(52, np.float32)), 0.033)
    camera = Camera.framed(avatar.framing, "bust", 1.0)
    planes = view_planes(camera.view(), camera.projection(1.0))
    whole = sum(len(groups.indices) for _, groups in groups_of(avatar))
    seen = sum(count for _, groups in groups_of(avatar) for _, count in groups.visible(avatar.palette, planes))
    assert seen < 0.9 * whole
    away = view_planes(Camera((0.0, 50.0, 0.0)).view(), camera.projection(1.0))
    assert not any(groups.visible(avatar.palette, away) for _, groups in groups_of(avatar))
