"""Texture images, decoded with Pillow under a pixel cap. PNG, JPEG and WebP only: nothing else may run its decoder."""

from __future__ import annotations

import io
import warnings

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from idol.avatar.errors import AvatarError

MAX_SIDE = 8192
MAX_PIXELS = 8192 * 8192
KEPT_SIDE = 4096
"""Larger textures are halved to this: a streamer's face never fills more pixels, and the memory is quartered."""
FORMATS = ("PNG", "JPEG", "WEBP")


def decode_image(data: bytes | memoryview, where: str) -> NDArray[np.uint8]:
    """RGBA, shape (height, width, 4), first row on top."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(bytes(data)), formats=FORMATS) as image:
                width, height = image.size
                if width > MAX_SIDE or height > MAX_SIDE or width * height > MAX_PIXELS:
                    raise AvatarError(
                        f"is a picture of {width} x {height} pixels; the limit is {MAX_SIDE} x {MAX_SIDE}.",
                        where,
                        "Shrink the texture and export again.",
                    )
                if max(width, height) > KEPT_SIDE:
                    image.thumbnail((KEPT_SIDE, KEPT_SIDE), Image.Resampling.BOX)
                return np.ascontiguousarray(np.asarray(image.convert("RGBA"), dtype=np.uint8))
    except UnidentifiedImageError as error:
        raise AvatarError(
            "is not a PNG, JPEG or WebP picture.", where, "Export with PNG or JPEG textures (KTX2 is not read)."
        ) from error
    except (OSError, ValueError, SyntaxError, EOFError, MemoryError, Image.DecompressionBombError) as error:
        raise AvatarError(f"is a broken picture ({error}).", where) from error
