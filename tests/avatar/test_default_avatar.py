"""Our idols: the maker makes the committed files, and their faces do what each shape's name says."""

from __future__ import annotations

import functools
import io
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from avatars.maker.atlas import FEATURES as FEATURE_CELLS
from avatars.maker.atlas import cell
from avatars.maker.character import CHARACTERS, Character
from avatars.maker.expressions import TARGETS
from avatars.maker.eyes import CLEARANCE, Eye
from avatars.maker.face import Face
from avatars.maker.face_surface import depth
from avatars.maker.mesh import vertex_normals
from avatars.maker.skeleton import CHIN, H
from avatars.maker.vrm import build
from idol.avatar import Avatar, load_avatar
from idol.avatar.humanoid import HUMAN_BONES
from idol.avatar.vrm1 import PRESETS
from idol.seams import ARKIT_INDEX, ARKIT_NAMES, FacePose

FOLDER = Path(__file__).resolve().parents[2] / "avatars"
F64 = NDArray[np.float64]
FACE, FEATURES = 0, 1
EYES = tuple(n for n in ARKIT_NAMES if n.startswith("eye"))
MOUTH = tuple(n for n in ARKIT_NAMES if n.startswith(("jaw", "mouth", "tongue")))


class Model:
    """One of our idols as her committed file has her."""

    def __init__(self, who: Character) -> None:
        self.who = who
        self.path = FOLDER / f"{who.key}.vrm"
        self.data = self.path.read_bytes()
        self.face, self.eye = Face(who.eye_tilt), Eye(who.eye_tilt)

    def offsets(self, name: str, primitive: int = FACE) -> F64:
        """Dense offsets (V, 3) of a morph target in the file, in heights of the head, without the second skin."""
        targets = chunks(self.data)[0]["meshes"][0]["primitives"][primitive]["targets"]
        return self._own(values(self.data, targets[TARGETS.index(name)]["POSITION"]).astype(float) / H, primitive)

    def positions(self, primitive: int = FACE) -> F64:
        accessor = chunks(self.data)[0]["meshes"][0]["primitives"][primitive]["attributes"]["POSITION"]
        return self._own((values(self.data, accessor).astype(float) - [0, CHIN, 0]) / H, primitive)

    def _own(self, points: F64, primitive: int) -> F64:
        return points[: len(self.face.rest)] if primitive == FACE else points

    def second_skin(self) -> tuple[F64, F64]:
        """Points of the patches of blush and their offsets, (V, 3) each, in heights of the head."""
        item = chunks(self.data)[0]["meshes"][0]["primitives"][FACE]
        start = len(self.face.rest)
        points = values(self.data, item["attributes"]["POSITION"])[start:].astype(float)
        offsets = values(self.data, item["targets"][TARGETS.index("blush")]["POSITION"])[start:].astype(float)
        return (points - [0, CHIN, 0]) / H, offsets / H

    def gap(self, upper: NDArray[np.int64], lower: NDArray[np.int64], **weights: float) -> F64:
        now = self.positions()
        for name, weight in weights.items():
            now = now + weight * self.offsets(name)
        apart: F64 = np.linalg.norm(now[upper] - now[lower], axis=1)
        return apart


@pytest.fixture(scope="module", params=list(CHARACTERS))
def model(request: pytest.FixtureRequest) -> Model:
    return Model(CHARACTERS[request.param])


@pytest.fixture(scope="module")
def made(model: Model) -> bytes:
    return build(model.who)


@pytest.fixture(scope="module")
def idol(model: Model) -> Avatar:
    return load_avatar(model.path)


@functools.lru_cache(maxsize=4)
def chunks(data: bytes) -> tuple[dict[str, Any], bytes]:
    size = struct.unpack_from("<I", data, 12)[0]
    return json.loads(data[20 : 20 + size]), data[28 + size :]


def values(data: bytes, accessor: int) -> NDArray[Any]:
    """A dense or sparse accessor of the file, read without the loader under test."""
    document, binary = chunks(data)
    item = document["accessors"][accessor]
    kind = {5126: "<f4", 5121: "u1", 5123: "<u2"}[item["componentType"]]
    width = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}[item["type"]]
    out = np.zeros((item["count"], width), kind)
    if "bufferView" in item:
        view = document["bufferViews"][item["bufferView"]]
        out[:] = np.frombuffer(binary, kind, out.size, view["byteOffset"]).reshape(out.shape)
    if "sparse" in item:
        sparse = item["sparse"]
        starts = [document["bufferViews"][sparse[k]["bufferView"]]["byteOffset"] for k in ("indices", "values")]
        at = np.frombuffer(binary, "<u2", sparse["count"], starts[0])
        out[at] = np.frombuffer(binary, kind, sparse["count"] * width, starts[1]).reshape(-1, width)
    return out


def test_maker_makes_the_committed_file(model: Model, made: bytes) -> None:
    there = model.data
    new, old = chunks(made)[0], chunks(there)[0]
    for key in ("nodes", "skins", "extensions", "scenes", "materials", "meshes"):
        assert new[key] == old[key], key
    assert len(new["accessors"]) == len(old["accessors"])
    for mesh in new["meshes"]:
        for primitive in mesh["primitives"]:
            for name, accessor in primitive["attributes"].items():
                a, b = values(made, accessor).astype(float), values(there, accessor).astype(float)
                # Another BLAS may round the last bits otherwise.
                assert np.abs(a - b).max() <= (0.0 if name == "JOINTS_0" else 5e-6), name
            assert (values(made, primitive["indices"]) == values(there, primitive["indices"])).all()
            for target in primitive.get("targets", []):
                a, b = (values(data, target["POSITION"]).astype(float) for data in (made, there))
                assert np.abs(a - b).max() <= 5e-6


def test_two_runs_make_the_same_bytes(model: Model, made: bytes) -> None:
    assert build(model.who) == made


def test_loads_without_a_warning(idol: Avatar) -> None:
    assert idol.data.warnings == []
    assert idol.data.vrm_version == "1.0"
    assert set(idol.data.human_bones) == HUMAN_BONES
    assert set(PRESETS) <= set(idol.expression_names)
    assert idol.gaze.kind == "bone"
    assert set(idol.arkit_names) >= set(ARKIT_NAMES) and idol.uses_arkit_mouth and idol.shows_arkit_brows
    assert idol.data.stats.springs >= 8


def test_file_is_small(model: Model) -> None:
    assert 2e6 < len(model.data) < 5e6


def test_licence_lets_everyone_do_everything(idol: Avatar) -> None:
    meta = idol.data.meta
    assert meta.licence == "https://vrm.dev/licenses/1.0/"
    assert meta.permissions["avatarPermission"] == "everyone"
    assert meta.permissions["commercialUsage"] == "corporation"
    assert meta.permissions["modification"] == "allowModificationRedistribution"
    assert meta.permissions["creditNotation"] == "unnecessary"


def test_stands_on_the_floor_at_her_height_facing_forward(idol: Avatar) -> None:
    low, high = idol.framing.low, idol.framing.high
    assert abs(low[1]) < 5e-3 and 1.5 <= high[1] <= 1.6
    place = {name: idol.skeleton.rest_world[node, :3, 3] for name, node in idol.data.human_bones.items()}
    assert place["leftToes"][2] > place["leftFoot"][2] and place["leftHand"][0] > 0.5
    for name, at in place.items():
        other = place[name.replace("left", "right")] if name.startswith("left") else at
        assert at * ([-1, 1, 1] if name.startswith("left") else [1, 1, 1]) == pytest.approx(other, abs=1e-6)


def test_weights_sum_to_one_and_normals_are_unit(idol: Avatar) -> None:
    for primitive in idol.data.primitives:
        assert primitive.weights.sum(1) == pytest.approx(1.0, abs=1e-5)
        assert (primitive.weights >= 0).all()
        assert np.linalg.norm(primitive.normals, axis=1) == pytest.approx(1.0, abs=1e-4)
        assert np.isfinite(primitive.positions).all()


def test_no_triangle_is_empty_of_meaning(idol: Avatar) -> None:
    for primitive in idol.data.primitives:
        corners = primitive.indices.reshape(-1, 3)
        assert corners.max() < len(primitive.positions)
        assert len(np.unique(np.sort(corners, 1), axis=0)) == len(corners)


def test_all_52_shapes_move_something(model: Model) -> None:
    for name in ARKIT_NAMES:
        size = max(np.abs(model.offsets(name, FACE)).max(), np.abs(model.offsets(name, FEATURES)).max())
        assert 0.002 < size < 0.25, (name, size)


def test_shapes_leave_far_regions_alone(model: Model) -> None:
    points = model.positions()
    for name in EYES:
        size = np.linalg.norm(model.offsets(name), axis=1)
        far = (points[:, 1] < 0.15) | (points[:, 1] > 0.70) | (points[:, 2] < 0.0)
        assert size[far].max() == 0.0, name
        other = points[:, 0] * (1 if name.endswith("Left") else -1) < -0.01
        assert size[other].max() == 0.0, name
    for name in MOUTH:
        size = np.linalg.norm(model.offsets(name), axis=1)
        assert size[(points[:, 1] > 0.34) | (points[:, 2] < -0.05)].max() == 0.0, name


def test_face_is_its_own_mirror_image(model: Model) -> None:
    grid = model.face.grid
    assert (grid.reflected(model.face.rest) == model.face.rest).all()
    points = model.positions()
    assert (points[grid.mirror] * [-1, 1, 1] == points).all()
    for name in ARKIT_NAMES:
        twin = name.replace("Left", "Right") if name.endswith("Left") else name.replace("Right", "Left")
        assert (model.offsets(name)[grid.mirror] * [-1, 1, 1] == model.offsets(twin)).all(), name


@pytest.mark.parametrize("side", ["left", "right"])
def test_blink_closes_the_lids(model: Model, side: str) -> None:
    upper, lower = model.face.grid.eye_upper[side], model.face.grid.eye_lower[side]
    assert model.gap(upper, lower).max() > 0.15
    assert model.gap(upper, lower, **{f"eyeBlink{side.title()}": 1.0}).max() < 1e-3
    assert model.gap(upper, lower, **{f"eyeSmile{side.title()}": 1.0}).max() < 1e-3
    assert model.gap(upper, lower, **{f"eyeWide{side.title()}": 1.0}).max() > model.gap(upper, lower).max() + 0.01


def test_jaw_opens_and_mouth_close_meets_the_lips(model: Model) -> None:
    upper, lower = model.face.grid.mouth_upper, model.face.grid.mouth_lower
    assert model.gap(upper, lower).max() < 1e-5
    assert model.gap(upper, lower, jawOpen=1.0).max() > 0.10
    for amount in (0.1, 0.3, 0.6, 1.0):
        assert model.gap(upper, lower, jawOpen=amount, mouthClose=amount).max() < 1e-4
    chin = model.positions()[:, 1].argmin()
    assert model.offsets("jawOpen")[chin, 1] < -0.03


def test_each_mouth_shape_goes_its_own_way(model: Model) -> None:
    loop, middle = model.face.grid.mouth_upper, len(model.face.grid.mouth_upper) // 2
    left, right = loop[-1], loop[0]
    assert model.offsets("mouthSmileLeft")[left, 1] > 0.015 > 0.001 > abs(model.offsets("mouthSmileLeft")[right, 1])
    assert model.offsets("mouthFrownLeft")[left, 1] < -0.015
    assert model.offsets("mouthStretchLeft")[left, 0] > 0.015
    for name in ("mouthPucker", "mouthFunnel"):
        assert model.offsets(name)[left, 0] < -0.02 and model.offsets(name)[loop[middle], 2] > 0.015
    assert model.offsets("mouthUpperUpLeft")[loop[middle + 2], 1] > 0.008
    assert model.offsets("mouthLowerDownLeft")[model.face.grid.mouth_lower[middle + 2], 1] < -0.008
    assert (
        model.offsets("mouthLeft")[loop[middle], 0] > 0.02
        and model.offsets("jawRight")[model.positions()[:, 1].argmin(), 0] < -0.01
    )


@pytest.mark.parametrize("step", [0.0, 0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("gaze", [(0.0, 0.0), (0.13, 0.0), (-0.12, 0.0), (0.0, 0.087), (0.0, -0.087)])
def test_iris_stays_behind_the_lids(step: float, gaze: tuple[float, float], model: Model) -> None:
    """Every iris point under the lid's skin lies behind it, through the blink and at the ends of the gaze."""
    now = model.positions() + step * model.offsets("eyeBlinkLeft")
    eye = model.eye
    iris = (eye.iris().points - [0, CHIN, 0]) / H - eye.pivot
    yaw, pitch = gaze
    turn_y = np.array([[np.cos(yaw), 0, np.sin(yaw)], [0, 1, 0], [-np.sin(yaw), 0, np.cos(yaw)]])
    turn_x = np.array([[1, 0, 0], [0, np.cos(pitch), np.sin(pitch)], [0, -np.sin(pitch), np.cos(pitch)]])
    iris = iris @ (turn_y @ turn_x).T + eye.pivot
    corners = now[model.face.grid.triangles]
    near = (np.abs(corners[..., :2] - [0.19, 0.39]) < 0.2).all((1, 2)) & (corners[..., 2] > 0.1).all(1)
    a, b, c = corners[near].transpose(1, 2, 0)
    x, y, z = iris.T[:, :, None]
    # Barycentric coordinates of every iris point in every triangle, seen from the front.
    det = (b[1] - c[1]) * (a[0] - c[0]) + (c[0] - b[0]) * (a[1] - c[1])
    det = np.where(np.abs(det) < 1e-12, 1e-12, det)
    s = ((b[1] - c[1]) * (x - c[0]) + (c[0] - b[0]) * (y - c[1])) / det
    t = ((c[1] - a[1]) * (x - c[0]) + (a[0] - c[0]) * (y - c[1])) / det
    lid = np.where((s >= 0) & (t >= 0) & (s + t <= 1), s * a[2] + t * b[2] + (1 - s - t) * c[2], np.nan)
    covered = np.isfinite(lid).any(1)
    depth_behind = np.nanmin(lid[covered], 1) - z[covered, 0]
    assert depth_behind.min(initial=1.0) > 0.1 * CLEARANCE
    assert step < 1.0 or covered.all()


def test_presets_do_what_they_say_and_leave_blinks_whole(model: Model, idol: Avatar) -> None:
    expressions = idol.data.expressions
    for name in ("happy", "angry", "sad", "relaxed", "surprised", "aa", "ih", "ou", "ee", "oh", "blink"):
        assert expressions[name].bind_count > 0, name
    assert expressions["happy"].override_blink == "block"
    # Lids that a smile has closed must not be closed again.
    fresh = load_avatar(model.path)
    fresh.set_expression("happy", 1.0)
    weights = np.zeros(52, np.float32)
    weights[[ARKIT_INDEX["eyeBlinkLeft"], ARKIT_INDEX["eyeBlinkRight"]]] = 1.0
    fresh.update(FacePose(weights), 1 / 60)
    assert fresh.morph_weights[TARGETS.index("eyeBlinkLeft")] == 0.0
    assert fresh.morph_weights[TARGETS.index("eyeSmileLeft")] == 1.0


def test_blush_lies_under_the_skin_and_rises_before_it(model: Model) -> None:
    points, offsets = model.second_skin()
    assert len(points) > 100 and np.abs(model.offsets("blush")).max() == 0.0
    assert set(points[:, 0] > 0) == {True, False}
    skin = model.face.rest
    nearest = np.linalg.norm(points[:, None] - skin, axis=2).argmin(1)
    out = vertex_normals(skin, model.face.grid.triangles)[nearest]
    before, after = (((p - skin[nearest]) * out).sum(1) for p in (points, points + offsets))
    assert before.max() < -1e-3 and after.min() > 1e-3


def test_shy_and_thinking_are_expressions_of_her_own(model: Model, idol: Avatar) -> None:
    for name in ("shy", "thinking", "blush"):
        assert idol.data.expressions[name].custom and idol.data.expressions[name].bind_count > 0
    # Both irises go the same way.
    custom = chunks(model.data)[0]["extensions"]["VRMC_vrm"]["expressions"]["custom"]
    assert TARGETS.index("eyesAside") in [bind["index"] for bind in custom["thinking"]["morphTargetBinds"]]
    points, offsets = model.positions(FEATURES), model.offsets("eyesAside", FEATURES)
    for sign in (1, -1):
        moved = (np.abs(offsets).max(1) > 0) & (points[:, 0] * sign > 0)
        assert moved.sum() > 100
        assert offsets[moved, 0].max() < 0.0 < offsets[moved, 1].min()


def test_her_chin_is_whole_and_shaded_as_it_is_shaped(model: Model) -> None:
    grid = model.face.grid
    edges = np.sort(np.concatenate([grid.triangles[:, [0, 1]], grid.triangles[:, [1, 2]], grid.triangles[:, [2, 0]]]))
    lowest = edges[(model.face.rest[edges, 1] < 1e-6).all(1)]
    assert len(lowest) > 50
    assert (np.unique(lowest, axis=0, return_counts=True)[1] == 2).all()
    own, drawn = vertex_normals(model.face.rest, grid.triangles), model.face.normals()
    under = (own[:, 1] < -0.85) & (model.face.rest[:, 1] < 0.10)
    assert under.sum() > 100 and (own[under] * drawn[under]).sum(1).min() > 0.95


def test_brows_are_drawn_before_the_fringe(model: Model) -> None:
    """Whole, as the genre has them: a brow that shows in the gaps alone is a speck between two locks."""
    meshes = chunks(model.data)[0]["meshes"]
    drawn = values(model.data, meshes[0]["primitives"][FEATURES]["attributes"]["TEXCOORD_0"])
    points = model.positions(FEATURES)[np.abs(drawn - cell(FEATURE_CELLS, "brow", 1)).max(1) < 1e-5]
    hair = meshes[2]["primitives"][0]
    corners = ((values(model.data, hair["attributes"]["POSITION"]).astype(float) - [0, CHIN, 0]) / H)[
        values(model.data, hair["indices"]).reshape(-1, 3)
    ]
    near = (np.abs(corners[..., 1] - 0.58) < 0.15).any(1) & (corners[..., 2] > 0.2).any(1)
    before = [height_over(corners[near], point) for point in points[points[:, 0] > 0]]
    assert len(before) > 60 and min(before) > 0.0


def height_over(corners: F64, point: F64) -> float:
    """How far a point lies before the foremost of the triangles (T, 3, 3) that the front view shows there."""
    a, b, c = corners.transpose(1, 2, 0)
    det = (b[1] - c[1]) * (a[0] - c[0]) + (c[0] - b[0]) * (a[1] - c[1])
    det = np.where(np.abs(det) < 1e-12, 1e-12, det)
    s = ((b[1] - c[1]) * (point[0] - c[0]) + (c[0] - b[0]) * (point[1] - c[1])) / det
    t = ((c[1] - a[1]) * (point[0] - c[0]) + (a[0] - c[0]) * (point[1] - c[1])) / det
    hit = (s >= 0) & (t >= 0) & (s + t <= 1)
    return float(point[2] - (s * a[2] + t * b[2] + (1 - s - t) * c[2])[hit].max(initial=-1.0))


def test_hair_springs_settle_and_stay_out_of_the_head(model: Model) -> None:
    avatar = load_avatar(model.path)
    pose = FacePose(np.zeros(52, np.float32), head=(0.4, 0.1, 0.0))
    for _ in range(240):
        avatar.update(pose, 1 / 60)
    before = avatar.palette.copy()
    for _ in range(30):
        avatar.update(pose, 1 / 60)
    assert np.isfinite(avatar.palette).all()
    assert np.abs(avatar.palette - before).max() < 2e-3
    skull = avatar.skeleton.world[avatar.data.human_bones["head"]] @ [0.0, 0.118, -0.008, 1.0]
    for spring in avatar.data.springs:
        for joint in spring.joints[1:]:
            assert np.linalg.norm(avatar.skeleton.world[joint.node, :3, 3] - skull[:3]) > 0.09, spring.name


@pytest.mark.parametrize("name", ["", *EYES, "eyeSmileLeft", "jawOpen", "mouthFunnel", "mouthSmileLeft", "cheekPuff"])
def test_the_skin_in_front_does_not_fold(model: Model, name: str) -> None:
    """Triangles of the face seen from the front keep their front side; a handful at the lids' inner corners may not."""
    points = model.positions()
    now = points + (model.offsets(name) if name else 0.0)
    corners = now[model.face.grid.triangles]
    turned = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 2] < -1e-9
    before = points[model.face.grid.triangles]
    # The jaw's underside does look back.
    front = ((before[..., 2] > 0.15) & (before[..., 1] > 0.20)).all(1) | (before[..., 2] > 0.34).all(1)
    assert (turned & front).sum() <= 12


def test_budget(idol: Avatar) -> None:
    triangles = sum(len(p.indices) // 3 for p in idol.data.primitives)
    assert 30_000 <= triangles <= 60_000
    outlined = sum(idol.data.materials[p.material].outline_mode != "none" for p in idol.data.primitives)
    assert len(idol.data.primitives) + outlined <= 12
    assert all(m.alpha_mode != "BLEND" for m in idol.data.materials)


def test_file_carries_a_thumbnail(model: Model) -> None:
    document, binary = chunks(model.data)
    meta = document["extensions"]["VRMC_vrm"]["meta"]
    view = document["bufferViews"][document["images"][meta["thumbnailImage"]]["bufferView"]]
    with Image.open(io.BytesIO(binary[view["byteOffset"] : view["byteOffset"] + view["byteLength"]])) as picture:
        assert picture.width == picture.height and 128 <= picture.width <= 512
        assert len(picture.convert("RGB").getcolors(1 << 20) or ()) > 1000
    assert meta["otherLicenseUrl"] == "https://creativecommons.org/publicdomain/zero/1.0/"


def test_nothing_stands_out_as_a_spike(idol: Avatar) -> None:
    """No triangle is long and lies far from its neighbours: all edges are short against the figure."""
    for primitive in idol.data.primitives:
        corners = primitive.positions[primitive.indices.reshape(-1, 3)]
        longest = np.linalg.norm(corners - np.roll(corners, 1, 1), axis=2).max()
        assert longest < 0.125, idol.data.materials[primitive.material].name


def test_springs_hold_hair_skirt_and_bows(idol: Avatar) -> None:
    names = [spring.name for spring in idol.data.springs]
    for part in ("hairSide", "hairBack", "skirt"):
        assert sum(name.startswith(part) for name in names) >= 2, part
    for spring in idol.data.springs:
        assert 3 <= len(spring.joints) <= 6, spring.name


def test_hair_stays_out_of_the_face_through_a_quick_turn(model: Model) -> None:
    """Head shaken at about 2 Hz: springs stay finite and no lock's swinging point ends up within the face."""
    idol = load_avatar(model.path)
    hair = next(p for p in idol.data.primitives if idol.data.materials[p.material].name == "Hair")
    points = np.concatenate([hair.positions, np.ones((len(hair.positions), 1))], 1)
    head = idol.data.human_bones["head"]
    inside = 0
    for frame in range(90):
        yaw = 0.5 * np.sin(frame / 60 * 2 * np.pi * 2.0) * min(frame / 15, 1.0)
        idol.update(FacePose(np.zeros(52, np.float32), head=(float(yaw), 0.0, 0.0)), 1 / 60)
        if frame % 9:
            continue
        world = idol.skeleton.world
        palette = world[idol.data.palette_nodes] @ idol.data.palette_inverse.astype(float)
        moved = sum(
            hair.weights[:, k : k + 1] * np.einsum("vij,vj->vi", palette[hair.joints[:, k], :3], points)
            for k in range(4)
        )
        assert np.isfinite(moved).all()
        local = np.linalg.inv(world[head]) @ np.concatenate([moved, np.ones((len(moved), 1))], 1).T
        x, y, z = (local[:3].T + idol.skeleton.rest_world[head, :3, 3] - [0, CHIN, 0]).T / H
        face = (np.abs(x) < 0.28) & (y > 0.10) & (y < 0.55) & (z > 0.10)
        inside = max(inside, int((z[face] < depth(x[face], y[face]) - 0.01).sum()))
    assert inside == 0
