"""Which triangles can be in the picture: a bust need not pay for boots.

The triangles of a primitive are grouped by the joint that moves them most. A skinned vertex lies in the convex hull of
what each of its joints would make of it, so a group is out of the picture when, for one plane of the view, the spheres
around its vertices as each joint moves them all lie beyond it (Gribb & Hartmann 2001 for the planes).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from idol.avatar.model import Primitive

_LEAST = 600
"""Triangles: smaller primitives are drawn whole, asking costs as much."""
_SMALL = 48
"""Triangles: smaller groups join their neighbours."""
_MARGIN = 0.02
"""Metres for outlines, which lie outside the surface."""

Range = tuple[int, int]
"""First index and number of indices."""


@dataclass(frozen=True, slots=True)
class Groups:
    """``indices`` (T * 3) sorted by group. ``ends`` (G,): one past each group's last index. Spheres (S,) in the bind
    pose, ``centres`` (S, 3) and ``radii`` (S,), each of the joint ``joints`` (S,); those of a group begin at its entry
    of ``starts`` (G,)."""

    indices: NDArray[np.uint32]
    ends: NDArray[np.int64]
    joints: NDArray[np.int64]
    centres: NDArray[np.float32]
    radii: NDArray[np.float32]
    starts: NDArray[np.int64]

    def visible(self, palette: NDArray[np.float32], planes: NDArray[np.float32]) -> list[Range]:
        """What to draw. ``palette`` (P, 3, 4) as vertices see it; ``planes`` (6, 4) of the view, inside positive."""
        return Culling([self]).visible(palette, planes)[0]

    def ranges(self, inside: list[bool]) -> list[Range]:
        """The groups that are ``inside`` (G,), neighbours as one."""
        ranges: list[Range] = []
        first = 0
        for end, seen in zip(self.ends.tolist(), inside, strict=True):
            if seen:
                if ranges and ranges[-1][0] + ranges[-1][1] == first:
                    ranges[-1] = (ranges[-1][0], end - ranges[-1][0])
                else:
                    ranges.append((first, end - first))
            first = end
        return ranges


class Culling:
    """The groups of several primitives, asked all at once: a frame pays for one pass over their spheres."""

    def __init__(self, groups: list[Groups]) -> None:
        self._groups = groups
        if not groups:
            return
        self._joints = np.concatenate([held.joints for held in groups])
        self._centres = np.concatenate([held.centres for held in groups])[:, :, None]
        self._radii = np.concatenate([held.radii for held in groups])
        firsts = np.cumsum([0, *(len(held.joints) for held in groups)])
        self._starts = np.concatenate([held.starts + first for held, first in zip(groups, firsts, strict=False)])

    def visible(self, palette: NDArray[np.float32], planes: NDArray[np.float32]) -> list[list[Range]]:
        """What to draw of each primitive; see ``Groups.visible``."""
        if not self._groups:
            return []
        moved = palette.take(self._joints, 0)
        turn = palette[:, :, :3]
        centres = (moved[:, :, :3] @ self._centres)[:, :, 0]
        centres += moved[:, :, 3]
        stretch = np.sqrt((turn * turn).sum(axis=1).max(axis=1)).take(self._joints)
        # Planes first: long rows are what NumPy walks fast.
        reach = planes[:, :3] @ centres.T
        reach += planes[:, 3:]
        reach += self._radii * stretch + _MARGIN
        seen = np.asarray((np.maximum.reduceat(reach, self._starts, axis=1) > 0).all(axis=0))
        inside: list[bool] = seen.tolist()
        out, first = [], 0
        for held in self._groups:
            last = first + len(held.ends)
            out.append(held.ranges(inside[first:last]))
            first = last
        return out


def group_triangles(primitive: Primitive) -> Groups | None:
    """The groups of ``primitive``; None when it is too small to be worth it."""
    triangles = primitive.indices.reshape(-1, 3)
    if len(triangles) < _LEAST:
        return None
    strongest = primitive.joints[np.arange(len(primitive.joints)), primitive.weights.argmax(axis=1)]
    owner = strongest[triangles[:, 0]]
    order = np.argsort(owner, kind="stable")
    borders = _borders(owner[order])
    reach = _morph_reach(primitive)
    joints: list[int] = []
    centres: list[NDArray[np.float32]] = []
    radii: list[float] = []
    starts: list[int] = []
    for first, end in pairwise(borders):
        starts.append(len(joints))
        used = np.unique(triangles[order[first:end]])
        owners, weights = primitive.joints[used], primitive.weights[used]
        for joint in np.unique(owners[weights > 0]):
            members = used[((owners == joint) & (weights > 0)).any(axis=1)]
            points = primitive.positions[members]
            centre = (points.min(axis=0) + points.max(axis=0)) / 2
            joints.append(int(joint))
            centres.append(centre.astype(np.float32))
            radii.append(float((np.linalg.norm(points - centre, axis=1) + reach[members]).max()))
    return Groups(
        np.ascontiguousarray(triangles[order].reshape(-1), np.uint32),
        np.asarray(borders[1:], np.int64) * 3,
        np.asarray(joints, np.int64),
        np.asarray(centres, np.float32).reshape(-1, 3),
        np.asarray(radii, np.float32),
        np.asarray(starts, np.int64),
    )


def view_planes(view: NDArray[np.float64], projection: NDArray[np.float64]) -> NDArray[np.float32]:
    """(6, 4): left, right, bottom, top, near, far; a point is inside where plane · (x, y, z, 1) is positive. Metres."""
    clip = projection @ view
    planes = np.concatenate([clip[3] + clip[:3], clip[3] - clip[:3]])
    scaled: NDArray[np.float32] = (planes / np.linalg.norm(planes[:, :3], axis=1, keepdims=True)).astype(np.float32)
    return scaled


def _borders(owner: NDArray[np.int64]) -> list[int]:
    """Where groups begin and end among the sorted triangles, small ones joined to the one before."""
    changes = [0, *(np.flatnonzero(np.diff(owner)) + 1).tolist(), len(owner)]
    kept = [0]
    for border in changes[1:-1]:
        if border - kept[-1] >= _SMALL:
            kept.append(border)
    if len(owner) - kept[-1] < _SMALL and len(kept) > 1:
        kept.pop()
    return [*kept, len(owner)]


def _morph_reach(primitive: Primitive) -> NDArray[np.float32]:
    """How far all morphs together can move each vertex, in metres of the bind pose."""
    reach = np.zeros(len(primitive.positions), np.float32)
    for target in primitive.targets:
        np.add.at(reach, target.vertices, np.linalg.norm(target.positions, axis=1))
    return reach
