"""Node transforms: local to world for all nodes at once, one batch per depth of the tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idol.avatar.model import I32, AvatarData
from idol.avatar.rotation import multiply, to_matrix

F64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Subtree:
    """Some nodes and all below them: ``nodes``, and (nodes, their parents) by depth."""

    nodes: NDArray[np.int64]
    levels: list[tuple[NDArray[np.int64], I32]]


class Skeleton:
    """World matrices of the nodes. ``rotations`` (N, 4) and ``translations`` (N, 3) may be written between solves."""

    def __init__(self, data: AvatarData) -> None:
        count = len(data.parents)
        self.parents: I32 = data.parents
        self.rest_translations: F64 = data.translations.astype(np.float64)
        self.rest_rotations: F64 = data.rotations.astype(np.float64)
        self.scales: F64 = data.scales.astype(np.float64)
        self.translations = self.rest_translations.copy()
        self.rotations = self.rest_rotations.copy()
        self.world: F64 = np.zeros((count, 4, 4))
        self._local: F64 = np.zeros((count, 4, 4))
        self._local[:, 3, 3] = 1.0
        depth = np.zeros(count, np.int64)
        for node in range(count):
            at, steps = int(data.parents[node]), 0
            while at != -1:
                at, steps = int(data.parents[at]), steps + 1
            depth[node] = steps
        self._levels = [np.flatnonzero(depth == d) for d in range(int(depth.max(initial=0)) + 1)]
        self._level_parents = [data.parents[level] for level in self._levels]
        self.depth = depth
        self.solve()
        self.rest_world = self.world.copy()
        self.rest_world_rotations = self._world_rotations()

    def reset(self) -> None:
        self.rotations[:] = self.rest_rotations
        self.translations[:] = self.rest_translations

    def solve(self) -> F64:
        """World matrices (N, 4, 4) of the present local transforms."""
        self._local[:, :3, :3] = to_matrix(self.rotations) * self.scales[:, None, :]
        self._local[:, :3, 3] = self.translations
        world, local = self.world, self._local
        for level, parents in zip(self._levels, self._level_parents, strict=True):
            if parents[0] < 0:
                world[level] = local[level]
            else:
                world[level] = world[parents] @ local[level]
        return world

    def below(self, nodes: NDArray[np.int64]) -> Subtree:
        """The part of the tree that moves with ``nodes``, for ``solve_part``."""
        moved = np.zeros(len(self.parents), bool)
        moved[nodes] = True
        levels, parents = [], []
        for level, above in zip(self._levels, self._level_parents, strict=True):
            inside = moved[level] | ((above >= 0) & moved[above])
            moved[level[inside]] = True
            if inside.any():
                levels.append(level[inside])
                parents.append(above[inside])
        every = np.concatenate(levels) if levels else np.zeros(0, np.int64)
        return Subtree(every, list(zip(levels, parents, strict=True)))

    def solve_part(self, part: Subtree) -> None:
        """World matrices of ``part`` alone, the rest being solved already."""
        world, local = self.world, self._local
        local[part.nodes, :3, :3] = to_matrix(self.rotations[part.nodes]) * self.scales[part.nodes][:, None, :]
        for level, parents in part.levels:
            above = world[parents]
            above[parents < 0] = np.eye(4)
            world[level] = above @ local[level]

    def _world_rotations(self) -> F64:
        """Rest rotations in world space, by chaining quaternions (scale leaves them alone)."""
        out = self.rest_rotations.copy()
        for level, parents in zip(self._levels[1:], self._level_parents[1:], strict=True):
            out[level] = multiply(out[parents], self.rest_rotations[level])
        return out
