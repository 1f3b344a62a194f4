"""The growing half of a file: ``NAME.<key>.part`` with ``NAME.<key>.part.json`` beside it.

The JSON says how many bytes are certain (flushed to the disk) and how many package members they are made of. Each
source grows its own part, so that falling over to another source never throws away what the first one brought.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import BinaryIO

from engines.catalogue import ModelFile, Source
from engines.errors import FetchError

CHECKPOINT_BYTES = 16 << 20
"""A killed process loses at most this much of a plain download."""


class PartFile:
    """An open ``.part`` file, positioned behind its certain bytes. Use it in a ``with``.

    ``size`` bytes are in it, made of ``members`` whole package members (0 for plain sources).
    """

    def __init__(self, target: Path, place: int, source: Source) -> None:
        self.target = target
        self.path = part_path(target, place, source)
        self._identity = source_identity(source)
        self._plain = not source.members
        self._digest = hashlib.sha256()
        self._file: BinaryIO | None = None
        self.size = 0
        self.members = 0
        self._certain = 0
        self._certain_members = 0

    def __enter__(self) -> PartFile:
        """Open, cut back to what is certain, and hash it. Raises ``OSError``."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._certain, self._certain_members = self._read_state()
        self._file = self.path.open("r+b" if self.path.exists() else "w+b")
        self._file.truncate(self._certain)
        while block := self._file.read(1 << 20):
            self._digest.update(block)
        self.size, self.members = self._certain, self._certain_members
        return self

    def __exit__(self, *error: object) -> None:
        """Keep what is certain; a plain download is certain up to its last byte."""
        if self._file is None:
            return
        with contextlib.suppress(OSError):  # a full disk: the last checkpoint stands
            if self._plain:
                self.checkpoint()
        with contextlib.suppress(OSError):
            self._file.close()
        self._file = None

    def append(self, block: bytes) -> None:
        """Write and hash ``block``. Raises ``OSError``, e.g. when the disk is full."""
        self._open_file().write(block)
        self._digest.update(block)
        self.size += len(block)
        if self._plain and self.size - self._certain >= CHECKPOINT_BYTES:
            self.checkpoint()

    def member_done(self) -> None:
        """The bytes up to here are whole members."""
        self.members += 1
        self.checkpoint()

    def checkpoint(self) -> None:
        """Make all bytes so far certain."""
        file = self._open_file()
        file.flush()
        os.fsync(file.fileno())
        row = {"bytes": self.size, "members": self.members, "source": self._identity}
        temporary = self._state_path.with_name(self._state_path.name + ".new")
        temporary.write_text(json.dumps(row), encoding="utf-8")
        temporary.replace(self._state_path)
        self._certain, self._certain_members = self.size, self.members

    def restart(self) -> None:
        """Forget all bytes."""
        file = self._open_file()
        file.seek(0)
        file.truncate(0)
        self._digest = hashlib.sha256()
        self.size = self.members = 0
        self.checkpoint()

    def is_right(self, file: ModelFile) -> bool:
        """Whether size and SHA-256 are the catalogue's."""
        return self.size == file.bytes and self._digest.hexdigest() == file.sha256

    def finish(self) -> None:
        """Give the file its name, in one step, and drop every part of it."""
        file = self._open_file()
        file.flush()
        os.fsync(file.fileno())
        file.close()
        self._file = None
        self.path.replace(self.target)
        drop_parts(self.target)

    def _open_file(self) -> BinaryIO:
        if self._file is None:
            raise FetchError(f"{self.path.name} is not open.", "Use a PartFile in a with statement.")
        return self._file

    @property
    def _state_path(self) -> Path:
        return self.path.with_name(self.path.name + ".json")

    def _read_state(self) -> tuple[int, int]:
        try:
            row = json.loads(self._state_path.read_text(encoding="utf-8"))
            certain, members = int(row["bytes"]), int(row["members"])
            if row["source"] == self._identity and self.path.stat().st_size >= certain >= 0 and members >= 0:
                return certain, members
        except (OSError, ValueError, KeyError, TypeError):
            pass  # no state or a damaged one: nothing is certain
        return 0, 0


def part_path(target: Path, place: int, source: Source) -> Path:
    """Where the ``place``-th source of a file lets it grow."""
    return target.with_name(f"{target.name}.{place}-{source.kind}.part")


def arrived(target: Path) -> int:
    """Bytes of the furthest part of ``target``."""
    sizes = [0]
    for part in target.parent.glob(f"{_literal(target.name)}.*.part"):
        with contextlib.suppress(OSError):
            sizes.append(part.stat().st_size)
    return max(sizes)


def drop_parts(target: Path) -> None:
    """Delete the parts of ``target`` from all sources."""
    for pattern in (".*.part", ".*.part.json", ".*.part.json.new"):
        for part in target.parent.glob(_literal(target.name) + pattern):
            part.unlink(missing_ok=True)


def source_identity(source: Source) -> str:
    """Changes when the catalogue names other bytes."""
    text = "|".join((source.kind, source.repository, source.revision, source.path, *source.members))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _literal(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
