"""glTF accessors (glTF 2.0, sections 3.6.2 and 3.6.3): strides, sparse values, normalised integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from idol.avatar.container import Container
from idol.avatar.cursor import Cursor
from idol.avatar.errors import AvatarError

_TYPES: dict[int, type[np.generic]] = {
    5120: np.int8, 5121: np.uint8, 5122: np.int16, 5123: np.uint16, 5125: np.uint32, 5126: np.float32,
}  # fmt: skip
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
MAX_ELEMENTS = 40_000_000
"""Numbers in one accessor; far above any avatar, and it keeps a hostile count from taking the memory."""
MAX_TOTAL_NUMBERS = 400_000_000

_UNPACK_FIX = {
    "EXT_meshopt_compression": "Export without meshopt compression, or unpack it with gltf-transform.",
    "KHR_draco_mesh_compression": "Export without Draco compression (in Blender: untick 'Compression').",
}


class Accessors:
    """The accessors of one document. Each read gives a fresh contiguous array."""

    def __init__(self, container: Container) -> None:
        self._buffers = container.buffers
        self._views = container.json.items("bufferViews")
        self._accessors = container.json.items("accessors")
        self._numbers = 0
        if len(self._views) != len(container.json.raw("bufferViews") or ()) or len(self._accessors) != len(
            container.json.raw("accessors") or ()
        ):
            raise AvatarError("has a null entry.", "accessors or bufferViews")

    def __len__(self) -> int:
        return len(self._accessors)

    def count(self, index: int) -> int:
        return self._accessors[index].whole("count", high=MAX_ELEMENTS)

    def view_bytes(self, index: int, where: str) -> memoryview:
        """The bytes of a buffer view (for images)."""
        if not 0 <= index < len(self._views):
            raise AvatarError(f"points at buffer view {index}, but the file has {len(self._views)}.", where)
        view = self._views[index]
        for name, fix in _UNPACK_FIX.items():
            extensions = view.child("extensions")
            if extensions is not None and extensions.has(name):
                raise view.fail(f"is compressed with {name}, which is not read.", fix)
        buffer = view.index("buffer", len(self._buffers), "buffer")
        if buffer is None:
            raise view.fail("names no buffer.")
        start, length = view.whole("byteOffset", 0), view.whole("byteLength")
        data = self._buffers[buffer]
        if start + length > len(data):
            raise view.fail(f"reaches byte {start + length} of a buffer with {len(data)} bytes.")
        return data[start : start + length]

    def floats(self, index: int, width: int, where: str) -> NDArray[np.float32]:
        """Shape (count, width); normalised integers become 0..1 or -1..1, plain integers their value."""
        raw, accessor = self._read(index, width, where)
        if raw.dtype == np.float32:
            if not np.isfinite(raw).all():
                raise accessor.fail("holds numbers that are not finite (NaN or infinity).")
            return raw
        values = raw.astype(np.float32)
        if accessor.flag("normalized"):
            info = np.iinfo(raw.dtype)
            values = np.maximum(values / np.float32(info.max), -1.0)
        return values.astype(np.float32, copy=False)

    def integers(self, index: int, width: int, where: str) -> NDArray[np.int64]:
        """Shape (count, width) of unsigned integers (indices, joints)."""
        raw, accessor = self._read(index, width, where)
        if raw.dtype == np.float32:
            # Some exporters store joints as floats; their values are whole.
            if not np.isfinite(raw).all() or (raw < 0).any() or (raw > 1e6).any():
                raise accessor.fail("should hold whole numbers.")
            return raw.astype(np.int64)
        return raw.astype(np.int64)

    def _read(self, index: int, width: int, where: str) -> tuple[NDArray[Any], Cursor]:
        if not 0 <= index < len(self._accessors):
            raise AvatarError(f"points at accessor {index}, but the file has {len(self._accessors)}.", where)
        accessor = self._accessors[index]
        kind = accessor.text("type")
        if _WIDTHS.get(kind) != width:
            raise accessor.fail(f"has type {kind!r}, but {where} needs {width} numbers per entry.")
        dtype = np.dtype(self._dtype(accessor))
        count = accessor.whole("count", high=MAX_ELEMENTS)
        self._numbers += count * width
        if count * width > MAX_ELEMENTS or self._numbers > MAX_TOTAL_NUMBERS:
            raise accessor.fail(f"has {count} entries of {width} numbers: more than the limit.")
        view = accessor.index("bufferView", len(self._views), "buffer view")
        if view is None:
            values = np.zeros((count, width), dtype)
        else:
            values = self._strided(accessor, view, count, width, dtype, accessor.whole("byteOffset", 0))
        sparse = accessor.child("sparse")
        if sparse is not None:
            self._apply_sparse(sparse, values)
        return values, accessor

    @staticmethod
    def _dtype(cursor: Cursor) -> type[np.generic]:
        code = cursor.whole("componentType")
        if code not in _TYPES:
            raise cursor.fail(f"has component type {code}, which glTF does not know.")
        return _TYPES[code]

    def _strided(
        self, owner: Cursor, view: int, count: int, width: int, dtype: np.dtype[Any], offset: int
    ) -> NDArray[Any]:
        data = self.view_bytes(view, owner.path)
        packed = width * dtype.itemsize
        stride = self._views[view].whole("byteStride", packed, low=1, high=1024)
        if stride < packed:
            raise self._views[view].fail(f"has a stride of {stride} bytes for entries of {packed} bytes.")
        end = offset + (stride * (count - 1) + packed if count else 0)
        if end > len(data):
            raise owner.fail(f"reaches byte {end} of a buffer view with {len(data)} bytes.")
        little = dtype.newbyteorder("<")
        if stride == packed:
            flat = np.frombuffer(data, little, count * width, offset)
            return flat.reshape(count, width).astype(dtype)
        rows: NDArray[Any] = np.ndarray((count, width), little, data, offset, (stride, dtype.itemsize))
        return rows.astype(dtype)

    def _apply_sparse(self, sparse: Cursor, values: NDArray[Any]) -> None:
        count = sparse.whole("count", high=len(values))
        places, amounts = sparse.need("indices"), sparse.need("values")
        place_view = places.index("bufferView", len(self._views), "buffer view")
        value_view = amounts.index("bufferView", len(self._views), "buffer view")
        if place_view is None or value_view is None:
            raise sparse.fail("lacks a buffer view.")
        kind = np.dtype(self._dtype(places))
        if kind.kind != "u":
            raise places.fail("should be of an unsigned integer type.")
        where = self._strided(places, place_view, count, 1, kind, places.whole("byteOffset", 0))[:, 0]
        if count and int(where.max()) >= len(values):
            raise places.fail(f"has index {int(where.max())}, but the accessor has {len(values)} entries.")
        offset = amounts.whole("byteOffset", 0)
        values[where] = self._strided(amounts, value_view, count, values.shape[1], values.dtype, offset)
