"""The chat's history on disk: one JSON line per exchange, durable as soon as it is written.

A line that waits for its answer has a row of its own, ``{"at", "line", "user"}``; the exchange's row, ``{"at",
"language", "user", "reply"}``, then bears the same ``line``. Rows of exchanges without a ``line`` stand for themselves.
A crash can tear at most the row being written; a torn or damaged row is skipped when reading, and kept in the file.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from idol.dialogue.prompt import Exchange
from idol.seams import LANGUAGES


@dataclass(frozen=True, slots=True)
class PastLine:
    """A line as it was typed, ``time.time()`` of when in seconds (0 when unknown), and what was heard of the answer:
    empty while there is none."""

    text: str
    reply: str
    at: float


class History:
    """Exchanges of one persona. ``path`` None keeps them in memory only. Any thread."""

    def __init__(self, path: Path | None, keep: int = 200) -> None:
        self._path = path
        self._keep = keep
        self._exchanges: list[Exchange] = []
        self._past: dict[str, PastLine] = {}
        self._begun = f"{time.time_ns():x}"
        self._lock = threading.Lock()
        self.skipped = 0
        """Damaged rows met while reading."""
        if path is not None and path.exists():
            self._read(path)

    @property
    def exchanges(self) -> Sequence[Exchange]:
        """What was heard, oldest first, at most ``keep``. Lines without an answer are not among them."""
        return self._exchanges

    def recent(self, limit: int) -> list[PastLine]:
        """The last ``limit`` lines, at most ``keep``, in the order in which they were typed, answered or not."""
        with self._lock:
            return list(self._past.values())[-limit:] if limit > 0 else []

    def note(self, turn_id: int, text: str) -> None:
        """Write down that ``text`` waits for its answer. It survives the end of this program, not of the machine.
        Raises ``OSError``; the line is remembered all the same."""
        with self._lock:
            key, now = self._key(turn_id), time.time()
            if key in self._past:
                return
            self._remember(key, PastLine(text, "", now))
            self._append({"at": round(now, 3), "line": key, "user": text}, durable=False)

    def add(self, exchange: Exchange, turn_id: int | None = None) -> None:
        """Append and flush to the disk; ``turn_id`` is that of ``note``, if the line was noted. Raises ``OSError``; the
        exchange is remembered all the same."""
        with self._lock:
            self._exchanges = [*self._exchanges, exchange][-self._keep :]
            now = time.time()
            row: dict[str, object] = {
                "at": round(now, 3),
                "language": exchange.language,
                "user": exchange.user,
                "reply": exchange.reply,
            }
            key = self._key(turn_id) if turn_id is not None else ""
            if key in self._past:
                row["line"] = key
            self._answered(key, exchange, now)
            self._append(row, durable=True)

    def forget(self) -> None:
        """Start anew; the old file is kept beside with a time in its name."""
        with self._lock:
            self._exchanges = []
            self._past = {}
            if self._path is not None and self._path.exists():
                self._path.replace(self._kept_name(int(time.time())))

    def _key(self, turn_id: int) -> str:
        return f"{self._begun}-{turn_id}"

    def _answered(self, key: str, exchange: Exchange, at: float) -> None:
        waiting = self._past.get(key)
        if waiting is not None:
            self._past[key] = replace(waiting, reply=exchange.reply)
        else:
            self._remember(key or f"{self._begun}+{len(self._past)}+{at}", PastLine(exchange.user, exchange.reply, at))

    def _remember(self, key: str, line: PastLine) -> None:
        self._past[key] = line
        while len(self._past) > self._keep:
            del self._past[next(iter(self._past))]

    def _append(self, row: dict[str, object], *, durable: bool) -> None:
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        torn = self._path.exists() and not self._ends_whole()
        with self._path.open("a", encoding="utf-8") as file:
            file.write(("\n" if torn else "") + json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
            if durable:
                os.fsync(file.fileno())

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
        for number, text in enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n")):
            # Split at that character only: U+2028 ends no row in JSON.
            try:
                row = json.loads(text)
                at = row.get("at", 0)
                at = float(at) if isinstance(at, int | float) else 0.0
                key = str(row["line"]) if "line" in row else ""
                if key and "reply" not in row:
                    self._remember(key, PastLine(str(row["user"]), "", at))
                    continue
                language = next(known for known in LANGUAGES if known == row["language"])
                exchange = Exchange(str(row["user"]), str(row["reply"]), language)
            except (ValueError, KeyError, TypeError, AttributeError, StopIteration):
                self.skipped += bool(text.strip())
                continue
            self._exchanges.append(exchange)
            self._answered(key or f"{self._begun}:{number}", exchange, at)
        self._exchanges = self._exchanges[-self._keep :]
