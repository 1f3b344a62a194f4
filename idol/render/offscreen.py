"""Pictures without a window: a hidden GL context and a multisampled framebuffer object."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from idol.avatar import Avatar
from idol.render.camera import Camera
from idol.render.gl import GL, RenderError, check
from idol.render.hidden_context import hidden_context
from idol.render.renderer import AvatarRenderer, Background
from idol.render.scenery import KEYS, Scenery
from idol.render.surface_format import SAMPLES
from idol.seams import FacePose

T = TypeVar("T")
SETTLE_STEPS = 45
SETTLE_SECONDS = 1 / 60


class OffscreenStage:
    """A context of its own. Make, use and ``close`` it on one thread; usable in a ``with``."""

    def __init__(self) -> None:
        self._context = hidden_context()
        self.renderer = AvatarRenderer()
        self._scenery = Scenery(SAMPLES, cheap=False)
        self._targets: tuple[int, int, list[int], list[int]] = (0, 0, [], [])
        self._size = (0, 0)
        self._closed = False

    def _current(self) -> None:
        self._context.make_current()

    def with_context(self, work: Callable[[], T]) -> T:
        """Run ``work`` with the context current."""
        self._current()
        return work()

    def load(self, avatar: Avatar) -> None:
        self._current()
        self.renderer.load(avatar)

    def picture(
        self,
        camera: Camera,
        size: tuple[int, int],
        background: Background,
        *,
        behind: NDArray[np.uint8] | None = None,
        key: str = "",
    ) -> NDArray[np.uint8]:
        """RGBA (height, width, 4), straight alpha, first row on top, of the loaded avatar's present state.

        ``behind``: a picture over the background's colour, as ``read_background`` gives it; ``key``: a key colour's
        name in place of both."""
        width, height = size
        self._current()
        self._resize(width, height)
        many, single, _, _ = self._targets
        self._scenery.colour, self._scenery.key = background, KEYS[key] if key else None
        self._scenery.show_picture(behind)
        self._scenery.paint(self.renderer, camera, many, size, size)
        GL.glBindFramebuffer(GL.GL_READ_FRAMEBUFFER, many)
        GL.glBindFramebuffer(GL.GL_DRAW_FRAMEBUFFER, single)
        GL.glBlitFramebuffer(0, 0, width, height, 0, 0, width, height, GL.GL_COLOR_BUFFER_BIT, GL.GL_NEAREST)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, single)
        GL.glPixelStorei(GL.GL_PACK_ALIGNMENT, 4)
        pixels = np.empty((height, width, 4), np.uint8)
        GL.glReadPixels(0, 0, width, height, GL.GL_RGBA, GL.GL_UNSIGNED_BYTE, pixels)
        GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, 0)
        check("reading the picture")
        return straight_alpha(pixels[::-1])

    def _resize(self, width: int, height: int) -> None:
        if (width, height) == self._size:
            return
        limit = int(GL.glGetIntegerv(GL.GL_MAX_RENDERBUFFER_SIZE))
        if not (0 < width <= limit and 0 < height <= limit):
            raise RenderError(
                f"A picture of {width} x {height} cannot be drawn; each side must be within 1 to {limit}."
            )
        self._free_targets()
        samples = min(SAMPLES, int(GL.glGetIntegerv(GL.GL_MAX_SAMPLES)))
        frames, stores = [], []
        for count in (samples, 0):
            frame = int(GL.glGenFramebuffers(1))
            frames.append(frame)
            GL.glBindFramebuffer(GL.GL_FRAMEBUFFER, frame)
            for form, place in (
                (GL.GL_RGBA8, GL.GL_COLOR_ATTACHMENT0),
                (GL.GL_DEPTH_COMPONENT24, GL.GL_DEPTH_ATTACHMENT),
            ):
                store = int(GL.glGenRenderbuffers(1))
                stores.append(store)
                GL.glBindRenderbuffer(GL.GL_RENDERBUFFER, store)
                GL.glRenderbufferStorageMultisample(GL.GL_RENDERBUFFER, count, form, width, height)
                GL.glFramebufferRenderbuffer(GL.GL_FRAMEBUFFER, place, GL.GL_RENDERBUFFER, store)
            state = GL.glCheckFramebufferStatus(GL.GL_FRAMEBUFFER)
            if state != GL.GL_FRAMEBUFFER_COMPLETE:
                raise RenderError(f"A framebuffer of {width} x {height} is refused (0x{int(state):04x}).")
        self._targets = (frames[0], frames[1], frames, stores)
        self._size = (width, height)

    def _free_targets(self) -> None:
        _, _, frames, stores = self._targets
        if frames:
            GL.glDeleteFramebuffers(len(frames), np.asarray(frames, np.uint32))
            GL.glDeleteRenderbuffers(len(stores), np.asarray(stores, np.uint32))
        self._targets, self._size = (0, 0, [], []), (0, 0)

    def close(self) -> None:
        """Free every GL object and the context. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        self._current()
        self.renderer.release()
        self._scenery.release()
        self._free_targets()
        self._context.close()

    def __enter__(self) -> OffscreenStage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def straight_alpha(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Premultiplied to straight alpha, as PNG wants it."""
    alpha = pixels[..., 3:4]
    if (alpha == 255).all():
        return np.ascontiguousarray(pixels)
    out = pixels.copy()
    scaled = pixels[..., :3].astype(np.float32) * 255.0 / np.maximum(alpha, 1)
    out[..., :3] = np.minimum(np.rint(scaled), 255)
    return out


def settle(avatar: Avatar, pose: FacePose) -> None:
    """Hold ``pose`` until springs and emotion have come to rest."""
    for _ in range(SETTLE_STEPS):
        avatar.update(pose, SETTLE_SECONDS)


def play_to(avatar: Avatar, pose: FacePose, seconds: float) -> None:
    """Let ``seconds`` of her motion pass in ``pose``."""
    steps = max(1, round(seconds / SETTLE_SECONDS))
    for _ in range(steps):
        avatar.update(pose, seconds / steps)


def render_png(
    avatar: Avatar, pose: FacePose, size: tuple[int, int], camera: Camera, background: Background
) -> NDArray[np.uint8]:
    """One settled picture, RGBA (height, width, 4) with straight alpha. Works without a screen."""
    with OffscreenStage() as stage:
        stage.load(avatar)
        settle(avatar, pose)
        return stage.picture(camera, size, background)
