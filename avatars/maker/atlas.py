"""Where things lie in the textures: cells of plain colour below, pictures above. UVs have v = 0 at the top."""

from __future__ import annotations

import numpy as np

from avatars.maker.curves import F64

FEATURES = ("lash", "lashSoft", "brow", "fold", "lip", "mouth", "mouthDeep", "tongue", "teeth", "white", "lipSoft",
            "lid")  # fmt: skip
CLOTH = ("white", "navy", "pink", "gold", "black", "whiteShade", "cream", "sock", "boot", "sole", "lining", "violet")


def cell(names: tuple[str, ...], name: str, count: int) -> F64:
    """(count, 2) UVs in the middle of a plain cell of the lower half."""
    i = names.index(name)
    return np.tile([(i % 16 + 0.5) / 16, 0.5 + (i // 16 + 0.5) / 16], (count, 1))
