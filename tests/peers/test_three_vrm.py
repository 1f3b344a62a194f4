"""Our loader, poses, springs and pictures against three-vrm's, on our avatars and on every VRM of the test data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from idol.avatar.rotation import Quaternion, about_one, head_turn_one, multiply_one
from idol.render.camera import Camera, FramingName
from idol.render.offscreen import OffscreenStage
from tests.peers.pair import Pair, world_rotation
from tests.peers.three_vrm import ThreeVrm

ROOT = Path(__file__).resolve().parents[2]
AVATARS = sorted((ROOT / "avatars").glob("*.vrm"))
MODELS = sorted((ROOT / "tests" / "data" / "models").glob("*.vrm"))
FIGURES = [*AVATARS, *(path for path in MODELS if path.stem in ("godette_vrm0", "godette_vrm1", "debug_robot_vrm1"))]
"""Those that have a silhouette; the others are signs and single triangles."""
SHORT_SPRINGS = [path for path in MODELS if path.stem.startswith("godette")]
SIZE = (270, 360)
LEAST_OVERLAP = 0.99
"""Of the silhouettes, intersection over union. What differs is single pixels at edges: two rasterisers."""
NEAR = 2e-6
"""Metres; positions are float32 in both programs."""
POSE: dict[str, Quaternion] = {
    "hips": about_one(1, -0.1), "spine": about_one(1, 0.2), "neck": head_turn_one(0.1, 0.0, 0.0),
    "head": head_turn_one(0.5, 0.2, 0.1), "leftUpperArm": multiply_one(about_one(2, -1.0), about_one(1, -0.4)),
    "leftLowerArm": about_one(1, -0.9), "rightHand": about_one(0, 0.5), "leftIndexProximal": about_one(2, -0.7),
    "leftThumbMetacarpal": about_one(1, 0.3), "leftThumbProximal": about_one(1, 0.3),
    "rightUpperLeg": about_one(0, -0.6), "rightLowerLeg": about_one(0, 0.8),
}  # fmt: skip


@pytest.fixture(scope="module")
def peer(model_path: Callable[[str], Path]) -> Iterator[ThreeVrm]:
    for name in ("three", "three-vrm"):
        model_path(name)
    with ThreeVrm() as held:
        yield held


@pytest.fixture(scope="module")
def stage() -> Iterator[OffscreenStage]:
    with OffscreenStage() as held:
        yield held


@pytest.fixture(scope="module", params=[*AVATARS, *MODELS], ids=lambda path: path.stem)
def pair(request: pytest.FixtureRequest, peer: ThreeVrm) -> Pair:
    return Pair(request.param, peer)


def pose_of(pair: Pair) -> dict[str, Quaternion]:
    return {name: turn for name, turn in POSE.items() if name in pair.ours.data.human_bones}


def assert_same_surface(pair: Pair, near: float = NEAR) -> None:
    """Every fifth corner of every triangle is at the same place."""
    ours, theirs = pair.our_corners(5), pair.peer.corners(5)
    assert ours.keys() == theirs.keys()
    for key, points in theirs.items():
        assert np.abs(ours[key] - points).max() < near, key


def test_there_are_avatars() -> None:
    assert ROOT / "avatars" / "default.vrm" in AVATARS
    assert len(MODELS) >= 6 and len(FIGURES) >= 4 and len(SHORT_SPRINGS) == 2


def test_same_file_read_alike(pair: Pair) -> None:
    data, theirs = pair.ours.data, pair.theirs
    assert data.vrm_version == {"0": "0.x", "1": "1.0"}[theirs["version"]]
    assert pair.ours.title == theirs["title"]
    assert set(data.expressions) == set(theirs["expressions"])
    assert data.human_bones == {name: bone["node"] for name, bone in theirs["bones"].items()}
    for name, bone in theirs["bones"].items():
        at = pair.ours.skeleton.rest_world[data.human_bones[name], :3, 3]
        assert np.abs(at - bone["position"]).max() < NEAR, name
    assert {joint.node for spring in data.springs for joint in spring.joints[:-1]} == set(theirs["springs"])
    assert data.look_at is None or theirs["lookAt"] is None or data.look_at.kind == theirs["lookAt"]
    counts = {(mesh["node"], mesh["primitive"]): mesh["corners"] for mesh in theirs["meshes"]}
    assert {key: len(corners) for key, corners in pair.our_corners(1).items()} == counts


def test_expressions_move_the_same_morphs_and_colours(pair: Pair) -> None:
    """Each alone, whole and in part, and each with a blink, a mouth and each other's overrides."""
    names = [name for name in pair.theirs["expressions"] if not _is_gaze(pair, name)]
    asked = [{name: weight} for name in names for weight in (1.0, 0.4)]
    asked += [{name: 0.5, "blink": 0.4, "aa": 0.3} for name in names]
    for weights in asked:
        pair.pose(expressions={name: weight for name, weight in weights.items() if name in names})
        assert_same_face(pair, str(weights))


def _is_gaze(pair: Pair, name: str) -> bool:
    """three-vrm sets the look expressions itself each frame where they are the way of looking."""
    return pair.theirs["lookAt"] == "expression" and name.startswith("look")


def assert_same_face(pair: Pair, what: str) -> None:
    ours = pair.our_morphs()
    for node, influences in pair.state["morphs"].items():
        assert influences == pytest.approx(ours[int(node)], abs=1e-6), f"{what}: morphs of node {node}"
    # Colours of VRM 0.x are sRGB: we take its curve, as UniVRM does, three-vrm the power 2.2.
    near = 0.01 if pair.theirs["version"] == "0" else 1e-5
    for index, colors in pair.state["materials"].items():
        material = pair.our_material(int(index))
        for name, value in colors.items():
            assert value == pytest.approx(material[name], abs=near), f"{what}: {name} of material {index}"


def test_posed_surfaces_lie_alike(pair: Pair) -> None:
    pair.pose()
    assert_same_surface(pair)
    mouth = {name: 1.0 for name in ("aa", "happy") if name in pair.theirs["expressions"]}
    pair.pose(pose_of(pair), mouth)
    assert_same_surface(pair)
    for name, bone in pair.state["bones"].items():
        assert np.abs(pair.ours.bone_position(name) - bone["position"]).max() < NEAR, name


@pytest.mark.parametrize("target", [(0.6, 0.1), (-0.6, 0.1), (0.1, 0.5), (0.0, -0.5), (3.0, 2.0), (-9.0, -5.0)])
def test_eyes_find_the_same_target(pair: Pair, target: tuple[float, float]) -> None:
    """A point before her face: so much to her left and above, a metre away. The head is turned as well."""
    if pair.theirs["lookAt"] is None:
        assert pair.ours.data.look_at is None
        return
    turns = {"head": head_turn_one(0.3, -0.1, 0.05)}
    pair.pose(turns)
    head = pair.ours.bone_position("head")
    assert head is not None
    pair.pose(turns, target=head + np.array([*target, 1.0]))
    if pair.theirs["lookAt"] == "expression":
        assert_same_face(pair, f"looking at {target}")
        return
    for bone in ("leftEye", "rightEye"):
        if bone in pair.state["bones"]:
            ours, theirs = world_rotation(pair.ours, bone), np.asarray(pair.state["bones"][bone]["rotation"])
            assert min(np.abs(ours - theirs).max(), np.abs(ours + theirs).max()) < 1e-5, bone


def test_springs_come_to_rest_alike(pair: Pair) -> None:
    """Five seconds after a turn of head and body all hair hangs where three-vrm's does."""
    pair.pose()
    pair.swing(pose_of(pair), 300)
    assert_same_surface(pair, 1e-5)
    for joint in pair.state["springs"]:
        assert np.abs(pair.ours.skeleton.world[joint["node"], :3, 3] - joint["position"]).max() < 1e-5


@pytest.mark.parametrize("pair", SHORT_SPRINGS, indirect=True, ids=lambda path: path.stem)
def test_short_springs_swing_alike(pair: Pair) -> None:
    """Frame by frame. three-vrm mistakes the length of bones below a bone that swings, so long chains are left out."""
    pair.pose()
    for turns in ({}, pose_of(pair)):
        for _ in range(8):
            pair.swing(turns, 1)
            assert_same_surface(pair)


@dataclass(frozen=True)
class Shot:
    framing: FramingName
    yaw: float = 0.0
    pitch: float = 0.0
    posed: bool = False
    expressions: dict[str, float] = field(default_factory=dict)


SHOTS = {
    "full body": Shot("full"),
    "bust": Shot("bust"),
    "bust at 45 degrees": Shot("bust", yaw=45.0),
    "full body from behind and above": Shot("full", yaw=-150.0, pitch=20.0),
    "aa": Shot("face", yaw=60.0, expressions={"aa": 1.0}),
    "posed, full body": Shot("full", yaw=20.0, posed=True),
    "posed, bust": Shot("bust", posed=True),
}


@pytest.mark.parametrize("name", SHOTS)
@pytest.mark.parametrize("pair", FIGURES, indirect=True, ids=lambda path: path.stem)
def test_silhouettes_cover_each_other(pair: Pair, stage: OffscreenStage, name: str, tmp_path: Path) -> None:
    shot = SHOTS[name]
    weights = {name: weight for name, weight in shot.expressions.items() if name in pair.theirs["expressions"]}
    pair.pose(pose_of(pair) if shot.posed else {}, weights)
    if stage.renderer.avatar is not pair.ours:
        stage.load(pair.ours)
    aspect = SIZE[0] / SIZE[1]
    camera = Camera.framed(pair.ours.framing, shot.framing, aspect)
    camera.orbit(math.radians(shot.yaw), math.radians(shot.pitch))
    ours = stage.picture(camera, SIZE, (0.0, 0.0, 0.0, 0.0))
    theirs = pair.peer.picture(camera.view(), camera.projection(aspect), SIZE)
    a, b = ours[..., 3] > 127, theirs[..., 3] > 127
    overlap = float((a & b).sum() / max((a | b).sum(), 1))
    print(f"{pair.path.stem}, {name}: {overlap:.4f}")
    if overlap < LEAST_OVERLAP or not a.any():
        picture = tmp_path / "ours_theirs_difference.png"
        Image.fromarray(np.concatenate([ours, theirs, _difference(a, b)], 1)).save(picture)
        pytest.fail(f"overlap {overlap:.4f} of {int((a | b).sum())} pixels; red is ours alone, blue theirs: {picture}")


def _difference(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> NDArray[np.uint8]:
    out = np.zeros((*a.shape, 4), np.uint8)
    out[..., 3] = 255
    out[a & b] = (90, 90, 90, 255)
    out[a & ~b] = (255, 0, 0, 255)
    out[b & ~a] = (0, 128, 255, 255)
    return out
