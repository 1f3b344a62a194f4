"""The shadow that the head throws on neck, collar and chest, without a shadow map.

Toon artists draw it as one clean curve under the chin. Here an ellipsoid stands in for the head: fitted at load to the
face, carried by the head bone. Seen along the light it is a disc, so a fragment needs three numbers from its vertex to
know whether it lies in the shadow. The head and all that hangs from it (hair, hats) never receive it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idol.avatar import Avatar
from idol.avatar.framing import rest_positions
from idol.avatar.model import Primitive

F64 = NDArray[np.float64]
REACH = 3.5
"""Radii of the head: the shadow has faded by there (``passed`` in ``shaders/avatar.frag``)."""
_LEAST = 12
"""Vertices of a face: with fewer, no ellipsoid is fitted."""


@dataclass(frozen=True, slots=True)
class HeadShadow:
    """``node`` is the head bone; ``centre`` and ``radii`` of the ellipsoid in metres at rest; ``owned`` (P,) whether a
    joint of the palette is the head's or hangs from it."""

    node: int
    centre: F64
    radii: F64
    at_rest: F64
    owned: NDArray[np.bool_]

    @classmethod
    def fit(cls, avatar: Avatar) -> HeadShadow | None:
        """None for a model without a head bone, or with no face to fit."""
        data, skeleton = avatar.data, avatar.skeleton
        node = data.human_bones.get("head")
        if node is None:
            return None
        below = np.zeros(len(skeleton.parents), bool)
        below[skeleton.below(np.asarray([node], np.int64)).nodes] = True
        owned = below[data.palette_nodes]
        # Hair hangs on bones of its own, or at least shares no mesh part with what expressions move.
        face = data.palette_nodes == node
        for name in ("leftEye", "rightEye", "jaw"):
            if name in data.human_bones:
                face |= data.palette_nodes == data.human_bones[name]
        places = rest_positions(data, skeleton)
        parts = [
            (primitive, points[_share(primitive, face) > 0.5])
            for primitive, points in zip(data.primitives, places, strict=True)
        ]
        moving = [points for primitive, points in parts if any(len(target.vertices) for target in primitive.targets)]
        points = np.concatenate(moving or [points for _, points in parts])
        bone = skeleton.rest_world[node, :3, 3]
        size = avatar.framing.head_height
        middle = points[(np.abs(points[:, 0] - bone[0]) < 0.12 * size) & (points[:, 2] > bone[2] + 0.1 * size)]
        if len(points) < _LEAST or len(middle) < 3 or size <= 0.0:
            return None
        chin = max(float(middle[:, 1].min()), float(bone[1]) - 0.3 * size)
        cheeks = points[(points[:, 1] > chin + 0.12 * size) & (points[:, 1] < chin + 0.5 * size)]
        if len(cheeks) < 3:
            return None
        half = float(np.clip(_high(np.abs(cheeks[:, 0] - bone[0]), 0.95), 0.2 * size, 0.55 * size))
        front = float(np.clip(_high(middle[:, 2], 0.9) - bone[2], 0.25 * size, 0.9 * size))
        tall, deep = 1.25 * half, 0.5 * (front + half)
        centre = np.asarray([bone[0], chin + tall, bone[2] + front - deep])
        radii = np.asarray([0.94 * half, tall, deep])
        at_rest = np.eye(4)
        at_rest[:3] = np.concatenate([np.diag(1.0 / radii), (-centre / radii)[:, None]], axis=1)
        return cls(node, centre, radii, at_rest @ skeleton.rest_world[node], owned)

    def receives(self, primitive: Primitive, places: F64) -> NDArray[np.float32] | None:
        """How much of the shadow each vertex takes, (V,) in 0..1; None when none is within reach. ``places`` (V, 3) are
        its vertices at rest."""
        near = np.linalg.norm((places - self.centre) / self.radii, axis=1) < REACH + 0.5
        share: NDArray[np.float32] = 1.0 - _share(primitive, self.owned)
        return share if (share[near] > 0.05).any() else None

    def rows(self, world: F64, toward: F64) -> F64:
        """World to shadow, (3, 4). ``world`` (4, 4) of the head bone now; ``toward`` the light, of any length."""
        ball = self.at_rest @ np.linalg.inv(world)
        x, y, z = (float(value) for value in ball[:3, :3] @ steepened(toward))
        size = (x * x + y * y + z * z) ** 0.5
        x, y, z = x / size, y / size, z / size
        # Any pair of axes square to the light: a disc has no direction.
        flat = max((x * x + z * z) ** 0.5, 1e-9)
        basis = np.asarray([[z / flat, 0.0, -x / flat], [-x * y / flat, flat, -z * y / flat], [-x, -y, -z]])
        rows: F64 = basis @ ball[:3]
        return rows


def steepened(toward: F64) -> F64:
    """The direction that shadows fall from: a light near the camera would hide them behind what throws them, and one
    from the side would throw them past the neck."""
    x, y, z = (float(value) for value in toward)
    flat = max((x * x + z * z) ** 0.5, 1e-6)
    return np.asarray([0.6 * x, max(y, 1.15 * flat), z])


def _share(primitive: Primitive, joints: NDArray[np.bool_]) -> NDArray[np.float32]:
    """The part of each vertex's weight that ``joints`` (P,) carry, (V,)."""
    share: NDArray[np.float32] = (primitive.weights * joints[primitive.joints]).sum(axis=1, dtype=np.float32)
    return share


def _high(values: F64, share: float) -> float:
    """The value below which ``share`` of ``values`` (N,) lie. NumPy's own percentile loads a whole package first."""
    return float(np.sort(values)[round(share * (len(values) - 1))])
