"""A GGUF file, read without trust: header, metadata and the table of tensors, mapped not copied.

Format: the GGUF specification, versions 2 and 3 (little-endian). Every count and offset is checked against the file's
size before it is used, so a truncated or hostile file ends in ``ModelFileError``, never in a crash or a hang.
"""

from __future__ import annotations

import contextlib
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from engines.errors import FETCH_AGAIN, ModelFileError

_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_MAX_DIMENSIONS = 4

# ggml type number -> (name, weights per block, bytes per block); from ggml's type table.
BLOCK_TYPES: dict[int, tuple[str, int, int]] = {
    0: ("F32", 1, 4),
    1: ("F16", 1, 2),
    2: ("Q4_0", 32, 18),
    3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34),
    10: ("Q2_K", 256, 84),
    11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210),
    30: ("BF16", 1, 2),
}


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """Where a tensor lies. ``shape`` is in NumPy order (rows first); ``type_name`` is ggml's, e.g. ``Q4_K``."""

    name: str
    shape: tuple[int, ...]
    type_name: str
    offset: int
    bytes: int


class GgufFile:
    """An open GGUF file. A context manager; tensors are views into the mapping and die with it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise ModelFileError(
                f"{path.name} cannot be read: {error}.", "Check the path, or fetch it again."
            ) from error
        self._view = memoryview(self._map)
        self._at = 0
        try:
            self.metadata: dict[str, Any] = {}
            self.tensors: dict[str, TensorEntry] = {}
            self._parse()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the mapping back. Arrays that still point into it keep it alive."""
        self._view.release()
        with contextlib.suppress(BufferError):  # an array still points here: the mapping ends with it
            self._map.close()

    @property
    def architecture(self) -> str:
        return str(self.metadata.get("general.architecture", ""))

    def number(self, key: str, default: float | None = None) -> float:
        """A numeric metadata value of this architecture (``{arch}.key``). Raises ``ModelFileError`` when missing."""
        full = f"{self.architecture}.{key}"
        value = self.metadata.get(full, default)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self._bad(f"metadata {full!r} is {value!r}, a number is needed")
        return value

    def raw(self, name: str) -> NDArray[np.uint8]:
        """The tensor's bytes, shape [rows, bytes per row] (a one-dimensional tensor has one row)."""
        entry = self.tensors[name]
        rows = int(np.prod(entry.shape[:-1])) if len(entry.shape) > 1 else 1
        flat = np.frombuffer(self._map, np.uint8, entry.bytes, entry.offset)
        return flat.reshape(rows, entry.bytes // rows)

    def dequantised(self, name: str) -> NDArray[np.float32]:
        """The tensor as float32 in its shape (rows first)."""
        return dequantise(self.raw(name), self.tensors[name].type_name).reshape(self.tensors[name].shape)

    # -- parsing -------------------------------------------------------------------------------------------------

    def _bad(self, what: str) -> ModelFileError:
        return ModelFileError(f"{self.path.name} is damaged or not GGUF: {what}.", FETCH_AGAIN)

    def _read(self, format: str) -> Any:
        size = struct.calcsize(format)
        if self._at + size > len(self._view):
            raise self._bad(f"it ends at byte {len(self._view)}, where more was promised (truncated?)")
        (value,) = struct.unpack_from(format, self._view, self._at)
        self._at += size
        return value

    def _string(self) -> str:
        length = self._read("<Q")
        if length > len(self._view) - self._at:
            raise self._bad(f"a string of {length} bytes runs past the end of the file")
        text = bytes(self._view[self._at : self._at + length]).decode("utf-8", "replace")
        self._at += length
        return text

    def _value(self, kind: int, depth: int = 0) -> Any:
        if kind in _SCALARS:
            return self._read(_SCALARS[kind])
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY and depth < 2:
            inner, count = self._read("<I"), self._read("<Q")
            if count > len(self._view) - self._at:
                raise self._bad(f"an array of {count} items runs past the end of the file")
            if inner in _SCALARS:
                size = struct.calcsize(_SCALARS[inner])
                if count * size > len(self._view) - self._at:
                    raise self._bad(f"an array of {count} numbers runs past the end of the file")
                array = np.frombuffer(self._view, np.dtype(_SCALARS[inner]), count, self._at).copy()
                self._at += count * size
                return array
            return [self._value(inner, depth + 1) for _ in range(count)]
        raise self._bad(f"metadata of unknown type {kind}")

    def _parse(self) -> None:
        magic = bytes(self._view[:4])
        if magic != b"GGUF":
            raise self._bad(f"it begins with {magic!r}, GGUF begins with b'GGUF'")
        self._at = 4
        version = self._read("<I")
        if version not in (2, 3):
            raise self._bad(f"version {version}; versions 2 and 3 are known")
        tensors, pairs = self._read("<Q"), self._read("<Q")
        if tensors > 100_000 or pairs > 100_000:
            raise self._bad(f"it claims {tensors} tensors and {pairs} metadata entries")
        for _ in range(pairs):
            key = self._string()
            self.metadata[key] = self._value(self._read("<I"))
        entries = [self._entry() for _ in range(tensors)]
        alignment = self.metadata.get("general.alignment", 32)
        if not isinstance(alignment, int) or not 1 <= alignment <= 1 << 20:
            raise self._bad(f"alignment {alignment!r}")
        start = (self._at + alignment - 1) // alignment * alignment
        for entry in entries:
            offset = start + entry.offset
            if offset + entry.bytes > len(self._view):
                raise self._bad(
                    f"tensor {entry.name!r} should end at byte {offset + entry.bytes}, "
                    f"the file has {len(self._view)} (truncated?)"
                )
            self.tensors[entry.name] = TensorEntry(entry.name, entry.shape, entry.type_name, offset, entry.bytes)

    def _entry(self) -> TensorEntry:
        name, dimensions = self._string(), self._read("<I")
        if not 1 <= dimensions <= _MAX_DIMENSIONS:
            raise self._bad(f"tensor {name!r} has {dimensions} dimensions")
        shape = tuple(int(self._read("<Q")) for _ in range(dimensions))[::-1]
        kind, offset = self._read("<I"), self._read("<Q")
        if kind not in BLOCK_TYPES:
            raise self._bad(f"tensor {name!r} is of ggml type {kind}, which is not known here")
        type_name, block, size = BLOCK_TYPES[kind]
        count = 1
        for dimension in shape:
            count *= dimension
        if count <= 0 or shape[-1] % block or count // block * size > len(self._view):
            raise self._bad(f"tensor {name!r} of shape {shape} and type {type_name} does not fit the file")
        return TensorEntry(name, shape, type_name, int(offset), count // block * size)


def dequantise(raw: NDArray[np.uint8], type_name: str) -> NDArray[np.float32]:
    """Rows of raw blocks as float32 [rows, weights per row]; the reference implementation is the ``gguf`` package's."""
    if type_name == "F32":
        return np.ascontiguousarray(raw).view(np.float32)
    if type_name == "F16":
        return np.ascontiguousarray(raw).view(np.float16).astype(np.float32)
    if type_name == "BF16":
        return (np.ascontiguousarray(raw).view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    import gguf

    kind = gguf.GGMLQuantizationType[type_name]
    return np.asarray(gguf.quants.dequantize(raw, kind), dtype=np.float32)
