"""The menu of language models on a fake show: what is asked for, shown, kept, and what is not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from pytestqt.qtbot import QtBot

from idol.settings import Settings, load_settings
from idol.show.interface import Loading, Notice, Ready
from idol.ui.main_window import MainWindow
from tests.ui.fakes import FakeShow
from tests.ui.test_main_window import GODETTE, texts


@pytest.fixture
def show() -> FakeShow:
    return FakeShow()


@pytest.fixture
def window(qtbot: QtBot, show: FakeShow) -> Iterator[MainWindow]:
    made = MainWindow(show, Settings(), GODETTE, models=lambda: ["small", "medium"])
    qtbot.addWidget(made)
    made.show()
    made.start()
    show.send(Ready(()))
    qtbot.waitUntil(lambda: made._ready)
    yield made
    made.close()


def action(window: MainWindow, name: str) -> QAction:
    window.mind.fill()
    return next(found for found in window._model_menu.actions() if name in found.text())


def kept() -> str:
    return load_settings()[0].llm.model


def test_a_choice_is_loaded_shown_and_kept_when_it_took_place(qtbot: QtBot, window: MainWindow, show: FakeShow) -> None:
    assert action(window, "medium").isChecked() and not action(window, "small").isChecked()
    action(window, "small").trigger()
    assert show.swaps == [("llm", "small")] and kept() == "auto"
    assert action(window, "medium").isChecked()  # it still runs
    show.send(Loading("loading weights", 0.4))
    qtbot.waitUntil(lambda: "loading weights" in window._state.text())
    assert window._progress.value() == 400 and window._action.isVisible()
    window._refresh()
    assert "loading weights" in window._state.text()  # the state does not cover it
    show.end_swap("small")
    qtbot.waitUntil(lambda: not window._action.isVisible())
    assert kept() == "small" and not window._progress.isVisible() and "Qwen" in window._state.text()
    assert action(window, "small").isChecked() and not action(window, "medium").isChecked()


def test_a_choice_that_is_refused_later_is_not_kept(qtbot: QtBot, window: MainWindow, show: FakeShow) -> None:
    action(window, "small").trigger()
    show.send(Notice("warning", "small was not taken: it does not fit.", "Choose another one."))
    show.end_swap("medium")
    qtbot.waitUntil(lambda: not window.mind.wanted)
    assert kept() == "auto" and any("it does not fit" in text for text in texts(window))
    assert action(window, "medium").isChecked()


def test_a_show_that_cannot_exchange_says_why(window: MainWindow, show: FakeShow) -> None:
    show.refuse = "The show is not ready yet."
    action(window, "small").trigger()
    assert "The show is not ready yet." in texts(window)
    assert not window.mind.wanted and kept() == "auto"


@pytest.mark.parametrize("way", ["button", "menu"])
def test_a_choice_can_be_cancelled(qtbot: QtBot, window: MainWindow, show: FakeShow, way: str) -> None:
    action(window, "small").trigger()
    show.send(Loading("reading", None))
    qtbot.waitUntil(window._action.isVisible)
    if way == "button":
        qtbot.mouseClick(window._action, Qt.MouseButton.LeftButton)
    else:
        action(window, "Cancel").trigger()
    qtbot.waitUntil(lambda: not window._progress.isVisible())
    assert show.cancelled_swaps == 1 and kept() == "auto" and not window._action.isVisible()


def test_the_end_of_something_else_is_not_the_end_of_it(qtbot: QtBot, window: MainWindow, show: FakeShow) -> None:
    action(window, "small").trigger()
    show.send(Loading("reading", 0.5))
    show.send(Ready(()))  # a voice has been exchanged
    qtbot.wait(50)
    assert window.mind.wanted == "small" and window._progress.isVisible()
    show.end_swap("small")
    qtbot.waitUntil(lambda: kept() == "small")


def test_the_one_that_runs_is_kept_without_loading_and_automatic_waits(window: MainWindow, show: FakeShow) -> None:
    action(window, "medium").trigger()
    assert kept() == "medium" and show.swaps == []
    action(window, "Automatic").trigger()
    assert kept() == "auto" and show.swaps == []
    assert any("next start" in text for text in texts(window))


def test_a_file_of_the_settings_is_listed_too(window: MainWindow, show: FakeShow, tmp_path: Path) -> None:
    show.chosen = {"llm": str(tmp_path / "mine.gguf")}
    assert action(window, "mine.gguf").isChecked()
