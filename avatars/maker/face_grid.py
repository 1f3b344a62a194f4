"""The head's mesh: a grid with slits cut for eyes and mouth, and the smooth spread of a slit's motion around it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from avatars.maker import face_surface
from avatars.maker.curves import F64

I64 = NDArray[np.int64]
HALF = 42
BACK = 13
EYE_ROW, MOUTH_ROW = 0.369, 0.138
ROWS = np.array([
    0.0, 0.004, 0.010, 0.019, 0.030, 0.043, 0.058, 0.073, 0.087, 0.099, 0.109, 0.118, 0.126, 0.133, MOUTH_ROW, 0.143,
    0.149, 0.157, 0.167, 0.179, 0.192, 0.206, 0.220, 0.234, 0.248, 0.262, 0.275, 0.288, 0.300, 0.312, 0.323, 0.334,
    0.344, 0.353, 0.361, EYE_ROW, 0.377, 0.385, 0.394, 0.405, 0.418, 0.432, 0.447, 0.463, 0.479, 0.496, 0.514,
    0.533, 0.556, 0.58, 0.605, 0.632, 0.66, 0.70, 0.74, 0.78, 0.82, 0.86, 0.90, 0.94, 0.975, 1.0,
])  # fmt: skip
EYE_CORNERS = (0.088, 0.300)
MOUTH_HALF = 0.062


class FaceGrid:
    """``flat`` (V, 3): the mesh with its slits closed. ``mirror`` (V,): each vertex's partner on the other side.

    Loops are vertex indices from the inner corner to the outer (eyes), or from her right to her left (mouth); upper and
    lower share their corners."""

    def __init__(self) -> None:
        # Closer in the middle, where the lips are.
        s = np.linspace(-1, 1, 2 * HALF + 1)
        front = np.pi / 2 * (0.70 * s + 0.30 * s**3)
        back = np.linspace(np.pi / 2, 3 * np.pi / 2, BACK + 2)[1:-1]
        points = face_surface.ring(ROWS, front, back)
        self.columns = points.shape[1]
        self.flat = points.reshape(-1, 3)
        column = np.arange(self.columns)
        other = np.where(column <= 2 * HALF, 2 * HALF - column, self.columns - 1 - (column - 2 * HALF - 1))
        self.mirror = (np.arange(len(ROWS))[:, None] * self.columns + other).ravel()
        self.flat = self.symmetric(self.flat)
        quads = self._quads()
        self.eye_upper: dict[str, I64] = {}
        self.eye_lower: dict[str, I64] = {}
        row = int(np.searchsorted(ROWS, EYE_ROW))
        xs = self.flat[row * self.columns + column[: 2 * HALF + 1], 0]
        a, b = (int(np.abs(xs - corner).argmin()) for corner in EYE_CORNERS)
        self.eye_upper["left"], self.eye_lower["left"] = self._cut(quads, row, np.arange(a, b + 1))
        self.eye_upper["right"], self.eye_lower["right"] = self._cut(quads, row, 2 * HALF - np.arange(a, b + 1))
        row = int(np.searchsorted(ROWS, MOUTH_ROW))
        xs = self.flat[row * self.columns + column[: 2 * HALF + 1], 0]
        n = int(np.abs(xs[HALF:] - MOUTH_HALF).argmin())
        self.mouth_upper, self.mouth_lower = self._cut(quads, row, np.arange(HALF - n, HALF + n + 1))
        self._pair_cuts()
        # The lowest ring is closed: seen from below it would be a hole in the chin.
        ring = np.arange(1, self.columns - 1)
        chin = np.stack([np.zeros_like(ring), ring + 1, ring], 1)
        self.triangles = np.concatenate([quads[:, [0, 1, 3]], quads[:, [0, 3, 2]], chin])
        same = np.linalg.norm(self.flat[self.triangles] - self.flat[np.roll(self.triangles, 1, 1)], axis=-1).min(1)
        self.triangles = self.triangles[same > 1e-9]

    def _quads(self) -> I64:
        i, j = np.meshgrid(np.arange(len(ROWS) - 1), np.arange(self.columns), indexing="ij")
        a, b = i * self.columns + j, i * self.columns + (j + 1) % self.columns
        return np.stack([a, b, a + self.columns, b + self.columns], -1).reshape(-1, 4)

    def _cut(self, quads: I64, row: int, columns: I64) -> tuple[I64, I64]:
        """Double the vertices between the ends of a row of columns; the quads below take the copies."""
        upper = row * self.columns + columns
        lower = upper.copy()
        lower[1:-1] = np.arange(len(self.flat), len(self.flat) + len(columns) - 2)
        self.flat = np.concatenate([self.flat, self.flat[upper[1:-1]]])
        below = quads[:, 2] // self.columns == row
        for old, new in zip(upper[1:-1], lower[1:-1], strict=True):
            for k in (2, 3):
                quads[below & (quads[:, k] == old), k] = new
        return upper, lower

    def _pair_cuts(self) -> None:
        mirror = np.concatenate([self.mirror, np.zeros(len(self.flat) - len(self.mirror), np.int64)])
        mirror[self.eye_lower["left"]] = self.eye_lower["right"]
        mirror[self.eye_lower["right"]] = self.eye_lower["left"]
        mirror[self.mouth_lower] = self.mouth_lower[::-1]
        self.mirror = mirror

    def symmetric(self, field: F64) -> F64:
        """The mean of a field of points or offsets and its own mirror image."""
        out: F64 = 0.5 * (field + self.reflected(field))
        return out

    def reflected(self, field: F64) -> F64:
        out: F64 = field[self.mirror] * np.array([-1.0, 1.0, 1.0])
        return out


class Spread:
    """The smoothest motion (least |L d|^2, the biharmonic membrane) of a box of the grid for a given motion of its
    ``handles``; the outer two rings of the box stand still."""

    def __init__(self, face: FaceGrid, rows: tuple[float, float], columns: tuple[int, int], handles: I64) -> None:
        width = face.columns
        held = np.zeros(len(face.flat), np.int64)
        grid_row = np.arange(len(ROWS) * width) // width
        grid_column = np.arange(len(ROWS) * width) % width - HALF
        low, high = (int(np.searchsorted(ROWS, y)) for y in rows)
        level = np.minimum.reduce(
            [grid_row - low + 1, high - grid_row, grid_column - columns[0] + 1, columns[1] - grid_column + 1]
        )
        held[: len(level)] = np.clip(level, 0, 3)
        held[handles] = np.maximum(held[handles], 3)
        box = np.flatnonzero(held > 0)
        local = np.full(len(face.flat), -1)
        local[box] = np.arange(len(box))
        edges = np.unique(np.sort(np.concatenate([face.triangles[:, [0, 1]], face.triangles[:, [1, 2]]]), 1), axis=0)
        edges = edges[(local[edges] >= 0).all(1)]
        length = np.linalg.norm(face.flat[edges[:, 0], :2] - face.flat[edges[:, 1], :2], axis=1)
        strength = 1.0 / np.maximum(length, 1e-3) ** 2
        laplace = np.zeros((len(box), len(box)))
        a, b = local[edges].T
        np.add.at(laplace, (a, b), strength)
        np.add.at(laplace, (b, a), strength)
        laplace /= laplace.sum(1, keepdims=True)
        laplace -= np.eye(len(box))
        energy = laplace.T @ laplace
        fixed = held[box] < 3
        fixed[local[handles]] = True
        free = np.flatnonzero(~fixed)
        self.free, self.handles, self.count = box[free], handles, len(face.flat)
        self._response = -np.linalg.solve(
            energy[np.ix_(free, free)] + 1e-9 * np.eye(len(free)), energy[np.ix_(free, local[handles])]
        )

    def __call__(self, motion: F64) -> F64:
        """Offsets (V, D) of all vertices for those of the handles (H, D)."""
        out = np.zeros((self.count, motion.shape[1]))
        out[self.handles] = motion
        out[self.free] = self._response @ motion
        return out
