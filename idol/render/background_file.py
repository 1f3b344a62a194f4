"""A background picture from a file: PNG, JPEG or WebP, decoded with Pillow under a pixel cap, shrunk when large."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

KEPT_SIDE = 2560
"""Pixels; a larger picture is shrunk to this, more than a stream shows."""
MAX_PIXELS = 120_000_000
MAX_BYTES = 200 << 20
ENDINGS = (".png", ".jpg", ".jpeg", ".webp")
_FORMATS = ("PNG", "JPEG", "WEBP")


class BackgroundError(Exception):
    """The picture cannot be used; the text says why and what to do."""


def read_background(path: Path) -> NDArray[np.uint8]:
    """RGBA (height, width, 4), straight alpha, first row on top. Raises ``BackgroundError``."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise BackgroundError(f"The picture {path} has more than {MAX_BYTES >> 20} MB. Shrink it.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(path, formats=_FORMATS) as image:
                width, height = image.size
                if width * height > MAX_PIXELS:
                    raise BackgroundError(
                        f"The picture {path} has {width} x {height} pixels, more than {MAX_PIXELS // 10**6} million. "
                        "Shrink it."
                    )
                image.draft("RGB", (KEPT_SIDE, KEPT_SIDE))
                turned = ImageOps.exif_transpose(image)
                if max(turned.size) > KEPT_SIDE:
                    turned.thumbnail((KEPT_SIDE, KEPT_SIDE), Image.Resampling.LANCZOS)
                return np.ascontiguousarray(np.asarray(turned.convert("RGBA"), dtype=np.uint8))
    except FileNotFoundError as error:
        raise BackgroundError(f"The picture {path} is not there. Choose another in the menu View.") from error
    except UnidentifiedImageError as error:
        raise BackgroundError(f"{path} is no PNG, JPEG or WebP picture. Choose one of these.") from error
    except (OSError, ValueError, SyntaxError, EOFError, MemoryError, Image.DecompressionBombError) as error:
        what = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BackgroundError(f"The picture {path} cannot be read ({what}). Choose another.") from error
