"""Node transforms: local to world for all nodes at once, one batch per depth of the tree."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from idol.avatar.model import I32, AvatarData
from idol.avatar.rotation import multiply, to_matrix

F64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Subtree:
    """Some nodes and all below them: ``nodes`` by depth, and (their slice, parents, whether these are roots)."""

    nodes: NDArray[np.int64]
    levels: tuple[tuple[slice, NDArray[np.int64], bool], ...]


class Skeleton:
    """World matrices of the nodes. ``rotations`` (N, 4) and ``translations`` (N, 3) may be written between solves."""

    def __init__(self, data: AvatarData) -> None:
        count = len(data.parents)
        self.parents: I32 = data.parents
        self.rest_translations: F64 = data.translations.astype(np.float64)
        rest = data.rotations.astype(np.float64)
        self.rest_rotations: F64 = rest / np.maximum(np.linalg.norm(rest, axis=1, keepdims=True), 1e-12)
        self.scales: F64 = data.scales.astype(np.float64)
        self.translations = self.rest_translations.copy()
        self.rotations = self.rest_rotations.copy()
        self.world: F64 = np.zeros((count, 4, 4))
        depth = np.zeros(count, np.int64)
        for node in range(count):
            at, steps = int(data.parents[node]), 0
            while at != -1:
                at, steps = int(data.parents[at]), steps + 1
            depth[node] = steps
        self.depth = depth
        self._every = self._subtree(np.ones(count, bool))
        self.solve()
        self.rest_world = self.world.copy()
        self.rest_world_rotations = self._world_rotations()

    def reset(self) -> None:
        self.rotations[:] = self.rest_rotations
        self.translations[:] = self.rest_translations

    def solve(self, part: Subtree | None = None) -> F64:
        """World matrices (N, 4, 4) of the present local transforms: all, or ``part`` with the rest solved already."""
        found = self._every if part is None else part
        nodes, world = found.nodes, self.world
        if not len(nodes):
            return world
        local = np.zeros((len(nodes), 4, 4))
        local[:, 3, 3] = 1.0
        np.multiply(to_matrix(self.rotations[nodes]), self.scales[nodes][:, None, :], out=local[:, :3, :3])
        local[:, :3, 3] = self.translations[nodes]
        for span, parents, root in found.levels:
            world[nodes[span]] = local[span] if root else world[parents] @ local[span]
        return world

    def below(self, nodes: NDArray[np.int64], but: bool = False) -> Subtree:
        """The part of the tree that moves with ``nodes``; with ``but``, without these nodes themselves."""
        moved = np.zeros(len(self.parents), bool)
        moved[nodes] = True
        for node in self._every.nodes:
            parent = self.parents[node]
            moved[node] |= parent >= 0 and moved[parent]
        if but:
            moved[nodes] = False
        return self._subtree(moved)

    def without(self, part: Subtree) -> Subtree:
        """All nodes but those of ``part``, which must hold everything below each of its nodes."""
        kept = np.ones(len(self.parents), bool)
        kept[part.nodes] = False
        return self._subtree(kept)

    def even_scale(self, nodes: NDArray[np.int64]) -> bool:
        """Whether no node of these is stretched more along one axis than along another, at rest."""
        basis = self.rest_world[nodes, :3, :3]
        square = basis.transpose(0, 2, 1) @ basis
        even = np.trace(square, axis1=1, axis2=2)[:, None, None] / 3.0 * np.eye(3)
        return bool(np.allclose(square, even, rtol=1e-4, atol=1e-6))

    def _subtree(self, inside: NDArray[np.bool_]) -> Subtree:
        nodes = np.flatnonzero(inside)
        nodes = nodes[np.argsort(self.depth[nodes], kind="stable")]
        depth = self.depth[nodes]
        edges = [0, *(np.flatnonzero(np.diff(depth)) + 1).tolist(), len(nodes)]
        levels = [
            (slice(a, b), self.parents[nodes[a:b]].astype(np.int64), bool(depth[a] == 0))
            for a, b in pairwise(edges)
            if b > a
        ]
        return Subtree(nodes, tuple(levels))

    def _world_rotations(self) -> F64:
        """Rest rotations in world space, by chaining quaternions (scale leaves them alone)."""
        out = self.rest_rotations.copy()
        for span, parents, root in self._every.levels:
            if not root:
                nodes = self._every.nodes[span]
                out[nodes] = multiply(out[parents], self.rest_rotations[nodes])
        return out
