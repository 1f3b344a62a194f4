"""Parts of a mesh on their way to the file: points, triangles, UVs, skin weights, morph offsets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


@dataclass
class Part:
    """``points`` (V, 3) metres, ``normals`` (V, 3), ``uv`` (V, 2), ``triangles`` (T, 3), ``weights`` bone to (V,),
    ``morphs`` name to (V, 3) offsets in metres."""

    points: F64
    triangles: I64
    uv: F64
    weights: dict[str, F64]
    normals: F64 = field(default_factory=lambda: np.zeros((0, 3)))
    morphs: dict[str, F64] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not len(self.normals):
            self.normals = vertex_normals(self.points, self.triangles)

    def mirrored(self) -> Part:
        """The part on the other side: x negated, triangles turned, left and right names exchanged."""
        flip = np.array([-1.0, 1.0, 1.0])
        return Part(
            self.points * flip,
            self.triangles[:, ::-1].copy(),
            self.uv.copy(),
            {other_side(k): v.copy() for k, v in self.weights.items()},
            self.normals * flip,
            {other_side(k): v * flip for k, v in self.morphs.items()},
        )


def other_side(name: str) -> str:
    for a, b in (("left", "right"), ("Left", "Right")):
        if a in name:
            return name.replace(a, b)
        if b in name:
            return name.replace(b, a)
    return name


def vertex_normals(points: F64, triangles: I64) -> F64:
    """Unit normals, weighted by area; points at the same place (UV seams) share theirs."""
    corners = points[triangles]
    face = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    _, same = np.unique(np.round(points, 6), axis=0, return_inverse=True)
    same = same.reshape(-1)
    out = np.zeros((same.max() + 1, 3))
    for k in range(3):
        np.add.at(out, same[triangles[:, k]], face)
    return unit(out)[same]


def unit(v: F64) -> F64:
    out: F64 = v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-12)
    return out


def grid(rows: int, columns: int, closed: bool = False, flip: bool = False) -> I64:
    """Triangles of a grid of points, row after row; ``closed`` joins the last column to the first."""
    i, j = np.meshgrid(np.arange(rows - 1), np.arange(columns if closed else columns - 1), indexing="ij")
    a, b = i * columns + j, i * columns + (j + 1) % columns
    c, d = a + columns, b + columns
    t = np.stack([np.stack([a, b, d], -1), np.stack([a, d, c], -1)], 2).reshape(-1, 3)
    return t[:, ::-1].copy() if flip else t


def join(parts: list[Part]) -> Part:
    bones = list(dict.fromkeys(k for p in parts for k in p.weights))
    names = list(dict.fromkeys(k for p in parts for k in p.morphs))
    start = np.cumsum([0] + [len(p.points) for p in parts])
    return Part(
        np.concatenate([p.points for p in parts]),
        np.concatenate([p.triangles + s for p, s in zip(parts, start, strict=False)]),
        np.concatenate([p.uv for p in parts]),
        {k: np.concatenate([p.weights.get(k, np.zeros(len(p.points))) for p in parts]) for k in bones},
        np.concatenate([p.normals for p in parts]),
        {k: np.concatenate([p.morphs.get(k, np.zeros((len(p.points), 3))) for p in parts]) for k in names},
    )


def four_weights(weights: Mapping[str, F64], index: Mapping[str, int]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """The four strongest joints of each point and their weights, which sum to 1."""
    names = list(weights)
    table = np.stack([weights[name] for name in names], 1)
    if table.shape[1] < 4:
        table = np.pad(table, ((0, 0), (0, 4 - table.shape[1])))
    order = np.argsort(-table, axis=1, kind="stable")[:, :4]
    strength = np.take_along_axis(table, order, 1)
    strength[strength < 0.01] = 0.0
    strength /= strength.sum(1, keepdims=True)
    joints = np.array([index[name] for name in names] + [0] * 4)[order]
    joints[strength == 0.0] = 0
    return joints.astype(np.uint8), strength.astype(np.float32)


def tube(path: F64, radii: F64, around: int = 12, up: tuple[float, float, float] = (0, 1, 0)) -> tuple[F64, I64, F64]:
    """A tube along ``path`` (N, 3) with half axes ``radii`` (N, 2): across ``up`` and along it. Seam column doubled."""
    tangent = unit(np.gradient(path, axis=0))
    side = unit(np.cross(np.asarray(up, np.float64), tangent))
    top = np.cross(tangent, side)
    a = np.linspace(0, 2 * np.pi, around + 1)
    ring = np.cos(a)[None, :, None] * side[:, None] * radii[:, 0, None, None]
    ring = ring + np.sin(a)[None, :, None] * top[:, None] * radii[:, 1, None, None]
    points = (path[:, None] + ring).reshape(-1, 3)
    u, v = np.meshgrid(np.linspace(0, 1, around + 1), np.linspace(0, 1, len(path)))
    return points, grid(len(path), around + 1), np.stack([u.ravel(), v.ravel()], 1)
