"""The health log: one row a sample, as CSV or as JSON lines, in files of bounded size."""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import json
import logging
import os
from collections.abc import Callable
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Protocol

from engines.health.sample import HealthSample

log = logging.getLogger(__name__)
LogForm = Literal["csv", "jsonl"]
COLUMNS: tuple[str, ...] = ("time", *(field.name for field in fields(HealthSample) if field.name != "wall"))
"""Names of a row's values: UTC time in ISO 8601, then the fields of ``HealthSample`` (its units)."""


class RawFile(Protocol):
    """What the log needs of a file: unbuffered, so that a row is with the system as soon as it is written."""

    def write(self, data: bytes, /) -> int | None: ...

    def close(self) -> None: ...


def _append(path: Path) -> RawFile:
    return path.open("ab", buffering=0)


class HealthLog:
    """Writes ``health.csv`` or ``health.jsonl`` in ``folder``; at ``limit`` bytes it becomes ``health.1.csv`` and so
    on, ``keep`` files in all. Nothing it does raises: when the disk is full it warns once and writes no more.
    """

    def __init__(
        self,
        folder: Path,
        form: LogForm = "csv",
        *,
        limit: int = 5_000_000,
        keep: int = 3,
        open_file: Callable[[Path], RawFile] = _append,
    ) -> None:
        if limit < 1 or keep < 1:
            raise ValueError(f"limit {limit} bytes and keep {keep} files must be at least 1")
        self.path = folder / f"health.{form}"
        self.stopped = False
        self._form = form
        self._limit = limit
        self._keep = keep
        self._open_file = open_file
        self._file: RawFile | None = None
        self._size = 0

    def write(self, sample: HealthSample) -> None:
        """Append one row."""
        if self.stopped:
            return
        try:
            row = self._row(sample)
            if self._file is None:
                self._open()
            if self._size + len(row) > self._limit and self._size > len(self._header()):
                self._rotate()
            self._put(row)
        except OSError as error:
            self.stopped = True
            log.warning("the health log ends here: %s cannot be written (%s); free disk space", self.path, error)
            self.close()

    def close(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def _open(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self.path.open("rb") as file:
                first = file.readline(4096)
                self._size = file.seek(0, os.SEEK_END)
                file.seek(max(0, self._size - 1))
                whole = file.read(1) in (b"\n", b"")
        except FileNotFoundError:
            first, whole, self._size = b"", True, 0
        if self._size and self._header() and first != self._header():
            self._shift()  # another version's columns
            whole, self._size = True, 0
        self._file = self._open_file(self.path)
        if not self._size:
            self._put(self._header())
        elif not whole:
            self._put(b"\n")  # a crash cut the last row short

    def _rotate(self) -> None:
        self.close()
        self._shift()
        self._size = 0
        self._file = self._open_file(self.path)
        self._put(self._header())

    def _shift(self) -> None:
        for number in range(self._keep - 1, 0, -1):
            older = self._numbered(number - 1)
            if older.exists():
                older.replace(self._numbered(number))
        if self._keep == 1:
            self.path.unlink(missing_ok=True)

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"health.{number}.{self._form}") if number else self.path

    def _put(self, data: bytes) -> None:
        if self._file is None or not data:
            return
        written = self._file.write(data)
        if written is not None and written != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._size += len(data)

    def _header(self) -> bytes:
        return (",".join(COLUMNS) + "\n").encode() if self._form == "csv" else b""

    def _row(self, sample: HealthSample) -> bytes:
        values = asdict(sample)
        time = datetime.fromtimestamp(values.pop("wall"), UTC).isoformat(timespec="milliseconds")
        values = {"time": time, **values}
        for name in ("at", "power", "power_limit", "processor"):
            if values[name] is not None:
                values[name] = round(values[name], 3)
        if self._form == "jsonl":
            known = {name: value for name, value in values.items() if value is not None}
            return (json.dumps(known, ensure_ascii=False) + "\n").encode()
        if values["throttles"] is not None:
            values["throttles"] = "; ".join(values["throttles"]) or "none"
        for name in ("card", "trouble"):
            values[name] = " ".join(values[name].split())  # a row is one line, whatever a driver says
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow("" if v is None else v for v in values.values())
        return text.getvalue().encode()
