"""Passes that cover the whole picture with one triangle: a picture behind her, and her own picture laid over that."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from idol.render.gl import GL, RenderError, check
from idol.render.programs import shader_source

Key = tuple[float, float, float]
"""A key colour, 0..1 as seen on screen."""


class ScreenPass:
    """One program of ``shaders/screen.vert`` and ``fragment``. Needs its context current, as all of GL does."""

    def __init__(self, fragment: str) -> None:
        self._fragment = fragment
        self._program = 0
        self._array = 0
        self._place = -1
        self._key = -1

    @property
    def object_count(self) -> int:
        return 2 if self._program else 0

    def prepare(self) -> None:
        """Compile, when that has not been done. Raises ``RenderError``."""
        if self._program:
            return
        self._program = _build(self._fragment)
        self._array = int(GL.glGenVertexArrays(1))
        self._place = int(GL.glGetUniformLocation(self._program, "u_place"))
        self._key = int(GL.glGetUniformLocation(self._program, "u_key"))

    def draw(self, texture: int, place: tuple[float, float, float, float], key: Key | None = None) -> None:
        """``place``: scale and offset that bring the picture's 0..1 to the texture's."""
        GL.glDisable(GL.GL_DEPTH_TEST)
        GL.glDepthMask(False)
        GL.glDisable(GL.GL_CULL_FACE)
        GL.glUseProgram(self._program)
        GL.glUniform4f(self._place, *place)
        if key is not None:
            GL.glUniform4f(self._key, *key, 1.0)
        GL.glActiveTexture(GL.GL_TEXTURE0)
        GL.glBindTexture(GL.GL_TEXTURE_2D, texture)
        GL.glBindVertexArray(self._array)
        GL.glDrawArrays(GL.GL_TRIANGLES, 0, 3)
        GL.glBindVertexArray(0)
        GL.glBindTexture(GL.GL_TEXTURE_2D, 0)
        GL.glUseProgram(0)
        GL.glDepthMask(True)

    def release(self) -> None:
        if self._program:
            GL.glDeleteProgram(self._program)
            GL.glDeleteVertexArrays(1, [self._array])
        self.forget()

    def forget(self) -> None:
        """The context is lost, and with it what it held."""
        self._program = self._array = 0


def _build(fragment: str) -> int:
    program = int(GL.glCreateProgram())
    shaders = []
    for kind, name in ((GL.GL_VERTEX_SHADER, "screen.vert"), (GL.GL_FRAGMENT_SHADER, fragment)):
        shader = int(GL.glCreateShader(kind))
        GL.glShaderSource(shader, shader_source(name))
        GL.glCompileShader(shader)
        GL.glAttachShader(program, shader)
        shaders.append(shader)
    GL.glLinkProgram(program)
    logs = [GL.glGetShaderInfoLog(shader) for shader in shaders] + [GL.glGetProgramInfoLog(program)]
    for shader in shaders:
        GL.glDetachShader(program, shader)
        GL.glDeleteShader(shader)
    if not GL.glGetProgramiv(program, GL.GL_LINK_STATUS):
        GL.glDeleteProgram(program)
        said = " ".join(log.decode(errors="replace") if isinstance(log, bytes) else str(log) for log in logs)
        raise RenderError(f"The graphics driver refuses shaders/{fragment}: {said[:800]} Update the graphics driver.")
    GL.glUseProgram(program)
    GL.glUniform1i(GL.glGetUniformLocation(program, "u_picture"), 0)
    GL.glUseProgram(0)
    return program


class Backdrop:
    """A picture that fills the frame from its middle and keeps its shape; what does not fit is cut off."""

    def __init__(self, *, cheap: bool = False) -> None:
        self._cheap = cheap
        self._pass = ScreenPass("backdrop.frag")
        self._pixels: NDArray[np.uint8] | None = None
        self._texture = 0
        self._size = (0, 0)
        self._clear = False

    @property
    def object_count(self) -> int:
        return self._pass.object_count + (1 if self._texture else 0)

    @property
    def shown(self) -> bool:
        return self._pixels is not None

    def show(self, pixels: NDArray[np.uint8] | None) -> None:
        """RGBA (height, width, 4), straight alpha, first row on top; None for no picture. Uploaded by ``prepare``."""
        if pixels is not self._pixels:
            self._pixels = pixels
            self._size = (0, 0)

    def prepare(self) -> None:
        """Bring the picture to the card when it is not there yet. Raises ``RenderError``."""
        pixels = self._pixels
        if pixels is None:
            self.release()
            return
        height, width = pixels.shape[:2]
        if self._size == (width, height):
            return
        self._pass.prepare()
        if not self._texture:
            self._texture = int(GL.glGenTextures(1))
        GL.glBindTexture(GL.GL_TEXTURE_2D, self._texture)
        GL.glPixelStorei(GL.GL_UNPACK_ALIGNMENT, 4)
        flipped = np.ascontiguousarray(pixels[::-1])
        GL.glTexImage2D(
            GL.GL_TEXTURE_2D, 0, GL.GL_RGBA8, width, height, 0, GL.GL_RGBA, GL.GL_UNSIGNED_BYTE, flipped
        )  # fmt: skip
        GL.glGenerateMipmap(GL.GL_TEXTURE_2D)
        smooth = GL.GL_LINEAR_MIPMAP_NEAREST if self._cheap else GL.GL_LINEAR_MIPMAP_LINEAR
        for name, value in (
            (GL.GL_TEXTURE_MIN_FILTER, smooth), (GL.GL_TEXTURE_MAG_FILTER, GL.GL_LINEAR),
            (GL.GL_TEXTURE_WRAP_S, GL.GL_CLAMP_TO_EDGE), (GL.GL_TEXTURE_WRAP_T, GL.GL_CLAMP_TO_EDGE),
        ):  # fmt: skip
            GL.glTexParameteri(GL.GL_TEXTURE_2D, name, value)
        GL.glBindTexture(GL.GL_TEXTURE_2D, 0)
        check("uploading the background picture")
        self._clear = bool((pixels[..., 3] < 255).any())
        self._size = (width, height)

    def draw(self, width: int, height: int) -> None:
        """Fill the bound framebuffer of this size in pixels; a clear picture lets what is there through."""
        if self._size == (0, 0):
            return
        GL.glDisable(GL.GL_FRAMEBUFFER_SRGB)
        if self._clear:
            GL.glEnable(GL.GL_BLEND)
            GL.glBlendFuncSeparate(GL.GL_SRC_ALPHA, GL.GL_ONE_MINUS_SRC_ALPHA, GL.GL_ONE, GL.GL_ONE_MINUS_SRC_ALPHA)
        else:
            GL.glDisable(GL.GL_BLEND)
        self._pass.draw(self._texture, cover(self._size, (width, height)))
        GL.glDisable(GL.GL_BLEND)

    def release(self) -> None:
        if self._texture:
            GL.glDeleteTextures(1, [self._texture])
        self._pass.release()
        self.forget()

    def forget(self) -> None:
        """The context is lost: the picture is uploaded again by the next ``prepare``."""
        self._pass.forget()
        self._texture, self._size = 0, (0, 0)


def cover(picture: tuple[int, int], frame: tuple[int, int]) -> tuple[float, float, float, float]:
    """The part of a picture, as scale and offset of 0..1, that fills a frame of another shape, both middles in one."""
    across = (frame[0] / max(frame[1], 1)) / (picture[0] / picture[1])
    x, y = min(across, 1.0), min(1.0 / max(across, 1e-6), 1.0)
    return x, y, (1.0 - x) / 2, (1.0 - y) / 2
