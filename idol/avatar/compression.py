"""Compressed geometry: EXT_meshopt_compression (and KHR_meshopt_compression) of buffer views, and
KHR_draco_mesh_compression of primitives. The codecs are libraries; here is what the extensions say around them."""

from __future__ import annotations

import importlib
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from idol.avatar.cursor import Cursor
from idol.avatar.errors import AvatarError

MESHOPT = ("EXT_meshopt_compression", "KHR_meshopt_compression")
DRACO = "KHR_draco_mesh_compression"
MAX_UNPACKED_BYTES = 256 << 20
"""Of one view; the accessors have their own limit on top."""

_UNPACK = "Export without meshopt, unpack the file with gltf-transform, or install the package: pip install meshopt."
FIXES = {
    **dict.fromkeys(MESHOPT, _UNPACK),
    DRACO: "Export without Draco compression (in Blender: untick 'Compression').",
    "KHR_texture_basisu": "Export with PNG, JPEG or WebP textures instead of KTX2.",
    "EXT_texture_avif": "Export with PNG, JPEG or WebP textures instead of AVIF.",
    "EXT_mesh_gpu_instancing": "Export with the instances made real.",
}
"""What to do about an extension that cannot be read."""


def _library(name: str, extension: str, where: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise AvatarError(
            f"is compressed with {extension}, which needs the Python package {name}.", where, FIXES[extension]
        ) from error


def meshopt_of(view: Cursor) -> tuple[str, Cursor] | None:
    """The meshopt extension of a buffer view with its name, or None."""
    extensions = view.child("extensions")
    if extensions is None:
        return None
    for name in MESHOPT:
        found = extensions.child(name)
        if found is not None:
            return name, found
    return None


def unpack_meshopt(name: str, packed: Cursor, buffers: tuple[memoryview, ...]) -> memoryview:
    """The bytes that a compressed buffer view stands for. Raises AvatarError."""
    meshopt = _library("meshopt", name, packed.path)
    buffer = packed.index("buffer", len(buffers), "buffer")
    if buffer is None:
        raise packed.fail("names no buffer.")
    start, length = packed.whole("byteOffset", 0), packed.whole("byteLength")
    data = buffers[buffer]
    if start + length > len(data):
        raise packed.fail(f"reaches byte {start + length} of a buffer with {len(data)} bytes.")
    stride, count = packed.whole("byteStride", low=1, high=256), packed.whole("count", high=MAX_UNPACKED_BYTES)
    if stride * count > MAX_UNPACKED_BYTES:
        raise packed.fail(f"unpacks to {stride * count >> 20} MB; the limit is {MAX_UNPACKED_BYTES >> 20} MB.")
    mode, chosen = packed.text("mode"), packed.text("filter", "NONE")
    try:
        rows = meshopt.decode_gltf_buffer(bytes(data[start : start + length]), count, stride, mode, chosen)
    except (ValueError, RuntimeError, MemoryError, OverflowError, TypeError) as error:
        raise packed.fail(f"cannot be unpacked ({error}).") from error
    unpacked = memoryview(np.asarray(rows).tobytes())
    if len(unpacked) != stride * count:
        raise packed.fail(f"unpacks to {len(unpacked)} bytes instead of {stride * count}.")
    return unpacked


def unpack_draco(packed: Cursor, data: memoryview) -> tuple[dict[str, NDArray[Any]], NDArray[np.uint32]]:
    """The attributes of a Draco mesh by their glTF names, (V, width) each, and its indices (T * 3). Quantised
    attributes come back as float32, integers as they were. Raises AvatarError."""
    draco = _library("DracoPy", DRACO, packed.path)
    try:
        mesh = draco.decode(bytes(data))
        held = {int(item["unique_id"]): np.asarray(item["data"]) for item in mesh.attributes}
        faces = np.asarray(mesh.faces, np.uint32).reshape(-1)
    except (draco.FileTypeException, draco.EncodingFailedException, ValueError, RuntimeError, MemoryError) as error:
        raise packed.fail(f"cannot be unpacked ({error}).") from error
    except (AttributeError, TypeError, KeyError) as error:
        raise packed.fail("does not hold a mesh of triangles.") from error
    found = {}
    names = packed.need("attributes")
    for name in cast(dict[str, Any], names.value):
        unique = names.whole(name)
        if unique not in held:
            raise AvatarError(f"points at Draco attribute {unique}, which is not there.", f"{names.path}.{name}")
        values = held[unique]
        found[name] = values.reshape(len(values), -1)
    return found, faces
