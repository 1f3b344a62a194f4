"""Reads model files in full and compares them with the catalogue."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from engines.catalogue import Model, ModelFile
from engines.errors import Cancelled


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A file that is not what the catalogue says. ``what`` completes "NAME ..."."""

    file: ModelFile
    what: str
    present: bool


def verify(
    model: Model, progress: Callable[[str], None] | None = None, cancel: Callable[[], bool] | None = None
) -> list[FileProblem]:
    """Problems of ``model``'s files: missing, of another size, of another SHA-256, unreadable. Changes nothing."""
    problems = []
    for file in model.files:
        if progress is not None:
            progress(file.name)
        path = model.folder / file.name
        if not path.is_file():
            problems.append(FileProblem(file, "is missing", False))
            continue
        size, digest = 0, hashlib.sha256()
        try:
            with path.open("rb") as opened:
                while block := opened.read(1 << 20):
                    if cancel is not None and cancel():
                        raise Cancelled("Verifying was cancelled.")
                    size += len(block)
                    digest.update(block)
        except OSError as error:
            problems.append(FileProblem(file, f"cannot be read: {error.strerror or error}", True))
            continue
        if size != file.bytes:
            problems.append(FileProblem(file, f"has {size} bytes instead of {file.bytes}", True))
        elif digest.hexdigest() != file.sha256:
            problems.append(FileProblem(file, "has another SHA-256 than the catalogue says", True))
    return problems
