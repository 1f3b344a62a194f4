"""Colliders of spring bones: spheres, capsules and planes, from outside and inside.

VRMC_springBone 1.0 and VRMC_springBone_extended_collider 1.0. The specification pushes a joint straight out and then
gives the bone its length back, which leaves it a little inside; here the bone is turned, in the same plane, to where
repeated pushing would end. All joints of one depth are tested against all colliders at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from idol.avatar.model import AvatarData
from idol.avatar.skeleton import Skeleton

F64 = NDArray[np.float64]
PASSES = 4
"""For a joint that touches several colliders at once: turned out of the deepest, it may meet another."""
_TOUCH = 1e-6


class Reach:
    """How near some joints may come to each collider: ``limits`` (J, C) is the distance at which they touch.

    ``squares`` is the same, squared and signed so that one subtraction tells a touch and how deep it is."""

    def __init__(self, mask: NDArray[np.bool_], limits: F64, inside: NDArray[np.bool_], plane: NDArray[np.bool_]):
        self.mask = mask
        self.limits = np.where(inside, np.maximum(limits, 0.0), limits)
        squares = np.where(inside, -((self.limits + _TOUCH) ** 2), np.maximum(self.limits - _TOUCH, 0.0) ** 2)
        self.squares = np.where(mask & ~plane, squares, -np.inf)
        self.any = bool(mask.any())


class Colliders:
    """The colliders that the joints of an avatar's springs use. ``place`` them each step, then ``push`` joints out."""

    def __init__(self, data: AvatarData, skeleton: Skeleton, used: Sequence[tuple[int, ...]]) -> None:
        kept = sorted({c for group in used for c in group})
        found = [data.colliders[c] for c in kept]
        self.count = len(found)
        place = {c: i for i, c in enumerate(kept)}
        self.nodes = np.asarray([c.node for c in found], np.int64)
        self._offset = np.asarray([c.offset for c in found], np.float64).reshape(-1, 3, 1)
        self._shaft = np.asarray([c.tail or c.offset for c in found], np.float64).reshape(-1, 3, 1) - self._offset
        self._normal = np.asarray([c.normal or (0.0, 1.0, 0.0) for c in found], np.float64).reshape(-1, 3, 1)
        self._plane = np.asarray([c.normal is not None for c in found], bool)
        self._inside = np.asarray([c.inside for c in found], bool)
        self._sign = np.where(self._inside, -1.0, 1.0)
        self._mask = np.zeros((len(used), len(found)), bool)
        for row, group in enumerate(used):
            self._mask[row, [place[c] for c in group]] = True
        self._size = np.cbrt(np.abs(np.linalg.det(skeleton.rest_world[self.nodes, :3, :3]))) * [c.radius for c in found]
        self._has_plane = bool(self._plane.any())
        self._capsule: NDArray[np.bool_] = np.abs(self._shaft).max(axis=(1, 2), initial=0.0) > 1e-9
        self._has_capsule = bool(self._capsule.any())

    def reach(self, joints: slice, radius: F64) -> Reach:
        """For the joints of a slice, whose hit radii in metres are ``radius`` (J,)."""
        size, own = self._size[None], radius[:, None]
        limits = np.where(self._inside[None], size - own, size + own)
        return Reach(self._mask[joints], np.where(self._plane[None], own, limits), self._inside, self._plane)

    def place(self, matrices: F64) -> None:
        """Take the world matrices of ``nodes``."""
        basis = matrices[:, :3, :3]
        self._at = (basis @ self._offset)[:, :, 0] + matrices[:, :3, 3]
        if self._has_capsule:
            self._along = (basis @ self._shaft)[:, :, 0]
            self._share = self._along / np.maximum(np.einsum("ci,ci->c", self._along, self._along), 1e-12)[:, None]
        if self._has_plane:
            # A normal keeps its angle to the plane under any scale by the inverse transpose.
            turned = (np.linalg.inv(basis[self._plane]).transpose(0, 2, 1) @ self._normal[self._plane])[:, :, 0]
            self._facing = np.zeros_like(self._at)
            self._facing[self._plane] = turned / np.maximum(np.linalg.norm(turned, axis=1, keepdims=True), 1e-9)

    def push(self, reach: Reach, head: F64, toward: F64, length: F64) -> F64:
        """Directions (J, 3) of bones of ``length`` (J, 1) from ``head`` that touch nothing.

        ``toward`` are the unit directions asked for; they come back as they are when nothing touches."""
        for _ in range(PASSES):
            tail = head + toward * length
            away = tail[:, None] - self._at
            height = np.einsum("jci,ci->jc", away, self._facing) if self._has_plane else None
            if self._has_capsule:
                share = np.einsum("jci,ci->jc", away, self._share)
                np.minimum(np.maximum(share, 0.0, out=share), 1.0, out=share)
                away -= share[:, :, None] * self._along
            score = reach.squares - np.einsum("jci,jci->jc", away, away) * self._sign
            if height is not None:
                below = np.where(self._plane & reach.mask, reach.limits - _TOUCH - height, -np.inf)
                score = np.where(self._plane, below, score)
            worst = score.argmax(1)
            hit = np.flatnonzero(score[np.arange(len(worst)), worst] > 0.0)
            if not len(hit):
                break
            c = worst[hit]
            axis, cosine = self._contact(reach, hit, c, tail[hit] - away[hit, c] - head[hit], length[hit, 0])
            if height is not None:
                flat = np.flatnonzero(self._plane[c])
                axis[flat] = self._facing[c[flat]]
                rise = (
                    reach.limits[hit, c]
                    - height[hit, c]
                    + np.einsum("ji,ji->j", toward[hit], self._facing[c]) * (length[hit, 0])
                )
                cosine[flat] = np.clip(rise / length[hit, 0], -1.0, 1.0)[flat]
            toward = toward.copy()
            toward[hit] = _turned(toward[hit], axis, cosine)
            # A capsule's nearest point moves with the joint, so its contact is found step by step.
            if not self._capsule[c].any() and (score > 0.0).sum() == len(hit):
                break
        return toward

    def _contact(
        self, reach: Reach, rows: NDArray[np.int64], c: NDArray[np.int64], middle: F64, length: F64
    ) -> tuple[F64, F64]:
        """Axes to the middles of round colliders, ``middle`` seen from the heads, and the cosines at which bones touch.

        Where nothing can help (a collider around the head itself) the bone is turned as far out as it goes."""
        far = np.sqrt(np.einsum("ji,ji->j", middle, middle))
        far = np.maximum(far, 1e-6)
        cosine = (length**2 + far**2 - reach.limits[rows, c] ** 2) / (2.0 * length * far)
        return middle / far[:, None], np.minimum(np.maximum(cosine, -1.0), 1.0)


def _turned(toward: F64, axis: F64, cosine: F64) -> F64:
    """``toward`` (J, 3) turned, in the plane it has with ``axis``, to the angle of ``cosine`` (J,) from it."""
    across = toward - axis * np.einsum("ji,ji->j", toward, axis)[:, None]
    size = np.sqrt(np.einsum("ji,ji->j", across, across))[:, None]
    if (size < 1e-7).any():
        # Straight at the middle: any way round is as good.
        other = np.where(np.abs(axis[:, :1]) < 0.9, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
        across = np.where(size < 1e-7, other - axis * np.einsum("ji,ji->j", other, axis)[:, None], across)
        size = np.sqrt(np.einsum("ji,ji->j", across, across))[:, None]
    sine = np.sqrt(1.0 - cosine**2)[:, None]
    out: F64 = axis * cosine[:, None] + across * (sine / np.maximum(size, 1e-12))
    out /= np.sqrt(np.einsum("ji,ji->j", out, out))[:, None]
    return out
