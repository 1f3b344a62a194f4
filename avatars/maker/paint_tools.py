"""Colours and pixels that all textures are painted with."""

from __future__ import annotations

import io
from collections.abc import Mapping

import numpy as np
from PIL import Image, ImageDraw

from avatars.maker.curves import F64

Color = tuple[int, int, int]


def rgb(text: str) -> Color:
    value = int(text[1:], 16)
    return value >> 16, value >> 8 & 255, value & 255


def linear(text: str) -> list[float]:
    """The colour as glTF's factors want it."""
    c = np.array(rgb(text)) / 255
    return [round(float(v), 5) for v in np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)]


def png(picture: Image.Image) -> bytes:
    held = io.BytesIO()
    picture.save(held, "PNG", optimize=False, compress_level=9)
    return held.getvalue()


def gradient(stops: list[tuple[float, str]], t: F64) -> F64:
    at = [s for s, _ in stops]
    table = np.array([rgb(c) for _, c in stops], np.float64)
    return np.stack([np.interp(t, at, table[:, k]) for k in range(3)], -1)


def image(pixels: F64) -> Image.Image:
    return Image.fromarray(np.clip(pixels + 0.5, 0, 255).astype(np.uint8), "RGB")


def over(base: F64, colour: str, share: F64) -> F64:
    out: F64 = base + (np.array(rgb(colour)) - base) * np.clip(share, 0, 1)[..., None]
    return out


def cells(picture: Image.Image, names: tuple[str, ...], colours: Mapping[str, str]) -> Image.Image:
    draw = ImageDraw.Draw(picture)
    side = picture.width // 16
    for i, name in enumerate(names):
        x, y = i % 16 * side, picture.height // 2 + i // 16 * side
        draw.rectangle((x, y, x + side - 1, y + side - 1), fill=rgb(colours[name]))
    return picture
