"""The desk: the stage with her on the left, the chat on the right, what is going on below."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAction, QActionGroup, QCloseEvent, QKeySequence, QPixmap
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QMessageBox,
    QProgressBar,
    QPushButton,
    QSlider,
    QSplitter,
    QWidget,
)

from idol.avatar import Avatar, AvatarError, load_animation
from idol.dialogue.history import PastLine
from idol.render import AvatarView
from idol.seams import LANGUAGES, FacePose
from idol.settings import Settings, data_dir, save_settings
from idol.show.interface import (
    ClauseSpoken,
    Loading,
    Notice,
    Ready,
    ReplyText,
    ShowEvent,
    ShowInterface,
    TurnEnded,
    TurnStarted,
)
from idol.ui.actions import add_action, with_key
from idol.ui.avatar_menu import AvatarMenu, DropDoor
from idol.ui.avatar_stage import AvatarStage
from idol.ui.backgrounds import Backgrounds
from idol.ui.compositor import transparency_trouble
from idol.ui.frame_clock import BEATS, SOFTWARE_STEPS, FrameClock
from idol.ui.model_menu import ModelMenu
from idol.ui.overlay import Overlay
from idol.ui.show_bridge import ShowBridge
from idol.ui.stage_memory import StageMemory
from idol.ui.strings import tr
from idol.ui.view_menu import ViewMenu

log = logging.getLogger(__name__)

_DOTS = {
    "loading": "#e0b34f", "ready": "#63d08b", "thinking": "#7fb4ff", "speaking": "#ff7aa8", "failed": "#ff5f6f",
    "closed": "#6b7390",
}  # fmt: skip
_STATES = {
    "loading": "Loading", "ready": "Ready", "thinking": "Thinking", "speaking": "Speaking", "failed": "Not running",
    "closed": "Not running",
}  # fmt: skip


class MainWindow(QMainWindow):
    """``show`` is started by the caller; the window closes it. ``voices`` lists a language's voices when loaded.

    ``settings`` are this run's; ``kept`` (by default the same) are those of the file, which gets only what the user
    changes in the window. ``earlier`` are the last lines of the kept chat, oldest first.
    """

    def __init__(
        self,
        show: ShowInterface,
        settings: Settings,
        default_avatar: Path,
        *,
        forget: Callable[[], None] | None = None,
        voices: Callable[[str], tuple[str, ...]] | None = None,
        models: Callable[[], list[str]] | None = None,
        kept: Settings | None = None,
        earlier: Sequence[PastLine] = (),
    ) -> None:
        super().__init__()
        from idol.ui.chat_panel import ChatPanel

        self._show = show
        self._settings = settings
        self._kept = kept if kept is not None else settings
        self._forget = forget
        self._voices = voices
        self._models = models
        self._ready = False
        self.setWindowTitle("Idol")
        self.setMinimumSize(640, 420)
        self.resize(1180, 760)
        self.view = AvatarView()
        self.view.set_pose_source(self._pose)
        self.view.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # a click on her must not take the line's letters
        self.view.gl_failed.connect(self._on_gl_failed)
        self.view.avatar_shown.connect(self._greet)
        self._greeted: Avatar | None = None
        self.overlay = Overlay(self.view)
        self.overlay.setVisible(settings.ui.overlay)
        self.chat = ChatPanel("Mira", data_dir() / "draft.txt")
        self.chat.add_earlier(earlier)
        self.chat.submitted.connect(self._submit)
        self.chat.stopped.connect(self._cancel)
        self._splitter = QSplitter(Qt.Orientation.Horizontal)
        self._splitter.addWidget(self.view)
        self._splitter.addWidget(self.chat)
        self._splitter.setStretchFactor(0, 1)
        self._splitter.setSizes([800, 380])
        self._splitter.setChildrenCollapsible(False)
        self._splitter.setHandleWidth(1)
        self.chat.setMinimumWidth(260)
        self.chat.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)  # a clear window would show through it
        self.setCentralWidget(self._splitter)
        self._build_status()
        self.stage = AvatarStage(
            self, self.view, default_avatar, StageMemory(data_dir() / "stage.json"),
            keep_path=lambda path: self._keep("avatar", "path", path), say=self._say_notice,
        )  # fmt: skip
        self.stage.loader.busy.connect(self._show_opening)
        self.stage.arriving.connect(self._show_opening)
        self.backgrounds = Backgrounds(
            self, self.view, settings.avatar, keep=lambda name, value: self._keep("avatar", name, value),
            say=self._say_notice, translucent=self.set_translucent,
        )  # fmt: skip
        self._build_menus()
        self._bridge = ShowBridge(show, self)
        self._bridge.arrived.connect(self._on_event)
        steps = SOFTWARE_STEPS if self.view.drawn_by_processor else BEATS
        self.clock = FrameClock(self._on_frame, self, steps=steps)
        self.clock.detail_changed.connect(self.view.set_detail)
        self.view.frameSwapped.connect(self.clock.drawn)
        self._slow = QTimer(self)
        self._slow.setInterval(250)
        self._slow.timeout.connect(self._refresh)
        self._closing = False
        self._drops = DropDoor(self, self.stage, self.backgrounds, self.open_animation)
        self._drops.guard(self, self.view, self.chat.line, self.chat.line.viewport())
        self.backgrounds.apply()
        named = settings.avatar.path
        path = Path(named) if named else default_avatar
        self.stage.open(path, trusted=named != self._kept.avatar.path)

    def start(self) -> None:
        """Begin drawing; call after ``show()``."""
        self.clock.start()
        self._slow.start()
        self.chat.line.setFocus()

    # -- building ------------------------------------------------------------------------------------------------

    def _build_status(self) -> None:
        bar = self.statusBar()
        bar.setSizeGripEnabled(False)
        self._dot = QLabel("●")
        self._dot.setObjectName("dot")
        self._state = QLabel(tr("Loading"))
        self._state.setObjectName("state")
        self._state.setMinimumWidth(60)  # a long text is cut, and does not widen the window
        self._state.setTextFormat(Qt.TextFormat.PlainText)
        self._state.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._progress = QProgressBar()
        self._progress.setTextVisible(False)
        self._progress.setFixedWidth(180)
        self._action = QPushButton()
        self._action.setVisible(False)
        self._action.clicked.connect(self._act)
        self._do: Callable[[], None] | None = None
        volume = QWidget()
        row = QHBoxLayout(volume)
        row.setContentsMargins(0, 0, 12, 0)
        row.addWidget(QLabel(tr("Volume")))
        self._volume = QSlider(Qt.Orientation.Horizontal)
        self._volume.setRange(0, 100)
        self._volume.setFixedWidth(110)
        self._volume.setValue(round(self._settings.audio.volume * 100))
        self._volume.setAccessibleName(tr("Volume"))
        self._volume.valueChanged.connect(self._set_volume)
        row.addWidget(self._volume)
        for widget in (self._dot, self._state, self._progress, self._action):
            bar.addWidget(widget)
        self._opening = QWidget()
        opening = QHBoxLayout(self._opening)
        opening.setContentsMargins(0, 0, 12, 0)
        self._opening_name = QLabel()
        self._opening_name.setTextFormat(Qt.TextFormat.PlainText)
        stop = QPushButton(tr("Cancel"))
        stop.clicked.connect(lambda _checked=False: self.stage.cancel())
        opening.addWidget(self._opening_name)
        opening.addWidget(stop)
        self._opening.setVisible(False)
        bar.addPermanentWidget(self._opening)
        bar.addPermanentWidget(volume)

    def _build_menus(self) -> None:
        file = self.menuBar().addMenu(with_key("File", "F"))
        self.avatars = AvatarMenu(self, file.addMenu(tr("Avatars")), self.stage)
        add_action(self, file, "Open avatar…", self.avatars.choose, QKeySequence.StandardKey.Open)
        file.addSeparator()
        add_action(self, file, "Open animation…", self._choose_animation, "Ctrl+Shift+O")
        add_action(self, file, "Stop the animation", self.stop_animation)
        file.addSeparator()
        add_action(self, file, "Quit", self.close, QKeySequence.StandardKey.Quit)
        view = self.menuBar().addMenu(with_key("View", "V"))
        self._stage_only = add_action(self, view, "Stage only", self._set_stage, "F11", checkable=True)
        self._overlay_action = add_action(self, view, "Overlay", self._set_overlay, "F3", checkable=True)
        self._overlay_action.setChecked(self._settings.ui.overlay)
        self._overlay_action.triggered.connect(lambda on: self._keep("ui", "overlay", on))
        view.addSeparator()
        self.view_menu = ViewMenu(self, view, self.view)
        self.stage.placed.connect(self.view_menu.tick)
        self.backgrounds.build(view.addMenu(tr("Background")))
        view.addSeparator()
        add_action(self, view, "About this avatar…", self.stage.show_terms)
        chat = self.menuBar().addMenu(with_key("Chat", "C"))
        add_action(self, chat, "Stop", self._cancel, "Esc")
        add_action(self, chat, "Start a new conversation", self._start_anew)
        self._voice_menu = self.menuBar().addMenu(with_key("Voice", "O"))
        self._voice_menu.aboutToShow.connect(self._fill_voices)
        self._model_menu = self.menuBar().addMenu(with_key("Mind", "M"))
        self.mind = ModelMenu(
            self._model_menu, self._show, self._kept, self._models or list,
            say=lambda text: self.chat.add_notice(text), save=self._save,
        )  # fmt: skip
        about = self.menuBar().addMenu(with_key("Help", "H"))
        add_action(self, about, "About", self._about)

    def _fill_voices(self) -> None:
        self._voice_menu.clear()
        names = {"en": "English", "zh": "Chinese", "ja": "Japanese"}
        for language in LANGUAGES:
            menu = self._voice_menu.addMenu(tr(names[language]))
            group = QActionGroup(menu)
            for voice in self._voices(language) if self._voices is not None else ():
                action = QAction(voice, menu, checkable=True)
                action.setChecked(self._settings.voice.name_for(language) == voice)
                action.triggered.connect(lambda _on, code=language, name=voice: self._set_voice(code, name))
                group.addAction(action)
                menu.addAction(action)
            if not menu.actions():
                menu.addAction(tr("Loading")).setEnabled(False)

    # -- the stage -----------------------------------------------------------------------------------------------

    def _show_opening(self, name: str, share: float = 0.0) -> None:
        """An avatar is being loaded, and that ``share`` of it uploaded; '' when none is any more."""
        self._opening_name.setText(f"{tr('Loading')}: {name}" + (f" {share:.0%}" if share else ""))
        self._opening.setVisible(bool(name))

    def set_translucent(self, on: bool) -> None:
        """The window's own ground clear, so that the desktop and captures see through where the view is clear."""
        if on == self.testAttribute(Qt.WidgetAttribute.WA_TranslucentBackground):
            return
        made, shown = self.windowHandle() is not None, self.isVisible()
        place, sizes, focus = self.saveGeometry(), self._splitter.sizes(), self.focusWidget()
        if made:  # the alpha channel is a window's from its beginning: make it anew, and the view's context with it
            self.hide()
            self.view.setParent(None)
            self.destroy()
        self.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground, on)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground, on)
        if made:
            self._splitter.insertWidget(0, self.view)
            self._splitter.setStretchFactor(0, 1)
            self._splitter.setSizes(sizes)
            self.view.show()
            self.restoreGeometry(place)
            self.setVisible(shown)
            if focus is not None:
                focus.setFocus()
        if on:
            QTimer.singleShot(0, self, self._look_through)

    def _look_through(self) -> None:
        trouble = transparency_trouble(self.windowHandle())
        if trouble:
            self._say_notice(trouble, False)

    def _greet(self) -> None:
        """She waves when she is first seen."""
        avatar = self.view.avatar
        if avatar is not None and avatar is not self._greeted:
            self._greeted = avatar
            avatar.motion.gesture("wave")

    def open_animation(self, path: Path, *, loop: bool = True) -> bool:
        """Play the VRM animation at ``path`` on her; when it cannot be read she goes on as she was, with a message."""
        try:
            clip = load_animation(path)
        except AvatarError as error:
            text = str(error)
            self.chat.add_notice(text if path.name in text else f"{path.name}: {text}", bad=True)
            return False
        if self.view.avatar is None:
            return False
        self.view.avatar.motion.stop()
        self.view.avatar.motion.play(clip, loop=loop)
        return True

    def _choose_animation(self) -> None:
        name, _ = QFileDialog.getOpenFileName(self, tr("Open animation…"), "", f"{tr('Animation')} (*.vrma)")
        if name:
            self.open_animation(Path(name))

    def stop_animation(self) -> None:
        """Let her go back to her own motion."""
        if self.view.avatar is not None:
            self.view.avatar.motion.stop()

    def _pose(self, now: float) -> FacePose:
        return self._show.pose(now)

    def _on_frame(self, now: float) -> None:
        self.view.tick(now)

    def _on_gl_failed(self, message: str) -> None:
        self.chat.add_notice(message, bad=True)

    def set_stage(self, on: bool) -> None:
        """Show only her, for capture."""
        self._stage_only.setChecked(on)

    def set_overlay(self, on: bool) -> None:
        self._overlay_action.setChecked(on)

    def grab_picture(self) -> QPixmap:
        """The window as it looks now, the GL view included."""
        return self.grab()

    def _set_stage(self, on: bool) -> None:
        self.chat.setVisible(not on)
        self.menuBar().setVisible(not on)
        self.statusBar().setVisible(not on)
        if not on:
            self.chat.line.setFocus()

    def _set_overlay(self, on: bool) -> None:
        self.overlay.setVisible(on)

    def _say_notice(self, text: str, bad: bool) -> None:
        self.chat.add_notice(text, bad=bad)

    # -- the chat ------------------------------------------------------------------------------------------------

    def _submit(self, text: str) -> None:
        self.say(text)

    def say(self, text: str, source: str = "chat") -> None:
        """Submit a line; a refused one comes back into the field with the reason."""
        try:
            self._show.submit(text, source)
        except ValueError as error:
            self.chat.add_notice(str(error))
            self.chat.give_back(text)
            return
        self.chat.add_line(text, source)
        self.chat.stop.setEnabled(True)
        if not self._ready:
            self.chat.add_notice(tr("She answers as soon as everything is loaded."))

    def _cancel(self) -> None:
        self._show.cancel()

    def _start_anew(self) -> None:
        if self._forget is not None:
            self._forget()
        self.chat.clear()
        self.chat.add_notice(tr("Start a new conversation") + " ✓")

    def _on_event(self, event: ShowEvent) -> None:
        if isinstance(event, Loading):
            text = f"{tr('Loading')}: {event.what}"
            if self.mind.wanted:
                self.show_fetching(text, event.fraction, tr("Cancel"), self.mind.cancel)
            else:
                self._loading(text, event.fraction)
        elif isinstance(event, Ready):
            self._ready = True
            self.mind.settle()
            if not self.mind.wanted:
                self._progress.setVisible(False)
                self._action.setVisible(False)
            self._refresh()
        elif isinstance(event, TurnStarted):
            self.chat.begin_reply(event.turn_id)
        elif isinstance(event, ReplyText):
            self.chat.append_reply(event.turn_id, event.text)
        elif isinstance(event, TurnEnded):
            note = {"done": "", "cancelled": tr("stopped"), "blocked": tr("not answered"), "failed": tr("failed")}
            self.chat.end_reply(event.turn_id, note[event.reason])
            self.chat.stop.setEnabled(self._show.overlay().queued_turns > 0)
            if event.reason == "blocked" and event.message:
                self.chat.add_notice(event.message)
        elif isinstance(event, Notice):
            self.chat.add_notice(event.sentence, bad=event.level == "error")
            if event.level == "error" and not self._ready:
                self._progress.setVisible(False)
                self._action.setVisible(False)
                self._say_state("\n".join(dict.fromkeys((event.text.removesuffix(event.remedy).strip(), event.remedy))))
        elif isinstance(event, ClauseSpoken):
            pass  # captions will follow it

    def _say_state(self, text: str) -> None:
        self._state.setText(text.strip())
        self._state.setToolTip(text.strip())

    def _loading(self, text: str, fraction: float | None) -> None:
        self._say_state(text)
        self._progress.setVisible(True)
        self._progress.setRange(0, 0 if fraction is None else 1000)
        if fraction is not None:
            self._progress.setValue(round(fraction * 1000))

    def show_fetching(
        self, text: str, fraction: float | None, button: str = "", do: Callable[[], None] | None = None
    ) -> None:
        """What a fetch is doing, with one button beside it."""
        self._loading(text, fraction)
        self._action.setVisible(bool(button))
        self._action.setText(button)
        self._do = do

    def _act(self) -> None:
        if self._do is not None:
            self._do()

    # -- settings ------------------------------------------------------------------------------------------------

    def _set_volume(self, percent: int) -> None:
        set_volume = getattr(self._show, "set_volume", None)
        if set_volume is not None:
            set_volume(percent / 100)
        self._keep("audio", "volume", percent / 100)

    def _set_voice(self, language: str, name: str) -> None:
        self._keep("voice", language, name)

    def _keep(self, section: str, key: str, value: object) -> None:
        """The user's choice, for this run and in the file."""
        for settings in (self._settings, self._kept):
            setattr(getattr(settings, section), key, value)
        self._save()

    def _save(self) -> None:
        try:
            save_settings(self._kept)
        except OSError as error:
            self.chat.add_notice(f"The settings could not be saved: {error}.")

    def _about(self) -> None:
        from idol import __version__

        runtimes = "\n".join(f"{r.engine}: {r.model} ({r.runtime})" for r in self._show.overlay().runtimes)
        QMessageBox.about(self, "Idol", f"Idol {__version__}\nApache-2.0\n\n{runtimes}")

    # -- state ---------------------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        snapshot = self._show.overlay()
        self._dot.setStyleSheet(f"color: {_DOTS[snapshot.state]}")
        if self._ready and self._progress.isHidden():
            model = next((r.model for r in snapshot.runtimes if r.engine == "llm"), "")
            self._say_state(f"{tr(_STATES[snapshot.state])}   ·   {model}   ·   {snapshot.output}")
        if self.overlay.isVisible():
            self.overlay.show_state(snapshot, self.clock.stats)

    def closeEvent(self, event: QCloseEvent) -> None:
        if not self._closing:
            self._closing = True
            self.clock.stop()
            self._slow.stop()
            self._bridge.close()
            self.hide()  # gone at once, even while an engine ends its last step
            self.stage.close()
            self.backgrounds.close()
            started = time.monotonic()
            try:
                self._show.close()
            except RuntimeError as error:
                log.warning("%s", error)
            log.info("closed in %.1f s", time.monotonic() - started)
            self.view.shutdown()
        super().closeEvent(event)
