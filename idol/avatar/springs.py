"""Spring bones (VRMC_springBone 1.0): Verlet integration of every chain at once, one batch per depth along the chains.

The specification integrates once a frame with constants meant for 60 Hz. Here the steps are 1/60 s at any frame rate:
what the chains hang on moves evenly through the steps of a frame, the last step may lie a little ahead of the frame,
and what is shown lies between the last two. So hair moves alike at 15 and at 144 frames a second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from idol.avatar.colliders import Colliders, Contacts
from idol.avatar.model import AvatarData, SpringJoint
from idol.avatar.rotation import between, cross, inverse, multiply, rotate, to_matrix
from idol.avatar.skeleton import Skeleton

STEP = 1 / 60
SLACK = 0.02
"""Of a step: a frame that is this little late does not cost a step more."""
MAX_STEPS = 8
PAUSE = 0.25
"""Seconds: a longer frame was a hidden window or a busy machine, and what happened in it is not swung through."""
TELEPORT = 0.7
"""Metres in one frame: beyond this a chain's root has not moved but jumped."""

F64 = NDArray[np.float64]
_ONES = np.ones((3, 1))
# Short rows are what NumPy is slowest at: sums are written to every column, so that nothing is broadcast.
_SUM = np.ones((3, 3))
_HALF_SUM = np.full((3, 9), 0.5)
_ROWS, _COLUMNS = np.repeat(np.eye(3), 3, 1), np.tile(np.eye(3), 3)
_UNIT = np.eye(3).reshape(9)


@dataclass(slots=True)
class _Row:
    """One joint that swings, before the batches are made: ``above`` is the nearest node over it that swings too."""

    joint: SpringJoint
    tail: int
    spring: int
    above: int = -1
    depth: int = 0


@dataclass(slots=True)
class _Level:
    """The joints of one depth: ``above`` indexes the joints they hang on; ``held`` (J, 3, 5) lies in that one's frame.
    ``length`` and ``pull`` are (J, 3), three times the same.

    ``held`` is the bone's direction at rest, the joint's place, and its rest rotation after half a turn about the
    bone: a half turn more, about the middle of two directions, swings the bone from one onto the other."""

    part: slice
    above: NDArray[np.int64]
    held: F64
    local: F64
    length: F64
    pull: F64


class Springs:
    """State of all spring joints of one avatar. ``update`` writes the joints' local rotations and world matrices."""

    def __init__(self, data: AvatarData, skeleton: Skeleton) -> None:
        self._skeleton = skeleton
        rows = self._rows(data, skeleton)
        self.count = len(rows)
        self.nodes = np.asarray([row.joint.node for row in rows], np.int64)
        self.below = skeleton.below(self.nodes)
        """The joints and all nodes under them: their world matrices are this class's to write."""
        if not rows:
            return
        tails = np.asarray([row.tail for row in rows], np.int64)
        place = {int(node): i for i, node in enumerate(self.nodes)}
        above = np.asarray([place.get(row.above, -1) for row in rows], np.int64)
        world, turns = skeleton.rest_world, skeleton.rest_world_rotations
        bone = world[tails, :3, 3] - world[self.nodes, :3, 3]
        self._length = np.linalg.norm(bone, axis=1, keepdims=True)
        self._local = rotate(inverse(turns[self.nodes]), bone / self._length)
        self._keep = np.repeat(1.0 - np.asarray([row.joint.drag for row in rows], np.float64)[:, None], 3, 1)
        self._fall = np.asarray([row.joint.gravity for row in rows], np.float64) * STEP
        self._turn = to_matrix(turns[self.nodes])
        # What the world matrix has beside the rotation: scale, the same in every pose.
        self._stretch = self._turn.transpose(0, 2, 1) @ world[self.nodes, :3, :3]
        self._tail_now = world[tails, :3, 3].copy()
        self._tail_before = self._tail_now.copy()
        self._head = world[self.nodes, :3, 3].copy()
        self._toward = bone / self._length
        # Directions of the bones in the frames of their rest, after the last step.
        self._inner = self._local.copy()
        self._shown = self._turn.copy(), self._head.copy()
        self._write = _Written(skeleton.rest_rotations[self.nodes], self._local)
        edges = [0, *[i for i in range(1, len(rows)) if rows[i].depth != rows[i - 1].depth], len(rows)]
        size = np.cbrt(np.abs(np.linalg.det(world[self.nodes, :3, :3])))
        used = [data.springs[row.spring].colliders for row in rows]
        self._colliders = Colliders(data, skeleton, used, size * [row.joint.radius for row in rows], edges)
        self._levels = self._batches(rows, above, skeleton, edges)
        self._over = np.maximum(above, 0)
        self._anchors = _Anchors(data, skeleton, self.nodes[self._levels[0].part], self._colliders.nodes)
        self._spaces = _Spaces([data.springs[row.spring].center for row in rows])
        self._rigid = skeleton.even_scale(self.below.nodes)
        self._hanging = skeleton.below(self.nodes, but=True)
        self._ahead = 0.0
        self._fresh = True

    @staticmethod
    def _rows(data: AvatarData, skeleton: Skeleton) -> list[_Row]:
        """Pairs of head and tail, every joint after those it hangs on. A joint of two springs swings with the first."""
        found: dict[int, _Row] = {}
        place = skeleton.rest_world[:, :3, 3]
        for s, spring in enumerate(data.springs):
            for joint, tail in pairwise(spring.joints):
                if joint.node not in found and np.linalg.norm(place[tail.node] - place[joint.node]) > 1e-5:
                    found[joint.node] = _Row(joint, tail.node, s)
        for row in found.values():
            at = int(skeleton.parents[row.joint.node])
            while at != -1:
                if at in found:
                    row.above = at if row.above < 0 else row.above
                    row.depth += 1
                at = int(skeleton.parents[at])
        return sorted(found.values(), key=lambda row: row.depth)

    def _batches(
        self, rows: list[_Row], above: NDArray[np.int64], skeleton: Skeleton, edges: list[int]
    ) -> list[_Level]:
        turns, world = skeleton.rest_world_rotations, skeleton.rest_world
        self._to_rest = np.zeros((len(rows), 3, 3))
        levels = []
        for first, last in pairwise(edges):
            part = slice(first, last)
            nodes, over = self.nodes[part], above[part]
            if first == 0:
                frame, place = np.tile([0.0, 0.0, 0.0, 1.0], (last, 1)), np.zeros((last, 3))
                parents = skeleton.parents[nodes]
                inner = parents >= 0
                frame[inner] = turns[parents[inner]]
            else:
                frame = turns[self.nodes[over]]
                place = rotate(inverse(frame), world[nodes, :3, 3] - world[self.nodes[over], :3, 3])
            rest = multiply(inverse(frame), turns[nodes])
            axis, turn = rotate(rest, self._local[part]), to_matrix(rest)
            self._to_rest[part] = turn
            half = 2.0 * axis[:, :, None] * self._local[part][:, None, :] - turn
            held = np.concatenate([axis[:, :, None], place[:, :, None], half], 2)
            pull = np.repeat(np.asarray([row.joint.stiffness for row in rows[part]], np.float64)[:, None], 3, 1) * STEP
            levels.append(_Level(part, over, held, self._local[part], np.repeat(self._length[part], 3, 1), pull))
        return levels

    def reset(self) -> None:
        """Start from rest at the next update."""
        self._fresh = True

    def update(self, dt: float) -> bool:
        """Advance by ``dt`` seconds, from the solved world matrices of the nodes that hang on no joint.

        True when there was anything to swing. A frame of 0 s, a pause and a jump carry the chains as they hang."""
        if not self.count:
            return False
        world = self._skeleton.world
        anchors, spaces = self._anchors, self._spaces
        if not anchors.take(world):
            return False
        spaces.take(world)
        if self._fresh or not np.isfinite(self._tail_now).all():
            self._settle()
        elif dt <= 0.0:
            if anchors.moved():
                self._carry(keep_speed=True)
        else:
            if dt > PAUSE or anchors.jumped():
                self._carry(keep_speed=False)
            self._run(min(dt, PAUSE))
        self._show()
        anchors.keep()
        spaces.keep()
        return True

    def _run(self, dt: float) -> None:
        """All steps up to this frame; ``ahead`` is how far past it, in steps, the last one lies."""
        due = dt / STEP - self._ahead
        steps = max(math.ceil(due - SLACK), 0)
        late = max(steps - MAX_STEPS, 0)
        self._ahead = 0.0 if late else max(steps - due, 0.0)
        for k in range(late + 1, steps + 1):
            share = min((k + dt / STEP - due) * STEP / dt, 1.0)
            turn, head = self._anchors.at(share)
            self._spaces.carry(share, self._tail_now, self._tail_before)
            wanted = self._tail_now - self._tail_before
            wanted *= self._keep
            wanted += self._tail_now
            wanted += self._fall
            self._tail_before, self._tail_now = self._tail_now, self._tail_before
            if self._colliders.count:
                self._colliders.place(self._anchors.collider_matrices)
            self._step(turn, head, wanted)
        if steps > 0:
            self._inner = self._inside(turn, self._turn, self._toward)

    def _step(self, turn: F64, head: F64, wanted: F64) -> None:
        """Integrate all levels, and again while joints met a collider unasked: each time a level more is final."""
        colliders = self._colliders
        for _ in range(1 + len(self._levels)):
            for level, contacts in zip(self._levels, colliders.contacts, strict=True):
                self._swing(level, contacts, turn, head, wanted)
            if not colliders.count or not colliders.missed(self._tail_now):
                break

    def _swing(self, level: _Level, contacts: Contacts | None, turn: F64, head: F64, wanted: F64) -> None:
        """Integrate one level. It hangs on ``turn`` and ``head`` if it is the first, else on joints done before."""
        part = level.part
        axis, head, half = self._frame(level, turn, head)
        toward, tail = self._toward[part], self._tail_now[part]
        np.multiply(axis, level.pull, out=toward)
        toward += wanted[part]
        toward -= head
        toward /= np.maximum(np.sqrt((toward * toward) @ _SUM), 1e-9)
        np.multiply(toward, level.length, out=tail)
        tail += head
        if contacts is not None and self._colliders.push(contacts, head, tail, level.length):
            np.subtract(tail, head, out=toward)
            toward /= level.length
        self._place(level, axis, head, half, toward)

    def _frame(self, level: _Level, turn: F64, head: F64) -> tuple[F64, F64, F64]:
        """Direction at rest, place and rest rotation, half a turn about the bone on, of a level's joints, in the
        world."""
        if level.part.start == 0:
            moved = turn @ level.held
            place = head
        else:
            moved = self._turn.take(level.above, 0) @ level.held
            place = self._head.take(level.above, 0)
            place += moved[:, :, 1]
        return moved[:, :, 0], place, moved[:, :, 2:]

    def _place(self, level: _Level, axis: F64, head: F64, half: F64, toward: F64) -> None:
        """Turn a level's bones ``toward`` unit directions, the shortest way."""
        part = level.part
        middle = axis + toward
        square = (middle * middle) @ _HALF_SUM
        if square.item(square.argmin()) < 1e-6:
            # Straight back no way is the shortest: lean to a side.
            side = np.roll(level.local, 1, axis=1) * [1.0, -1.0, 1.0]
            rest = 2.0 * axis[:, :, None] * level.local[:, None, :] - half
            lean = toward + 2e-3 * (rest @ side[:, :, None])[:, :, 0]
            lean /= np.sqrt((lean * lean) @ _ONES)
            toward = np.where(square[:, :1] < 1e-6, lean, toward)
            middle = axis + toward
            square = np.maximum((middle * middle) @ _HALF_SUM, 5e-10)
        # Half a turn about the middle: 2 m m' / m'm - 1.
        swing = middle @ _ROWS
        swing *= middle @ _COLUMNS
        swing /= square
        swing -= _UNIT
        np.matmul(swing.reshape(-1, 3, 3), half, out=self._turn[part])
        self._head[part] = head
        self._toward[part] = toward

    def _inside(self, turn: F64, turns: F64, toward: F64) -> F64:
        """Directions of bones in the frames of their rest."""
        above = turns.take(self._over, 0)
        above[self._levels[0].part] = turn
        return (toward[:, None, :] @ above @ self._to_rest)[:, 0]

    def _hang(self) -> None:
        """Take the chains to this frame's anchors as they hang, without speed."""
        turn, head = self._anchors.at(1.0)
        for level in self._levels:
            axis, place, half = self._frame(level, turn, head)
            own = self._inner[level.part]
            # The rest rotation itself, less the half turn.
            toward = 2.0 * axis * ((own * level.local) @ _ONES) - (half @ own[:, :, None])[:, :, 0]
            self._place(level, axis, place, half, toward)
        self._tail_now = self._head + (self._turn @ self._local[:, :, None])[:, :, 0] * self._length
        self._tail_before = self._tail_now.copy()
        self._anchors.keep()
        self._spaces.start()

    def _settle(self) -> None:
        """Rest pose, no speed."""
        self._inner = self._local.copy()
        self._ahead = 0.0
        self._hang()
        self._fresh = False

    def _carry(self, keep_speed: bool) -> None:
        speed = self._tail_now - self._tail_before
        self._hang()
        if keep_speed:
            self._tail_before -= speed
        else:
            self._ahead = 0.0

    def _show(self) -> None:
        """Write the state at this frame: between the last two steps, from the anchors as they are now."""
        skeleton = self._skeleton
        turns, heads, inner = self._turn, self._head, self._inner
        if self._ahead > 1e-3:
            turns, heads, inner = self._between()
        skeleton.rotations[self.nodes] = self._write.rotations(inner)
        if self._rigid:
            skeleton.world[self.nodes, :3, :3] = turns @ self._stretch
            skeleton.world[self.nodes, :3, 3] = heads
            skeleton.solve(self._hanging)
        else:
            skeleton.solve(self.below)

    def _between(self) -> tuple[F64, F64, F64]:
        """Rotations, places and directions for tails that are on their way to those of the last step."""
        tails = self._tail_now + (self._tail_before - self._tail_now) * self._ahead
        stepped = self._turn, self._head
        self._turn, self._head = self._shown
        toward_stepped, self._toward = self._toward, np.empty_like(self._toward)
        turn, head = self._anchors.at(1.0)
        for level in self._levels:
            axis, place, half = self._frame(level, turn, head)
            toward = tails[level.part] - place
            toward /= np.maximum(np.sqrt((toward * toward) @ _SUM), 1e-9)
            self._place(level, axis, place, half, toward)
        inner = self._inside(turn, self._turn, self._toward)
        self._shown = self._turn, self._head
        self._turn, self._head = stepped
        self._toward = toward_stepped
        return (*self._shown, inner)


class _Written:
    """Local rotations of joints whose bones point along ``inner`` (J, 3), seen from their rest.

    ``rest * between(local, inner)`` is, but for its length, linear in ``inner``: one product for all joints."""

    def __init__(self, rest: F64, local: F64) -> None:
        self._rest, self._local = rest, local
        self._linear = np.empty((len(rest), 4, 3))
        for k in range(3):
            unit = np.broadcast_to(np.eye(3)[k], local.shape)
            turn = np.concatenate([cross(local, unit), local[:, k : k + 1]], 1)
            self._linear[:, :, k] = multiply(rest, turn)

    def rotations(self, inner: F64) -> F64:
        """(J, 4), of unit length."""
        out = (self._linear @ inner[:, :, None])[:, :, 0]
        out += self._rest
        square = (out * out) @ np.ones((4, 1))
        if square.min() < 4e-6:
            return multiply(self._rest, between(self._local, inner))
        out /= np.sqrt(square)
        found: F64 = out
        return found


class _Anchors:
    """What the chains hang on and bump into, from its place in the last frame to its place in this one."""

    def __init__(
        self, data: AvatarData, skeleton: Skeleton, roots: NDArray[np.int64], colliders: NDArray[np.int64]
    ) -> None:
        parents = skeleton.parents[roots]
        self._rooted = np.flatnonzero(parents < 0)
        self._nodes = np.concatenate([np.maximum(parents, 0), colliders]).astype(np.int64)
        self._offset = skeleton.rest_translations[roots][:, :, None]
        self._count = len(roots)
        both = len(roots) + len(colliders)
        self._old = np.zeros((both, 4, 4))
        self._new = np.zeros((both, 4, 4))
        self.collider_matrices = self._new[self._count :]

    def take(self, world: F64) -> bool:
        """Read this frame's matrices. False when they are not numbers, and then nothing has changed."""
        new = world.take(self._nodes, 0)
        if len(self._rooted):
            new[self._rooted] = np.eye(4)
        if not np.isfinite(new).all():
            return False
        basis = new[: self._count, :3, :3]
        head = (basis @ self._offset)[:, :, 0] + new[: self._count, :3, 3]
        new[: self._count, :3, :3] = basis / np.sqrt(np.add.reduce(basis * basis, 1))[:, None, :]
        new[: self._count, :3, 3] = head
        self._new = new
        return True

    def moved(self) -> bool:
        return not np.array_equal(self._old, self._new)

    def jumped(self) -> bool:
        """Whether a root came too far, or turned by more than 120 degrees, for a movement of one frame."""
        old, new = self._old[: self._count], self._new[: self._count]
        far = np.abs(new[:, :3, 3] - old[:, :3, 3]).max() > TELEPORT
        return bool(far or (np.einsum("jik,jik->j", old[:, :3, :3], new[:, :3, :3]) < 0.0).any())

    def keep(self) -> None:
        self._old = self._new

    def at(self, share: float) -> tuple[F64, F64]:
        """Rotations (J, 3, 3) that the first level hangs on, and the places of its joints, ``share`` of the way."""
        n = self._count
        if share >= 1.0:
            mixed = self._new
        else:
            mixed = self._old + (self._new - self._old) * share
            basis = mixed[:n, :3, :3]
            mixed[:n, :3, :3] = basis / np.sqrt(np.add.reduce(basis * basis, 1))[:, None, :]
        self.collider_matrices = mixed[n:]
        return mixed[:n, :3, :3], mixed[:n, :3, 3]


class _Spaces:
    """Center spaces: tails are carried along with the center, so that its own movement gives them no swing."""

    def __init__(self, centers: list[int | None]) -> None:
        used = sorted({c for c in centers if c is not None})
        self._nodes = np.asarray(used, np.int64)
        self._rows = [np.flatnonzero([c == node for c in centers]) for node in used]
        self._old = self._new = self._at = np.zeros((len(used), 4, 4))

    def take(self, world: F64) -> None:
        if len(self._nodes):
            self._new = world[self._nodes]

    def keep(self) -> None:
        self._old = self._new

    def start(self) -> None:
        """The tails are where this frame's centers have them."""
        self._old = self._at = self._new

    def carry(self, share: float, *tails: F64) -> None:
        """Move ``tails`` (J, 3), in place, from where the centers were to ``share`` of this frame's way."""
        if not len(self._nodes):
            return
        here = self._old + (self._new - self._old) * share
        steps = here @ np.linalg.inv(self._at)
        for rows, step in zip(self._rows, steps, strict=True):
            for tail in tails:
                tail[rows] = tail[rows] @ step[:3, :3].T + step[:3, 3]
        self._at = here
