"""The surface of the head: horizontal rings between profile curves. Units: heights of the head, chin 0, crown 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from avatars.maker.curves import F64, Monotone, bump, smooth

HALF_WIDTH = Monotone(
    (0.0, 0.012), (0.010, 0.062), (0.03, 0.118), (0.08, 0.196), (0.14, 0.260), (0.20, 0.306), (0.26, 0.338),
    (0.33, 0.360), (0.40, 0.374), (0.50, 0.390), (0.62, 0.395), (0.75, 0.372), (0.86, 0.300), (0.94, 0.200),
    (0.98, 0.115), (1.0, 0.012),
)  # fmt: skip
FRONT = Monotone(
    (0.0, 0.352), (0.02, 0.378), (0.05, 0.390), (0.09, 0.388), (0.14, 0.387), (0.20, 0.393), (0.26, 0.398),
    (0.34, 0.394), (0.42, 0.396), (0.52, 0.410), (0.62, 0.408), (0.72, 0.374), (0.82, 0.300), (0.90, 0.205),
    (0.96, 0.105), (1.0, -0.02),
)  # fmt: skip
WIDEST = Monotone(
    (0.0, 0.338), (0.03, 0.285), (0.08, 0.190), (0.14, 0.105), (0.20, 0.050), (0.30, 0.000), (0.40, -0.020),
    (0.60, -0.040), (1.0, -0.032),
)  # fmt: skip
BACK = Monotone(
    (0.0, 0.325), (0.03, 0.24), (0.08, 0.09), (0.14, -0.06), (0.20, -0.18), (0.30, -0.32), (0.40, -0.41),
    (0.55, -0.46), (0.70, -0.44), (0.85, -0.32), (0.94, -0.17), (1.0, -0.045),
)  # fmt: skip
ROUNDNESS = Monotone((0.0, 1.85), (0.10, 1.9), (0.25, 2.1), (0.40, 2.2), (0.60, 2.2), (1.0, 2.0))


def depth(x: ArrayLike, y: ArrayLike) -> F64:
    """z of the front of the face over (x, y), nose and sockets included."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    p = ROUNDNESS(y)
    s = np.minimum(np.abs(x) / HALF_WIDTH(y), 1.0) ** p
    z: F64 = WIDEST(y) + (FRONT(y) - WIDEST(y)) * np.maximum(1.0 - s, 0.0) ** (1.0 / p)
    z += features(x, y)
    return z


def features(x: ArrayLike, y: ArrayLike) -> F64:
    """Nose, its bridge, the sockets and the lips, as heights over the rings."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    a = np.abs(x)
    # The nose is sharp below its tip and runs out slowly above it.
    tall = np.where(y < 0.262, 0.018, 0.045)
    nose = 0.043 * np.exp(-0.5 * ((x / 0.023) ** 2 + ((y - 0.262) / tall) ** 2)) * smooth(a, 0.085, 0.05)
    sockets = -0.020 * bump(a, y, 0.165, 0.41, 0.075, 0.085)
    cheeks = 0.010 * bump(a, y, 0.215, 0.225, 0.07, 0.06)
    lips = 0.007 * bump(x, y, 0.0, 0.132, 0.040, 0.022) - 0.006 * bump(x, y, 0.0, 0.088, 0.05, 0.014)
    out: F64 = nose + sockets + cheeks + lips
    return out


def ring(y: F64, columns: F64, back: F64) -> F64:
    """Rings at heights ``y`` (R,): front points at angles ``columns`` (-90 to 90 degrees, in radians, from her right)
    and ``back`` (beyond 90 degrees, from her left round). Result (R, C, 3)."""
    w, p = HALF_WIDTH(y)[:, None], ROUNDNESS(y)[:, None]
    x = w * np.sin(columns)
    edge = np.abs(np.sin(columns)) ** p
    z = WIDEST(y)[:, None] + (FRONT(y) - WIDEST(y))[:, None] * np.maximum(1 - edge, 0.0) ** (1 / p)
    z = z + features(x, np.broadcast_to(y[:, None], x.shape))
    xb = w * np.sin(back)
    zb = WIDEST(y)[:, None] + (BACK(y) - WIDEST(y))[:, None] * -np.cos(back)
    rows = np.concatenate([np.stack([x, z], -1), np.stack([xb, zb], -1)], 1)
    return np.stack([rows[..., 0], np.broadcast_to(y[:, None], rows.shape[:2]), rows[..., 1]], -1)


CAP_CENTRE, CAP_RADII = np.array([0.0, 0.555, -0.035]), np.array([0.452, 0.530, 0.520])
"""The ellipsoid on which the hair lies, heights of the head."""


def cap_edge(azimuth: ArrayLike) -> F64:
    """Where the hair's cap ends: degrees down from the crown, ``azimuth`` degrees round from the front."""
    out: F64 = np.interp(np.abs(azimuth), [0, 35, 60, 80, 100, 130, 180], [56, 58, 66, 88, 112, 124, 128])
    return out
