"""Pieces that outfits are sewn from: bodice, sleeves, pleated skirts, socks, boots, bows, stars. Metres."""

from __future__ import annotations

import numpy as np

from avatars.maker.atlas import CLOTH, PLEATS, cell, region
from avatars.maker.body import arm_path, arm_weights, leg_tube, leg_weights, sleeve_weights, torso, torso_weights
from avatars.maker.curves import F64, smooth, spline
from avatars.maker.mesh import Part, grid, tube, unit, vertex_normals
from avatars.maker.pieces import Chain, Pieces, weights_along
from avatars.maker.skeleton import SHOULDER_X, WRIST_X


def cloth(points: F64, tri: np.ndarray, colour: str, weights: dict[str, F64]) -> Part:
    """A part of one plain colour."""
    return Part(points, tri, cell(CLOTH, colour, len(points)), weights)


def facing(part: Part, centre: F64) -> Part:
    """The same part with its triangles turned so that it faces away from ``centre``."""
    if (part.normals * (part.points - centre)).sum() < 0:
        part.triangles = part.triangles[:, ::-1].copy()
        part.normals = -part.normals
    return part


def band(y: F64, off: F64, colour: str, columns: int = 41) -> Part:
    """A ring round the torso through heights ``y``, ``off`` metres from its surface."""
    theta = np.linspace(-np.pi, np.pi, columns)
    points = torso(theta[None], y[:, None], off[:, None]).reshape(-1, 3)
    return cloth(points, grid(len(y), columns), colour, torso_weights(points))


def bodice(low: float = 0.915, off: float = 0.006) -> Part:
    """The painted shell of the torso, from the waist to the neck."""
    y = np.array([low, 0.93, 0.945, 0.96, 0.98, 1.0, 1.025, 1.05, 1.07, 1.088, 1.105, 1.125, 1.15, 1.175, 1.195, 1.21,
                  1.224, 1.236, 1.246])  # fmt: skip
    y = np.concatenate([[low], y[y > low + 0.004]])
    theta = np.linspace(-np.pi, np.pi, 41)
    points = torso(theta[None], y[:, None], off).reshape(-1, 3)
    u, v = np.meshgrid(0.5 + theta / (2 * np.pi), (1.25 - y) / 0.34)
    return Part(points, grid(len(y), 41), region("bodice", u.ravel(), v.ravel()), torso_weights(points))


def button(at: F64, radius: float, colour: str = "gold") -> Part:
    angle = np.linspace(0, 2 * np.pi, 13)
    rows = [(1.0, 0.0), (0.92, 0.004), (0.45, 0.006), (0.0, 0.006)]
    points = np.concatenate(
        [at + np.stack([radius * r * np.cos(angle), radius * r * np.sin(angle), np.full(13, d)], 1) for r, d in rows]
    )
    return facing(cloth(points, grid(4, 13), colour, torso_weights(points)), at - [0, 0, 0.05])


def arm_ring(x: F64, r: F64, colour: str, around: int = 20) -> Part:
    """A band round her left arm."""
    points, tri, _ = tube(arm_path(x), np.stack([r, r], 1), around)
    return cloth(points, tri, colour, arm_weights(points))


def puff_sleeve(cuff: str, trim: str) -> list[Part]:
    """Her left one: gathered at the shoulder and above a cuff."""
    x = SHOULDER_X + np.array([-0.034, -0.030, -0.018, 0.0, 0.020, 0.042, 0.064, 0.082, 0.093, 0.098])
    r = np.array([0.010, 0.026, 0.041, 0.053, 0.0615, 0.0640, 0.0590, 0.0490, 0.0400, 0.0375])
    x, r = spline(np.stack([x, r], 1), 13).T
    points, tri, uv = tube(arm_path(x), np.stack([r, r], 1), 36)
    wave = np.cos(uv[:, 0] * 2 * np.pi * 13) + 0.6 * np.cos(uv[:, 0] * 2 * np.pi * 8 + 1.0)
    fold = wave * 0.0022 * smooth(uv[:, 1], 0.20, 0.7) * smooth(uv[:, 1], 1.0, 0.85)
    points = points + unit(points - arm_path(points[:, 0])) * fold[:, None]
    # A puff hangs: fuller below.
    points[:, 1] -= 0.006 * smooth(uv[:, 1], 0.3, 0.75) * smooth(uv[:, 1], 1.0, 0.85)
    weights = sleeve_weights(points)
    out = [Part(points, tri, region("sleeve", uv[:, 0], uv[:, 1]), weights)]
    x0 = SHOULDER_X + 0.092
    out.append(arm_ring(x0 + np.array([0.0, 0.001, 0.009, 0.018, 0.0255, 0.0245]),
                        np.array([0.038, 0.0435, 0.0425, 0.0425, 0.0440, 0.036]), cuff))  # fmt: skip
    out.append(arm_ring(x0 + np.array([0.0095, 0.010, 0.0150, 0.0155]), np.array([0.041, 0.0446, 0.0446, 0.041]), trim))
    return out


def wrist_cuff(colour: str, trim: str) -> list[Part]:
    x = WRIST_X + np.array([-0.055, -0.054, -0.032, -0.012, -0.002, -0.003])
    out = [arm_ring(x, np.array([0.019, 0.0255, 0.0245, 0.0275, 0.0305, 0.020]), colour, 18)]
    x = WRIST_X + np.array([-0.048, -0.0475, -0.041, -0.0405])
    out.append(arm_ring(x, np.array([0.023, 0.0268, 0.0264, 0.023]), trim, 18))
    return out


def pleated_skirt(
    waist: float = 0.952, hem: float = 0.712, flare: float = 0.060, pleats: int = 24, frill: str | None = "pink",
    turn: float = 0.0,
) -> Pieces:  # fmt: skip
    """Knife pleats: a saw along the hem that fades out at the waist, over a frill; eight chains swing it.

    ``turn``: how much lower the hem is at her left than at her right, metres."""
    out = Pieces()
    # Three points a pleat: where the saw turns, and just before it falls back. The picture shows PLEATS pleats, so
    # every so many the column is doubled.
    pleats -= pleats % PLEATS
    once = np.append((np.array([0.0, 0.62, 0.97]) + np.arange(PLEATS)[:, None]).ravel(), PLEATS)
    local = np.tile(once, pleats // PLEATS)
    at = np.concatenate([once + start for start in range(0, pleats, PLEATS)])
    n, theta, phase = len(at), -np.pi + 2 * np.pi * at / pleats, local % 1.0
    saw = np.interp(phase, [0, 0.62, 1.0], [-1.0, 1.0, -1.0])
    chains = []
    for k in range(8):
        angle = 2 * np.pi * k / 8
        t = np.array([0.18, 0.58, 1.0])
        line = _skirt_points(np.full(3, angle), t, waist, hem, flare, turn)[np.arange(3), np.arange(3)]
        chains.append(Chain(f"skirt{k + 1}x", "hips", line, 1.6, 0.45, 0.05, 0.012, "skirt", ("legs",)))
    out.chains = chains
    layers = [("skirt", 0.0, 1.0, 0.0, 7), *([(frill, 0.72, 1.050, -0.018, 3)] if frill else [])]
    for colour, start, end, off, rows in layers:
        t = np.linspace(start, end, rows)
        base = _skirt_points(theta, t, waist, hem, flare, turn)
        out_way = unit(base * [1.0, 0.0, 1.0])
        ruffle = saw * 0.0085 if colour == "skirt" else 0.004 * np.cos(theta * 30)
        base = base + out_way * (ruffle[None, :] * (t**0.7)[:, None] + off)[..., None]
        points = base.reshape(-1, 3)
        part = cloth(
            points, _real(grid(rows, n, flip=True), points), "pink", _skirt_weights(points, chains, waist, hem)
        )
        if colour == "skirt":
            part.uv = region("skirt", np.tile(local / PLEATS, rows), np.repeat(t, n))
        else:
            part.uv = cell(CLOTH, colour, len(points))
        out.parts.append(facing(part, np.array([0.0, 0.9, -0.01])))
    return out


def _real(triangles: np.ndarray, points: F64) -> np.ndarray:
    """Without the triangles that have no area."""
    a, b, c = points[triangles].transpose(1, 0, 2)
    out: np.ndarray = triangles[np.linalg.norm(np.cross(b - a, c - a), axis=1) > 1e-10]
    return out


def _skirt_points(theta: F64, t: F64, waist: float, hem: float, flare: float, turn: float) -> F64:
    """(len(t), len(theta), 3): the skirt's middle surface."""
    low = hem - turn * np.sin(theta)
    y = waist + (low[None] - waist) * t[:, None]
    off = 0.009 + flare * (0.35 * t + 0.65 * t**1.3)
    wave = 0.012 * np.cos(theta * 7 + 0.6)[None] * (t**2)[:, None]
    base = torso(theta[None], np.maximum(y, 0.80), off[:, None] + wave)
    base[..., 1] = y
    return base


def _skirt_weights(points: F64, chains: list[Chain], waist: float, hem: float) -> dict[str, F64]:
    round_ = np.arctan2(points[:, 0], points[:, 2]) / (2 * np.pi) * len(chains)
    down = (waist - points[:, 1]) / (waist - hem)
    hips = smooth(down, 0.40, 0.06)
    low = smooth(down, 0.40, 0.85)
    out = {"hips": hips}
    for k, chain in enumerate(chains):
        near = np.abs((round_ - k + len(chains) / 2) % len(chains) - len(chains) / 2)
        share = np.clip(1 - near, 0, 1) * (1 - hips)
        out[chain.bones[0]] = share * (1 - low)
        out[chain.bones[1]] = share * low
    return out


def sock(top: float = 0.585, low: float = 0.10) -> Part:
    """A painted sock or legging on her left leg."""
    y = np.concatenate([np.linspace(low, 0.38, 8), np.linspace(0.395, 0.47, 6), np.linspace(0.50, top, 5)])
    points, tri, uv = leg_tube(y, np.interp(y, [low, top - 0.03, top], [0.002, 0.002, 0.0035]), 18)
    return Part(points, tri, region("sock", uv[:, 0], (top - points[:, 1]) / (top - low)), leg_weights(points))


def leg_ring(y: F64, off: F64, colour: str) -> Part:
    points, tri, _ = leg_tube(y, off, 18)
    return cloth(points, tri, colour, leg_weights(points))


def boot(top: float = 0.262, cuff: str | None = "pink", heel: float = 0.030) -> list[Part]:
    """Her left boot: shaft, foot, sole and heel. With ``heel`` 0.012 it is a flat shoe."""
    out = []
    y = np.array([0.075, 0.092, 0.110, 0.135, 0.165, 0.20, top - 0.020, top - 0.004, top, top - 0.001])
    y = np.unique(np.minimum(y, top))[:-1] if top < 0.2 else y
    off = np.interp(y, [0.075, 0.10, 0.14, top - 0.02, top], [0.006, 0.007, 0.0065, 0.0075, 0.0095])
    off[-1] = 0.0005
    points, tri, uv = leg_tube(y, off, 18)
    v = np.clip((top - points[:, 1]) / (top - 0.075), 0, 1) * 0.48
    out.append(Part(points, tri, region("boot", uv[:, 0], v), leg_weights(points)))
    if cuff:
        rows = np.array([top - 0.030, top - 0.029, top - 0.004, top + 0.002, top + 0.001])
        out.append(leg_ring(rows, np.array([0.007, 0.0125, 0.0135, 0.0145, 0.006]), cuff))
    z = np.array([-0.0600, -0.0575, -0.048, -0.030, -0.008, 0.014, 0.036, 0.058, 0.078, 0.094, 0.106, 0.1125])
    high = np.array([0.070, 0.084, 0.100, 0.110, 0.106, 0.092, 0.076, 0.062, 0.053, 0.045, 0.035, 0.027])
    floor = (
        heel + 0.004 - heel * smooth(z, -0.030, 0.050) + 0.008 * smooth(z, 0.03, 0.06) + 0.006 * smooth(z, 0.09, 0.12)
    )
    high = np.maximum(high - 0.030 + heel, floor + 0.012)
    wide = np.array([0.010, 0.0190, 0.0265, 0.0295, 0.0290, 0.0290, 0.0305, 0.0330, 0.0335, 0.0300, 0.0210, 0.0080])
    x = np.interp(z, [-0.05, 0.05, 0.12], [0.0650, 0.0690, 0.0705])
    path = np.stack([x, (high + floor) / 2, z], 1)
    points, tri, uv = tube(path, np.stack([wide, (high - floor) / 2], 1), 16)
    foot = smooth(points[:, 2], 0.045, 0.090)
    weights = {"leftFoot": 1 - foot, "leftToes": foot}
    out.append(Part(points, tri, region("boot", uv[:, 0], 0.52 + 0.47 * uv[:, 1]), weights))
    under = np.stack([x, floor - 0.002, z], 1)
    points, tri, _ = tube(under, np.stack([wide + 0.0012, np.full(len(z), 0.0065)], 1), 14)
    points[:, 1] = np.maximum(points[:, 1], 0.0)
    foot = smooth(points[:, 2], 0.045, 0.090)
    out.append(cloth(points, tri, "sole", {"leftFoot": 1 - foot, "leftToes": foot}))
    if heel > 0.02:
        y = np.array([0.0, 0.001, 0.010, heel, heel + 0.003])
        size = np.array([0.010, 0.0185, 0.0180, 0.0215, 0.010])
        points, tri, _ = tube(
            np.stack([np.full(5, 0.0655), y, np.full(5, -0.036)], 1), np.stack([size, size * 1.05], 1), 14, (0, 0, 1)
        )
        out.append(cloth(points, tri, "sole", {"leftFoot": np.ones(len(points))}))
    return out


def bow(at: F64, size: float, bone: str, length: float = 1.35, turn: float = 0.0, chain: str = "") -> Pieces:
    """A ribbon: two loops, a knot and two ends of a ``length``, facing +Z; ``turn`` degrees about the vertical.

    With a name for a ``chain`` its ends swing."""
    out = Pieces()
    c, s = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    turned = np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])
    made: list[tuple[F64, np.ndarray, F64, Chain | None]] = []
    for sign in (1.0, -1.0):
        t = np.linspace(0, 1, 12)
        path = np.stack([sign * t, 0.10 * np.sin(np.pi * t * 0.8) + 0.10 * t, 0.07 * np.sin(np.pi * t)], 1)
        tall = np.interp(t, [0, 0.12, 0.35, 0.62, 0.82, 0.94, 1.0], [0.09, 0.16, 0.33, 0.45, 0.45, 0.36, 0.12])
        deep = np.interp(t, [0, 0.3, 0.7, 0.92, 1.0], [0.07, 0.17, 0.17, 0.10, 0.02])
        points, tri, uv = tube(path, np.stack([tall, deep], 1), 14, up=(0, 0, 1))
        made.append((points, tri, np.stack([uv[:, 1], _edge(uv[:, 0])], 1), None))
        if length:
            path = np.stack([sign * (0.08 + 0.40 * t + 0.06 * np.sin(np.pi * 2 * t)), -length * t,
                             0.02 + 0.07 * np.sin(np.pi * 1.6 * t)], 1)  # fmt: skip
            wide = np.interp(t, [0, 0.25, 0.85, 1.0], [0.08, 0.15, 0.23, 0.245])
            points, tri, uv = tube(path, np.stack([wide, np.full(12, 0.018)], 1), 8, up=(0, 0, 1))
            # The end is cut to a notch.
            across = np.abs(np.cos(uv[:, 0] * 2 * np.pi))
            points[:, 1] += 0.17 * (1 - across) * (uv[:, 1] > 0.999)
            ends = None
            if chain:
                side = "Left" if sign > 0 else "Right"
                line = path[[0, 4, 8, 11]] * size @ turned + at
                ends = Chain(f"{chain}{side}", bone, line, 0.9, 0.45, 0.06, 0.006, "accents", ("body",))
                out.chains.append(ends)
            made.append((points, tri, np.stack([0.25 + 0.5 * uv[:, 1], _edge(uv[:, 0])], 1), ends))
    y = np.linspace(-0.2, 0.2, 7)
    knot = np.stack([0 * y, y, np.full(7, 0.07)], 1)
    r = np.array([0.03, 0.11, 0.145, 0.15, 0.145, 0.11, 0.03])
    points, tri, uv = tube(knot, np.stack([r, r * 0.8], 1), 12, (0, 0, 1))
    made.append((points, tri, np.stack([np.full(len(uv), 0.62), uv[:, 1]], 1), None))
    for points, tri, uv, ends in made:
        p = points * size @ turned + at
        part = Part(p, tri, region("bow", uv[:, 0], uv[:, 1]), weights_along(p, ends, bone))
        if (part.normals * (p - p.mean(0))).sum() < 0:
            part.triangles = tri[:, ::-1].copy()
            part.normals = vertex_normals(p, part.triangles)
        out.parts.append(part)
    return out


def _edge(u: F64) -> F64:
    """Round a flat tube to across it: 0 at one edge, 1 at the other."""
    out: F64 = 0.5 - 0.5 * np.cos(u * 2 * np.pi)
    return out


def star(at: F64, size: float, out: F64, bone: str, colour: str = "gold") -> Part:
    """A five-pointed star, a little raised, facing ``out``."""
    out = unit(np.asarray(out, np.float64))
    right = unit(np.cross([0.0, 1.0, 0.0], out))
    up = np.cross(out, right)
    angle = np.pi / 2 + np.arange(10) * np.pi / 5
    r = np.where(np.arange(10) % 2 == 0, 1.0, 0.48) * size
    rim = at + (r * np.cos(angle))[:, None] * right + (r * np.sin(angle))[:, None] * up
    points = np.concatenate([rim, [at + out * size * 0.30], rim - out * size * 0.25])
    a = np.arange(10)
    b = (a + 1) % 10
    tri = np.concatenate(
        [np.stack([a, b, np.full(10, 10)], 1), np.stack([a + 11, b + 11, b], 1), np.stack([a + 11, b, a], 1)]
    )
    return cloth(points, tri, colour, {bone: np.ones(len(points))})
