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
    """Some nodes and all below them: ``nodes``, each after its parent, in levels.

    ``levels``: a slice of ``nodes`` each. ``above``: where the parents are, by node for the first two levels (-1 for
    the roots, which are the first), then by place in ``nodes``. ``local`` and ``solved`` (n, 4, 4) are for ``solve``.
    """

    nodes: NDArray[np.int64]
    levels: tuple[slice, ...]
    above: tuple[NDArray[np.int64], ...]
    local: F64
    solved: F64


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
        local, solved = found.local, found.solved
        turns = to_matrix(self.rotations.take(nodes, 0))
        np.multiply(turns, self.scales.take(nodes, 0)[:, None, :], out=local[:, :3, :3])
        local[:, :3, 3] = self.translations.take(nodes, 0)
        roots, hung, *inner = zip(found.levels, found.above, strict=True)
        solved[roots[0]] = world[nodes[roots[0]]] = local[roots[0]]
        np.matmul(world.take(hung[1], 0), local[hung[0]], out=solved[hung[0]])
        for span, above in inner:
            np.matmul(solved.take(above, 0), local[span], out=solved[span])
        world[nodes] = solved
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
        # 0 for roots, 1 below what is not inside, and so on down.
        level = np.full(len(inside), -1, np.int64)
        for node in np.argsort(self.depth, kind="stable"):
            if inside[node]:
                parent = int(self.parents[node])
                level[node] = 0 if parent < 0 else max(int(level[parent]), 0) + 1
        nodes = np.flatnonzero(inside)
        nodes = nodes[np.argsort(level[nodes], kind="stable")]
        edges = level[nodes].searchsorted(np.arange(max(int(level.max()), 1) + 2)).tolist()
        spans = tuple(slice(a, b) for a, b in pairwise(edges))
        place = np.zeros(len(inside), np.int64)
        place[nodes] = np.arange(len(nodes))
        above = [self.parents[nodes[span]].astype(np.int64) for span in spans]
        above[2:] = [place[parents] for parents in above[2:]]
        local = np.zeros((len(nodes), 4, 4))
        local[:, 3, 3] = 1.0
        return Subtree(nodes, spans, tuple(above), local, local.copy())

    def _world_rotations(self) -> F64:
        """Rest rotations in world space, by chaining quaternions (scale leaves them alone)."""
        out = self.rest_rotations.copy()
        for span in self._every.levels[1:]:
            nodes = self._every.nodes[span]
            out[nodes] = multiply(out[self.parents[nodes]], self.rest_rotations[nodes])
        return out
