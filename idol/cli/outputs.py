"""The files a command is to write: refused before the work, and told with what to do when the writing fails."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from idol.show.whole_file import check_place

_ENDINGS = {"--wav": ".wav"}


def unwritable(outputs: Mapping[str, Path | None]) -> str:
    """What is wrong with the first of ``outputs`` (option → file) that cannot be written; '' when all can."""
    seen: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        try:
            check_place(path)
            place = path.resolve()
        except (OSError, ValueError) as error:  # a NUL in a name is a ValueError
            why = getattr(error, "strerror", None) or error
            instead = "Name another file, or mend what is in the way."
            if isinstance(error, IsADirectoryError):
                instead = f"Name a file in it, such as {path / 'idol'}{_ENDINGS.get(option, path.suffix or '.json')}."
            return f"{option} {path} cannot be written: {why}. {instead}"
        if place in seen and (place.is_file() or not place.exists()):
            return f"{seen[place]} and {option} name the same file, {path}. Name two."
        seen[place] = option
    return ""


def tell_unwritten(error: OSError) -> None:
    """Say on stderr which file could not be written, why, and what to do."""
    remedy = "Free disk space or name another place." if error.errno in (28, 122) else "Name another file."
    print(f"{error.filename} could not be written: {error.strerror}. {remedy}", file=sys.stderr)
