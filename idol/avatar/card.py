"""What a file shows of its avatar before it is loaded: the title and the thumbnail in VRM's meta."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from idol.avatar.accessors import Accessors
from idol.avatar.container import Container, read_container
from idol.avatar.cursor import Cursor
from idol.avatar.errors import AvatarError
from idol.avatar.images import decode_image


@dataclass(frozen=True, slots=True)
class Card:
    """``title`` is '' and ``thumbnail``, RGBA (height, width, 4), None where the file has none that can be read."""

    title: str = ""
    thumbnail: NDArray[np.uint8] | None = None


def read_card(path: Path, *, picture: bool = True) -> Card:
    """Never fails: what is wrong with a file is said when it is loaded."""
    try:
        return card_of(read_container(path), picture=picture)
    except AvatarError:
        return Card()


def card_of(container: Container, *, picture: bool = True) -> Card:
    """The same from a container that was read. Never fails either."""
    try:
        meta, version = _meta(container.json)
        title = "" if meta is None else meta.text("name" if version == 1 else "title")
    except (AvatarError, RecursionError):
        return Card()
    if meta is None or not picture:
        return Card(title)
    try:
        return Card(title, _thumbnail(container, meta, version))
    except AvatarError:
        return Card(title)


def _meta(root: Cursor) -> tuple[Cursor | None, int]:
    extensions = root.child("extensions")
    for name, version in (("VRMC_vrm", 1), ("VRM", 0)):
        held = None if extensions is None else extensions.child(name)
        if held is not None:
            return held.child("meta"), version
    return None, 1


def _thumbnail(container: Container, meta: Cursor, version: int) -> NDArray[np.uint8] | None:
    images, textures = container.json.items("images"), container.json.items("textures")
    if version == 1:
        source = meta.index("thumbnailImage", len(images), "image")
    else:  # VRM 0.x names a texture, and -1 for none
        texture = meta.whole("texture", -1, low=-1)
        source = textures[texture].index("source", len(images), "image") if 0 <= texture < len(textures) else None
    if source is None or images[source].raw("bufferView") is None:
        return None
    view = images[source].whole("bufferView")
    return decode_image(Accessors(container).view_bytes(view, images[source].path), images[source].path)
