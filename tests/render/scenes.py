"""Small made models for tests of the renderer: flat quads in GLB files, built here byte by byte."""

from __future__ import annotations

import io
import json
import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from idol.avatar import Avatar, parse_avatar

_SHAPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4"}


@dataclass
class Scene:
    """A GLB in the making. ``avatar()`` reads it with the project's own loader."""

    document: dict[str, Any] = field(
        default_factory=lambda: {
            "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": []}], "nodes": [], "meshes": [],
            "accessors": [], "bufferViews": [], "buffers": [], "materials": [], "textures": [], "images": [],
            "samplers": [{"magFilter": 9728, "minFilter": 9728}],
        }
    )  # fmt: skip
    data: bytearray = field(default_factory=bytearray)

    def _view(self, content: bytes) -> int:
        self.data += bytes(-len(self.data) % 4)
        self.document["bufferViews"].append({"buffer": 0, "byteOffset": len(self.data), "byteLength": len(content)})
        self.data += content
        return len(self.document["bufferViews"]) - 1

    def _accessor(self, values: NDArray[Any], kind: int) -> int:
        view = self._view(np.ascontiguousarray(values).tobytes())
        width = 1 if values.ndim == 1 else values.shape[1]
        entry: dict[str, Any] = {
            "bufferView": view, "componentType": kind, "count": len(values), "type": _SHAPES[width],
        }  # fmt: skip
        if width == 3:
            entry["min"], entry["max"] = values.min(0).tolist(), values.max(0).tolist()
        self.document["accessors"].append(entry)
        return len(self.document["accessors"]) - 1

    def texture(self, pixels: list[list[tuple[int, ...]]]) -> int:
        """Rows of RGB or RGBA, the first row on top; read without filtering."""
        held = np.asarray(pixels, np.uint8)
        buffer = io.BytesIO()
        Image.fromarray(held).save(buffer, "PNG")
        self.document["images"].append({"bufferView": self._view(buffer.getvalue()), "mimeType": "image/png"})
        self.document["textures"].append({"source": len(self.document["images"]) - 1, "sampler": 0})
        return len(self.document["textures"]) - 1

    def material(
        self, mtoon: dict[str, Any] | None = None, color: tuple[float, ...] = (1, 1, 1, 1), **more: Any
    ) -> int:
        """MToon with the properties given, or what ``more`` says."""
        entry: dict[str, Any] = {"pbrMetallicRoughness": {"baseColorFactor": [*color], "metallicFactor": 0.0}}
        entry["pbrMetallicRoughness"].update(more.pop("surface", {}))
        entry.update(more)
        if mtoon is not None:
            held = entry.setdefault("extensions", {})
            held["VRMC_materials_mtoon"] = {"specVersion": "1.0", **mtoon}
        self.document["materials"].append(entry)
        return len(self.document["materials"]) - 1

    def quad(
        self,
        material: int,
        size: float = 1.0,
        z: float = 0.0,
        normal: tuple[float, float, float] = (0, 0, 1),
        color: tuple[float, ...] | None = None,
        turned: bool = False,
        x: float = 0.0,
    ) -> None:
        """A square in the plane z, facing the viewer (away from the viewer when ``turned``)."""
        h = size / 2
        corners = np.asarray([[x - h, -h, z], [x + h, -h, z], [x + h, h, z], [x - h, h, z]], np.float32)
        unit = np.asarray(normal, np.float64) / np.linalg.norm(normal)
        attributes = {
            "POSITION": self._accessor(corners, 5126),
            "NORMAL": self._accessor(np.tile(unit.astype(np.float32), (4, 1)), 5126),
            "TEXCOORD_0": self._accessor(np.asarray([[0, 1], [1, 1], [1, 0], [0, 0]], np.float32), 5126),
        }
        if color is not None:
            attributes["COLOR_0"] = self._accessor(np.tile(np.asarray(color, np.float32), (4, 1)), 5126)
        order = [0, 2, 1, 0, 3, 2] if turned else [0, 1, 2, 0, 2, 3]
        self._mesh(attributes, np.asarray(order, np.uint32), material)

    def ball(self, material: int, radius: float = 0.5, rows: int = 24) -> None:
        """A sphere about the origin."""
        down = np.linspace(0, np.pi, rows + 1)[:, None]
        round_ = np.linspace(0, 2 * np.pi, 2 * rows + 1)[None, :]
        points = np.stack(
            [np.sin(down) * np.sin(round_), np.cos(down) + 0 * round_, np.sin(down) * np.cos(round_)], axis=-1
        ).reshape(-1, 3)
        width = 2 * rows + 1
        triangles = []
        for r in range(rows):
            for c in range(2 * rows):
                a = r * width + c
                triangles += [a, a + width, a + 1, a + 1, a + width, a + width + 1]
        attributes = {
            "POSITION": self._accessor((points * radius).astype(np.float32), 5126),
            "NORMAL": self._accessor(points.astype(np.float32), 5126),
            "TEXCOORD_0": self._accessor(np.full((len(points), 2), 0.5, np.float32), 5126),
        }
        self._mesh(attributes, np.asarray(triangles, np.uint32), material)

    def _mesh(self, attributes: dict[str, int], indices: NDArray[np.uint32], material: int) -> None:
        primitive = {"attributes": attributes, "indices": self._accessor(indices, 5125), "material": material}
        self.document["meshes"].append({"primitives": [primitive]})
        self.document["nodes"].append({"mesh": len(self.document["meshes"]) - 1})
        self.document["scenes"][0]["nodes"].append(len(self.document["nodes"]) - 1)

    def avatar(self) -> Avatar:
        self.data += bytes(-len(self.data) % 4)
        self.document["buffers"] = [{"byteLength": len(self.data)}]
        document = {key: value for key, value in self.document.items() if value != []}
        text = json.dumps(document).encode()
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
        chunks += struct.pack("<II", len(self.data), 0x004E4942) + bytes(self.data)
        return parse_avatar(struct.pack("<III", 0x46546C67, 2, 12 + len(chunks)) + chunks, "scene")


def encoded(linear: Any) -> NDArray[np.float64]:
    """Linear 0..1 to sRGB 0..255 (IEC 61966-2-1)."""
    values = np.clip(np.asarray(linear, np.float64), 0, 1)
    out: NDArray[np.float64] = np.where(values <= 0.0031308, 12.92 * values, 1.055 * values ** (1 / 2.4) - 0.055) * 255
    return out


def decoded(srgb: Any) -> NDArray[np.float64]:
    """sRGB 0..255 to linear 0..1."""
    values = np.asarray(srgb, np.float64) / 255
    out: NDArray[np.float64] = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    return out
