"""Where the camera should look: boxes of the head, the bust and the whole figure, from the rest pose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idol.avatar.model import AvatarData
from idol.avatar.skeleton import Skeleton


@dataclass(frozen=True, slots=True)
class Framing:
    """Metres in the model's space. ``low`` and ``high`` bound the drawn model; ``head`` is the middle of the head,
    ``head_height`` from chin to crown; ``chest`` the height of the shoulders."""

    low: tuple[float, float, float]
    high: tuple[float, float, float]
    head: tuple[float, float, float]
    head_height: float
    chest: float
    humanoid: bool


def rest_positions(data: AvatarData, skeleton: Skeleton) -> list[NDArray[np.float64]]:
    """Skinned vertex positions at rest, one (V, 3) array per primitive."""
    palette = skeleton.rest_world[data.palette_nodes] @ data.palette_inverse.astype(np.float64)
    out = []
    for primitive in data.primitives:
        points = np.concatenate([primitive.positions, np.ones((len(primitive.positions), 1))], 1)
        moved = np.zeros((len(points), 3))
        for k in range(4):
            weight = primitive.weights[:, k : k + 1]
            if weight.any():
                matrices = palette[primitive.joints[:, k], :3]
                moved += weight * np.einsum("vij,vj->vi", matrices, points)
        out.append(moved)
    return out


def measure(data: AvatarData, skeleton: Skeleton) -> Framing:
    points = np.concatenate(rest_positions(data, skeleton))
    low, high = points.min(0), points.max(0)
    node = data.human_bones.get("head")
    size = high - low
    if node is None:
        middle = (low + high) / 2
        # A file of a head only: its box is the head.
        height = float(max(size[1], 0.6 * size[0], 1e-3))
        return Framing(_three(low), _three(high), _three(middle), height, float(low[1]), False)
    bone = skeleton.rest_world[node, :3, 3]
    column = points[(np.abs(points[:, 0] - bone[0]) < 0.12 * max(size[1], 1e-3)) & (points[:, 1] > bone[1])]
    top = float(column[:, 1].max()) if len(column) else float(bone[1] + 0.2)
    height = max(top - float(bone[1]), 0.05 * float(max(size[1], 0.1)))
    eyes = [data.human_bones[name] for name in ("leftEye", "rightEye") if name in data.human_bones]
    arm = data.human_bones.get("leftUpperArm")
    chest = float(skeleton.rest_world[arm, 1, 3]) if arm is not None else float(bone[1]) - 0.5 * height
    middle_y = float(bone[1]) + 0.46 * height
    if eyes:
        # Eyes sit a little under the middle of an anime head, whatever the hair adds on top.
        middle_y = 0.5 * middle_y + 0.5 * float(skeleton.rest_world[eyes, 1, 3].mean()) + 0.02 * height
    head = (float(bone[0]), middle_y, float(bone[2]))
    return Framing(_three(low), _three(high), head, height, chest, True)


def _three(values: NDArray[np.float64]) -> tuple[float, float, float]:
    return float(values[0]), float(values[1]), float(values[2])
