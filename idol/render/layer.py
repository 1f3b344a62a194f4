"""Her picture apart from what is behind her: drawn into a texture, then laid over a backdrop or before a key colour."""

from __future__ import annotations

import numpy as np

from idol.render.gl import GL, RenderError, check
from idol.render.screen_pass import Key, ScreenPass

_WHOLE = (1.0, 1.0, 0.0, 0.0)


class Layer:
    """``samples`` for each pixel are drawn and averaged; 0 where the processor draws. Needs its context current."""

    def __init__(self, samples: int) -> None:
        self._samples = samples
        self._size = (0, 0)
        self._frames: list[int] = []
        self._stores: list[int] = []
        self._texture = 0
        self._over = ScreenPass("backdrop.frag")
        self._keyed = ScreenPass("key.frag")

    @property
    def object_count(self) -> int:
        held = len(self._frames) + len(self._stores) + (1 if self._texture else 0)
        return held + self._over.object_count + self._keyed.object_count

    def bind(self, width: int, height: int) -> None:
        """What is drawn next goes here, in pixels of this size. Raises ``RenderError``."""
        if (width, height) != self._size:
            self._make(width, height)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, self._frames[0])

    def lay(self, target: int, width: int, height: int, key: Key | None = None) -> None:
        """Put what was drawn over ``target``, stretched to its size, or fill it with her before ``key``; it stays
        bound."""
        if self._samples:
            size = (0, 0, *self._size)
            GL.glBindFramebuffer(GL.GL_READ_FRAMEBUFFER, self._frames[0])
            GL.glBindFramebuffer(GL.GL_DRAW_FRAMEBUFFER, self._frames[1])
            GL.glBlitFramebuffer(*size, *size, GL.GL_COLOR_BUFFER_BIT, GL.GL_NEAREST)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, target)
        GL.glViewport(0, 0, width, height)
        GL.glDisable(GL.GL_FRAMEBUFFER_SRGB)
        if key is None:
            GL.glEnable(GL.GL_BLEND)
            GL.glBlendFunc(GL.GL_ONE, GL.GL_ONE_MINUS_SRC_ALPHA)
            self._over.draw(self._texture, _WHOLE)
            GL.glDisable(GL.GL_BLEND)
        else:
            GL.glDisable(GL.GL_BLEND)
            self._keyed.draw(self._texture, _WHOLE, key)
        check("laying her over the background")

    def release(self) -> None:
        self._free()
        self._over.release()
        self._keyed.release()

    def forget(self) -> None:
        """The context is lost, and with it what it held."""
        self._over.forget()
        self._keyed.forget()
        self._size, self._frames, self._stores, self._texture = (0, 0), [], [], 0

    def _free(self) -> None:
        if self._frames:
            GL.glDeleteFramebuffers(len(self._frames), self._frames)
            GL.glDeleteRenderbuffers(len(self._stores), self._stores)
            GL.glDeleteTextures(1, [self._texture])
        self._size, self._frames, self._stores, self._texture = (0, 0), [], [], 0

    def _make(self, width: int, height: int) -> None:
        self._free()
        self._over.prepare()
        self._keyed.prepare()
        samples = min(self._samples, int(GL.glGetIntegerv(GL.GL_MAX_SAMPLES)))
        self._texture = int(GL.glGenTextures(1))
        GL.glBindTexture(GL.GL_TEXTURE_2D, self._texture)
        blank = np.zeros((height, width, 4), np.uint8)
        GL.glTexImage2D(GL.GL_TEXTURE_2D, 0, GL.GL_RGBA8, width, height, 0, GL.GL_RGBA, GL.GL_UNSIGNED_BYTE, blank)
        for name, value in (
            (GL.GL_TEXTURE_MIN_FILTER, GL.GL_LINEAR), (GL.GL_TEXTURE_MAG_FILTER, GL.GL_LINEAR),
            (GL.GL_TEXTURE_WRAP_S, GL.GL_CLAMP_TO_EDGE), (GL.GL_TEXTURE_WRAP_T, GL.GL_CLAMP_TO_EDGE),
        ):  # fmt: skip
            GL.glTexParameteri(GL.GL_TEXTURE_2D, name, value)
        GL.glBindTexture(GL.GL_TEXTURE_2D, 0)
        single = self._frame()
        GL.glFramebufferTexture2D(
            GL.GL_FRAMEBUFFER, GL.GL_COLOR_ATTACHMENT0, GL.GL_TEXTURE_2D, self._texture, 0
        )  # fmt: skip
        if self._samples:
            many = self._frame()
            self._store(samples, GL.GL_RGBA8, GL.GL_COLOR_ATTACHMENT0, width, height)
            self._frames = [many, single]
        self._store(samples, GL.GL_DEPTH_COMPONENT24, GL.GL_DEPTH_ATTACHMENT, width, height)
        state = int(GL.glCheckFramebufferStatus(GL.GL_FRAMEBUFFER))
        if state != GL.GL_FRAMEBUFFER_COMPLETE:
            self._free()
            raise RenderError(f"A framebuffer of {width} x {height} is refused (0x{state:04x}).")
        self._size = (width, height)

    def _frame(self) -> int:
        frame = int(GL.glGenFramebuffers(1))
        self._frames.append(frame)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, frame)
        return frame

    def _store(self, samples: int, form: int, place: int, width: int, height: int) -> None:
        store = int(GL.glGenRenderbuffers(1))
        self._stores.append(store)
        GL.glBindRenderbuffer(GL.GL_RENDERBUFFER, store)
        GL.glRenderbufferStorageMultisample(GL.GL_RENDERBUFFER, samples, form, width, height)
        GL.glFramebufferRenderbuffer(GL.GL_FRAMEBUFFER, place, GL.GL_RENDERBUFFER, store)
