"""The stage as a widget: draws her whenever the frame clock ticks, and listens to mouse and wheel."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QImage, QMouseEvent, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtOpenGLWidgets import QOpenGLWidget
from PySide6.QtWidgets import QLabel, QWidget

from idol.avatar import Avatar
from idol.render.arrival import Arrival
from idol.render.camera import FRAMINGS, Camera, FramingName
from idol.render.eye_contact import EyeContact
from idol.render.gl import OpenGLError, RenderError
from idol.render.hidden_context import window_samples
from idol.render.lighting import DEFAULT_LIGHTING, LIGHTINGS
from idol.render.prepared import PreparedAvatar
from idol.render.renderer import AvatarRenderer
from idol.render.scenery import KEYS, Scenery
from idol.render.small_target import PIXELS, reduced
from idol.render.surface_format import gl_format
from idol.render.viewpoint import EASE_SECONDS, Viewpoint, between
from idol.seams import FacePose

_LOG = logging.getLogger(__name__)
PoseSource = Callable[[float], FacePose]
LONGEST_STEP = 0.25
"""Seconds: after a stall the springs continue from where they were instead of leaping."""
FRAME = 0.033
"""Seconds between ticks until they have been measured."""
LONGEST_LEAD = 0.12
"""Seconds: a window that stalls is no reason to look further ahead."""
SLOWEST_EASE = 0.08
"""Seconds between pictures above which a camera that glides would only stumble."""
_REMEDY = "Install or update the graphics driver (Debian: libgl1 libegl1); she can still be heard."
REST = FacePose(np.zeros(52, np.float32))


def rest_pose(now: float) -> FacePose:
    """What is drawn until a pose source is set."""
    return REST


class AvatarView(QOpenGLWidget):
    """Call ``tick`` once a frame. ``gl_failed`` carries a message when nothing can be drawn; it is shown as well."""

    gl_failed = Signal(str)
    avatar_shown = Signal()
    """The first picture of a newly set avatar has been drawn."""
    bringing = Signal(float)
    """How much of the avatar that ``bring`` was given is uploaded, 0 to 1."""
    viewpoint_changed = Signal()
    """The user moved the camera, or chose a framing; not at each step of a drag, but when it ends."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFormat(gl_format(window_samples()))
        self.setMinimumSize(160, 160)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._slow = window_samples() == 0
        self._detail = 1.0
        self._renderer = AvatarRenderer(cheap=self._slow)
        self._scenery = Scenery(window_samples(), cheap=self._slow)
        self._lighting = DEFAULT_LIGHTING
        self._avatar: Avatar | None = None
        self._pending = False
        self._prepared: PreparedAvatar | None = None
        self._arrival: Arrival | None = None
        self._ready = False
        self._pose: PoseSource = rest_pose
        self._last: float | None = None
        self._viewpoint = Viewpoint()
        self._camera = Camera()
        self._contact = EyeContact()
        self._leaving: Camera | None = None
        self._gone = 0.0
        self._drag: QPointF | None = None
        self._turning = QTimer(self)
        self._turning.setSingleShot(True)
        self._turning.setInterval(300)
        self._turning.timeout.connect(self.viewpoint_changed)
        self._message = ""
        self._no_gl = False
        self._label = QLabel(self)
        self._label.setWordWrap(True)
        self._label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._label.setStyleSheet("background: #18161e; color: #e8eaf2; padding: 24px;")
        self._label.hide()
        self._own_timer: QTimer | None = None
        self._asked = 0.0
        self._ticked: float | None = None
        self._delay = 0.02
        self._interval = FRAME
        self.frameSwapped.connect(self._on_swapped)
        self.frames_drawn = 0

    # What the window calls

    @property
    def avatar(self) -> Avatar | None:
        return self._avatar

    @property
    def camera(self) -> Camera:
        return self._camera

    @property
    def message(self) -> str:
        """Why nothing is drawn; empty while all is well."""
        return self._message

    @property
    def renderer(self) -> AvatarRenderer:
        return self._renderer

    def bring(self, prepared: PreparedAvatar, then: Callable[[str], None]) -> None:
        """Upload an avatar in short slots, while the present one goes on being drawn; an earlier one that is on its way
        is dismissed. ``then('')`` is told when ``set_avatar`` would show it at once, ``then(message)`` when it cannot
        be drawn here: what is drawn stays. Where nothing can be drawn yet, ``then`` is told at once."""
        self.dismiss()
        if not self._ready or not self.isValid():
            self._prepared = prepared
            then("")
            return
        self._arrival = arrival = Arrival(
            self, self._renderer, prepared, current=self._make_current, done_current=self.doneCurrent
        )  # fmt: skip

        def ended(message: str) -> None:
            if message:
                self.dismiss()
            then(message)

        arrival.progress.connect(self.bringing)
        arrival.ended.connect(ended)

    def dismiss(self) -> None:
        """Who is on the way does not come, and all that was uploaded of her is freed."""
        self._prepared = None
        arrival, self._arrival = self._arrival, None
        if arrival is None:
            return
        arrival.stop()
        arrival.blockSignals(True)
        arrival.deleteLater()
        if arrival.upload is not None and self._ready:
            self.makeCurrent()
            self._renderer.drop(arrival.upload)
            self.doneCurrent()

    def set_avatar(self, avatar: Avatar | None, viewpoint: Viewpoint | None = None) -> None:
        """Show ``avatar``, from ``viewpoint`` or else the present framing; it is uploaded at the next painting, unless
        ``bring`` has done so."""
        self._avatar = avatar
        self._contact.reset()
        self._pending = not self._take(avatar)
        if not self._no_gl:
            self._message = ""
            self._label.hide()
        self._viewpoint = viewpoint or Viewpoint(self._viewpoint.framing)
        self._place_camera()
        self.update()

    def _take(self, avatar: Avatar | None) -> bool:
        """Whether ``bring`` has uploaded it; then it is drawn from now on."""
        arrival = self._arrival
        if arrival is None:
            return False
        if arrival.upload is None or not arrival.complete or arrival.prepared.avatar is not avatar:
            self.dismiss()
            return False
        self._arrival = None
        arrival.stop()
        arrival.deleteLater()
        self.makeCurrent()
        self._renderer.take(arrival.upload)
        self.doneCurrent()
        QTimer.singleShot(0, self, self.avatar_shown.emit)
        return True

    def _make_current(self) -> bool:
        if self._ready:
            self.makeCurrent()
        return self._ready

    def set_pose_source(self, source: PoseSource) -> None:
        """``source(now)`` is asked once a tick, ``now`` in ``time.monotonic()`` seconds."""
        self._pose = source

    @property
    def framing(self) -> FramingName:
        return self._viewpoint.framing

    @property
    def viewpoint(self) -> Viewpoint:
        return self._viewpoint

    def set_framing(self, name: str) -> None:
        """``face``, ``bust`` or ``full``, from straight ahead. Raises ValueError for anything else."""
        for known in FRAMINGS:
            if known == name:
                self.look_from(Viewpoint(known))
                return
        raise ValueError(f"no framing is called {name!r}; choose one of {', '.join(FRAMINGS)}")

    def reset_camera(self) -> None:
        """Back to the framing's own view."""
        self.look_from(Viewpoint(self.framing))

    def look_from(self, viewpoint: Viewpoint, *, glide: bool = True) -> None:
        """Move the camera, in a short while where pictures come fast enough."""
        self._leaving = self._camera if glide and self._last is not None and self._interval < SLOWEST_EASE else None
        self._gone = 0.0
        self._viewpoint = viewpoint
        self._place_camera(gliding=self._leaving is not None)
        self.viewpoint_changed.emit()
        self.update()

    def settle(self) -> None:
        """Tell of a move by hand now, when that is still to come."""
        if self._turning.isActive():
            self._turning.stop()
            self.viewpoint_changed.emit()

    def turn_camera(self, yaw: float, pitch: float) -> None:
        """Around her, in radians."""
        self._move(self._viewpoint.orbited(yaw, pitch))

    def move_picture(self, right: float, up: float) -> None:
        """By these shares of the picture's height."""
        if self._avatar is not None:
            self._move(self._viewpoint.panned(right, up, self._avatar.framing, self._aspect))

    def zoom_camera(self, factor: float) -> None:
        """Nearer for ``factor`` above 1."""
        if self._avatar is not None:
            self._move(self._viewpoint.zoomed(factor, self._avatar.framing, self._aspect))

    def set_background(self, color: QColor | str) -> None:
        """A colour; ``transparent`` (alpha 0) lets what is behind the window through where the desktop can."""
        wanted = QColor(color)
        self._scenery.colour = (wanted.redF(), wanted.greenF(), wanted.blueF(), wanted.alphaF())
        self.update()

    def set_picture(self, pixels: NDArray[np.uint8] | None) -> None:
        """A picture over the colour, RGBA (height, width, 4), first row on top; None for none."""
        self._scenery.show_picture(pixels)
        self.update()

    def set_key(self, name: str) -> None:
        """A key colour of ``idol.render.scenery`` in place of colour and picture; '' for none. Raises ValueError."""
        if name and name not in KEYS:
            raise ValueError(f"no key colour is called {name!r}; choose one of {', '.join(KEYS)}")
        self._scenery.key = KEYS[name] if name else None
        self.update()

    @property
    def lighting(self) -> str:
        return self._lighting

    def set_lighting(self, name: str) -> None:
        """A preset of ``idol.render.lighting``. Raises ValueError for an unknown name."""
        if name not in LIGHTINGS:
            raise ValueError(f"no lighting is called {name!r}; choose one of {', '.join(LIGHTINGS)}")
        self._lighting = name
        self._renderer.lighting = LIGHTINGS[name]
        self.update()

    @property
    def drawn_by_processor(self) -> bool:
        """True where pixels are dear: ``set_detail`` works there only."""
        return self._slow

    def set_detail(self, share: float) -> None:
        """Draw with this share, 0 to 1, of the pixels that are drawn at most."""
        self._detail = share

    def tick(self, now: float | None = None) -> None:
        """Advance her to ``now`` and ask for a painting. Called by the frame clock."""
        moment = time.monotonic() if now is None else now
        if self._avatar is not None:
            step = 0.0 if self._last is None else min(max(moment - self._last, 0.0), LONGEST_STEP)
            # The picture is seen later than it is asked for: the face leads by that much, so that lips meet the sound.
            if 0.0 < step < LONGEST_STEP:
                self._interval += 0.1 * (step - self._interval)
            self._asked = max(self._asked, moment + self.lead)
            pose = self._pose(self._asked)
            yaw, pitch = self._contact.turn(self._avatar, self._camera.eye, step)
            self._avatar.update(replace(pose, gaze=(pose.gaze[0] + yaw, pose.gaze[1] + pitch)), step)
            self._ticked = time.monotonic()
            self._glide(step)
        self._last = moment
        if not self._no_gl:
            self.update()

    @property
    def lead(self) -> float:
        """Seconds from a tick to the middle of the time its picture is on the screen, as measured lately."""
        return min(self._delay + self._interval / 2, LONGEST_LEAD)

    def _on_swapped(self) -> None:
        if self._ticked is not None:
            self._delay += 0.1 * (time.monotonic() - self._ticked - self._delay)
            self._ticked = None

    def start_own_timer(self, milliseconds: int = 33) -> None:
        """For use without a frame clock."""
        if self._own_timer is None:
            self._own_timer = QTimer(self)
            self._own_timer.setTimerType(Qt.TimerType.PreciseTimer)
            self._own_timer.timeout.connect(self.tick)
        self._own_timer.start(milliseconds)

    def grab_frame(self) -> QImage:
        """The picture as drawn now."""
        return self.grabFramebuffer()

    def shutdown(self) -> None:
        """Free all GL objects. The widget may be closed or shown again afterwards."""
        if self._own_timer is not None:
            self._own_timer.stop()
        self.dismiss()
        if self._ready and self.context() is not None:
            self.makeCurrent()
            self._renderer.release()
            self._scenery.release()
            self.doneCurrent()
        self._pending = True

    # Painting

    def initializeGL(self) -> None:
        context = self.context()
        # Reparenting and driver resets give a new context: what the old one held is gone.
        context.aboutToBeDestroyed.connect(self._lose_context, Qt.ConnectionType.DirectConnection)
        self._renderer.forget()
        self._scenery.forget()
        if self._arrival is not None:
            self._arrival.begin_again()
        self._ready, self._pending = True, True

    def _lose_context(self) -> None:
        if not self._ready:
            return
        self.makeCurrent()
        if self._arrival is not None:
            if self._arrival.upload is not None:
                self._renderer.drop(self._arrival.upload)
            self._arrival.begin_again()
        self._ready = False
        self._renderer.release()
        self._scenery.release()
        self.doneCurrent()
        self._pending = True

    def paintGL(self) -> None:
        try:
            if self._pending:
                self._load()
            ratio = self.devicePixelRatioF()
            self._draw(round(self.width() * ratio), round(self.height() * ratio))
        except RenderError as error:
            self._fail(str(error))
            return
        except OpenGLError as error:
            self._fail(f"OpenGL cannot be used on this screen ({error}), so she cannot be drawn. {_REMEDY}")
            return
        self.frames_drawn += 1

    def _draw(self, width: int, height: int) -> None:
        small = reduced(width, height, round(PIXELS * self._detail)) if self._slow else (width, height)
        target = self.defaultFramebufferObject()
        self._scenery.paint(self._renderer, self._camera, target, (width, height), small)

    def _load(self) -> None:
        self._pending = False
        if self._avatar is None:
            self._renderer.release()
            return
        prepared, self._prepared = self._prepared, None
        self._renderer.load(self._avatar, prepared if prepared and prepared.avatar is self._avatar else None)
        # Not from within a painting: whoever hears it may close the window.
        QTimer.singleShot(0, self, self.avatar_shown.emit)

    def _fail(self, message: str) -> None:
        if message == self._message:
            return
        _LOG.error("%s", message)
        self._message = message
        self._label.setText(message)
        self._label.setGeometry(self.rect())
        self._label.show()
        self.gl_failed.emit(message)

    def paintEvent(self, event: QPaintEvent) -> None:
        # Without a context Qt neither calls initializeGL nor fails loudly: a black hole where she should be.
        super().paintEvent(event)
        if not self.isValid():
            self._no_gl = True
            self._fail(f"OpenGL cannot be used here, so she cannot be drawn. {_REMEDY}")

    # Camera

    @property
    def _aspect(self) -> float:
        return self.width() / max(self.height(), 1)

    def _place_camera(self, *, gliding: bool = False) -> None:
        if self._avatar is None:
            return
        framing, aspect = self._avatar.framing, self._aspect
        wanted = self._viewpoint.kept_in_reach(framing, aspect).camera(framing, aspect)
        if not gliding:
            self._leaving, self._camera = None, wanted

    def _glide(self, step: float) -> None:
        if self._leaving is None or self._avatar is None:
            return
        self._gone += step
        framing, aspect = self._avatar.framing, self._aspect
        wanted = self._viewpoint.kept_in_reach(framing, aspect).camera(framing, aspect)
        if self._gone >= EASE_SECONDS:
            self._leaving, self._camera = None, wanted
        else:
            self._camera = between(self._leaving, wanted, self._gone / EASE_SECONDS)

    def _move(self, viewpoint: Viewpoint) -> None:
        """By hand, at once; told a moment after the last of many small steps."""
        if self._avatar is None:
            return
        self._viewpoint = viewpoint.kept_in_reach(self._avatar.framing, self._aspect)
        self._place_camera()
        self._turning.start()
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._label.setGeometry(self.rect())
        self._place_camera()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._drag = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._drag is None:
            return
        delta = event.position() - self._drag
        self._drag = event.position()
        height = max(self.height(), 1)
        shifted = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if event.buttons() & Qt.MouseButton.LeftButton and not shifted:
            self.turn_camera(-delta.x() / height * 3.0, delta.y() / height * 2.0)
        else:
            self.move_picture(delta.x() / height, -delta.y() / height)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._drag = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.reset_camera()

    def wheelEvent(self, event: QWheelEvent) -> None:
        self.zoom_camera(1.1 ** (event.angleDelta().y() / 120.0))
        event.accept()
