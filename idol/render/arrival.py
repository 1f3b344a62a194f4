"""An avatar on its way into a view: uploaded in short slots between the pictures of the one that is drawn."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal

from idol.render.gl import OpenGLError, RenderError
from idol.render.prepared import PreparedAvatar
from idol.render.renderer import AvatarRenderer
from idol.render.upload import Upload

SLOT_SECONDS = 0.004
"""Of uploading at once; a step that is longer is done alone."""
SLOT_PAUSE_MS = 8
LONGEST_WAIT = 0.5
"""Seconds for a picture: a window that is not drawn lets programs draw first when she is seen."""


class Arrival(QObject):
    """``current`` takes the context of ``renderer``, False when there is none now, and ``done_current`` gives it back.
    ``ended(message)``: '' when ``upload`` is ``complete`` and may be taken, else why it failed; then it is freed."""

    progress = Signal(float)
    ended = Signal(str)

    def __init__(
        self,
        parent: QObject,
        renderer: AvatarRenderer,
        prepared: PreparedAvatar,
        *,
        current: Callable[[], bool],
        done_current: Callable[[], None],
    ) -> None:
        super().__init__(parent)
        self._renderer = renderer
        self.prepared = prepared
        self.upload: Upload | None = None
        self.complete = False
        self._current, self._done_current = current, done_current
        self._cold = -1
        self._waited_since = 0.0
        self._timer = QTimer(self)
        self._timer.setInterval(SLOT_PAUSE_MS)
        self._timer.timeout.connect(self._slot)
        self._timer.start()

    def stop(self) -> None:
        """No more slots. What was made stays, to be taken or dropped."""
        self._timer.stop()

    def begin_again(self) -> None:
        """The context is lost, and with it what was uploaded."""
        self.upload, self.complete, self._cold = None, False, -1
        self._timer.start()

    def _slot(self) -> None:
        if self.upload is not None and self._cold >= 0:
            self._warm(self.upload)
            return
        began = time.monotonic()
        if not self._current():
            return
        try:
            if self.upload is None:
                self.upload = self._renderer.begin(self.prepared)
            going = True
            while going and time.monotonic() - began < SLOT_SECONDS:
                going = self.upload.step()
        except (RenderError, OpenGLError) as error:
            self.stop()
            self.ended.emit(str(error))
            return
        finally:
            self._done_current()
        self.progress.emit(self.upload.share)
        if not going:
            self._warm(self.upload)

    def _warm(self, upload: Upload) -> None:
        """Pictures come by the frame clock; they warm what is cold."""
        now = time.monotonic()
        if self._cold != len(upload.cold):
            self._cold, self._waited_since = len(upload.cold), now
        if not self._renderer.warm(upload) or now - self._waited_since > LONGEST_WAIT:
            self.complete = True
            self.stop()
            self.ended.emit("")
