"""PyOpenGL without its check after every call: errors are asked for once a step, with the step's name.

Most calls keep Python's lock. One that lets it go waits for it afterwards, half a millisecond beside a thread that
works in Python, and a picture has hundreds of them; only the calls that may take long let it go.

Import GL functions from here only, because the switches must be set before ``OpenGL.GL`` is first imported.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from typing import Any

SCREENLESS = sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
"""No X server and no compositor: contexts come from EGL, and PyOpenGL must know before it loads."""
_BY_EGL = SCREENLESS or os.environ.get("QT_XCB_GL_INTEGRATION") == "xcb_egl"
_ASKED = os.environ.get("PYOPENGL_PLATFORM")
if _BY_EGL and _ASKED is None:
    os.environ["PYOPENGL_PLATFORM"] = "egl"

import OpenGL  # noqa: E402

OpenGL.ERROR_CHECKING = False
OpenGL.ERROR_LOGGING = False

import OpenGL.platform  # noqa: E402
from OpenGL.platform import PLATFORM  # noqa: E402

_LONG = (
    "glClear", "glDrawArrays", "glDrawElements", "glBlitFramebuffer", "glReadPixels", "glFinish", "glTexImage2D",
    "glTexSubImage2D", "glGenerateMipmap", "glCompileShader", "glLinkProgram",
)  # fmt: skip
_construct = PLATFORM.constructFunction
_unlocked = PLATFORM.DEFAULT_FUNCTION_TYPE


def _function(name: str, *words: Any, **more: Any) -> Any:
    """As ``BasePlatform.constructFunction``, which asks the platform for the kind of all functions."""
    PLATFORM.DEFAULT_FUNCTION_TYPE = _unlocked if name in _LONG else ctypes.PYFUNCTYPE
    return _construct(name, *words, **more)


PLATFORM.constructFunction = _function


def _askers() -> list[Callable[[], int | None]]:
    """Functions that give the current context, 0 or None where it is not theirs."""
    found: list[Callable[[], int | None]] = [PLATFORM.GetCurrentContext]
    for library, name in (("libGL.so.1", "glXGetCurrentContext"), ("libEGL.so.1", "eglGetCurrentContext")):
        try:
            ask = getattr(ctypes.CDLL(library), name)
        except (OSError, AttributeError):
            continue
        ask.restype, ask.argtypes = ctypes.c_void_p, []
        found.append(ask)
    return found


if sys.platform.startswith("linux"):
    # PyOpenGL asks GLX or EGL for the context, as the environment has it. Qt takes the other one on a screen without
    # GLX, and on an X server of a Wayland session.
    _ASKERS = _askers()

    def _current_context() -> int:
        return next((context for context in (ask() for ask in _ASKERS) if context), 0)

    PLATFORM.GetCurrentContext = OpenGL.platform.GetCurrentContext = _current_context

from OpenGL import GL  # noqa: E402
from OpenGL.contextdata import getContext  # noqa: E402
from OpenGL.error import Error as OpenGLError  # noqa: E402

if _BY_EGL and _ASKED is None:
    # PyOpenGL has read it; a child process may have a screen and must choose for itself.
    del os.environ["PYOPENGL_PLATFORM"]

_NAMES = {
    0x0500: "invalid enum", 0x0501: "invalid value", 0x0502: "invalid operation", 0x0505: "out of memory",
    0x0506: "invalid framebuffer", 0x0507: "context lost",
}  # fmt: skip


class RenderError(RuntimeError):
    """The picture cannot be drawn here. The text says what failed, what was seen and what to do."""


def check(step: str) -> None:
    """Raise RenderError when GL has recorded an error since the last check."""
    code = int(GL.glGetError())
    if code == 0:
        return
    for _ in range(8):
        if int(GL.glGetError()) == 0:
            break
    name = _NAMES.get(code, "unknown error")
    hint = (
        "Close other programs that use the graphics card, or choose an avatar with smaller textures."
        if code == 0x0505
        else "Update the graphics driver; OpenGL 3.3 is needed."
    )
    raise RenderError(f"OpenGL reports '{name}' (0x{code:04x}) at: {step}. {hint}")


__all__ = ["GL", "OpenGLError", "RenderError", "check", "getContext"]
