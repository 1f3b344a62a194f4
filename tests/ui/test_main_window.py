"""The desk on a fake show: what is typed, what arrives, what fails, what is kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from idol.dialogue.history import PastLine
from idol.settings import Settings, data_dir, load_settings
from idol.show.interface import Loading, Notice, Ready, ReplyText, TurnEnded, TurnStarted
from idol.ui.main_window import MainWindow
from tests.ui.fakes import FakeShow

GODETTE = Path("tests/data/models/godette_vrm1.vrm").resolve()


@pytest.fixture
def show() -> FakeShow:
    return FakeShow()


@pytest.fixture
def window(qtbot: QtBot, show: FakeShow) -> Iterator[MainWindow]:
    made = MainWindow(show, Settings(), GODETTE, voices=lambda _: ("af_heart", "af_sky"), models=lambda: ["small"])
    qtbot.addWidget(made)
    made.show()
    made.start()
    qtbot.waitUntil(lambda: made.view.avatar is not None)
    yield made
    made.close()


def texts(window: MainWindow) -> list[str]:
    return [message.text for message in window.chat.messages]


def test_a_line_is_sent_and_its_answer_streams(qtbot: QtBot, window: MainWindow, show: FakeShow) -> None:
    show.send(Ready(()))
    qtbot.keyClicks(window.chat.line, "hello <b>there</b>")
    qtbot.keyClick(window.chat.line, Qt.Key.Key_Return)
    assert show.lines == [("hello <b>there</b>", "chat")]
    assert window.chat.line.toPlainText() == ""
    worker = threading.Thread(
        target=lambda: [
            show.send(event)
            for event in (
                TurnStarted(1, "hello", "chat", 0.0), ReplyText(1, "Hi, "), ReplyText(1, "you!"),
                TurnEnded(1, "done", "Hi, you!"),
            )
        ]
    )  # fmt: skip
    worker.start()
    worker.join()
    qtbot.waitUntil(lambda: "Hi, you!" in texts(window), timeout=2000)
    assert "hello <b>there</b>" in texts(window)
    assert not window.chat.stop.isEnabled()


def test_shift_enter_breaks_the_line(qtbot: QtBot, window: MainWindow, show: FakeShow) -> None:
    qtbot.keyClicks(window.chat.line, "one")
    qtbot.keyClick(window.chat.line, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClicks(window.chat.line, "two")
    qtbot.mouseClick(window.chat.send, Qt.MouseButton.LeftButton)
    assert show.lines == [("one\ntwo", "chat")]


def test_a_refused_line_comes_back(qtbot: QtBot, window: MainWindow, show: FakeShow) -> None:
    show.refuse = "The queue is full."
    qtbot.keyClicks(window.chat.line, "keep me")
    qtbot.keyClick(window.chat.line, Qt.Key.Key_Return)
    assert window.chat.line.toPlainText() == "keep me"
    assert "The queue is full." in texts(window)


def test_nothing_is_sent_for_an_empty_line(qtbot: QtBot, window: MainWindow, show: FakeShow) -> None:
    qtbot.keyClicks(window.chat.line, "   ")
    qtbot.keyClick(window.chat.line, Qt.Key.Key_Return)
    assert show.lines == []


def test_a_line_typed_before_she_is_ready_waits(qtbot: QtBot, window: MainWindow, show: FakeShow) -> None:
    window.say("early")
    assert show.lines == [("early", "chat")]
    assert any("as soon as" in text for text in texts(window))


def test_escape_and_the_button_stop_her(qtbot: QtBot, window: MainWindow, show: FakeShow) -> None:
    window.say("talk")
    qtbot.keyClick(window.chat.line, Qt.Key.Key_Escape)
    assert show.cancels == 1
    qtbot.mouseClick(window.chat.stop, Qt.MouseButton.LeftButton)
    assert show.cancels == 2
    show.send(TurnStarted(1, "talk", "chat", 0.0))
    show.send(TurnEnded(1, "cancelled", ""))
    qtbot.waitUntil(lambda: "…" in texts(window))


def test_escape_stops_her_wherever_the_cursor_is(qtbot: QtBot, window: MainWindow, show: FakeShow) -> None:
    with qtbot.waitActive(window):
        window.activateWindow()
    window.set_stage(True)
    qtbot.waitUntil(lambda: not window.chat.isVisible())
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert show.cancels == 1
    window.set_stage(False)
    window.view.setFocus()
    qtbot.keyClick(window.view, Qt.Key.Key_Escape)
    assert show.cancels == 2


def test_loading_and_failing_are_told(qtbot: QtBot, window: MainWindow, show: FakeShow) -> None:
    show.send(Loading("loading the voice", 0.5))
    qtbot.waitUntil(lambda: "loading the voice" in window._state.text())
    assert window._progress.value() == 500
    show.send(Notice("error", "The model file is truncated.", "Fetch it again."))
    qtbot.waitUntil(lambda: "The model file is truncated. Fetch it again." in texts(window))
    assert not window._progress.isVisible()


def test_what_failed_stays_in_the_status_line_with_the_remedy(qtbot: QtBot, window: MainWindow, show: FakeShow) -> None:
    width = window.minimumSizeHint().width()
    show.send(Loading("loading the voice", 0.5))
    text, remedy = "mind.gguf is damaged: " + "it ends too soon " * 30, "Fetch it again: main.py models fetch mind"
    show.state = "failed"
    show.send(Notice("error", f"{text}. {remedy}", remedy))
    qtbot.waitUntil(lambda: remedy in window._state.text())
    qtbot.wait(600)  # the status is looked at four times a second
    assert window._state.text() == f"{text}.\n{remedy}" == window._state.toolTip()
    assert window.minimumSizeHint().width() <= width
    show.send(Loading("another try", None))
    qtbot.waitUntil(lambda: "another try" in window._state.text())


def test_the_status_names_model_and_output(qtbot: QtBot, window: MainWindow, show: FakeShow) -> None:
    show.send(Ready(()))
    qtbot.waitUntil(lambda: "Qwen" in window._state.text() and "speakers" in window._state.text())


def test_fetching_has_a_button(qtbot: QtBot, window: MainWindow) -> None:
    pressed: list[str] = []
    window.show_fetching("5 / 10 MB", 0.5, "Cancel", lambda: pressed.append("cancel"))
    qtbot.mouseClick(window._action, Qt.MouseButton.LeftButton)
    window.show_fetching("failed", 0.0, "Retry", lambda: pressed.append("retry"))
    qtbot.mouseClick(window._action, Qt.MouseButton.LeftButton)
    assert pressed == ["cancel", "retry"]
    window.show_fetching("", None)
    assert not window._action.isVisible()


def test_a_broken_avatar_leaves_the_old_one(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    before = window.view.avatar
    broken = tmp_path / "broken.vrm"
    broken.write_bytes(GODETTE.read_bytes()[:5000])
    window.stage.open(broken, keep=True)
    qtbot.waitUntil(lambda: any("broken.vrm" in text for text in texts(window)))
    assert before is not None and window.view.avatar is before
    assert any(text.startswith("broken.vrm") and text.count("broken.vrm") == 1 for text in texts(window))
    assert load_settings()[0].avatar.path == ""


def test_an_opened_avatar_is_remembered(qtbot: QtBot, window: MainWindow) -> None:
    other = GODETTE.with_name("debug_robot_vrm1.vrm")
    before = window.view.avatar
    window.stage.open(other, keep=True)
    qtbot.waitUntil(lambda: window.view.avatar is not before)
    assert window.stage.path == other
    assert load_settings()[0].avatar.path == str(other)


def test_she_waves_once_when_she_is_first_seen_and_again_after_a_change(qtbot: QtBot, window: MainWindow) -> None:
    avatar = window.view.avatar
    assert avatar is not None
    assert avatar.motion.gesture_name == "", "nothing of her is on the screen yet"
    window.view.avatar_shown.emit()  # what the view does after its first picture, where it can draw
    assert avatar.motion.gesture_name == "wave"
    avatar.motion.stop_gesture()
    window.view.avatar_shown.emit()  # the same one is drawn anew, by a new context say
    assert avatar.motion.gesture_name == ""
    window.stage.open(GODETTE.with_name("debug_robot_vrm1.vrm"))
    qtbot.waitUntil(lambda: window.view.avatar is not avatar)
    other = window.view.avatar
    assert other is not None and other is not avatar
    window.view.avatar_shown.emit()
    assert other.motion.gesture_name == "wave"


def test_an_animation_plays_and_a_broken_one_is_told(window: MainWindow, tmp_path: Path) -> None:
    animations = GODETTE.parents[1] / "animations"
    assert window.open_animation(animations / "idle_loop.vrma")
    assert window.view.avatar is not None and window.view.avatar.motion.animating
    broken = tmp_path / "broken.vrma"
    broken.write_bytes((animations / "idle_loop.vrma").read_bytes()[:9000])
    assert not window.open_animation(broken)
    assert not window.open_animation(GODETTE)
    assert any(text.startswith("broken.vrma") for text in texts(window))
    assert window.view.avatar.motion.animating, "what played goes on"
    window.stop_animation()
    assert not window.view.avatar.motion.animating


def test_overlay_and_stage(qtbot: QtBot, window: MainWindow) -> None:
    window.set_overlay(True)
    qtbot.waitUntil(lambda: any("first_sample" in line for line in window.overlay.lines), timeout=2000)
    lines = "\n".join(window.overlay.lines)
    assert "sd" in lines and "gaps 3" in lines and "99 tokens/s" in lines and "llm: onnxruntime" in lines
    window.set_stage(True)
    assert not window.chat.isVisible() and not window.menuBar().isVisible()
    window.set_stage(False)
    assert window.chat.isVisible()


def test_volume_and_voice_are_kept(window: MainWindow, show: FakeShow) -> None:
    window._volume.setValue(40)
    assert show.volumes == [0.4]
    window._set_voice("en", "af_sky")
    kept, message = load_settings()
    assert message == "" and kept.audio.volume == 0.4 and kept.voice.en == "af_sky"


def test_what_only_this_run_is_told_is_not_kept(qtbot: QtBot, show: FakeShow) -> None:
    kept = Settings()
    kept.voice.ja = "jf_tebukuro"
    run = kept.model_copy(deep=True)
    run.audio.output, run.llm.model, run.avatar.path = "none", "small", str(GODETTE)
    made = MainWindow(show, run, GODETTE, kept=kept, models=lambda: ["small", "medium"])
    qtbot.addWidget(made)
    made.set_overlay(True)
    assert made.overlay.isVisibleTo(made.view) and load_settings()[0] == Settings()
    made._set_voice("en", "af_sky")
    made._volume.setValue(40)
    kept_on_disk = load_settings()[0]
    assert kept_on_disk.audio.output == "" and kept_on_disk.llm.model == "auto" and kept_on_disk.avatar.path == ""
    assert not kept_on_disk.ui.overlay and kept_on_disk.voice.ja == "jf_tebukuro"
    assert kept_on_disk.voice.en == run.voice.en == "af_sky"
    assert kept_on_disk.audio.volume == run.audio.volume == 0.4
    show.chosen = {"llm": "small"}
    made.mind.choose("small")  # it runs already, by this run's option; now the user wants it
    assert load_settings()[0].llm.model == "small"
    made._overlay_action.trigger()
    made._overlay_action.trigger()
    assert load_settings()[0].ui.overlay
    made.close()


def test_menus_list_voices_and_models(window: MainWindow) -> None:
    window._fill_voices()
    window.mind.fill()
    names = [action.text() for action in window._model_menu.actions()]
    assert "small" in names
    english = window._voice_menu.actions()[0].menu()
    assert [action.text() for action in english.actions()] == ["af_heart", "af_sky"]  # type: ignore[union-attr]


def test_menus_tick_what_is_chosen(window: MainWindow) -> None:
    def ticked(name: str) -> list[str]:
        actions = {action.text(): action for action in window.actions()}
        group = actions[name].actionGroup()
        assert group is not None
        return [action.text() for action in group.actions() if action.isChecked()]

    assert ticked("Face") == ["Bust"] and ticked("Dark") == ["Dark"]
    choices = {action.text(): action for action in window.actions()}
    choices["Full body"].trigger()
    choices["Green screen"].trigger()
    assert ticked("Face") == ["Full body"] and ticked("Dark") == ["Green screen"]
    kept = load_settings()[0].avatar
    assert window.view.framing == "full" and (kept.backdrop, kept.background) == ("key-green", "#20242f")
    choices["Light"].trigger()
    assert ticked("Dark") == ["Light"] and load_settings()[0].avatar.backdrop == "colour"
    window._fill_voices()
    english = window._voice_menu.actions()[0].menu()
    assert [a.text() for a in english.actions() if a.isChecked()] == ["af_heart"]  # type: ignore[union-attr]


def test_the_kept_chat_is_shown_at_the_start(qtbot: QtBot, show: FakeShow) -> None:
    earlier = [PastLine("hi", "Hello!", time.time()), PastLine("old", "Yes?", 86400.0), PastLine("lost", "", 0)]
    made = MainWindow(show, Settings(), GODETTE, earlier=earlier)
    qtbot.addWidget(made)
    assert texts(made) == ["hi", "Hello!", "old", "Yes?", "lost"]
    metas = [message._meta.text() for message in made.chat.messages]
    assert metas[0].startswith("You  ·  ") and metas[1].startswith("Mira") and "1970-01-02" in metas[2]
    assert metas[4] == "You  ·  not answered" and not any("not answered" in meta for meta in metas[:4])
    made.close()


def test_the_draft_survives(qtbot: QtBot, show: FakeShow, window: MainWindow) -> None:
    window.chat.line.setPlainText("half a tho")
    qtbot.waitUntil(lambda: (data_dir() / "draft.txt").exists(), timeout=3000)
    second = MainWindow(FakeShow(), Settings(), GODETTE)
    qtbot.addWidget(second)
    assert second.chat.line.toPlainText() == "half a tho"
    second.close()


def test_closing_closes_the_show_once(qtbot: QtBot, window: MainWindow, show: FakeShow) -> None:
    window.close()
    window.close()
    assert show.closes == 1 and show.listeners == 0


def test_a_long_evening_of_chat_stays_bounded_and_quick(qtbot: QtBot, window: MainWindow, show: FakeShow) -> None:
    longest = 0.0
    for turn in range(1, 401):
        started = time.perf_counter()
        window.say(f"line {turn} " + "w" * 200)
        show.send(TurnStarted(turn, "x", "chat", 0.0))
        show.send(ReplyText(turn, "an answer of some length, " * 4))
        show.send(TurnEnded(turn, "done", "x"))
        window.chat.repaint()
        qtbot.wait(0)
        longest = max(longest, time.perf_counter() - started)
    assert len(texts(window)) <= 300
    assert longest < 0.5, "the window stalled"


def at_end(window: MainWindow) -> bool:
    bar = window.chat._area.verticalScrollBar()
    return bar.maximum() > 0 and bar.value() == bar.maximum()


def turn(show: FakeShow, window: MainWindow, text: str, answer: str) -> None:
    number = len(show.lines) + 1
    window.say(text)
    show.send(TurnStarted(number, text, "chat", 0.0))
    show.send(ReplyText(number, answer))
    show.send(TurnEnded(number, "done", answer))


@pytest.mark.parametrize("long", ["word " * 2000, "w" * 10_000, "line\n" * 2000])
def test_the_chat_follows_after_a_very_long_line(qtbot: QtBot, window: MainWindow, show: FakeShow, long: str) -> None:
    turn(show, window, "first", "an answer")
    turn(show, window, long, "another answer, " * 60)
    qtbot.waitUntil(lambda: at_end(window), timeout=2000)
    qtbot.wait(50)
    for number in range(3):
        turn(show, window, f"short {number}", "yes")
        qtbot.wait(50)
        assert at_end(window)


def test_whoever_reads_further_up_is_left_there_until_he_says_something(
    qtbot: QtBot, window: MainWindow, show: FakeShow
) -> None:
    for number in range(30):
        turn(show, window, f"line {number}", "an answer of some length, " * 4)
    qtbot.waitUntil(lambda: at_end(window), timeout=2000)
    bar = window.chat._area.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    there = bar.value()
    show.send(TurnStarted(99, "x", "chat", 0.0))
    show.send(ReplyText(99, "it goes on, " * 40))
    qtbot.wait(80)
    assert bar.value() == there
    window.say("now I say something")
    qtbot.waitUntil(lambda: at_end(window), timeout=2000)
    bar.setValue(there)
    bar.setValue(bar.maximum())
    show.send(ReplyText(99, "and on, " * 40))
    qtbot.wait(80)
    assert at_end(window)


def test_a_new_conversation_begins_with_an_empty_chat(window: MainWindow, show: FakeShow) -> None:
    show.send(Ready(()))
    for turn in (1, 2):
        window.chat.add_line(f"line {turn}")
        window.chat.begin_reply(turn)
        window.chat.append_reply(turn, f"answer {turn}")
    window.chat.end_reply(1)
    window._start_anew()
    assert texts(window)[:2] == ["line 2", "answer 2"] and len(texts(window)) == 3  # what she is saying stays
    window.chat.append_reply(2, " to its end")
    window.chat.end_reply(2)
    assert texts(window)[1] == "answer 2 to its end"
    window._start_anew()
    assert len(texts(window)) == 1


def test_a_click_on_her_leaves_the_keyboard_to_the_line(qtbot: QtBot, window: MainWindow) -> None:
    window.activateWindow()
    window.chat.line.setFocus()
    qtbot.mouseClick(window.view, Qt.MouseButton.LeftButton)
    assert window.focusWidget() is window.chat.line


def test_a_background_that_is_no_colour_is_told(qtbot: QtBot, show: FakeShow) -> None:
    settings = Settings()
    settings.avatar.background = "banana"
    made = MainWindow(show, settings, GODETTE)
    qtbot.addWidget(made)
    assert any("'banana'" in text and "View" in text for text in texts(made))
    assert made.view._scenery.colour[:3] != (0.0, 0.0, 0.0)
    made.close()
