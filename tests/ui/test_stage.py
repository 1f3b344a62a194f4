"""The stage in the window: avatars that come and go, their terms, the camera in hand, what is behind her."""

from __future__ import annotations

import gc
import shutil
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QAction, QColor, QDragEnterEvent, QDropEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QColorDialog, QLabel, QWidget
from pytestqt.qtbot import QtBot

from idol.settings import Settings, data_dir, load_settings
from idol.show.interface import Ready
from idol.ui import avatar_loader
from idol.ui.main_window import MainWindow
from tests.ui.fakes import FakeShow

MODELS = Path("tests/data/models").resolve()
DEFAULT = MODELS / "simple_morph_vrm0.vrm"
ANIMATION = next((MODELS.parent / "animations").glob("*.vrma"))
Make = Callable[..., MainWindow]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder of idols that come along: the default and another."""
    folder = tmp_path / "avatars"
    folder.mkdir()
    for name in ("simple_morph_vrm0.vrm", "debug_robot_vrm1.vrm"):
        shutil.copy(MODELS / name, folder / name)
    return folder


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A user's own file."""
    return Path(shutil.copy(MODELS / "godette_vrm0.vrm", tmp_path / "mine.vrm"))


@pytest.fixture
def make(qtbot: QtBot, home: Path) -> Iterator[Make]:
    made: list[MainWindow] = []

    def start(settings: Settings | None = None, **more: object) -> MainWindow:
        window = MainWindow(FakeShow(), settings or load_settings()[0], home / DEFAULT.name, **more)  # type: ignore[arg-type]
        qtbot.addWidget(window)
        window.show()
        made.append(window)
        qtbot.waitUntil(lambda: not window.stage.loader.loading)
        return window

    yield start
    for window in made:
        window.close()


def texts(window: MainWindow) -> list[str]:
    return [message.text for message in window.chat.messages]


def title(window: MainWindow) -> str:
    return window.view.avatar.title if window.view.avatar is not None else ""


def entries(window: MainWindow) -> dict[str, QAction]:
    window.avatars.fill()
    return {action.text(): action for action in window.avatars._menu.actions()}


def choice(window: MainWindow, text: str) -> QAction:
    return next(action for action in window.actions() if action.text() == text)


def asked(qtbot: QtBot, window: MainWindow) -> str:
    """The words of the dialogue that has appeared."""
    qtbot.waitUntil(lambda: window.stage.dialog is not None and window.stage.dialog.isVisible())
    assert window.stage.dialog is not None
    return "\n".join(label.text() for label in window.stage.dialog.findChildren(QLabel))


# Avatars


def test_terms_are_shown_once_before_a_file_is_used(qtbot: QtBot, make: Make, mine: Path) -> None:
    window = make()
    before = title(window)
    window.stage.open(mine, keep=True)
    said = asked(qtbot, window)
    for words in ("SirRichard94", "CC BY", "✓ allowed", "Commercial use", "? not said", "Its author must be named"):
        assert words in said, words
    assert any(label.pixmap().width() > 50 for label in window.stage.dialog.findChildren(QLabel))  # type: ignore[union-attr]
    assert title(window) == before and load_settings()[0].avatar.path == ""
    window.stage.dialog.use.click()  # type: ignore[union-attr]
    assert title(window) == "Low-Poly Godette" and load_settings()[0].avatar.path == str(mine)
    window.stage.open(window.stage.bundled[0], keep=True)
    qtbot.waitUntil(lambda: title(window) == before)
    window.stage.open(mine, keep=True)
    qtbot.waitUntil(lambda: title(window) == "Low-Poly Godette")
    assert window.stage.dialog is None
    window.close()
    again = make()
    assert title(again) == "Low-Poly Godette" and again.stage.dialog is None


def test_a_refused_file_is_not_used(qtbot: QtBot, make: Make, mine: Path) -> None:
    window = make()
    before = window.view.avatar
    window.stage.open(mine, keep=True)
    asked(qtbot, window)
    qtbot.keyClick(window.stage.dialog, Qt.Key.Key_Escape)  # type: ignore[arg-type]
    assert window.stage.dialog is None and window.view.avatar is before
    assert load_settings()[0].avatar.path == ""
    window.stage.open(mine, keep=True)
    assert "SirRichard94" in asked(qtbot, window)


def test_a_file_named_in_the_settings_is_asked_about_while_the_default_stands_there(
    qtbot: QtBot, make: Make, mine: Path
) -> None:
    settings = Settings()
    settings.avatar.path = str(mine)
    window = make(settings, kept=settings)
    asked(qtbot, window)
    qtbot.waitUntil(lambda: title(window) == "SimpleMorph")
    window.stage.dialog.use.click()  # type: ignore[union-attr]
    assert title(window) == "Low-Poly Godette"


def test_a_file_named_on_the_command_line_is_used_and_its_terms_logged(
    make: Make, mine: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings()
    settings.avatar.path = str(mine)
    with caplog.at_level("INFO"):
        window = make(settings, kept=Settings())
    assert title(window) == "Low-Poly Godette" and window.stage.dialog is None
    assert "SirRichard94" in caplog.text and "CC BY" in caplog.text
    assert load_settings()[0].avatar.path == ""


def test_about_this_avatar_shows_what_is_on_stage(qtbot: QtBot, make: Make) -> None:
    window = make()
    choice(window, "About this avatar…").trigger()
    assert "SimpleMorph" in asked(qtbot, window)
    assert not hasattr(window.stage.dialog, "use")
    window.stage.dialog.buttons.buttons()[0].click()  # type: ignore[union-attr]
    assert window.stage.dialog is None


def test_the_menu_lists_who_comes_along_and_who_was_there(qtbot: QtBot, make: Make, mine: Path) -> None:
    window = make()
    listed = entries(window)
    assert list(listed) == ["SimpleMorph", "VRM Animation Debug Robot"] and listed["SimpleMorph"].isChecked()
    listed["VRM Animation Debug Robot"].trigger()
    qtbot.waitUntil(lambda: title(window) == "VRM Animation Debug Robot")
    assert window.stage.dialog is None, "nobody asks for the terms of our own"
    window.stage.open(mine)
    asked(qtbot, window)
    window.stage.dialog.use.click()  # type: ignore[union-attr]
    assert entries(window)["Low-Poly Godette (mine.vrm)"].isChecked()
    mine.rename(mine.with_name("elsewhere.vrm"))
    gone = entries(window)["Low-Poly Godette (the file is gone)"]
    assert not gone.isEnabled()


def test_the_window_lives_while_an_avatar_loads_and_a_cancelled_one_never_comes(
    qtbot: QtBot, make: Make, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = make()
    before, gate, real = window.view.avatar, threading.Event(), avatar_loader.read_file
    started: list[str] = []

    def slow(path: Path) -> bytes:
        started.append(path.name)
        if path.name.startswith("debug"):
            assert gate.wait(10)
        return real(path)

    monkeypatch.setattr(avatar_loader, "read_file", slow)
    window.stage.open(home / "debug_robot_vrm1.vrm", keep=True)
    asked_at = time.monotonic()
    qtbot.waitUntil(lambda: bool(started))
    assert window._opening.isVisible() and "debug_robot" in window._opening_name.text()
    qtbot.keyClicks(window.chat.line, "still here")
    assert time.monotonic() - asked_at < 5 and window.chat.line.toPlainText() == "still here"
    window.stage.loader.cancel()
    assert not window._opening.isVisible()
    window.stage.open(home / DEFAULT.name)
    gate.set()
    qtbot.waitUntil(lambda: window.view.avatar is not before)
    assert title(window) == "SimpleMorph" and started == ["debug_robot_vrm1.vrm", DEFAULT.name]
    assert load_settings()[0].avatar.path == ""


def test_who_has_left_the_stage_is_gone(qtbot: QtBot, make: Make, home: Path, mine: Path) -> None:
    window = make()
    window.stage.open(mine)
    asked(qtbot, window)
    window.stage.dialog.use.click()  # type: ignore[union-attr]
    left = [weakref.ref(window.view.avatar)]
    for name in ("debug_robot_vrm1.vrm", DEFAULT.name, "debug_robot_vrm1.vrm"):
        before = window.view.avatar
        window.stage.open(home / name)
        qtbot.waitUntil(lambda before=before: window.view.avatar is not before)
        left.append(weakref.ref(before))
        del before
    qtbot.wait(10)  # the dialogue is deleted later
    gc.collect()
    assert [reference() for reference in left] == [None] * 4


def test_what_cannot_be_loaded_names_the_place_and_the_old_one_stays(qtbot: QtBot, make: Make, mine: Path) -> None:
    window = make()
    before = window.view.avatar
    content = mine.read_bytes().replace(b'"bufferView":0', b'"bufferView":9999', 1)
    mine.write_bytes(content[:8] + len(content).to_bytes(4, "little") + content[12:])
    window.stage.open(mine, keep=True)
    qtbot.waitUntil(lambda: any("mine.vrm" in text for text in texts(window)))
    assert window.view.avatar is before and load_settings()[0].avatar.path == ""
    missing = mine.with_name("missing.vrm")
    window.stage.open(missing)
    qtbot.waitUntil(lambda: any("missing.vrm" in text and "Check the path" in text for text in texts(window)))


def test_without_the_avatar_of_the_settings_the_default_comes(qtbot: QtBot, make: Make, tmp_path: Path) -> None:
    settings = Settings()
    settings.avatar.path = str(tmp_path / "gone.vrm")
    window = make(settings)
    qtbot.waitUntil(lambda: title(window) == "SimpleMorph")
    assert any("gone.vrm" in text for text in texts(window))


def drop(widget: QWidget, path: Path) -> bool:
    """As a hand would: into the window first, then let go."""
    data, taken = QMimeData(), False
    data.setUrls([QUrl.fromLocalFile(str(path))])
    for kind, place in ((QDragEnterEvent, QPoint(5, 5)), (QDropEvent, QPointF(5, 5))):
        event = kind(
            place, Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        )  # fmt: skip
        taken = QApplication.sendEvent(widget, event) and event.isAccepted()
    return taken


def test_avatars_and_pictures_can_be_dropped_anywhere(qtbot: QtBot, make: Make, home: Path, tmp_path: Path) -> None:
    window = make()
    assert drop(window.chat.line.viewport(), home / "debug_robot_vrm1.vrm")
    qtbot.waitUntil(lambda: title(window) == "VRM Animation Debug Robot")
    assert window.chat.line.toPlainText() == ""
    Image.new("RGB", (8, 8), "red").save(tmp_path / "wall.png")
    assert drop(window.view, tmp_path / "wall.png")
    qtbot.waitUntil(lambda: load_settings()[0].avatar.backdrop == "image")
    avatar = window.view.avatar
    assert avatar is not None and drop(window, ANIMATION)
    assert not any(ANIMATION.name in text for text in texts(window))
    assert avatar.motion.animating
    choice(window, "Stop the animation").trigger()
    (tmp_path / "bad.vrma").write_text("no")
    assert drop(window.view, tmp_path / "bad.vrma") and any("bad.vrma" in text for text in texts(window))
    drop(window.chat.line.viewport(), tmp_path / "notes.txt")
    assert "notes.txt" in window.chat.line.toPlainText(), "other files go where they fall"


# The camera


def drag(window: MainWindow, button: Qt.MouseButton, keys: Qt.KeyboardModifier, x: int, y: int) -> None:
    view, start = window.view, QPointF(100, 100)
    for kind, place in (
        (QMouseEvent.Type.MouseButtonPress, start), (QMouseEvent.Type.MouseMove, start + QPointF(x, y)),
        (QMouseEvent.Type.MouseButtonRelease, start + QPointF(x, y)),
    ):  # fmt: skip
        QApplication.sendEvent(view, QMouseEvent(kind, place, view.mapToGlobal(place), button, button, keys))


def test_drag_turns_shift_and_the_right_button_move_and_the_wheel_comes_nearer(make: Make) -> None:
    window = make()
    view, none, shift = window.view, Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier
    drag(window, Qt.MouseButton.LeftButton, none, 50, 0)
    assert view.viewpoint.yaw < -0.05 and view.viewpoint.right == 0
    drag(window, Qt.MouseButton.LeftButton, shift, 20, -10)
    assert view.viewpoint.right > 0 and view.viewpoint.up > 0
    drag(window, Qt.MouseButton.RightButton, none, -20, 10)
    assert view.viewpoint.right == pytest.approx(0, abs=1e-9)
    wheel = QWheelEvent(
        QPointF(90, 90), view.mapToGlobal(QPointF(90, 90)), QPoint(), QPoint(0, 240), Qt.MouseButton.NoButton, none,
        Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(view, wheel)
    assert view.viewpoint.zoom == pytest.approx(1.21)
    before = view.camera.distance
    QApplication.sendEvent(
        view,
        QMouseEvent(
            QMouseEvent.Type.MouseButtonDblClick, QPointF(9, 9), view.mapToGlobal(QPointF(9, 9)),
            Qt.MouseButton.LeftButton, Qt.MouseButton.LeftButton, none,
        ),
    )  # fmt: skip
    assert not view.viewpoint.moved and view.camera.distance > before


@pytest.mark.parametrize(
    ("key", "modifier", "moved"),
    [
        (Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier, "yaw"),
        (Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier, "pitch"),
        (Qt.Key.Key_Plus, Qt.KeyboardModifier.ControlModifier, "zoom"),
        (Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.ShiftModifier, "right"),
        (Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.ShiftModifier, "up"),
        (Qt.Key.Key_3, Qt.KeyboardModifier.ControlModifier, "framing"),
    ],
)
def test_every_move_has_a_key_while_the_line_has_the_focus(
    qtbot: QtBot, make: Make, key: Qt.Key, modifier: Qt.KeyboardModifier, moved: str
) -> None:
    window = make()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    window.chat.line.setFocus()
    before = window.view.viewpoint
    qtbot.keyClick(window.chat.line, key, modifier)
    after = window.view.viewpoint
    assert getattr(before, moved) != getattr(after, moved)
    qtbot.keyClick(window.chat.line, Qt.Key.Key_0, Qt.KeyboardModifier.ControlModifier)
    assert not window.view.viewpoint.moved and window.chat.line.toPlainText() == ""


def test_each_avatar_keeps_its_camera_and_light_over_swaps_and_starts(qtbot: QtBot, make: Make, home: Path) -> None:
    window = make()
    window.view.turn_camera(0.4, 0.1)
    window.view.zoom_camera(1.3)
    choice(window, "Evening").trigger()
    hers = window.view.viewpoint
    window.stage.open(home / "debug_robot_vrm1.vrm")
    qtbot.waitUntil(lambda: title(window) == "VRM Animation Debug Robot")
    assert not window.view.viewpoint.moved and window.view.lighting == "studio"
    assert choice(window, "Studio").isChecked()
    window.view.set_framing("face")
    window.stage.open(home / DEFAULT.name)
    qtbot.waitUntil(lambda: title(window) == "SimpleMorph")
    assert window.view.viewpoint == hers and window.view.lighting == "evening" and choice(window, "Evening").isChecked()
    window.view.move_picture(0.1, 0.0)
    last = window.view.viewpoint
    window.close()  # before the move has been told
    again = make()
    assert again.view.viewpoint == last and again.view.lighting == "evening"
    again.stage.open(home / "debug_robot_vrm1.vrm")
    qtbot.waitUntil(lambda: title(again) == "VRM Animation Debug Robot")
    assert again.view.framing == "face" and choice(again, "Face").isChecked()


def test_what_a_run_asks_of_the_camera_is_not_kept(qtbot: QtBot, home: Path, make: Make) -> None:
    window = make()
    window.view.turn_camera(0.4, 0.1)
    window.close()
    run = MainWindow(FakeShow(), Settings(), home / DEFAULT.name)
    qtbot.addWidget(run)
    run.stage.first_framing, run.stage.first_lighting = "full", "neon"
    qtbot.waitUntil(lambda: run.view.avatar is not None)
    assert run.view.framing == "full" and not run.view.viewpoint.moved and run.view.lighting == "neon"
    run.close()
    again = make()
    assert again.view.viewpoint.yaw == pytest.approx(0.4) and again.view.lighting == "studio"


def test_the_camera_glides_where_pictures_come_fast(qtbot: QtBot, make: Make) -> None:
    window = make()
    window.clock.stop()
    view, now = window.view, 100.0
    for _ in range(60):
        view.tick(now := now + 0.033)
    old = view.camera.distance
    view.set_framing("full")
    assert view.framing == "full" and view.camera.distance == old
    seen = []
    for _ in range(15):
        view.tick(now := now + 0.033)
        seen.append(view.camera.distance)
    assert seen == sorted(seen) and old < seen[2] < seen[-1] and seen[-1] == seen[-2]
    for _ in range(60):
        view.tick(now := now + 0.2)
    view.set_framing("face")
    assert view.camera.distance < old


def test_a_resized_window_keeps_the_viewpoint(qtbot: QtBot, make: Make) -> None:
    window = make()
    window.view.set_framing("face")
    window.view.turn_camera(0.3, 0.0)
    before = window.view.viewpoint
    for width, height in ((1600, 430), (650, 900), (1180, 760)):
        window.resize(width, height)
        qtbot.wait(20)
        assert window.view.viewpoint == before
    assert window.view.camera.yaw == pytest.approx(0.3)


# What is behind her


def test_a_picture_is_shown_kept_and_there_again(qtbot: QtBot, make: Make, tmp_path: Path) -> None:
    Image.new("RGB", (8, 4), (10, 200, 30)).save(tmp_path / "wall.png")
    window = make()
    window.backgrounds.choose_picture(tmp_path / "wall.png")
    qtbot.waitUntil(lambda: window.view._scenery._backdrop.shown)
    kept = load_settings()[0].avatar
    assert (kept.backdrop, kept.picture) == ("image", str(tmp_path / "wall.png"))
    assert choice(window, "Picture: wall.png").isChecked()
    choice(window, "Dark").trigger()
    assert not window.view._scenery._backdrop.shown and load_settings()[0].avatar.picture.endswith("wall.png")
    choice(window, "Picture: wall.png").trigger()
    qtbot.waitUntil(lambda: window.view._scenery._backdrop.shown)
    window.close()
    again = make()
    qtbot.waitUntil(lambda: again.view._scenery._backdrop.shown)


@pytest.mark.parametrize("broken", [True, False])
def test_a_picture_that_cannot_be_read_is_told_and_the_colour_stays(
    qtbot: QtBot, make: Make, tmp_path: Path, broken: bool
) -> None:
    settings = Settings()
    settings.avatar.backdrop, settings.avatar.background = "image", "#102030"
    settings.avatar.picture = str(tmp_path / "wall.png")
    if broken:
        (tmp_path / "wall.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    window = make(settings)
    qtbot.waitUntil(lambda: any("wall.png" in text for text in texts(window)))
    assert not window.view._scenery._backdrop.shown
    assert QColor.fromRgbF(*window.view._scenery.colour).name() == "#102030"
    other = tmp_path / "other.png"
    other.write_text("no picture")
    window.backgrounds.choose_picture(other)
    qtbot.waitUntil(lambda: any("other.png" in text and "no PNG" in text for text in texts(window)))
    assert window._settings.avatar.picture.endswith("wall.png"), "what cannot be read is not kept"


def test_a_key_colour_takes_the_place_of_colour_and_picture(make: Make) -> None:
    window = make()
    choice(window, "Blue screen").trigger()
    assert window.view._scenery.key == (0, 0, 1) and load_settings()[0].avatar.backdrop == "key-blue"
    window.close()
    again = make()
    assert again.view._scenery.key == (0, 0, 1) and choice(again, "Blue screen").isChecked()
    choice(again, "Light").trigger()
    assert again.view._scenery.key is None


def test_any_colour_can_be_chosen_and_is_seen_while_choosing(qtbot: QtBot, make: Make) -> None:
    window = make()

    def dialog() -> QColorDialog:
        choice(window, "Colour…").trigger()
        found = window.findChildren(QColorDialog)[-1]
        qtbot.waitUntil(found.isVisible)
        return found

    chosen = dialog()
    chosen.setCurrentColor(QColor("#aa5533"))
    assert QColor.fromRgbF(*window.view._scenery.colour).name() == "#aa5533"
    assert load_settings()[0].avatar.background == "#20242f"
    chosen.reject()
    assert QColor.fromRgbF(*window.view._scenery.colour).name() == "#20242f" and choice(window, "Dark").isChecked()
    chosen = dialog()
    chosen.setCurrentColor(QColor("#aa5533"))
    chosen.accept()
    assert load_settings()[0].avatar.background == "#aa5533" and choice(window, "Colour…").isChecked()


def test_a_damaged_memory_is_told(make: Make) -> None:
    data_dir().mkdir(parents=True)
    (data_dir() / "stage.json").write_text("{]")
    window = make()
    assert any("stage.json" in text and "begin anew" in text for text in texts(window))


def test_a_swap_leaves_her_talking(qtbot: QtBot, make: Make, home: Path) -> None:
    window = make()
    show = window._show
    assert isinstance(show, FakeShow)
    show.send(Ready(()))
    window.say("hello")
    window.start()
    window.stage.open(home / "debug_robot_vrm1.vrm")
    qtbot.waitUntil(lambda: title(window) == "VRM Animation Debug Robot")
    assert show.cancels == 0 and show.closes == 0
    avatar = window.view.avatar
    assert avatar is not None
    before = avatar.time
    qtbot.waitUntil(lambda: avatar.time > before + 0.05)
