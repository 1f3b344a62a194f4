"""Colliders of spring bones: spheres, capsules and planes, from outside and inside.

VRMC_springBone 1.0 and VRMC_springBone_extended_collider 1.0: one collider after the other, in the spring's order,
pushes a bone's end straight out, and each time the bone gets its length back (which may leave it a little inside).

Only joints whose bone's end was within ``MARGIN`` of a collider lately are asked, and these about all of theirs: a push
out of one may end in any other. An end that is not asked stays where it swung, so what it got into can be seen
afterwards: ``missed`` looks, and a step in which that was so is done again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idol.avatar.model import AvatarData
from idol.avatar.skeleton import Skeleton

F64 = NDArray[np.float64]
MARGIN = 0.03
"""Metres."""
SPARE = 4
"""Joints that are asked without need, before they are sorted out: choosing anew costs more than asking them."""
_ONES = np.ones((3, 1))


@dataclass(slots=True)
class Contacts:
    """What the joints of one depth may touch: ``rows`` (R,) of that depth; (C, R) arrays by column and joint.

    ``gate`` is what ``_reduced`` falls below at a touch, -inf for colliders that are not the joint's; ``limits`` are
    the metres at which it touches."""

    rows: NDArray[np.int64]
    gate: F64
    limits: F64


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
        columns, places = _columns(used)
        found = [data.colliders[c] for c in columns]
        self.count = len(found)
        self._edges = np.asarray(edges, np.int64)
        self._nothing: list[Contacts | None] = [None] * (len(edges) - 1)
        self.contacts = self._nothing
        """What each depth has to ask in the next step."""
        self.nodes = np.asarray([c.node for c in found], np.int64)
        if not found:
            return
        offset = np.asarray([c.offset for c in found], np.float64)
        shaft = np.asarray([c.tail or c.offset for c in found], np.float64) - offset
        self._inner = np.stack([offset, shaft], 2)
        self._normal = np.asarray([c.normal or (0.0, 1.0, 0.0) for c in found], np.float64).reshape(-1, 3, 1)
        plane = np.asarray([c.normal is not None for c in found], bool)
        inside = np.asarray([c.inside for c in found], bool)
        self._plane_one, self._planes = plane.tolist(), np.flatnonzero(plane)
        self._numbers = np.arange(len(found))[:, None]
        mask = np.zeros((len(found), len(used)), bool)
        for row, own in enumerate(places):
            mask[own, row] = True
        size = np.cbrt(np.abs(np.linalg.det(skeleton.rest_world[self.nodes, :3, :3]))) * [c.radius for c in found]
        sign, plane, size = np.where(inside, -1.0, 1.0)[:, None], plane[:, None], size[:, None]
        self._sign = sign if inside.any() else None
        self._limits = np.where(plane, radius, size + sign * radius)
        """(C, J) metres at which a joint touches."""
        wide = self._limits + np.where(plane, MARGIN, MARGIN * sign)
        # One comparison with what ``_reduced`` gives tells a touch, whatever the shape.
        self._gate, self._wide = (
            np.where(mask, np.where(plane, limit, sign * limit * np.abs(limit)), -np.inf)
            for limit in (self._limits, wide)
        )
        self._has_capsule = bool(np.abs(shaft).max() > 1e-9)
        parts = 3 if self._has_capsule else 1
        self._stack, self._shift = np.zeros((parts * len(found), 3)), np.zeros((parts * len(found), 1))
        self._asked = mask.any(0)
        self._ask()

    def place(self, matrices: F64) -> None:
        """Take the world matrices of ``nodes``."""
        basis, count = matrices[:, :3, :3], self.count
        moved = basis @ self._inner
        at = self._at = moved[:, :, 0] + matrices[:, :3, 3]
        self._at_one = at.tolist()
        np.multiply(at, -2.0, out=self._stack[:count])
        np.matmul(at * at, _ONES, out=self._shift[:count])
        if self._has_capsule:
            along = moved[:, :, 1]
            self._reach = np.sqrt((along * along) @ _ONES)
            along = along / np.maximum(self._reach, 1e-9)
            self._along_one, self._reach_one = along.tolist(), self._reach.tolist()
            begin = (along * at) @ _ONES
            self._stack[count : 2 * count] = along
            np.multiply(along, 2.0, out=self._stack[2 * count :])
            np.negative(begin, out=self._shift[count : 2 * count])
            np.multiply(begin, -2.0, out=self._shift[2 * count :])
        if len(self._planes):
            # A normal keeps its angle to the plane under any scale by the inverse transpose.
            turned = (np.linalg.inv(basis).transpose(0, 2, 1) @ self._normal)[:, :, 0]
            self._facing = turned / np.maximum(np.linalg.norm(turned, axis=1, keepdims=True), 1e-9)
            self._facing_one = self._facing.tolist()

    def missed(self, tails: F64) -> bool:
        """Whether an end got into a collider without having been asked. Also chooses what is asked from now on."""
        reduced = self._reduced(tails)
        near = np.logical_or.reduce(self._wide > reduced, 0)
        fresh = near > self._asked
        missed = False
        if np.count_nonzero(fresh):
            missed = bool((self._gate[:, fresh] > reduced[:, fresh]).any())
            near |= self._asked
        elif np.count_nonzero(self._asked) <= np.count_nonzero(near) + SPARE:
            return False
        self._asked = near
        self._ask()
        return missed

    def _ask(self) -> None:
        rows = np.flatnonzero(self._asked)
        gate, limits = self._gate[:, rows], self._limits[:, rows]
        cuts = rows.searchsorted(self._edges).tolist()
        self.contacts = [
            Contacts(rows[a:b] - first, gate[:, a:b].copy(), limits[:, a:b].copy()) if b > a else None
            for a, b, first in zip(cuts, cuts[1:], self._edges.tolist(), strict=False)
        ]

    def _reduced(self, tails: F64) -> F64:
        """(C, R): squared distances from the middles, negative for those that keep things in; heights over planes."""
        count = self.count
        both = self._stack @ tails.T
        both += self._shift
        out: F64 = both[:count]
        if self._has_capsule:
            # Along the shaft, in metres, as far as it goes: the foot of the perpendicular.
            foot = both[count : 2 * count]
            np.minimum(np.maximum(foot, 0.0, out=foot), self._reach, out=foot)
            back = foot - both[2 * count :]
            back *= foot
            out += back
        out += _ONES.T @ (tails * tails).T
        if self._sign is not None:
            out *= self._sign
        if len(self._planes):
            facing = self._facing[self._planes]
            middle = np.einsum("ci,ci->c", facing, self._at[self._planes])
            out[self._planes] = facing @ tails.T - middle[:, None]
        return out

    def push(self, contacts: Contacts, head: F64, tail: F64, length: F64) -> bool:
        """Push the ends ``tail`` (J, 3), in place, of bones of ``length`` (J, 3) from ``head`` out of what they ask.

        True when any was pushed."""
        pushed = False
        rows, gate, limits = contacts.rows, contacts.gate, contacts.limits
        ends = tail.take(rows, 0)
        while True:
            touching = gate > self._reduced(ends)
            if not np.count_nonzero(touching):
                return pushed
            pushed = True
            hit = np.logical_or.reduce(touching, 0).nonzero()[0]
            # Columns are in every spring's order: the first that is touched is the next to push.
            c = touching.argmax(0).take(hit)
            rows, gate, limits, at = rows.take(hit), gate.take(hit, 1), limits.take(hit, 1), ends.take(hit, 0)
            each = zip(
                c.tolist(), at.tolist(), head.take(rows, 0).tolist(), length.take(rows, 0).tolist(),
                limits.T.tolist(), strict=True,
            )  # fmt: skip
            ends = np.asarray([self._pushed(k, end, start, size[0], limit[k]) for k, end, start, size, limit in each])
            tail[rows] = ends
            gate = np.where(self._numbers > c, gate, -np.inf)

    def _pushed(self, c: int, end: list[float], start: list[float], length: float, limit: float) -> list[float]:
        """The end of a bone from ``start`` after collider ``c``: plain numbers, as few bones touch at a time."""
        (x, y, z), (sx, sy, sz), (ax, ay, az) = end, start, self._at_one[c]
        dx, dy, dz = x - ax, y - ay, z - az
        if self._plane_one[c]:
            dx, dy, dz = self._facing_one[c]
            factor = limit - dx * (x - ax) - dy * (y - ay) - dz * (z - az)
        else:
            if self._has_capsule:
                ux, uy, uz = self._along_one[c]
                foot = min(max(dx * ux + dy * uy + dz * uz, 0.0), self._reach_one[c][0])
                dx, dy, dz = dx - foot * ux, dy - foot * uy, dz - foot * uz
            factor = limit / max(math.sqrt(dx * dx + dy * dy + dz * dz), 1e-9) - 1.0
        bx, by, bz = x + dx * factor - sx, y + dy * factor - sy, z + dz * factor - sz
        share = length / max(math.sqrt(bx * bx + by * by + bz * bz), 1e-9)
        return [sx + bx * share, sy + by * share, sz + bz * share]


def _columns(used: Sequence[tuple[int, ...]]) -> tuple[list[int], list[list[int]]]:
    """Colliders such that every group is found in it in its own order, and the places of each group's in it.

    One that groups order differently is there more than once."""
    columns: list[int] = []
    found: dict[tuple[int, ...], list[int]] = {}
    for group in used:
        if group in found:
            continue
        places: list[int] = []
        for c in dict.fromkeys(group):
            first = places[-1] + 1 if places else 0
            try:
                places.append(columns.index(c, first))
            except ValueError:
                columns.append(c)
                places.append(len(columns) - 1)
        found[group] = places
    return columns, [found[group] for group in used]
