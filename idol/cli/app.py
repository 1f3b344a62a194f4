"""``main.py``: the window."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from idol.cli.backgrounds import BACKGROUND_HELP, UsageError, background_settings
from idol.cli.log_file import log_to_file
from idol.cli.screen import no_screen
from idol.render.camera import FRAMINGS
from idol.render.lighting import LIGHTINGS
from idol.settings import Settings, data_dir, load_settings

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

    from idol.show.show import Show
    from idol.show.start_plan import StartPlan
    from idol.ui.fetch_task import FetchTask
    from idol.ui.main_window import MainWindow
    from idol.ui.model_offer import ModelOffer

DEFAULT_AVATAR = Path(__file__).parents[2] / "avatars" / "default.vrm"
_EARLIER = 50
"""Lines of the kept chat that are shown at the start, with their answers; older ones stay on the disk."""
_LONGEST_WAIT = 3000
"""Milliseconds for which the engines wait for the avatar."""
log = logging.getLogger("idol")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--avatar", type=Path, metavar="F", help="a .vrm or .glb file for this run")
    parser.add_argument("--framing", choices=FRAMINGS, help="where the camera begins, in place of where it was left")
    parser.add_argument("--lighting", choices=tuple(LIGHTINGS), help="the light she begins in")
    parser.add_argument("--background", metavar="B", help=f"for this run: {BACKGROUND_HELP}")
    parser.add_argument("--model", metavar="ID", help="language model: a catalogue id or an added model's name")
    parser.add_argument("--no-audio", action="store_true", help="no sound device; the clock runs as if there were one")
    parser.add_argument("--stage", action="store_true", help="show only her, no chat")
    parser.add_argument("--overlay", action="store_true", help="show frame times and latencies (F3)")
    parser.add_argument("--size", metavar="WxH", help="size of the window")
    parser.add_argument("--say", action="append", default=[], metavar="TEXT", help="submit a line at the start")
    parser.add_argument(
        "--read", action="append", default=[], metavar="TEXT", help="have a text read aloud at the start"
    )
    parser.add_argument("--quit-after", type=float, metavar="S", help="close after so many seconds")
    parser.add_argument("--screenshot", type=Path, metavar="F", help="save the window's picture before closing")
    parser.add_argument("--frames", type=Path, metavar="F", help="write the frame intervals in ms as JSON at the end")


def run(arguments: argparse.Namespace) -> int:
    kept, message = load_settings()
    settings = kept.model_copy(deep=True)
    if arguments.model:
        settings.llm.model = arguments.model
    if arguments.no_audio:
        settings.audio.output = "none"
    if arguments.avatar:
        settings.avatar.path = str(arguments.avatar)
    if arguments.background:
        try:
            settings.avatar = background_settings(settings.avatar, arguments.background)
        except UsageError as error:
            print(error, file=sys.stderr)
            return 2
    return _open(arguments, settings, kept, message)


def _open(arguments: argparse.Namespace, settings: Settings, kept: Settings, message: str) -> int:
    """Open the window; ``settings`` are this run's, ``kept`` those of the file."""
    log_to_file()
    trouble = no_screen()
    if trouble:
        print(trouble, file=sys.stderr)
        return 1
    sys.setswitchinterval(0.0005)
    try:
        from PySide6.QtGui import QSurfaceFormat
        from PySide6.QtWidgets import QApplication
    except ImportError as error:
        print(f"Qt cannot start: {error}. Run: main.py doctor", file=sys.stderr)
        return 1
    from idol.cli.one_window import OneWindow
    from idol.render.hidden_context import window_samples
    from idol.render.surface_format import gl_format
    from idol.ui.strings import choose_language, translate_dialogs
    from idol.ui.style import apply_style

    application = QApplication.instance() or QApplication([sys.argv[0]])
    assert isinstance(application, QApplication)
    application.setApplicationName("Idol")
    choose_language(settings.ui.language)
    translate_dialogs(application)
    apply_style(application)
    QSurfaceFormat.setDefaultFormat(gl_format(window_samples()))
    alone = OneWindow(data_dir())
    trouble = alone.trouble()
    if trouble:
        _tell_and_leave(trouble, arguments.quit_after)
        return 1
    try:
        return _run(settings, kept, arguments, message, application)
    except Exception as error:  # nobody would see it: the window that tells of failures is not there
        log.exception("the window could not be opened")
        print(
            f"The window could not be opened: {error}. The log in {data_dir() / 'logs'} says more. Run: main.py doctor",
            file=sys.stderr,
        )
        return 1
    finally:
        alone.close()


def _tell_and_leave(trouble: str, seconds: float | None) -> None:
    """On the terminal, and in a dialogue for those who started it without one; that closes after ``seconds``."""
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QMessageBox

    print(trouble, file=sys.stderr, flush=True)
    box = QMessageBox(QMessageBox.Icon.Information, "Idol", trouble)
    if seconds is not None:
        QTimer.singleShot(round(seconds * 1000), box.reject)
    box.exec()


def _run(
    settings: Settings, kept: Settings, arguments: argparse.Namespace, message: str, application: QApplication
) -> int:
    from PySide6.QtCore import QTimer

    from idol.show.assembly import make_show

    show = make_show(settings, remember=True, pictured=True)
    window = _window(show, settings, kept, arguments, message)
    signal.signal(signal.SIGINT, lambda *_: window.close())
    ticking = QTimer()  # gives Python a chance to see Ctrl-C
    ticking.start(200)
    ticking.timeout.connect(lambda: None)
    _catch_failures(window)
    window.show()
    window.start()
    session = _Session(show, window, settings, arguments)
    _begin_when_she_stands(window, session)
    if arguments.quit_after:
        QTimer.singleShot(round(arguments.quit_after * 1000), session.end)
    status = application.exec()
    session.close()
    return status


def _begin_when_she_stands(window: MainWindow, session: _Session) -> None:
    """Engines that load take every core: she comes first, as she takes a second and they take many."""
    from PySide6.QtCore import QTimer

    waiting = QTimer(window)
    waiting.setSingleShot(True)
    waiting.timeout.connect(session.begin)

    def hurry() -> None:
        if waiting.isActive():
            waiting.start(0)

    window.view.avatar_shown.connect(hurry)
    window.view.gl_failed.connect(hurry)
    waiting.start(_LONGEST_WAIT)


def _window(show: Show, settings: Settings, kept: Settings, arguments: argparse.Namespace, message: str) -> MainWindow:
    from engines.added import added_models
    from engines.catalogue import load_catalogue
    from idol.seams import LANGUAGES
    from idol.show.model_files import is_mind
    from idol.ui.main_window import MainWindow

    def voices(language: str) -> tuple[str, ...]:
        engines = show.engines
        known = next(name for name in LANGUAGES if name == language)
        return engines.voice.voices(known) if engines is not None else ()

    def models() -> list[str]:
        here = [model.id for model in load_catalogue().models.values() if is_mind(model.id) and not model.missing()]
        return [*here, *(name for name, path in added_models().items() if path.exists())]

    window = MainWindow(
        show, settings, DEFAULT_AVATAR, forget=show.forget, voices=voices, models=models, kept=kept,
        earlier=show.earlier(_EARLIER),
    )  # fmt: skip
    if arguments.size:
        try:
            width, height = (int(number) for number in arguments.size.lower().split("x"))
            window.setMinimumSize(min(640, width), min(420, height))
            window.resize(width, height)
        except ValueError:
            print(f"--size is {arguments.size!r}; write it like 1280x720", file=sys.stderr)
    window.stage.first_framing = arguments.framing
    window.stage.first_lighting = arguments.lighting or ""
    window.set_stage(arguments.stage)
    if arguments.overlay:
        window.set_overlay(True)
    if message:
        window.chat.add_notice(message)
    return window


class _Session:
    """What happens after the window is there: models are fetched if need be, the show starts, lines are submitted."""

    def __init__(self, show: Show, window: MainWindow, settings: Settings, arguments: argparse.Namespace) -> None:
        self._show = show
        self._window = window
        self._settings = settings
        self._arguments = arguments
        self._fetch: FetchTask | None = None
        self._offer: ModelOffer | None = None

    def begin(self) -> None:
        """Start the show, after a fetch when models are missing; where the wanted one cannot be had, with another."""
        from idol.show.start_plan import plan_start
        from idol.ui.strings import tr

        fetched = self._fetch is not None
        plan = plan_start(self._settings.llm.model)
        self._settings.llm.model = plan.model
        if plan.offer:
            self._make_offer(plan)
        elif plan.warning:
            self._window.chat.add_notice(plan.warning)
        if not plan.fetch:
            self._start()
            return
        self._window.show_fetching(tr("Models are missing"), 0.0)
        if fetched:  # what came is not what is missing: do not go round in circles
            self._window.show_fetching(
                f"{tr('Models are missing')}: {', '.join(plan.fetch)}", 0.0, tr("Retry"),
                lambda: self._begin_fetch(plan.fetch),
            )  # fmt: skip
            return
        self._begin_fetch(plan.fetch)

    def _make_offer(self, plan: StartPlan) -> None:
        from idol.ui.model_offer import ModelOffer

        self._offer = ModelOffer(
            self._window.chat, plan.warning, plan.offer, lambda: self._window.mind.choose(plan.offer)
        )

    def _begin_fetch(self, names: tuple[str, ...]) -> None:
        from idol.ui.fetch_task import FetchTask
        from idol.ui.strings import tr

        task = FetchTask(*names)
        self._fetch = task

        def progress(state: object) -> None:
            from engines.fetch import FetchProgress

            assert isinstance(state, FetchProgress)
            left = "" if state.seconds_left is None else f", {state.seconds_left:.0f} s {tr('left')}"
            text = f"{state.done / 1e6:.0f} / {state.total / 1e6:.0f} MB, {state.speed / 1e6:.1f} MB/s{left}"
            self._window.show_fetching(text, state.done / max(1, state.total), tr("Cancel"), task.cancel)

        def failed(message: str) -> None:
            self._window.chat.add_notice(message, bad=True)
            self._window.show_fetching(tr("Models are missing"), 0.0, tr("Retry"), lambda: self._begin_fetch(names))

        task.progress.connect(progress)
        task.failed.connect(failed)
        task.done.connect(self.begin)
        task.start()

    def _start(self) -> None:
        self._window.show_fetching("", None)
        self._show.start()
        for text in self._arguments.read:
            self._window.say(text, "say")
        for text in self._arguments.say:
            self._window.say(text)

    def end(self) -> None:
        """Save what was asked for and close."""
        if self._arguments.screenshot:
            self._window.grab_picture().save(str(self._arguments.screenshot))
        if self._arguments.frames:
            import json

            self._arguments.frames.write_text(json.dumps(self._window.clock.stats.intervals), encoding="utf-8")
        self._window.close()

    def close(self) -> None:
        for fetch in (self._fetch, self._offer):
            if fetch is not None:
                fetch.close()


def open_with_lines(arguments: argparse.Namespace, lines: list[str], source: str) -> int:
    """``say`` and ``chat`` without ``--headless``: the window opens and the lines are submitted."""
    from idol.cli.headless_run import plain, settings_from

    parser = argparse.ArgumentParser()
    add_arguments(parser)
    mine = parser.parse_args([])
    mine.say, mine.read = ([], lines) if source == "say" else (lines, [])
    kept, message = load_settings()  # once, since the second time there is nothing to complain of
    try:
        settings = settings_from(arguments)
    except ValueError as error:
        print(f"wrong option: {plain(error)}", file=sys.stderr)
        return 2
    return _open(mine, settings, kept, message)


def _catch_failures(window: MainWindow) -> None:
    """An error nobody caught is logged and said, and the program goes on."""
    from PySide6.QtCore import QTimer

    def tell(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            window.close()
            return
        log.error("uncaught", exc_info=(kind, error or kind(), trace))
        text = f"Something went wrong: {error!r}. The log in {data_dir() / 'logs'} says more."
        QTimer.singleShot(0, window, lambda: window.chat.add_notice(text, bad=True))

    sys.excepthook = tell
    threading.excepthook = lambda hook: tell(hook.exc_type, hook.exc_value, hook.exc_traceback)
