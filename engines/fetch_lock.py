"""One fetcher at a time in a models folder.

The operating system holds the lock and drops it when its process dies, so a crash never leaves a stale one; the number
in the file only tells who holds it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from engines.errors import FetchError


@contextlib.contextmanager
def fetch_lock(path: Path) -> Iterator[None]:
    """Hold ``path`` locked. Raises ``FetchError`` at once when another process or thread holds it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", encoding="ascii")
    except OSError as error:
        raise FetchError(
            f"{path.parent} cannot be written: {error.strerror or error}.",
            "Name another place with the environment variable IDOL_MODELS.",
        ) from error
    with file:
        if not _take(file):
            file.seek(0)
            owner = file.read(20).strip()
            raise FetchError(
                f"Another fetch is running{f' (process {owner})' if owner else ''} in {path.parent}.",
                "Wait for it to end, then start again.",
            )
        file.seek(0)
        file.truncate()
        file.write(str(os.getpid()))
        file.flush()
        try:
            yield
        finally:
            file.seek(0)
            file.truncate()
            _give(file)


if sys.platform == "win32":
    import msvcrt

    _PLACE = 1 << 20  # a byte behind the number, so that the number stays readable

    def _take(file: IO[str]) -> bool:
        try:
            file.seek(_PLACE)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _give(file: IO[str]) -> None:
        file.seek(_PLACE)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _take(file: IO[str]) -> bool:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _give(file: IO[str]) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_UN)
