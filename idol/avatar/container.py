"""The GLB container (glTF 2.0, section 4.4): header, JSON chunk, binary chunk. Knows nothing of what they mean."""

from __future__ import annotations

import base64
import binascii
import json
import stat
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from idol.avatar.compression import MESHOPT
from idol.avatar.cursor import Cursor
from idol.avatar.errors import AvatarError

MAX_FILE_BYTES = 400 << 20
MAX_JSON_BYTES = 96 << 20
_MAGIC, _JSON, _BIN = 0x46546C67, 0x4E4F534A, 0x004E4942


@dataclass(frozen=True, slots=True)
class Container:
    """A glTF document and its buffers as bytes, in the order of ``buffers``."""

    json: Cursor
    buffers: tuple[memoryview, ...]


def read_container(path: Path) -> Container:
    """Read a ``.glb`` or ``.vrm`` (both are GLB), or a ``.gltf`` with embedded buffers.

    Raises AvatarError for anything else."""
    return parse_container(read_file(path), path.name)


def read_file(path: Path) -> bytes:
    """The bytes of an avatar's file. Raises AvatarError for one that is too large or cannot be read."""
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode) and not path.is_dir():
            raise AvatarError(f"{path} is a pipe or a device, not a file.", fix="Choose a .vrm or .glb file.")
        size = about.st_size
        if size > MAX_FILE_BYTES:
            raise AvatarError(
                f"{path.name} has {size >> 20} MB; the limit is {MAX_FILE_BYTES >> 20} MB.",
                fix="Export it with smaller textures or fewer polygons.",
            )
        return path.read_bytes()
    except OSError as error:
        raise AvatarError(
            f"{path} cannot be read ({error.strerror or error}).", fix="Check the path and its permissions."
        ) from error


def parse_container(data: bytes, name: str = "the file") -> Container:
    if data[:1] == b"{":
        return Container(*_with_buffers(_document(data, name), memoryview(b""), name))
    if not data:
        raise AvatarError(f"{name} is empty.", fix="Copy or download the file again.")
    if data[:4] == b"glTF" and len(data) < 20:
        raise AvatarError(
            f"{name} is cut short: only {len(data)} bytes are there.", fix="Copy or download the file again."
        )
    if data[:4] != b"glTF":
        start = data[:4].hex(" ")
        raise AvatarError(
            f"{name} is not a GLB or VRM file (it begins with {start}, not 'glTF').",
            fix="Choose a .vrm or .glb file; other formats (FBX, PMX, OBJ) must be exported to VRM first.",
        )
    version, length = struct.unpack_from("<II", data, 4)
    if version != 2:
        raise AvatarError(f"{name} is GLB version {version}; only version 2 can be read.")
    if length > len(data):
        raise AvatarError(
            f"{name} is cut short: its header says {length} bytes, {len(data)} are there.",
            fix="Copy or download the file again.",
        )
    document: Any = None
    binary = memoryview(b"")
    content = memoryview(data)  # a slice of the bytes would copy them, Python's lock held
    at = 12
    while at + 8 <= length:
        size, kind = struct.unpack_from("<II", data, at)
        at += 8
        if at + size > length:
            raise AvatarError(
                f"{name} is cut short inside a chunk of {size} bytes.", fix="Copy or download the file again."
            )
        if kind == _JSON and document is None:
            document = _document(bytes(content[at : at + size]), name)
        elif kind == _BIN and not binary:
            binary = content[at : at + size]
        at += size
    if document is None:
        raise AvatarError(f"{name} has no JSON chunk.")
    return Container(*_with_buffers(document, binary, name))


def _reject(word: str) -> NoReturn:
    raise ValueError(f"the number {word} is not allowed in JSON")


def _document(data: bytes, name: str) -> dict[str, Any]:
    if len(data) > MAX_JSON_BYTES:
        raise AvatarError(f"{name} has {len(data) >> 20} MB of JSON; the limit is {MAX_JSON_BYTES >> 20} MB.")
    try:
        # A name in another encoding is no reason to refuse an avatar: what is no UTF-8 in it is replaced.
        text = data.rstrip(b"\0 \n\r\t").decode("utf-8-sig", "replace")
        found = json.loads(text, parse_constant=_reject)
    except (ValueError, RecursionError) as error:
        raise AvatarError(f"The JSON of {name} cannot be read ({error}).") from error
    if not isinstance(found, dict):
        raise AvatarError(f"The JSON of {name} is a {type(found).__name__}, not an object.")
    return found


def _with_buffers(document: dict[str, Any], binary: memoryview, name: str) -> tuple[Cursor, tuple[memoryview, ...]]:
    root = Cursor(document)
    version = root.need("asset").text("version")
    if not version.startswith("2"):
        raise AvatarError(f"is glTF {version or 'without a version'}; only 2.x can be read.", "asset.version")
    buffers = []
    for i, buffer in enumerate(root.items("buffers")):
        length = buffer.whole("byteLength")
        uri = buffer.text("uri") if not isinstance(buffer.raw("uri"), str) else buffer.raw("uri")
        if not uri:
            if _is_fallback(buffer):
                # What a reader without the extension would read; its compressed views lie in another buffer.
                buffers.append(memoryview(b""))
                continue
            if i > 0:
                raise buffer.fail("has no uri, which only the first buffer may lack.")
            data: bytes | memoryview = binary
        elif uri.startswith("data:"):
            data = decode_data_uri(uri, buffer.path)
        else:
            raise buffer.fail(
                f"lies in another file ({uri[:80]}).", "Export as GLB or VRM, which holds everything in one file."
            )
        if length > len(data):
            raise buffer.fail(f"says {length} bytes, but {len(data)} are there.", "Copy or download the file again.")
        buffers.append(memoryview(data)[:length])
    return root, tuple(buffers)


def _is_fallback(buffer: Cursor) -> bool:
    extensions = buffer.child("extensions")
    held = [] if extensions is None else [extensions.child(name) for name in MESHOPT]
    return any(item is not None and item.flag("fallback") for item in held)


def decode_data_uri(uri: str, where: str) -> bytes:
    head, _, body = uri.partition(",")
    if not head.endswith(";base64"):
        raise AvatarError("is a data URI without base64.", where)
    try:
        return base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError) as error:
        raise AvatarError(f"has broken base64 ({error}).", where) from error
