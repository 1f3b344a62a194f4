"""Morph targets blended on the CPU: only vertices that some morph moves, only morphs that are up.

Moved vertices of a primitive get slots sorted by height and are blended in bands of slots: a band keeps the offsets of
the morphs that reach into it, and costs one product of their weights with these, where any of the weights has changed.
The renderer uploads the blended offsets, never the targets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from idol.avatar.model import Primitive

SMALLEST = 1e-3
"""A weight below this moves nothing that a pixel could show."""
_BAND = 192
"""Slots of a band: small enough that a blink leaves the mouth's alone, large enough that calls do not count."""


class MorphBlend:
    """Blended offsets of one primitive. ``slots`` (V,) is -1 for vertices that never move.

    ``offsets`` (S, 8) float32: position offset, 0, normal offset, 0, as two texels each."""

    def __init__(self, primitive: Primitive) -> None:
        count = len(primitive.positions)
        moved = np.zeros(count, bool)
        for target in primitive.targets:
            moved[target.vertices] = True
        live = np.flatnonzero(moved)
        live = live[np.argsort(primitive.positions[live, 1], kind="stable")]
        self.slots = np.full(count, -1, np.int32)
        self.slots[live] = np.arange(len(live), dtype=np.int32)
        self.offsets = np.zeros((len(live), 8), np.float32)
        self.revision = 0
        """Counts up whenever ``offsets`` change."""
        self._last = np.zeros(len(primitive.targets))
        self._blended = np.zeros((len(live), 6), np.float32)
        self._bands = [
            (morphs, block, self._blended[first:last].reshape(-1))
            for first, last, morphs, block in _bands(primitive, self.slots, len(live))
        ]

    def blend(self, weights: NDArray[np.float64]) -> bool:
        """Blend for ``weights`` (targets,). False when nothing has changed since the last call."""
        changed = np.abs(weights - self._last) >= SMALLEST
        if not len(self.offsets) or not changed.any():
            return False
        self._last[changed] = weights[changed]
        self.revision += 1
        used = np.where(np.abs(self._last) >= SMALLEST, self._last, 0.0).astype(np.float32)
        for morphs, block, band in self._bands:
            if np.count_nonzero(changed.take(morphs)):
                np.dot(used.take(morphs), block, out=band)
        # Column by column: NumPy copies long columns three times as fast as many short rows.
        for column in range(6):
            self.offsets[:, column + column // 3] = self._blended[:, column]
        return True


def _bands(
    primitive: Primitive, slots: NDArray[np.int32], count: int
) -> list[tuple[int, int, NDArray[np.int64], NDArray[np.float32]]]:
    """First slot, one past the last, the morphs (M,) that move one of these, and their offsets (M, slots * 6)."""
    starts = range(0, count, _BAND)
    reaching: list[list[int]] = [[] for _ in starts]
    places = [slots[target.vertices] for target in primitive.targets]
    for i, found in enumerate(places):
        for band in np.unique(found // _BAND).tolist():
            reaching[band].append(i)
    out = []
    for first, morphs in zip(starts, reaching, strict=True):
        last = min(first + _BAND, count)
        block = np.zeros((len(morphs), last - first, 6), np.float32)
        for row, i in enumerate(morphs):
            target, within = primitive.targets[i], (places[i] >= first) & (places[i] < last)
            block[row, places[i][within] - first, 0:3] = target.positions[within]
            block[row, places[i][within] - first, 3:6] = target.normals[within]
        out.append((first, last, np.asarray(morphs, np.int64), block.reshape(len(morphs), -1)))
    return out
