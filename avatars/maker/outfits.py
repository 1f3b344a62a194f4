"""Outfits, put together from the pieces of clothes. Metres."""

from __future__ import annotations

import numpy as np

from avatars.maker.atlas import region
from avatars.maker.body import arm_path, sleeve_weights, torso, torso_weights
from avatars.maker.clothes import (
    arm_ring,
    band,
    bodice,
    boot,
    bow,
    button,
    cloth,
    facing,
    leg_ring,
    pleated_skirt,
    puff_sleeve,
    sock,
    star,
    wrist_cuff,
)  # fmt: skip
from avatars.maker.curves import Monotone, smooth, spline
from avatars.maker.mesh import Part, grid, tube, unit
from avatars.maker.pieces import Pieces
from avatars.maker.skeleton import SHOULDER_X, head_point

COLLAR_END = Monotone((0.0, 1.112), (0.14, 1.118), (0.5, 1.165), (1.0, 1.192), (1.45, 1.195), (1.85, 1.180),
                      (2.1, 1.122), (2.4, 1.105), (np.pi, 1.102))  # fmt: skip
COLLAR_START = Monotone((0.0, 1.128), (0.10, 1.138), (0.55, 1.205), (0.95, 1.238), (1.3, 1.250), (np.pi, 1.2501))


def sailor_collar() -> Part:
    """Open in a V at the front, broad over the shoulders and the back; its stripes are painted."""
    theta = np.linspace(-np.pi, np.pi, 57)
    low, high = COLLAR_END(np.abs(theta)), COLLAR_START(np.abs(theta))
    t = np.array([0.0, 0.06, 0.16, 0.3, 0.45, 0.6, 0.75, 0.88, 0.97, 1.0, 1.0])
    y = high + (low - high) * t[:, None]
    off = np.array([0.008, 0.0125, 0.015, 0.0155, 0.0155, 0.0155, 0.0155, 0.016, 0.0165, 0.0145, 0.004])
    points = torso(theta[None], y, off[:, None]).reshape(-1, 3)
    u, v = np.meshgrid(0.5 + theta / (2 * np.pi), t)
    part = Part(points, grid(len(t), 57, flip=True), region("collar", u.ravel(), v.ravel()), torso_weights(points))
    return facing(part, np.array([0.0, 1.12, -0.01]))


def choker(colour: str) -> Part:
    points = torso(np.linspace(-np.pi, np.pi, 33)[None], np.array([1.262, 1.264, 1.274, 1.276])[:, None],
                   np.array([0.0, 0.002, 0.002, 0.0])[:, None]).reshape(-1, 3)  # fmt: skip
    return cloth(points, grid(4, 33), colour, {"neck": np.ones(len(points))})


def _stripe(high: float, low: float, colour: str) -> Part:
    theta = np.linspace(-1.0, 1.0, 25)
    points = torso(theta[None], np.array([high, low])[:, None], 0.0078).reshape(-1, 3)
    return facing(cloth(points, grid(2, 25, flip=True), colour, torso_weights(points)), np.array([0.0, 1.12, -0.01]))


def sailor() -> Pieces:
    """A white bodice with a sailor collar, puff sleeves, a pleated skirt, long socks, boots with heels, bows."""
    left = [*puff_sleeve("navy", "pink"), *wrist_cuff("navy", "white"), sock(), *boot(),
            leg_ring(np.array([0.574, 0.575, 0.588, 0.591, 0.590]), np.array([0.002, 0.0048, 0.0048, 0.0058, -0.002]),
                     "white")]  # fmt: skip
    out = Pieces([bodice(0.935), sailor_collar(), choker("black"), _stripe(1.2225, 1.2185, "navy"),
                  _stripe(1.2155, 1.2135, "navy")])  # fmt: skip
    out.parts.append(band(np.array([0.936, 0.937, 0.948, 0.958, 0.959]),
                          np.array([0.008, 0.0150, 0.0140, 0.0135, 0.004]), "navy"))  # fmt: skip
    out.parts.append(band(np.array([0.9445, 0.945, 0.949, 0.9495]), np.array([0.010, 0.0160, 0.0158, 0.010]), "gold"))
    out.parts += [button(torso(0.0, y, 0.0068), 0.0080) for y in (0.980, 1.010, 1.040)]
    out.parts += [*left, *[p.mirrored() for p in left]]
    out += pleated_skirt()
    out += bow(torso(0.0, 1.122, 0.016), 0.048, "upperChest", 1.45, 0.0, "bowChest")
    for sign in (1.0, -1.0):
        at = np.array(head_point(sign * 0.470, 0.850, -0.105)) + np.array([0.0, 0.0, 0.018])
        side = "Left" if sign > 0 else "Right"
        out += bow(at, 0.062, "head", 1.25, sign * 24, f"bowHair{side}")
        out.parts.append(
            star(at + np.array([0.004 * sign, 0.0, 0.016]), 0.014, np.array([sign * 0.4, 0.0, 1.0]), "head")
        )
    out.parts += [
        star(torso(0.0, 1.187, 0.008), 0.011, np.array([0, 0.3, 1.0]), "upperChest", "pink"),
        star(torso(0.0, 1.122, 0.016) + np.array([0, 0, 0.012]), 0.012, np.array([0, 0, 1.0]), "upperChest"),
        star(np.array([0.0, 1.2625, 0.0303]), 0.008, np.array([0.0, 0.1, 1.0]), "neck"),
    ]
    for x, y, z, size in ((0.318, 0.705, 0.410, 0.020), (0.362, 0.625, 0.372, 0.013)):
        out.parts.append(star(np.array(head_point(x, y, z)), size, np.array([0.75, 0.15, 0.8]), "head"))
    return out


def _jacket_shell() -> Part:
    """A cropped jacket, open in front; two stripes at its hem."""
    theta = np.linspace(0.34, 2 * np.pi - 0.34, 61)
    gape = np.abs((theta + np.pi) % (2 * np.pi) - np.pi)
    t = np.array([0.0, 0.0, 0.03, 0.12, 0.25, 0.4, 0.55, 0.7, 0.82, 0.92, 0.985, 1.0, 1.0])
    high = np.interp(gape, [0.34, 0.75, 1.2], [1.190, 1.232, 1.246])
    low = np.interp(gape, [0.34, 0.9, 2.2], [1.000, 1.020, 1.030])
    y = high + (low - high) * t[:, None]
    off = np.array([0.004, 0.011, 0.013, 0.014, 0.0155, 0.017, 0.019, 0.021, 0.022, 0.021, 0.0195, 0.0185, 0.008])
    loose = 0.010 * smooth(gape, 0.34, 0.60) + 0.004 * np.cos(theta * 9)[None] * smooth(t[:, None], 0.4, 1.0)
    points = torso(theta[None], y, off[:, None] - 0.002 + loose).reshape(-1, 3)
    u, v = np.meshgrid(theta / (2 * np.pi), t)
    part = Part(points, grid(len(t), 61, flip=True), region("collar", u.ravel(), v.ravel()), torso_weights(points))
    return facing(part, np.array([0.0, 1.12, -0.01]))


def _jacket_sleeve() -> list[Part]:
    """Her left one: wide, with folds at the elbow and a ribbed cuff."""
    x = SHOULDER_X + np.array(
        [-0.034, -0.028, -0.012, 0.010, 0.05, 0.10, 0.15, 0.19, 0.215, 0.24, 0.29, 0.34, 0.375, 0.39]
    )
    r = np.array(
        [0.012, 0.030, 0.044, 0.0500, 0.0500, 0.0465, 0.0430, 0.0400, 0.0395, 0.0415, 0.0440, 0.0440, 0.0370, 0.0300]
    )
    x, r = spline(np.stack([x, r], 1), 27).T
    points, tri, uv = tube(arm_path(x), np.stack([r, r], 1), 26)
    turn = uv[:, 0] * 2 * np.pi
    fold = (
        0.0030
        * np.cos(turn * 2 + points[:, 0] * 95)
        * smooth(points[:, 0], 0.20, 0.28)
        * smooth(points[:, 0], 0.49, 0.44)
    )
    points = points + unit(points - arm_path(points[:, 0])) * fold[:, None]
    points[:, 1] -= 0.007 * smooth(points[:, 0], 0.36, 0.43) * smooth(points[:, 0], 0.49, 0.46)
    weights = sleeve_weights(points)
    out = [Part(points, tri, region("sleeve", uv[:, 0], uv[:, 1]), weights)]
    x0 = SHOULDER_X + 0.384
    out.append(arm_ring(x0 + np.array([0.0, 0.001, 0.010, 0.026, 0.034, 0.033]),
                        np.array([0.026, 0.0310, 0.0275, 0.0262, 0.0270, 0.018]), "navy"))  # fmt: skip
    out.append(
        arm_ring(x0 + np.array([0.013, 0.0135, 0.0195, 0.020]), np.array([0.024, 0.0280, 0.0276, 0.024]), "pink")
    )
    x0 = SHOULDER_X + 0.075
    out.append(
        arm_ring(x0 + np.array([0.0, 0.0005, 0.010, 0.0105]), np.array([0.046, 0.0508, 0.0502, 0.046]), "navy", 26)
    )
    out.append(
        arm_ring(x0 + np.array([0.0145, 0.015, 0.019, 0.0195]), np.array([0.046, 0.0502, 0.0498, 0.046]), "pink", 26)
    )
    return out


def _hood() -> Part:
    """A hood that lies on the back."""
    t = np.linspace(-1, 1, 25)
    angle = t * np.radians(122)
    path = np.stack([0.085 * np.sin(angle), 1.236 - 0.020 * (1 - np.abs(t) ** 2) + 0.004 * np.cos(angle),
                     -0.022 - 0.066 * np.cos(angle)], 1)  # fmt: skip
    fat = 0.006 + 0.025 * (1 - np.abs(t) ** 3.0)
    points, tri, _ = tube(path, np.stack([fat * 0.9, fat * 1.15], 1), 14)
    return facing(cloth(points, tri, "white", {"upperChest": np.ones(len(points))}), path[12])


def _headphones() -> list[Part]:
    """Worn round the neck."""
    t = np.linspace(-1, 1, 29)
    angle = t * np.radians(140)
    path = np.stack([0.074 * np.sin(angle), 1.246 + 0.010 * np.cos(angle) - 0.012, -0.016 - 0.066 * np.cos(angle)], 1)
    ones = np.full(29, 0.0062)
    points, tri, _ = tube(path, np.stack([ones, ones * 1.5], 1), 10)
    out = [cloth(points, tri, "black", {"upperChest": np.ones(len(points))})]
    for sign in (1.0, -1.0):
        at = np.array([0.052 * sign, 1.226, 0.048])
        way = unit(np.array([0.55 * sign, 0.10, 0.95]))
        for along, size, colour in (
            ([-0.012, -0.011, 0.004, 0.005], [0.010, 0.0245, 0.0245, 0.012], "black"),
            ([0.003, 0.004, 0.011, 0.0125, 0.0125], [0.012, 0.0275, 0.0270, 0.0225, 0.001], "white"),
            ([0.0120, 0.0125, 0.0140, 0.0142], [0.012, 0.0150, 0.0140, 0.001], "pink"),
        ):  # fmt: skip
            points, tri, _ = tube(at + np.array(along)[:, None] * way, np.tile(np.array(size)[:, None], (1, 2)), 20)
            part = cloth(points, tri, colour, {"upperChest": np.ones(len(points))})
            out.append(facing(part, at))
    return out


def hooded_jacket() -> Pieces:
    """A dark top under a cropped hooded jacket, an uneven pleated skirt, long socks, flat shoes, headphones."""
    left = [*_jacket_sleeve(), sock(0.600), *boot(0.150, "pink", 0.012)]
    out = Pieces([bodice(0.935), _jacket_shell(), _hood(), *_headphones(), choker("navy")])
    out.parts.append(band(np.array([0.936, 0.937, 0.948, 0.958, 0.959]),
                          np.array([0.008, 0.0150, 0.0140, 0.0135, 0.004]), "black"))  # fmt: skip
    out.parts.append(button(torso(0.0, 0.948, 0.014), 0.0115))
    out.parts += [*left, *[p.mirrored() for p in left]]
    out += pleated_skirt(0.948, 0.722, 0.052, 24, "white", 0.030)
    out.parts.append(star(torso(0.0, 1.148, 0.009), 0.014, np.array([0, 0.2, 1.0]), "upperChest", "pink"))
    out += bow(np.array(head_point(0.402, -0.275, 0.325)), 0.024, "hairBraid4", 0.0, 30)
    return out


OUTFITS = {"sailor": sailor, "hooded_jacket": hooded_jacket}
