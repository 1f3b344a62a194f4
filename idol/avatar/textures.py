"""glTF textures, images and samplers (glTF 2.0, section 3.8): those that materials use are decoded, in parallel."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from idol.avatar.accessors import Accessors
from idol.avatar.compression import FIXES
from idol.avatar.container import Container, decode_data_uri
from idol.avatar.errors import AvatarError
from idol.avatar.images import KEPT_SIDE, decode_image, image_size, quiet
from idol.avatar.model import AvatarData, Material, Texture, TextureUse

MAX_TEXTURES = 4_000
PIXEL_BUDGET = 256 << 20
"""Pixels of all textures together (1 GB as RGBA). Files with more get their larger textures halved until they fit."""
MAX_READ_PIXELS = 768 << 20
"""Pixels of all pictures as stored: decoding them takes its time, however small they are kept."""
SMALLEST_KEPT = 256


def placeholders(count: int) -> list[Texture]:
    """One white pixel for each texture of a file: what stands for one that nothing samples. Raises AvatarError."""
    if count > MAX_TEXTURES:
        raise AvatarError(f"has {count} entries; the limit is {MAX_TEXTURES}.", "textures")
    return [Texture(np.full((1, 1, 4), 255, np.uint8)) for _ in range(count)]


def fill_textures(data: AvatarData, container: Container) -> None:
    """Decode the textures that the materials of ``data`` use; the others stay placeholders. Raises AvatarError."""
    reader = _TextureReader(container)
    used = sorted({use.texture for material in data.materials for use in texture_uses(material)})
    images = {index: image for index in used if (image := reader.image_of(index)) is not None}
    for index in used:
        if index not in images:
            data.warnings.append(f"textures[{index}] has no image and is drawn white")
    pixels = reader.decode(set(images.values()), data.warnings)
    for index, image in images.items():
        data.textures[index] = reader.texture(index, pixels[image])


def texture_uses(material: Material) -> Iterable[TextureUse]:
    for field in fields(material):
        held = getattr(material, field.name)
        if isinstance(held, TextureUse):
            yield held


class _TextureReader:
    def __init__(self, container: Container) -> None:
        self.accessors = Accessors(container)
        self.textures = container.json.items("textures")
        self.images = container.json.items("images")
        self.samplers = container.json.items("samplers")

    def image_of(self, index: int) -> int | None:
        """The image that texture ``index`` shows, None when the file names none."""
        item = self.textures[index]
        source = item.index("source", len(self.images), "image")
        extensions = item.child("extensions")
        if extensions is None:
            return source
        webp = extensions.child("EXT_texture_webp")
        if webp is not None:
            return webp.index("source", len(self.images), "image")
        for name in ("KHR_texture_basisu", "EXT_texture_avif"):
            if source is None and extensions.has(name):
                raise item.fail(f"is stored with {name}, which is not read.", FIXES[name])
        return source

    def decode(self, images: set[int], warnings: list[str]) -> dict[int, NDArray[np.uint8]]:
        """The pixels of each image, made smaller where all together would take too much memory."""
        order = sorted(images)
        files = [self._file(image) for image in order]
        places = [self.images[image].path for image in order]
        sizes = [image_size(file, where) for file, where in zip(files, places, strict=True)]
        stored = sum(width * height for width, height in sizes)
        if stored > MAX_READ_PIXELS:
            raise AvatarError(
                f"hold {stored >> 20} million pixels; the limit is {MAX_READ_PIXELS >> 20}.",
                "images",
                "Export with smaller textures.",
            )
        kept = KEPT_SIDE
        while sum(_pixels(size, kept) for size in sizes) > PIXEL_BUDGET and kept > SMALLEST_KEPT:
            kept //= 2
        if kept < KEPT_SIDE:
            warnings.append(f"the textures are shrunk to {kept} pixels a side: together they were too large")
        # Decoders let go of Python's lock. One core is left to whoever draws meanwhile.
        workers = max(1, min(4, (os.cpu_count() or 1) - 1, len(order)))
        with quiet(), ThreadPoolExecutor(workers, "idol-textures") as pool:
            decoded = pool.map(decode_image, files, places, [kept] * len(order))
            return dict(zip(order, decoded, strict=True))

    def _file(self, image: int) -> bytes | memoryview:
        item = self.images[image]
        view = item.whole("bufferView", -1, low=-1)
        if view >= 0:
            return self.accessors.view_bytes(view, item.path)
        uri = item.raw("uri")
        if not isinstance(uri, str) or not uri.startswith("data:"):
            raise item.fail("lies in another file.", "Export as GLB or VRM, which holds everything in one file.")
        return decode_data_uri(uri, item.path)

    def texture(self, index: int, pixels: NDArray[np.uint8]) -> Texture:
        sampler = self.textures[index].index("sampler", len(self.samplers), "sampler")
        if sampler is None:
            return Texture(pixels)
        found = self.samplers[sampler]
        return Texture(
            pixels,
            _one_of(found.whole("wrapS", 10497), (10497, 33071, 33648)),
            _one_of(found.whole("wrapT", 10497), (10497, 33071, 33648)),
            _one_of(found.whole("magFilter", 9729), (9729, 9728)),
            _one_of(found.whole("minFilter", 9987), (9987, 9728, 9729, 9984, 9985, 9986)),
        )


def _pixels(size: tuple[int, int], kept: int) -> int:
    scale = min(1.0, kept / max(size))
    return int(size[0] * scale) * int(size[1] * scale)


def _one_of(value: int, allowed: tuple[int, ...]) -> int:
    return value if value in allowed else allowed[0]
