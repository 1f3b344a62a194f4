"""Where things lie in the textures: cells of plain colour below, pictures above. UVs have v = 0 at the top."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from avatars.maker.curves import F64

FEATURES = ("lashTip", "lash", "lashSoft", "brow", "fold", "lip", "mouth", "mouthDeep", "tongue", "teeth", "white",
            "lipSoft", "lid")  # fmt: skip
CLOTH = ("white", "navy", "pink", "gold", "black", "whiteShade", "cream", "sock", "boot", "sole", "lining", "violet")
REGIONS = {
    # u from, v from, u to, v to
    "bodice": (0.0, 0.0, 0.5, 0.28), "skirt": (0.5, 0.0, 0.75, 0.28), "sleeve": (0.75, 0.0, 1.0, 0.28),
    "sock": (0.0, 0.28, 0.25, 0.5), "boot": (0.25, 0.28, 0.5, 0.5), "bow": (0.5, 0.28, 0.75, 0.5),
    "collar": (0.75, 0.28, 1.0, 0.5),
}  # fmt: skip
"""Pictures of the cloth's texture."""
PLEATS = 8
"""Pleats side by side in the skirt's picture."""


def cell(names: tuple[str, ...], name: str, count: int) -> F64:
    """(count, 2) UVs in the middle of a plain cell of the lower half."""
    i = names.index(name)
    return np.tile([(i % 16 + 0.5) / 16, 0.5 + (i // 16 + 0.5) / 16], (count, 1))


def region(name: str, u: ArrayLike, v: ArrayLike) -> F64:
    """(N, 2) UVs inside a picture; ``u`` and ``v`` within 0 to 1, (N,)."""
    a, b, c, d = REGIONS[name]
    inset = 0.004
    u, v = np.broadcast_arrays(np.clip(u, 0, 1), np.clip(v, 0, 1))
    return np.stack([a + inset + (c - a - 2 * inset) * u, b + inset + (d - b - 2 * inset) * v], -1).reshape(-1, 2)
