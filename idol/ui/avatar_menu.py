"""The menu of avatars: those that come along by their titles, those used lately, and any other file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject
from PySide6.QtGui import QAction, QDropEvent
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from idol.avatar.card import read_card
from idol.render.background_file import ENDINGS
from idol.ui.avatar_stage import AvatarStage
from idol.ui.backgrounds import Backgrounds
from idol.ui.strings import tr

AVATAR_ENDINGS = (".vrm", ".glb")
ANIMATION_ENDING = ".vrma"
_LONGEST = 60
"""Letters of an entry; titles are strangers' words."""


class AvatarMenu:
    """Fills ``menu`` when it is opened."""

    def __init__(self, window: QWidget, menu: QMenu, stage: AvatarStage) -> None:
        self._window = window
        self._menu = menu
        self._stage = stage
        self._titles: dict[Path, tuple[float, str]] = {}
        menu.aboutToShow.connect(self.fill)

    def fill(self) -> None:
        self._menu.clear()
        for path in self._stage.bundled:
            self._add(self._title(path), path)
        recent = self._stage.memory.recent(self._stage.bundled[0].parent)
        if recent:
            self._menu.addSection(tr("Used lately"))
        for entry in recent:
            path = Path(entry.path)
            title = entry.title or path.stem
            if path.is_file():
                self._add(f"{title} ({path.name})" if title != path.stem else title, path)
            else:
                self._add(f"{title} ({tr('the file is gone')})", path).setEnabled(False)

    def choose(self) -> None:
        """Ask for a file."""
        folder = "" if self._stage.path is None else str(self._stage.path.parent)
        endings = " ".join(f"*{ending}" for ending in AVATAR_ENDINGS)
        name, _ = QFileDialog.getOpenFileName(
            self._window, tr("Open avatar…"), folder, f"{tr('Avatar')} ({endings})"
        )  # fmt: skip
        if name:
            self._stage.open(Path(name), keep=True)

    def _add(self, text: str, path: Path) -> QAction:
        shown = " ".join(text.split())
        shown = shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
        action = QAction(shown.replace("&", "&&"), self._menu, checkable=True)
        action.setChecked(self._stage.path == path)
        action.setToolTip(str(path))
        action.triggered.connect(partial(self._open, path))
        self._menu.addAction(action)
        return action

    def _open(self, path: Path, _on: bool = True) -> None:
        self._stage.open(path, keep=True)

    def _title(self, path: Path) -> str:
        """From the file's own words, read anew when it changes."""
        try:
            changed = path.stat().st_mtime
            known = self._titles.get(path)
            if known is None or known[0] != changed:
                known = self._titles[path] = (changed, read_card(path, picture=False).title)
        except OSError:
            return path.stem
        return known[1] or path.stem


class DropDoor(QObject):
    """Avatars, animations and pictures dropped anywhere on the window; what else is dropped goes where it fell."""

    def __init__(
        self, window: QWidget, stage: AvatarStage, backgrounds: Backgrounds, animate: Callable[[Path], object]
    ) -> None:
        super().__init__(window)
        self._animate = animate
        self._stage = stage
        self._backgrounds = backgrounds

    def guard(self, *widgets: QWidget) -> None:
        for widget in widgets:
            widget.setAcceptDrops(True)
            widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QDropEvent):  # entering and moving are drops too
            path = _dropped(event.mimeData())
            if path is not None:
                event.acceptProposedAction()
                if event.type() == QEvent.Type.Drop:
                    self._take(path)
                return True
        return super().eventFilter(watched, event)

    def _take(self, path: Path) -> None:
        ending = path.suffix.lower()
        if ending in AVATAR_ENDINGS:
            self._stage.open(path, keep=True)
        elif ending == ANIMATION_ENDING:
            self._animate(path)
        else:
            self._backgrounds.choose_picture(path)


def _dropped(data: QMimeData) -> Path | None:
    """The first among dropped files that is an avatar, an animation or a picture."""
    for url in data.urls() if data.hasUrls() else ():
        path = Path(url.toLocalFile()) if url.isLocalFile() else None
        if path is not None and path.suffix.lower() in (*AVATAR_ENDINGS, ANIMATION_ENDING, *ENDINGS):
            return path
    return None
