"""Spring bones (VRMC_springBone 1.0): Verlet integration of every chain at once, one batch per depth along the chains.

The specification integrates once a frame with constants meant for 60 Hz. Here a frame is cut into equal steps of at
most 1/60 s and the constants are scaled to the step, so that hair moves alike at 15 and at 144 frames a second.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from idol.avatar.model import AvatarData
from idol.avatar.rotation import cross, inverse, rotate, to_matrix
from idol.avatar.skeleton import Skeleton

STEP = 1 / 60
MAX_STEPS = 4
TELEPORT = 0.7
"""Metres in one frame: beyond this a chain's root has not moved but jumped, and its swing starts anew."""

F64 = NDArray[np.float64]


class Springs:
    """State of all spring joints of one avatar. ``update`` writes local rotations into the skeleton."""

    def __init__(self, data: AvatarData, skeleton: Skeleton) -> None:
        self._skeleton = skeleton
        rows: list[tuple[int, int, float, float, float, tuple[float, float, float], int]] = []
        taken: set[int] = set()
        for s, spring in enumerate(data.springs):
            for joint, tail in zip(spring.joints, spring.joints[1:], strict=False):
                if joint.node in taken:
                    continue
                taken.add(joint.node)
                rows.append((joint.node, tail.node, joint.radius, joint.stiffness, joint.drag, joint.gravity, s))
        world = skeleton.rest_world
        rows = [row for row in rows if np.linalg.norm(world[row[1], :3, 3] - world[row[0], :3, 3]) > 1e-5]
        # A joint must be solved after every spring joint above it.
        level = self._levels(rows, skeleton)
        order = sorted(range(len(rows)), key=lambda i: level[i])
        rows, level = [rows[i] for i in order], [level[i] for i in order]
        self.count = len(rows)
        self.nodes = np.asarray([row[0] for row in rows], np.int64)
        tails = np.asarray([row[1] for row in rows], np.int64)
        self._parents = skeleton.parents[self.nodes] if rows else np.zeros(0, np.int32)
        self._radius = np.asarray([row[2] for row in rows], np.float64)
        self._stiffness = np.asarray([row[3] for row in rows], np.float64)[:, None]
        self._drag = np.asarray([row[4] for row in rows], np.float64)[:, None]
        self._gravity = np.asarray([row[5] for row in rows], np.float64).reshape(-1, 3)
        edges = [0, *[i for i in range(1, len(rows)) if level[i] != level[i - 1]], len(rows)]
        self._slices = [slice(a, b) for a, b in pairwise(edges) if b > a]
        if not rows:
            return
        self._initial = to_matrix(skeleton.rest_rotations[self.nodes])
        world_rotation = skeleton.rest_world_rotations[self.nodes]
        bone = world[tails, :3, 3] - world[self.nodes, :3, 3]
        self._length = np.linalg.norm(bone, axis=1, keepdims=True)
        self._axis = rotate(inverse(world_rotation), bone / self._length)[:, :, None]
        # The joint's place relative to its parent's tail chain: taken from the parent's matrix each step.
        self._offset = skeleton.rest_translations[self.nodes][:, :, None]
        self._scale = np.cbrt(np.abs(np.linalg.det(world[self._parents, :3, :3])))[:, None]
        self._rooted = bool((self._parents < 0).any())
        place = {int(node): i for i, node in enumerate(self.nodes)}
        self._parent_joint = np.asarray([place.get(int(p), -1) for p in self._parents], np.int64)
        self._tail_now = world[tails, :3, 3].copy()
        self._tail_before = self._tail_now.copy()
        self._head = world[self.nodes, :3, 3].copy()
        self._turn = to_matrix(world_rotation)
        self._last_step = STEP
        self._below = skeleton.below(self.nodes)
        self._fresh = True
        self._colliders = _Colliders(data, skeleton, [data.springs[row[6]].colliders for row in rows], self._radius)
        self._centers = [data.springs[row[6]].center for row in rows]

    @staticmethod
    def _levels(
        rows: list[tuple[int, int, float, float, float, tuple[float, float, float], int]], skeleton: Skeleton
    ) -> list[int]:
        swung = {row[0] for row in rows}
        found = []
        for row in rows:
            at, steps = int(skeleton.parents[row[0]]), 0
            while at != -1:
                steps += at in swung
                at = int(skeleton.parents[at])
            found.append(steps)
        return found

    def reset(self) -> None:
        """Start from rest at the next update."""
        self._fresh = True

    def update(self, dt: float) -> bool:
        """Advance by ``dt`` seconds, from the skeleton's solved world matrices, and solve what hangs on the joints.

        True when there was anything to swing."""
        if not self.count:
            return False
        world, rotations = self._skeleton.world, self._skeleton.rotations
        base = self._bases(world)
        if self._fresh or not math.isfinite(dt) or self._jumped(world):
            self._settle(base)
        if dt > 0:
            steps = min(max(1, math.ceil(dt / STEP - 1e-3)), MAX_STEPS)
            step = min(dt / steps, STEP)
            self._colliders.place(world)
            for _ in range(steps):
                self._step(step, base)
        rotations[self.nodes] = _quaternions(self._parent_turns(base).transpose(0, 2, 1) @ self._turn)
        self._skeleton.solve_part(self._below)
        return True

    def _bases(self, world: F64) -> tuple[F64, F64]:
        """World matrices of the parents, and rotations of those parents that do not swing themselves."""
        matrices = world[self._parents]
        if self._rooted:
            matrices[self._parents < 0] = np.eye(4)
        basis = matrices[:, :3, :3]
        return matrices, basis / np.sqrt((basis * basis).sum(1, keepdims=True))

    def _parent_turns(self, base: tuple[F64, F64]) -> F64:
        turns = base[1].copy()
        swung = self._parent_joint >= 0
        turns[swung] = self._turn[self._parent_joint[swung]]
        return turns

    def _jumped(self, world: F64) -> bool:
        head = world[self.nodes[self._slices[0]], :3, 3]
        moved = np.abs(head - self._head[self._slices[0]]).max()
        return bool(moved > TELEPORT) or not bool(np.isfinite(self._tail_now).all())

    def _settle(self, base: tuple[F64, F64]) -> None:
        for part in self._slices:
            head, turn, _ = self._frame(part, *base)
            self._turn[part] = turn
            self._head[part] = head
            self._tail_now[part] = head + (turn @ self._axis[part])[:, :, 0] * self._length[part]
        self._tail_before[:] = self._tail_now
        self._fresh = False

    def _frame(self, part: slice, matrices: F64, turns: F64) -> tuple[F64, F64, F64]:
        """Head position, rest rotation in the world and the parent's rotation of the joints of one level."""
        above = self._parent_joint[part]
        swung = above >= 0
        if swung.all():
            parent = self._turn[above]
            head = self._head[above] + (parent @ self._offset[part])[:, :, 0] * self._scale[part]
        else:
            m = matrices[part]
            head = (m[:, :3, :3] @ self._offset[part])[:, :, 0] + m[:, :3, 3]
            parent = turns[part]
            if swung.any():
                parent = parent.copy()
                parent[swung] = self._turn[above[swung]]
                moved = (parent[swung] @ self._offset[part][swung])[:, :, 0] * self._scale[part][swung]
                head[swung] = self._head[above[swung]] + moved
        return head, parent @ self._initial[part], parent

    def _step(self, step: float, base: tuple[F64, F64]) -> None:
        sixtieths = step * 60.0
        ratio = step / self._last_step
        keep = (1.0 - self._drag) ** sixtieths * ratio
        pull = step * sixtieths
        for part in self._slices:
            head, rest, _ = self._frame(part, *base)
            now, before = self._tail_now[part], self._tail_before[part]
            local = self._axis[part]
            axis = (rest @ local)[:, :, 0]
            length = self._length[part]
            moved = now + (now - before) * keep[part]
            moved += axis * (self._stiffness[part] * pull) + self._gravity[part] * pull
            direction = moved - head
            tail = head + direction * (
                length / np.maximum(np.sqrt((direction * direction).sum(1, keepdims=True)), 1e-9)
            )
            if self._colliders.count:
                tail = self._colliders.push(part, tail, head, length)
            self._tail_before[part] = now
            self._tail_now[part] = tail
            self._head[part] = head
            self._turn[part] = _swung(rest, local, axis, (tail - head) / length)
        self._last_step = step


class _Colliders:
    """Spheres, capsules and planes in the world, and which joints each one pushes."""

    def __init__(self, data: AvatarData, skeleton: Skeleton, used: list[tuple[int, ...]], radius: F64) -> None:
        kept = sorted({c for group in used for c in group})
        found = [data.colliders[c] for c in kept]
        self.count = len(found)
        if not found:
            return
        place = {c: i for i, c in enumerate(kept)}
        self._nodes = np.asarray([c.node for c in found])
        self._offset = np.asarray([c.offset for c in found], np.float64)
        self._tail = np.asarray([c.tail or c.offset for c in found], np.float64)
        self._normal = np.asarray([c.normal or (0.0, 1.0, 0.0) for c in found], np.float64)
        self._plane = np.asarray([c.normal is not None for c in found])
        self._inside = np.asarray([c.inside for c in found])
        # Which collider is a joint's first, second, ...; -1 for those that are not its spring's.
        self._order = np.full((len(used), len(found)), -1)
        for row, group in enumerate(used):
            for turn, c in enumerate(dict.fromkeys(group)):
                self._order[row, place[c]] = turn
        size = np.cbrt(np.abs(np.linalg.det(skeleton.rest_world[self._nodes, :3, :3])))
        # Distance at which a joint touches: its own radius and the collider's, (joints, colliders).
        reach = np.asarray([c.radius for c in found]) * size
        self._reach = np.where(self._inside, reach[None, :] - radius[:, None], reach[None, :] + radius[:, None])
        self._head_at = np.zeros((len(found), 3))
        self._axis_at = np.zeros((len(found), 3))
        self._axis_square = np.zeros(len(found))
        self._normal_at = np.zeros((len(found), 3))
        self._has_plane = bool(self._plane.any())
        self._has_capsule = bool((np.abs(self._tail - self._offset) > 1e-9).any())

    def place(self, world: F64) -> None:
        m = world[self._nodes] if self.count else world[:0]
        if not self.count:
            return
        basis, origin = m[:, :3, :3], m[:, :3, 3]
        self._head_at = (basis @ self._offset[:, :, None])[:, :, 0] + origin
        self._axis_at = (basis @ self._tail[:, :, None])[:, :, 0] + origin - self._head_at
        self._axis_square = np.maximum((self._axis_at**2).sum(1), 1e-12)
        if self._has_plane:
            turned = (basis @ self._normal[:, :, None])[:, :, 0]
            self._normal_at = turned / np.maximum(np.linalg.norm(turned, axis=1, keepdims=True), 1e-9)

    def push(self, part: slice, tail: F64, head: F64, length: F64) -> F64:
        """Out of one collider after the other in the spring's order, keeping the bone's length each time.

        Only joints that touch something go on to the next round, and a round takes the next collider each one touches.
        """
        order, reach = self._order[part], self._reach[part]
        rows = np.arange(len(tail))
        done = np.full(len(tail), -1)
        while True:
            away, distance, depth = self._measure(tail[rows], reach[rows])
            touching = (depth > 0.0) & (order[rows] > done[:, None])
            hit = touching.any(1)
            if not hit.any():
                return tail
            rows, touching = rows[hit], touching[hit]
            first = np.where(touching, order[rows], self.count).argmin(1)
            done = order[rows, first]
            normal = away[hit, first] / np.maximum(distance[hit, first], 1e-9)[:, None]
            normal = np.where(self._inside[first][:, None], -normal, normal)
            if self._has_plane:
                normal = np.where(self._plane[first][:, None], self._normal_at[first], normal)
            pushed = tail[rows] + normal * depth[hit, first][:, None] - head[rows]
            size = np.maximum(np.sqrt((pushed * pushed).sum(1, keepdims=True)), 1e-9)
            tail[rows] = head[rows] + pushed * (length[rows] / size)

    def _measure(self, tail: F64, reach: F64) -> tuple[F64, F64, F64]:
        """From every collider to every tail: the way (J, C, 3), its length and how deep the tail lies inside (J, C)."""
        away = tail[:, None, :] - self._head_at[None]
        if self._has_plane:
            height = (away * self._normal_at[None]).sum(2)
        if self._has_capsule:
            along = np.clip((away * self._axis_at[None]).sum(2) / self._axis_square[None], 0.0, 1.0)
            away = away - along[:, :, None] * self._axis_at[None]
        distance = np.sqrt((away * away).sum(2))
        depth = np.where(self._inside[None], distance - reach, reach - distance)
        if self._has_plane:
            depth = np.where(self._plane[None], reach - height, depth)
        return away, distance, depth


def _swung(rest: F64, local: F64, axis: F64, direction: F64) -> F64:
    """``rest`` (J, 3, 3) turned the shortest way that carries ``axis`` (which is rest @ ``local``) onto ``direction``.

    As two half turns, first about the axis, then about the middle of both directions."""
    middle = axis + direction
    size = np.sqrt((middle * middle).sum(1, keepdims=True))
    middle = middle / np.maximum(size, 1e-6)
    back = size[:, 0] <= 1e-6
    if back.any():
        # Straight back there is no middle: any direction across the axis does.
        other = np.where(np.abs(axis[back, :1]) < 0.9, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
        across = cross(axis[back], other)
        middle[back] = across / np.sqrt((across * across).sum(1, keepdims=True))
    middle = middle[:, :, None]
    half = 2.0 * axis[:, :, None] * local.transpose(0, 2, 1) - rest
    out: F64 = 2.0 * middle * (middle.transpose(0, 2, 1) @ half) - half
    return out


def _quaternions(m: F64) -> F64:
    """(J, 4) of rotation matrices (J, 3, 3), all at once."""
    xx, yy, zz = m[:, 0, 0], m[:, 1, 1], m[:, 2, 2]
    candidates = np.stack([1 + xx + yy + zz, 1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz], 1)
    best = candidates.argmax(1)
    a, b, c = m[:, 2, 1] - m[:, 1, 2], m[:, 0, 2] - m[:, 2, 0], m[:, 1, 0] - m[:, 0, 1]
    d, e, f = m[:, 1, 0] + m[:, 0, 1], m[:, 0, 2] + m[:, 2, 0], m[:, 2, 1] + m[:, 1, 2]
    w, x, y, z = candidates.T
    table = np.stack(
        [np.stack([a, b, c, w], 1), np.stack([x, d, e, a], 1), np.stack([d, y, f, b], 1), np.stack([e, f, z, c], 1)], 1
    )
    q = table[np.arange(len(m)), best]
    unit: F64 = q / np.maximum(np.linalg.norm(q, axis=1, keepdims=True), 1e-12)
    return unit
