"""The small picture of her that file dialogs show: the parts drawn flat from the front, with NumPy alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image

from avatars.maker.curves import F64
from avatars.maker.mesh import I64, Part, unit
from avatars.maker.paint_tools import rgb
from avatars.maker.skeleton import CHIN, H

SIZE = 320
LIGHT = np.array([-0.315, 0.495, 0.810])
"""Unit vector towards the light."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A primitive with its textures; without ``shade`` it takes no light. ``line``: colour its outline multiplies."""

    part: Part
    base: Image.Image
    shade: Image.Image | None
    shift: float
    line: tuple[float, float, float] | None
    width: float


def draw(layers: list[Layer], back: tuple[str, str]) -> Image.Image:
    """A bust, (SIZE, SIZE), in front of a gradient from ``back``'s first colour above to its second below."""
    many = 3 * SIZE // 2
    t = np.linspace(0, 1, many)[:, None, None]
    colour = np.array(rgb(back[0])) * (1 - t) + np.array(rgb(back[1])) * t
    colour = np.broadcast_to(colour, (many, many, 3)).reshape(-1, 3).copy()
    passes = [(layer, grown) for layer in layers for grown in ((layer.width, 0.0) if layer.line else (0.0,))]
    found = [_fragments(layer.part, grown, layer.shade is None, many) for layer, grown in passes]
    which = np.repeat(np.arange(len(found)), [len(f[0]) for f in found])
    pixel, depth = np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])
    order = np.lexsort((depth, pixel))
    nearest = order[np.append(np.diff(pixel[order]) != 0, True)]
    first = np.cumsum([0, *(len(f[0]) for f in found)])
    for k, (layer, grown) in enumerate(passes):
        mine = nearest[which[nearest] == k]
        at = mine - first[k]
        colour[pixel[mine]] = _seen(layer, found[k][2][at], found[k][3][at], grown > 0)
    pixels = np.clip(colour + 0.5, 0, 255).astype(np.uint8).reshape(many, many, 3)
    return Image.fromarray(pixels, "RGB").resize((SIZE, SIZE), Image.Resampling.LANCZOS)


def _fragments(part: Part, grown: float, both: bool, many: int) -> tuple[I64, F64, I64, F64]:
    """Pixels that the part covers, with their depths, triangles and barycentric coordinates (N, 3). A ``grown`` part
    shows its far side, as outlines do."""
    scale, middle = many / (1.95 * H), CHIN + 0.40 * H
    points = part.points + grown * part.normals
    flat = np.stack([many / 2 + points[:, 0] * scale, many / 2 - (points[:, 1] - middle) * scale], 1)
    a, b, c = flat[part.triangles].transpose(1, 0, 2)
    area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (c[:, 0] - a[:, 0]) * (b[:, 1] - a[:, 1])
    low = np.ceil(np.minimum(np.minimum(a, b), c) - 0.5).astype(np.int64)
    high = np.floor(np.maximum(np.maximum(a, b), c) - 0.5).astype(np.int64)
    size = (high - low + 1).max(1)
    wanted = (np.abs(area) > 1e-6) & (size > 0) & (high >= 0).all(1) & (low < many).all(1)
    if not both:
        wanted &= (area > 0) == (grown > 0)
    out = []
    for step in (2, 4, 8, 16, 32, 64, 128, 256):
        pick = np.flatnonzero(wanted & (size <= step) & (size > (step // 2 if step > 2 else 0)))
        if not len(pick):
            continue
        dx, dy = np.meshgrid(np.arange(step), np.arange(step))
        x = low[pick, 0, None] + dx.ravel()
        y = low[pick, 1, None] + dy.ravel()
        pa, pb, pc = (q[pick, None] for q in (a, b, c))
        px, py = x + 0.5, y + 0.5
        sb = ((px - pa[..., 0]) * (pc[..., 1] - pa[..., 1]) - (pc[..., 0] - pa[..., 0]) * (py - pa[..., 1])) / area[
            pick, None
        ]
        sc = ((pb[..., 0] - pa[..., 0]) * (py - pa[..., 1]) - (px - pa[..., 0]) * (pb[..., 1] - pa[..., 1])) / area[
            pick, None
        ]
        inside = (sb >= -1e-9) & (sc >= -1e-9) & (sb + sc <= 1 + 1e-9) & (x >= 0) & (y >= 0) & (x < many) & (y < many)
        row, _ = np.nonzero(inside)
        share = np.stack([1 - sb[inside] - sc[inside], sb[inside], sc[inside]], 1)
        triangle = pick[row]
        z = (share * points[part.triangles[triangle], 2]).sum(1)
        out.append((y[inside] * many + x[inside], z, triangle, share))
    if not out:
        return np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64), np.zeros((0, 3))
    return tuple(np.concatenate(column) for column in zip(*out, strict=True))  # type: ignore[return-value]


def _seen(layer: Layer, triangle: I64, share: F64, line: bool) -> F64:
    """Colours (N, 3) of fragments."""
    part = layer.part
    corners = part.triangles[triangle]
    uv = (share[..., None] * part.uv[corners]).sum(1)
    base = np.asarray(layer.base, np.float64)
    high, wide = base.shape[:2]
    at = np.clip((uv * [wide, high]).astype(int), 0, [wide - 1, high - 1])
    value: F64 = base[at[:, 1], at[:, 0]]
    if layer.shade is not None:
        normal = unit((share[..., None] * part.normals[corners]).sum(1))
        lit = np.clip((normal @ LIGHT + layer.shift) / 0.10 + 0.5, 0, 1)[:, None]
        value = value * lit + np.asarray(layer.shade, np.float64)[at[:, 1], at[:, 0]] * (1 - lit)
    if line and layer.line is not None:
        value = value * np.array(layer.line)
    return value


def tones(text: str) -> tuple[float, float, float]:
    r, g, b = rgb(text)
    return r / 255, g / 255, b / 255
