"""Carries events from the show's worker thread to the main thread through a queued Qt signal."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Signal

from idol.show.interface import ShowEvent, ShowInterface


class ShowBridge(QObject):
    """``arrived`` is emitted on the main thread."""

    arrived = Signal(object)
    _queued = Signal(object)

    def __init__(self, show: ShowInterface, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._queued.connect(self.arrived, Qt.ConnectionType.QueuedConnection)
        self._unsubscribe = show.subscribe(self._on_event)

    def close(self) -> None:
        self._unsubscribe()

    def _on_event(self, event: ShowEvent) -> None:
        self._queued.emit(event)
