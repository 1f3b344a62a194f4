"""Morph targets blended on the CPU: only vertices that some morph moves, only morphs that are up.

Moved vertices of a primitive get slots sorted by height, so that a morph of the mouth covers one short run of slots and
costs one multiply-add over that run. The renderer uploads the blended run, never the targets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from idol.avatar.model import Primitive

SMALLEST = 1e-3
"""A weight below this moves nothing that a pixel could show."""


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
        self._runs: list[tuple[int, int, NDArray[np.float32]] | None] = []
        for target in primitive.targets:
            places = self.slots[target.vertices]
            if not len(places):
                self._runs.append(None)
                continue
            first, last = int(places.min()), int(places.max()) + 1
            run = np.zeros((last - first, 8), np.float32)
            run[places - first, 0:3] = target.positions
            run[places - first, 4:7] = target.normals
            self._runs.append((first, last, run))
        self.revision = 0
        """Counts up whenever ``offsets`` change."""
        self._scratch = np.zeros_like(self.offsets)
        self._last = np.zeros(len(primitive.targets))

    def blend(self, weights: NDArray[np.float64]) -> bool:
        """Blend for ``weights`` (targets,). False when nothing has changed since the last call."""
        if not len(self.offsets) or np.abs(weights - self._last).max(initial=0.0) < SMALLEST:
            return False
        self._last[:] = weights
        self.revision += 1
        self.offsets[:] = 0.0
        for i in np.flatnonzero(np.abs(weights) >= SMALLEST):
            held = self._runs[i]
            if held is not None:
                first, last, run = held
                part = self._scratch[: last - first]
                np.multiply(run, np.float32(weights[i]), out=part)
                self.offsets[first:last] += part
        return True
