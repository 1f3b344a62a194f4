"""Fetches missing models on a thread of its own and tells the window how far it is."""

from __future__ import annotations

import threading

from PySide6.QtCore import QObject, Signal

from engines.catalogue import load_catalogue
from engines.errors import Cancelled, EngineError
from engines.fetch import Fetcher, FetchProgress


class FetchTask(QObject):
    """Fetches what is missing of ``names``, sets and ids of the catalogue. ``progress(FetchProgress)``, then one of
    ``done()`` or ``failed(message)``; all on the main thread."""

    progress = Signal(object)
    done = Signal()
    failed = Signal(str)

    def __init__(self, *names: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._names = names
        self._cancelled = threading.Event()
        self._thread = threading.Thread(target=self._run, name="idol-fetch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def cancel(self) -> None:
        self._cancelled.set()

    def close(self, timeout: float = 10.0) -> None:
        """Cancel and wait; what has arrived is kept."""
        self.cancel()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def _run(self) -> None:
        try:
            Fetcher(load_catalogue().select(self._names), self._on_progress, self._cancelled.is_set).run()
        except Cancelled as error:
            self.failed.emit(str(error))
        except EngineError as error:
            self.failed.emit(str(error))
        except Exception as error:  # a thread's failure must reach the window
            self.failed.emit(f"Fetching failed: {error!r}")
        else:
            self.done.emit()

    def _on_progress(self, state: FetchProgress) -> None:
        self.progress.emit(state)
