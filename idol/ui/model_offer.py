"""A notice in the chat with a button that fetches a model while the show runs on another."""

from __future__ import annotations

from collections.abc import Callable

import shiboken6

from engines.fetch import FetchProgress
from idol.ui.chat_panel import ChatPanel
from idol.ui.fetch_task import FetchTask
from idol.ui.strings import tr


class ModelOffer:
    """``text`` is the notice, ``name`` the catalogue id that the button fetches; pressed again it cancels.

    ``fetched`` is called when the model is there. Main thread only; ``close`` ends a fetch that is under way.
    """

    def __init__(
        self,
        chat: ChatPanel,
        text: str,
        name: str,
        fetched: Callable[[], None],
        make_task: Callable[[str], FetchTask] = FetchTask,
    ) -> None:
        self._chat = chat
        self._name = name
        self._fetched = fetched
        self._make_task = make_task
        self._task: FetchTask | None = None
        self.button = chat.add_offer(text, f"{tr('Fetch now')}: {name}", self.press)

    def press(self) -> None:
        """Begin to fetch, or cancel what has begun."""
        if self._task is not None:
            self._task.cancel()
            return
        self._task = task = self._make_task(self._name)
        task.progress.connect(self._on_progress)
        task.failed.connect(self._on_failed)
        task.done.connect(self._on_done)
        self._label(tr("Cancel"))
        task.start()

    def close(self) -> None:
        if self._task is not None:
            self._task.close()

    def _on_progress(self, state: FetchProgress) -> None:
        self._label(f"{tr('Cancel')}: {state.done / 1e6:.0f} / {state.total / 1e6:.0f} MB")

    def _on_failed(self, message: str) -> None:
        self._task = None
        self._chat.add_notice(message, bad=True)
        self._label(f"{tr('Retry')}: {self._name}")

    def _on_done(self) -> None:
        self._task = None
        if shiboken6.isValid(self.button):
            self.button.hide()
        self._fetched()

    def _label(self, text: str) -> None:
        if shiboken6.isValid(self.button):  # a long chat drops its oldest messages
            self.button.setText(text)
