"""Hair: a cap on the skull, then tapered locks along guide curves. Heights of the head; parts in metres."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from avatars.maker.curves import F64, smooth, spline
from avatars.maker.face import metres
from avatars.maker.face_surface import CAP_CENTRE, CAP_RADII, cap_edge, depth
from avatars.maker.mesh import Part, grid, unit, vertex_normals

CENTRE, RADII = CAP_CENTRE, CAP_RADII
RING_AT = np.radians(47.0)
"""The ring of light lies this far from the crown; the texture has it at a quarter of a lock's length."""


def on_skull(azimuth: ArrayLike, polar: ArrayLike, scale: float = 1.0) -> F64:
    """A point on the hair's ellipsoid: degrees round from the front to her left, and down from the crown."""
    a, p = np.radians(azimuth), np.radians(polar)
    way = np.stack([np.sin(p) * np.sin(a), np.cos(p), np.sin(p) * np.cos(a)], -1)
    out: F64 = CENTRE + scale * RADII * way
    return out


@dataclass
class Chain:
    """Spring bones: ``points`` (J + 1, 3) in metres, the last one the end of the last bone."""

    name: str
    parent: str
    points: F64
    stiffness: float = 1.0
    drag: float = 0.4
    gravity: float = 0.1
    radius: float = 0.015
    head: bool = True

    @property
    def bones(self) -> list[str]:
        return [f"{self.name}{i + 1}" for i in range(len(self.points))]


@dataclass
class Hair:
    parts: list[Part] = field(default_factory=list)
    chains: list[Chain] = field(default_factory=list)


def lock(
    guide: ArrayLike,
    width: float,
    thick: float,
    rows: int = 15,
    root: float = 0.75,
    full: float = 0.45,
    taper: float = 0.8,
    axis: F64 | None = None,
    strip: int = 0,
    chain: Chain | None = None,
    roll: float = 0.0,
    across: int = 5,
) -> Part:
    """One lock. Its width is ``root`` at the start, 1 at ``full``, then tapers to a point; ``axis`` (K, 3): what its
    outer side turns away from (the head's middle by default); ``across``: points of its cross
    section, the last below."""
    line = spline(guide, rows)
    t = np.linspace(0, 1, rows)
    rise = root + (1 - root) * smooth(t, 0.0, full)
    w = 0.5 * width * rise * np.clip((1 - t) / (1 - full), 0, 1) ** taper
    w = np.where(t < full, 0.5 * width * rise, w) + 0.0012
    h = thick * (0.45 + 0.55 * smooth(t, 0, 0.3)) * (w / (0.5 * width)) ** 0.6
    tangent = unit(np.gradient(line, axis=0))
    if axis is None:
        inner = CENTRE + np.stack([np.zeros(rows), np.clip(line[:, 1], 0.1, 0.62) - CENTRE[1], np.zeros(rows)], 1)
    else:
        inner = spline(axis, rows)
    out = unit(line - inner)
    out = unit(out - (out * tangent).sum(1, keepdims=True) * tangent)
    side = np.cross(tangent, out)
    if roll:
        c, s = np.cos(np.radians(roll)), np.sin(np.radians(roll))
        out, side = c * out + s * side, c * side - s * out
    a = np.radians([*np.linspace(180, 0, across - 1), -90])
    high = np.where(np.sin(a) >= 0, np.sin(a) * 1.0, np.sin(a) * 0.3)
    points = line[:, None] + np.cos(a)[None, :, None] * side[:, None] * w[:, None, None]
    points = (points + high[None, :, None] * out[:, None] * h[:, None, None]).reshape(-1, 3)
    tri = grid(rows, len(a), closed=True)
    own = vertex_normals(points, tri)
    if (own * np.repeat(out, len(a), 0) * np.tile(high, rows)[:, None]).sum() < 0:
        tri = tri[:, ::-1].copy()
        own = -own
    sphere = unit(points - np.repeat(inner, len(a), 0))
    facing = np.tile(np.where(high >= 0, 1.0, -0.3), rows)[:, None]
    normal = unit(own * 0.6 + sphere * 0.55 * facing)
    v = t.copy()
    if strip != 1:
        polar = np.arccos(np.clip((line[:, 1] - CENTRE[1]) / RADII[1], -1, 1))
        at = np.interp(RING_AT, np.maximum.accumulate(polar), t)
        if 0.02 < at < 0.9:
            v = np.interp(t, [0, at, 1], [0, 0.25, 1])
    u = 0.5 - 0.5 * np.cos(a)
    u = np.where(np.sin(a) < -0.1, 0.03, np.clip(u, 0.02, 0.98))
    uv = np.stack([np.tile((u + strip) / 3, rows), np.repeat(np.clip(v, 0.004, 0.996), len(a))], 1)
    points = metres(points)
    return Part(points, tri, uv, weights_along(points, chain), normal)


def weights_along(points: F64, chain: Chain | None) -> dict[str, F64]:
    """Each point follows the two bones of the chain next to it; above the chain's root, its parent."""
    if chain is None:
        return {"head": np.ones(len(points))}
    joints = chain.points
    best, place = np.full(len(points), np.inf), np.zeros(len(points))
    for i in range(len(joints) - 1):
        way = joints[i + 1] - joints[i]
        s = (points - joints[i]) @ way / (way @ way)
        low = -0.5 if i == 0 else 0.0
        c = np.clip(s, low, 1.0)
        far = np.linalg.norm(points - joints[i] - c[:, None] * way, axis=1)
        better = far < best
        best, place = np.where(better, far, best), np.where(better, i + c, place)
    names = [chain.parent, *chain.bones[: len(joints) - 1]]
    # place i + s lies on bone i + 1 of names; the middle of a bone is all its own.
    at = np.clip(place + 0.5, 0.0, len(names) - 1)
    out = {}
    for k, name in enumerate(names):
        out[name] = np.clip(1 - np.abs(at - k), 0, 1)
    return out


def cap() -> Part:
    """The hair next to the skull: dark, seen between the locks."""
    around, down = 32, 10
    azimuth = np.linspace(-180, 180, around + 1)
    edge = cap_edge(azimuth)
    t = np.linspace(0, 1, down)[:, None]
    points = on_skull(np.tile(azimuth, (down, 1)), 0.5 + t * (edge - 0.5))
    # Thicker at the crown, where the locks leave a hole.
    points = CENTRE + (points - CENTRE) * (0.962 + 0.058 * smooth(t * edge, 22, 2))[..., None]
    tri = grid(down, around + 1)
    flat = metres(points.reshape(-1, 3))
    uv = np.stack([np.full(len(flat), 0.5), np.repeat(np.linspace(0.02, 0.30, down), around + 1)], 1)
    normal = unit(points.reshape(-1, 3) - CENTRE)
    corners = flat[tri[len(tri) // 2]]
    if np.cross(corners[1] - corners[0], corners[2] - corners[0]) @ normal[tri[len(tri) // 2][0]] < 0:
        tri = tri[:, ::-1].copy()
    return Part(flat, tri, uv, {"head": np.ones(len(flat))}, normal)


def _forehead(x: float, y: float, off: float) -> list[float]:
    return [x, y, float(depth(min(abs(x), 0.36), y)) + off + 0.05 * float(smooth(abs(x), 0.27, 0.34))]


def fringe() -> list[Part]:
    """Swept from a parting above her left eye; two layers, so that no two locks share a plane."""
    out = []
    spec = [
        # root azimuth, azimuth on the brow, tip x, tip y, width, layer
        (-50, -66, -0.345, 0.375, 0.155, 1), (-37, -51, -0.285, 0.470, 0.155, 0), (-26, -37, -0.215, 0.525, 0.140, 2),
        (-15, -24, -0.135, 0.528, 0.140, 0), (-5, -11, -0.062, 0.488, 0.130, 1), (5, 2, 0.012, 0.470, 0.125, 0),
        (14, 15, 0.075, 0.510, 0.115, 2), (25, 30, 0.165, 0.545, 0.145, 0), (37, 47, 0.262, 0.490, 0.155, 1),
        (50, 64, 0.338, 0.385, 0.155, 0),
    ]  # fmt: skip
    for root, brow, x, y, width, layer in spec:
        s = 1.0 + 0.016 * layer
        bend = 0.035 * (1 if x < 0.05 else -1)
        guide = [
            on_skull(root * 0.6, 12, s), on_skull(root, 34, s * 1.012), on_skull(brow, 58, s * 1.01),
            np.asarray(_forehead((np.sin(np.radians(brow)) * 0.40 + x) / 2 + bend, 0.60, 0.085 + 0.012 * layer)),
            np.asarray(_forehead(x, y, 0.060 + 0.010 * layer)),
        ]  # fmt: skip
        out.append(lock(guide, width, 0.034, rows=15, root=0.75, full=0.52, taper=0.75, strip=2, across=6))
    # Thin strands in front, out of step with the locks.
    for root, brow, x, y in ((-9, -17, -0.085, 0.430), (20, 23, 0.112, 0.480), (-31, -45, -0.250, 0.430)):
        guide = [on_skull(root, 30, 1.05), on_skull(brow, 56, 1.052),
                 np.asarray(_forehead(x * 0.96 + 0.02, 0.60, 0.125)), np.asarray(_forehead(x, y, 0.085))]  # fmt: skip
        out.append(lock(guide, 0.040, 0.016, rows=9, root=0.4, full=0.4, strip=2))
    return out


def sides() -> Hair:
    """Long strands before the ears, on springs."""
    hair = Hair()
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        flip = np.array([sign, 1.0, 1.0])
        main = np.array([on_skull(52, 20, 1.02), on_skull(66, 52, 1.03), on_skull(74, 84, 1.0),
                         [0.405, 0.33, 0.155], [0.372, 0.12, 0.205], [0.350, -0.08, 0.235], [0.385, -0.30, 0.215],
                         [0.352, -0.44, 0.250]])  # fmt: skip
        chain = Chain(f"hairSide{side}", "head", metres(np.array([main[2], main[3], main[4], main[5], main[7]]) * flip))
        hair.chains.append(chain)
        hair.parts.append(lock(main * flip, 0.165, 0.042, 16, full=0.45, taper=0.9, chain=chain))
        inner = main + np.array([0.012, 0.0, -0.065])
        inner[-1] = [0.400, -0.22, 0.16]
        inner[-2] = [0.380, -0.10, 0.155]
        hair.parts.append(lock(inner * flip, 0.170, 0.040, 14, full=0.5, chain=chain))
        thin = np.array([on_skull(60, 60, 1.05), [0.418, 0.42, 0.19], [0.370, 0.18, 0.262], [0.335, 0.0, 0.285],
                         [0.355, -0.17, 0.270]])  # fmt: skip
        hair.parts.append(lock(thin * flip, 0.055, 0.02, 11, root=0.5, chain=chain))
        ear = np.array([on_skull(84, 24, 1.0), on_skull(90, 58, 1.01), on_skull(92, 90, 0.985), [0.405, 0.32, -0.03],
                        [0.375, 0.14, 0.0], [0.385, -0.02, -0.02]])  # fmt: skip
        hair.parts.append(lock(ear * flip, 0.24, 0.05, 12, root=0.7, full=0.6, strip=2))
    return hair


def crown() -> list[Part]:
    """Locks over the cap from the crown to where the tails are tied and to the nape."""
    out = []
    for k, azimuth in enumerate(np.linspace(-172, 172, 17)):
        if abs(azimuth) < 56:
            continue
        s = 1.0 + 0.012 * (k % 3)
        low = np.interp(abs(azimuth), [56, 90, 120, 180], [92, 100, 122, 128])
        guide = [on_skull(azimuth * 0.96, 6, s), on_skull(azimuth, 36, s * 1.008), on_skull(azimuth, 70, s * 1.008),
                 on_skull(azimuth * 1.01, low, s * 0.985)]  # fmt: skip
        out.append(lock(guide, 0.235, 0.036, 10, root=0.35, full=0.55, taper=0.45, strip=2))
    return out


def back() -> Hair:
    """The nape's hair down to the shoulders, on springs; outer and inner layer."""
    hair = Hair()
    spec = [(-148, 1), (-120, 0), (-98, 1), (98, 1), (120, 0), (148, 1), (176, 0), (-165, 2), (163, 2)]
    for k, (azimuth, layer) in enumerate(spec):
        a = np.radians(azimuth)
        side, rear = np.sin(a), np.cos(a)
        s = 0.99 + 0.014 * layer
        curl = 0.05 * (1 if k % 2 else -1)
        length = -0.42 - 0.10 * (k % 3)
        main = np.array([
            on_skull(azimuth, 40, s), on_skull(azimuth, 78, s), on_skull(azimuth, 108, s),
            [0.400 * side * s, 0.14, 0.42 * rear - 0.05], [0.375 * side, -0.12, 0.42 * rear - 0.05],
            [0.400 * side + curl * rear, (length - 0.12) / 2, 0.45 * rear - 0.05],
            [0.400 * side - curl * rear * 0.6, length, 0.42 * rear - 0.05],
        ])  # fmt: skip
        chain = Chain(f"hairBack{k + 1}x", "head", metres(main[[2, 3, 4, 6]]), stiffness=1.2)
        hair.chains.append(chain)
        hair.parts.append(lock(main, 0.275, 0.055, 13, root=0.8, full=0.55, taper=0.7, chain=chain))
    return hair


def tails() -> Hair:
    """Two tails, high at the sides, each of many S-curved locks around one axis of spring bones."""
    hair = Hair()
    axis = np.array([[0.400, 0.800, -0.120], [0.530, 0.850, -0.135], [0.655, 0.730, -0.150], [0.740, 0.40, -0.155],
                     [0.770, 0.00, -0.140], [0.740, -0.42, -0.115], [0.690, -0.82, -0.080],
                     [0.730, -1.22, -0.050]])  # fmt: skip
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        flip = np.array([sign, 1.0, 1.0])
        chain = Chain(f"hairTail{side}", "head", metres(axis[[0, 2, 3, 4, 5, 7]] * flip), 0.8, 0.4, 0.15, 0.03)
        hair.chains.append(chain)
        fat = np.array([0.012, 0.10, 0.130, 0.150, 0.145, 0.130, 0.090, 0.035])
        for k in range(9):
            turn = 2 * np.pi * k / 9 + 0.3
            wave = turn + np.array([0, 0.0, 0.05, 0.2, 0.42, 0.65, 0.9, 1.2]) * (1 if k % 2 else -0.5)
            away = (
                np.stack([np.cos(wave), 0.15 * np.sin(wave), np.sin(wave)], 1) * (fat * (1 if k % 3 else 0.82))[:, None]
            )
            guide = axis + away
            guide[-1] += np.array([0.06 * np.cos(turn * 2), 0.22 * ((k * 5) % 9) / 9, 0.05 * np.sin(turn)])
            core = axis - np.array([0.0, 0.0, 0.0])
            hair.parts.append(
                lock(guide * flip, 0.185 if k % 3 else 0.15, 0.055, 15, root=0.22, full=0.38, taper=0.62,
                     axis=core * flip, strip=1, chain=chain)
            )  # fmt: skip
    return hair


def make_hair() -> Hair:
    hair = Hair([cap(), *fringe(), *crown()])
    for group in (sides(), back(), tails()):
        hair.parts += group.parts
        hair.chains += group.chains
    return hair
