"""Texture images, decoded with Pillow under a pixel cap. PNG, JPEG and WebP only: nothing else may run its decoder."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from idol.avatar.errors import AvatarError

MAX_SIDE = 8192
MAX_PIXELS = 8192 * 8192
KEPT_SIDE = 4096
"""Larger textures are halved to this: a streamer's face never fills more pixels, and the memory is quartered."""
FORMATS = ("PNG", "JPEG", "WEBP")
_BROKEN = (OSError, ValueError, SyntaxError, EOFError, MemoryError, OverflowError, Image.DecompressionBombError)


@contextmanager
def _opened(data: bytes | memoryview, where: str) -> Iterator[Image.Image]:
    try:
        with Image.open(io.BytesIO(bytes(data)), formats=FORMATS) as image:
            width, height = image.size
            if width > MAX_SIDE or height > MAX_SIDE or width * height > MAX_PIXELS:
                raise AvatarError(
                    f"is a picture of {width} x {height} pixels; the limit is {MAX_SIDE} x {MAX_SIDE}.",
                    where,
                    "Shrink the texture and export again.",
                )
            yield image
    except UnidentifiedImageError as error:
        raise AvatarError(
            "is not a PNG, JPEG or WebP picture.", where, "Export with PNG or JPEG textures (KTX2 is not read)."
        ) from error
    except _BROKEN as error:
        raise AvatarError(f"is a broken picture ({error}).", where) from error


def image_size(data: bytes | memoryview, where: str) -> tuple[int, int]:
    """Width and height by its header; the pixels are not decoded. Raises AvatarError."""
    with quiet(), _opened(data, where) as image:
        return image.size


def decode_image(data: bytes | memoryview, where: str, kept_side: int = KEPT_SIDE) -> NDArray[np.uint8]:
    """RGBA, shape (height, width, 4), first row on top; no side longer than ``kept_side``. Raises AvatarError."""
    with _opened(data, where) as image:
        picture: Image.Image = image
        if picture.mode.startswith(("I", "F")):
            # 16 bits of grey, which Pillow would clip to white.
            grey = np.asarray(picture).astype(np.float64)
            picture = Image.fromarray((grey * (255.0 / 65535.0)).clip(0, 255).astype(np.uint8))
        if max(picture.size) > kept_side:
            picture.thumbnail((kept_side, kept_side), Image.Resampling.BOX)
        return np.ascontiguousarray(np.asarray(picture.convert("RGBA"), dtype=np.uint8))


@contextmanager
def quiet() -> Iterator[None]:
    """Pillow's warnings about odd pictures are not the streamer's matter. Not for several threads at once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
