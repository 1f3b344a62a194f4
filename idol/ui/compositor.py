"""Whether the desktop can show a window that is clear in places."""

from __future__ import annotations

import ctypes

from PySide6.QtGui import QGuiApplication, QWindow

from idol.ui.strings import tr

NO_ALPHA = "This screen gives the window no transparency, so it stays black behind her. Choose a chroma key instead."
NO_COMPOSITOR = (
    "No compositor runs on this desktop: the screen shows black behind her. A capture that reads the window itself "
    "with its transparency still works; otherwise start a compositor, or choose a chroma key."
)


def transparency_trouble(window: QWindow | None) -> str:
    """What to tell the user whose window should be transparent, '' when all is well. ``window`` is on the screen."""
    if window is None or window.format().alphaBufferSize() <= 0:
        return tr(NO_ALPHA)
    if QGuiApplication.platformName() == "xcb" and not _x11_composited():
        return tr(NO_COMPOSITOR)
    return ""


def _x11_composited() -> bool:
    """A compositing manager owns the selection ``_NET_WM_CM_Sn`` (EWMH). Asked over a connection of its own."""
    try:
        x11 = ctypes.CDLL("libX11.so.6")
    except OSError:
        return True  # nothing is known: do not worry anybody
    x11.XOpenDisplay.restype = ctypes.c_void_p
    x11.XInternAtom.restype = ctypes.c_ulong
    x11.XInternAtom.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
    x11.XGetSelectionOwner.restype = ctypes.c_ulong
    x11.XGetSelectionOwner.argtypes = [ctypes.c_void_p, ctypes.c_ulong]
    x11.XDefaultScreen.argtypes = x11.XCloseDisplay.argtypes = [ctypes.c_void_p]
    display = x11.XOpenDisplay(None)
    if not display:
        return True
    try:
        name = f"_NET_WM_CM_S{x11.XDefaultScreen(display)}".encode()
        return bool(x11.XGetSelectionOwner(display, x11.XInternAtom(display, name, 0)))
    finally:
        x11.XCloseDisplay(display)
