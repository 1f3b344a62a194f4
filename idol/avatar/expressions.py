"""Expression weights to morph weights and material changes (VRMC_vrm 1.0, expressions).

Morph weights of all nodes lie in one array; an expression is a row of a matrix, so that a frame costs one product.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from idol.avatar.model import AvatarData, Expression

F64 = NDArray[np.float64]
MOUTH = ("aa", "ih", "ou", "ee", "oh")
BLINK = ("blink", "blinkLeft", "blinkRight")
LOOK = ("lookUp", "lookDown", "lookLeft", "lookRight")
_OVERRIDDEN = {"mouth": MOUTH, "blink": BLINK, "look_at": LOOK}
"""What each override acts on. An expression of a kind does not override its own kind."""

_FIELDS = {
    "color": ("base_color", 4), "shadeColor": ("shade_color", 3), "emissionColor": ("emissive", 3),
    "rimColor": ("rim_color", 3), "matcapColor": ("matcap_factor", 3), "outlineColor": ("outline_color", 3),
}  # fmt: skip


@dataclass(slots=True)
class MaterialChange:
    """What expressions make of one material: ``colors`` by field; targets of its texture transforms, weighted sums."""

    colors: dict[str, NDArray[np.float64]]
    uv_weight: float = 0.0
    uv_offset: tuple[float, float] = (0.0, 0.0)
    uv_scale: tuple[float, float] = (0.0, 0.0)

    def moved(
        self, offset: tuple[float, float], scale: tuple[float, float]
    ) -> tuple[tuple[float, float], tuple[float, float]]:
        """A texture's own transform carried towards the targets by their weights."""
        keep = 1.0 - self.uv_weight
        (ox, oy), (sx, sy) = self.uv_offset, self.uv_scale
        return (offset[0] * keep + ox, offset[1] * keep + oy), (scale[0] * keep + sx, scale[1] * keep + sy)


class Expressions:
    """All expressions of one avatar. ``resolve`` turns asked weights into effective ones, ``apply`` into morphs."""

    def __init__(self, data: AvatarData) -> None:
        self.names: tuple[str, ...] = tuple(data.expressions)
        self.items: tuple[Expression, ...] = tuple(data.expressions.values())
        self.index = {name: i for i, name in enumerate(self.names)}
        self.first: dict[int, int] = {}
        self.sizes: dict[int, int] = {}
        total = 0
        for node, mesh in data.mesh_of_node.items():
            self.first[node] = total
            self.sizes[node] = len(data.morph_names[mesh])
            total += self.sizes[node]
        self.morph_count = total
        self.default = np.zeros(total)
        for node, values in data.default_weights.items():
            size = min(self.sizes[node], len(values))
            self.default[self.first[node] : self.first[node] + size] = values[:size]
        self.matrix = np.zeros((len(self.items), total))
        for i, item in enumerate(self.items):
            for bind in item.morphs:
                self.matrix[i, self.first[bind.node] + bind.index] += bind.weight
        self._binary = np.asarray([item.is_binary for item in self.items], bool)
        self._groups = {
            key: np.asarray([self.index[name] for name in names if name in self.index], np.int64)
            for key, names in _OVERRIDDEN.items()
        }
        self._overriding = [
            (i, kind, getattr(item, f"override_{kind}"))
            for i, item in enumerate(self.items)
            for kind in ("mouth", "blink", "look_at")
            if getattr(item, f"override_{kind}") != "none" and item.name not in _OVERRIDDEN[kind]
        ]
        self._colored = [i for i, item in enumerate(self.items) if item.colors or item.uvs]
        self._materials = data.materials

    def has(self, name: str) -> bool:
        """Whether an expression of this name is there and moves anything."""
        i = self.index.get(name)
        return i is not None and self.items[i].bind_count > 0

    def resolve(self, asked: F64) -> tuple[F64, dict[str, float]]:
        """Effective weights, and what is left of ``mouth``, ``blink`` and ``look_at`` (1 untouched, 0 blocked)."""
        weights = np.clip(asked, 0.0, 1.0)
        if self._binary.any():
            weights[self._binary] = weights[self._binary] > 0.5
        left = {"mouth": 1.0, "blink": 1.0, "look_at": 1.0}
        for i, kind, how in self._overriding:
            weight = float(weights[i])
            if weight <= 0:
                continue
            left[kind] = 0.0 if how == "block" else max(0.0, min(left[kind], left[kind] - weight))
        for kind, group in self._groups.items():
            if left[kind] < 1.0 and len(group):
                weights[group] *= left[kind]
                # A binary expression is whole or none, and any override at all takes it away.
                weights[group[self._binary[group]]] = 0.0
        return weights, left

    def changes(self, weights: F64) -> dict[int, MaterialChange]:
        """Materials that the effective ``weights`` change. A base that no expression touches is not in it."""
        found: dict[int, MaterialChange] = {}
        for i in self._colored:
            weight = float(weights[i])
            if weight <= 0.0:
                continue
            item = self.items[i]
            for color in item.colors:
                key, size = _FIELDS[color.field]
                base = np.asarray(getattr(self._materials[color.material], key), np.float64)
                change = found.setdefault(color.material, MaterialChange({}))
                now = change.colors.get(key, base.copy())
                change.colors[key] = now + (np.asarray(color.target[:size]) - base) * weight
            for uv in item.uvs:
                change = found.setdefault(uv.material, MaterialChange({}))
                (ox, oy), (sx, sy) = change.uv_offset, change.uv_scale
                change.uv_offset = (ox + uv.offset[0] * weight, oy + uv.offset[1] * weight)
                change.uv_scale = (sx + uv.scale[0] * weight, sy + uv.scale[1] * weight)
                change.uv_weight += weight
        return found
