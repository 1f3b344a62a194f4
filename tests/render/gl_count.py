"""Watches PyOpenGL: which calls are made, how many objects are alive, whether a buffer changes its size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from idol.render.gl import GL

MADE_AND_DELETED = {
    "glGenBuffers": "glDeleteBuffers", "glGenTextures": "glDeleteTextures", "glGenVertexArrays": "glDeleteVertexArrays",
    "glGenFramebuffers": "glDeleteFramebuffers", "glGenRenderbuffers": "glDeleteRenderbuffers",
    "glGenQueries": "glDeleteQueries", "glGenSamplers": "glDeleteSamplers",
    "glCreateShader": "glDeleteShader", "glCreateProgram": "glDeleteProgram",
}  # fmt: skip
"""Each maker and its opposite; both take how many first, but for shaders and programs."""


class Watched:
    """``calls`` by name. ``alive`` objects by maker. ``sizes`` of buffers; ``resized`` those given another size."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.alive: Counter[str] = Counter()
        self.sizes: dict[int, int] = {}
        self.resized: list[int] = []
        self._bound: dict[Any, int] = {}

    def note(self, name: str, words: tuple[Any, ...]) -> None:
        self.calls[name] += 1
        if name == "glBindBuffer":
            self._bound[words[0]] = int(words[1])
        elif name == "glBufferData":
            buffer = self._bound[words[0]]
            if self.sizes.get(buffer, words[1]) != words[1]:
                self.resized.append(buffer)
            self.sizes[buffer] = words[1]
        for maker, deleter in MADE_AND_DELETED.items():
            count = int(words[0]) if maker.startswith("glGen") and words else 1
            if name == maker:
                self.alive[maker] += count
            elif name == deleter:
                self.alive[maker] -= count


@contextmanager
def watch_gl() -> Iterator[Watched]:
    """Every GL function that the renderer calls through ``idol.render.gl.GL`` within the block is noted."""
    watched = Watched()
    kept: dict[str, Any] = {}

    def wrapped(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*words: Any) -> Any:
            watched.note(name, words)
            return real(*words)

        return call

    for name in dir(GL):
        real = getattr(GL, name)
        if name.startswith("gl") and len(name) > 2 and name[2].isupper() and callable(real):
            kept[name] = real
            setattr(GL, name, wrapped(name, real))
    try:
        yield watched
    finally:
        for name, real in kept.items():
            setattr(GL, name, real)
