"""Loads avatars beside the window: one at a time on a thread of its own, the latest wish first."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Qt, QTimer, Signal

from idol.avatar import Avatar, AvatarError
from idol.avatar.card import card_of
from idol.avatar.container import parse_container, read_file
from idol.avatar.gesture_scores import SCORES
from idol.avatar.loading import avatar_of
from idol.render.prepared import PreparedAvatar, prepare
from idol.ui.stage_memory import content_key

PATIENCE_MS = 8000
"""How long a load waits for the end of one before it that is not wanted any more."""
BEHIND = 5
"""Niceness of the threads that load. More would let one be put aside while it has Python's lock."""


@dataclass(frozen=True, slots=True)
class LoadedAvatar:
    """``key`` is the hash of the file; ``thumbnail`` RGBA (height, width, 4) where it has one. ``prepared`` is for the
    view, and None once that has it."""

    path: Path
    key: str
    avatar: Avatar
    thumbnail: NDArray[np.uint8] | None
    prepared: PreparedAvatar | None


class AvatarLoader(QObject):
    """``loaded(LoadedAvatar)`` or ``failed(path, message)`` for the latest ``load`` only, on the main thread.

    Parsing cannot be broken off: what comes of a cancelled load is dropped, and the next begins after it; or, where
    reading hangs (a network place that is gone), beside it.
    """

    loaded = Signal(object)
    failed = Signal(object, str)
    busy = Signal(str)
    """The name of the file that is being loaded, '' when none is."""
    _ended = Signal(int, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._thread: threading.Thread | None = None
        self._running = 0
        """The turn of ``_thread``."""
        self._patience = QTimer(self, singleShot=True, interval=PATIENCE_MS)
        self._patience.timeout.connect(self._go_past)
        self._wanted: Path | None = None
        self._turn = 0
        self._ended.connect(self._on_ended, Qt.ConnectionType.QueuedConnection)

    @property
    def loading(self) -> bool:
        """A result is still to come."""
        return self._wanted is not None

    def load(self, path: Path) -> None:
        """Begin; an earlier load that has not come to its end is dropped."""
        self._turn += 1
        self._wanted = path
        self.busy.emit(path.name)
        if self._thread is None:
            self._start()
        elif not self._patience.isActive():
            self._patience.start()

    def cancel(self) -> None:
        """What is on stage stays."""
        self._turn += 1
        self._wanted = None
        self.busy.emit("")

    def close(self, timeout: float = 3.0) -> None:
        self._turn += 1
        self._wanted = None
        if self._thread is not None:
            self._thread.join(timeout)

    def _start(self) -> None:
        assert self._wanted is not None
        self._patience.stop()
        self._running = self._turn
        self._thread = threading.Thread(
            target=self._run, args=(self._turn, self._wanted), name="idol-avatar", daemon=True
        )  # fmt: skip
        self._thread.start()

    def _go_past(self) -> None:
        """The load before the one that is wanted does not end: leave it behind."""
        if self._thread is not None and self._wanted is not None and self._running != self._turn:
            self._start()

    def _run(self, turn: int, path: Path) -> None:
        result: LoadedAvatar | str
        _step_back()
        try:
            result = _read(path)
        except AvatarError as error:
            result = str(error)
        except Exception as error:  # a thread's failure must reach the window
            result = f"{path.name} could not be loaded: {error!r}. Export it again; if that does not help, report it."
        self._ended.emit(turn, result)

    def _on_ended(self, turn: int, result: LoadedAvatar | str) -> None:
        if turn != self._running:
            return  # left behind
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if turn != self._turn:
            if self._wanted is not None:
                self._start()
            return
        path, self._wanted = self._wanted, None
        self.busy.emit("")
        if isinstance(result, str):
            self.failed.emit(path, result)
        else:
            self.loaded.emit(result)


def _step_back() -> None:
    """Let this thread, and those it starts, have a processor when those that draw and speak do not want it."""
    if sys.platform.startswith("linux"):  # where niceness is a thread's
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), BEHIND)


def _read(path: Path) -> LoadedAvatar:
    """Everything that can be done before the graphics card and the window are needed. Raises AvatarError."""
    content = read_file(path)
    container = parse_container(content, path.name)
    avatar = avatar_of(container, path)
    for score in SCORES.values():
        avatar.motion.computed(score)
    return LoadedAvatar(path, content_key(content), avatar, card_of(container).thumbnail, prepare(avatar))
