"""Her stage outfit: white jacket with a sailor collar, puff sleeves, pleated skirt, long socks, boots, bows. Metres."""

from __future__ import annotations

import numpy as np

from avatars.maker.atlas import CLOTH, cell
from avatars.maker.body import arm_path, arm_weights, leg_tube, leg_weights, torso, torso_weights
from avatars.maker.curves import F64, Monotone, smooth, spline
from avatars.maker.mesh import Part, grid, join, tube, unit, vertex_normals
from avatars.maker.skeleton import SHOULDER_X, WRIST_X, head_point


def cloth(points: F64, tri: np.ndarray, colour: str, weights: dict[str, F64]) -> Part:
    return Part(points, tri, cell(CLOTH, colour, len(points)), weights)


def _facing(part: Part, centre: F64) -> Part:
    """The same part with its triangles turned so that it faces away from ``centre``."""
    if (part.normals * (part.points - centre)).sum() < 0:
        part.triangles = part.triangles[:, ::-1].copy()
        part.normals = -part.normals
    return part


def _shell(y: F64, off: F64, colour: str) -> Part:
    theta = np.linspace(-np.pi, np.pi, 33)
    points = torso(theta[None], y[:, None], off[:, None]).reshape(-1, 3)
    return cloth(points, grid(len(y), 33), colour, torso_weights(points))


def jacket() -> list[Part]:
    y = np.array([0.915, 0.925, 0.945, 0.97, 1.0, 1.03, 1.06, 1.085, 1.105, 1.125, 1.15, 1.175, 1.195, 1.21, 1.224,
                  1.236, 1.246])  # fmt: skip
    flare = np.full(len(y), 0.006)
    parts = [_shell(y, flare, "white")]
    belt = np.array([0.922, 0.924, 0.947, 0.949])
    parts.append(_shell(belt, np.array([0.008, 0.0165, 0.0145, 0.004]), "navy"))
    # A band down the front with three buttons.
    rows = np.linspace(0.955, 1.115, 10)
    edge = np.array([-0.16, -0.08, 0.0, 0.08, 0.16])
    points = torso(edge[None] * 0.55, rows[:, None], 0.0085).reshape(-1, 3)
    parts.append(cloth(points, grid(10, 5), "cream", torso_weights(points)))
    for y0 in (0.975, 1.012, 1.049):
        parts.append(_button(torso(0.0, y0, 0.0085), 0.0095))
    return parts


def _button(at: F64, radius: float) -> Part:
    angle = np.linspace(0, 2 * np.pi, 13)
    rows = [(1.0, 0.0), (0.92, 0.004), (0.45, 0.006), (0.0, 0.006)]
    points = np.concatenate(
        [at + np.stack([radius * r * np.cos(angle), radius * r * np.sin(angle), np.full(13, d)], 1) for r, d in rows]
    )
    return _facing(cloth(points, grid(4, 13), "gold", torso_weights(points)), at - [0, 0, 0.05])


COLLAR_END = Monotone((0.0, 1.112), (0.14, 1.118), (0.5, 1.165), (1.0, 1.194), (1.45, 1.197), (1.85, 1.180),
                      (2.1, 1.122), (2.4, 1.105), (np.pi, 1.102))  # fmt: skip
COLLAR_START = Monotone((0.0, 1.128), (0.10, 1.138), (0.55, 1.205), (0.95, 1.238), (1.3, 1.250), (np.pi, 1.2501))


def _collar_rows(start: float, end: float, rows: int, off: float, raised: float) -> F64:
    theta = np.linspace(-np.pi, np.pi, 65)
    low = COLLAR_END(np.abs(theta))
    t = np.linspace(start, end, rows)[:, None]
    # Open in a V at the front: there the collar begins lower.
    high = COLLAR_START(np.abs(theta))
    y = high + (low - high) * t
    return torso(theta[None], y, off + raised * smooth(t, 0.0, 0.3)).reshape(-1, 3)


def collar() -> list[Part]:
    parts = []
    points = _collar_rows(0.0, 1.0, 9, 0.010, 0.006)
    parts.append(cloth(points, grid(9, 65, flip=True), "navy", torso_weights(points)))
    for a, b in ((0.80, 0.86), (0.905, 0.935)):
        points = _collar_rows(a, b, 2, 0.0175, 0.0)
        parts.append(cloth(points, grid(2, 65, flip=True), "white", torso_weights(points)))
    # Two stripes and a star on the white inside the V.
    theta = np.linspace(-1.0, 1.0, 25)
    for high, low in ((1.2225, 1.2185), (1.2155, 1.2135)):
        points = torso(theta[None], np.array([high, low])[:, None], 0.0075).reshape(-1, 3)
        parts.append(cloth(points, grid(2, 25, flip=True), "navy", torso_weights(points)))
    # A choker with a gold star.
    theta = np.linspace(-np.pi, np.pi, 33)
    y = np.array([1.262, 1.264, 1.274, 1.276])
    points = torso(theta[None], y[:, None], np.array([0.000, 0.002, 0.002, 0.000])[:, None]).reshape(-1, 3)
    parts.append(cloth(points, grid(4, 33), "black", {"neck": np.ones(len(points))}))
    return [_facing(p, np.array([0.0, 1.12, -0.01])) for p in parts]


def left_sleeve() -> list[Part]:
    x = SHOULDER_X + np.array([-0.034, -0.030, -0.018, 0.0, 0.020, 0.042, 0.062, 0.080, 0.092, 0.098])
    r = np.array([0.010, 0.026, 0.043, 0.056, 0.0635, 0.0655, 0.060, 0.050, 0.041, 0.039])
    x, r = spline(np.stack([x, r], 1), 13).T
    points, tri, uv = tube(arm_path(x), np.stack([r, r], 1), 48)
    fold = np.cos(uv[:, 0] * 2 * np.pi * 12) * 0.0026 * smooth(uv[:, 1], 0.25, 0.7) * smooth(uv[:, 1], 1.0, 0.85)
    away = points - arm_path(points[:, 0])
    points = points + unit(away) * fold[:, None]
    weights = arm_weights(points)
    shoulder = 0.30 * smooth(points[:, 0], SHOULDER_X + 0.02, SHOULDER_X - 0.03)
    weights["leftUpperArm"] = weights["leftUpperArm"] * (1 - shoulder)
    weights["leftShoulder"] = shoulder
    out = [cloth(points, tri, "white", weights)]
    x = SHOULDER_X + np.array([0.092, 0.093, 0.110, 0.118, 0.117])
    r = np.array([0.040, 0.0455, 0.0440, 0.0450, 0.038])
    points, tri, _ = tube(arm_path(x), np.stack([r, r], 1), 18)
    out.append(cloth(points, tri, "navy", arm_weights(points)))
    x = SHOULDER_X + np.array([0.1005, 0.101, 0.106, 0.1065])
    points, tri, _ = tube(arm_path(x), np.tile([[0.043], [0.0465], [0.0462], [0.043]], (1, 2)), 18)
    out.append(cloth(points, tri, "pink", arm_weights(points)))
    x = WRIST_X + np.array([-0.052, -0.051, -0.030, -0.012, -0.004, -0.005])
    r = np.array([0.022, 0.0275, 0.0265, 0.0290, 0.0315, 0.022])
    points, tri, _ = tube(arm_path(x), np.stack([r, r], 1), 14)
    out.append(cloth(points, tri, "navy", arm_weights(points)))
    x = WRIST_X + np.array([-0.046, -0.0455, -0.039, -0.0385])
    points, tri, _ = tube(arm_path(x), np.tile([[0.026], [0.0288], [0.0286], [0.026]], (1, 2)), 14)
    out.append(cloth(points, tri, "white", arm_weights(points)))
    return out


def skirt() -> list[Part]:
    """Knife pleats: a saw along the hem that fades out at the waist; white over a pink lining frill."""
    parts = []
    pleats, per = 22, 3
    n = pleats * per + 1
    # Three points a pleat: where the saw turns, and just before it falls back.
    phase = np.array([0.0, 0.62, 0.97])[np.arange(n) % per]
    theta = -np.pi + 2 * np.pi * (np.arange(n) // per + phase) / pleats
    saw = np.interp(phase, [0, 0.62, 1.0], [-1.0, 1.0, -1.0])
    for low, wide, colour, cut in ((0.690, 0.078, "navy", (0.0, 1.0)), (0.690, 0.079, "white", (0.84, 0.89)),
                                   (0.672, 0.068, "pink", (0.75, 1.0))):  # fmt: skip
        t = np.linspace(*cut, 7 if cut[0] == 0 else 3)
        y = 0.940 + (low - 0.940) * t
        flare = 0.0115 + wide * (1 - (1 - t) ** 1.5) * 0.93
        base = torso(theta[None], np.maximum(y, 0.80)[:, None], flare[:, None])
        base[..., 1] = y[:, None]
        out = unit(np.stack([base[..., 0], np.zeros_like(base[..., 0]), base[..., 2]], -1))
        base = base + out * (saw * 0.0095)[None, :, None] * (t**0.7)[:, None, None]
        if colour == "white":
            base = base + out * 0.0012
        points = base.reshape(-1, 3)
        part = cloth(points, grid(len(t), n, flip=True), colour, _skirt_weights(points))
        # The pictures of a pleat lie in the upper half of the texture; the saw's fall is its fold.
        part.uv = np.tile(
            np.stack(
                [
                    0.117 - 0.110 * np.interp(phase, [0, 0.62, 1.0], [0.0, 1.0, 0.0]),
                    np.full(n, {"navy": 0.06, "white": 0.19, "pink": 0.31}[colour]),
                ],
                1,
            ),
            (len(t), 1),
        )
        parts.append(part)
    return [_facing(p, np.array([0.0, 0.9, -0.01])) for p in parts]


def _skirt_weights(points: F64) -> dict[str, F64]:
    legs = 0.35 * smooth(points[:, 1], 0.86, 0.70)
    left = smooth(points[:, 0], -0.08, 0.08)
    return {"hips": 1 - legs, "leftUpperLeg": legs * left, "rightUpperLeg": legs * (1 - left)}


def left_leg() -> list[Part]:
    out = []
    y = np.concatenate([np.linspace(0.10, 0.38, 7), np.linspace(0.40, 0.47, 5), np.linspace(0.50, 0.585, 3)])
    points, tri, _ = leg_tube(y, 0.0025)
    out.append(cloth(points, tri, "sock", leg_weights(points)))
    y = np.array([0.560, 0.561, 0.586, 0.588])
    points, tri, _ = leg_tube(y, np.array([0.002, 0.006, 0.0065, -0.002]))
    out.append(cloth(points, tri, "white", leg_weights(points)))
    # Boot: shaft, then the foot along z.
    y = np.array([0.055, 0.09, 0.12, 0.16, 0.20, 0.235, 0.250, 0.252])
    points, tri, _ = leg_tube(y, np.array([0.006, 0.006, 0.008, 0.008, 0.008, 0.009, 0.011, 0.001]))
    out.append(cloth(points, tri, "boot", leg_weights(points)))
    y = np.array([0.228, 0.229, 0.246, 0.247])
    points, tri, _ = leg_tube(y, np.array([0.008, 0.0118, 0.0128, 0.009]))
    out.append(cloth(points, tri, "pink", leg_weights(points)))
    z = np.array([-0.056, -0.052, -0.038, -0.012, 0.020, 0.055, 0.085, 0.108, 0.122, 0.127])
    tall = np.array([0.010, 0.026, 0.040, 0.046, 0.040, 0.031, 0.027, 0.023, 0.015, 0.004])
    wide = np.array([0.010, 0.024, 0.033, 0.036, 0.035, 0.038, 0.040, 0.036, 0.024, 0.006])
    path = np.stack([np.interp(z, [-0.05, 0.12], [0.075, 0.083]), 0.022 + tall * 0.92, z], 1)
    points, tri, _ = tube(path, np.stack([wide, tall], 1), 18)
    points[:, 1] = np.maximum(points[:, 1], 0.016)
    foot = smooth(points[:, 2], 0.06, 0.10)
    weights = {"leftFoot": 1 - foot, "leftToes": foot}
    out.append(cloth(points, tri, "boot", weights))
    sole, tri, _ = tube(path * [1, 0, 1] + [0, 0.009, 0], np.stack([wide + 0.001, np.full(len(z), 0.007)], 1), 18)
    out.append(cloth(sole, tri, "sole", weights))
    return out


def bow(at: F64, size: float, weights: str, colour: str = "pink", length: float = 1.35, turn: float = 0.0) -> Part:
    """A ribbon: two loops, a knot and two ends of a ``length``, facing +Z; ``turn`` degrees about the vertical."""
    parts = []
    for sign in (1.0, -1.0):
        t = np.linspace(0, 1, 7)
        path = np.stack([sign * t * 1.0, 0.10 * np.sin(np.pi * t * 0.8), 0.05 * np.sin(np.pi * t)], 1)
        tall = np.interp(t, [0, 0.15, 0.6, 0.9, 1.0], [0.10, 0.20, 0.44, 0.42, 0.30])
        deep = np.interp(t, [0, 0.3, 0.7, 1.0], [0.08, 0.15, 0.12, 0.02])
        points, tri, _ = tube(path, np.stack([tall, deep], 1), 10, up=(0, 0, 1))
        parts.append((points, tri))
        if length:
            path = np.stack([sign * (0.10 + 0.42 * t), -length * t, 0.02 + 0.04 * np.sin(np.pi * t)], 1)
            wide = np.interp(t, [0, 0.8, 1.0], [0.10, 0.24, 0.10])
            points, tri, _ = tube(path, np.stack([wide, np.full(7, 0.03)], 1), 6, up=(0, 0, 1))
            parts.append((points, tri))
    y = np.linspace(-0.2, 0.2, 5)
    knot = np.stack([0 * y, y, np.full(5, 0.06)], 1)
    points, tri, _ = tube(
        knot, np.stack([[0.05, 0.14, 0.16, 0.14, 0.05], [0.05, 0.11, 0.12, 0.11, 0.05]], 1), 10, (0, 0, 1)
    )
    parts.append((points, tri))
    made = []
    c, s = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    for points, tri in parts:
        p = points * size @ np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]]) + at
        part = cloth(p, tri, colour, {weights: np.ones(len(p))})
        if (part.normals * (p - p.mean(0))).sum() < 0:
            part.triangles = tri[:, ::-1].copy()
            part.normals = vertex_normals(p, part.triangles)
        made.append(part)
    return join(made)


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


def accessories() -> list[Part]:
    out = [
        bow(torso(0.0, 1.122, 0.016), 0.048, "upperChest"),
        star(torso(0.0, 1.187, 0.008), 0.012, np.array([0, 0.3, 1.0]), "upperChest", "pink"),
        star(torso(0.0, 1.122, 0.016) + np.array([0, 0, 0.012]), 0.013, np.array([0, 0, 1.0]), "upperChest"),
    ]
    for sign in (1.0, -1.0):
        at = np.array(head_point(sign * 0.475, 0.845, -0.105))
        out.append(bow(at + np.array([0, 0.0, 0.018]), 0.060, "head", "pink", 0.95, sign * 24))
        out.append(star(at + np.array([0.004 * sign, 0.0, 0.034]), 0.015, np.array([sign * 0.4, 0.0, 1.0]), "head"))
    for x, y, z, size in ((0.318, 0.705, 0.400, 0.020), (0.362, 0.625, 0.362, 0.013)):
        out.append(star(np.array(head_point(x, y, z)), size, np.array([0.75, 0.15, 0.8]), "head"))
    out.append(star(np.array([0.0, 1.262, 0.034]), 0.008, np.array([0.0, 0.1, 1.0]), "neck"))
    return out


def make_clothes() -> list[Part]:
    left = [*left_sleeve(), *left_leg()]
    return [*jacket(), *collar(), *skirt(), *left, *[p.mirrored() for p in left], *accessories()]
