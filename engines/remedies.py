"""What to do about a damaged model file, as the command that does it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engines.catalogue import load_catalogue
from engines.errors import FETCH_AGAIN, ModelFileError
from engines.store import files_dir


def mend_remedy(path: Path) -> str:
    """How to get ``path``, a model's file or folder, whole again."""
    try:
        name = path.resolve().relative_to(files_dir().resolve()).parts[0]
    except (ValueError, IndexError):
        name = ""
    if name in load_catalogue().models:
        return f"Fetch it again: main.py models verify --repair {name}."
    return f"Copy or download {path} again."


@contextmanager
def mending(path: Path) -> Iterator[None]:
    """Within it, a ``ModelFileError`` about damage says how to get ``path`` whole again."""
    try:
        yield
    except ModelFileError as error:
        if error.remedy != FETCH_AGAIN:
            raise
        raise type(error)(error.message, mend_remedy(path)) from error
