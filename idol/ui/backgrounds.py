"""What is behind her, chosen in a menu: a colour, a picture, nothing, or a key colour. Pictures load on a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QActionGroup, QColor
from PySide6.QtWidgets import QColorDialog, QFileDialog, QMenu, QWidget

from idol.render import AvatarView
from idol.render.background_file import ENDINGS, BackgroundError, read_background
from idol.settings import AvatarSettings, Backdrop
from idol.ui.actions import add_action, add_choice
from idol.ui.strings import tr

COLOURS = {"Dark": "#20242f", "Light": "#e9edf5"}
KEYS: dict[str, Backdrop] = {
    "Green screen": "key-green", "Blue screen": "key-blue", "Magenta screen": "key-magenta",
}  # fmt: skip
Keep = Callable[[str, object], None]


class Backgrounds(QObject):
    """Shows on ``view`` what ``settings`` say. ``keep(name, value)`` puts a choice of the user's into them;
    ``say(text, bad)`` shows a sentence; ``translucent(on)`` makes the window's own ground clear, and says what hinders.
    """

    _read = Signal(int, object)

    def __init__(
        self,
        window: QWidget,
        view: AvatarView,
        settings: AvatarSettings,
        *,
        keep: Keep,
        say: Callable[[str, bool], None],
        translucent: Callable[[bool], None],
    ) -> None:
        super().__init__(window)
        self._window = window
        self._view = view
        self._settings = settings
        self._keep = keep
        self._say = say
        self._translucent = translucent
        self._turn = 0
        self._threads: list[threading.Thread] = []
        self._shown_picture = ""
        self._read.connect(self._on_read, Qt.ConnectionType.QueuedConnection)
        if not QColor(settings.background).isValid():
            say(
                f"The background {settings.background!r} of the settings is no colour; the usual one is shown. "
                "Choose one in the menu View, or write one such as '#20242f' or 'black'.", True,
            )  # fmt: skip

    def build(self, menu: QMenu) -> None:
        group = QActionGroup(self._window)
        self._colours = {
            colour: add_choice(self._window, menu, group, text, partial(self.choose_colour, colour))
            for text, colour in COLOURS.items()
        }
        self._own = add_choice(self._window, menu, group, "Colour…", self.ask_colour)
        menu.addSeparator()
        self._picture = add_choice(self._window, menu, group, "Picture", lambda: self.choose("image"))
        add_action(self._window, menu, "Choose a picture…", self.ask_picture)
        menu.addSeparator()
        self._others = {"transparent": add_choice(self._window, menu, group, "Transparent", self._choose_clear)}
        for text, key in KEYS.items():
            self._others[key] = add_choice(self._window, menu, group, text, partial(self.choose, key))
        self.tick()

    @property
    def colour(self) -> QColor:
        wanted = QColor(self._settings.background)
        return wanted if wanted.isValid() else QColor(AvatarSettings().background)

    def apply(self) -> None:
        """Show what the settings say; the colour until a picture is there, and when it cannot be."""
        kind = self._settings.backdrop
        self._turn += 1
        self._translucent(kind == "transparent")
        self._view.set_key(kind.removeprefix("key-") if kind.startswith("key-") else "")
        self._view.set_background(QColor(0, 0, 0, 0) if kind == "transparent" else self.colour)
        if kind != "image":
            self._show(None, "")
        elif self._settings.picture != self._shown_picture:
            self._load(self._settings.picture)

    def tick(self) -> None:
        kind, colour = self._settings.backdrop, self.colour
        name = Path(self._settings.picture).name
        self._picture.setText(f"{tr('Picture')}: {name}" if name else tr("Picture"))
        self._picture.setEnabled(bool(name))
        ticked = self._others.get(kind, self._picture if kind == "image" else self._own)
        if kind == "colour":
            ticked = next((action for text, action in self._colours.items() if QColor(text) == colour), self._own)
        ticked.setChecked(True)

    def choose(self, kind: Backdrop) -> None:
        self._keep("backdrop", kind)
        self.apply()
        self.tick()

    def choose_colour(self, colour: str) -> None:
        self._keep("background", colour)
        self.choose("colour")

    def choose_picture(self, path: Path) -> None:
        """Shown and kept when it can be read; what is behind her stays when not."""
        self._turn += 1
        self._load(str(path.absolute()), chosen=True)

    def ask_colour(self) -> None:
        """Any colour, seen behind her while it is chosen."""
        dialog = QColorDialog(self.colour, self._window)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setOption(QColorDialog.ColorDialogOption.DontUseNativeDialog)  # the native ones show no change
        dialog.setWindowTitle(tr("Background"))
        dialog.currentColorChanged.connect(self._preview)
        dialog.colorSelected.connect(lambda chosen: self.choose_colour(chosen.name()))
        dialog.rejected.connect(self.apply)
        dialog.rejected.connect(self.tick)
        dialog.open()

    def _preview(self, colour: QColor) -> None:
        self._view.set_key("")
        self._show(None, "")
        self._view.set_background(colour)

    def ask_picture(self) -> None:
        endings = " ".join(f"*{ending}" for ending in ENDINGS)
        name, _ = QFileDialog.getOpenFileName(
            self._window, tr("Choose a picture…"), str(Path(self._settings.picture).parent),
            f"{tr('Picture')} ({endings})",
        )  # fmt: skip
        if name:
            self.choose_picture(Path(name))
        self.tick()

    def close(self) -> None:
        self._turn += 1
        for thread in self._threads:
            thread.join(10)

    def _choose_clear(self) -> None:
        self.choose("transparent")

    def _load(self, path: str, *, chosen: bool = False) -> None:
        turn = self._turn

        def work() -> None:
            try:
                self._read.emit(turn, (path, read_background(Path(path)), chosen))
            except BackgroundError as error:
                self._read.emit(turn, (path, str(error), chosen))
            except Exception as error:  # a thread's failure must reach the window
                self._read.emit(turn, (path, f"The picture {path} cannot be read ({error!r}). Choose another.", chosen))

        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=work, name="idol-picture", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _on_read(self, turn: int, result: tuple[str, NDArray[np.uint8] | str, bool]) -> None:
        if turn != self._turn:
            return
        path, pixels, chosen = result
        if isinstance(pixels, str):
            self._say(pixels, True)
            if not chosen:
                self._show(None, "")
            return
        self._show(pixels, path)
        if chosen:
            self._keep("picture", path)
            self.choose("image")

    def _show(self, pixels: NDArray[np.uint8] | None, path: str) -> None:
        self._view.set_picture(pixels)
        self._shown_picture = path
