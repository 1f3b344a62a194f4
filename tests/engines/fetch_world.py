"""A small world to fetch from: wheels in a folder, a hub, a Python index and an npm registry on this machine.

The servers can be told to break: ``breaks`` connections end after ``break_after`` bytes, ``status`` answers an error.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self

from engines.catalogue import Catalogue, parse_catalogue


def entry(model_id: str, name: str, data: bytes, *sources: str, sha256: str = "", size: int = 0) -> str:
    """A catalogue entry of one file in TOML; each source is the lines of its table."""
    tables = "".join(f"[[model.file.source]]\n{source}\n" for source in sources)
    return (
        f'[[model]]\nid = "{model_id}"\nwhat = "a test"\nfamily = "llama"\nlicence = "MIT"\nlanguages = ["en"]\n'
        f'[[model.file]]\nname = "{name}"\nbytes = {size or len(data)}\n'
        f'sha256 = "{sha256 or hashlib.sha256(data).hexdigest()}"\n{tables}'
    )


def members(kind: str, *names: str) -> str:
    return f'kind = "{kind}"\nmembers = {json.dumps(list(names))}'


HUB = 'kind = "hub"\nrepository = "someone/model"\npath = "model.bin"'


def catalogue_of(*entries: str) -> Catalogue:
    return parse_catalogue("\n".join(entries))


def wheel(name: str, files: dict[str, bytes], version: str = "1.0") -> tuple[str, bytes]:
    """File name and bytes of a wheel that pip takes."""
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    contents = {
        **{f"{module}/{path}": data for path, data in files.items()},
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*contents, f"{info}/RECORD"])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, data in {**contents, f"{info}/RECORD": record.encode()}.items():
            member = zipfile.ZipInfo(path)
            member.external_attr = 0o755 << 16
            archive.writestr(member, data)
    return f"{module}-{version}-py3-none-any.whl", packed.getvalue()


def npm_package(name: str, files: dict[str, bytes], version: str = "1.0.0") -> bytes:
    """Bytes of an npm package."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        manifest = json.dumps({"name": name, "version": version}).encode()
        for path, data in {"package.json": manifest, **files}.items():
            member = tarfile.TarInfo(f"package/{path}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()


class Server:
    """Serves ``files`` (path → bytes) with ranges; counts ``requests`` as (path, range)."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.types: dict[str, str] = {}
        self.requests: list[tuple[str, str]] = []
        self.breaks = 0
        self.break_after = 0
        self.status = 0
        self.ranges = True
        self.silent = threading.Event()
        self.silent.set()
        world = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                world._answer(self)

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="test-server")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.silent.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def add_wheel(self, name: str, files: dict[str, bytes]) -> str:
        """Put a wheel on the index; returns its path."""
        file, data = wheel(name, files)
        path = f"/files/{file}"
        self.files[path] = data
        digest = hashlib.sha256(data).hexdigest()
        page = f'<!DOCTYPE html><html><body><a href="{path}#sha256={digest}">{file}</a></body></html>'
        self.files[f"/simple/{name}/"] = page.encode()
        self.types[f"/simple/{name}/"] = "text/html"
        return path

    def add_npm(self, name: str, files: dict[str, bytes], version: str = "1.0.0") -> None:
        data = npm_package(name, files, version)
        path = f"/{name}/-/{name}-{version}.tgz"
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
        dist = {"tarball": self.url + path, "integrity": integrity, "shasum": hashlib.sha1(data).hexdigest()}
        self.files[path] = data
        self.files[f"/{name}"] = json.dumps(
            {
                "name": name,
                "dist-tags": {"latest": version},
                "versions": {version: {"name": name, "version": version, "dist": dist}},
            }
        ).encode()
        self.types[f"/{name}"] = "application/json"

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = handler.path.partition("?")[0]
        wanted = handler.headers.get("Range", "")
        self.requests.append((path, wanted))
        self.silent.wait(20)
        data = self.files.get(path)
        if self.status or data is None:
            handler.send_response(self.status or 404)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        found = re.match(r"bytes=(\d+)-", wanted) if self.ranges else None
        start = int(found[1]) if found else 0
        if start >= len(data) and found:
            handler.send_response(416)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        handler.send_response(206 if found else 200)
        handler.send_header("Content-Length", str(len(data) - start))
        handler.send_header("Content-Type", self.types.get(path, "application/octet-stream"))
        if found:
            handler.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        handler.end_headers()
        body = data[start:]
        if self.breaks and len(body) > self.break_after:
            self.breaks -= 1
            body = body[: self.break_after]
            handler.close_connection = True
        handler.wfile.write(body)


def put_wheels(folder: Path, packages: dict[str, dict[str, bytes]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, files in packages.items():
        file, data = wheel(name, files)
        (folder / file).write_bytes(data)
