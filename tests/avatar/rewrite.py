"""A GLB taken apart into its document and the bytes of its buffer views, and put together again."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

TYPES = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
CODES = {"int8": 5120, "uint8": 5121, "int16": 5122, "uint16": 5123, "uint32": 5125, "float32": 5126}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
NAMES = {width: name for name, width in WIDTHS.items()}


@dataclass
class Glb:
    """``views[i]`` are the bytes of buffer view ``i``; the document's own places of them are made by ``content``."""

    document: dict[str, Any]
    views: list[bytes]

    def array(self, index: int) -> NDArray[Any]:
        """Accessor ``index`` as stored, (count, width). Without sparse values."""
        accessor = self.document["accessors"][index]
        kind = np.dtype(TYPES[accessor["componentType"]])
        width, start = WIDTHS[accessor["type"]], accessor.get("byteOffset", 0)
        view = self.document["bufferViews"][accessor["bufferView"]]
        stride = view.get("byteStride", width * kind.itemsize)
        data = self.views[accessor["bufferView"]]
        return np.ndarray((accessor["count"], width), kind, data, start, (stride, kind.itemsize)).copy()

    def add_view(self, data: bytes, **more: Any) -> int:
        self.views.append(data)
        self.document["bufferViews"].append({"buffer": 0, "byteLength": len(data), **more})
        return len(self.views) - 1

    def store(self, index: int, values: NDArray[Any], normalized: bool = False, stride: int = 0) -> None:
        """Let accessor ``index`` hold ``values`` (count, width) in a view of its own."""
        rows = np.ascontiguousarray(values)
        packed = rows.shape[1] * rows.itemsize
        stride = stride or packed
        data = np.zeros((len(rows), stride), np.uint8)
        data[:, :packed] = rows.view(np.uint8).reshape(len(rows), packed)
        more = {"byteStride": stride} if stride != packed else {}
        accessor = self.document["accessors"][index]
        accessor.update(
            bufferView=self.add_view(data.tobytes(), **more), byteOffset=0, count=len(rows), normalized=normalized,
            componentType=CODES[rows.dtype.name], type=NAMES[rows.shape[1]],
        )  # fmt: skip

    def need(self, *extensions: str) -> None:
        for key in ("extensionsUsed", "extensionsRequired"):
            self.document[key] = sorted({*self.document.get(key, []), *extensions})

    def content(self) -> bytes:
        """The whole file."""
        buffer = bytearray()
        for view, data in zip(self.document["bufferViews"], self.views, strict=True):
            buffer += bytes(-len(buffer) % 16)
            view.update(buffer=0, byteOffset=len(buffer), byteLength=len(data))
            buffer += data
        self.document["buffers"] = [{"byteLength": len(buffer)}]
        return glb(self.document, bytes(buffer))


def glb(document: object, binary: bytes) -> bytes:
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    binary += bytes(-len(binary) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(binary), 0x004E4942) + binary
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def take_apart(path: Path) -> Glb:
    content = path.read_bytes()
    size = struct.unpack_from("<I", content, 12)[0]
    document = json.loads(content[20 : 20 + size])
    binary = content[28 + size :]
    views = []
    for view in document.get("bufferViews", []):
        start = view.get("byteOffset", 0)
        views.append(binary[start : start + view["byteLength"]])
    return Glb(document, views)


def attribute_accessors(document: dict[str, Any]) -> dict[int, str]:
    """Accessor to attribute name, of all primitives and their morph targets (those as "morph NAME")."""
    found = {}
    for mesh in document["meshes"]:
        for primitive in mesh["primitives"]:
            found |= {index: name for name, index in primitive["attributes"].items()}
            for target in primitive.get("targets", []):
                found |= {index: f"morph {name}" for name, index in target.items()}
    return found


def index_accessors(document: dict[str, Any]) -> set[int]:
    return {p["indices"] for mesh in document["meshes"] for p in mesh["primitives"] if "indices" in p}
