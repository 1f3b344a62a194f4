"""Entries of the window's menus; their shortcuts work while the menu bar is hidden too."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from idol.ui.strings import tr


def with_key(text: str, key: str) -> str:
    """A menu's title that Alt and ``key`` open: the letter is underlined in it, or stands behind a title without it."""
    title = tr(text)
    at = title.upper().find(key)
    return f"{title}(&{key})" if at < 0 else f"{title[:at]}&{title[at:]}"


def add_action(
    window: QWidget,
    menu: QMenu,
    text: str,
    do: Callable[..., object],
    shortcut: QKeySequence | QKeySequence.StandardKey | str | None = None,
    *,
    checkable: bool = False,
) -> QAction:
    """``do()`` when it is taken; of a checkable one, ``do(on)`` when its tick changes."""
    action = QAction(tr(text), window)
    action.setCheckable(checkable)
    if shortcut is not None:
        action.setShortcut(QKeySequence(shortcut))
    if checkable:
        action.toggled.connect(do)
    else:
        action.triggered.connect(lambda _checked=False: do())
    menu.addAction(action)
    window.addAction(action)
    return action


def add_choice(
    window: QWidget,
    menu: QMenu,
    group: QActionGroup,
    text: str,
    do: Callable[[], object],
    shortcut: str | None = None,
) -> QAction:
    """One of several of which one is ticked; ``do()`` when the user takes it."""
    action = add_action(window, menu, text, lambda _on: None, shortcut, checkable=True)
    group.addAction(action)
    action.triggered.connect(lambda _on: do())
    return action
