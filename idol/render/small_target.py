"""Where the CPU draws, she is drawn small and enlarged: what a picture costs there is its pixels."""

from __future__ import annotations

import math

from idol.render.gl import GL, RenderError

PIXELS = 480 * 480
"""What two cores draw beside a language model and a voice."""


def reduced(width: int, height: int, pixels: int = PIXELS) -> tuple[int, int]:
    """The size to draw at, of the same shape, with at most ``pixels``."""
    if width * height <= pixels:
        return width, height
    scale = math.sqrt(pixels / (width * height))
    return max(1, int(width * scale)), max(1, int(height * scale))


class SmallTarget:
    """A framebuffer of its own that is stretched onto another. Needs its context current, as all of GL does."""

    def __init__(self) -> None:
        self._size = (0, 0)
        self._frame = 0
        self._stores: list[int] = []

    def bind(self, width: int, height: int) -> None:
        """What is drawn next goes here. Raises ``RenderError``."""
        if (width, height) != self._size:
            self._make(width, height)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._frame)

    def stretch(self, target: int, width: int, height: int) -> None:
        """Fill ``target`` with what was drawn, and leave it bound."""
        GL.glBindFramebuffer(GL.GL_READ_FRAMEBUFFER, self._frame)
        GL.glBindFramebuffer(GL.GL_DRAW_FRAMEBUFFER, target)
        GL.glBlitFramebuffer(0, 0, *self._size, 0, 0, width, height, GL.GL_COLOR_BUFFER_BIT, GL.GL_LINEAR)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, target)

    def release(self) -> None:
        if self._frame:
            GL.glDeleteFramebuffers(1, [self._frame])
            GL.glDeleteRenderbuffers(len(self._stores), self._stores)
        self.forget()

    def forget(self) -> None:
        """The context is lost, and with it what it held."""
        self._size, self._frame, self._stores = (0, 0), 0, []

    def _make(self, width: int, height: int) -> None:
        self.release()
        self._frame = int(GL.glGenFramebuffers(1))
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._frame)
        for form, place in (
            (GL.GL_RGBA8, GL.GL_COLOR_ATTACHMENT0),
            (GL.GL_DEPTH_COMPONENT24, GL.GL_DEPTH_ATTACHMENT),
        ):
            store = int(GL.glGenRenderbuffers(1))
            self._stores.append(store)
            GL.glBindRenderbuffer(GL.GL_RENDERBUFFER, store)
            GL.glRenderbufferStorage(GL.GL_RENDERBUFFER, form, width, height)
            GL.glFramebufferRenderbuffer(GL.GL_FRAMEBUFFER, place, GL.GL_RENDERBUFFER, store)
        state = int(GL.glCheckFramebufferStatus(GL.GL_FRAMEBUFFER))
        if state != GL.GL_FRAMEBUFFER_COMPLETE:
            self.release()
            raise RenderError(f"A framebuffer of {width} x {height} is refused (0x{state:04x}).")
        self._size = (width, height)
