"""The measures of a figure that gestures need: how far her body, her skirt and her face reach, from the rest mesh."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idol.avatar.model import AvatarData
from idol.avatar.rig import ROW, Rig
from idol.avatar.skeleton import Skeleton

F64 = NDArray[np.float64]
BANDS = 40
MAX_POINTS = 12_000
"""Vertices looked at: a figure's outline needs no more."""
_TORSO = frozenset(("hips", "spine", "chest", "upperChest", "leftUpperLeg", "rightUpperLeg"))
_HEAD = frozenset(("head", "jaw", "leftEye", "rightEye"))


@dataclass(slots=True)
class Figure:
    """Metres in the model's space at rest.

    ``heights`` (BANDS,) with, at each, half the width of the body with its clothes and the depth of its front and
    back: ``width``, ``front``, ``back``. ``chin``: the point of the chin. ``face``: half the width of the head with
    its hair beside the mouth. ``arm``: from shoulder to wrist; ``hand``: from wrist to fingertip.
    """

    heights: F64
    width: F64
    front: F64
    back: F64
    chin: F64
    face: float
    arm: float
    hand: float

    def at(self, heights: F64) -> tuple[F64, F64, F64]:
        """Half width, front and back at the given heights; beyond the ends those of the ends."""
        return (
            np.interp(heights, self.heights, self.width),
            np.interp(heights, self.heights, self.front),
            np.interp(heights, self.heights, self.back),
        )

    def pushed(self, points: F64, margin: F64) -> F64:
        """``points`` (F, 3) moved level out of the body's elliptic outline, widened by ``margin`` metres (F,)."""
        width, front, back = self.at(points[:, 1])
        a = width + margin
        middle, b = (front + back) / 2, (front - back) / 2 + margin
        x, z = points[:, 0], points[:, 2] - middle
        reach = np.sqrt((x / a) ** 2 + (z / b) ** 2)
        inside = (reach < 1.0) & (margin > 0.0) & (points[:, 1] < self.heights[-1])
        factor = np.where(inside, 1.0 / np.maximum(reach, 1e-3), 1.0)
        out = points.copy()
        out[:, 0], out[:, 2] = x * factor, z * factor + middle
        return out


def measure_figure(data: AvatarData, skeleton: Skeleton, rig: Rig) -> Figure:
    """Reads a part of the vertices; a model without a mesh at a place gets a slim default there."""
    points, owner = _points(data, skeleton, rig)
    rest = rig.rest
    shoulder, elbow, wrist = (rest[ROW[f"left{part}"]] for part in ("UpperArm", "LowerArm", "Hand"))
    arm = float(np.linalg.norm(elbow - shoulder) + np.linalg.norm(wrist - elbow))
    arm = max(arm, 0.2 * rig.hips_height)
    tip = rest[ROW["leftMiddleDistal"]]
    finger = float(np.linalg.norm(tip - wrist))
    hand = finger * 1.22 if finger > 0.08 * arm else 0.38 * arm
    neck = rest[ROW["neck"]] if rig.has[ROW["neck"]] else rest[ROW["head"]]
    heights = np.linspace(0.25 * rest[0, 1], float(neck[1]), BANDS)
    slim = 0.16 * arm
    width = np.full(BANDS, max(slim, abs(float(rest[ROW["leftUpperLeg"]][0]))))
    front, back = np.full(BANDS, slim + rest[0, 2]), np.full(BANDS, -slim + rest[0, 2])
    body = points[np.isin(owner, [ROW[name] for name in _TORSO])]
    if len(body):
        step = heights[1] - heights[0]
        band = np.rint((body[:, 1] - heights[0]) / max(step, 1e-6)).astype(np.int64)
        for i in range(BANDS):
            near = body[np.abs(band - i) <= 1]
            if len(near) >= 3:
                width[i] = float(np.abs(near[:, 0]).max())
                front[i], back[i] = float(near[:, 2].max()), float(near[:, 2].min())
    chin, face = _chin(points[np.isin(owner, [ROW[name] for name in _HEAD])], rig, arm)
    return Figure(heights, width, front, back, chin, face, arm, hand)


def _chin(head: F64, rig: Rig, arm: float) -> tuple[F64, float]:
    """The lowest point of the front of the face near the middle, and half the width at its height."""
    bone = rig.rest[ROW["head"]]
    chin: F64 = bone + np.asarray([0.0, 0.0, 0.2 * arm])
    face = 0.2 * arm
    if len(head) < 20:
        return chin, face
    ahead = float(np.percentile(head[:, 2], 90))
    size = float(np.ptp(head[:, 1]))
    middle = head[(np.abs(head[:, 0] - bone[0]) < 0.06 * size) & (head[:, 2] > bone[2] + 0.5 * (ahead - bone[2]))]
    if len(middle):
        low = middle[middle[:, 1] <= np.percentile(middle[:, 1], 10)]
        chin = np.asarray([bone[0], float(low[:, 1].min()), float(low[:, 2].max())])
    beside = head[np.abs(head[:, 1] - chin[1]) < 0.15 * size]
    if len(beside):
        face = float(np.abs(beside[:, 0]).max())
    return chin, face


def _points(data: AvatarData, skeleton: Skeleton, rig: Rig) -> tuple[F64, NDArray[np.int64]]:
    """Some vertices at rest (V, 3), and the row of the human bone that carries each, -1 for none."""
    row_of = {int(node): int(row) for node, row in zip(rig.nodes, rig.rows, strict=True)}
    owner_of = np.full(len(data.parents), -1, np.int64)
    for node in np.argsort(skeleton.depth, kind="stable"):
        parent = int(data.parents[node])
        owner_of[node] = row_of.get(int(node), int(owner_of[parent]) if parent >= 0 else -1)
    palette = skeleton.rest_world[data.palette_nodes] @ data.palette_inverse.astype(np.float64)
    total = sum(len(p.positions) for p in data.primitives)
    stride = max(1, -(-total // MAX_POINTS))
    places, owners = [np.zeros((0, 3))], [np.zeros(0, np.int64)]
    for primitive in data.primitives:
        if primitive.node in data.hidden_nodes:
            continue
        point, joint = primitive.positions[::stride].astype(np.float64), primitive.joints[::stride]
        weight = primitive.weights[::stride]
        main = joint[np.arange(len(point)), weight.argmax(1)]
        matrix = palette[main]
        places.append((matrix[:, :3, :3] @ point[:, :, None])[:, :, 0] + matrix[:, :3, 3])
        owners.append(owner_of[data.palette_nodes[main]])
    return np.concatenate(places), np.concatenate(owners)
