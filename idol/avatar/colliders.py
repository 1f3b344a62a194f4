"""Colliders of spring bones: spheres, capsules and planes, from outside and inside.

VRMC_springBone 1.0 and VRMC_springBone_extended_collider 1.0: one collider after the other, in the spring's order,
pushes a bone's end straight out, and each time the bone gets its length back (which may leave it a little inside).

Only colliders within ``MARGIN`` of where a bone's end was a step ago are asked. ``missed`` then looks at all of them at
once, and a step in which an end got into one that was not asked is done again with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idol.avatar.model import AvatarData
from idol.avatar.skeleton import Skeleton

F64 = NDArray[np.float64]
MARGIN = 0.03
"""Metres."""
_ONES = np.ones((3, 1))


@dataclass(slots=True)
class Contacts:
    """What the joints of one depth may touch: ``rows`` (R,) of that depth; (R, C) arrays by joint and collider.

    ``order`` is a collider's turn among those of its spring. ``gate`` is -inf for those that are not asked, ``most``
    the largest number that one joint asks."""

    rows: NDArray[np.int64]
    order: NDArray[np.int64]
    gate: F64
    limits: F64
    most: int


class Colliders:
    """The colliders that the joints of an avatar's springs use. ``place`` them each step, then ``push`` bones out.

    ``used`` are each joint's colliders in the spring's order, ``radius`` (J,) the joints' hit radii in metres, and
    ``edges`` the first joint of each depth, and their count."""

    def __init__(
        self,
        data: AvatarData,
        skeleton: Skeleton,
        used: Sequence[tuple[int, ...]],
        radius: F64,
        edges: Sequence[int],
    ) -> None:
        kept = sorted({c for group in used for c in group})
        found = [data.colliders[c] for c in kept]
        self.count = len(found)
        self._edges = np.asarray(edges, np.int64)
        self._nothing: list[Contacts | None] = [None] * (len(edges) - 1)
        self.contacts = self._nothing
        """What each depth has to ask in the next step."""
        place = {c: i for i, c in enumerate(kept)}
        self.nodes = np.asarray([c.node for c in found], np.int64)
        if not found:
            return
        self._offset = np.asarray([c.offset for c in found], np.float64).reshape(-1, 3, 1)
        self._shaft = np.asarray([c.tail or c.offset for c in found], np.float64).reshape(-1, 3, 1) - self._offset
        self._normal = np.asarray([c.normal or (0.0, 1.0, 0.0) for c in found], np.float64).reshape(-1, 3, 1)
        plane = np.asarray([c.normal is not None for c in found], bool)
        inside = np.asarray([c.inside for c in found], bool)
        self._is_plane, self._planes = plane, np.flatnonzero(plane)
        self._sign = np.where(inside, -1.0, 1.0)
        self._order = np.full((len(used), len(found)), len(found))
        for row, group in enumerate(used):
            for turn, c in enumerate(dict.fromkeys(group)):
                self._order[row, place[c]] = turn
        mask = self._order < len(found)
        size = np.cbrt(np.abs(np.linalg.det(skeleton.rest_world[self.nodes, :3, :3]))) * [c.radius for c in found]
        own = radius[:, None]
        self._limits = np.where(plane, own, np.where(inside, size - own, size + own))
        """(J, C) metres at which a joint touches."""
        wide = self._limits + np.where(plane, MARGIN, MARGIN * self._sign)
        # One comparison with what ``_reduced`` gives tells a touch, whatever the shape.
        self._gate, self._wide = (
            np.where(mask, np.where(plane, limit, self._sign * limit * np.abs(limit)), -np.inf)
            for limit in (self._limits, wide)
        )
        self._has_capsule = bool(np.abs(self._shaft).max() > 1e-9)
        self._stack = np.zeros((3, 2 * len(found)))
        self._near = mask
        self._ask()

    def place(self, matrices: F64) -> None:
        """Take the world matrices of ``nodes``."""
        basis = matrices[:, :3, :3]
        at = self._at = (basis @ self._offset)[:, :, 0] + matrices[:, :3, 3]
        self._at_square = (at * at) @ _ONES[:, 0]
        self._stack[:, : self.count] = -2.0 * at.T
        if self._has_capsule:
            along = self._along = (basis @ self._shaft)[:, :, 0]
            self._along_at = (along * at) @ _ONES[:, 0]
            self._along_square = np.maximum((along * along) @ _ONES[:, 0], 1e-12)
            self._stack[:, self.count :] = along.T
        if len(self._planes):
            # A normal keeps its angle to the plane under any scale by the inverse transpose.
            turned = (np.linalg.inv(basis).transpose(0, 2, 1) @ self._normal)[:, :, 0]
            self._facing = turned / np.maximum(np.linalg.norm(turned, axis=1, keepdims=True), 1e-9)

    def missed(self, tails: F64) -> bool:
        """Whether an end got into a collider that was not asked. Either way ``contacts`` are chosen anew."""
        reduced = self._reduced(tails)
        near = self._wide > reduced
        missed = bool(((self._gate > reduced) & ~self._near).any())
        if missed:
            near |= self._near
        if not np.array_equal(near, self._near):
            self._near = near
            self._ask()
        return missed

    def _ask(self) -> None:
        rows = np.flatnonzero(self._near.any(1))
        if not len(rows):
            self.contacts = self._nothing
            return
        near = self._near[rows]
        order, limits = self._order[rows], self._limits[rows]
        gate = np.where(near, self._gate[rows], -np.inf)
        counts = near.sum(1)
        cuts = rows.searchsorted(self._edges).tolist()
        self.contacts = [
            Contacts(rows[a:b] - first, order[a:b], gate[a:b], limits[a:b], int(counts[a:b].max())) if b > a else None
            for a, b, first in zip(cuts, cuts[1:], self._edges.tolist(), strict=False)
        ]

    def _reduced(self, tails: F64) -> F64:
        """(R, C): squared distances from the middles, negative for those that keep things in; heights over planes."""
        count = self.count
        if self._has_capsule:
            both = tails @ self._stack
            out = both[:, :count] + self._at_square
            up = both[:, count:]
            up -= self._along_at
            share = up / self._along_square
            np.minimum(np.maximum(share, 0.0, out=share), 1.0, out=share)
            up *= 2.0
            out += share * (share * self._along_square - up)
        else:
            out = tails @ self._stack[:, :count] + self._at_square
        out += (tails * tails) @ _ONES
        out *= self._sign
        if len(self._planes):
            facing = self._facing[self._planes]
            out[:, self._planes] = tails @ facing.T - np.einsum("ci,ci->c", facing, self._at[self._planes])
        reduced: F64 = out
        return reduced

    def push(self, contacts: Contacts, head: F64, tail: F64, length: F64) -> None:
        """Push the ends ``tail`` (J, 3), in place, of bones of ``length`` (J, 1) from ``head`` out of what they ask."""
        rows, gate = contacts.rows, contacts.gate
        ends = tail[rows]
        for turn in range(contacts.most):
            touching = gate > self._reduced(ends)
            hit = np.flatnonzero(touching.any(1))
            if not len(hit):
                break
            c = np.where(touching[hit], contacts.order[hit], self.count).argmin(1)
            at, limit = ends[hit], contacts.limits[hit, c][:, None]
            away = at - self._at[c]
            if self._has_capsule:
                along = self._along[c]
                share = ((away * along) @ _ONES)[:, 0] / self._along_square[c]
                away -= np.minimum(np.maximum(share, 0.0), 1.0)[:, None] * along
            distance = np.sqrt((away * away) @ _ONES)
            out = away * (limit / np.maximum(distance, 1e-9) - 1.0)
            if len(self._planes):
                facing = self._facing[c]
                height = ((at - self._at[c]) * facing) @ _ONES
                out = np.where(self._is_plane[c][:, None], facing * (limit - height), out)
            from_head = head[rows[hit]]
            bone = at + out - from_head
            size = np.sqrt((bone * bone) @ _ONES)
            ends[hit] = from_head + bone * (length[rows[hit]] / np.maximum(size, 1e-9))
            if turn + 1 < contacts.most:
                done = contacts.order[hit, c][:, None]
                gate = gate.copy() if turn == 0 else gate
                gate[hit] = np.where(contacts.order[hit] <= done, -np.inf, gate[hit])
        tail[rows] = ends
