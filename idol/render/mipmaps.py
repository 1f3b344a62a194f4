"""Smaller copies of a texture, computed off the thread that draws: as ``glGenerateMipmap``, sRGB in linear light.

Each level is half of the one before, rounded down (OpenGL 3.3 core, section 3.8.14), sampled bilinearly at the centres
of its texels. NumPy lets go of Python's lock meanwhile, and bands of rows keep the memory small.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
_BAND = 128
"""Rows that are computed at once."""


def levels_below(pixels: Pixels, srgb: bool) -> list[Pixels]:
    """The levels after ``pixels`` (height, width, 4) down to one texel. ``srgb``: the colours are, alpha never is."""
    out = []
    while max(pixels.shape[:2]) > 1:
        pixels = _halved(pixels, srgb)
        out.append(pixels)
    return out


def _halved(pixels: Pixels, srgb: bool) -> Pixels:
    height, width = (max(1, side // 2) for side in pixels.shape[:2])
    out = np.empty((height, width, 4), np.uint8)
    rows, below = _places(pixels.shape[0], height)
    columns = _places(pixels.shape[1], width)
    decode, encode = _tables() if srgb else (None, None)
    for first in range(0, height, _BAND):
        band = slice(first, min(first + _BAND, height))
        low, high, share = rows[band], np.minimum(rows[band] + 1, pixels.shape[0] - 1), below[band]
        upper, lower = _linear(pixels, low, decode), _linear(pixels, high, decode)
        mixed = _mixed(upper, lower, share[:, None, None], bool((share == 0.5).all()))
        left, right = columns[0], np.minimum(columns[0] + 1, pixels.shape[1] - 1)
        if (columns[1] == 0.5).all():
            # Halves without a remainder: neighbours lie side by side.
            values = mixed[:, 0 : 2 * width : 2] + mixed[:, 1 : 2 * width : 2]
            values *= np.float32(0.5)
        else:
            values = _mixed(mixed[:, left], mixed[:, right], columns[1][None, :, None], False)
        values += np.float32(0.5)
        whole = values.astype(np.uint16)
        if encode is None:
            out[band] = whole
        else:
            out[band, :, :3] = np.take(encode, whole[..., :3])
            # Alpha was spread over the same range as the colours.
            out[band, :, 3] = (whole[..., 3].astype(np.uint32) + 128) // 257
    return out


def _places(size: int, wanted: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """For each texel of the smaller side the first of two neighbours, and the second one's share."""
    if size == 1:
        return np.zeros(1, np.int64), np.zeros(1, np.float32)
    at = (np.arange(wanted) + 0.5) * (size / wanted) - 0.5
    low = np.floor(at).astype(np.int64)
    return low, (at - low).astype(np.float32)


def _linear(pixels: Pixels, rows: NDArray[np.int64], decode: NDArray[np.float32] | None) -> NDArray[np.float32]:
    taken = pixels[rows]
    if decode is None:
        return taken.astype(np.float32)
    out = np.take(decode, taken)
    out[..., 3] = taken[..., 3]
    out[..., 3] *= np.float32(257.0)
    return out


def _mixed(
    one: NDArray[np.float32], two: NDArray[np.float32], share: NDArray[np.float32], half: bool
) -> NDArray[np.float32]:
    if half:
        one += two
        one *= np.float32(0.5)
        return one
    return one + (two - one) * share


@cache
def _tables() -> tuple[NDArray[np.float32], Pixels]:
    """sRGB bytes to linear light 0..65535, and back (IEC 61966-2-1)."""
    code = np.arange(256) / 255.0
    light = np.where(code <= 0.04045, code / 12.92, ((code + 0.055) / 1.055) ** 2.4)
    level = np.arange(65536) / 65535.0
    back = np.where(level <= 0.0031308, level * 12.92, 1.055 * level ** (1 / 2.4) - 0.055)
    return (light * 65535.0).astype(np.float32), np.rint(back * 255.0).astype(np.uint8)
