"""Files a user asked for: looked at before the work whose result they take, and written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def check_place(path: Path) -> None:
    """Make the folders ``path`` lies in and see whether a file can be written there.

    Raises ``OSError`` whose ``strerror`` and ``filename`` say what is in the way.
    """
    name = os.fspath(path)
    if path.is_dir():
        raise IsADirectoryError(21, "it is a folder", name)
    if _special(path):
        if not os.access(path, os.W_OK):
            raise PermissionError(13, "it may not be written to", name)
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f"{path.name}."):
            pass
    except FileExistsError as error:
        raise NotADirectoryError(20, f"{error.filename} is a file, not a folder", name) from error
    except OSError as error:
        raise _about(error, path) from error
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(13, "it is write-protected", name)


def write_whole(path: Path, content: bytes) -> None:
    """Write ``content``; what ``path`` held before is replaced in one step, or stays when that fails. Missing folders
    are made. Raises ``OSError`` that names ``path``."""
    growing = path.with_name(path.name + ".new")
    try:
        if _special(path):
            path.write_bytes(content)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            growing.write_bytes(content)
            growing.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                growing.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise _about(error, path) from error


def _special(path: Path) -> bool:
    """A pipe or a device: it is written into, not replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _about(error: OSError, path: Path) -> OSError:
    return OSError(error.errno, error.strerror or str(error), os.fspath(path))
