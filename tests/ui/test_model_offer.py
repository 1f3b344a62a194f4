"""A model that is offered in the chat: fetched beside the show, cancelled, tried again."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QObject, Qt, Signal
from pytestqt.qtbot import QtBot

from engines.fetch import FetchProgress
from idol.ui.chat_panel import ChatPanel
from idol.ui.model_offer import ModelOffer


class FakeTask(QObject):
    progress = Signal(object)
    done = Signal()
    failed = Signal(str)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.did: list[str] = []

    def start(self) -> None:
        self.did.append("start")

    def cancel(self) -> None:
        self.did.append("cancel")
        self.failed.emit("cancelled")

    def close(self) -> None:
        self.did.append("close")


class Rig:
    def __init__(self, qtbot: QtBot) -> None:
        self.chat = ChatPanel("Mira")
        qtbot.addWidget(self.chat)
        self.chat.show()
        self.tasks: list[FakeTask] = []
        self.fetched = 0
        self.offer = ModelOffer(self.chat, "It is not here.", "medium", self._on_fetched, self._make)  # type: ignore[arg-type]

    def _make(self, name: str) -> FakeTask:
        self.tasks.append(FakeTask(name))
        return self.tasks[-1]

    def _on_fetched(self) -> None:
        self.fetched += 1

    def texts(self) -> list[str]:
        return [message.text for message in self.chat.messages]


@pytest.fixture
def rig(qtbot: QtBot) -> Rig:
    return Rig(qtbot)


def test_the_button_fetches(qtbot: QtBot, rig: Rig) -> None:
    assert rig.texts() == ["It is not here."] and "medium" in rig.offer.button.text() and not rig.tasks
    qtbot.mouseClick(rig.offer.button, Qt.MouseButton.LeftButton)
    (task,) = rig.tasks
    assert task.name == "medium" and task.did == ["start"]
    task.progress.emit(FetchProgress("medium", "f", 5_000_000, 10_000_000, 1e6, 5.0, "hub"))
    assert "5 / 10 MB" in rig.offer.button.text()
    rig.offer.close()
    assert task.did == ["start", "close"]
    task.done.emit()
    assert rig.fetched == 1 and not rig.offer.button.isVisible()


def test_pressed_again_it_cancels_and_can_be_tried_again(qtbot: QtBot, rig: Rig) -> None:
    for _ in range(2):
        qtbot.mouseClick(rig.offer.button, Qt.MouseButton.LeftButton)
    assert rig.tasks[0].did == ["start", "cancel"] and "Retry" in rig.offer.button.text()
    assert rig.texts()[-1] == "cancelled"
    qtbot.mouseClick(rig.offer.button, Qt.MouseButton.LeftButton)
    assert len(rig.tasks) == 2 and rig.fetched == 0


def test_a_chat_that_has_dropped_the_notice_does_not_break_it(qtbot: QtBot, rig: Rig) -> None:
    qtbot.mouseClick(rig.offer.button, Qt.MouseButton.LeftButton)
    for number in range(310):
        rig.chat.add_notice(str(number))
    qtbot.wait(20)
    rig.tasks[0].progress.emit(FetchProgress("medium", "f", 5_000_000, 10_000_000, 1e6, 5.0, "hub"))
    rig.tasks[0].done.emit()
    assert rig.fetched == 1
