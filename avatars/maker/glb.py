"""Writes binary glTF 2.0: accessors (dense and sparse), images and the two chunks of a GLB file."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

_TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
_KINDS = {"float32": 5126, "uint8": 5121, "uint16": 5123, "uint32": 5125}
GRID = 2.0**-20
"""Positions are multiples of this (a micrometre), so that rounding of a BLAS does not reach the file."""


class GlbWriter:
    """Collects buffers; ``document`` is the JSON to be filled by the caller."""

    def __init__(self) -> None:
        self.document: dict[str, Any] = {"asset": {"version": "2.0", "generator": "avatars.maker"}}
        self._binary = bytearray()

    def _list(self, name: str) -> list[Any]:
        held: list[Any] = self.document.setdefault(name, [])
        return held

    def view(self, data: bytes, target: int | None = None) -> int:
        self._binary += b"\0" * (-len(self._binary) % 4)
        item: dict[str, Any] = {"buffer": 0, "byteOffset": len(self._binary), "byteLength": len(data)}
        if target is not None:
            item["target"] = target
        self._binary += data
        self._list("bufferViews").append(item)
        return len(self._list("bufferViews")) - 1

    def accessor(self, values: NDArray[Any], target: int | None = None, bounds: bool = False) -> int:
        """One accessor for (N,) or (N, D) values of a type that glTF knows."""
        values = np.ascontiguousarray(values)
        width = 1 if values.ndim == 1 else int(np.prod(values.shape[1:]))
        item = {
            "bufferView": self.view(values.tobytes(), target), "componentType": _KINDS[values.dtype.name],
            "count": len(values), "type": _TYPES[width],
        }  # fmt: skip
        if bounds:
            item["min"], item["max"] = values.min(0).tolist(), values.max(0).tolist()
        self._list("accessors").append(item)
        return len(self._list("accessors")) - 1

    def offsets(self, values: NDArray[np.float32]) -> int:
        """A sparse accessor for the offsets (V, 3) of a morph target: only what moves is stored."""
        moved = np.flatnonzero(np.any(values != 0, axis=1))
        item: dict[str, Any] = {"componentType": 5126, "count": len(values), "type": "VEC3"}
        if len(moved):
            item["sparse"] = {
                "count": len(moved),
                "indices": {"bufferView": self.view(moved.astype(np.uint16).tobytes()), "componentType": 5123},
                "values": {"bufferView": self.view(np.ascontiguousarray(values[moved]).tobytes())},
            }
        item["min"], item["max"] = values.min(0).tolist(), values.max(0).tolist()
        self._list("accessors").append(item)
        return len(self._list("accessors")) - 1

    def thumbnail(self, png: bytes) -> int:
        """An image that no material shows; the image's index."""
        self._list("images").append({"bufferView": self.view(png), "mimeType": "image/png", "name": "thumbnail"})
        return len(self._list("images")) - 1

    def image(self, png: bytes, name: str) -> int:
        """An image with its texture; the texture's index."""
        self._list("images").append({"bufferView": self.view(png), "mimeType": "image/png", "name": name})
        self._list("textures").append({"source": len(self._list("images")) - 1, "sampler": 0})
        return len(self._list("textures")) - 1

    def finish(self) -> bytes:
        self._binary += b"\0" * (-len(self._binary) % 4)
        self.document["buffers"] = [{"byteLength": len(self._binary)}]
        text = json.dumps(self.document, separators=(",", ":"), ensure_ascii=False).encode()
        text += b" " * (-len(text) % 4)
        size = 12 + 8 + len(text) + 8 + len(self._binary)
        return b"".join([
            struct.pack("<4sII", b"glTF", 2, size), struct.pack("<I4s", len(text), b"JSON"), text,
            struct.pack("<I4s", len(self._binary), b"BIN\0"), bytes(self._binary),
        ])  # fmt: skip


def settled(points: NDArray[np.float64]) -> NDArray[np.float32]:
    return (np.round(points / GRID) * GRID).astype(np.float32)
