"""glTF accessors (glTF 2.0, sections 3.6.2 and 3.6.3): strides, sparse values, normalised integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from idol.avatar.compression import meshopt_of, unpack_meshopt
from idol.avatar.container import Container
from idol.avatar.cursor import Cursor
from idol.avatar.errors import AvatarError

_TYPES: dict[int, type[np.generic]] = {
    5120: np.int8, 5121: np.uint8, 5122: np.int16, 5123: np.uint16, 5125: np.uint32, 5126: np.float32,
}  # fmt: skip
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}
MAX_ELEMENTS = 40_000_000
"""Numbers in one accessor; far above any avatar, and it keeps a hostile count from taking the memory."""
LARGEST = 1e15
"""Metres or anything else: what is larger overflows once it is squared and summed."""
MAX_TOTAL_NUMBERS = 200_000_000
"""Numbers that one file may have read, all its accessors together."""


class Accessors:
    """The accessors of one document. A read gives a contiguous array that others may have got too: do not write to it.

    What was read is kept until ``forget``: exporters let the primitives of a mesh share their accessors.
    """

    def __init__(self, container: Container) -> None:
        self._buffers = container.buffers
        self._views = container.json.items("bufferViews")
        self._accessors = container.json.items("accessors")
        self._numbers = 0
        self._unpacked: dict[int, memoryview] = {}
        self._decoded: dict[int, NDArray[Any]] = {}
        self._kept: dict[tuple[int, int], NDArray[np.float32]] = {}
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
        packed = meshopt_of(view)
        if packed is not None:
            if index not in self._unpacked:
                self._unpacked[index] = unpack_meshopt(*packed, self._buffers)
                self._spend(len(self._unpacked[index]) // 4, view)
            return self._unpacked[index]
        buffer = view.index("buffer", len(self._buffers), "buffer")
        if buffer is None:
            raise view.fail("names no buffer.")
        start, length = view.whole("byteOffset", 0), view.whole("byteLength")
        data = self._buffers[buffer]
        if start + length > len(data):
            raise view.fail(f"reaches byte {start + length} of a buffer with {len(data)} bytes.")
        return data[start : start + length]

    def forget(self) -> None:
        """Let go of the arrays that were read so far."""
        self._kept.clear()

    def preset(self, index: int, values: NDArray[Any], where: str) -> None:
        """``values`` (count, width) stand for what accessor ``index`` has no bytes for: a Draco mesh held them."""
        if not 0 <= index < len(self._accessors):
            raise AvatarError(f"points at accessor {index}, but the file has {len(self._accessors)}.", where)
        accessor = self._accessors[index]
        if len(values) != accessor.whole("count", high=MAX_ELEMENTS):
            raise accessor.fail(f"has {accessor.whole('count')} entries, but the compressed mesh has {len(values)}.")
        self._decoded[index] = values
        self._kept = {key: kept for key, kept in self._kept.items() if key[0] != index}

    def floats(self, index: int, width: int, where: str) -> NDArray[np.float32]:
        """Shape (count, width); normalised integers become 0..1 or -1..1, plain integers their value."""
        if (index, width) not in self._kept:
            self._kept[index, width] = self._floats(index, width, where)
        return self._kept[index, width]

    def _floats(self, index: int, width: int, where: str) -> NDArray[np.float32]:
        raw, accessor = self._read(index, width, where)
        if raw.dtype == np.float32:
            if not np.isfinite(raw).all():
                raise accessor.fail("holds numbers that are not finite (NaN or infinity).")
            if len(raw) and float(np.abs(raw).max()) > LARGEST:
                raise accessor.fail(f"holds a number above {LARGEST:.0e}.")
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
        if count * width > MAX_ELEMENTS:
            raise accessor.fail(f"has {count} entries of {width} numbers: more than the limit.")
        self._spend(count * width, accessor)
        if index in self._decoded:
            return self._preset_values(accessor, self._decoded[index], width, dtype), accessor
        view = accessor.index("bufferView", len(self._views), "buffer view")
        if view is None:
            values = np.zeros((count, width), dtype)
        else:
            values = self._strided(accessor, view, count, width, dtype, accessor.whole("byteOffset", 0))
        sparse = accessor.child("sparse")
        if sparse is not None:
            self._apply_sparse(sparse, values)
        return values, accessor

    def _spend(self, numbers: int, owner: Cursor) -> None:
        self._numbers += numbers
        if self._numbers > MAX_TOTAL_NUMBERS:
            raise owner.fail(
                f"brings the file over the limit of {MAX_TOTAL_NUMBERS} numbers.",
                "Export it with fewer polygons or fewer morph targets.",
            )

    @staticmethod
    def _preset_values(accessor: Cursor, values: NDArray[Any], width: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        if values.shape[1] != width:
            raise accessor.fail(f"needs {width} numbers per entry, but the compressed mesh has {values.shape[1]}.")
        # An attribute that Draco quantised comes back as floats whatever the accessor says; else the types agree.
        return values.astype(np.float32 if values.dtype.kind == "f" else dtype)

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
