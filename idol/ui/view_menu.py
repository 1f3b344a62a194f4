"""The part of the menu View that moves the camera and sets the light."""

from __future__ import annotations

import math
from functools import partial

from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QWidget

from idol.render import AvatarView
from idol.render.lighting import LIGHTINGS
from idol.ui.actions import add_action, add_choice
from idol.ui.strings import tr

_FRAMINGS = (("Face", "face", "Ctrl+1"), ("Bust", "bust", "Ctrl+2"), ("Full body", "full", "Ctrl+3"))
_STEP = math.radians(7.5)
_SHARE = 0.04
"""Of the picture's height, for one press of a key."""
_NEARER = 1.1


class ViewMenu:
    """``menu`` gets the entries; ticks follow what the view shows."""

    def __init__(self, window: QWidget, menu: QMenu, view: AvatarView) -> None:
        self._view = view
        framings, lights = QActionGroup(window), QActionGroup(window)
        self._framings = {
            name: add_choice(window, menu, framings, text, partial(view.set_framing, name), key)
            for text, name, key in _FRAMINGS
        }
        camera = menu.addMenu(tr("Camera"))
        moves = (
            ("Nearer", "Ctrl++", partial(view.zoom_camera, _NEARER)),
            ("Further", "Ctrl+-", partial(view.zoom_camera, 1 / _NEARER)),
            ("Round to the left", "Alt+Left", partial(view.turn_camera, -_STEP, 0.0)),
            ("Round to the right", "Alt+Right", partial(view.turn_camera, _STEP, 0.0)),
            ("Higher", "Alt+Up", partial(view.turn_camera, 0.0, _STEP)),
            ("Lower", "Alt+Down", partial(view.turn_camera, 0.0, -_STEP)),
            ("Move her left", "Alt+Shift+Left", partial(view.move_picture, -_SHARE, 0.0)),
            ("Move her right", "Alt+Shift+Right", partial(view.move_picture, _SHARE, 0.0)),
            ("Move her up", "Alt+Shift+Up", partial(view.move_picture, 0.0, _SHARE)),
            ("Move her down", "Alt+Shift+Down", partial(view.move_picture, 0.0, -_SHARE)),
        )
        for text, key, do in moves:
            add_action(window, camera, text, do, key)
        camera.addSeparator()
        add_action(window, camera, "Reset the camera", view.reset_camera, "Ctrl+0")
        lighting = menu.addMenu(tr("Lighting"))
        self._lights = {
            name: add_choice(window, lighting, lights, name.capitalize(), partial(self._set_lighting, name))
            for name in LIGHTINGS
        }
        view.viewpoint_changed.connect(self.tick)
        self.tick()

    def tick(self) -> None:
        self._framings[self._view.framing].setChecked(True)
        self._lights[self._view.lighting].setChecked(True)

    def _set_lighting(self, name: str) -> None:
        self._view.set_lighting(name)
        self._view.viewpoint_changed.emit()
