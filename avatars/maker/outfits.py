"""Outfits, put together from the pieces of clothes. Metres."""

from __future__ import annotations

import numpy as np

from avatars.maker.atlas import region
from avatars.maker.body import torso, torso_weights
from avatars.maker.clothes import (
    band, bodice, boot, bow, button, cloth, facing, leg_ring, pleated_skirt, puff_sleeve, sock, star, wrist_cuff,
)  # fmt: skip
from avatars.maker.curves import Monotone
from avatars.maker.mesh import Part, grid
from avatars.maker.pieces import Pieces
from avatars.maker.skeleton import head_point

COLLAR_END = Monotone((0.0, 1.112), (0.14, 1.118), (0.5, 1.165), (1.0, 1.192), (1.45, 1.195), (1.85, 1.180),
                      (2.1, 1.122), (2.4, 1.105), (np.pi, 1.102))  # fmt: skip
COLLAR_START = Monotone((0.0, 1.128), (0.10, 1.138), (0.55, 1.205), (0.95, 1.238), (1.3, 1.250), (np.pi, 1.2501))


def sailor_collar() -> Part:
    """Open in a V at the front, broad over the shoulders and the back; its stripes are painted."""
    theta = np.linspace(-np.pi, np.pi, 81)
    low, high = COLLAR_END(np.abs(theta)), COLLAR_START(np.abs(theta))
    t = np.array([0.0, 0.06, 0.16, 0.3, 0.45, 0.6, 0.75, 0.88, 0.97, 1.0, 1.0])
    y = high + (low - high) * t[:, None]
    off = np.array([0.008, 0.0125, 0.015, 0.0155, 0.0155, 0.0155, 0.0155, 0.016, 0.0165, 0.0145, 0.004])
    points = torso(theta[None], y, off[:, None]).reshape(-1, 3)
    u, v = np.meshgrid(0.5 + theta / (2 * np.pi), t)
    part = Part(points, grid(len(t), 81, flip=True), region("collar", u.ravel(), v.ravel()), torso_weights(points))
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
            leg_ring(np.array([0.568, 0.569, 0.588, 0.593, 0.592]), np.array([0.002, 0.006, 0.0065, 0.0085, -0.002]),
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
        at = np.array(head_point(sign * 0.470, 0.850, -0.105)) + [0, 0.0, 0.018]
        side = "Left" if sign > 0 else "Right"
        out += bow(at, 0.062, "head", 1.25, sign * 24, f"bowHair{side}")
        out.parts.append(star(at + np.array([0.004 * sign, 0.0, 0.016]), 0.014, np.array([sign * 0.4, 0.0, 1.0]), "head"))
    out.parts += [
        star(torso(0.0, 1.187, 0.008), 0.011, np.array([0, 0.3, 1.0]), "upperChest", "pink"),
        star(torso(0.0, 1.122, 0.016) + np.array([0, 0, 0.012]), 0.012, np.array([0, 0, 1.0]), "upperChest"),
        star(np.array([0.0, 1.262, 0.034]), 0.008, np.array([0.0, 0.1, 1.0]), "neck"),
    ]
    for x, y, z, size in ((0.318, 0.705, 0.410, 0.020), (0.362, 0.625, 0.372, 0.013)):
        out.parts.append(star(np.array(head_point(x, y, z)), size, np.array([0.75, 0.15, 0.8]), "head"))
    return out


OUTFITS = {"sailor": sailor}
