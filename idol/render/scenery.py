"""What is behind her, and how both come together: a colour, a picture, nothing at all, or a key colour."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from idol.render.camera import Camera
from idol.render.gl import GL
from idol.render.layer import Layer
from idol.render.renderer import AvatarRenderer, Background
from idol.render.screen_pass import Backdrop, Key
from idol.render.small_target import SmallTarget

CLEAR: Background = (0.0, 0.0, 0.0, 0.0)
KEYS: dict[str, Key] = {"green": (0.0, 1.0, 0.0), "blue": (0.0, 0.0, 1.0), "magenta": (1.0, 0.0, 1.0)}
"""Colours that a capture program takes away: pure ones, which no skin and little hair comes near."""


class Scenery:
    """``colour`` is what shows when there is neither ``key`` nor picture, and through a picture's clear parts.

    ``samples`` for each pixel where she is drawn apart from what is behind her; 0 and ``cheap`` where the processor
    draws. ``paint`` needs the context current.
    """

    def __init__(self, samples: int, *, cheap: bool) -> None:
        self.colour: Background = (0.91, 0.89, 0.93, 1.0)
        self.key: Key | None = None
        self._backdrop = Backdrop(cheap=cheap)
        self._layer = Layer(samples)
        self._small = SmallTarget()

    @property
    def object_count(self) -> int:
        return self._backdrop.object_count + self._layer.object_count

    def show_picture(self, pixels: NDArray[np.uint8] | None) -> None:
        """RGBA (height, width, 4), straight alpha, first row on top; None for the colour alone."""
        self._backdrop.show(pixels)

    def paint(
        self, renderer: AvatarRenderer, camera: Camera, target: int, size: tuple[int, int], inner: tuple[int, int]
    ) -> None:
        """Draw her and what is behind her into ``target``, ``size`` pixels large; she herself is drawn at ``inner``."""
        if self.key is None and not self._backdrop.shown:
            if inner == size:
                GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, target)
                renderer.draw(camera, *size, self.colour)
                return
            self._small.bind(*inner)
            renderer.draw(camera, *inner, self.colour)
            self._small.stretch(target, *size)
            return
        if self.key is None:
            self._backdrop.prepare()
        self._layer.bind(*inner)
        renderer.draw(camera, *inner, CLEAR)
        if self.key is None:
            GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, target)
            GL.glViewport(0, 0, *size)
            red, green, blue, alpha = self.colour
            GL.glClearColor(red * alpha, green * alpha, blue * alpha, alpha)
            GL.glClear(GL.GL_COLOR_BUFFER_BIT)
            self._backdrop.draw(*size)
        self._layer.lay(target, *size, self.key)

    def release(self) -> None:
        """Free every GL object; ``paint`` makes them again. The context must be current."""
        for part in (self._backdrop, self._layer, self._small):
            part.release()

    def forget(self) -> None:
        """The context is lost, and with it what it held."""
        for part in (self._backdrop, self._layer, self._small):
            part.forget()
