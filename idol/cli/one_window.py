"""One window for one data folder: two would write the same history, draft and settings."""

from __future__ import annotations

import logging
from pathlib import Path

from PySide6.QtCore import QLockFile

log = logging.getLogger(__name__)


class OneWindow:
    """Holds ``folder`` for this process while it is open. The lock of a process that is gone does not count."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock: QLockFile | None = None

    def trouble(self) -> str:
        """Take the folder: why that cannot be, with what to do; empty when it is taken, or when nothing can be written
        there anyway."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            log.warning("no lock: %s", error)
            return ""
        lock = QLockFile(str(self._folder / "idol.lock"))
        lock.setStaleLockTime(0)  # an old lock of a process that lives is good; others are found by the process
        if lock.tryLock(0):
            self._lock = lock
            return ""
        if lock.error() != QLockFile.LockError.LockFailedError:
            log.warning("no lock: %s", lock.error())
            return ""
        holder = lock.getLockInfo()  # process, host, program; PySide's stubs say otherwise
        process = f" (process {holder[0]})" if isinstance(holder, tuple) else ""
        return (
            f"Idol is open already{process}, with the data in {self._folder}. "
            "Go on in that window, or close it and start again. "
            "For a second idol, give IDOL_DATA and IDOL_SETTINGS other places."
        )

    def close(self) -> None:
        if self._lock is not None:
            self._lock.unlock()
            self._lock = None
