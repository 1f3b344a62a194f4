"""What hair is built of: a dome on the skull, tapered locks along guide curves, and chains of spring bones.

Heights of the head; the parts are in metres. The texture's left half is the dome's, unrolled and folded at the middle
of the face; its right half holds strips for locks, from root to tip."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from avatars.maker.curves import F64, smooth, spline
from avatars.maker.face import metres
from avatars.maker.face_surface import CAP_CENTRE, CAP_RADII
from avatars.maker.mesh import Part, grid, unit, vertex_normals
from avatars.maker.pieces import Chain, weights_along

CENTRE, RADII = CAP_CENTRE, CAP_RADII
RING_POLAR, RING_AT = 69.0, 0.2
"""The ring of light lies so many degrees from the crown; a strip of the texture has it at this part of its length."""
DOME_POLAR = 132.0
"""Degrees down from the crown that the dome's half of the texture covers."""
STRIPS = ("plain", "long", "short", "accent")
"""Strips of the texture for locks: with no end of another colour, a long one, a short one; a second colour."""


def on_skull(azimuth: ArrayLike, polar: ArrayLike, scale: float = 1.0) -> F64:
    """A point on the hair's ellipsoid: degrees round from the front to her left, and down from the crown."""
    a, p = np.radians(azimuth), np.radians(polar)
    way = np.stack([np.sin(p) * np.sin(a), np.cos(p), np.sin(p) * np.cos(a)], -1)
    out: F64 = CENTRE + scale * RADII * way
    return out


def before_face(x: float, y: float, scale: float = 1.0) -> F64:
    """The point of the hair's ellipsoid, scaled, that the front view shows at (x, y)."""
    a, b = x / RADII[0] / scale, (y - CENTRE[1]) / RADII[1] / scale
    return np.array([x, y, CENTRE[2] + scale * RADII[2] * np.sqrt(max(1.0 - a * a - b * b, 0.02))])


def lock(
    guide: ArrayLike,
    width: float,
    thick: float,
    *,
    rows: int = 16,
    across: int = 6,
    root: float = 0.75,
    full: float = 0.45,
    taper: float = 0.85,
    tip: float = 0.0,
    strip: str = "plain",
    chain: Chain | None = None,
    axis: F64 | None = None,
    roundness: float = 0.55,
    roll: float = 0.0,
    span: tuple[float, float] = (0.0, 1.0),
) -> Part:
    """One lock along ``guide`` (K, 3). Its width is ``root`` at the start, 1 at ``full``, then tapers to ``tip``.

    ``across``: points of its outer side; ``axis`` (K, 3): what that side turns away from (the head's middle by
    default); ``roundness``: how much its normals are those of the mass of hair and not its own; ``roll``: degrees it
    is turned about itself by its end; ``span``: the part of the strip's length it shows."""
    line = spline(guide, rows)
    t = np.linspace(0, 1, rows)
    rise = root + (1 - root) * smooth(t, 0.0, full)
    fall = tip + (1 - tip) * np.clip((1 - t) / (1 - full), 0, 1) ** taper
    w = 0.5 * width * rise * np.where(t < full, 1.0, fall) + 0.0010
    h = thick * (0.12 + 0.88 * smooth(t, 0, 0.38)) * (w / (0.5 * width)) ** 0.7
    tangent = unit(np.gradient(line, axis=0))
    if axis is None:
        inner = CENTRE + np.stack([np.zeros(rows), np.clip(line[:, 1], 0.1, 0.62) - CENTRE[1], np.zeros(rows)], 1)
    else:
        inner = spline(axis, rows)
    mass = line - inner
    out = unit(mass)
    out = unit(out - (out * tangent).sum(1, keepdims=True) * tangent)
    side = np.cross(tangent, out)
    if roll:
        angle = np.radians(roll) * smooth(t, 0.1, 1.0)[:, None]
        out, side = np.cos(angle) * out + np.sin(angle) * side, np.cos(angle) * side - np.sin(angle) * out
    a = np.radians([*np.linspace(180, 0, across), -90])
    high = np.where(np.sin(a) >= 0, np.abs(np.sin(a)) ** 0.85, np.sin(a) * 0.3)
    points = line[:, None] + np.cos(a)[None, :, None] * side[:, None] * w[:, None, None]
    points = (points + high[None, :, None] * out[:, None] * h[:, None, None]).reshape(-1, 3)
    tri = grid(rows, len(a), closed=True)
    own = vertex_normals(points, tri)
    if (own * np.repeat(out, len(a), 0) * np.tile(high, rows)[:, None]).sum() < 0:
        tri = tri[:, ::-1].copy()
        own = -own
    sphere = unit(points - np.repeat(inner, len(a), 0))
    facing = np.tile(np.where(high >= 0, 1.0, -0.3), rows)[:, None]
    normal = unit(own * (1 - roundness) + sphere * roundness * facing)
    u = np.where(np.sin(a) < -0.1, 0.03, np.clip(0.5 - 0.5 * np.cos(a), 0.03, 0.97))
    v = span[0] + (span[1] - span[0]) * t
    if span[0] == 0.0:
        polar = np.degrees(np.arccos(np.clip((line[:, 1] - CENTRE[1]) / RADII[1], -1, 1)))
        at = float(np.interp(RING_POLAR, np.maximum.accumulate(polar), t))
        if 0.02 < at < 0.6:
            v = np.interp(t, [0, at, 1], [max(0.0, RING_AT - at), RING_AT, 1])
    uv = np.stack([np.tile(0.5 + (u + STRIPS.index(strip)) / 8, rows), np.repeat(np.clip(v, 0.004, 0.996), len(a))], 1)
    points = metres(points)
    return Part(points, tri, uv, weights_along(points, chain), normal)


def dome(edge: ArrayLike, clumps: int = 17, depth: float = 0.012, scale: float = 1.0) -> Part:
    """The hair on the skull, one smooth surface, so that its ring of light is one clean band; it carries shallow
    furrows from the crown to the ``edge`` [(azimuth from the front, degrees down from the crown), ...]."""
    around, down = 54, 12
    azimuth = np.linspace(-180, 180, around + 1)
    places = np.asarray(edge, np.float64)
    ends = np.interp(np.abs(azimuth), places[:, 0], places[:, 1])
    t = np.linspace(0, 1, down)[:, None] ** 0.9
    polar = 0.6 + t * (ends - 0.6)
    points = on_skull(np.tile(azimuth, (down, 1)), polar, scale)
    furrow = 0.5 + 0.5 * np.cos(np.radians(azimuth) * clumps)
    sink = depth * furrow**3 * smooth(polar, 18, 70)
    # At its edge it turns in under the locks.
    sink = sink + 0.045 * smooth(t, 0.80, 1.0)
    points = CENTRE + (points - CENTRE) * (1 - sink)[..., None]
    flat = points.reshape(-1, 3)
    u = 0.5 * np.abs(azimuth) / 180 * 0.98 + 0.005
    uv = np.stack([np.tile(u, down), polar.ravel() / DOME_POLAR], 1)
    tri = grid(down, around + 1)
    tri = tri[
        np.linalg.norm(np.cross(flat[tri[:, 1]] - flat[tri[:, 0]], flat[tri[:, 2]] - flat[tri[:, 0]]), axis=1) > 0
    ]
    normal = unit((flat - CENTRE) / RADII**2)
    corners = flat[tri]
    if (np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) * normal[tri[:, 0]]).sum() < 0:
        tri = tri[:, ::-1].copy()
    normal = unit(0.75 * normal + 0.25 * vertex_normals(flat, tri))
    return Part(metres(flat), tri, uv, {"head": np.ones(len(flat))}, normal)
