"""A GL context without a window: Qt's own where there is a screen, EGL without any surface where there is none.

Qt's offscreen platform still asks an X server for its contexts, so a machine without one needs EGL directly
(EGL_MESA_platform_surfaceless, EGL_KHR_surfaceless_context).
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Protocol

from PySide6.QtGui import QGuiApplication, QOffscreenSurface, QOpenGLContext

from idol.render.gl import GL, SCREENLESS, RenderError, getContext
from idol.render.surface_format import SAMPLES, gl_format

# Values of the EGL 1.5 header.
_PLATFORM_SURFACELESS, _OPENGL_API, _NONE = 0x31DD, 0x30A2, 0x3038
_RENDERABLE_TYPE, _OPENGL_BIT = 0x3040, 0x0008
_CORE_33 = (0x3098, 3, 0x30FB, 3, 0x30FD, 1)
"""Major version 3, minor version 3, core profile."""


_SOFTWARE = ("llvmpipe", "softpipe", "swiftshader", "microsoft basic render", "software")


class HiddenContext(Protocol):
    def make_current(self) -> None: ...

    def close(self) -> None: ...


def hidden_context() -> HiddenContext:
    """A current context, OpenGL 3.3 core. Raises RenderError."""
    return EglContext() if SCREENLESS else QtContext()


@cache
def window_samples() -> int:
    """Samples per pixel that a window can afford: none where the CPU draws, where four cost four times the frame."""
    try:
        context = hidden_context()
    except RenderError:
        return SAMPLES
    try:
        name = bytes(GL.glGetString(GL.GL_RENDERER) or b"").decode(errors="replace").lower()
    finally:
        context.close()
    return 0 if any(software in name for software in _SOFTWARE) else SAMPLES


def _works() -> bool:
    """Whether the current context answers, and PyOpenGL finds it: on a screen without GLX Qt may make one that does
    not."""
    try:
        return bool(GL.glGetString(GL.GL_VERSION)) and bool(getContext())
    except Exception:  # PyOpenGL's own classes, and what its loader raises
        return False


class QtContext:
    def __init__(self) -> None:
        self._application = QGuiApplication.instance() or QGuiApplication(["idol"])
        self._context = QOpenGLContext()
        self._context.setFormat(gl_format())
        if not self._context.create():
            raise RenderError("No OpenGL context can be made here. Install a graphics driver (Debian: libgl1 libegl1).")
        self._surface = QOffscreenSurface()
        self._surface.setFormat(self._context.format())
        self._surface.create()
        self.make_current()
        if not _works():
            raise RenderError("This screen has no OpenGL. Install a graphics driver, or use a screen with GLX.")

    def make_current(self) -> None:
        if not self._context.makeCurrent(self._surface):
            raise RenderError(
                "The hidden OpenGL surface cannot be used. Restart the program; if it stays, update the driver."
            )

    def close(self) -> None:
        self._context.doneCurrent()
        self._surface.destroy()


class EglContext:
    """Through ctypes: PyOpenGL's own EGL module cannot be imported with its error checks off."""

    def __init__(self) -> None:
        try:
            egl = ctypes.CDLL("libEGL.so.1")
        except OSError as error:
            raise RenderError(
                "No screen, and no EGL to draw without one. Install libegl1, or start an X server."
            ) from error
        egl.eglGetProcAddress.restype = ctypes.c_void_p
        egl.eglCreateContext.restype = ctypes.c_void_p
        self._egl = egl
        address = egl.eglGetProcAddress(b"eglGetPlatformDisplayEXT")
        if not address:
            raise RenderError(
                "No screen, and this EGL knows no surfaceless platform. Install Mesa, or start an X server."
            )
        get_display = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p)(address)
        self._display = ctypes.c_void_p(get_display(_PLATFORM_SURFACELESS, None, None))
        if not self._display or not egl.eglInitialize(self._display, None, None):
            raise RenderError(
                "No screen, and EGL cannot start without one. Install a Mesa driver, or start an X server."
            )
        egl.eglBindAPI(_OPENGL_API)
        wanted = (ctypes.c_int * 3)(_RENDERABLE_TYPE, _OPENGL_BIT, _NONE)
        config, count = ctypes.c_void_p(), ctypes.c_int()
        egl.eglChooseConfig(self._display, wanted, ctypes.byref(config), 1, ctypes.byref(count))
        attributes = (ctypes.c_int * 7)(*_CORE_33, _NONE)
        self._context = ctypes.c_void_p(egl.eglCreateContext(self._display, config, None, attributes))
        if not self._context:
            raise RenderError("EGL gives no OpenGL 3.3 core context here. Install or update the Mesa driver.")
        self.make_current()

    def make_current(self) -> None:
        if not self._egl.eglMakeCurrent(self._display, None, None, self._context):
            raise RenderError("EGL cannot use a context without a surface here. Start an X server and try again.")

    def close(self) -> None:
        self._egl.eglMakeCurrent(self._display, None, None, None)
        self._egl.eglDestroyContext(self._display, self._context)
