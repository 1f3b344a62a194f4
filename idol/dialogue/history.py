"""The chat's history on disk: one JSON line per exchange, durable as soon as it is written.

A crash can tear at most the line being written; a torn or damaged line is skipped when reading, and kept in the file.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

from idol.dialogue.prompt import Exchange
from idol.seams import LANGUAGES


class History:
    """Exchanges of one persona. ``path`` None keeps them in memory only."""

    def __init__(self, path: Path | None, keep: int = 200) -> None:
        self._path = path
        self._keep = keep
        self._exchanges: list[Exchange] = []
        self.skipped = 0
        """Damaged lines met while reading."""
        if path is not None and path.exists():
            self._read(path)

    @property
    def exchanges(self) -> Sequence[Exchange]:
        """Oldest first, at most ``keep``."""
        return self._exchanges

    def add(self, exchange: Exchange) -> None:
        """Append and flush to the disk. Raises ``OSError``; the exchange is remembered all the same."""
        self._exchanges = [*self._exchanges, exchange][-self._keep :]
        if self._path is None:
            return
        row = {
            "at": round(time.time(), 3),
            "language": exchange.language,
            "user": exchange.user,
            "reply": exchange.reply,
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        torn = self._path.exists() and not self._ends_whole()
        with self._path.open("a", encoding="utf-8") as file:
            file.write(("\n" if torn else "") + json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def forget(self) -> None:
        """Start anew; the old file is kept beside with a time in its name."""
        self._exchanges = []
        if self._path is not None and self._path.exists():
            self._path.replace(self._kept_name(int(time.time())))

    def _kept_name(self, at: int) -> Path:
        assert self._path is not None
        while (kept := self._path.with_name(f"{self._path.stem}-{at}.jsonl")).exists():
            at += 1
        return kept

    def _ends_whole(self) -> bool:
        assert self._path is not None
        with self._path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            if file.tell() == 0:
                return True
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"

    def _read(self, path: Path) -> None:
        for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):  # U+2028 ends no line in JSON
            try:
                row = json.loads(line)
                language = next(known for known in LANGUAGES if known == row["language"])
                self._exchanges.append(Exchange(str(row["user"]), str(row["reply"]), language))
            except (ValueError, KeyError, TypeError, StopIteration):
                self.skipped += bool(line.strip())
        self._exchanges = self._exchanges[-self._keep :]
